package pgwire_test

import (
	"fmt"
	"strings"
	"testing"
)

// recordQueries are answered as PostgreSQL does.
const recordQueries = `
SELECT a, b, c, d = '{"e": null}', f, g, h FROM jsonb_to_record('{"a": 1, "b": "x", "c": [1, 2], "d": {"e": null}, "f": null, "g": true}') AS t(a int, b text, c int[], d jsonb, f text, g bool, h date)
SELECT * FROM json_to_record('{"a": "7", "b": 1.5, "c": "{3,4}", "d": "s", "e": false}') AS t(a int8, b numeric, c int[], d json, e text)
SELECT a + 1 AS x, t.b, upper(t.b) FROM jsonb_to_record('{"a": 1, "b": "x"}') AS t(a int, b text) WHERE a = 1
SELECT * FROM jsonb_to_record('{"a": 1, "A": 2, "c d": 3}') t("A" int, a int, "c d" float8)
SELECT * FROM jsonb_to_record('{"a": 1}') AS (a int, b text)
SELECT jsonb_to_record.a FROM jsonb_to_record('{"a": 1}') AS (a int)
SELECT t FROM jsonb_to_record('{"a": 1}') AS t(a int) WHERE t.a IS NULL
SELECT count(*), max(a) FROM jsonb_to_record(NULL) AS t(a int)
SELECT count(*) FROM jsonb_to_recordset(NULL) AS t(a int)
SELECT * FROM jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}, {}, {"b": null, "z": 1}]') AS t(a int, b text)
SELECT * FROM json_to_recordset('[{"t": "2024-01-02T03:04:05Z", "d": "2024-02-29", "u": "550e8400-e29b-41d4-a716-446655440000", "i": "3 hours"}]') AS t(t timestamptz, d date, u uuid, i interval)
SELECT sum(price * qty), count(DISTINCT name) FROM jsonb_to_recordset('[{"name": "a", "price": 1.25, "qty": 2}, {"name": "b", "price": 3, "qty": 1}]') AS items(name text, price numeric, qty int)
SELECT x.id, r.a, r.b FROM x, jsonb_to_recordset(jsonb_build_array(jsonb_build_object('a', x.k, 'b', x.s))) AS r(a int, b text) WHERE x.k = 1 ORDER BY x.id
SELECT x.id, r.a FROM x LEFT JOIN LATERAL jsonb_to_recordset(jsonb_build_array(jsonb_build_object('a', x.n))) AS r(a int8) ON r.a > 1 ORDER BY x.id
SELECT a, b::text, c FROM jsonb_to_record('{"b": [[1, 2], [3, 4]], "c": ["x", null, 5]}') AS t(a int, b int[], c text[])
SELECT c FROM jsonb_to_record('{"c": [{"a": 1}, [2], "x", null]}') AS t(c jsonb[]) WHERE c[1]->>'a' = '2'
SELECT * FROM jsonb_to_record('{"a": 1.256, "b": "ab"}') AS t(a numeric(4,1), b varchar(2))
SELECT * FROM jsonb_to_record('{"b": "abc"}') AS t(b varchar(2))
SELECT * FROM jsonb_to_record('{"a": 12345}') AS t(a numeric(4,1))
SELECT * FROM jsonb_to_record('{"a": "x"}') AS t(a int)
SELECT * FROM jsonb_to_record('{"a": true}') AS t(a int)
SELECT * FROM jsonb_to_record('{"a": 1.5}') AS t(a int)
SELECT * FROM jsonb_to_record('{"a": 99999999999}') AS t(a int)
SELECT * FROM jsonb_to_record('{"a": {"b": 1}}') AS t(a int[])
SELECT * FROM jsonb_to_record('{"a": 5}') AS t(a int[])
SELECT * FROM jsonb_to_record('{"a": "x"}') AS t(a date)
SELECT * FROM jsonb_to_record('[1]') AS t(a int)
SELECT * FROM jsonb_to_record('5') AS t(a int)
SELECT * FROM json_to_record('[1]') AS t(a int)
SELECT * FROM jsonb_to_recordset('{}') AS t(a int)
SELECT * FROM jsonb_to_recordset('5') AS t(a int)
SELECT * FROM jsonb_to_recordset('[1]') AS t(a int)
SELECT * FROM jsonb_to_recordset('[null]') AS t(a int)
SELECT * FROM json_to_recordset('[{"a": 1}, [2]]') AS t(a int)
SELECT * FROM jsonb_to_record('{"a": 1}') AS t(a nothing)
SELECT * FROM jsonb_to_record('{"a": 1}') AS t(a int, a int)
SELECT * FROM jsonb_to_record('{"a": 1}') AS t(a, b)
SELECT * FROM jsonb_to_record('{"a": 1}') AS t
SELECT * FROM jsonb_to_record('{"a": 1}')
SELECT * FROM jsonb_to_record('{"a": 1}') WITH ORDINALITY AS t(a int)
SELECT * FROM jsonb_to_record(5) AS t(a int)
SELECT * FROM jsonb_to_record('{"a": 1}'::json) AS t(a int)
SELECT * FROM jsonb_to_record('{}', '{}') AS t(a int)
SELECT * FROM jsonb_to_record('x') AS t(a int)
SELECT * FROM generate_series(1, 2) AS t(a int)
SELECT * FROM (SELECT 1) AS t(a int)
SELECT jsonb_to_record('{"a": 1}')
SELECT * FROM jsonb_to_recordset('[{"a": 1}]') AS t(a int) JOIN json_to_recordset('[{"a": 1, "b": 2}]') AS u(a int, b int) USING (a)
INSERT INTO u (id, name, a) SELECT id, name, a FROM jsonb_to_recordset('[{"id": "u:1", "name": "one", "a": 5}, {"id": "u:2", "a": 6}]') AS t(id text, name text, a int8) RETURNING *
UPDATE u SET (name, a) = (SELECT t.name, t.a FROM jsonb_to_record(jsonb_build_object('name', u.id, 'a', u.a + 1)) AS t(name text, a int8)) RETURNING *
UPDATE u SET a = t.a FROM jsonb_to_recordset('[{"id": "u:1", "a": 50}]') AS t(id text, a int8) WHERE u.id = t.id RETURNING u.*
SELECT * FROM u ORDER BY id
`

func TestRecordsOfJSONAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	fillBoth(t, pg, func(text string) { run(t, d, text) })
	run(t, d, `DEFINE TABLE u SCHEMAFULL; DEFINE FIELD name ON u TYPE option<string>; DEFINE FIELD a ON u TYPE option<int>`)
	if _, err := pg.Exec(t.Context(), `CREATE TABLE u (id text PRIMARY KEY, name text, a int8)`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	answerAlike(t, pg, ours, recordQueries)
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("c%d int", i))
		}
		return "SELECT c0 FROM jsonb_to_record('{\"c0\": 1}') AS t(" + strings.Join(list, ", ") + ")"
	}
	for _, n := range []int{1600, 1601} {
		answerAlike(t, pg, ours, many(n))
	}
}

// populateQueries are answered as PostgreSQL does.
const populateQueries = `
SELECT * FROM jsonb_populate_record(null::p, '{"a": 1, "name": "x", "nothing": [1]}')
SELECT id, b, l, j->'x'->>0, ok, t FROM json_populate_record(NULL::p, '{"b": 1.5, "t": "2024-01-02T03:04:05Z", "l": [1, null, 3], "j": {"x": [1]}, "ok": true}')
SELECT * FROM jsonb_populate_recordset(null::p, '[{"a": 1}, {"a": "2", "name": 5}, {}, {"a": null}]')
SELECT r.name, r.a + 1 FROM json_populate_recordset(CAST(NULL AS p), '[{"a": 1, "name": "x"}, {"a": 2}]') AS r ORDER BY r.a
SELECT x, y FROM jsonb_populate_record(null::p, '{"a": 1, "name": "n"}') AS q(x, y)
SELECT * FROM jsonb_populate_record(null::p, NULL)
SELECT count(*) FROM jsonb_populate_recordset(null::p, NULL)
SELECT * FROM jsonb_populate_record(null::p, '{"a": "x"}')
SELECT * FROM jsonb_populate_record(null::p, '{"a": "99999999999999999999"}')
SELECT * FROM jsonb_populate_record(ROW (1, 2), '{"a": 1}')
SELECT r.* FROM (SELECT id, a FROM p) q, jsonb_populate_record(q, '{"a": 1}') AS r
WITH q AS (SELECT id, a FROM p) SELECT r.* FROM q, jsonb_populate_record(q, '{"a": 1}') AS r
SELECT * FROM jsonb_populate_record(null::p, '[1]')
SELECT * FROM jsonb_populate_record(null::p, '1')
SELECT * FROM jsonb_populate_recordset(null::p, '{"a": 1}')
SELECT * FROM jsonb_populate_recordset(null::p, '[1]')
SELECT * FROM jsonb_populate_record(null::nothing, '{"a": 1}')
SELECT * FROM jsonb_populate_record(null, '{"a": 1}')
SELECT * FROM jsonb_populate_record(1, '{"a": 1}')
SELECT * FROM jsonb_populate_record(null::p, '{"a": 1}'::json)
SELECT * FROM jsonb_populate_record(null::p, '{"a": 1}') AS q(a int)
INSERT INTO p SELECT * FROM jsonb_populate_recordset(null::p, '[{"id": "p:1", "a": 1, "name": "one"}, {"id": "p:2", "a": 2, "b": 2.5}]') RETURNING *
SELECT r.* FROM p, jsonb_populate_record(p, '{"a": 7, "nothing": 1}') AS r ORDER BY r.id
SELECT r.* FROM p, jsonb_populate_record(p, jsonb_build_object('name', p.id, 'b', NULL)) AS r ORDER BY r.id
SELECT p.id, r.a, r.name FROM p, jsonb_populate_recordset(p, '[{"a": 8}, {"name": "z"}]') AS r ORDER BY 1, 2
SELECT r.x, r.y FROM (SELECT 1 AS x, 'a'::text AS y) q, jsonb_populate_record(q, '{"x": 5}') AS r
UPDATE p SET (a, name) = (SELECT r.a, r.name FROM jsonb_populate_record(p, '{"name": "new"}') r) RETURNING id, a, name
SELECT p.id, r.a FROM p LEFT JOIN LATERAL jsonb_populate_record(null::p, to_jsonb(p)) r ON r.a = p.a ORDER BY 1
SELECT NULL::nothing
`

func TestPopulatingAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	run(t, d, `DEFINE TABLE p SCHEMAFULL; DEFINE FIELD a ON p TYPE option<int>; DEFINE FIELD b ON p TYPE option<float>;
		DEFINE FIELD j ON p TYPE option<object> FLEXIBLE; DEFINE FIELD l ON p TYPE option<array<int>>;
		DEFINE FIELD name ON p TYPE option<string>; DEFINE FIELD ok ON p TYPE option<bool>;
		DEFINE FIELD t ON p TYPE option<datetime>`)
	if _, err := pg.Exec(t.Context(), `CREATE TABLE p (id text PRIMARY KEY, a int8, b float8, j jsonb, l int8[], name text,
		ok bool, t timestamptz)`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	answerAlike(t, pg, ours, populateQueries)
}

// What is no row of a table, and rows that are not taken apart in FROM, are refused in words.
func TestPopulatingIsRefused(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE p SCHEMAFULL; DEFINE FIELD a ON p TYPE option<int>")
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	for _, text := range []string{"SELECT jsonb_populate_record(NULL::p, '{}')", "SELECT NULL::p", "SELECT ROW ('x', 1)::p",
		"SELECT * FROM jsonb_populate_record(ROW ('x', 1)::p, '{}')", "SELECT (json_populate_record(NULL::p, '{}')).a",
		"SELECT * FROM jsonb_populate_record(NULL::p, '{}', true)",
		"SELECT * FROM jsonb_populate_recordset(NULL::p, '[]') WITH ORDINALITY"} {
		if got := f.ask(text); !strings.HasSuffix(got, "E!0A000 ZI") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
