package beside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/internal/pgserver"
)

// postgres is a PostgreSQL with its own defaults, on the same disk.
type postgres struct {
	server *pgserver.Server
	conn   *pgx.Conn
	family *harness.Family
	vector bool // it has pgvector
	width  int  // the width of searches by a graph that is set

	exported []byte // see importer
}

func startPostgres(ctx context.Context, dir string) (side, error) {
	if err := os.Chmod(dir, 0o711); err != nil { // its user has to get through
		return nil, err
	}
	s, err := pgserver.Start(ctx, dir)
	if err != nil {
		return nil, err
	}
	c, err := pgx.Connect(ctx, s.DSN()+" sslmode=disable")
	if err != nil {
		s.Stop()
		return nil, err
	}
	p := &postgres{server: s, conn: c, family: harness.FamilyOf(s.Cmd.Process.Pid)}
	err = c.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_available_extensions WHERE name = 'vector'").Scan(&p.vector)
	return p, err
}

func (p *postgres) load(ctx context.Context, d *data) error {
	err := p.each(ctx, `CREATE TABLE person (id bigint PRIMARY KEY, name text, mail text, age bigint, city text, kind text,
		score double precision, amount bigint, active boolean, zip text, at timestamptz, tags text[], address jsonb, bio text, rank bigint, note text);
		CREATE TABLE item (id bigserial PRIMARY KEY, a bigint, b text);
		CREATE TABLE knows (id bigserial PRIMARY KEY, source bigint, target bigint);
		CREATE TABLE doc (id bigint PRIMARY KEY, body text, words tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED)`)
	if err != nil {
		return err
	}
	_, err = p.conn.CopyFrom(ctx, pgx.Identifier{"person"},
		[]string{"id", "name", "mail", "age", "city", "kind", "score", "amount", "active",
			"zip", "at", "tags", "address", "bio", "rank"},
		pgx.CopyFromSlice(len(d.people), func(i int) ([]any, error) {
			q := &d.people[i]
			return []any{q.id, q.name, q.mail, q.age, q.city, q.kind, q.score, q.amount, q.active, q.zip,
				time.Unix(q.at, 0), []string{"a", "b", q.tag},
				fmt.Sprintf(`{"street": "a street", "number": %d, "floor": %d}`, q.number, q.floor), q.bio, q.rank}, nil
		}))
	if err != nil {
		return err
	}
	_, err = p.conn.CopyFrom(ctx, pgx.Identifier{"doc"}, []string{"id", "body"},
		pgx.CopyFromSlice(len(d.texts), func(i int) ([]any, error) {
			return []any{i, d.texts[i]}, nil
		}))
	if err != nil {
		return err
	}
	_, err = p.conn.CopyFrom(ctx, pgx.Identifier{"knows"}, []string{"source", "target"},
		pgx.CopyFromSlice(len(d.knows), func(i int) ([]any, error) {
			return []any{d.knows[i][0], d.knows[i][1]}, nil
		}))
	if err != nil {
		return err
	}
	if p.vector {
		if err := p.loadVectors(ctx, d); err != nil {
			return err
		}
	}
	return p.each(ctx, `CREATE INDEX ON person (city); CREATE INDEX ON person (rank); CREATE INDEX ON doc USING gin (words);
		CREATE INDEX ON knows (source); CREATE INDEX ON knows (target);
		VACUUM ANALYZE person; VACUUM ANALYZE doc; VACUUM ANALYZE knows; CHECKPOINT`)
}

// loadVectors makes the tables of vectors. Enough memory for a graph is not what is measured.
func (p *postgres) loadVectors(ctx context.Context, d *data) error {
	if err := p.each(ctx, "CREATE EXTENSION vector; SET maintenance_work_mem = '1GB'"); err != nil {
		return err
	}
	for table, rows := range map[string]int{"few": d.few(), "many": len(d.vectors)} {
		if err := p.each(ctx, fmt.Sprintf("CREATE TABLE %s (id bigint PRIMARY KEY, g bigint, v vector(%d))", table, dimension)); err != nil {
			return err
		}
		err := chunks(rows, func(from, to int) error {
			var b strings.Builder
			for i := from; i < to; i++ {
				fmt.Fprintf(&b, "%d\t%d\t%s\n", i, groupOf(i), vectorText(d.vectors[i]))
			}
			_, err := p.conn.PgConn().CopyFrom(ctx, strings.NewReader(b.String()), "COPY "+table+" FROM STDIN")
			return err
		})
		if err != nil {
			return err
		}
		if err := p.each(ctx, fmt.Sprintf("CREATE INDEX ON %s USING hnsw (v vector_l2_ops); VACUUM ANALYZE %[1]s", table)); err != nil {
			return err
		}
	}
	return nil
}

// each runs statements one by one: a text of several is one transaction.
func (p *postgres) each(ctx context.Context, text string) error {
	for one := range strings.SplitSeq(text, ";") {
		if _, err := p.conn.Exec(ctx, one, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
	}
	return nil
}

func (p *postgres) run(ctx context.Context, w *work, times int) (cpu time.Duration, answer string, err error) {
	before, err := p.family.CPU()
	if err != nil {
		return 0, "", err
	}
	for i := range times {
		if w.near != nil {
			var ids []int64
			ids, err = p.nearest(ctx, w, w.asked[i%len(w.asked)])
			answer = fmt.Sprint(len(ids), " rows")
		} else if w.single {
			answer, err = "0 rows", p.each(ctx, w.postgres)
		} else {
			answer, err = p.ask(ctx, w.postgres)
		}
		if err != nil {
			return 0, "", err
		}
	}
	after, err := p.family.CPU()
	return after - before, answer, err
}

// ask reads the rows of a query.
func (p *postgres) ask(ctx context.Context, text string) (answer string, err error) {
	rows, err := p.conn.Query(ctx, text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		if len(rows.RawValues()) == 1 {
			var only int64
			if err := rows.Scan(&only); err != nil {
				return "", err
			}
			answer = strconv.FormatInt(only, 10)
		}
	}
	if answer == "" || n != 1 {
		answer = fmt.Sprint(n, " rows")
	}
	return answer, rows.Err()
}

func (p *postgres) nearest(ctx context.Context, w *work, q []float32) ([]int64, error) {
	if !p.vector {
		return nil, fmt.Errorf("no pgvector (apt-get install postgresql-15-pgvector): %w", errors.ErrUnsupported)
	}
	if w.near.graph && w.width != p.width {
		if err := p.each(ctx, fmt.Sprint("SET hnsw.ef_search = ", w.width)); err != nil {
			return nil, err
		}
		p.width = w.width
	}
	rows, err := p.conn.Query(ctx, w.postgres, vectorText(q))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

func (p *postgres) stop() error {
	_ = p.conn.Close(context.Background())
	p.server.Stop()
	return nil
}
