package sql

import "testing"

// Parse takes any text: it answers a statement or an error, and ends within the text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"SELECT 1",
		"SELECT a.*, b.c AS \"d\" FROM t a LEFT JOIN u b USING (x) WHERE a.b = $1 AND c IN (1, 2) ORDER BY 1 DESC NULLS LAST LIMIT 3",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n; SELECT 2",
		"SELECT row_number() OVER (PARTITION BY a ORDER BY b), count(*) FILTER (WHERE c) FROM t GROUP BY 1 HAVING x IS NOT NULL",
		"INSERT INTO t (a, b) VALUES (1, DEFAULT) ON CONFLICT (id) DO UPDATE SET a = excluded.a RETURNING *",
		"UPDATE t SET a = ARRAY[1, 2][1], b = '{}'::text[] WHERE id = ANY ($1)",
		"DELETE FROM t WHERE EXISTS (SELECT 1)",
		"SELECT E'\\n\\x41', $tag$ x $tag$, U&'d', 1.5e-3, CASE WHEN a THEN 1 END, extract(year FROM t), a NOT LIKE 'x' ESCAPE '!'",
		"SELECT ((((((1))))))",
		"SELECT r.* FROM t, jsonb_populate_record(t, $1) AS r, json_populate_recordset(NULL::t, '[{}]') AS q(a, b)",
		"SELECT interval '1-2' year to month, a::interval second (2), interval(3) '1 mon', b::interval(2) FROM t, CURRENT_TIME(0)",
		"SELECT timetz '10:00+02' AT TIME ZONE 'UTC', CAST(a AS time with time zone), -interval '1 day' hour",
		"WITH q AS (SELECT 1) UPDATE t SET a = q.b FROM q, u WHERE t.id = q.c RETURNING *; TRUNCATE TABLE a, b RESTART IDENTITY",
		"INSERT INTO t DEFAULT VALUES ON CONFLICT ON CONSTRAINT t_a DO UPDATE SET a = 1 WHERE t.b > 2",
		"SELECT rank() OVER w, sum(a) OVER (w ORDER BY b) FROM t WINDOW w AS (PARTITION BY a), v AS (w)",
		"SELECT sum(a) OVER (PARTITION BY b ORDER BY c RANGE BETWEEN '1 day' PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES), max(a) OVER (ROWS 2 PRECEDING), count(*) OVER (w GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING EXCLUDE NO OTHERS) FROM t WINDOW w AS (ORDER BY a)",
		"SELECT percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY a DESC) FILTER (WHERE b), mode() WITHIN GROUP (ORDER BY c), rank(1, 'x') WITHIN GROUP (ORDER BY a, b NULLS FIRST) FROM t GROUP BY d",
		"SELECT a, grouping(a, b) FROM t GROUP BY DISTINCT ROLLUP((a, b), c), CUBE(a, 1), GROUPING SETS ((), a, (a, b), GROUPING SETS (ROLLUP(d))), (a, b), ()",
		"SELECT (a, b) = (c, d), (f(x)).n, a[1:2], x::numeric(10, 2), INTERVAL '1 day' /* /* */ */ -- x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stmt, end, err := Parse(text, 0)
		if err == nil && (stmt == nil || end < 0 || end > len(text)) {
			t.Errorf("%q: %v, end %d", text, stmt, end)
		}
		if sel, ok := stmt.(*Select); ok && err == nil {
			sel.Relations()
		}
		if _, err := SplitName(text); err == nil && text == "" {
			t.Error("an empty name is read")
		}
	})
}
