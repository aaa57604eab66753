// Package cli is the command line: one file for each command, data to standard output, talk to
// standard error, exit codes that scripts may rely on.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
)

// The exit codes. They are a contract.
const (
	ExitOK          = 0
	ExitOther       = 1
	ExitUsage       = 2
	ExitNotAuthed   = 3
	ExitForbidden   = 4
	ExitNotFound    = 5
	ExitConflict    = 6
	ExitInvalid     = 7
	ExitRateLimited = 8
	ExitUnreachable = 9
	ExitTimedOut    = 10
	ExitInterrupted = 130
)

// IO is what a command talks to.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
}

// System is the IO of this process.
func System() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()} }

// usageError is a wrong command line.
type usageError struct{ error }

// Main runs the command line args (args[0] is the program) and gives the exit code.
func Main(args []string, stdio IO) int {
	root := newRoot(stdio)
	root.SetArgs(prepare(args[1:]))
	root.SetIn(stdio.In)
	root.SetOut(stdio.Out)
	root.SetErr(stdio.Err)
	err := root.Execute()
	if err == nil {
		return ExitOK
	}
	fmt.Fprintln(stdio.Err, "error:", err)
	return exitCode(err)
}

// prepare mends what the flag library cannot know about a command's flags.
func prepare(args []string) []string {
	if len(args) > 0 && args[0] == "start" {
		return joinOptional(config.Table(config.Default()), args)
	}
	return args
}

func newRoot(stdio IO) *cobra.Command {
	root := &cobra.Command{
		Use: "nacre", Short: "A multi-model database", SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs, CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newStart(stdio))
	return root
}

// exitCode is the code for err.
func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return ExitUsage
	}
	if e, ok := errors.AsType[*daemon.StartError](err); ok {
		switch e.Reason {
		case daemon.StoreLocked, daemon.AddressInUse:
			return ExitConflict
		case daemon.StoreForeign, daemon.BadTLS:
			return ExitInvalid
		case daemon.AddressDenied:
			return ExitForbidden
		}
	}
	return ExitOther
}
