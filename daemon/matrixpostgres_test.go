package daemon_test

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const postgresDoor = "the PostgreSQL wire"

// postgresSQL runs a text in the dialect SQL.
func (c *caller) postgresSQL(r *row, text string) outcome {
	c.dialect = "sql"
	return c.postgres(r, text)
}

// byPassword are the principals that the PostgreSQL wire lets in: users with a password. dx and nx are not among them: the
// place that a client connects to says which user of that name it means.
const byPassword = "dv de do nv ne no rv re ro ex"

// postgres runs a text over the PostgreSQL wire. The principal signs in where it is defined, and goes from there to the
// place of the row.
func (c *caller) postgres(r *row, text string) outcome {
	ctx := c.s.t.Context()
	fail := func(err error) outcome {
		e, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case !ok:
			c.s.t.Fatal(err)
		case e.Code == "28P01":
			return outcome{msg: "There was a problem with authentication", raw: e.Message}
		}
		return outcome{msg: e.Message, raw: e.Message}
	}
	if c.pg != nil && r.place == "" { // back to where the principal is without a USE
		c.leave()
		c.pg = nil
	}
	if c.pg == nil {
		_, user, _ := strings.Cut(c.who.signin, `"user":"`)
		user, _, _ = strings.Cut(user, `"`)
		cfg, err := pgconn.ParseConfig("postgres://" + c.s.PostgresAddr().String() + "/?sslmode=disable")
		if err != nil {
			c.s.t.Fatal(err)
		}
		cfg.User, cfg.Password, cfg.Database = user, "p", c.who.ns+"/"+c.who.db
		if c.dialect != "" {
			cfg.RuntimeParams["options"] = "-c dialect=" + c.dialect
		}
		if c.pg, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
			c.pg = nil
			return fail(err)
		}
		pg := c.pg
		c.leave = func() { _ = pg.Close(ctx) }
	}
	ns, db, ok := strings.Cut(r.place, "/")
	if !ok {
		ns, db = c.who.ns, c.who.db
	}
	if ns != "" {
		use := "USE NS " + ns
		if db != "" {
			use += " DB " + db
		}
		if _, err := c.pg.Exec(ctx, use).ReadAll(); err != nil {
			return fail(err)
		}
	}
	if text, data, ok := strings.Cut(text, " <<< "); ok { // COPY … FROM STDIN
		tag, err := c.pg.CopyFrom(ctx, strings.NewReader(data+"\n"), text)
		if err != nil {
			return fail(err)
		}
		return outcome{empty: tag.RowsAffected() == 0, raw: tag.String()}
	}
	if strings.HasSuffix(text, "TO STDOUT") {
		var all strings.Builder
		if _, err := c.pg.CopyTo(ctx, &all, text); err != nil {
			return fail(err)
		}
		return outcome{empty: all.Len() == 0, answer: all.String(), raw: all.String()}
	}
	results, err := c.pg.Exec(ctx, text).ReadAll()
	if err != nil {
		return fail(err)
	}
	o := outcome{empty: true}
	for i, res := range results {
		var all strings.Builder
		for _, row := range res.Rows {
			for _, v := range row {
				all.Write(v)
				all.WriteByte(' ')
				o.empty = o.empty && (v == nil || i < len(results)-1)
			}
		}
		o.answer = all.String()
		o.raw += o.answer
	}
	return o
}
