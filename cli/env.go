package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/daemon/config"
)

// The notes on a flag: its variable, whether the variable sets it by its own (else the command reads it), and the
// heading that it stands under in the help.
const (
	noteEnv   = "nacre_env"
	noteOwn   = "nacre_env_own"
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

// inUsage is a variable that is named in the text of a flag.
var inUsage = regexp.MustCompile(` ?\[env (\w+)\]`)

// nameVariables gives each flag of the tree a variable: the one that its text names, that of its setting, or else
// NACRE_COMMAND_FLAG, which then sets the flag.
func nameVariables(root *cobra.Command, settings []*config.Setting) {
	ofStart := map[string]string{}
	for _, s := range settings {
		if s.Flag != "" && s.Env != "" {
			ofStart[s.Flag] = envPrefixes[0] + s.Env
		}
	}
	eachCommand(root, func(cmd *cobra.Command) {
		eachOwnFlag(cmd, func(f *pflag.Flag) {
			switch m := inUsage.FindStringSubmatch(f.Usage); {
			case m != nil:
				f.Usage = inUsage.ReplaceAllString(f.Usage, "")
				note(f, noteEnv, m[1])
			case cmd.Name() == "start" && cmd.Parent() == root && ofStart[f.Name] != "":
				note(f, noteEnv, ofStart[f.Name])
			default:
				note(f, noteEnv, ownVariable(cmd, f))
				note(f, noteOwn, "true")
			}
		})
		before := cmd.PreRunE
		cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
			if err := setByVariables(cmd); err != nil || before == nil {
				return err
			}
			return before(cmd, args)
		}
	})
}

// ownVariable is NACRE_SQL_FORMAT for --format of nacre sql.
func ownVariable(cmd *cobra.Command, f *pflag.Flag) string {
	name := cmd.CommandPath() + " " + f.Name
	return strings.ToUpper(strings.NewReplacer(" ", "_", "-", "_").Replace(name))
}

// setByVariables sets the flags that were not given and whose variables are set.
func setByVariables(cmd *cobra.Command) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := noted(f, noteEnv)
		text := os.Getenv(name)
		if f.Changed || noted(f, noteOwn) == "" || text == "" || failed != nil {
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
func warnUnknown(s *streams, root *cobra.Command, args []string) {
	if !s.errTTY || len(args) > 0 && (args[0] == "start" || strings.HasPrefix(args[0], "__complete")) {
		return
	}
	var ours []string
	for _, pair := range s.environ {
		if strings.HasPrefix(pair, envPrefixes[0]) {
			ours = append(ours, pair)
		}
	}
	if len(ours) == 0 {
		return
	}
	for _, w := range config.Unknown(config.Table(config.Default()), ours, variables(root)) {
		fmt.Fprintf(s.err, "nacre: warning: %s\n", render.Visible(w, false))
	}
}

// eachCommand calls f for every command that runs, but those of the library.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	if cmd.Name() == "completion" || cmd.Name() == "help" {
		return
	}
	f(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, f)
	}
}

// eachOwnFlag calls f for the flags that cmd defines, but for hidden ones and those of the library.
func eachOwnFlag(cmd *cobra.Command, f func(*pflag.Flag)) {
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" && !(flag.Name == "version" && !cmd.HasParent()) {
			f(flag)
		}
	})
}

// variables are the names of the variables of all flags.
func variables(root *cobra.Command) map[string]bool {
	names := map[string]bool{}
	eachCommand(root, func(cmd *cobra.Command) {
		eachOwnFlag(cmd, func(f *pflag.Flag) { names[noted(f, noteEnv)] = true })
	})
	return names
}
