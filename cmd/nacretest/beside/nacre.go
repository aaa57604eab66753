package beside

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// nacre is this program as a server, or another build of it.
type nacre struct {
	server *harness.Server
	conn   *client.Client

	exported []byte // see importer
}

// startNacre starts a program as the server, with a store of its own; "" is this program.
func startNacre(ctx context.Context, dir, program string) (side, error) {
	store, err := os.MkdirTemp(dir, "nacre-")
	if err != nil {
		return nil, err
	}
	s, err := harness.StartProgram(ctx, program, "bolt://"+filepath.Join(store, "store"))
	if err != nil {
		return nil, err
	}
	c, err := s.Connect(ctx, "test", "test")
	if err != nil {
		_ = s.Kill()
		return nil, err
	}
	return &nacre{server: s, conn: c}, nil
}

func (n *nacre) load(ctx context.Context, d *data) error {
	const tables = "DEFINE TABLE item; DEFINE TABLE person; DEFINE TABLE doc; DEFINE TABLE few; DEFINE TABLE many; " +
		"DEFINE TABLE knows TYPE RELATION FROM person TO person"
	if _, err := harness.Ask(ctx, n.conn, tables); err != nil {
		return err
	}
	insert := func(table string, count int, row func(b *strings.Builder, i int)) error {
		return chunks(count, func(from, to int) error {
			var b strings.Builder
			fmt.Fprintf(&b, "INSERT %s [", table)
			for i := from; i < to; i++ {
				row(&b, i)
			}
			b.WriteString("] RETURN NONE")
			_, err := harness.Ask(ctx, n.conn, b.String())
			return err
		})
	}
	err := insert("INTO person", len(d.people), func(b *strings.Builder, i int) {
		p := &d.people[i]
		fmt.Fprintf(b, "{ id: %d, name: '%s', mail: '%s', age: %d, city: '%s', kind: '%s', score: %gf, amount: %d, active: %t, zip: '%s', "+
			"at: d'%s', tags: ['a', 'b', '%s'], address: { street: 'a street', number: %d, floor: %d }, bio: '%s', rank: %d, note: NULL },",
			p.id, p.name, p.mail, p.age, p.city, p.kind, p.score, p.amount, p.active, p.zip,
			time.Unix(p.at, 0).UTC().Format(time.RFC3339),
			p.tag, p.number, p.floor, p.bio, p.rank)
	})
	if err == nil {
		err = insert("INTO doc", len(d.texts),
			func(b *strings.Builder, i int) { fmt.Fprintf(b, "{ id: %d, body: '%s' },", i, d.texts[i]) })
	}
	if err == nil {
		err = insert("RELATION INTO knows", len(d.knows), func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "{ in: person:%d, out: person:%d },", d.knows[i][0], d.knows[i][1])
		})
	}
	vector := func(b *strings.Builder, i int) {
		fmt.Fprintf(b, "{ id: %d, g: %d, v: %s },", i, groupOf(i), vectorText(d.vectors[i]))
	}
	if err == nil {
		err = insert("INTO few", d.few(), vector)
	}
	if err == nil {
		err = insert("INTO many", len(d.vectors), vector)
	}
	if err == nil {
		_, err = harness.Ask(ctx, n.conn, "DEFINE INDEX near ON few FIELDS v HNSW DIMENSION 128 DIST EUCLIDEAN; "+
			"DEFINE INDEX near ON many FIELDS v HNSW DIMENSION 128 DIST EUCLIDEAN")
	}
	if err == nil {
		_, err = harness.Ask(ctx, n.conn, "DEFINE INDEX byCity ON person FIELDS city; DEFINE INDEX byRank ON person FIELDS rank; "+
			"DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE INDEX byWords ON doc FIELDS body FULLTEXT ANALYZER words BM25")
	}
	if err == nil {
		err = n.rest(ctx)
	}
	return err
}

// rest waits until the server has little to do: vectors are linked after the statement that stores them.
func (n *nacre) rest(ctx context.Context) error {
	before, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	for err == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		var now harness.Usage
		if now, err = harness.UsageOf(n.server.Cmd.Process.Pid); now.CPU-before.CPU < 100*time.Millisecond {
			return err
		}
		before = now
	}
	return err
}

func (n *nacre) run(ctx context.Context, w *work, times int) (cpu time.Duration, answer string, err error) {
	before, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	if err != nil {
		return 0, "", err
	}
	var last []value.Value
	for i := range times {
		if w.near != nil {
			var ids []int64
			ids, err = n.nearest(ctx, w, w.asked[i%len(w.asked)])
			answer = fmt.Sprint(len(ids), " rows")
		} else {
			last, err = harness.Ask(ctx, n.conn, w.nacre)
		}
		if err != nil {
			return 0, "", err
		}
	}
	after, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	if w.near != nil {
		return after.CPU - before.CPU, answer, err
	}
	rows := last[len(last)-1].Elems()
	if len(rows) == 1 && rows[0].Kind() == value.KindInt {
		return after.CPU - before.CPU, rows[0].Text(), err
	}
	return after.CPU - before.CPU, fmt.Sprint(len(rows), " rows"), err
}

func (n *nacre) nearest(ctx context.Context, w *work, q []float32) ([]int64, error) {
	elems := make([]value.Value, len(q))
	for i, x := range q {
		elems[i] = value.Float(float64(x))
	}
	answers, err := n.conn.Query(ctx, w.nacre, value.NewObject(value.Field{Name: "q", Value: value.ArrayOf(elems)}))
	if err == nil {
		err = harness.FirstError(answers)
	}
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, id := range answers[0].Value.Elems() {
		ids = append(ids, id.Record().Key.Int())
	}
	return ids, nil
}

func (n *nacre) stop() error {
	_ = n.conn.Close()
	return n.server.Stop()
}
