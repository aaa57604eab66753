// Package beside runs the same work on a nacre server, a PostgreSQL and a SQLite of the machine, over the same rows,
// and tells the CPU time that each of them takes.
package beside

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{{Name: "beside",
		About: "scans, groups, indexes, texts, edges, vectors, inserts and builds beside PostgreSQL and SQLite: CPU per operation",
		Examples: []string{"beside", "beside -only count,group9 -rows 500000", "beside -sides nacre,sqlite -for 5s",
			"beside -only hops3,exactmany,graphmany"},
		Flags: flags}}
}

// options say what is measured, and how long.
type options struct {
	harness.RunOptions
	only      string
	sides     string
	rows      int
	documents int
	vectors   int
	length    time.Duration
	rounds    int
}

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o options
	o.Flags(fs, "")
	fs.StringVar(&o.only, "only", "", "names of the work to measure, with commas (default: all)")
	fs.StringVar(&o.sides, "sides", "nacre,postgres,sqlite",
		"what is measured: nacre (this build), postgres, sqlite, or the path of another build of nacre")
	fs.IntVar(&o.rows, "rows", 100_000, "records of 16 fields")
	fs.IntVar(&o.documents, "documents", 100_000, "documents of 50 words")
	fs.IntVar(&o.vectors, "vectors", 100_000, "vectors of 128 dimensions; a tenth of them in a table of their own, too")
	fs.DurationVar(&o.length, "for", 2*time.Second, "how long each turn lasts, about")
	fs.IntVar(&o.rounds, "rounds", 3, "how many turns each side has; the least CPU time counts")
	return func(ctx context.Context, out io.Writer) error {
		if o.rows < 1000 || o.documents < 100 || o.vectors < 1000 || o.rounds < 1 {
			return errors.New("want 1000 -rows, 100 -documents, 1000 -vectors and 1 of -rounds at least")
		}
		return o.run(ctx, out)
	}
}

// side is one of the databases.
type side interface {
	// load makes the tables and fills them.
	load(ctx context.Context, d *data) error
	// run runs the text of a piece of work so many times and gives the CPU time of the database for all of them, and
	// what the last one answered: the only value, or the number of rows. errors.ErrUnsupported: the side cannot do it.
	run(ctx context.Context, w *work, times int) (cpu time.Duration, answer string, err error)
	// nearest gives the ids that a search for vectors finds.
	nearest(ctx context.Context, w *work, q []float32) ([]int64, error)
	stop() error
}

// wantVectors is how many vectors the work needs.
func (o *options) wantVectors() int {
	for i := range works {
		if works[i].near != nil && harness.Among(o.only, works[i].name) {
			return o.vectors
		}
	}
	return 0
}

// start starts the sides that are asked for.
func (o *options) start(ctx context.Context, dir string) (names []string, sides []side, err error) {
	for name := range strings.SplitSeq(o.sides, ",") {
		var s side
		switch name {
		case "nacre":
			s, err = startNacre(ctx, dir, "")
		case "postgres":
			s, err = startPostgres(ctx, dir)
		case "sqlite":
			s, err = startSQLite(dir)
		default:
			if name == filepath.Base(name) {
				return names, sides, fmt.Errorf("-sides: %q is none of nacre, postgres and sqlite, and no path", name)
			}
			s, err = startNacre(ctx, dir, name)
			name = filepath.Base(name)
		}
		if err != nil {
			return names, sides, err
		}
		names, sides = append(names, name), append(sides, s)
	}
	return names, sides, nil
}

func (o *options) run(ctx context.Context, out io.Writer) (err error) {
	dir, done, err := o.Scratch("beside")
	if err != nil {
		return err
	}
	defer done()
	names, sides, err := o.start(ctx, dir)
	defer func() {
		for _, s := range sides {
			err = errors.Join(err, s.stop())
		}
	}()
	if err != nil {
		return err
	}
	d := makeData(o.rows, o.documents, o.wantVectors())
	for i, s := range sides {
		if err := s.load(ctx, d); err != nil {
			return fmt.Errorf("%s: load: %w", names[i], err)
		}
	}
	fmt.Fprintf(out, "%d rows, %d documents, %d vectors; CPU in µs per operation, the least of %d turns; (n) times as much as %s\n%-12s",
		o.rows, o.documents, o.vectors, o.rounds, names[0], "")
	for _, name := range names {
		fmt.Fprintf(out, "%20s", name)
	}
	fmt.Fprintln(out)
	for i := range works {
		if w := &works[i]; harness.Among(o.only, w.name) {
			if err := o.measure(ctx, out, w, d, names, sides); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return o.measureLoads(ctx, out, d, names, sides)
}

// measure prints a line of the table. Sides that answer differently do not do the same work: that is an error.
func (o *options) measure(ctx context.Context, out io.Writer, w *work, d *data, names []string, sides []side) error {
	fmt.Fprintf(out, "%-12s", w.name)
	first, said, notes := 0.0, "", ""
	for i, s := range sides {
		each, answer, note, err := o.tuned(ctx, w, d, s)
		cell := fmt.Sprintf("%.1f", each)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			cell, note = "-", strings.TrimSuffix(err.Error(), ": "+errors.ErrUnsupported.Error())
		case err != nil:
			return fmt.Errorf("%s: %w", names[i], err)
		case said == "":
			first, said = each, answer
		case answer != said:
			return fmt.Errorf("%s, and %s: %s", said, names[i], answer)
		case first > 0:
			cell += fmt.Sprintf(" (%.2f)", each/first)
		}
		fmt.Fprintf(out, "%20s", cell)
		if note != "" {
			notes += "  " + names[i] + ": " + note
		}
	}
	fmt.Fprintln(out, notes)
	return nil
}

// tuned is least of a piece of work, which is made to find enough where it is a search by a graph. note tells how.
func (o *options) tuned(ctx context.Context, w *work, d *data, s side) (each float64, answer, note string, err error) {
	one := *w
	if w.near != nil {
		if one, note, err = w.tune(ctx, s, d); err != nil {
			return 0, "", "", err
		}
	}
	each, answer, err = o.least(ctx, &one, s)
	return each, answer, note, err
}

// firstRuns is how often work is done to see how long it takes: asking for the CPU time of a family takes as long as
// many short queries.
const firstRuns = 20

// mostRuns bounds a turn. CPU time comes in steps of 10 ms, so quick work wants many runs.
const mostRuns = 50_000

// least is the CPU time of a piece of work in microseconds: that of the turn that took the least. The first time is for
// plans and caches.
func (o *options) least(ctx context.Context, w *work, s side) (each float64, answer string, err error) {
	if _, _, err = s.run(ctx, w, 1); err != nil {
		return 0, "", err
	}
	began := time.Now()
	if _, answer, err = s.run(ctx, w, firstRuns); err != nil {
		return 0, "", err
	}
	times := min(max(1, int(o.length*firstRuns/max(time.Since(began), time.Microsecond))), mostRuns)
	for i := range o.rounds {
		cpu, _, err := s.run(ctx, w, times)
		if err != nil {
			return 0, "", err
		}
		if took := float64(cpu.Microseconds()) / float64(times); i == 0 || took < each {
			each = took
		}
	}
	return each, answer, nil
}
