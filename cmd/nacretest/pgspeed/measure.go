package pgspeed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// row is one thing to measure.
type row struct {
	name string
	most int // clients, 0: as many as there are
	per  int // what is counted of one turn of do: statements, or rows
	kind kind
	do   func(ctx context.Context, c *pgx.Conn, i int64) error
}

// kind is what a row does to the tables.
type kind int

const (
	reads kind = iota
	writes
)

func (o *options) rowList() []row {
	id := func() string { return "item:" + strconv.Itoa(rand.IntN(o.rows)) }
	return []row{
		{"read", 0, 1, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			var name string
			var n int64
			return c.QueryRow(ctx, "SELECT name, n FROM item WHERE id = $1", id()).Scan(&name, &n)
		}},
		{"insert", 0, 1, writes, func(ctx context.Context, c *pgx.Conn, i int64) error {
			_, err := c.Exec(ctx, "INSERT INTO made (id, n, name, score) VALUES ($1, $2, $3, $4)", "made:"+
				strconv.FormatInt(i, 10), i, "a name of some length", 0.5)
			return err
		}},
		{"update", 0, 1, writes, func(ctx context.Context, c *pgx.Conn, i int64) error {
			_, err := c.Exec(ctx, "UPDATE item SET score = $1 WHERE id = $2", float64(i), id())
			return err
		}},
		{"range", 0, 1, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			from := rand.Int64N(int64(o.rows))
			return drain(c.Query(ctx, "SELECT id, name FROM item WHERE n >= $1 AND n < $2", from, from+10))
		}},
		{"top", 1, 1, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			return drain(c.Query(ctx, "SELECT id, n FROM item ORDER BY n DESC LIMIT 10"))
		}},
		{"count", 1, 1, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			return drain(c.Query(ctx, "SELECT count(*) FROM item"))
		}},
		{"sum", 1, o.rows, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			return drain(c.Query(ctx, "SELECT n % 10, count(*), sum(n), max(name) FROM item GROUP BY 1"))
		}},
		{"scan", 1, o.rows, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			return drain(c.Query(ctx, "SELECT id, n, name, score FROM item"))
		}},
		{"copyin", 1, o.rows, writes, func(ctx context.Context, c *pgx.Conn, i int64) error {
			return load(ctx, c, "loaded", o.rows, "load"+strconv.FormatInt(i, 10)+"_")
		}},
		{"copytext", 1, o.rows, writes, func(ctx context.Context, c *pgx.Conn, i int64) error {
			return loadText(ctx, c, "COPY loaded FROM STDIN", "\t", o.rows, i)
		}},
		{"copycsv", 1, o.rows, writes, func(ctx context.Context, c *pgx.Conn, i int64) error {
			return loadText(ctx, c, "COPY loaded FROM STDIN (FORMAT csv)", ",", o.rows, i)
		}},
		{"copyout", 1, o.rows, reads, func(ctx context.Context, c *pgx.Conn, _ int64) error {
			_, err := c.PgConn().CopyTo(ctx, io.Discard, "COPY item TO STDOUT")
			return err
		}},
	}
}

// drain reads the rows as they come, without making values of them.
func drain(rows pgx.Rows, err error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		rows.RawValues()
	}
	rows.Close()
	return rows.Err()
}

// load copies n rows into a table, in the binary format.
func load(ctx context.Context, c *pgx.Conn, table string, n int, prefix string) error {
	made, err := c.CopyFrom(ctx, pgx.Identifier{table}, []string{"id", "n", "name", "score"},
		pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return []any{prefix + strconv.Itoa(i), int64(i), "the name of number " + strconv.Itoa(i),
				float64(i) / 2}, nil
		}))
	if err == nil && made != int64(n) {
		err = fmt.Errorf("%d of %d rows were copied", made, n)
	}
	return err
}

// loadText copies n rows as text, with a separator between the columns. run tells apart the rows of several runs.
func loadText(ctx context.Context, c *pgx.Conn, text, separator string, n int, run int64) error {
	var rows bytes.Buffer
	for i := range n {
		fmt.Fprintf(&rows, "load%d_%d%[3]s%[2]d%[3]sthe name of number %[2]d%[3]s%[4]g\n", run, i, separator, float64(i)/2)
	}
	tag, err := c.PgConn().CopyFrom(ctx, &rows, text)
	if err == nil && tag.RowsAffected() != int64(n) {
		err = fmt.Errorf("%d of %d rows were copied", tag.RowsAffected(), n)
	}
	return err
}

func (o *options) run(ctx context.Context, out io.Writer) error {
	dir, done, err := o.Scratch("postgres")
	if err != nil {
		return err
	}
	defer done()
	sides, err := o.start(ctx, dir)
	if err == nil {
		err = o.compare(ctx, out, sides)
	}
	for _, s := range sides {
		err = errors.Join(err, s.stop())
	}
	return err
}

// start starts the sides; the others are compared with the first.
func (o *options) start(ctx context.Context, dir string) (sides []*side, err error) {
	for name := range strings.SplitSeq(o.sides, ",") {
		var s *side
		switch name {
		case "postgres":
			s, err = postgres(ctx, dir)
		case "nacre":
			s, err = nacre(ctx, dir, name, "")
		default:
			s, err = nacre(ctx, dir, filepath.Base(name), name)
		}
		if err != nil {
			return sides, err
		}
		sides = append(sides, s)
	}
	return sides, nil
}

func (o *options) compare(ctx context.Context, out io.Writer, sides []*side) error {
	for _, s := range sides {
		if err := s.exec(ctx, s.tables); err != nil {
			return err
		}
		list, done, err := s.connect(ctx, 1)
		if err != nil {
			return err
		}
		err = load(ctx, list[0], "item", o.rows, "item:")
		done()
		if err != nil {
			return fmt.Errorf("%s: load: %w", s.name, err)
		}
	}
	fmt.Fprintf(out, "%d rows; %d turns of %v each; CPU of the server + of the clients\n", o.rows, o.rounds, o.length)
	for _, r := range o.rowList() {
		for _, n := range o.clients {
			if !harness.Among(o.only, r.name) || r.most > 0 && n > r.most {
				continue
			}
			if err := o.measure(ctx, out, sides, r, n); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	return nil
}

// turn is the result of one turn of a side.
type turn struct {
	done  int
	took  time.Duration
	spent time.Duration // CPU of the server
	own   time.Duration // and of the clients, which are this process
	each  []time.Duration
}

func (o *options) measure(ctx context.Context, out io.Writer, sides []*side, r row, clients int) error {
	sums := make([]turn, len(sides))
	for round := range o.rounds {
		for i, s := range sides {
			if err := s.exec(ctx, s.empty); err != nil {
				return err
			}
			if r.kind == writes || round+i == 0 {
				select {
				case <-time.After(o.rest):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			t, err := o.turn(ctx, s, r, clients)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			sums[i].done += t.done
			sums[i].took += t.took
			sums[i].spent += t.spent
			sums[i].own += t.own
			sums[i].each = append(sums[i].each, t.each...)
		}
	}
	for i, s := range sides {
		t := &sums[i]
		slices.Sort(t.each)
		n := float64(t.done * r.per)
		fmt.Fprintf(out, "%-8s %3d clients %-12s %9.0f/s  CPU %7.2f + %6.2f µs each  p50 %-10v p99 %-10v", r.name,
			clients, s.name, n/t.took.Seconds(), float64(t.spent.Microseconds())/n, float64(t.own.Microseconds())/n,
			t.each[len(t.each)/2].Round(time.Microsecond), t.each[len(t.each)*99/100].Round(time.Microsecond))
		if i > 0 {
			them := float64(sums[0].done*r.per) / sums[0].took.Seconds()
			fmt.Fprintf(out, " rate %.2fx", n/t.took.Seconds()/them)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// turn runs a row on one side.
func (o *options) turn(ctx context.Context, s *side, r row, clients int) (t turn, err error) {
	list, done, err := s.connect(ctx, clients)
	if err != nil {
		return t, err
	}
	defer done()
	for i, c := range list { // prepares the statement
		if r.per == 1 {
			if err := r.do(ctx, c, -1-int64(i)); err != nil {
				return t, err
			}
		}
	}
	before, err := s.spent()
	if err != nil {
		return t, err
	}
	start, err := harness.UsageOf(os.Getpid())
	if err != nil {
		return t, err
	}
	var wg sync.WaitGroup
	took := make([][]time.Duration, clients)
	failed := make([]error, clients)
	began := time.Now()
	end := began.Add(o.length)
	for i, c := range list {
		wg.Go(func() {
			for n := int64(i) << 32; failed[i] == nil && (time.Now().Before(end) || len(took[i]) == 0); n++ {
				sent := time.Now()
				failed[i] = r.do(ctx, c, n)
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	t.took = time.Since(began)
	after, err := s.spent()
	t.spent = after - before
	now, unknown := harness.UsageOf(os.Getpid())
	t.own = now.CPU - start.CPU
	t.each = slices.Concat(took...)
	t.done = len(t.each)
	return t, errors.Join(append(failed, err, unknown)...)
}
