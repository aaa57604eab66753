package pgwire_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// clockSteps are texts that clients send one after another, each as a simple query or, behind a "+", in a message for
// each part of the extended flow.
const clockSteps = `
SELECT now()
SELECT now()
BEGIN
SELECT now()
SELECT now(), transaction_timestamp(), current_timestamp, 'now'::timestamptz, current_timestamp(6)
SELECT statement_timestamp()
SELECT statement_timestamp(), statement_timestamp()
SAVEPOINT s
SELECT now()
ROLLBACK TO s
SELECT now()
COMMIT
SELECT now()
BEGIN; SELECT now(); COMMIT; SELECT now(); BEGIN; SELECT now(), statement_timestamp()
SELECT now()
SELECT 1 / 0
ROLLBACK
SELECT now(), statement_timestamp(); SELECT now(), statement_timestamp()
SELECT n, now() FROM generate_series(1, 3) n
BEGIN
COMMIT AND CHAIN
SELECT now()
COMMIT
INSERT INTO u (id, t) SELECT 'u:' || n, now() FROM generate_series(1, 3) n
SELECT t FROM u
INSERT INTO u (id, t) VALUES ('u:4', now()), ('u:5', now()) RETURNING t
UPDATE u SET t = now() RETURNING t
PREPARE p AS SELECT now()
EXECUTE p
EXECUTE p
BEGIN
EXECUTE p
EXECUTE p
DECLARE c CURSOR FOR SELECT now() FROM generate_series(1, 2)
FETCH 1 FROM c
FETCH 1 FROM c
COMMIT
+SELECT now()
+SELECT now()
+BEGIN
+SELECT now()
+SELECT now()
+COMMIT
+SELECT now()
`

// The functions that tell the time give the same values and other ones where those of PostgreSQL do.
func TestClockAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	run(t, d, `DEFINE TABLE u SCHEMAFULL; DEFINE FIELD t ON u TYPE option<datetime>`)
	if _, err := pg.Exec(t.Context(), `CREATE TABLE u (id text PRIMARY KEY, t timestamptz)`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	want, got := clockPattern(t, pg), clockPattern(t, ours)
	for i, step := range strings.Split(strings.TrimSpace(clockSteps), "\n") {
		if got[i] != want[i] {
			t.Errorf("%s: got times %s, want %s", step, got[i], want[i])
		}
	}
}

// clockPattern numbers the different times that a server answers to clockSteps, in the order in which they come.
func clockPattern(t *testing.T, c *pgconn.PgConn) (out []string) {
	t.Helper()
	var times []string
	for step := range strings.SplitSeq(strings.TrimSpace(clockSteps), "\n") {
		var numbers []string
		for _, v := range clockAnswer(t, c, step) {
			if !slices.Contains(times, v) {
				times = append(times, v)
			}
			numbers = append(numbers, fmt.Sprint(slices.Index(times, v)))
		}
		out = append(out, strings.Join(numbers, " "))
	}
	return out
}

// clockAnswer is the timestamps that a server answers to a step.
func clockAnswer(t *testing.T, c *pgconn.PgConn, step string) (out []string) {
	t.Helper()
	rows := func(list [][][]byte) {
		for _, row := range list {
			for _, v := range row {
				if strings.Contains(string(v), ":") {
					out = append(out, string(v))
				}
			}
		}
	}
	if text, extended := strings.CutPrefix(step, "+"); extended {
		res := c.ExecParams(t.Context(), text, nil, nil, nil, nil).Read()
		if res.Err != nil {
			t.Fatalf("%s: %v", step, res.Err)
		}
		rows(res.Rows)
		return out
	}
	list, err := c.Exec(t.Context(), step).ReadAll()
	if err != nil && stateOf(err) != "22012" {
		t.Fatalf("%s: %v", step, err)
	}
	for _, res := range list {
		rows(res.Rows)
	}
	return out
}

// A pipeline without a Sync in it is one transaction, and each message in it a statement. A statement that was prepared
// tells the time of each run.
func TestClockOfPipelines(t *testing.T) {
	pg, ours, _ := beside(t)
	for _, c := range []*pgconn.PgConn{pg, ours} {
		if _, err := c.Prepare(t.Context(), "s", "SELECT now(), statement_timestamp()", nil); err != nil {
			t.Fatal(err)
		}
		batch := &pgconn.Batch{}
		for range 3 {
			batch.ExecPrepared("s", nil, nil, nil)
		}
		list, err := c.ExecBatch(context.Background(), batch).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		first := list[0].Rows[0]
		for _, res := range list[1:] {
			if row := res.Rows[0]; string(row[0]) != string(first[0]) || string(row[1]) <= string(first[1]) {
				t.Errorf("a pipeline tells %s, then %s", first, row)
			}
		}
		again := c.ExecPrepared(t.Context(), "s", nil, nil, nil).Read()
		if again.Err != nil {
			t.Fatal(again.Err)
		}
		if string(again.Rows[0][0]) <= string(first[0]) {
			t.Errorf("the next run tells %s, the one before %s", again.Rows[0], first)
		}
	}
}

// clock_timestamp goes on while a statement runs; digits of seconds are those that are asked for.
func TestClockFunctions(t *testing.T) {
	pg, ours, _ := beside(t)
	for _, text := range []string{
		"SELECT count(DISTINCT clock_timestamp()) > 1, min(clock_timestamp()) >= now() FROM generate_series(1, 10000)",
		"SELECT statement_timestamp() >= now(), clock_timestamp() >= statement_timestamp()",
		"SELECT current_timestamp(0) = date_trunc('second', current_timestamp(0)), " +
			"current_timestamp(3) = date_trunc('milliseconds', current_timestamp(3)), " +
			"localtimestamp(1)::text NOT LIKE '%.__', abs(extract(epoch FROM now() - now())) = 0",
		"SELECT localtimestamp = now()::timestamp, current_date = now()::date, localtime = now()::time, " +
			"localtime(0) > '00:00', pg_typeof(localtime(2))::text, pg_typeof(localtimestamp)::text",
		"SELECT CURRENT_TIMESTAMP IS NULL, current_timestamp(9) = now()",
		"SELECT current_timestamp('x')", "SELECT current_timestamp(-1)", "SELECT current_timestamp(1.5)",
		"SELECT now(1)", "SELECT 'now'::date = current_date, 'now'::timestamp = localtimestamp",
		"SELECT v IS NULL FROM (SELECT current_timestamp) q(v)",
		"SELECT current_timestamp IS NULL AS a FROM current_timestamp",
	} {
		answerAlike(t, pg, ours, text)
	}
	names := func(c *pgconn.PgConn) (out []string) {
		res, err := c.Exec(t.Context(), "SELECT now(), current_timestamp, current_timestamp(1), localtimestamp, localtime, "+
			"current_date, clock_timestamp(), statement_timestamp(), transaction_timestamp()").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res[0].FieldDescriptions {
			out = append(out, fmt.Sprint(f.Name, f.DataTypeOID))
		}
		return out
	}
	if got, want := names(ours), names(pg); !slices.Equal(got, want) {
		t.Errorf("columns: got %v, want %v", got, want)
	}
}
