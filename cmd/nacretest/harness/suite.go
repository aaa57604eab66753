// Package harness holds the common parts of the suites of nacretest: how a suite is named, run and described, servers
// as processes of their own, raw WebSockets, and the memory and time that a process takes. It knows no suite.
package harness

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/nacredb/nacre/cli"
)

// Suite is one kind of test.
type Suite struct {
	Name     string
	About    string   // one line: what it does to the database
	Examples []string // command lines without the name of the program
	// Flags adds the flags and returns the run, which prints what it does. An error says which promise is broken.
	Flags func(*flag.FlagSet) func(ctx context.Context, out io.Writer) error
}

// Run parses args, runs the suite and returns the exit status.
func (s Suite) Run(ctx context.Context, out io.Writer, args []string) int {
	fs := flag.NewFlagSet("nacretest "+s.Name, flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() { s.help(fs) }
	do := s.Flags(fs)
	switch err := fs.Parse(args); {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	}
	if err := do(ctx, out); err != nil {
		fmt.Fprintf(out, "FAILED: %v\n", err)
		return 1
	}
	fmt.Fprintln(out, "passed")
	return 0
}

// help prints what the suite does, examples and its flags.
func (s Suite) help(fs *flag.FlagSet) {
	fmt.Fprintf(fs.Output(), "%s\n\nExamples:\n", s.About)
	for _, example := range s.Examples {
		fmt.Fprintf(fs.Output(), "  nacretest %s\n", example)
	}
	fmt.Fprintln(fs.Output(), "\nFlags:")
	fs.PrintDefaults()
}

// asNacre in the environment makes this program the nacre command.
const asNacre = "NACRETEST_AS_NACRE"

// Child runs this process as what its parent started it for. ok is false in a process that is no child. others are
// further things to run, by the variable that asks for them; a function gets the value of its variable.
func Child(others map[string]func(value string) int) (code int, ok bool) {
	if os.Getenv(asNacre) != "" {
		return cli.Main(os.Args, cli.Build{}), true
	}
	for name, run := range others {
		if value := os.Getenv(name); value != "" {
			return run(value), true
		}
	}
	return 0, false
}
