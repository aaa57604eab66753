package pgwire_test

import (
	"strings"
	"testing"
)

// EXPLAIN in SQL shows the steps of the reader and the plan of the engine below; only ANALYZE runs the statement.
func TestExplain(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; DEFINE INDEX item_n ON item FIELDS n;
		CREATE |item:1..9| SET n = 1; UPDATE item SET n = record::id(id)`)
	f := login(t, addr)
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"EXPLAIN SELECT n FROM item WHERE n BETWEEN 2 AND 4 ORDER BY n LIMIT 2",
			[]string{"T[QUERY PLAN:25] D[Limit] D[  ->  Sort]", "Scan on item", "IndexScan", "index: item_n"}},
		{"EXPLAIN SELECT a.n, count(*) FROM item a LEFT JOIN item b ON a.n = b.n GROUP BY 1 HAVING count(*) > 1",
			[]string{"D[HashAggregate]", "Filter: HAVING", "Hash Left Join"}},
		{"EXPLAIN WITH x AS (SELECT 1 AS a UNION SELECT 2) SELECT DISTINCT a FROM x, (VALUES (1)) v(q), generate_series(1, 2) g",
			[]string{"D[Unique]", "CTE Scan on x", "HashSetOp Union", "Subquery Scan on v", "Values Scan",
				"Function Scan on g"}},
		{"EXPLAIN (FORMAT JSON) SELECT rank() OVER (ORDER BY n) FROM item",
			[]string{"T[QUERY PLAN:114]", `[{"Plan":{"Node Type":"WindowAgg","Plans":[`}},
		{"EXPLAIN DELETE FROM item WHERE n > 3", []string{"D[Delete on item]"}},
		{"SELECT count(*) FROM item", []string{"D[8]"}}, // EXPLAIN alone deletes nothing
		{"EXPLAIN (ANALYZE, COSTS off) UPDATE item SET n = 10 WHERE n = 8",
			[]string{"D[Update on item]", "Execution Time: "}},
		{"SELECT count(*) FROM item WHERE n = 10", []string{"D[1]"}},
		{"EXPLAIN ANALYZE SELECT * FROM item WHERE n < 3", []string{"Actual Rows: 2"}},
		{"EXPLAIN (FORMAT XML) SELECT 1", []string{"E!0A000"}},
		{"EXPLAIN SELECT nothing FROM item", []string{"E!42703"}},
		{"EXPLAIN SELECT * FROM item:1", []string{"RecordIdScan"}}, // of the language
	} {
		got := f.ask(tc.text)
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", tc.text, want, got)
			}
		}
	}
	f.send(parse("", "EXPLAIN SELECT n FROM item WHERE n = $1"), describe('S', ""), bind("", "", "3"),
		execute("", 0), sync)
	if got := f.read(1); !strings.HasPrefix(got, "1 t[20] T[QUERY PLAN:25] 2 D[Scan on item]") {
		t.Errorf("prepared: %s", got)
	}
}

// Programs in GQL run in the transaction block of the connection, see what it has done, and end with it.
func TestGQLInTransactions(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "CREATE person:1 SET n = 1")
	f := login(t, addr)
	f.want("SET dialect = 'gql'", "C(SET) ZI")
	const count = "MATCH (a:person) RETURN count(*) AS c"
	for _, tc := range [][2]string{
		{"BEGIN", "C(BEGIN) ZT"},
		{"INSERT (:person {n: 2})", "T[value:25] C(SELECT 0) ZT"},
		{count, "T[c:20] D[2] C(SELECT 1) ZT"},
		{"SAVEPOINT s", "C(SAVEPOINT) ZT"},
		{"MATCH (a:person) DELETE a", "T[value:25] C(SELECT 0) ZT"},
		{count, "T[c:20] D[0] C(SELECT 1) ZT"},
		{"MATCH (a:person) RETURN 1 / 0 AS x, nothing", "E!42601 ZE"},
		{count, "E!25P02 ZE"},
		{"ROLLBACK TO s", "C(ROLLBACK) ZT"},
		{count, "T[c:20] D[2] C(SELECT 1) ZT"},
		{"ROLLBACK", "C(ROLLBACK) ZI"},
		{count, "T[c:20] D[1] C(SELECT 1) ZI"},
		{"BEGIN READ ONLY", "C(BEGIN) ZT"},
		{"INSERT (:person {n: 2})", "E!25006 ZE"},
		{"ROLLBACK", "C(ROLLBACK) ZI"},
	} {
		f.want(tc[0], tc[1])
	}
}
