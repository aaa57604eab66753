package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/profile"
	"github.com/nacredb/nacre/cli/render"
)

func newContextCmd(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Name servers, and choose the one that commands talk to",
		Long: `A context is a server with what it takes to reach it, under a name. The one in use is taken by every command that
talks to a server; --context NAME and NACRE_CONTEXT choose another one, "none" for none. Flags and variables win over
it.

Contexts are in ~/.config/nacre/config.toml, readable by its owner alone. Passwords are not in it: they come from a
file, from what a command prints, or are asked for.`,
		Example: `  nacre context add prod -e wss://db.example -u app --password-file ~/.pw
  nacre context add stage -e ws://10.0.0.7:8000 -u root \
    --password-command 'pass show stage'
  nacre context use prod
  nacre sql --context stage`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q of context", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newContextAddCmd(s), newContextUseCmd(s), newContextListCmd(s), newContextShowCmd(s),
		newContextRemoveCmd())
	return cmd
}

// contexts reads the file of contexts.
func contexts() (*profile.File, error) {
	path, err := profile.DefaultPath()
	if err != nil {
		return nil, err
	}
	f, err := profile.Load(path)
	if err != nil {
		return nil, exitError{exitInvalid, err}
	}
	return f, nil
}

// contextError gives an error about a context its exit code.
func contextError(err error) error {
	switch {
	case errors.Is(err, profile.ErrUnknown):
		return exitError{exitNotFound, err}
	case errors.Is(err, profile.ErrTaken):
		return exitError{exitConflict, fmt.Errorf("%w (--replace writes over it)", err)}
	}
	return err
}

// changeContexts lets f change the file and saves it.
func changeContexts(f func(*profile.File) error) error {
	file, err := contexts()
	if err != nil {
		return err
	}
	if err := f(file); err != nil {
		return contextError(err)
	}
	return file.Save()
}

func newContextAddCmd(s *streams) *cobra.Command {
	var c profile.Context
	var replace bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Keep a context; the first one is in use at once",
		Example: `  nacre context add prod -e wss://db.example -u app --ns app --db app \
    --password-prompt`,
		Args: exactArgs(1, "a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			ways := 0
			for _, set := range []bool{c.PasswordFile != "", c.PasswordCommand != "", c.PasswordPrompt} {
				if set {
					ways++
				}
			}
			if ways > 1 {
				return usagef("a password comes from one place: a file, a command or a prompt")
			}
			if args[0] == noContext {
				return usagef("%q stands for no context at all", noContext)
			}
			if err := changeContexts(func(f *profile.File) error { return f.Add(args[0], c, replace) }); err != nil {
				return err
			}
			if _, err := os.Stat(c.PasswordFile); c.PasswordFile != "" && errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(s.err, "nacre: warning: there is no file %s yet\n", render.Visible(c.PasswordFile, false))
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&c.Endpoint, "endpoint", "e", "", "server address")
	fl.StringVarP(&c.User, "username", "u", "", "user to sign in as")
	fl.StringVar(&c.Level, "auth-level", "", "level of the user: root, namespace, database")
	fl.StringVar(&c.Namespace, "ns", "", "namespace to work in")
	fl.StringVar(&c.Database, "db", "", "database to work in")
	fl.StringVar(&c.PasswordFile, "password-file", "", "file that holds the password")
	fl.StringVar(&c.PasswordCommand, "password-command", "", "command, run by sh, that prints the password")
	fl.BoolVar(&c.PasswordPrompt, "password-prompt", false, "ask for the password each time")
	fl.BoolVar(&replace, "replace", false, "write over a context of that name")
	return cmd
}

func newContextUseCmd(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Make a context the one that commands take", Example: "  nacre context use prod",
		Args: exactArgs(1, "a name"), ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			err := changeContexts(func(f *profile.File) error { return f.Use(args[0]) })
			if err == nil {
				fmt.Fprintf(s.err, "%s is in use\n", args[0])
			}
			return err
		},
	}
}

func newContextRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME", Short: "Forget a context", Example: "  nacre context rm stage",
		Args: exactArgs(1, "a name"), ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(func(f *profile.File) error { return f.Remove(args[0]) })
		},
	}
}

func newContextListCmd(s *streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ls", Short: "List the contexts", Example: "  nacre context ls --json", Args: exactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			file, err := contexts()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(s.out, map[string]any{"current": file.Current, "contexts": file.Contexts})
			}
			w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
			for _, name := range file.Names() {
				mark, c := " ", file.Contexts[name]
				if name == file.Current {
					mark = "*"
				}
				place := placeText(c.Namespace, c.Database)
				fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\n", mark, name, c.Endpoint, c.User, place)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func placeText(ns, db string) string {
	if ns == "" && db == "" {
		return ""
	}
	return ns + "/" + db
}

func newContextShowCmd(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: "show [NAME]", Short: "Show a context, or the one in use, as JSON", Example: "  nacre context show prod",
		ValidArgsFunction: completeContexts,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := contexts()
			if err != nil {
				return err
			}
			name := file.Current
			switch {
			case len(args) > 1:
				return usagef("want at most one name")
			case len(args) == 1:
				name = args[0]
			case name == "":
				return exitError{exitNotFound, errors.New("no context is in use: 'nacre context use NAME' chooses one")}
			}
			c, err := file.Get(name)
			if err != nil {
				return contextError(err)
			}
			return writeJSON(s.out, c)
		},
	}
}

// completeContexts completes the name of a context.
func completeContexts(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	file, err := contexts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return file.Names(), cobra.ShellCompDirectiveNoFileComp
}
