package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/daemon/config"
)

// The notes on a flag: the variable that its definition names, and the heading that it stands under in the help.
const (
	noteEnv   = "nacre_env"
	noteGroup = "nacre_group"
)

// note adds a note to a flag.
func note(f *pflag.Flag, key, text string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{text}
}

// noted is a note of a flag, or "".
func noted(f *pflag.Flag, key string) string {
	if list := f.Annotations[key]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// variable names the variable of a flag that is not NACRE_COMMAND_FLAG. The command reads it.
func variable(flags *pflag.FlagSet, flag, name string) { note(flags.Lookup(flag), noteEnv, name) }

// variableOf is the variable of a flag of cmd: the one that its definition names, else NACRE_COMMAND_FLAG, which sets
// the flag by its own.
func variableOf(cmd *cobra.Command, f *pflag.Flag) (name string, own bool) {
	if name := noted(f, noteEnv); name != "" {
		return name, false
	}
	for c := cmd.Parent(); c != nil; c = c.Parent() {
		if c.PersistentFlags().Lookup(f.Name) == f {
			cmd = c
		}
	}
	return ownVariable(cmd, f), true
}

// ownVariable is NACRE_SQL_FORMAT for --format of nacre sql.
func ownVariable(cmd *cobra.Command, f *pflag.Flag) string {
	name := cmd.CommandPath() + " " + f.Name
	return strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(name))
}

// setByVariables sets the flags that were not given and whose variables are set.
func setByVariables(cmd *cobra.Command, _ []string) error {
	if ofLibrary(cmd) || cmd.HasParent() && ofLibrary(cmd.Parent()) {
		return nil
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || !ours(cmd, f) {
			return
		}
		name, own := variableOf(cmd, f)
		text := os.Getenv(name)
		if !own || text == "" {
			return
		}
		if err := cmd.Flags().Set(f.Name, text); err != nil {
			failed = cmd.FlagErrorFunc()(cmd, fmt.Errorf("%s: %w", name, err))
		}
	})
	return failed
}

// warnUnknown tells a person at a terminal about variables that begin with NACRE_ and mean nothing. The server has
// warnings of its own, and completion prints nothing.
func warnUnknown(s *streams, args []string) {
	if !s.errTTY || len(args) > 0 && (args[0] == "start" || strings.HasPrefix(args[0], "__complete")) {
		return
	}
	var set []string
	for _, pair := range s.environ {
		if strings.HasPrefix(pair, envPrefixes[0]) {
			set = append(set, pair)
		}
	}
	if len(set) == 0 {
		return
	}
	for _, w := range config.Unknown(config.Table(config.Default()), set, variables(newRootCmd(s, ""))) {
		fmt.Fprintf(s.err, "nacre: warning: %s\n", render.Visible(w, false))
	}
}

// eachCommand calls f for every command that runs, but those of the library.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	if ofLibrary(cmd) {
		return
	}
	f(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, f)
	}
}

// ofLibrary reports whether a command is one that the library adds.
func ofLibrary(cmd *cobra.Command) bool { return cmd.Name() == "completion" || cmd.Name() == "help" }

// ours reports whether a flag of cmd is one that people are told of, and not of the library.
func ours(cmd *cobra.Command, f *pflag.Flag) bool {
	return !f.Hidden && f.Name != "help" && !(f.Name == "version" && !cmd.HasParent())
}

// eachOwnFlag calls f for the flags that cmd defines, but for hidden ones and those of the library.
func eachOwnFlag(cmd *cobra.Command, f func(*pflag.Flag)) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if ours(cmd, flag) {
			f(flag)
		}
	})
}

// variables are the names of the variables of all flags.
func variables(root *cobra.Command) map[string]bool {
	names := map[string]bool{}
	eachCommand(root, func(cmd *cobra.Command) {
		eachOwnFlag(cmd, func(f *pflag.Flag) {
			name, _ := variableOf(cmd, f)
			names[name] = true
		})
	})
	return names
}
