package pgwire_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

// hush stands in hidden places and in no statement.
const hush = "Hq9hushZz"

// The tables are those of the random queries. user:1 sees the rows of x with k below 3, all of y but some fields and
// nothing of z; it may change what it sees, and make rows.
const hiddenSchema = `DEFINE TABLE user; CREATE user:1;
	DEFINE TABLE x SCHEMAFULL PERMISSIONS FOR select, update, delete WHERE k < 3, FOR create FULL;
	DEFINE TABLE y SCHEMAFULL PERMISSIONS FULL;
	DEFINE TABLE z SCHEMAFULL PERMISSIONS FOR select, update, delete NONE, FOR create FULL;
	DEFINE TABLE w TYPE RELATION SCHEMAFULL PERMISSIONS FOR select, update, delete WHERE n < 3, FOR create FULL;`

// hiddenFields are those of each table; {…} marks the permissions of y.
var hiddenFields = [][2]string{{"b", "bool"}, {"d", "decimal"}, {"f", "float"}, {"k", "int"}, {"n", "int"},
	{"s", "string"}, {"t", "datetime"}}

// ownOfY are the fields of y that user:1 may not see.
const ownOfY = "n s t d"

// hiddenDefinitions are the fields and indexes of the tables.
func hiddenDefinitions() string {
	var b strings.Builder
	for _, table := range []string{"x", "y", "z", "w"} {
		for _, f := range hiddenFields {
			fmt.Fprintf(&b, "DEFINE FIELD %s ON %s TYPE option<%s>", f[0], table, f[1])
			if table == "y" && strings.Contains(ownOfY, f[0]) {
				fmt.Fprintf(&b, " PERMISSIONS FOR select NONE /* %s */, FOR update FULL", f[0])
			}
			b.WriteString(";")
		}
		fmt.Fprintf(&b, `DEFINE INDEX %s_n ON %[1]s FIELDS n; DEFINE INDEX %[1]s_s ON %[1]s FIELDS s;
			DEFINE INDEX %[1]s_c ON %[1]s COUNT;`, table)
	}
	return b.String()
}

// seenRows are in every world.
const seenRows = `CREATE x:1 SET k = 1, n = 1, s = 'a', b = true, d = 1.5dec, f = 2f, t = d'2024-01-01T00:00:00Z';
	CREATE x:3 SET k = 2, n = 2, s = 'ab', b = false, d = -2.25dec, f = 0.1f; CREATE x:5 SET k = 1; CREATE x:7 SET k = 2, n = 7, s = 'B';
	CREATE y:1 SET k = 1, b = true, f = 1f; CREATE y:2 SET k = 2, b = false; CREATE y:4 SET k = 3, f = 5f; CREATE y:6;
	RELATE x:1->w:1->x:3 SET n = 1; RELATE x:3->w:3->y:1 SET n = 2;`

// unseenRows are what the worlds have besides: nothing, or what user:1 may not see of it. Some of it was written before
// the fields were defined, and has other types.
var unseenRows = []struct{ name, before, after string }{
	{"nothing", "", ""},
	{"rows", `CREATE x:2 SET k = 3, n = 'HUSH', s = 5, t = true, d = [1]; CREATE z:9 SET k = 'HUSH', n = { a: 1 };`,
		`CREATE x:4 SET k = 3, n = 0, s = 'HUSH', b = true, d = 0dec, f = 0f, t = d'1999-12-31T23:59:59Z';
		CREATE x:8 SET k = 9, n = 100, s = '10'; CREATE x:9 SET k = 9, n = 2, s = 'HUSH';
		CREATE z:1 SET k = 1, n = 0, s = 'HUSH', b = true; CREATE z:2 SET k = 2, n = 2, s = 'a', f = 3f, d = 10dec;
		RELATE x:1->w:2->x:4 SET n = 9, s = 'HUSH'; RELATE z:1->w:4->x:1 SET n = 5;`},
	{"fields", `CREATE y:8 SET k = 4; UPDATE y:8 SET n = 'HUSH', s = [1], t = 5;`,
		`UPDATE y:1 SET n = 0, s = 'HUSH', t = d'2024-02-29T12:30:45Z', d = 3dec; UPDATE y:2 SET n = 2, s = 'a', d = 0dec;
		UPDATE y:4 SET n = -1, s = 'ä', d = 1.5dec;`},
	{"both", `CREATE x:2 SET k = 3, n = 7.5, b = 'HUSH'; CREATE y:8 SET k = 4; UPDATE y:8 SET d = 'HUSH', n = true;`,
		`CREATE z:5 SET k = 3, n = 3, s = 'HUSH2'; CREATE x:6 SET k = 5, n = 1, s = 'ab', f = 1e20f;
		UPDATE y:6 SET n = 9, s = 'HUSH', t = d'2024-01-01T00:00:00Z', d = 7dec; RELATE z:5->w:8->y:6 SET n = 8;`},
}

// world opens an engine, and gives a client that is user:1. In a world for writes no hidden field has a value that its
// type forbids: such a record cannot be written at all, and the error does not tell the value.
func world(t *testing.T, i int, writes bool, change func(schema string) string) *frames {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	e, err := engine.Open(t.Context(), "memory", engine.Options{NoDefaults: true, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	root := e.RootSession()
	ns, db := "test", "test"
	if err := root.Use(t.Context(), &ns, &db); err != nil {
		t.Fatal(err)
	}
	// y:8 is seen, so it is in every world: its fields alone differ.
	before := unseenRows[i].before
	switch {
	case !strings.Contains(before, "CREATE y:8"):
		before += "CREATE y:8 SET k = 4;"
	case writes:
		before = before[:strings.Index(before, "UPDATE y:8")]
	}
	text := "DEFINE NAMESPACE IF NOT EXISTS test; DEFINE DATABASE IF NOT EXISTS test; " + before +
		strings.ReplaceAll(hiddenSchema, "DEFINE TABLE", "DEFINE TABLE OVERWRITE") + hiddenDefinitions() +
		seenRows + unseenRows[i].after
	res, err := root.Execute(t.Context(), change(strings.ReplaceAll(text, "HUSH", hush)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	user := auth.Principal{Level: auth.RecordUser, NS: ns, DB: db, Access: "acc",
		Record: value.Record("user", value.Int(1))}
	srv := pgwire.New(pgwire.Options{RPC: &rpc.Server{Engine: e, Log: quiet}, Log: quiet})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		nc, err := l.Accept()
		if err == nil {
			err = srv.ServeAs(nc, e.SessionAs(user, ns, db), root)
		}
		ended <- err
	}()
	f := dial(t, l.Addr().String())
	_ = f.conn.SetDeadline(time.Now().Add(10 * time.Minute))
	t.Cleanup(func() {
		_ = f.conn.Close()
		<-ended
		_ = l.Close()
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if got := f.read(1); got != "ok key ZI" {
		t.Fatalf("no session: %s", got)
	}
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	return f
}

// answer is all that a text answers: rows, tags and errors with every part of theirs.
func (f *frames) answer(text string) string {
	f.t.Helper()
	text, data, copies := strings.Cut(text, " <<< ")
	f.send(&pgproto3.Query{String: text})
	if copies {
		f.send(&pgproto3.CopyData{Data: []byte(data)}, &pgproto3.CopyDone{})
	}
	var out []string
	for {
		m, err := f.f.Receive()
		if err != nil {
			f.t.Fatalf("%s: %v", text, err)
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			out = append(out, fmt.Sprintf("E%+v", *m))
		case *pgproto3.ReadyForQuery:
			return volatile.ReplaceAllString(strings.Join(append(out, short(m)), " "), "…")
		default:
			out = append(out, short(m))
		}
	}
}

// volatile is what differs between answers to the same: times, and ids that were made.
var volatile = regexp.MustCompile(`Execution Time"?: ?[0-9.]+|[xyzw]:[0-9a-z]{20}|\b[0-9a-z]{20}\b`)

// sqlShapes are statements of every kind. Each runs in worlds of its own.
var sqlShapes = strings.Split(strings.TrimSpace(`
SELECT * FROM x ORDER BY id
SELECT * FROM x LIMIT 2
SELECT n FROM x ORDER BY n LIMIT 2
SELECT n FROM x ORDER BY n DESC NULLS LAST LIMIT 1
SELECT s FROM x WHERE s > 'a' ORDER BY s OFFSET 1
SELECT * FROM x WHERE id = 'x:2'
SELECT * FROM x WHERE n BETWEEN 0 AND 2
SELECT * FROM x WHERE s LIKE 'H%'
SELECT 10 / n FROM x
SELECT id FROM x WHERE 10 / n > 1
SELECT s::int FROM x WHERE s ~ '^[0-9]'
SELECT count(*), count(n), sum(n), avg(d), min(s), max(t), bool_or(b), string_agg(s, ',' ORDER BY s), array_agg(n ORDER BY n) FROM x
SELECT count(*) FROM x WHERE n = 2
SELECT count(*) FROM z
SELECT k, count(*) FROM x GROUP BY k HAVING count(*) > 0 ORDER BY k
SELECT DISTINCT n FROM x ORDER BY 1
SELECT id, row_number() OVER (ORDER BY n, id), sum(n) OVER (PARTITION BY k ORDER BY id) FROM x ORDER BY id
SELECT id, sum(n) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), max(s) OVER (ORDER BY n NULLS FIRST, id GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW), array_agg(s) OVER (ORDER BY n, id RANGE UNBOUNDED PRECEDING) FROM x ORDER BY id
SELECT id, count(n) OVER (ORDER BY n, id ROWS 1 PRECEDING), nth_value(s, 2) OVER (ORDER BY s, id), cume_dist() OVER (ORDER BY d) FROM y ORDER BY id
SELECT id, count(*) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES), sum(1 / n) OVER (ORDER BY id ROWS 1 PRECEDING) FROM y ORDER BY id
SELECT k, percentile_cont(0.5) WITHIN GROUP (ORDER BY n), percentile_disc(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY s), mode() WITHIN GROUP (ORDER BY n) FROM x GROUP BY k ORDER BY k
SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY s), rank(2) WITHIN GROUP (ORDER BY n), cume_dist('HUSH') WITHIN GROUP (ORDER BY s) FILTER (WHERE d > 0) FROM y
SELECT k, n, grouping(k, n), count(*), max(s) FROM x GROUP BY ROLLUP(k, n) ORDER BY 1, 2, 3
SELECT n, s, count(*), sum(d) FROM y GROUP BY CUBE(n, s) HAVING count(*) > 0 ORDER BY 1, 2, 3
SELECT count(*), grouping(n) FROM z GROUP BY GROUPING SETS (n, (), ())
SELECT k, first_value(n) OVER (ORDER BY k ROWS (SELECT count(*) FROM z) PRECEDING) FROM x ORDER BY id
SELECT * FROM y ORDER BY id
SELECT id, n, s FROM y ORDER BY n, s, id
SELECT id FROM y WHERE n = 2 OR s = 'a' ORDER BY id
SELECT id FROM y WHERE n IS NULL ORDER BY id
SELECT n, count(*) FROM y GROUP BY n
SELECT id, n FROM y ORDER BY n LIMIT 1
SELECT id FROM y WHERE n > 0 LIMIT 1
SELECT count(*) FROM y WHERE n > 0
SELECT count(n), max(s) FROM y
SELECT 10 / n FROM y
SELECT a.id, b.id FROM x a JOIN y b ON a.n = b.n ORDER BY 1, 2
SELECT a.id, b.id FROM x a FULL JOIN z b ON a.n = b.n ORDER BY 1, 2
SELECT id, (SELECT count(*) FROM z WHERE z.k = x.k) FROM x ORDER BY id
SELECT id FROM x WHERE EXISTS (SELECT 1 FROM z WHERE z.n = x.n) ORDER BY id
SELECT id FROM x WHERE n IN (SELECT n FROM y) ORDER BY id
SELECT id FROM x WHERE n > ALL (SELECT n FROM z) ORDER BY id
WITH q AS (SELECT n FROM z UNION ALL SELECT n FROM x) SELECT n FROM q ORDER BY n
WITH RECURSIVE q(i) AS (SELECT min(n) FROM x UNION SELECT i + 1 FROM q WHERE i < (SELECT max(n) FROM z)) SELECT i FROM q ORDER BY 1
SELECT n FROM x EXCEPT SELECT n FROM y ORDER BY 1
SELECT n FROM x INTERSECT SELECT n FROM z ORDER BY 1
SELECT * FROM w ORDER BY id
SELECT w.id, x.s FROM w JOIN x ON w."out" = x.id ORDER BY 1
VALUES ((SELECT count(*) FROM z), (SELECT max(s) FROM y))
EXPLAIN SELECT * FROM x WHERE n = 2
EXPLAIN ANALYZE SELECT * FROM x WHERE n > 0
EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FROM z
EXPLAIN ANALYZE SELECT id FROM y WHERE n = 2
EXPLAIN ANALYZE UPDATE x SET s = 'q'
EXPLAIN ANALYZE DELETE FROM z
COPY x TO STDOUT
COPY x (id, n) TO STDOUT (FORMAT csv, HEADER)
COPY y TO STDOUT
COPY z TO STDOUT
COPY (SELECT n FROM y ORDER BY n) TO STDOUT
COPY x (id, n) FROM STDIN <<< 11	1
COPY x (id, n) FROM STDIN <<< 11	a
UPDATE x SET s = 'q' RETURNING id, s
UPDATE x SET n = 10 / n RETURNING n
UPDATE x SET s = 'q' WHERE id = 'x:2' RETURNING *
UPDATE x SET s = (SELECT max(s) FROM z) RETURNING s
UPDATE x SET (s, n) = (SELECT max(s), count(*) FROM z) RETURNING *
UPDATE x SET (s, n) = (SELECT y.s, y.n FROM y WHERE y.k = x.k) RETURNING *
UPDATE y SET (k, b) = (SELECT y.n, y.s IS NULL) RETURNING *
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT (id) DO UPDATE SET (k, b) = (SELECT y.n + count(*), y.s = 'a' FROM z) RETURNING *
UPDATE x SET n = 0 WHERE k > (SELECT count(*) FROM z) RETURNING id, (SELECT sum(k) FROM x q), (SELECT q.n FROM x q WHERE q.id = x.id), (SELECT count(*) FROM z)
INSERT INTO y (id, k) VALUES ('y:1', 7), ('y:9', 8) ON CONFLICT (id) DO UPDATE SET k = (SELECT count(n) FROM y) WHERE NOT EXISTS (SELECT 1 FROM y q WHERE q.s = 'a') RETURNING *, (SELECT max(n) FROM y), (SELECT count(*) FROM z)
DELETE FROM x RETURNING id, (SELECT count(*) FROM x), (SELECT max(q.s) FROM y q WHERE q.n = x.n), ARRAY(SELECT n FROM z)
SELECT k, stddev(n), var_pop(d), corr(f, n), regr_count(n, k) FROM x GROUP BY k ORDER BY k
SELECT stddev(n), variance(d), corr(n, k), regr_count(n, k) FROM y
SELECT id, stddev_pop(n) OVER (ORDER BY id ROWS 2 PRECEDING), covar_pop(n, f) OVER (ORDER BY n, id) FROM y ORDER BY id
SELECT y.id, r.n, r.s FROM y, jsonb_to_recordset(jsonb_build_array(to_jsonb(y))) AS r(n int8, s text) ORDER BY 1
SELECT y.id, r.* FROM y, jsonb_populate_record(y, '{"k": 9}') AS r ORDER BY 1
SELECT r.* FROM z, jsonb_populate_recordset(z, '[{}, {"n": 1}]') AS r
SELECT x.id, r.n, r.s FROM x LEFT JOIN LATERAL jsonb_populate_record(NULL::z, to_jsonb(x)) AS r ON true ORDER BY 1
SELECT r.n, r.d FROM z, LATERAL jsonb_to_record(to_jsonb(z)) AS r(n int, d date)
SELECT id, t + interval '1 mon' * n, age(t, timestamptz '2024-01-01'), t::timetz, make_interval(months => n::int) FROM y ORDER BY id
SELECT id, count(*) OVER (ORDER BY t RANGE '1 mon' PRECEDING), sum(t - timestamptz '2024-01-01') OVER (ORDER BY id) FROM x ORDER BY id
SELECT id FROM y WHERE (t, interval '30 days') OVERLAPS (timestamptz '2024-01-01', now()) ORDER BY id
UPDATE y SET k = n RETURNING *
UPDATE y SET k = 5 WHERE n = 2 RETURNING id
UPDATE y SET s = s || 'x' RETURNING s
UPDATE y SET b = (n IS NULL) RETURNING b
UPDATE z SET n = 1 RETURNING *
DELETE FROM x RETURNING id, n
DELETE FROM x WHERE n = 2
DELETE FROM y WHERE n = 2 RETURNING *
DELETE FROM z
DELETE FROM z WHERE 1 / n = 1
INSERT INTO x (id, n, k) VALUES ('x:11', 1, 1) RETURNING *
INSERT INTO x (n, k) SELECT n, 1 FROM z RETURNING n
INSERT INTO x (n, k) SELECT n, 1 FROM y ORDER BY id RETURNING n
INSERT INTO z (id, n) VALUES ('z:11', 1) RETURNING *
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT (id) DO UPDATE SET s = y.s, k = y.n RETURNING *
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT (id) DO UPDATE SET k = y.n + excluded.n RETURNING k
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT DO NOTHING RETURNING *
INSERT INTO y (id, n) VALUES ('y:1', 7)
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT (id) DO UPDATE SET k = 5 WHERE y.n = 2 RETURNING k
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT (id) DO UPDATE SET id = excluded.id, k = 5 WHERE y.s IS NULL RETURNING *
INSERT INTO y (id, n) VALUES ('y:1', 7) ON CONFLICT ON CONSTRAINT y_pkey DO UPDATE SET id = y.s
INSERT INTO x (n, k) SELECT a, b FROM z, unnest(ARRAY[z.n], ARRAY[1]) AS e(a, b) RETURNING n
WITH q AS (SELECT n FROM z) INSERT INTO x (n, k) SELECT n, 1 FROM q RETURNING n
UPDATE x SET id = 'x:2', s = 'q' WHERE id = 'x:2' RETURNING *
UPDATE x SET id = s WHERE id = 'x:1'
UPDATE x SET s = y.s FROM y WHERE x.n = y.n RETURNING x.id, x.s, y.*
UPDATE x SET s = 'q' FROM z WHERE x.k = z.k RETURNING x.id
UPDATE y SET k = z.n FROM z WHERE z.id = y.id
WITH q AS (SELECT n FROM z) UPDATE x SET s = 'q' FROM q WHERE x.n = q.n
DELETE FROM x USING y WHERE x.n = y.n RETURNING x.id, y.n
DELETE FROM y USING z WHERE z.n = y.n
WITH q AS (SELECT max(n) AS n FROM z) DELETE FROM x USING q WHERE x.n <= q.n
SELECT a.id, b.n FROM x a LEFT JOIN y b ON b.n = a.n AND b.s = 'a' ORDER BY 1, 2
SELECT w.id, y.* FROM w JOIN y ON w.out = y.id ORDER BY 1
TRUNCATE x
TRUNCATE y
TRUNCATE z, w
SELECT jsonb_agg(q), jsonb_build_array(x) FROM x, (SELECT s FROM y) q GROUP BY x ORDER BY 1
SELECT id, rank() OVER q, count(*) OVER (q ORDER BY k) FROM x WINDOW q AS (PARTITION BY n) ORDER BY id, 2
SELECT nothing.n FROM x
SELECT x.nothing FROM x
SELECT relname, relpages, reltuples, relallvisible FROM pg_class WHERE relnamespace = 2200 ORDER BY 1
SELECT * FROM pg_stat_user_tables ORDER BY relname
SELECT * FROM pg_statio_user_tables
SELECT * FROM pg_stats
SELECT * FROM pg_stat_all_tables
SELECT * FROM pg_stat_user_indexes
SELECT pg_relation_size('x'), pg_total_relation_size('z'), pg_table_size('y'), pg_indexes_size('y'), pg_database_size('test/test')
SELECT * FROM pg_sequences
SELECT tablename, tableowner FROM pg_tables WHERE schemaname = 'public'
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position
SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1
SELECT query FROM pg_stat_activity
SELECT x FROM x ORDER BY x.id
`), "\n")

// findings are the statements that tell of what is hidden: shapes, each in new worlds, and random queries.
func findings(t *testing.T, seed, queryCount int, shapes []string, change func(string) string) (found []string,
	answered int) {
	t.Helper()
	tell := func(text string, got []string) {
		for i := range got {
			if strings.Contains(got[i], hush) || got[i] != got[0] {
				found = append(found, fmt.Sprintf("%s\nwith nothing hidden %s\nwith %s %s", text, got[0],
					unseenRows[i].name, got[i]))
				return
			}
		}
		if !strings.Contains(got[0], "E{") {
			answered++
		}
	}
	open := func(writes bool) (all []*frames) {
		for i := range unseenRows {
			all = append(all, world(t, i, writes, change))
		}
		return all
	}
	ask := func(all []*frames, text string) (got []string) {
		for _, f := range all {
			got = append(got, f.answer(text))
		}
		return got
	}
	still := open(false)
	for _, text := range shapes {
		all := still
		word, _, _ := strings.Cut(text, " ")
		if word != "SELECT" && word != "VALUES" && word != "WITH" || strings.Contains(text, "INSERT") {
			all = open(true)
		}
		tell(text, ask(all, text))
		if all[0] != still[0] { // what the statement has left, as the user sees it
			tell(text+"; SELECT …", ask(all,
				"SELECT * FROM x ORDER BY k, n, s; SELECT * FROM y ORDER BY k, b; SELECT count(*) FROM z"))
		}
	}
	for i := range queryCount {
		g := &queries{r: rand.New(rand.NewPCG(uint64(seed+i), 23))}
		text := g.query(2)
		tell(text, ask(still, text))
	}
	return found, answered
}

// Statements of SQL by a user whom permissions bind tell nothing of hidden rows and fields: not by values, counts,
// errors, order, plans or catalogs. NACRE_INTERFERENCE asks so many random queries, from NACRE_INTERFERENCE_SEED on.
func TestHiddenInSQL(t *testing.T) {
	n := 300
	if text := os.Getenv("NACRE_INTERFERENCE"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed, _ := strconv.Atoi(os.Getenv("NACRE_INTERFERENCE_SEED"))
	found, answered := findings(t, seed, n, sqlShapes, func(s string) string { return s })
	for i, text := range found {
		if i < 10 {
			t.Errorf("%.2000s", text)
		}
	}
	t.Logf("%d statements, %d answered in all worlds, %d tell something", len(sqlShapes)+n, answered, len(found))
	if answered < (len(sqlShapes)+n)/2 {
		t.Errorf("only %d statements are answered", answered)
	}
}

// Each permission counts: where one is gone, the statements tell of it.
func TestHiddenInSQLIsFound(t *testing.T) {
	for _, tc := range [][2]string{
		{"FOR select, update, delete WHERE k < 3", "FOR select, update, delete FULL"},
		{"FOR select, update, delete NONE", "FOR select FULL, FOR update, delete NONE"},
		{"FOR select, update, delete WHERE n < 3", "FOR select, update, delete FULL"},
		{"FOR select NONE /* n */", "FOR select FULL"},
		{"FOR select NONE /* s */", "FOR select FULL"},
		{"FOR select NONE /* t */", "FOR select FULL"},
		{"FOR select NONE /* d */", "FOR select FULL"},
	} {
		broken := func(s string) string {
			out := strings.Replace(s, tc[0], tc[1], 1)
			if out == s {
				t.Fatalf("there is no %s", tc[0])
			}
			return out
		}
		found, _ := findings(t, 0, 60, []string{"SELECT * FROM x ORDER BY id", "SELECT * FROM w ORDER BY id",
			"SELECT * FROM y ORDER BY id"}, broken)
		if len(found) == 0 {
			t.Errorf("%s instead of %s is not noticed", tc[1], tc[0])
		}
	}
}
