package config

import (
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"
)

// prefixes of variables, the winning one first.
var prefixes = [...]string{"NACRE_", "SERVICE_", "SURREAL_"}

// Sources is where values come from, beside flags.
type Sources struct {
	Environ  []string                          // NAME=value, as os.Environ gives it
	Known    map[string]bool                   // whole names of variables that mean something to others
	File     map[string]string                 // setting name → value, nil without a file
	ReadFile func(name string) ([]byte, error) // reads secrets; nil: os.ReadFile
}

// Resolve fills the settings that no flag has set: flagged says which were (by flag name; they keep their values). The
// warnings name settings without effect, and variables with a known prefix that mean nothing. An unknown name in the
// file is an error.
func Resolve(table []*Setting, flagged func(flag string) bool, src Sources) (warnings []string, err error) {
	env := make(map[string]string, len(src.Environ))
	for _, pair := range src.Environ {
		if name, v, ok := strings.Cut(pair, "="); ok {
			env[name] = v
		}
	}
	if src.ReadFile == nil {
		src.ReadFile = os.ReadFile
	}
	for name := range src.File {
		if find(table, name) == nil {
			return nil, fmt.Errorf("unknown setting %q in the configuration file", name)
		}
	}
	for _, s := range table {
		if s.Flag != "" && flagged(s.Flag) {
			s.Origin = "flag"
			continue
		}
		if err := s.resolve(env, src); err != nil {
			return nil, err
		}
	}
	for _, s := range table {
		if s.Unused != "" && s.Origin != "default" {
			warnings = append(warnings, "--"+s.Flag+" has no effect: "+s.Unused)
		}
	}
	return append(warnings, Unknown(table, src.Environ, src.Known)...), nil
}

// Unknown are warnings about variables with a known prefix that mean nothing, in order. Of environ, NAME=value, the
// names are looked at; known are whole names that mean something to others.
func Unknown(table []*Setting, environ []string, known map[string]bool) []string {
	ours := make(map[string]bool)
	for _, s := range table {
		if s.Env != "" {
			ours[s.Env] = true
			ours[s.Env+"_FILE"] = s.Secret
			ours[s.EnvToo] = true
		}
	}
	var warnings []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if known[name] || means(name, ours) {
			continue
		}
		if strings.HasPrefix(name, prefixes[0]) || strings.HasPrefix(name, "SURREAL_") {
			warnings = append(warnings, "unknown environment variable "+name)
		}
	}
	sort.Strings(warnings)
	return slices.Compact(warnings)
}

// clients are the variables of the commands that talk to a server.
var clients = []string{"ENDPOINT", "USER", "PASS", "PASS_FILE", "TOKEN", "AUTH_LEVEL", "NAMESPACE", "DATABASE",
	"CONTEXT"}

// means reports whether a variable means something: to a server, to the other commands, or as one of those that
// Kubernetes gives to all containers beside a service called nacre.
func means(name string, known map[string]bool) bool {
	for _, p := range prefixes {
		if rest, ours := strings.CutPrefix(name, p); ours {
			return known[rest] || slices.Contains(clients, rest) || rest == "PORT" ||
				strings.HasPrefix(rest, "PORT_") ||
				strings.HasPrefix(rest, "SERVICE_")
		}
	}
	return false
}

// resolve takes s from the environment, else from the file.
func (s *Setting) resolve(env map[string]string, src Sources) error {
	for _, variable := range [...]string{s.Env, s.EnvToo} {
		for _, prefix := range prefixes {
			if variable == "" {
				break
			}
			name := prefix + variable
			if v, ok := env[name]; ok {
				return s.set(v, name)
			}
			if path, ok := env[name+"_FILE"]; ok && s.Secret {
				b, err := src.ReadFile(path)
				if err != nil {
					return fmt.Errorf("read %s: %w", name+"_FILE", err)
				}
				return s.set(strings.TrimRight(string(b), "\r\n"), name+"_FILE")
			}
		}
	}
	given := ""
	for _, name := range s.names() {
		v, ok := src.File[name]
		if !ok || name == given {
			continue
		}
		if given != "" {
			return fmt.Errorf("file: %s and %s are the same setting", given, name)
		}
		if err := s.set(v, "file"); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		given = name
	}
	return nil
}

func (s *Setting) set(text, origin string) error {
	if err := s.Value.Set(text); err != nil {
		return fmt.Errorf("%s: %w", origin, err)
	}
	s.Origin = origin
	return nil
}

// names are how a file may call s: as its flag, or as its variable in lower case.
func (s *Setting) names() []string {
	var n []string
	if s.Flag != "" {
		n = append(n, s.Flag)
	}
	if s.Env != "" {
		n = append(n, strings.ReplaceAll(strings.ToLower(s.Env), "_", "-"))
	}
	return n
}

func find(table []*Setting, name string) *Setting {
	for _, s := range table {
		for _, n := range s.names() {
			if n == name {
				return s
			}
		}
	}
	return nil
}

// Variables are the names of the environment variables of s, the winning one first; nil where it has none.
func (s *Setting) Variables() []string {
	if s.Env == "" {
		return nil
	}
	out := make([]string, len(prefixes))
	for i, p := range prefixes {
		out[i] = p + s.Env
	}
	return out
}

// Shown is the value of s for people: secrets are masked.
func (s *Setting) Shown() string {
	text := s.Value.String()
	if s.Secret && text != "" {
		return "********"
	}
	return text
}

// Print writes every setting with its value and origin.
func Print(w io.Writer, table []*Setting) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range table {
		name := s.names()[0]
		if _, err := fmt.Fprintf(tw, "%s\t%s\t(%s)\n", name, s.Shown(), s.Origin); err != nil {
			return err
		}
	}
	return tw.Flush()
}
