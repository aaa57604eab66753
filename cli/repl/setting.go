package repl

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacredb/nacre/cli/render"
)

// setting is one of \pset.
type setting struct {
	values []string
	get    func(*shell) string
	set    func(*shell, string) error
}

var onOff = []string{"on", "off"}

// settings are those of \pset by their names.
func settings() map[string]setting {
	return map[string]setting{
		"format": {append(render.Formats(), "auto"),
			func(sh *shell) string {
				if sh.opt.Format == "" {
					return "auto"
				}
				return string(sh.opt.Format)
			},
			func(sh *shell, to string) error { return sh.setFormat(context.Background(), to) }},
		"pager":    onOrOff(func(sh *shell) *bool { return &sh.pager }),
		"timing":   onOrOff(func(sh *shell) *bool { return &sh.timing }),
		"color":    onOrOff(func(sh *shell) *bool { return &sh.paint.colour }),
		"language": {[]string{"serviceql", "gql"}, (*shell).language, (*shell).setLanguage},
	}
}

// onOrOff is a setting that is on or off.
func onOrOff(of func(*shell) *bool) setting {
	return setting{onOff,
		func(sh *shell) string {
			if *of(sh) {
				return "on"
			}
			return "off"
		},
		func(sh *shell, to string) error {
			*of(sh) = to == "on"
			return nil
		}}
}

func (sh *shell) language() string {
	if sh.gql {
		return "gql"
	}
	return "serviceql"
}

func (sh *shell) setLanguage(to string) error {
	if to != sh.language() {
		return sh.toggleGQL(context.Background(), "")
	}
	return nil
}

// pset shows all settings, shows one, or sets one.
func (sh *shell) pset(_ context.Context, arg string) error {
	all := settings()
	name, to, _ := strings.Cut(arg, " ")
	if name == "" {
		for _, n := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(sh.opt.Err, "  %-10s %-10s (%s)\n", n, all[n].get(sh), strings.Join(all[n].values, ", "))
		}
		return nil
	}
	s, ok := all[name]
	if !ok {
		return fmt.Errorf(`there is no setting %s: \pset lists them`, name)
	}
	switch to = strings.TrimSpace(to); {
	case to == "":
		fmt.Fprintln(sh.opt.Err, name, s.get(sh))
		return nil
	case !slices.Contains(s.values, to):
		return fmt.Errorf("%s can be %s, not %q", name, strings.Join(s.values, ", "), to)
	}
	return s.set(sh, to)
}
