package pgwire_test

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/internal/pgserver"
)

// postgres runs PostgreSQL in a directory of the test, and connects to it.
func postgres(t testing.TB) *pgconn.PgConn {
	t.Helper()
	s, err := pgserver.Start(t.Context(), "", "fsync=off", "timezone=UTC", "max_parallel_workers_per_gather=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c, err := pgconn.Connect(t.Context(), s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// answerText is what a server answers to a query: the columns, then the rows as texts, or the code of its error.
type answerText struct {
	code, msg string
	cols      []string
	rows      [][]string
}

func answerOf(t *testing.T, c *pgconn.PgConn, query string) *answerText {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	res, err := c.Exec(ctx, query).ReadAll()
	if err != nil {
		a := &answerText{code: stateOf(err), msg: err.Error()}
		if c.IsClosed() {
			t.Fatalf("the connection is gone after %s: %v", query, err)
		}
		return a
	}
	a := &answerText{}
	for _, f := range res[0].FieldDescriptions {
		a.cols = append(a.cols, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
	}
	for _, row := range res[0].Rows {
		var texts []string
		for _, v := range row {
			if v == nil {
				texts = append(texts, "NULL")
			} else {
				texts = append(texts, plainNumber(string(v)))
			}
		}
		a.rows = append(a.rows, texts)
	}
	return a
}

// plainNumber writes a number with 12 digits: PostgreSQL adds zeros to a quotient. The order of 0 and -0 is open.
func plainNumber(s string) string {
	if s == "-0" {
		return "0"
	}
	if !strings.Contains(s, ".") && !strings.Contains(s, "e") {
		return s
	}
	f, ok := new(big.Float).SetString(s)
	if !ok {
		return s
	}
	return f.Text('g', 12)
}

// beside connects to a PostgreSQL and to a server of ours, which reads SQL.
func beside(t *testing.T) (pg, ours *pgconn.PgConn, d *daemon.Daemon) {
	t.Helper()
	pg = postgres(t)
	addr, d := start(t, unauthenticated)
	ours, err := pgconn.Connect(t.Context(), "postgres://root@"+addr+
		"/test%2Ftest?sslmode=disable&options=-c%20dialect%3Dsql")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(context.Background()) })
	return pg, ours, d
}

// answerAlike reports what is answered differently to statements, one a line.
func answerAlike(t *testing.T, pg, ours *pgconn.PgConn, statements string) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimSpace(statements), "\n") {
		if diff := difference(answerOf(t, ours, text), answerOf(t, pg, text)); diff != "" {
			t.Errorf("%.200s\n%s", text, diff)
		}
	}
}

// writtenAlike is answerAlike for statements whose rows come in any order, but for those with ORDER BY.
func writtenAlike(t *testing.T, pg, ours *pgconn.PgConn, statements string) {
	t.Helper()
	for text := range strings.SplitSeq(strings.TrimSpace(statements), "\n") {
		want, got := answerOf(t, pg, text), answerOf(t, ours, text)
		if !strings.Contains(text, "ORDER BY") {
			slices.SortFunc(want.rows, slices.Compare)
			slices.SortFunc(got.rows, slices.Compare)
		}
		if diff := difference(got, want); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// seedOr is what NACRE_DIFFERENTIAL_SEED says, or usual.
func seedOr(t *testing.T, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv("NACRE_DIFFERENTIAL_SEED")
	if text == "" {
		return usual
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// The reader of SQL answers random queries as PostgreSQL does over the same rows. NACRE_DIFFERENTIAL_SEED names others.
func TestAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	fillBoth(t, pg, func(text string) { run(t, d, text) })
	n, seed := 5000, seedOr(t, 17)
	if testing.Short() {
		n = 500
	}
	refused, failed, errors := 0, 0, 0
	lookups := sql.MostLookups.Load()
	defer sql.MostLookups.Store(lookups)
	for i := range n {
		sql.MostLookups.Store(lookups * int64(i%2)) // the tables are small: else no join would read them whole
		g := &queries{r: rand.New(rand.NewPCG(uint64(i), seed))}
		text := g.query(2)
		want, got := answerOf(t, pg, text), answerOf(t, ours, text)
		if got.code == "0A000" && want.code == "" {
			refused++
			t.Logf("refused: %s\n%s", got.msg, text)
			continue
		}
		if want.code != "" {
			errors++
		}
		if diff := difference(got, want); diff != "" {
			if failed++; failed <= 25 {
				t.Errorf("query %d: %s\n%s", i, text, diff)
			}
		}
	}
	t.Logf("%d queries, %d with another answer, %d refused, %d fail at both", n, failed, refused, errors)
	if refused > n/100 || errors > n/10 {
		t.Errorf("of %d queries %d were refused, and %d fail at both", n, refused, errors)
	}
}

// difference says how two answers differ. Rows are compared in order: the queries order them by all columns, or not at
// all.
func difference(got, want *answerText) string {
	switch {
	case got.code != want.code:
		return fmt.Sprintf("got %q (%s), want %q (%s)", got.code, got.msg, want.code, want.msg)
	case !slices.Equal(got.cols, want.cols):
		return fmt.Sprintf("columns: got %v, want %v", got.cols, want.cols)
	case len(got.rows) != len(want.rows):
		return fmt.Sprintf("got %d rows, want %d\ngot  %v\nwant %v", len(got.rows), len(want.rows), got.rows,
			want.rows)
	}
	for i := range got.rows {
		if !slices.Equal(got.rows[i], want.rows[i]) {
			return fmt.Sprintf("row %d: got %v, want %v", i, got.rows[i], want.rows[i])
		}
	}
	return ""
}

// fillBoth makes the same tables of the same rows at both servers.
func fillBoth(t *testing.T, pg *pgconn.PgConn, ours func(string)) {
	t.Helper()
	var a, b strings.Builder
	types := [][3]string{{"b", "bool", "bool"}, {"d", "decimal", "numeric"}, {"f", "float", "float8"}, {"k", "int",
		"int8"},
		{"n", "int", "int8"}, {"s", "string", "text"}, {"t", "datetime", "timestamptz"}}
	r := rand.New(rand.NewPCG(1, 2))
	for _, table := range []string{"x", "y", "z"} {
		fmt.Fprintf(&a, "DEFINE TABLE %s SCHEMAFULL;", table)
		fmt.Fprintf(&b, "CREATE TABLE %s (id text PRIMARY KEY", table)
		for _, col := range types {
			fmt.Fprintf(&a, "DEFINE FIELD %s ON %s TYPE option<%s>;", col[0], table, col[1])
			fmt.Fprintf(&b, ", %s %s", col[0], col[2])
		}
		b.WriteString(");")
		fmt.Fprintf(&a, "DEFINE INDEX %s_n ON %s FIELDS n;", table, table)
		for i := range 5 + r.IntN(20) {
			fmt.Fprintf(&a, "CREATE %s:%d SET id = id", table, i)
			fmt.Fprintf(&b, "INSERT INTO %s VALUES ('%s:%d'", table, table, i)
			for _, v := range []string{pickOf(r, "true", "false"), pickOf(r, "0", "1.5", "-2.25", "10", "0.001"),
				pickOf(r, "0", "1.5", "-3.75", "1e20", "0.1"), pickOf(r, "1", "2", "3"),
				pickOf(r, "0", "1", "2", "3", "-1", "7", "100"), pickOf(r, "''", "'a'", "'ab'", "'B'", "'ä'",
					"'a%b'", "'10'"),
				pickOf(r, "'2024-01-01T00:00:00Z'", "'2024-02-29T12:30:45.5Z'", "'1999-12-31T23:59:59Z'")} {
				if r.IntN(5) == 0 {
					v = "NULL"
				}
				fmt.Fprintf(&b, ", %s", v)
				a.WriteString(", ")
				col := types[strings.Count(lastLine(b.String()), ", ")-1]
				switch {
				case v == "NULL":
					v = "NONE"
				case col[0] == "t":
					v = "d" + v
				case col[0] == "d":
					v += "dec"
				case col[0] == "f":
					v = "<float> " + v
				}
				fmt.Fprintf(&a, "%s = %s", col[0], v)
			}
			a.WriteString(";")
			b.WriteString(");")
		}
	}
	ours(strings.ReplaceAll(a.String(), " SET id = id,", " SET"))
	if _, err := pg.Exec(t.Context(), b.String()).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// lastLine is the statement that is being written.
func lastLine(s string) string { return s[strings.LastIndexByte(s, ';')+1:] }

func pickOf(r *rand.Rand, list ...string) string { return list[r.IntN(len(list))] }
