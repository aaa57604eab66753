package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/advice"
	"github.com/nacredb/nacre/cli/load"
	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// importFlags are the flags of import beside those of the connection.
type importFlags struct {
	format, table, id, types, errorFile, progress string
	columns                                       []string
	text, goOn                                    bool
	batch, parallel                               int
}

func newImportCmd(s *streams) *cobra.Command {
	var f connectFlags
	var im importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Load a file of statements, or of rows, into a database",
		Long: `Streams FILE, a path or - for standard input, into a database. Files packed by gzip or zstd are unpacked. Memory
stays constant.

A file of statements (an export, most often) is applied by the server as it arrives. The rows of a CSV, TSV, JSON or
NDJSON file become the records of --table, in batches that are a transaction each; the field --id is the key of the
record. Numbers and booleans of CSV are recognised, an empty field is no value, and --types names other types.

The first failure ends the import: what was applied before it stays, and is told. With --continue all that can be
applied is, and every failure is told with its line. Exit status 7: something was not applied.`,
		Example: `  nacre import --ns app --db app dump.surql.gz
  nacre export --ns a --db a - | nacre import --ns b --db b -
  nacre import --table person --id email people.csv
  nacre import --table event --types at:datetime --continue \
    --error-file bad.ndjson events.ndjson`,
		Args: exactArgs(1, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), s, &f, &im, args[0]) },
	}
	addConnectFlags(cmd, &f)
	addCreateFlag(cmd, &f)
	fl := cmd.Flags()
	fl.StringVar(&im.format, "format", "", strings.Join(load.Formats(), ", ")+" (default: by the name of the file, else surql)")
	fl.StringVar(&im.table, "table", "", "table that rows go to")
	fl.StringVar(&im.id, "id", "", "field of a row that is the key of its record (default: id, where there is one)")
	fl.StringVar(&im.types, "types", "", "types of fields, as born:datetime,zip:string ("+strings.Join(load.Types(), ", ")+")")
	fl.StringSliceVar(&im.columns, "columns", nil, "names of the columns of CSV and TSV, whose first row is data then")
	fl.BoolVar(&im.text, "text", false, "keep the fields of CSV and TSV as text")
	fl.BoolVar(&im.goOn, "continue", false, "go on after a failure")
	fl.StringVar(&im.errorFile, "error-file", "", "write each failure to this file: a JSON object a line, with line, error and row")
	fl.IntVar(&im.batch, "batch", 1000, "rows in one transaction")
	fl.IntVar(&im.parallel, "parallel", 1, "batches of rows at once; their order is not kept then")
	fl.StringVar(&im.progress, "progress", "auto", "auto (on a terminal), plain, json (an object a second on standard error) or none")
	completeTables(cmd, "table", &f)
	completeFlag(cmd, "format", load.Formats()...)
	completeFlag(cmd, "progress", progressModes...)
	return cmd
}

// check reads the flags that need it.
func (im *importFlags) check(path string) (load.Format, load.Shape, error) {
	shape := load.Shape{Table: im.table, ID: im.id}
	format := load.Detect(path)
	var err error
	if im.format != "" {
		if format, err = load.ParseFormat(im.format); err != nil {
			return "", shape, usageError{err}
		}
	}
	if shape.Types, err = load.ParseTypes(im.types); err != nil {
		return "", shape, usageError{err}
	}
	if im.batch < 1 || im.parallel < 1 || im.parallel > 64 {
		return "", shape, usagef("--batch is 1 or more, --parallel from 1 to 64")
	}
	switch rows := format != load.Statements; {
	case rows && im.table == "":
		return "", shape, usagef("the rows of a %s file need a table: add --table NAME", format)
	case !rows && im.table != "":
		return "", shape, usagef("a file of statements names its tables itself: drop --table, or add --format")
	}
	return format, shape, nil
}

func runImport(ctx context.Context, s *streams, f *connectFlags, im *importFlags, path string) (err error) {
	format, shape, err := im.check(path)
	if err != nil {
		return err
	}
	p, err := newProgressOf(s, "import", im.progress)
	if err != nil {
		return err
	}
	in, size, err := openInput(s, path)
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	told := &failures{s: s}
	if im.errorFile != "" {
		if told.file, err = os.OpenFile(im.errorFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("make the error file: %w", err)
		}
		defer func() { err = errors.Join(err, told.file.Close()) }()
	}
	p.start(size)
	plain, err := unpack(path, p.reader(in))
	if err == nil {
		defer plain.Close()
		if format == load.Statements {
			err = im.statements(ctx, s, c, plain, p, told)
		} else {
			opt := load.CSVOptions{Columns: im.columns, Text: im.text}
			err = im.rows(ctx, s, c, load.NewReader(plain, format, shape, opt), p, told)
		}
	}
	p.stop()
	return err
}

// statements imports a text of statements.
func (im *importFlags) statements(
	ctx context.Context, s *streams, c *client.Client, in io.Reader, p *progress, told *failures,
) error {
	began := time.Now()
	res, err := c.Import(ctx, in, client.ImportOptions{Stop: !im.goOn})
	p.stop()
	if err != nil {
		return err
	}
	for _, e := range res.Failed {
		if err := told.tell(e.Line, e.Err, nil); err != nil {
			return err
		}
	}
	if more := res.Failures - int64(len(res.Failed)); more > 0 {
		fmt.Fprintf(s.err, "… and %d more failures\n", more)
	}
	fmt.Fprintf(s.err, "%s applied", counted(res.Statements-res.Failures, "statement"))
	if res.Records >= 0 {
		fmt.Fprintf(s.err, ", %s written", counted(res.Records, "record"))
	}
	fmt.Fprintf(s.err, " in %v (%s)\n", time.Since(began).Round(time.Millisecond), process.Size(p.count()))
	switch {
	case res.Failures == 0:
		return nil
	case im.goOn:
		return exitError{exitInvalid, fmt.Errorf("%d of %d statements failed; the others were applied", res.Failures,
			res.Statements)}
	}
	return exitError{exitInvalid, fmt.Errorf("stopped at a failed statement: what stands before it was applied and stays, " +
		"what follows was not run (--continue goes on)")}
}

// rows imports the rows of a file.
func (im *importFlags) rows(
	ctx context.Context, s *streams, c *client.Client, rows load.Reader, p *progress, told *failures,
) error {
	began := time.Now()
	res, err := load.Load(ctx, c, rows, load.Target{
		Table: im.table, Batch: im.batch, Parallel: im.parallel, Continue: im.goOn,
		Failed: func(row load.Row, err error) error { return told.tell(row.Line, err, row.Record) },
		Loaded: p.addRecords,
	})
	p.stop()
	took := time.Since(began)
	fmt.Fprintf(s.err, "%s written in %v (%s, %.0f records/s)\n", counted(res.Rows, "record"),
		took.Round(time.Millisecond), process.Size(p.count()), float64(res.Rows)/max(took.Seconds(), 1e-3))
	switch {
	case err != nil:
		return err
	case res.Failures == 0:
		return nil
	case im.goOn:
		return exitError{exitInvalid, fmt.Errorf("%d of %d rows were not written", res.Failures, res.Failures+res.Rows)}
	}
	return exitError{exitInvalid, errors.New("stopped at a row that cannot be written: those that were written stay " +
		"(--continue goes on)")}
}

// failures tells what was not applied: on standard error, at most so many, and in a file.
type failures struct {
	s    *streams
	file *os.File
	n    int
}

// maxTold is how many failures are told on standard error.
const maxTold = 100

func (f *failures) tell(line int, err error, record *value.Object) error {
	f.n++
	switch {
	case f.n <= maxTold && line > 0:
		fmt.Fprintf(f.s.err, "line %d: %v\n", line, err)
		if s := advice.OnAnswer(err, line); s != "" {
			fmt.Fprintln(f.s.err, s)
		}
	case f.n <= maxTold:
		fmt.Fprintf(f.s.err, "failed: %v\n", err)
	case f.n == maxTold+1:
		fmt.Fprintln(f.s.err, "… more failures are not shown (--error-file takes all)")
	}
	if f.file == nil {
		return nil
	}
	entry := struct {
		Line  int             `json:"line,omitempty"`
		Error string          `json:"error"`
		Row   json.RawMessage `json:"row,omitempty"`
	}{Line: line, Error: err.Error()}
	if record != nil {
		entry.Row = value.AppendJSON(nil, value.ObjectOf(record))
	}
	b, jsonErr := json.Marshal(entry)
	if jsonErr != nil {
		return fmt.Errorf("error file: %w", jsonErr)
	}
	if _, err := f.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("error file: %w", err)
	}
	return nil
}

// openInput opens path for reading ("-" is standard input); size is -1 where it is not known.
func openInput(s *streams, path string) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(s.in), -1, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read the input: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = usagef("%s is a directory: name a file", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}
