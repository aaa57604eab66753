package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/advice"
	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/cli/repl"
	"github.com/nacredb/nacre/cli/script"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// sqlFlags are the flags of sql beside those of the connection.
type sqlFlags struct {
	command, file, format     string
	color                     string
	pretty, json, multi, hide bool
	keepGoing, vi             bool
	interactive               bool
	vars                      []string
}

func newSQLCmd(s *streams) *cobra.Command {
	var f connectFlags
	var q sqlFlags
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Run statements: a shell on a terminal, a script otherwise",
		Long: `Without -c, -f or piped input, an interactive shell: a statement may span lines and runs when a semicolon closes
it. Ctrl-C cancels what runs. BEGIN opens a transaction that stays open until COMMIT or CANCEL, and LET keeps its
variable. \? lists the commands of the shell.

With -c, -f or piped input, a script: its statements run one after another, and the answers go to standard output,
one line each. The first one that fails ends the script with the exit status of its error, and what follows is not
run, unless --keep-going. BEGIN … COMMIT is one step. A script below 1 MiB with a mistake in its syntax is not run at
all. A file may be packed (.gz, .zst).`,
		Example: `  nacre sql -u root -p root --ns test --db test
  nacre sql -c 'SELECT * FROM person' --format table
  echo 'RETURN $n * 2' | nacre sql --var n=21
  nacre sql -e bolt://nacre.db --create -f schema.surql`,
		Args: exactArgs(0, "no arguments: statements come by -c, -f or standard input"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSQL(cmd.Context(), s, &f, &q) },
	}
	addConnectFlags(cmd, &f)
	addCreateFlag(cmd, &f)
	fl := cmd.Flags()
	fl.StringVarP(&q.command, "command", "c", "", "run this text and exit")
	fl.StringVarP(&q.file, "file", "f", "", "run this file and exit (- is standard input)")
	fl.StringVar(&q.format, "format", "",
		"one of "+strings.Join(render.Formats(), ", ")+" (default surql; on a terminal table where rows are flat, else pretty)")
	fl.BoolVar(&q.pretty, "pretty", false, "the same as --format pretty")
	fl.BoolVar(&q.json, "json", false, "the same as --format compact, one answer a line (with --pretty: json)")
	fl.BoolVar(&q.multi, "multi", false, "accepted for compatibility: several lines are always possible")
	fl.BoolVar(&q.hide, "hide-welcome", false, "no welcome line")
	fl.BoolVar(&q.keepGoing, "keep-going", false, "go on after a failed statement of a script")
	fl.BoolVarP(&q.interactive, "interactive", "i", false, "the shell, even where standard output is no terminal")
	fl.BoolVar(&q.vi, "vi", false, "keys of vi in the shell")
	addColorFlag(cmd, &q.color)
	completeFlag(cmd, "format", render.Formats()...)
	must1(cmd.MarkFlagFilename("file", "surql", "sql", "gz", "zst"))
	fl.StringArrayVar(&q.vars, "var", nil, "variable name=value; the value is a literal, or else text (repeatable)")
	return cmd
}

func runSQL(ctx context.Context, s *streams, f *connectFlags, q *sqlFlags) error {
	format, err := q.outputFormat()
	if err != nil {
		return err
	}
	vars, err := parseVars(q.vars)
	if err != nil {
		return err
	}
	if q.command != "" && q.file != "" {
		return usagef("-c and -f exclude each other")
	}
	if q.command == "" && q.file == "" && (q.interactive || s.inTTY && s.outTTY) {
		return runShell(ctx, s, f, q, format, vars)
	}
	in, err := q.input(s)
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if format == "" {
		format = render.Surql
	}
	return runScript(ctx, s, script.New(c, vars, false), in, format, q.keepGoing)
}

// runShell runs the shell until it is left. Ctrl-C is a key of it, and does not end the process.
func runShell(
	ctx context.Context, s *streams, f *connectFlags, q *sqlFlags, format render.Format, vars *value.Object,
) error {
	colour, err := coloured(q.color, s.outTTY)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = repl.Run(ctx, repl.Options{
		Open: func(ctx context.Context, ns, db string, notify func(client.Notification)) (*client.Client, error) {
			at := *f
			at.ns, at.db = ns, db
			return at.openWith(ctx, notify)
		},
		Out: s.out, Err: s.err, Format: format, Vars: vars, Namespace: f.ns, Database: f.db,
		Endpoint: f.endpoint, User: f.user,
		Welcome: !q.hide, Colour: colour, Vi: q.vi, Version: s.build.Version,
	})
	if errors.Is(err, repl.ErrInterrupted) {
		return exitError{exitInterrupted, nil}
	}
	return err
}

// outputFormat is the format by --format, --pretty and --json; "" is the default of the place.
func (q *sqlFlags) outputFormat() (render.Format, error) {
	switch {
	case q.format != "":
		f, err := render.Parse(q.format)
		if err != nil {
			return "", usageError{err}
		}
		return f, nil
	case q.json && q.pretty:
		return render.JSON, nil
	case q.json:
		return render.Compact, nil
	case q.pretty:
		return render.Pretty, nil
	}
	return "", nil
}

// input is the script: -c, -f, or standard input.
func (q *sqlFlags) input(s *streams) (io.ReadCloser, error) {
	switch {
	case q.command != "":
		return io.NopCloser(strings.NewReader(q.command)), nil
	case q.file != "" && q.file != "-":
		in, _, err := openInput(s, q.file)
		if err != nil {
			return nil, err
		}
		return unpack(q.file, in)
	}
	return io.NopCloser(s.in), nil
}

// parseVars reads name=value pairs; a value that is no literal is text.
func parseVars(pairs []string) (*value.Object, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	fields := make([]value.Field, 0, len(pairs))
	for _, p := range pairs {
		name, text, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usagef("--var wants name=value, not %q", p)
		}
		fields = append(fields, value.Field{Name: strings.TrimPrefix(name, "$"), Value: repl.Literal(text)})
	}
	return value.NewObject(fields...), nil
}

// checked is how long a script may be, in bytes, to be parsed as a whole before any of it runs.
const checked = 1 << 20

// runScript runs a script statement by statement, in constant memory, and prints each answer. The first failure ends
// it, and what follows is not run, unless keepGoing. A short script with a mistake in its syntax is not run at all.
func runScript(
	ctx context.Context, s *streams, run *script.Runner, in io.Reader, format render.Format, keepGoing bool,
) error {
	head, err := io.ReadAll(io.LimitReader(in, checked))
	if err != nil {
		return fmt.Errorf("read the script: %w", err)
	}
	if len(head) < checked {
		if err := script.Check(bytes.NewReader(head)); err != nil {
			return advised{err, advice.On(err, string(head), 1, advice.Names{})}
		}
	}
	began, statements := time.Now(), 0
	var failed error
	err = run.Run(ctx, io.MultiReader(bytes.NewReader(head), in), func(step *script.Step) error {
		statements += len(step.Lines)
		at, failure := step.Failure()
		if failure != nil {
			failed = advised{statementError{step.Number + at, step.Line(at), failure},
				advice.On(failure, step.Text(at), step.Line(at), advice.Names{})}
			if !keepGoing {
				return script.ErrStop
			}
			fmt.Fprintln(s.err, render.Visible(failed.Error(), true))
			return nil
		}
		for _, r := range step.Values() {
			if err := printAnswer(s, format, r.Value, step.Columns); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if s.errTTY {
		fmt.Fprintf(s.err, "%d statements in %v\n", statements, time.Since(began).Round(10*time.Microsecond))
	}
	if failed != nil && keepGoing {
		return exitError{exitCode(failed), nil} // each has been told
	}
	return failed
}

// printAnswer prints one answer. CSV has its data as they are, so on a terminal their control characters are shown as
// escapes; the other formats do so everywhere.
func printAnswer(s *streams, format render.Format, v value.Value, columns []string) error {
	if format != render.CSV || !s.outTTY {
		return render.Columns(s.out, format, v, columns)
	}
	var text bytes.Buffer
	if err := render.Columns(&text, format, v, columns); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, render.Visible(text.String(), true))
	return err
}

// advised is an error with lines for people behind it.
type advised struct {
	err    error
	advice string
}

func (e advised) Error() string {
	if e.advice == "" {
		return e.err.Error()
	}
	return strings.TrimRight(e.err.Error(), "\n") + "\n" + e.advice
}
func (e advised) Unwrap() error { return e.err }

// statementError is why a statement of a script failed.
type statementError struct {
	number, line int
	err          *errs.Error
}

func (e statementError) Error() string {
	return fmt.Sprintf("statement %d (line %d): %v", e.number, e.line, e.err)
}
func (e statementError) Unwrap() error { return e.err }
