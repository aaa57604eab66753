package beside

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// nacre is this program as a server.
type nacre struct {
	server *harness.Server
	conn   *client.Client

	exported []byte // see importer
}

func startNacre(ctx context.Context, dir string) (side, error) {
	s, err := harness.Start(ctx, "bolt://"+filepath.Join(dir, "nacre"))
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
	if _, err := harness.Ask(ctx, n.conn, "DEFINE TABLE item; DEFINE TABLE person; DEFINE TABLE doc"); err != nil {
		return err
	}
	insert := func(table string, count int, row func(b *strings.Builder, i int)) error {
		return chunks(count, func(from, to int) error {
			var b strings.Builder
			fmt.Fprintf(&b, "INSERT INTO %s [", table)
			for i := from; i < to; i++ {
				row(&b, i)
			}
			b.WriteString("] RETURN NONE")
			_, err := harness.Ask(ctx, n.conn, b.String())
			return err
		})
	}
	err := insert("person", len(d.people), func(b *strings.Builder, i int) {
		p := &d.people[i]
		fmt.Fprintf(b, "{ id: %d, name: '%s', mail: '%s', age: %d, city: '%s', kind: '%s', score: %gf, amount: %d, active: %t, zip: '%s', "+
			"at: d'%s', tags: ['a', 'b', '%s'], address: { street: 'a street', number: %d, floor: %d }, bio: '%s', rank: %d, note: NULL },",
			p.id, p.name, p.mail, p.age, p.city, p.kind, p.score, p.amount, p.active, p.zip,
			time.Unix(p.at, 0).UTC().Format(time.RFC3339),
			p.tag, p.number, p.floor, p.bio, p.rank)
	})
	if err == nil {
		err = insert("doc", len(d.texts),
			func(b *strings.Builder, i int) { fmt.Fprintf(b, "{ id: %d, body: '%s' },", i, d.texts[i]) })
	}
	if err == nil {
		_, err = harness.Ask(ctx, n.conn, "DEFINE INDEX byCity ON person FIELDS city; DEFINE INDEX byRank ON person FIELDS rank; "+
			"DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE INDEX byWords ON doc FIELDS body FULLTEXT ANALYZER words BM25")
	}
	return err
}

func (n *nacre) run(ctx context.Context, w *work, times int) (cpu time.Duration, answer string, err error) {
	before, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	if err != nil {
		return 0, "", err
	}
	var last []value.Value
	for range times {
		if last, err = harness.Ask(ctx, n.conn, w.nacre); err != nil {
			return 0, "", err
		}
	}
	after, err := harness.UsageOf(n.server.Cmd.Process.Pid)
	rows := last[len(last)-1].Elems()
	if len(rows) == 1 && rows[0].Kind() == value.KindInt {
		return after.CPU - before.CPU, rows[0].Text(), err
	}
	return after.CPU - before.CPU, fmt.Sprint(len(rows), " rows"), err
}

func (n *nacre) stop() error {
	_ = n.conn.Close()
	return n.server.Stop()
}
