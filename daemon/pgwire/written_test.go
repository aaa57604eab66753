package pgwire_test

import (
	"strings"
	"testing"
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
SELECT sum(v) OVER (ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ROWS UNBOUNDED FOLLOWING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ROWS 1 FOLLOWING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN 2 PRECEDING AND 3 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS -1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND -1 FOLLOWING) FROM generate_series(1, 3) v WHERE false
SELECT sum(v) OVER (ORDER BY v ROWS NULL PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v GROUPS NULL::int PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS 1.5 PRECEDING), sum(v) OVER (ORDER BY v ROWS '1' PRECEDING), sum(v) OVER (ORDER BY v ROWS (SELECT 1) PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS 'x' PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS true PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS v PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS (SELECT v) PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS sum(1) PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS rank() OVER () PRECEDING) FROM generate_series(1, 3) v
SELECT w, (SELECT sum(v) FROM (SELECT count(*) OVER (ORDER BY v ROWS w PRECEDING) AS v FROM generate_series(1, 3) v) q) FROM generate_series(0, 2) w ORDER BY w
SELECT sum(v) OVER (GROUPS CURRENT ROW) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v GROUPS -1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (RANGE 1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (RANGE CURRENT ROW) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v, 1 RANGE 1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v RANGE 1.5 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v RANGE '1' PRECEDING) FROM generate_series(1, 3) v ORDER BY 1
SELECT sum(v) OVER (ORDER BY v RANGE -1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v RANGE -1 PRECEDING) FROM generate_series(1, 3) v WHERE false
SELECT rank() OVER (ORDER BY v RANGE -1 PRECEDING) FROM generate_series(1, 3) v
SELECT rank() OVER (ORDER BY v ROWS -1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v::text RANGE 1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v > 1 RANGE 'x' PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v::numeric RANGE 1::float8 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v::float8 RANGE 'NaN' PRECEDING) FROM generate_series(1, 3) v
SELECT count(*) OVER (ORDER BY v RANGE 1 PRECEDING) FROM (VALUES (now())) q(v)
SELECT count(*) OVER (ORDER BY v RANGE '1 day'::text PRECEDING) FROM (VALUES (now())) q(v)
SELECT v, count(*) OVER (ORDER BY v RANGE '1 day' PRECEDING), count(*) OVER (ORDER BY v DESC RANGE '1 day' PRECEDING) FROM (VALUES (date '2024-01-01'), ('2024-01-02'), ('2024-01-05'), (NULL)) q(v) ORDER BY v
SELECT v, count(*) OVER (ORDER BY v RANGE BETWEEN '1 hour' PRECEDING AND '30 minutes' FOLLOWING) FROM (VALUES (timestamp '2024-01-01 00:00:00'), ('2024-01-01 00:29:00'), ('2024-01-01 01:00:00'), (NULL)) q(v) ORDER BY v
SELECT v, array_agg(v) OVER (ORDER BY v RANGE 'inf' PRECEDING) FROM (VALUES ('-inf'::float8), (1), (2), ('inf'), ('inf'), ('nan'), ('nan')) q(v) ORDER BY 1
SELECT v, array_agg(v) OVER (ORDER BY v RANGE BETWEEN 'inf' PRECEDING AND 'inf' PRECEDING), array_agg(v) OVER (ORDER BY v RANGE BETWEEN 'inf' FOLLOWING AND 'inf' FOLLOWING) FROM (VALUES ('-inf'::float8), (1), (2), ('inf'), ('inf'), ('nan'), ('nan')) q(v) ORDER BY 1
SELECT v, array_agg(v) OVER (ORDER BY v DESC RANGE BETWEEN 'inf' PRECEDING AND 1 PRECEDING), array_agg(v) OVER (ORDER BY v RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM (VALUES ('-inf'::float8), (1), (2), ('inf'), ('inf'), ('nan'), ('nan')) q(v) ORDER BY 1
SELECT v, array_agg(v) OVER (ORDER BY v RANGE BETWEEN 9223372036854775807 PRECEDING AND 5 FOLLOWING), array_agg(v) OVER (ORDER BY v RANGE BETWEEN 1 FOLLOWING AND 9223372036854775807 FOLLOWING), array_agg(v) OVER (ORDER BY v RANGE BETWEEN 5 PRECEDING AND 1 PRECEDING) FROM (VALUES (9223372036854775807), (1), ('-9223372036854775808'::int8)) q(v) ORDER BY v
SELECT v, array_agg(v) OVER (ORDER BY v ROWS BETWEEN 9223372036854775807 FOLLOWING AND 9223372036854775807 FOLLOWING), array_agg(v) OVER (ORDER BY v GROUPS BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 FOLLOWING) FROM generate_series(1, 3) v ORDER BY v
SELECT v, count(*) OVER (ORDER BY v ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE NO OTHERS), array_agg(v) OVER (ORDER BY v / 2 GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM generate_series(0, 3) v ORDER BY v
SELECT count(*) OVER (RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES), count(*) OVER (RANGE UNBOUNDED PRECEDING EXCLUDE GROUP) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS EXCLUDE CURRENT ROW) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v EXCLUDE CURRENT ROW) FROM generate_series(1, 3) v
SELECT sum(v) OVER (ORDER BY v ROWS 1 PRECEDING EXCLUDE CURRENT) FROM generate_series(1, 3) v
SELECT count(*) OVER (PARTITION ROWS 1 PRECEDING) FROM generate_series(1, 3) v
SELECT sum(v) OVER (w ROWS 1 PRECEDING), sum(v) OVER (x), sum(v) OVER x, sum(v) OVER y FROM generate_series(1, 3) v WINDOW w AS (ORDER BY v), x AS (w), y AS (ORDER BY v DESC ROWS 1 PRECEDING) ORDER BY 1, 2, 3, 4
SELECT sum(v) OVER (w) FROM generate_series(1, 3) v WINDOW w AS (ORDER BY v ROWS 1 PRECEDING)
SELECT sum(v) OVER (w ORDER BY v) FROM generate_series(1, 3) v WINDOW w AS (ROWS 1 PRECEDING)
SELECT sum(v) OVER ("rows" ROWS 1 PRECEDING) FROM generate_series(1, 3) v WINDOW "rows" AS (ORDER BY v) ORDER BY 1
SELECT rows, range, groups, ties, others, exclude, preceding, following, current, unbounded FROM (SELECT 1 AS rows, 2 AS range, 3 AS groups, 4 AS ties, 5 AS others, 6 AS exclude, 7 AS preceding, 8 AS following, 9 AS current, 10 AS unbounded) q
SELECT nth_value(v, 2) OVER (ORDER BY v), nth_value(v, NULL) OVER (ORDER BY v), nth_value(v, 2) OVER (ORDER BY v ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) FROM generate_series(1, 4) v ORDER BY v
SELECT nth_value(v, 0) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT nth_value(v) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT nth_value(v, 1::int8) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT nth_value(v, 1) FROM generate_series(1, 3) v
SELECT first_value(v) IGNORE NULLS OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT first_value(v) FILTER (WHERE true) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT sum(DISTINCT v) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT array_agg(v ORDER BY v) OVER () FROM generate_series(1, 3) v
SELECT ntile(0) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT ntile(NULL) OVER (ORDER BY v), lag(v, NULL) OVER (ORDER BY v), lag(v, 1, 1.5) OVER (ORDER BY v), lead(v::text, 1, 'zz') OVER (ORDER BY v) FROM generate_series(1, 3) v ORDER BY v
SELECT lag(v, 1, 'x') OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT lag(v, 1, 'x'::text) OVER (ORDER BY v) FROM generate_series(1, 3) v
SELECT rank() FROM generate_series(1, 3) v
SELECT lower(v::text) OVER () FROM generate_series(1, 3) v
SELECT nothing(v) OVER () FROM generate_series(1, 3) v
SELECT percent_rank() OVER (ORDER BY v / 2), cume_dist() OVER (ORDER BY v / 2) FROM generate_series(1, 5) v ORDER BY 2
SELECT sum(1 / (v - 1)) OVER (ORDER BY v ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) FROM generate_series(1, 3) v ORDER BY v
SELECT sum(1 / (v - 1)) OVER (ORDER BY v ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM generate_series(1, 3) v ORDER BY v
SELECT sum(v) OVER (ORDER BY i ROWS 1 PRECEDING) FROM (VALUES (1, 1e308::float8), (2, 1e308), (3, 2)) q(i, v)
SELECT i, sum(v) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), avg(v) OVER (ORDER BY i ROWS 1 PRECEDING), sum(v) OVER (ORDER BY i ROWS UNBOUNDED PRECEDING) FROM (VALUES (1, 1e20::float8), (2, 1), (3, -1e20), (4, 0.1), (5, NULL), (6, 0.2)) q(i, v) ORDER BY i
SELECT i, sum(v) OVER (ORDER BY i ROWS 1 PRECEDING), avg(v) OVER (ORDER BY i ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM (VALUES (1, 9223372036854775807), (2, 9223372036854775807), (3, -9223372036854775808), (4, 0)) q(i, v) ORDER BY i
SELECT i, sum(v) OVER (ORDER BY i ROWS 1 PRECEDING), sum(v) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM (VALUES (1, 12345678901234567890.12), (2, 0.0000000001), (3, -1), (4, NULL)) q(i, v) ORDER BY i
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), percentile_disc(0.5) WITHIN GROUP (ORDER BY v DESC), mode() WITHIN GROUP (ORDER BY v / 2), percentile_disc(0.3) WITHIN GROUP (ORDER BY v::text) AS named FROM generate_series(1, 4) v
SELECT percentile_cont(ARRAY[0, 0.25, NULL, 1]) WITHIN GROUP (ORDER BY v), percentile_disc(ARRAY[[0, 0.25], [0.5, 1]]) WITHIN GROUP (ORDER BY v::text), percentile_disc(ARRAY[]::float8[]) WITHIN GROUP (ORDER BY v), percentile_disc(NULL::float8[]) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), mode() WITHIN GROUP (ORDER BY v), percentile_cont(ARRAY[2]) WITHIN GROUP (ORDER BY v), rank(2) WITHIN GROUP (ORDER BY v), percent_rank(2) WITHIN GROUP (ORDER BY v), cume_dist(2) WITHIN GROUP (ORDER BY v), dense_rank(1) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v WHERE false
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v WHERE false
SELECT percentile_cont('NaN') WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_disc(ARRAY[0.5, 2]) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v::text) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM (VALUES (now())) q(v)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), percentile_cont(ARRAY[0.25, 0.3]) WITHIN GROUP (ORDER BY v DESC) FROM (VALUES (interval '1 hour'), ('2 hours'), ('4 hours')) q(v)
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY v), percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM (VALUES ('inf'::float8), ('-inf')) q(v)
SELECT v / 3, percentile_cont(v / 3 / 2.0) WITHIN GROUP (ORDER BY v), rank(v / 3) WITHIN GROUP (ORDER BY v DESC) FILTER (WHERE v > 1) FROM generate_series(0, 6) v GROUP BY v / 3 ORDER BY 1
SELECT percentile_cont(v) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT rank(v) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v, 1) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5, 1) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont() WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(true) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_disc('0.5') WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont('a') WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(ARRAY['a']) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5, v) FROM generate_series(1, 4) v
SELECT mode() FROM generate_series(1, 4) v
SELECT mode(v) FROM generate_series(1, 4) v
SELECT mode(1) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT mode() WITHIN GROUP (ORDER BY 'a') FROM generate_series(1, 4) v
SELECT sum(v) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(DISTINCT 0.5) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5 ORDER BY v) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v) OVER () FROM generate_series(1, 4) v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY sum(v)) FROM generate_series(1, 4) v
SELECT percentile_cont(sum(v)) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT min(percentile_cont(0.5) WITHIN GROUP (ORDER BY v)) FROM generate_series(1, 4) v
SELECT 1 FROM generate_series(1, 4) v WHERE mode() WITHIN GROUP (ORDER BY v) > 1
SELECT rank(2, 'b') WITHIN GROUP (ORDER BY v, v::text DESC), dense_rank(NULL) WITHIN GROUP (ORDER BY v), percent_rank(0) WITHIN GROUP (ORDER BY v DESC), cume_dist(2.5) WITHIN GROUP (ORDER BY v NULLS FIRST) FROM (VALUES (1), (2), (2), (3), (NULL)) q(v)
SELECT rank(2, 3) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT rank('x') WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT rank(true) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT rank(1) FROM generate_series(1, 4) v
SELECT rank(1) OVER (ORDER BY v) FROM generate_series(1, 4) v
SELECT row_number(1) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT mode() WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY v) > 1 ORDER BY mode() WITHIN GROUP (ORDER BY v)
SELECT within, mode FROM (SELECT 1 AS within, 2 AS mode) q
SELECT string_agg(v::text, ',' ORDER BY v DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY v) FROM generate_series(1, 4) v
SELECT mode() WITHIN GROUP (ORDER BY v), rank() OVER (ORDER BY count(*)), sum(count(*)) OVER (ORDER BY v % 2 ROWS UNBOUNDED PRECEDING) FROM generate_series(1, 5) v GROUP BY v % 2 ORDER BY 1
SELECT k, n, count(*), grouping(k), grouping(k, n), grouping(n, k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k, n) ORDER BY 1, 2, 5
SELECT k, b, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY CUBE(k, b) ORDER BY 1, 2, 3
SELECT k, b, count(*), sum(n) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS ((k), (b), ()) ORDER BY 1, 2, 3, 4
SELECT k, b, n, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k, ROLLUP(b, n) ORDER BY 1, 2, 3, 4
SELECT k, b, n, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS (k, ROLLUP(b, n), GROUPING SETS ((k, b), ())) ORDER BY 1, 2, 3, 4
SELECT k, b, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP((k, b)) ORDER BY 1, 2, 3
SELECT k, b, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY DISTINCT ROLLUP(k, b), ROLLUP(k) ORDER BY 1, 2, 3
SELECT k, b, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ALL ROLLUP(k, b), ROLLUP(k) ORDER BY 1, 2, 3
SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ()
SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY (), ()
SELECT k, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k, () ORDER BY 1
SELECT k, n, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY (k, n) ORDER BY 1, 2
SELECT k, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY (k), n ORDER BY 1, 2
SELECT k, k + 1, grouping(k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k), n ORDER BY 1, 2, 3
SELECT k FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS ((k), (k + 1)) ORDER BY 1
SELECT k + 1 FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS ((k + 1), (n)) ORDER BY 1
SELECT k AS c, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(c) ORDER BY 1, 2
SELECT 'x' AS c, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(c) ORDER BY 1
SELECT k, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(1) ORDER BY 1, 2
SELECT 1 FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(3)
SELECT k FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS (())
SELECT n FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS ((k))
SELECT count(DISTINCT n), string_agg(n::text, ',' ORDER BY n DESC) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS (k, (), ()) ORDER BY 1, 2
SELECT k, percentile_disc(k / 10.0) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY b) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k) ORDER BY 1, 2, 3
SELECT k, n, sum(count(*)) OVER (PARTITION BY grouping(k) ORDER BY n NULLS FIRST), rank() OVER (ORDER BY k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k), n ORDER BY 1, 2, 3
SELECT k, sum(n) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k) HAVING grouping(k) = 1 OR sum(n) > 3 ORDER BY grouping(k), k
SELECT DISTINCT k FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k), n ORDER BY 1
SELECT coalesce(k, -1), k IS NULL, CASE WHEN grouping(k) = 1 THEN 'all' ELSE k::text END, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k) ORDER BY 1, 4
SELECT grouping(n) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k
SELECT grouping(k + 0) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k
SELECT grouping() FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k
SELECT grouping(k) OVER () FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k
SELECT max(grouping(k)) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k)
SELECT grouping(max(k)) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k)
SELECT grouping(k, 1) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k)
SELECT grouping(k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY k
SELECT grouping(k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b)
SELECT k FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) WHERE grouping(k) = 1 GROUP BY k
SELECT grouping(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a) FROM (SELECT 1 AS a) q GROUP BY a
SELECT grouping(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a) FROM (SELECT 1 AS a) q GROUP BY ROLLUP(a)
SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) WHERE false GROUP BY ()
SELECT 1 FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) WHERE false GROUP BY ROLLUP(k)
SELECT k, count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) WHERE false GROUP BY GROUPING SETS ((), (k), ())
SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY CUBE(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11, k + 12)
SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY CUBE(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11), ROLLUP(k)
SELECT count(*), sum(c) FROM (SELECT count(*) AS c FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY CUBE(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11)) q
SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11), ROLLUP(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11), ROLLUP(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11), ROLLUP(k + 0, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, k + 9, k + 10, k + 11)
SELECT k FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k, GROUPING SETS (n))
SELECT k FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(ROLLUP(k))
SELECT 1 FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP()
SELECT 1 FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY GROUPING SETS ()
SELECT 1 FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(sum(k))
SELECT rollup, cube, sets, grouping FROM (SELECT 1 AS rollup, 2 AS cube, 3 AS sets, 4 AS grouping) q GROUP BY rollup, cube, sets, grouping
SELECT rollup(k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b)
SELECT (k, n) IN ((1, 1)), count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY (k, n) IN ((1, 1)) ORDER BY 1
SELECT k, (SELECT count(*) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) r(k, n, b) WHERE r.k = q.k) FROM (VALUES (1, 1, true), (1, 2, false), (2, 2, NULL), (2, NULL, true), (NULL, 9, true)) q(k, n, b) GROUP BY ROLLUP(k) ORDER BY 1, 2
SELECT percentile_disc('0.5') WITHIN GROUP (ORDER BY v::text) FROM generate_series(1, 4) v
SELECT k, (SELECT count(*) FROM generate_series(0, 3) v WHERE v <= q.k), EXISTS (SELECT 1 WHERE k = 2) FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 9)) q(k, n) GROUP BY k ORDER BY 1
SELECT (SELECT n) FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 9)) q(k, n) GROUP BY k
SELECT (SELECT k), sum((SELECT n)), (SELECT sum(v) FROM generate_series(0, 3) v WHERE v <> k) FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 9)) q(k, n) GROUP BY ROLLUP(k) ORDER BY 1, 2
SELECT (SELECT max(v) FROM generate_series(0, 3) v WHERE v <> k), (SELECT min(v) FROM generate_series(0, 3) v WHERE v <> k), count(*) FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 9)) q(k, n) GROUP BY 1, 2 ORDER BY 1, 2
SELECT n > ALL (ARRAY[1, 2]), n > ANY (ARRAY[1, 2]) FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 9)) q(k, n) GROUP BY n > ALL (ARRAY[1, 2]), n > ANY (ARRAY[1, 2]) ORDER BY 1, 2
SELECT (SELECT k), count(*) FROM (VALUES (1, 1), (1, 2), (2, 2), (NULL, 9)) q(k, n) GROUP BY DISTINCT ROLLUP((SELECT k)), CUBE((SELECT k)) ORDER BY 1, 2
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
SELECT translate('abcab', 'aab', 'xyz'), translate('abc', 'cb', ''), translate('', 'a', 'b'), translate('日本', '本', 'x')
SELECT ('{"a": 1, "b": 2}'::jsonb - ARRAY['a', NULL]) = '{"b": 2}', ('["a", "b", 1]'::jsonb - ARRAY['b', NULL]) = '["a", 1]', ('{"": 1, "a": 2}'::jsonb - ARRAY[NULL]::text[]) = '{"": 1, "a": 2}'
SELECT array_replace(ARRAY[1, NULL, 1, 2], 1, 9), array_replace(ARRAY[1, NULL], NULL, 7), array_positions(ARRAY['x', NULL, 'x'], 'x'), array_positions(ARRAY[1, NULL], NULL)
SELECT jsonb_strip_nulls('{"b": null, "a": {"c": null, "d": [null, {"e": null}]}}') = '{"a": {"d": [null, {}]}}', jsonb_build_object('n', 1.5, 't', timestamp '2024-01-02 03:04:05')->>'t'
SELECT jsonb_path_exists('{"a": [1]}', '$.a[*]'), jsonb_path_exists('{"a": []}', '$.a[*]'), jsonb_path_exists('{"a": [1]}', '$.a[1]'), jsonb_path_exists('{"a": [1]}', '$')
DELETE FROM u
INSERT INTO u (id, name, a, b) VALUES ('u:1', 'one', 1, 10), ('u:2', 'two', 2, 20), ('u:3', 'three', NULL, 30)
UPDATE u SET (name, a) = (SELECT name || '!', a + 1) RETURNING *
UPDATE u SET (a, b) = (SELECT max(a), min(b) FROM u), name = upper(name) WHERE id <> 'u:2' RETURNING *
UPDATE u SET (a, b) = (SELECT v.a + 100, v.b + u.b FROM u v WHERE v.a < u.a ORDER BY v.a LIMIT 1) RETURNING *
UPDATE u SET (a, b) = (SELECT n, n * n FROM generate_series(1, 9) n WHERE n::text = right(u.id, 1)), (name) = (SELECT 'n' || u.id) RETURNING *
UPDATE u SET (name, a) = (SELECT 'x', 1 WHERE false) WHERE id = 'u:1' RETURNING *
UPDATE u SET (name, a) = (SELECT 'x', n FROM generate_series(1, 2) n) WHERE id = 'u:1'
UPDATE u SET (name, a) = (SELECT 'x') WHERE id = 'u:1'
UPDATE u SET (name, a) = (SELECT 'x', 1, 2) WHERE id = 'u:1'
UPDATE u SET (name, a) = (VALUES ('v', 5)) WHERE id = 'u:1' RETURNING *
UPDATE u SET (name, a) = (WITH q AS (SELECT 7 AS x) SELECT 'w' || x, x FROM q) WHERE id = 'u:1' RETURNING *
UPDATE u SET (name, a) = ((SELECT 'double', 8)) WHERE id = 'u:1' RETURNING *
UPDATE u SET (a, b) = (SELECT q.x, q.y) FROM (VALUES ('u:1', 41, 42), ('u:2', 43, 44)) q(i, x, y) WHERE u.id = q.i RETURNING u.*
UPDATE u SET (name, a, b) = ROW ('r', DEFAULT, 9) WHERE id = 'u:1' RETURNING *
UPDATE u SET (name) = ROW ('single') WHERE id = 'u:1' RETURNING *
UPDATE u SET (name) = ('x') WHERE id = 'u:1'
UPDATE u SET (name, a) = ('x') WHERE id = 'u:1'
UPDATE u SET (name, a) = ROW ('x') WHERE id = 'u:1'
UPDATE u SET (name, a) = ROW () WHERE id = 'u:1'
UPDATE u SET (name, a) = 'x' WHERE id = 'u:1'
UPDATE u SET (name, name) = ('x', 'y') WHERE id = 'u:1'
UPDATE u SET a = 1, (b, a) = (SELECT 1, 2) WHERE id = 'u:1'
UPDATE u SET (nothing, a) = (1, 2) WHERE id = 'u:1'
UPDATE u SET (name, a) = (SELECT nothing, 1) WHERE id = 'u:1'
UPDATE u SET (name, a) = (SELECT 'x', '2024-01-01'::date) WHERE id = 'u:1'
INSERT INTO u (id, name, a, b) VALUES ('u:2', 'new', 5, 6), ('u:4', 'four', 7, 8) ON CONFLICT (id) DO UPDATE SET (name, a) = (excluded.name || u.name, u.a + excluded.a) RETURNING *
INSERT INTO u (id, name, a, b) VALUES ('u:2', 'late', 5, 6) ON CONFLICT (id) DO UPDATE SET (name, b) = ROW (excluded.name, DEFAULT), a = 1000 RETURNING *
UPDATE u SET a = (SELECT count(*) FROM u v WHERE v.b < u.b), b = (SELECT max(v.b) + u.b FROM u v) RETURNING *
UPDATE u SET a = '2024-01-01'::date
INSERT INTO u (id, a) VALUES ('u:9', '2024-01-01'::date)
INSERT INTO u (id, a) SELECT 'u:9', '2024-01-01'::date
INSERT INTO u (id, name, a, b) VALUES ('u:2', 'sub', 5, 60) ON CONFLICT (id) DO UPDATE SET (name, a, b) = (SELECT excluded.name || count(*), sum(v.b)::int8, excluded.b FROM u v WHERE v.b < excluded.b) WHERE u.name <> 'nothing' RETURNING *
INSERT INTO u (id, name) VALUES ('u:2', 'sub') ON CONFLICT (id) DO UPDATE SET (name, a) = (SELECT 'x')
INSERT INTO u (id, name) VALUES ('u:2', 'sub') ON CONFLICT (id) DO UPDATE SET (name, a) = (SELECT n::text, n FROM generate_series(1, 2) n)
SELECT * FROM u ORDER BY id
`

// TestWrittenAgainstPostgreSQL runs writtenStatements at both servers.
func TestWrittenAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	run(t, d, `DEFINE TABLE u SCHEMAFULL; DEFINE FIELD name ON u TYPE option<string>; DEFINE FIELD a ON u TYPE option<int>;
		DEFINE FIELD b ON u TYPE option<int>; DEFINE INDEX u_name ON u FIELDS name UNIQUE; DEFINE INDEX u_a_b ON u FIELDS a, b UNIQUE`)
	if _, err := pg.Exec(t.Context(), `CREATE TABLE u (id text PRIMARY KEY, name text CONSTRAINT u_name UNIQUE, a int8, b int8,
		CONSTRAINT u_a_b UNIQUE (a, b))`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	writtenAlike(t, pg, ours, writtenStatements)
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
		"SELECT * FROM person TABLESAMPLE system (10)",
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) OVER () FROM person",
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
