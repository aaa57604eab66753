// Package cli is the command line: one cobra tree, one file a command, all over the client package.
//
// Data goes to standard output, talk to standard error. Colour, prompts, pagers and progress appear
// only on a terminal. Exit codes are a contract (exit.go).
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/rpc"
)

// Build says what was built; empty fields are filled from the module's build info.
type Build struct{ Version, Commit, Date string }

// fallbackVersion is the version of a build without a release version. It is the product's own; what the server
// tells clients is the version of the protocol, see rpc.Version.
const fallbackVersion = "0.9.0"

// ProtocolVersion is the version of the protocol and the language.
const ProtocolVersion = rpc.Version

// fill completes b from the build info that the Go toolchain embeds.
func (b Build) fill() Build {
	if b.Version == "" {
		b.Version = fallbackVersion
	}
	b.Version = strings.TrimPrefix(b.Version, "v")
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.Commit == "":
			b.Commit = s.Value
		case s.Key == "vcs.time" && b.Date == "":
			b.Date = s.Value
		}
	}
	return b
}

// streams are the standard streams and what is known of them.
type streams struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	inTTY   bool
	outTTY  bool
	errTTY  bool
	environ []string
	build   Build
}

// Main runs the command line argv and gives the exit code. Invoked through a link that is named like a
// sub-command, the binary is that sub-command.
func Main(argv []string, build Build) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY: isTerminal(os.Stdin), outTTY: isTerminal(os.Stdout), errTTY: isTerminal(os.Stderr),
		environ: os.Environ(), build: build.fill(),
	}
	return run(ctx, s, argv)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// run is Main with everything from outside handed in.
func run(ctx context.Context, s *streams, argv []string) int {
	args := argv[1:]
	if name := applet(argv[0]); name != "" {
		args = append([]string{name}, args...)
	}
	only := ""
	if len(args) > 0 && isCommand(args[0]) {
		only = args[0]
	}
	root := newRootCmd(s, only)
	root.SetArgs(prepare(args))
	warnUnknown(s, args)
	cmd, err := root.ExecuteContextC(ctx)
	code := exitCode(err)
	if code != exitOK {
		report(s, cmd, err)
	}
	return code
}

// prepare mends what the flag library cannot know about a command's flags.
func prepare(args []string) []string {
	if len(args) > 0 && args[0] == "start" {
		return joinOptional(config.Table(config.Default()), args)
	}
	return args
}

// applet is the sub-command that argv[0] names, or "".
func applet(argv0 string) string {
	if base := strings.TrimSuffix(filepath.Base(argv0), ".exe"); isCommand(base) {
		return base
	}
	return ""
}

// command makes a command, which has a name and perhaps another one.
type command struct {
	name, also string
	make       func(*streams) *cobra.Command
}

func (c command) names(name string) bool { return name != "" && (name == c.name || name == c.also) }

// commands are all commands but those of the library, which prints the help and completes.
func commands() []command {
	return []command{
		{"start", "", newStartCmd}, {"sql", "", newSQLCmd}, {"import", "", newImportCmd}, {"export", "", newExportCmd},
		{"graphql", "", newGraphQLCmd}, {"mcp", "", newMCPCmd}, {"isready", "is-ready", newIsReadyCmd},
		{"version", "", newVersionCmd}, {"upgrade", "", newUpgradeCmd}, {"validate", "", newValidateCmd},
		{"context", "", newContextCmd}, {"top", "", newTopCmd}, {"doctor", "", newDoctorCmd}, {"ps", "", newPsCmd},
		{"kill", "", newKillCmd}, {"cluster", "", newClusterCmd}, {"backup", "", newBackupCmd},
		{"restore", "", newRestoreCmd}, {"check", "fix", newCheckCmd}, {"compact", "", newCompactCmd},
		{"ml", "", newMLCmd}, {"memsvc", "", newMemsvcCmd}, {"mem", "", newMemCmd},
	}
}

// isCommand reports whether there is a command of a name.
func isCommand(name string) bool {
	return slices.ContainsFunc(commands(), func(c command) bool { return c.names(name) })
}

// newRootCmd makes the whole command line or, as short commands need no more, what is used of it: the command of a
// name. "" stands for all.
func newRootCmd(s *streams, only string) *cobra.Command {
	root := &cobra.Command{
		Use:   "nacre",
		Short: "A multi-model database in one binary",
		Long: `nacre is documents, graph, vectors, full text, time and relations behind one language, in one static binary.

Every flag has an environment variable ('nacre help environment'), every failure an exit status ('nacre help
exit-codes').`,
		Example: `  nacre start --user root --pass root bolt://nacre.db
  nacre sql -u root -p root --ns test --db test
  nacre export --ns test --db test - | gzip > dump.surql.gz`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       s.build.Version,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q%s", args[0], meantCommand(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetIn(s.in)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w%s", err, meantFlag(cmd, err))
	})
	for _, c := range commands() {
		if only == "" || c.names(only) {
			root.AddCommand(c.make(s))
		}
	}
	addFailureJSON(root, "import", "export", "graphql", "validate", "isready", "kill", "backup", "restore", "compact")
	if only == "" {
		root.AddCommand(newTopics()...)
	}
	root.PersistentPreRunE = setByVariables
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(cmd.OutOrStdout(), cmd) })
	return root
}

// exactArgs wants n arguments and says what they are.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("want %s", what)
		}
		return nil
	}
}
