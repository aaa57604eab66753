package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/load"
	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// mlRun is a call of a model for each row of a file.
type mlRun struct {
	mlFlags
	name, version string
	input, format string
	columns       []string
	raw           bool

	c    *client.Client
	text string
	out  *bufio.Writer
}

func newMLRunCmd(s *streams) *cobra.Command {
	r := mlRun{mlFlags: mlFlags{connect: connectFlags{maker: "'nacre start' makes one"}}}
	cmd := &cobra.Command{
		Use:   "run NAME VERSION --input FILE",
		Short: "Call a model for each row of a file",
		Long: `Calls a model for each row of a file of CSV, TSV, JSON or NDJSON, and writes the results to standard output: a JSON array
of numbers a line, in the order of the rows. The fields of a row are the columns of the model; --columns picks them
where the file has more. A model without columns gets the numbers themselves: --raw with --columns says which, in order.

The first row that fails ends it; the message has its line.`,
		Example: `  nacre ml run price 1.0.0 --ns app --db app --input houses.csv
  nacre ml run price 1.0.0 --input houses.csv --columns area,floors --raw
  echo '{"area": 2000, "floors": 2}' | nacre ml run price 1.0.0 --format ndjson`,
		Args: exactArgs(2, "the name and the version of a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.name, r.version = args[0], args[1]
			return r.run(cmd.Context(), s)
		},
	}
	r.add(cmd, "write a failure as a JSON object; results are JSON in any case")
	r.addProgress(cmd)
	fl := cmd.Flags()
	fl.StringVar(&r.input, "input", "-", "file of rows, - for standard input")
	fl.StringVar(&r.format, "format", "", "csv, tsv, json or ndjson (default: by the name of the file)")
	fl.StringSliceVar(&r.columns, "columns", nil, "columns that the model gets (default: all of a row)")
	fl.BoolVar(&r.raw, "raw", false, "give the model the numbers of --columns, without their names and normalisers")
	return cmd
}

// Bounds of what one statement computes.
const (
	rowsAtOnce  = 1000
	bytesAtOnce = 1 << 20
)

// rowsFormat is the format of the input.
func (r *mlRun) rowsFormat() (load.Format, error) {
	as := load.Detect(r.input)
	if r.format != "" {
		var err error
		if as, err = load.ParseFormat(r.format); err != nil {
			return "", usageError{err}
		}
	}
	switch {
	case as == load.Statements:
		return "", usagef("want rows: name a file of CSV, TSV, JSON or NDJSON, or add --format")
	case r.raw && len(r.columns) == 0:
		return "", usagef("--raw needs --columns: the numbers that the model gets, in their order")
	}
	return as, nil
}

func (r *mlRun) run(ctx context.Context, s *streams) (err error) {
	if err := checkModel(r.name, r.version); err != nil {
		return err
	}
	as, err := r.rowsFormat()
	if err != nil {
		return err
	}
	p, err := newProgressOf(s, "run", r.progress)
	if err != nil {
		return err
	}
	in, size, err := openInput(s, r.input)
	if err != nil {
		return err
	}
	defer in.Close()
	if r.c, err = r.connect.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.c.Close()) }()
	p.start(size)
	defer p.stop()
	unpacked, err := unpack(r.input, p.reader(in))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	r.text = "SELECT VALUE ml::" + r.name + "<" + r.version + ">($this.v) FROM $rows"
	r.out = bufio.NewWriterSize(s.out, 64<<10)
	err = r.all(ctx, load.NewReader(unpacked, as, load.Shape{}, load.CSVOptions{}), p)
	return errors.Join(err, r.out.Flush())
}

// all calls the model for all rows.
func (r *mlRun) all(ctx context.Context, rows load.Reader, p *progress) error {
	var batch []load.Row
	weight := 0
	for {
		row, err := rows.Next()
		if err == nil {
			batch = append(batch, row)
			weight += value.Weight(value.ObjectOf(row.Record))
		}
		if len(batch) == rowsAtOnce || weight > bytesAtOnce || err != nil && len(batch) > 0 {
			if err := r.batch(ctx, batch); err != nil {
				return err
			}
			p.addRecords(len(batch))
			batch, weight = batch[:0], 0
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return exitError{exitInvalid, err}
		}
	}
}

// batch calls the model for some rows. Where that fails, the rows are called one by one, to find the one that fails.
func (r *mlRun) batch(ctx context.Context, rows []load.Row) error {
	args := make([]value.Value, len(rows))
	for i, row := range rows {
		v, err := r.argument(row)
		if err != nil {
			if err := r.some(ctx, args[:i], rows); err != nil {
				return err
			}
			return exitError{exitInvalid, err}
		}
		args[i] = value.ObjectOf(value.NewObject(value.Field{Name: "v", Value: v}))
	}
	return r.some(ctx, args, rows)
}

func (r *mlRun) some(ctx context.Context, args []value.Value, rows []load.Row) error {
	if len(args) == 0 {
		return nil
	}
	err := r.call(ctx, args)
	missing := "The model 'ml::" + r.name + "<" + r.version + ">' does not exist"
	if err != nil && err.Error() == missing {
		return exitError{exitNotFound, err}
	}
	if err == nil || len(args) == 1 || ctx.Err() != nil || exitCode(err) == exitUnreachable {
		if err != nil {
			err = fmt.Errorf("line %d: %w", rows[0].Line, err)
		}
		return err
	}
	for i := range args {
		if err := r.some(ctx, args[i:i+1], rows[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// argument returns the part of a row that the model gets.
func (r *mlRun) argument(row load.Row) (value.Value, error) {
	if len(r.columns) == 0 {
		return value.ObjectOf(row.Record), nil
	}
	fields := make([]value.Field, len(r.columns))
	list := make([]value.Value, len(r.columns))
	for i, name := range r.columns {
		v, ok := row.Record.Get(name)
		if !ok {
			return value.None, fmt.Errorf("line %d: the row has no column %s", row.Line, process.Plain(name))
		}
		fields[i], list[i] = value.Field{Name: name, Value: v}, v
	}
	if r.raw {
		return value.ArrayOf(list), nil
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

// call computes some rows in one statement and writes their results.
func (r *mlRun) call(ctx context.Context, args []value.Value) error {
	vars := value.NewObject(value.Field{Name: "rows", Value: value.ArrayOf(args)})
	answer, err := oneAnswer(ctx, r.c, r.text, vars)
	if err != nil {
		return err
	}
	if answer.Kind() != value.KindArray || answer.Len() != len(args) {
		return fmt.Errorf("the server gave another number of results than %d", len(args))
	}
	for _, v := range answer.Elems() {
		if _, err := r.out.Write(append(value.AppendJSON(nil, v), '\n')); err != nil {
			return err
		}
	}
	return nil
}
