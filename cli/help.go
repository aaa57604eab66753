package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/parse"
)

// helpWidth is the width of the help in places of the screen.
const helpWidth = 80

// The headings of commands and flags.
const (
	groupServer     = "Servers"
	groupData       = "Data"
	groupStore      = "Store files"
	groupAgent      = "Agents and models"
	groupSelf       = "This program"
	groupOptions    = "Options"
	groupOutput     = "Output"
	groupConnection = "Connection"
	groupGlobal     = "Of all commands above"
)

// commandGroups are the commands by heading, in order.
var commandGroups = []struct {
	name     string
	commands []string
}{
	{groupServer, []string{"start", "isready", "top", "ps", "kill", "cluster", "doctor"}},
	{groupData, []string{"sql", "import", "export", "validate", "graphql"}},
	{groupStore, []string{"backup", "restore", "check", "compact"}},
	{groupAgent, []string{"mcp", "memsvc", "mem", "ml"}},
	{groupSelf, []string{"context", "version", "upgrade", "completion", "help"}},
}

// outputFlags are the flags about what is printed.
var outputFlags = []string{"format", "pretty", "json", "color", "progress", "hide-welcome"}

// printHelp writes the help of cmd: what it is, examples, usage, the rest of the text, commands, and flags by groups.
func printHelp(w io.Writer, cmd *cobra.Command) {
	out := &strings.Builder{}
	long := strings.TrimSpace(cmd.Long)
	if long == "" {
		long = cmd.Short
	} else if cmd.Short != "" && cmd.HasParent() && cmd.Runnable() {
		fmt.Fprintf(out, "%s\n\n", wrap(cmd.Short+".", 0))
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, "Examples:\n%s\n\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if cmd.Runnable() || cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "Usage:\n%s\n\n", usageLines(cmd))
	}
	fmt.Fprintf(out, "%s\n", paragraphs(long))
	printCommands(out, cmd)
	printFlags(out, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\n%s\n", wrap("'"+cmd.CommandPath()+" COMMAND --help' has more on a command.", 0))
	}
	_, _ = io.WriteString(w, out.String()) // there is no way to report a failed write of the help
}

// usageLines are the ways to call cmd.
func usageLines(cmd *cobra.Command) string {
	var lines []string
	if cmd.HasAvailableSubCommands() {
		lines = append(lines, "  "+cmd.CommandPath()+" COMMAND [flags]")
	} else {
		lines = append(lines, "  "+cmd.UseLine())
	}
	if len(cmd.Aliases) > 0 {
		lines = append(lines, "  (also "+strings.Join(cmd.Aliases, ", ")+")")
	}
	return strings.Join(lines, "\n")
}

func printCommands(out *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	shown := map[string]bool{}
	list := func(heading string, pick func(*cobra.Command) bool) {
		first := true
		for _, c := range cmd.Commands() {
			if !pick(c) || shown[c.Name()] || c.Hidden {
				continue
			}
			if first {
				fmt.Fprintf(out, "\n%s:\n", heading)
				first = false
			}
			shown[c.Name()] = true
			row(out, "  "+c.Name(), c.Short, 16)
		}
	}
	if !cmd.HasParent() {
		for _, g := range commandGroups {
			list(g.name, func(c *cobra.Command) bool { return slices.Contains(g.commands, c.Name()) })
		}
	}
	list("Commands", (*cobra.Command).IsAvailableCommand)
	list("Topics", (*cobra.Command).IsAdditionalHelpTopicCommand)
}

// groupOf is the heading of a flag.
func groupOf(f *pflag.Flag) string {
	if g := noted(f, noteGroup); g != "" {
		return g
	}
	if slices.Contains(outputFlags, f.Name) {
		return groupOutput
	}
	return groupOptions
}

func printFlags(out *strings.Builder, cmd *cobra.Command) {
	groups := map[string][]*pflag.Flag{}
	var order []string
	add := func(group string, f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], f)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { add(groupOf(f), f) })
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { add(groupGlobal, f) })
	ranks := []string{config.GroupServer, config.GroupAuth, config.GroupDatabase, config.GroupCaps, config.GroupLimits,
		config.GroupLog, config.GroupUnused, groupOptions, groupOutput, groupConnection, groupGlobal}
	rank := func(g string) int { return slices.Index(ranks, g) }
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	for _, g := range order {
		fmt.Fprintf(out, "\n%s:\n", g)
		for _, f := range groups[g] {
			row(out, flagName(f), flagText(cmd, f), 26)
		}
	}
}

// flagName is "  -e, --endpoint string".
func flagName(f *pflag.Flag) string {
	kind, _ := pflag.UnquoteUsage(f)
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal != "" && f.Value.Type() != "bool" && kind != "":
		name += "[=" + kind + "]"
	case kind != "":
		name += " " + kind
	}
	return name
}

// flagText returns the description of a flag, its default, and its variable.
func flagText(cmd *cobra.Command, f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		text += " (default " + f.DefValue + ")"
	}
	env, _ := variableOf(cmd, f)
	return text + " [env" + fixedBlank + env + "]"
}

// fixedBlank is a blank that ends no line.
const fixedBlank = "\u00a0"

// row writes a name and its text beside it, or below it where the name is long.
func row(out *strings.Builder, name, text string, column int) {
	pad := strings.Repeat(" ", column)
	if w := uniseg.StringWidth(name); w+2 > column {
		out.WriteString(name + "\n" + pad)
	} else {
		out.WriteString(name + pad[w:])
	}
	out.WriteString(strings.TrimLeft(wrap(text, column), " ") + "\n")
}

// paragraphs wraps a text whose lines that begin with a blank stay as they are.
func paragraphs(text string) string {
	var out, words []string
	flush := func() {
		if len(words) > 0 {
			out = append(out, wrap(strings.Join(words, " "), 0))
			words = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			if uniseg.StringWidth(line) > helpWidth {
				line = wrap(line, len(line)-len(strings.TrimLeft(line, " ")))
			}
			out = append(out, line)
			continue
		}
		words = append(words, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// wrap folds a text to helpWidth, each line behind indent blanks.
func wrap(text string, indent int) string {
	pad := strings.Repeat(" ", indent)
	var lines []string
	line, wide := "", 0
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' }) {
		w := uniseg.StringWidth(word)
		if line != "" && indent+wide+1+w > helpWidth {
			lines = append(lines, pad+line)
			line, wide = "", 0
		}
		if line != "" {
			line, wide = line+" ", wide+1
		}
		line, wide = line+word, wide+w
	}
	return strings.ReplaceAll(strings.Join(append(lines, pad+line), "\n"), fixedBlank, " ")
}

// meantCommand asks for the sub-command of cmd whose name is near to a wrong one; "" where there is none.
func meantCommand(cmd *cobra.Command, wrong string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	if near := parse.Nearest(wrong, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// meantFlag asks for the flag of cmd whose name is near to the one that err says is unknown; "" where there is none.
func meantFlag(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := parse.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return ": did you mean --" + near + "?"
	}
	return ""
}
