package pgwire_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// writtenStatements are answered as PostgreSQL does, in this order over the same rows. They have what tools send and
// the random queries do not have.
const writtenStatements = `
INSERT INTO u (id, name, a, b) VALUES ('u:1', 'one', 1, 1), ('u:2', 'two', 1, 2), ('u:3', 'three', NULL, NULL)
INSERT INTO u (id, name) VALUES ('u:1', 'x') ON CONFLICT (id) DO UPDATE SET id = excluded.id, name = excluded.name RETURNING *
INSERT INTO u (id, name) VALUES ('u:1', 'one') ON CONFLICT (name) DO NOTHING RETURNING *
INSERT INTO u (id, name) VALUES ('u:1', 'one') ON CONFLICT DO NOTHING
INSERT INTO u (id, name) VALUES ('u:9', 'two') ON CONFLICT DO NOTHING
INSERT INTO u (id, name) VALUES ('u:9', 'two') ON CONFLICT (id) DO NOTHING
INSERT INTO u (id, name) VALUES ('u:9', 'two') ON CONFLICT (name) DO NOTHING
INSERT INTO u (id, name, a) VALUES ('u:9', 'two', 5), ('u:4', 'four', 4) ON CONFLICT (name) DO UPDATE SET a = u.a + excluded.a, b = excluded.b RETURNING id, name, a, b
INSERT INTO u (id, name, a, b) VALUES ('u:5', 'five', 1, 2) ON CONFLICT (b, a) DO UPDATE SET name = excluded.name || ' of ' || u.name RETURNING id, name
INSERT INTO u (id, name, a, b) VALUES ('u:5', 'five', NULL, 2) ON CONFLICT (a, b) DO NOTHING RETURNING id
INSERT INTO u (id, name) VALUES ('u:5', 'x') ON CONFLICT ON CONSTRAINT u_name DO NOTHING
INSERT INTO u (id, name) VALUES ('u:6', 'x') ON CONFLICT ON CONSTRAINT u_name DO UPDATE SET b = 77 RETURNING id, b
INSERT INTO u (id, name) VALUES ('u:6', 'x') ON CONFLICT ON CONSTRAINT u_pkey DO UPDATE SET b = 78 RETURNING id, b
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT ON CONSTRAINT u_pkey DO UPDATE SET b = 78 WHERE u.b > 100 RETURNING id, b
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT (id) DO UPDATE SET b = 79 WHERE excluded.name = 'y' RETURNING id, b
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT (a) DO NOTHING
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT (a, name) DO NOTHING
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT (nothing) DO NOTHING
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT ON CONSTRAINT nothing DO NOTHING
INSERT INTO u (id, name) VALUES ('u:6', 'y') ON CONFLICT DO UPDATE SET name = 'z'
INSERT INTO u (id, name) VALUES ('u:7', 'y') ON CONFLICT (id) DO UPDATE SET name = excluded.nothing
INSERT INTO u (id, name) VALUES ('u:8', 'a'), ('u:8', 'b') ON CONFLICT (id) DO UPDATE SET name = excluded.name
INSERT INTO u (id, name) VALUES ('u:2', 'two'), ('u:2', 'b') ON CONFLICT (id) DO UPDATE SET name = excluded.name
INSERT INTO u (id, name) VALUES ('u:2', 'two'), ('u:2', 'b') ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE excluded.name = 'b' RETURNING name
UPDATE u SET name = 'two' WHERE id = 'u:2'
INSERT INTO u (id, name) VALUES ('u:8', 'a'), ('u:8', 'b') ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE false
INSERT INTO u (id, name) SELECT 'u:8', 'a' || n FROM generate_series(1, 2) n ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE false
INSERT INTO u (id, name) VALUES ('u:8', 'a'), ('u:8', 'b') ON CONFLICT (id) DO NOTHING RETURNING name
DELETE FROM u WHERE id = 'u:8'
UPDATE u SET id = 'u:2', a = 8 WHERE id = 'u:2'
SELECT * FROM u ORDER BY id
WITH w AS (SELECT id || '0' AS id, name || '0' AS name FROM u WHERE id = 'u:1') INSERT INTO u (id, name) SELECT id, name FROM w RETURNING id, name
WITH RECURSIVE w(n) AS (SELECT 20 UNION ALL SELECT n + 1 FROM w WHERE n < 22) INSERT INTO u (id, name) SELECT 'u:' || n, 'n' || n FROM w
INSERT INTO u (id, name, a) SELECT * FROM unnest(ARRAY['u:30', 'u:31'], ARRAY['n30', 'n31'], ARRAY[30]::int8[]) RETURNING id, name, a
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b', 'c']) WITH ORDINALITY AS t(x, y, z)
SELECT t.x, y FROM unnest(ARRAY[1, 2], ARRAY['a', NULL]) AS t(x, y) WHERE y IS NULL
SELECT * FROM unnest(ARRAY[]::int8[], NULL::text[])
SELECT u.id, e FROM u, unnest(ARRAY[u.a], ARRAY[u.b, u.a]) AS e(p, q) WHERE u.id = 'u:2' ORDER BY 1
SELECT count(*) FROM unnest()
SELECT jsonb_agg(q)->1->>'id', jsonb_build_object('q', min(q.id))->>'q' FROM (SELECT id FROM u WHERE a IS NOT NULL ORDER BY id) q
SELECT coalesce(json_agg(q), '[]') FROM (SELECT name FROM u WHERE id = 'nothing') AS q
SELECT q FROM (SELECT id FROM u WHERE id = 'u:2') q
SELECT (jsonb_agg(q) OVER ())->0->>'name', jsonb_build_array(q, 1)->0->>'id' FROM (SELECT id, name FROM u WHERE id = 'u:2') q
SELECT u.nothing FROM u
SELECT (SELECT u.nothing) FROM u
SELECT v.nothing FROM u
SELECT to_json(q) FROM (SELECT a FROM u WHERE id = 'u:2') q
SELECT g, g.g FROM generate_series(1, 2) g
SELECT g FROM generate_series(1, 2) AS g(n)
SELECT g FROM unnest(ARRAY['a']) WITH ORDINALITY AS g
WITH q AS (SELECT 1 AS n) SELECT q FROM q
SELECT v FROM (VALUES ('a')) v(x)
SELECT id, rank() OVER w FROM u WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 3
SELECT id, sum(a) OVER w, count(*) OVER (w ORDER BY id), first_value(id) OVER v FROM u WINDOW w AS (PARTITION BY a), v AS (w ORDER BY id DESC) ORDER BY id
SELECT (SELECT max(r) FROM (SELECT rank() OVER x AS r FROM u WINDOW x AS (ORDER BY a)) q), rank() OVER x FROM u WINDOW x AS (ORDER BY name) ORDER BY 2
SELECT rank() OVER nothing FROM u
SELECT rank() OVER (nothing ORDER BY a) FROM u
SELECT rank() OVER (w ORDER BY a) FROM u WINDOW w AS (ORDER BY name)
SELECT rank() OVER (w PARTITION BY a) FROM u WINDOW w AS (ORDER BY name)
SELECT window FROM u
SELECT (SELECT rank() OVER w) FROM u WINDOW w AS (ORDER BY id)
WITH q AS (SELECT count(*) AS n FROM u) INSERT INTO u (id, name, a) VALUES ('u:50', (SELECT 'n' || n FROM q), DEFAULT), ('u:51', DEFAULT, (SELECT n FROM q)) RETURNING *
WITH q AS (SELECT 'u:52'::text AS id, 1 AS n) INSERT INTO u (id, b) WITH r AS (SELECT id, n + 1 AS n FROM q) SELECT id, n FROM r RETURNING *
WITH u AS (SELECT 1) INSERT INTO u (id) VALUES ('u:53') RETURNING *
UPDATE u SET a = v.n, b = u.b + 1 FROM (VALUES ('u:1', 11), ('u:2', 22), ('u:99', 33)) AS v(id, n) WHERE u.id = v.id RETURNING u.id, u.a, u.b, v.n
UPDATE u SET a = v.a + 1 FROM u v WHERE v.id = u.id AND u.id < 'u:3' RETURNING *
UPDATE u AS t SET b = (SELECT count(*) FROM u) FROM generate_series(1, 3) g WHERE t.a = g
UPDATE u SET b = g FROM generate_series(7, 9) g WHERE u.id = 'u:4' AND g > 8 RETURNING u.b, g
UPDATE u SET b = 5 FROM u WHERE u.id = 'u:1'
UPDATE u SET b = nothing.x FROM (SELECT 1 AS x) q WHERE u.id = 'u:1'
WITH q AS (SELECT id, a FROM u WHERE a > 20) UPDATE u SET b = q.a FROM q WHERE q.id = u.id RETURNING u.id, u.b
WITH u AS (SELECT 'u:1'::text AS id) UPDATE u SET b = 61 WHERE id = 'u:1' RETURNING b
WITH q AS (SELECT id FROM u WHERE name = 'four') UPDATE u SET b = 62 WHERE id IN (SELECT id FROM q) RETURNING b
DELETE FROM u USING (VALUES ('u:30'), ('u:30'), ('u:x')) v(x) WHERE u.id = v.x RETURNING *
DELETE FROM u AS t USING u v WHERE v.id = t.id AND v.name = 'n31' RETURNING t.name, v.name
WITH q AS (SELECT max(id) AS id FROM u) DELETE FROM u USING q WHERE u.id = q.id RETURNING u.id
WITH RECURSIVE q(n) AS (SELECT 20 UNION ALL SELECT n + 1 FROM q WHERE n < 21) DELETE FROM u USING q WHERE u.name = 'n' || q.n RETURNING u.id, n
SELECT * FROM u ORDER BY id
SELECT count(*) FROM u WHERE gen_random_uuid() <> gen_random_uuid() AND random() < 1
SELECT length(gen_random_uuid()::text)
SELECT count(*) > 0 FROM (SELECT id FROM u ORDER BY random() LIMIT 3) q
TRUNCATE nothing
TRUNCATE u, nothing
SELECT count(*) > 5 FROM u
TRUNCATE TABLE ONLY "u" RESTART IDENTITY RESTRICT
SELECT count(*) FROM u
INSERT INTO u (id, name) VALUES ('u:1', 'one')
TRUNCATE u
SELECT count(*) FROM u
EXPLAIN TRUNCATE u
TRUNCATE
TRUNCATE u u
SELECT n FROM generate_series(1, 9) n WHERE n BETWEEN SYMMETRIC 5 AND 3 ORDER BY n
SELECT 2 NOT BETWEEN SYMMETRIC 3 AND 1, 2 BETWEEN ASYMMETRIC 3 AND 1, NULL BETWEEN SYMMETRIC 1 AND 2, 2 BETWEEN SYMMETRIC NULL AND 1
SELECT n + 1 BETWEEN 2 AND 3, n + 1 IN (2, 9), n + 1 NOT IN (2, NULL), (n + 1, 'a') IN ((2, 'a'), (3, 'b')) FROM generate_series(1, 3) n ORDER BY n
SELECT CASE n + 1 WHEN 2 THEN 'two' WHEN 3 THEN 'three' END FROM generate_series(1, 3) n ORDER BY n
SELECT (n % 2) IN (0), count(*) FROM generate_series(1, 5) n GROUP BY n % 2 ORDER BY 1
SELECT jsonb_set('{"a": [1, 2]}', '{a,0}', '"x"') = '{"a": ["x", 2]}', jsonb_set('{"a": 1}', '{b}', '[1]') = '{"a": 1, "b": [1]}', jsonb_set('{"a": 1}', '{b}', '2', false) = '{"a": 1}'
SELECT jsonb_set('[1, 2]', '{-1}', '3') = '[1, 3]', jsonb_set('[1]', '{-5}', '0') = '[0, 1]', jsonb_set('[1]', '{7}', '2') = '[1, 2]', jsonb_set('[1]', '{7,a}', '2') = '[1]'
SELECT jsonb_set('{"a": {"b": 1}}', '{a,b}', NULL), jsonb_set('{"a": 1}', '{}', '2') = '{"a": 1}', jsonb_set('{"a": 1}', '{a,b}', '2') = '{"a": 1}', jsonb_set('{"a": {}}', '{x,b}', '2') = '{"a": {}}'
SELECT jsonb_set('1', '{a}', '2')
SELECT jsonb_set('[1]', '{a}', '2')
SELECT jsonb_set('[1]', ARRAY[NULL]::text[], '2')
SELECT jsonb_insert('[1, 2]', '{1}', '9') = '[1, 9, 2]', jsonb_insert('[1, 2]', '{1}', '9', true) = '[1, 2, 9]', jsonb_insert('{"a": 1}', '{b}', '9') = '{"a": 1, "b": 9}', jsonb_insert('[1]', '{-1}', '0') = '[0, 1]'
SELECT jsonb_insert('{"a": 1}', '{a}', '9')
SELECT '{"a": 1, "b": 2}'::jsonb - 'a' = '{"b": 2}', '["a", "b", 1]'::jsonb - 'a' = '["b", 1]', '[1, 2]'::jsonb - 0 = '[2]', '[1, 2]'::jsonb - -1 = '[1]', '[1, 2]'::jsonb - 5 = '[1, 2]'
SELECT '{"a": 1, "b": 2}'::jsonb - ARRAY['a', 'x'] = '{"b": 2}', '{"a": {"b": 1}}'::jsonb #- '{a,b}' = '{"a": {}}', '[1, [2, 3]]'::jsonb #- '{1,0}' = '[1, [3]]', '{"a": 1}'::jsonb #- '{x,y}' = '{"a": 1}'
SELECT '1'::jsonb - 'a'
SELECT '{"a": 1}'::jsonb - 1
SELECT '{"a": 1}'::jsonb - 1.5
SELECT '{"a": null}'::jsonb ? 'a', '["a", 1]'::jsonb ? 'a', '["a", 1]'::jsonb ? '0', '"a"'::jsonb ? 'a', '{"a": {"b": 1}}'::jsonb ? 'b'
SELECT '{"a": 1}'::jsonb ?| ARRAY['x', 'a'], '{"a": 1}'::jsonb ?| '{}', '{"a": 1}'::jsonb ?& '{a,b}', '["a", "b"]'::jsonb ?& ARRAY['a', 'b'], '{"a": 1}'::jsonb ?& '{}'
SELECT '{"a": 1}'::jsonb || '{"b": 2}' = '{"a": 1, "b": 2}', '[1]' || '[2]'::jsonb = '[1, 2]', jsonb_typeof('{"a": 1}'::jsonb || '{"b": 2}')
SELECT jsonb_strip_nulls('{"a": null, "b": [null, {"c": null}]}') = '{"b": [null, {}]}', jsonb_extract_path('{"a": [1, {"b": 2}]}', 'a', '1', 'b') = '2', jsonb_extract_path_text('{"a": "x"}', 'a'), json_typeof('[1]'), json_array_length('[1, 2]')
SELECT jsonb_array_length('{}')
SELECT * FROM jsonb_array_elements_text('["a", 1, null, true]')
SELECT e, e.value, value->'a' FROM jsonb_array_elements('[{"a": 1}]') AS e WHERE e->>'a' = '1' AND false
SELECT e->>'a' FROM jsonb_array_elements('[{"a": 1}, {"a": 2}]') AS e ORDER BY 1
SELECT key, value FROM jsonb_each_text('{"a": 1, "b": null, "c": "x"}') ORDER BY key
SELECT k, v->0 FROM json_each('{"a": [1]}') AS t(k, v) WHERE v IS NULL
SELECT jsonb_object_keys('{"b": 1, "a": 2}') ORDER BY 1
SELECT jsonb_array_elements('{}')
SELECT jsonb_each('[]')
SELECT to_jsonb(1.5::numeric) = '1.5', to_jsonb(2::numeric) = '2', jsonb_build_object('n', 0.1)->'n' = '0.1', jsonb_typeof(to_jsonb(0.1)), jsonb_build_array(ARRAY[0.5])->0->0 = '0.5'
SELECT to_jsonb('2024-01-02 03:04:05.5+00'::timestamptz)#>>'{}', to_jsonb('2024-01-02 03:04:05'::timestamp)#>>'{}', jsonb_build_array('2024-01-02'::date)->>0, jsonb_agg('2024-01-02 03:04:05+00'::timestamptz)->>0
SELECT to_jsonb(q)->>'t', jsonb_typeof(to_jsonb(q)->'n') FROM (SELECT '2024-01-02 03:04:05+00'::timestamptz AS t, sum(0.5) AS n) q
INSERT INTO u (id, name, a, b) VALUES ('u:1', 'one', 1, 2), ('u:550e8400-e29b-41d4-a716-446655440000', 'uuid', 3, 4), ('u:1_2', NULL, 5, 6)
SELECT name FROM u WHERE id = 'u:550e8400-e29b-41d4-a716-446655440000'
SELECT a FROM u WHERE id IN ('u:1_2', 'u:1') ORDER BY a
SELECT a FROM u WHERE id = ANY ('{u:1_2,u:1}') AND id <> 'u:1'
SELECT q.a FROM (SELECT id, a FROM u) q WHERE q.id = 'u:1_2'
WITH q AS (SELECT id, a FROM u) SELECT a FROM q WHERE CASE id WHEN 'u:1_2' THEN true END
UPDATE u SET b = 7 WHERE id = 'u:550e8400-e29b-41d4-a716-446655440000' RETURNING b
INSERT INTO u (id, b) VALUES ('u:1_2', 8) ON CONFLICT (id) DO UPDATE SET b = excluded.b RETURNING a, b
DELETE FROM u WHERE id = 'u:1_2' RETURNING a
SELECT 'abc'::varchar(2), CAST('äöü' AS character varying(1)), 'x'::varchar(5), 1.256::numeric(10,2), -2.5::numeric(3), 12345::numeric(5,0), NULL::varchar(1)
SELECT 123.4::numeric(3,1)
SELECT (a, b) IS NULL, (a, b) IS NOT NULL, NOT (a, b) IS NULL FROM (VALUES (1, 2), (1, NULL), (NULL, NULL)) v(a, b) ORDER BY a, b
SELECT q IS NULL, q IS NOT NULL FROM (SELECT 1 AS x) p LEFT JOIN (SELECT 2 AS y, 3 AS z) q ON false
SELECT ('{"a": {"b": 1}}'::jsonb)['a']['b'] = '1', ('[5, 6]'::jsonb)[1] = '6', ('[5, 6]'::jsonb)[-1] = '6', ('{"a": 1}'::jsonb)['x'] IS NULL
UPDATE u SET (name, a) = ('both', 77), b = DEFAULT WHERE id = 'u:1' RETURNING name, a, b
UPDATE u SET (name, a) = ROW (name || '!', DEFAULT) WHERE id = 'u:1' RETURNING name, a, b
UPDATE u SET (name, a) = ('x', 1, 2) WHERE id = 'u:1'
SELECT array_prepend('x', ARRAY['a', 'b']), array_replace(ARRAY[1, 2, 1], 1, 9), array_positions(ARRAY['a', 'b', 'a'], 'a')
SELECT div(7, 2), div(-7, 2), div(7.5, 2), pi() > 3, to_hex(255), to_hex(-1), pg_typeof(1)::text, pg_typeof('{}'::jsonb)::text, pg_typeof(NULL::timestamptz)::text
SELECT div(1, 0)
SELECT encode(decode('616263', 'hex'), 'base64'), decode('YWJj', 'base64') = 'abc'::bytea, translate('abcba', 'abx', 'x'), to_timestamp(1.5), to_timestamp(-0.25)
SELECT decode('6', 'hex')
SELECT jsonb_path_query('{"a": [{"b": 1}, {"b": [2, 3]}, {"c": null}]}', '$.a.b') = '1'
SELECT jsonb_path_query_array('{"a": [{"b": 1}, {"b": [2, 3]}]}', '$.a[*].b[*]') = '[1, 2, 3]', jsonb_path_query_array('{"a": [{"b": 1}, {"b": [2, 3]}]}', '$.a.b') = '[1, [2, 3]]', jsonb_path_query_array('{"a": [1, 2, 3]}', '$.a[last - 1]') = '[2]'
SELECT jsonb_path_query_first('{"a": [{"b": 1}]}', '$.a[0][0].b') = '1', jsonb_path_query_first('{"a": null}', '$.a') = 'null', jsonb_path_query_first('{"a": 1}', '$.b') IS NULL, jsonb_path_query_first('{"x y": 1}', '$."x y"') = '1', jsonb_path_query_array('{"a": 1, "b": 2}', 'lax $.*') = '[1, 2]'
SELECT jsonb_path_exists('{"a": [1]}', '$.a[*]'), jsonb_path_exists('{"a": []}', '$.a[*]'), jsonb_path_exists('{"a": [1]}', '$.a[1]'), jsonb_path_exists('{"a": [1]}', '$')
`

// TestWrittenAgainstPostgreSQL runs writtenStatements at both servers.
func TestWrittenAgainstPostgreSQL(t *testing.T) {
	pg := postgres(t)
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE u SCHEMAFULL; DEFINE FIELD name ON u TYPE option<string>; DEFINE FIELD a ON u TYPE option<int>;
		DEFINE FIELD b ON u TYPE option<int>; DEFINE INDEX u_name ON u FIELDS name UNIQUE; DEFINE INDEX u_a_b ON u FIELDS a, b UNIQUE`)
	if _, err := pg.Exec(t.Context(), `CREATE TABLE u (id text PRIMARY KEY, name text CONSTRAINT u_name UNIQUE, a int8, b int8,
		CONSTRAINT u_a_b UNIQUE (a, b))`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	ours, err := pgconn.Connect(t.Context(), "postgres://root@"+addr+"/test%2Ftest?sslmode=disable&options=-c%20dialect%3Dsql")
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close(context.Background())
	for text := range strings.SplitSeq(strings.TrimSpace(writtenStatements), "\n") {
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

// TestRefusedStatements: what SQL has and is not there is refused in words, and what the language has is not.
func TestRefusedStatements(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, productSchema)
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	for _, text := range []string{"CREATE TABLE x (id serial PRIMARY KEY, y varchar(20) NOT NULL)",
		"create unique index i on person (name)",
		"CREATE TABLE IF NOT EXISTS \"x\" (y int)",
		"CREATE OR REPLACE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql",
		"ALTER TABLE person ADD COLUMN x text", "DROP TABLE IF EXISTS person CASCADE", "DROP INDEX i",
		"CREATE EXTENSION hstore",
		"GRANT SELECT ON person TO x", "COMMENT ON TABLE person IS 'x'",
		"MERGE INTO person USING likes ON true WHEN MATCHED THEN DELETE", "TRUNCATE person CASCADE",
		"WITH x AS (DELETE FROM person RETURNING *) SELECT * FROM x",
		"SELECT * FROM person TABLESAMPLE system (10)", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) FROM person",
		"INSERT INTO person (id) VALUES ('1') ON CONFLICT (id) WHERE age > 1 DO NOTHING"} {
		if got := f.ask(text); got != "E!0A000 ZI" {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, text := range []string{"CREATE tree SET age = ", "CREATE tree:", "TRUNCATE"} {
		if got := f.ask(text); got != "E!42601 ZI" {
			t.Errorf("%s: %s", text, got)
		}
	}
	f.want("SELECT count(*) FROM person", "T[count:20] D[0] C(SELECT 1) ZI")
	for _, path := range []string{"$.a ? (@ > 1)", "strict $.a", "$.a.size()", "$.a + 1", "$[1 to 2]", "$.a[", "a",
		""} {
		f.want("SELECT jsonb_path_exists('{}', '"+path+"')", "T[jsonb_path_exists:16] E!0A000 ZI")
	}
	f.want("INSERT INTO person (id, name) VALUES ('person:1', 'Ada'), ('2', 'Bob'), (NULL, 'Eve')", "C(INSERT 0 3) ZI")
	f.want("INSERT INTO person (id, name) VALUES ('2', 'Bea') ON CONFLICT (id) DO UPDATE SET id = excluded.id, name = excluded.name || person.name RETURNING id, name", "T[id:25 name:25] D[person:2|BeaBob] C(INSERT 0 1) ZI")
	f.want("INSERT INTO person (id, name) VALUES ('2', 'Bea') ON CONFLICT (id) DO UPDATE SET id = '3'", "E!0A000 ZI")
	f.want("UPDATE person SET age = 1 FROM unnest(ARRAY[person.age]) x", "E!42P01 ZI") // it does not see the table
	f.want("BEGIN; TRUNCATE person; SELECT count(*) FROM person; ROLLBACK; SELECT count(*) FROM person",
		"C(BEGIN) C(TRUNCATE TABLE) T[count:20] D[0] C(SELECT 1) C(ROLLBACK) T[count:20] D[3] C(SELECT 1) ZI")
}

// TestTruncateLeavesHiddenRows: TRUNCATE drops no row that the user may not read, also where he may delete all.
func TestTruncateLeavesHiddenRows(t *testing.T) {
	f := world(t, 1, true, func(s string) string { // with hidden rows
		return strings.Replace(s, "FOR select, update, delete WHERE k < 3", "FOR select WHERE k < 3, FOR delete FULL", 1)
	})
	if got := f.answer("TRUNCATE x; SELECT count(*) FROM x"); !strings.Contains(got, "D[0]") {
		t.Errorf("TRUNCATE: %s", got)
	}
	if got := f.answer("INSERT INTO x (id, k) VALUES ('x:2', 1)"); !strings.Contains(got, "E{") {
		t.Errorf("the hidden row is gone: %s", got)
	}
}
