package pgspeed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/internal/loopback"
	"github.com/nacredb/nacre/internal/pgserver"
)

// side is one of the servers.
type side struct {
	name   string
	dsn    string
	tables string // statements that make the tables
	empty  string // and those that empty the ones that are written
	spent  func() (time.Duration, error)
	stop   func() error
}

// postgres starts PostgreSQL with its own defaults, on the same disk as the other.
func postgres(ctx context.Context, dir string) (*side, error) {
	if err := os.Chmod(dir, 0o711); err != nil { // its user has to get through
		return nil, err
	}
	s, err := pgserver.Start(ctx, dir, "max_connections=200")
	if err != nil {
		return nil, err
	}
	fields := "(id text PRIMARY KEY, n bigint NOT NULL, name text NOT NULL, score double precision)"
	return &side{name: "postgres", dsn: s.DSN() + " sslmode=disable",
		tables: "CREATE TABLE item " + fields + "; CREATE TABLE made " + fields + "; CREATE TABLE loaded " + fields +
			"; CREATE INDEX item_n ON item (n)",
		empty: "TRUNCATE made, loaded; VACUUM ANALYZE item; CHECKPOINT",
		spent: harness.FamilyOf(s.Cmd.Process.Pid).CPU,
		stop:  func() error { s.Stop(); return nil }}, nil
}

// nacre starts a program as the server; "" is this one.
func nacre(ctx context.Context, dir, name, program string) (*side, error) {
	addr, err := loopback.Free()
	if err != nil {
		return nil, err
	}
	s, err := harness.StartProgram(ctx, program, "bolt://"+filepath.Join(dir, name), "NACRE_POSTGRES_BIND="+addr,
		"NACRE_CONNECTIONS_PER_ADDRESS=0")
	if err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(addr, ":")
	var tables strings.Builder
	for _, t := range []string{"item", "made", "loaded"} {
		fmt.Fprintf(&tables, `DEFINE TABLE %[1]s SCHEMAFULL; DEFINE FIELD n ON %[1]s TYPE int;
			DEFINE FIELD name ON %[1]s TYPE string; DEFINE FIELD score ON %[1]s TYPE option<float>; `, t)
	}
	return &side{name: name,
		dsn:    "host=" + host + " port=" + port + " user=root dbname=test/test sslmode=disable options='-c dialect=sql'",
		tables: "SET dialect = 'surrealql'; " + tables.String() + "DEFINE INDEX item_n ON item FIELDS n",
		empty:  "DELETE FROM made; DELETE FROM loaded",
		spent: func() (time.Duration, error) {
			u, err := harness.UsageOf(s.Cmd.Process.Pid)
			return u.CPU, err
		},
		stop: s.Stop}, nil
}

// connect opens n connections.
func (s *side) connect(ctx context.Context, n int) (list []*pgx.Conn, done func(), err error) {
	done = func() {
		for _, c := range list {
			_ = c.Close(context.WithoutCancel(ctx))
		}
	}
	for range n {
		c, err := pgx.Connect(ctx, s.dsn)
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		list = append(list, c)
	}
	return list, done, nil
}

// exec runs statements one by one: some of PostgreSQL must not be in a transaction.
func (s *side) exec(ctx context.Context, text string) error {
	list, done, err := s.connect(ctx, 1)
	if err != nil {
		return err
	}
	defer done()
	for one := range strings.SplitSeq(text, ";") {
		if _, err := list[0].Exec(ctx, one, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %s: %w", s.name, one, err)
		}
	}
	return nil
}
