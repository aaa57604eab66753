package daemon_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nacredb/nacre/daemon/config"
)

// postgresListener is the option of a script that speaks to the PostgreSQL listener.
func postgresListener(c *config.Config) { c.PostgresBind = "127.0.0.1:0" }

// postgres runs a text on the PostgreSQL wire: USER PASSWORD DATABASE DIALECT < TEXT, on a connection of its own. What comes
// back is the rows and tags, or the code and every text of the error.
func (a *attack) postgres(line string) {
	a.t.Helper()
	line, text, _ := strings.Cut(line, " < ")
	words := a.words(line)
	if len(words) != 4 {
		a.t.Fatalf("line %d: postgres USER PASSWORD DATABASE DIALECT < TEXT", a.line)
	}
	cfg, err := pgconn.ParseConfig("postgres://" + a.server().PostgresAddr().String() + "/?sslmode=disable")
	if err != nil {
		a.t.Fatal(err)
	}
	cfg.User, cfg.Password, cfg.Database = words[0], words[1], words[2]
	cfg.RuntimeParams["options"] = "-c dialect=" + words[3] + " -c statement_timeout=2s"
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	var all strings.Builder
	told := func(err error) {
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			a.t.Fatalf("line %d: %v", a.line, err)
		}
		all.WriteString(strings.Join([]string{"ERROR", e.Code, e.Message, e.Detail, e.Hint, e.Where, e.ConstraintName}, " "))
	}
	c, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		told(err)
		a.last = all.String()
		return
	}
	defer func() { _ = c.Close(ctx) }()
	results, err := c.Exec(ctx, a.text(text)).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			for _, v := range row {
				all.WriteString("|" + string(v))
			}
			all.WriteString("|\n")
		}
		all.WriteString(r.CommandTag.String() + "\n")
	}
	if err != nil {
		told(err)
	}
	a.last = all.String()
}
