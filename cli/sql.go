package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/cli/repl"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// sqlFlags are the flags of sql beside those of the connection.
type sqlFlags struct {
	command, file, format     string
	pretty, json, multi, hide bool
	keepGoing                 bool
	vars                      []string
}

func newSQLCmd(s *streams) *cobra.Command {
	var f connectFlags
	var q sqlFlags
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Run statements: a shell on a terminal, a script otherwise",
		Long: `Without -c, -f or piped input, an interactive shell: a statement may span lines and runs when it is complete and
ends with a semicolon (or is complete after an empty line). \? lists the commands of the shell.

With -c, -f or piped input, the statements run one text at a time and the answers go to standard output, one line
each. The first failed statement ends a script with exit status 7 or that of its error, unless --keep-going.`,
		Example: `  nacre sql -u root -p root --ns test --db test
  nacre sql -c 'SELECT * FROM person' --format table
  echo 'RETURN $n * 2' | nacre sql --var n=21
  nacre sql -e bolt://nacre.db -f schema.surql`,
		Args: exactArgs(0, "no arguments: statements come by -c, -f or standard input"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSQL(cmd.Context(), s, &f, &q) },
	}
	addConnectFlags(cmd, &f)
	fl := cmd.Flags()
	fl.StringVarP(&q.command, "command", "c", "", "run this text and exit")
	fl.StringVarP(&q.file, "file", "f", "", "run this file and exit (- is standard input)")
	fl.StringVar(&q.format, "format", "",
		"one of "+strings.Join(render.Formats(), ", ")+" (default surql; on a terminal table where rows are flat, else pretty)")
	fl.BoolVar(&q.pretty, "pretty", false, "the same as --format pretty")
	fl.BoolVar(&q.json, "json", false, "the same as --format ndjson (with --pretty: json)")
	fl.BoolVar(&q.multi, "multi", false, "accepted for compatibility: several lines are always possible")
	fl.BoolVar(&q.hide, "hide-welcome", false, "no welcome line")
	fl.BoolVar(&q.keepGoing, "keep-going", false, "go on after a failed statement of a script")
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
	c, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if q.command == "" && q.file == "" && s.inTTY && s.outTTY {
		return repl.Run(ctx, c, repl.Options{
			Out: s.out, Err: s.err, Format: format, Vars: vars, Namespace: f.ns, Database: f.db,
			Welcome: !q.hide, Version: s.build.Version,
		})
	}
	text, err := q.text(s)
	if err != nil {
		return err
	}
	if format == "" {
		format = render.Surql
	}
	return runScript(ctx, s, c, text, vars, format, q.keepGoing)
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
		return render.NDJSON, nil
	case q.pretty:
		return render.Pretty, nil
	}
	return "", nil
}

// text is the script: -c, -f, or standard input.
func (q *sqlFlags) text(s *streams) (string, error) {
	switch {
	case q.command != "":
		return q.command, nil
	case q.file != "" && q.file != "-":
		b, err := os.ReadFile(q.file)
		if err != nil {
			return "", fmt.Errorf("read the script: %w", err)
		}
		return string(b), nil
	}
	b, err := io.ReadAll(s.in)
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return string(b), nil
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

// runScript runs a text as a whole and prints each answer.
func runScript(ctx context.Context, s *streams, c *client.Client, text string, vars *value.Object, format render.Format,
	keepGoing bool) error {
	if len(bytes.TrimSpace([]byte(text))) == 0 {
		return nil
	}
	began := time.Now()
	results, err := c.Query(ctx, text, vars)
	if err != nil {
		return err
	}
	var failed error
	for i, r := range results {
		if r.Err != nil {
			fmt.Fprintf(s.err, "statement %d: %v\n", i+1, r.Err)
			failed = errors.Join(failed, exitError{exitCode(r.Err), nil})
			if !keepGoing {
				break
			}
			continue
		}
		if err := render.Value(s.out, format, r.Value); err != nil {
			return err
		}
	}
	if s.errTTY {
		fmt.Fprintf(s.err, "%d statements in %v\n", len(results), time.Since(began).Round(10*time.Microsecond))
	}
	return failed
}
