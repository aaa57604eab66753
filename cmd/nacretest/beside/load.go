package beside

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// load is work on many rows at once, measured by the row: building an index, filling a table.
type load struct {
	name  string
	rows  func(d *data) int
	first work                // makes ready for it, and is not measured
	text  func(turn int) work // nil: the import
}

// What is built stays, and the next turn builds another one: databases remove an index later, beside other work.
var loads = []load{
	{name: "indexbuild", rows: people, text: func(turn int) work {
		sql := fmt.Sprintf("CREATE INDEX built%d ON person (amount)", turn)
		return work{nacre: fmt.Sprintf("DEFINE INDEX built%d ON person FIELDS amount", turn), postgres: sql, sqlite: sql}
	}},
	{name: "textbuild", rows: documents, text: func(turn int) work {
		return work{
			nacre:    fmt.Sprintf("DEFINE INDEX built%d ON doc FIELDS body FULLTEXT ANALYZER words BM25", turn),
			postgres: "CREATE INDEX ON doc USING gin (to_tsvector('simple', body))",
			sqlite: fmt.Sprintf("CREATE VIRTUAL TABLE words%d USING fts5(body, content=''); INSERT INTO words%[1]d (rowid, body) "+
				"SELECT rowid, body FROM doc; INSERT INTO words%[1]d (words%[1]d) VALUES ('optimize')", turn)}
	}},
	{name: "literal", rows: func(*data) int { return literalRows }, first: work{
		nacre:    "REMOVE TABLE IF EXISTS copy; DEFINE TABLE copy",
		postgres: "DROP TABLE IF EXISTS copy; CREATE TABLE copy (id bigserial PRIMARY KEY, a bigint, b text, c bigint[], d jsonb)",
		sqlite:   "DROP TABLE IF EXISTS copy; CREATE TABLE copy (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c TEXT, d TEXT)"},
		text: func(int) work { return literals() }},
	{name: "import", rows: people},
}

func people(d *data) int    { return len(d.people) }
func documents(d *data) int { return len(d.texts) }

const literalRows = 20_000

// literals inserts rows that are written out, a thousand of them in a statement.
func literals() work {
	var n, p, s strings.Builder
	_ = chunks(literalRows, func(from, to int) error { // it fails only where this does
		n.WriteString("INSERT INTO copy [")
		p.WriteString("INSERT INTO copy (a, b, c, d) VALUES ")
		s.WriteString("INSERT INTO copy (a, b, c, d) VALUES ")
		for i := from; i < to; i++ {
			end := ","
			if i+1 == to {
				end = ""
			}
			fmt.Fprintf(&n, "{ a: %d, b: 'text number %d', c: [1, 2, %d], d: { e: true, f: %d.5 } }%s", i, i, i, i, end)
			fmt.Fprintf(&p, `(%d, 'text number %d', '{1,2,%d}', '{"e": true, "f": %d.5}')%s`, i, i, i, i, end)
			fmt.Fprintf(&s, `(%d, 'text number %d', '[1,2,%d]', '{"e": true, "f": %d.5}')%s`, i, i, i, i, end)
		}
		n.WriteString("] RETURN NONE;")
		p.WriteString(";")
		s.WriteString(";")
		return nil
	})
	return work{nacre: n.String(), postgres: strings.TrimSuffix(p.String(), ";"), sqlite: s.String()}
}

// importer is a side that reads the records of person back from a file in the form in which it writes them.
type importer interface {
	// export writes the file.
	export(ctx context.Context) error
	// empty makes the table or database without records that importAll fills.
	empty(ctx context.Context) error
	// importAll reads the file, and gives the CPU time of that.
	importAll(ctx context.Context) (time.Duration, error)
}

// loadTurns is how often the work is done in a turn: some of them bring about a checkpoint, others do not.
const loadTurns = 3

// measureLoads prints the table of loads.
func (o *options) measureLoads(ctx context.Context, out io.Writer, d *data, names []string, sides []side) error {
	for _, s := range sides {
		if p, ok := s.(*postgres); ok { // what its workers use is not seen once they have ended
			if err := p.each(ctx, "SET max_parallel_maintenance_workers = 0"); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(out, "\nCPU in µs per row")
	for i := range loads {
		l := &loads[i]
		if !harness.Among(o.only, l.name) {
			continue
		}
		fmt.Fprintf(out, "%-12s", l.name)
		first := 0.0
		for i, s := range sides {
			each, err := o.leastLoad(ctx, l, l.rows(d), s)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", l.name, names[i], err)
			}
			cell := fmt.Sprintf("%.2f", each)
			if i == 0 {
				first = each
			} else if first > 0 {
				cell += fmt.Sprintf(" (%.2f)", each/first)
			}
			fmt.Fprintf(out, "%20s", cell)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// leastLoad is the CPU time of a load in microseconds a row: that of the turn that took the least.
func (o *options) leastLoad(ctx context.Context, l *load, rows int, s side) (least float64, err error) {
	turn := 0
	ready := func() error { return s.(importer).empty(ctx) }
	once := func() (time.Duration, error) { return s.(importer).importAll(ctx) }
	if l.text == nil {
		if err := s.(importer).export(ctx); err != nil {
			return 0, err
		}
	} else {
		ready = func() error {
			if l.first.nacre == "" {
				return nil
			}
			first := l.first
			_, err := runLoad(ctx, s, &first)
			return err
		}
		once = func() (time.Duration, error) {
			text := l.text(turn)
			turn++
			return runLoad(ctx, s, &text)
		}
	}
	for i := range o.rounds {
		var sum time.Duration
		for range loadTurns {
			if err := ready(); err != nil {
				return 0, err
			}
			cpu, err := withRest(ctx, s, once)
			if err != nil {
				return 0, err
			}
			sum += cpu
		}
		if each := float64(sum.Nanoseconds()) / 1000 / loadTurns / float64(rows); i == 0 || each < least {
			least = each
		}
	}
	return least, nil
}

// withRest is the CPU time of work and of what the database does afterwards in the background, as checkpoints, but not
// of what it was still doing before.
func withRest(ctx context.Context, s side, work func() (time.Duration, error)) (cpu time.Duration, err error) {
	if _, ok := s.(*sqlite); ok {
		return work() // its process has ended by then
	}
	before, err := rested(ctx, s)
	if err != nil {
		return 0, err
	}
	if _, err := work(); err != nil {
		return 0, err
	}
	after, err := rested(ctx, s)
	return after - before, err
}

// rested waits until a server does about nothing, ten seconds at most, and gives its CPU time by then.
func rested(ctx context.Context, s side) (last time.Duration, err error) {
	const look, least = 200 * time.Millisecond, 10 * time.Millisecond
	for range 50 {
		var now time.Duration
		switch s := s.(type) {
		case *nacre:
			var u harness.Usage
			u, err = harness.UsageOf(s.server.Cmd.Process.Pid)
			now = u.CPU
		case *postgres:
			now, err = s.family.CPU()
		}
		if err != nil || last > 0 && now-last <= least {
			return now, err
		}
		last = now
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return last, nil
}

// runLoad runs a text once. The side of SQLite runs what it is given more than once.
func runLoad(ctx context.Context, s side, w *work) (cpu time.Duration, err error) {
	if lite, ok := s.(*sqlite); ok {
		_, cpu, err = lite.shell(ctx, w.sqlite+";\n")
		return cpu, err
	}
	w.single = true
	cpu, _, err = s.run(ctx, w, 1)
	return cpu, err
}

func (n *nacre) export(ctx context.Context) error {
	opt := client.FullExport()
	opt.Tables = []string{"person"}
	var text bytes.Buffer
	if _, err := n.conn.Export(ctx, &text, opt); err != nil {
		return err
	}
	n.exported = n.exported[:0]
	for line := range bytes.Lines(text.Bytes()) {
		if !bytes.HasPrefix(line, []byte("DEFINE INDEX")) { // the others have none, too
			n.exported = append(n.exported, line...)
		}
	}
	return nil
}

func (n *nacre) empty(ctx context.Context) error {
	_, err := harness.Ask(ctx, n.conn, "REMOVE DATABASE IF EXISTS copy; DEFINE DATABASE copy")
	return err
}

func (n *nacre) importAll(ctx context.Context) (time.Duration, error) {
	at := client.Options{Endpoint: "http://" + n.server.Addr, Namespace: "test", Database: "copy"}
	into, err := client.Open(ctx, at)
	if err != nil {
		return 0, err
	}
	defer into.Close()
	before, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	res, err := into.Import(ctx, bytes.NewReader(n.exported), client.ImportOptions{})
	if err == nil && res.Failures > 0 {
		err = fmt.Errorf("%d statements of the import failed: %w", res.Failures, res.Failed[0].Err)
	}
	if err != nil {
		return 0, err
	}
	after, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	return after.CPU - before.CPU, err
}

func (p *postgres) export(ctx context.Context) error {
	var text bytes.Buffer
	_, err := p.conn.PgConn().CopyTo(ctx, &text, "COPY person TO STDOUT")
	p.exported = text.Bytes()
	return err
}

func (p *postgres) empty(ctx context.Context) error {
	return p.each(ctx, "DROP TABLE IF EXISTS copy; CREATE TABLE copy (LIKE person, PRIMARY KEY (id))")
}

func (p *postgres) importAll(ctx context.Context) (time.Duration, error) {
	before, err := p.family.CPU()
	if err != nil {
		return 0, err
	}
	if _, err = p.conn.PgConn().CopyFrom(ctx, bytes.NewReader(p.exported), "COPY copy FROM STDIN"); err != nil {
		return 0, err
	}
	after, err := p.family.CPU()
	return after - before, err
}

func (s *sqlite) exportFile() string { return filepath.Join(filepath.Dir(s.file), "person.csv") }

func (s *sqlite) export(ctx context.Context) error {
	_, _, err := s.shell(ctx, fmt.Sprintf(".mode csv\n.once %s\nSELECT * FROM person;\n", s.exportFile()))
	return err
}

func (s *sqlite) empty(ctx context.Context) error {
	_, _, err := s.shell(ctx, "DROP TABLE IF EXISTS copy; CREATE TABLE copy (id INTEGER PRIMARY KEY, name TEXT, mail TEXT, age INTEGER, "+
		"city TEXT, kind TEXT, score REAL, amount INTEGER, active INTEGER, zip TEXT, at INTEGER, tags TEXT, address TEXT, bio TEXT, "+
		"rank INTEGER, note TEXT);\n")
	return err
}

func (s *sqlite) importAll(ctx context.Context) (time.Duration, error) {
	_, cpu, err := s.shell(ctx, fmt.Sprintf(".mode csv\n.import %s copy\n", s.exportFile()))
	return cpu, err
}
