package repl

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/nacredb/nacre/cli/complete"
	"github.com/nacredb/nacre/engine/parse"
)

//go:generate go test . -run TestSyntaxIsThatOfTheBook -update

// syntax are the forms of statements, as the chapters on the language have them. A form ends where the next line does
// not begin with a blank.
//
//go:embed syntax.txt
var syntax string

// forms are the forms of statements, one an element.
func forms() []string {
	var list []string
	for line := range strings.Lines(syntax) {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			list[len(list)-1] += line
		} else {
			list = append(list, line)
		}
	}
	return list
}

// topic is the name of a form: its keyword, and for those of DEFINE the kind, too.
func topic(form string) string {
	words := strings.Fields(form)
	if words[0] == "DEFINE" {
		return words[0] + " " + words[1]
	}
	return words[0]
}

// topics are the names of all forms, each once, in order.
func topics() []string {
	var list []string
	for _, f := range forms() {
		list = append(list, topic(f))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// helpOn prints the forms of a statement, or the signatures of functions; without an argument, the topics.
func (sh *shell) helpOn(_ context.Context, arg string) error {
	arg = strings.TrimSuffix(strings.TrimSpace(arg), ";")
	if arg == "" {
		fmt.Fprintln(sh.opt.Err, `\h STATEMENT or \h FUNCTION. Statements:`)
		for _, t := range topics() {
			fmt.Fprintf(sh.opt.Err, "  %s\n", t)
		}
		return nil
	}
	found := false
	for _, f := range forms() {
		if t := topic(f); strings.HasPrefix(t, strings.ToUpper(arg)) {
			found = true
			fmt.Fprint(sh.opt.Err, f)
		}
	}
	if text := complete.Signature(arg); text != "" {
		found = true
		fmt.Fprintln(sh.opt.Err, text)
	}
	for _, name := range complete.Family(arg) {
		found = true
		fmt.Fprintln(sh.opt.Err, complete.Signature(name))
	}
	if found {
		return nil
	}
	names := append(topics(), complete.Builtin()...)
	if n := parse.Nearest(arg, names); n != "" {
		return fmt.Errorf(`there is no help on %s: did you mean %s? \h lists the statements`, arg, n)
	}
	return fmt.Errorf(`there is no help on %s: \h lists the statements`, arg)
}
