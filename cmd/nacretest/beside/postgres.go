package beside

import (
	"context"
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
	return &postgres{server: s, conn: c, family: harness.FamilyOf(s.Cmd.Process.Pid)}, nil
}

func (p *postgres) load(ctx context.Context, d *data) error {
	err := p.each(ctx, `CREATE TABLE person (id bigint PRIMARY KEY, name text, mail text, age bigint, city text, kind text,
		score double precision, amount bigint, active boolean, zip text, at timestamptz, tags text[], address jsonb, bio text, rank bigint, note text);
		CREATE TABLE item (id bigserial PRIMARY KEY, a bigint, b text);
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
	return p.each(ctx, `CREATE INDEX ON person (city); CREATE INDEX ON person (rank); CREATE INDEX ON doc USING gin (words);
		VACUUM ANALYZE person; VACUUM ANALYZE doc; CHECKPOINT`)
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
	for range times {
		if w.single {
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

func (p *postgres) stop() error {
	_ = p.conn.Close(context.Background())
	p.server.Stop()
	return nil
}
