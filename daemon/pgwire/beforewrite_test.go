package pgwire_test

import (
	"testing"
)

// queriedWrites have queries inside that read what the same statement changes. Rows are compared without their order.
const queriedWrites = `
INSERT INTO u (id, a) VALUES ('u:1', 1) RETURNING (SELECT count(*) FROM u), a
INSERT INTO u (id, a) VALUES ('u:2', 2), ('u:3', 3) RETURNING id, (SELECT count(*) FROM u), (SELECT max(v.a) FROM u v WHERE v.a < u.a)
INSERT INTO u (id, a) SELECT 'u:1' || n, n FROM generate_series(1, 3) n RETURNING id, (SELECT count(*) FROM u v WHERE v.a <= u.a), EXISTS (SELECT 1 FROM u v WHERE v.id = u.id), ARRAY(SELECT v.id FROM u v ORDER BY v.id)
INSERT INTO u (id, a) SELECT v.id || '0', (SELECT count(*) FROM u) FROM u v RETURNING id, a, a IN (SELECT a FROM u), (SELECT sum(w.a) FROM u w)
DELETE FROM u WHERE a > 5 RETURNING id, (SELECT count(*) FROM u), (SELECT v.a FROM u v WHERE v.id = u.id)
UPDATE u SET a = a + 1 WHERE a = (SELECT max(a) FROM u) RETURNING id, a, (SELECT max(a) FROM u), (SELECT v.a FROM u v WHERE v.id = u.id)
UPDATE u SET a = (SELECT count(*) FROM u v WHERE v.a < u.a) RETURNING id, a, (SELECT count(*) FROM u v WHERE v.a < u.a), (SELECT v.a FROM u v WHERE v.id = u.id)
UPDATE u SET b = (SELECT max(a) FROM u) WHERE id = 'u:1' RETURNING b, (SELECT max(b) FROM u)
UPDATE u SET b = 5 WHERE id = 'u:1' RETURNING b, (SELECT max(b) FROM u), (SELECT v.b FROM u v WHERE v.id = 'u:1')
UPDATE u SET b = 6 WHERE id = 'u:1' RETURNING b, (SELECT u.b + 1), (SELECT count(*) FROM w)
DELETE FROM u WHERE id = 'u:12' RETURNING id, (SELECT count(*) FROM u WHERE id = 'u:12')
UPDATE u SET a = q.n FROM (SELECT id, count(*) OVER () AS n FROM u) q WHERE u.id = q.id RETURNING u.id, u.a, q.n, (SELECT sum(v.a) FROM u v), (SELECT v.a + q.n FROM u v WHERE v.id = q.id)
UPDATE u SET a = v.a + 10 FROM u v WHERE v.id = u.id AND v.a >= (SELECT max(a) FROM u) RETURNING u.id, u.a, v.a, (SELECT max(a) FROM u WHERE u.id = v.id)
DELETE FROM u USING u v WHERE v.id = u.id AND EXISTS (SELECT 1 FROM u x WHERE x.id = u.id || '0') RETURNING u.id, (SELECT count(*) FROM u x WHERE x.id = v.id)
SELECT id, a, b FROM u
INSERT INTO u (id, a) VALUES ('u:20', 4), ('u:21', 5) ON CONFLICT (id) DO UPDATE SET a = (SELECT count(*) FROM u) RETURNING id, a
INSERT INTO u (id, a) VALUES ('u:22', 4), ('u:20', 7), ('u:21', 8) ON CONFLICT (id) DO UPDATE SET a = (SELECT count(*) + excluded.a FROM u), b = (SELECT v.a FROM u v WHERE v.id = 'u:20') RETURNING id, a, b, (SELECT count(*) FROM u), (SELECT v.a FROM u v WHERE v.id = u.id)
INSERT INTO u (id, a) VALUES ('u:23', 4), ('u:20', 7) ON CONFLICT (id) DO UPDATE SET a = 0 WHERE EXISTS (SELECT 1 FROM u WHERE id = 'u:23') RETURNING id, a
INSERT INTO u (id, a) VALUES ('u:24', 4), ('u:20', 7) ON CONFLICT (id) DO UPDATE SET a = 0 WHERE NOT EXISTS (SELECT 1 FROM u WHERE id = 'u:24') RETURNING id, a
INSERT INTO u (id, a) VALUES ('u:25', 4), ('u:25', 7) ON CONFLICT (id) DO UPDATE SET a = (SELECT max(a) FROM u) RETURNING id, a
INSERT INTO u (id, a) VALUES ('u:20', 4), ('u:20', 7) ON CONFLICT (id) DO UPDATE SET a = (SELECT max(a) FROM u) RETURNING id, a
INSERT INTO u (id, a) VALUES ('u:26', 4), ('u:26', 7) ON CONFLICT (id) DO NOTHING RETURNING id, a, (SELECT count(*) FROM u)
INSERT INTO u (id, a) SELECT id, a FROM u ON CONFLICT (id) DO UPDATE SET a = u.a + (SELECT sum(v.a) FROM u v) RETURNING id, a, (SELECT sum(v.a) FROM u v)
INSERT INTO u (id, a) VALUES ('u:27', (SELECT count(*) FROM u)), ('u:28', (SELECT count(*) FROM u)) RETURNING a
UPDATE u SET a = 1 WHERE a > (SELECT avg(a) FROM u) RETURNING id, a
DELETE FROM u WHERE a < (SELECT max(a) FROM u v WHERE v.id <> u.id) AND id > 'u:2' RETURNING id, a
UPDATE u SET a = 2 WHERE id IN (SELECT v.id FROM u v WHERE v.a <> 2) AND NOT EXISTS (SELECT 1 FROM u v WHERE v.a = 2) RETURNING id
UPDATE u SET a = 3 RETURNING (SELECT DISTINCT a FROM u v WHERE v.id = u.id), a = ANY (SELECT v.a FROM u v), CASE WHEN (SELECT min(a) FROM u) = 3 THEN 'seen' ELSE 'before' END
BEGIN
INSERT INTO u (id, a) VALUES ('u:30', 30)
UPDATE u SET a = a + 1 RETURNING id, a, (SELECT v.a FROM u v WHERE v.id = u.id), (SELECT max(a) FROM u)
SELECT max(a) FROM u
SAVEPOINT s
DELETE FROM u RETURNING (SELECT count(*) FROM u)
SELECT count(*) FROM u
ROLLBACK TO s
DELETE FROM u WHERE id = 'u:30' RETURNING (SELECT count(*) FROM u WHERE a = 31), (SELECT 1 / (u.a - 31))
ROLLBACK TO s
SELECT count(*) FROM u WHERE a = 31
COMMIT
SELECT id, a, b FROM u
DELETE FROM u RETURNING (SELECT max(a) FROM u)
SELECT count(*) FROM u
`

// TestQueriedWritesAgainstPostgreSQL: the queries inside of a statement see no rows that it has made or changed.
func TestQueriedWritesAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	run(t, d, `DEFINE TABLE u SCHEMAFULL; DEFINE FIELD a ON u TYPE option<int>; DEFINE FIELD b ON u TYPE option<int>;
		DEFINE INDEX u_a ON u FIELDS a; DEFINE INDEX u_n ON u COUNT; DEFINE TABLE w SCHEMAFULL;`)
	if _, err := pg.Exec(t.Context(), `CREATE TABLE u (id text PRIMARY KEY, a int8, b int8); CREATE INDEX u_a ON u (a);
		CREATE TABLE w (id text PRIMARY KEY)`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	writtenAlike(t, pg, ours, queriedWrites)
}

// TestQueriedWritesBesideEvents: what an event of the table writes is not seen by the statement either, and is there
// afterwards.
func TestQueriedWritesBesideEvents(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE u SCHEMAFULL; DEFINE FIELD a ON u TYPE option<int>;
		DEFINE TABLE seen SCHEMAFULL; DEFINE FIELD of ON seen TYPE string;
		DEFINE EVENT e ON u THEN (CREATE seen SET of = <string> ($after.id ?? $before.id));
		DEFINE TABLE many SCHEMAFULL; DEFINE FIELD n ON many COMPUTED count((SELECT id FROM u)); CREATE many:1`)
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	f.want("INSERT INTO u (id, a) VALUES ('u:1', 1), ('u:2', 2) RETURNING (SELECT count(*) FROM seen WHERE of = u.id), (SELECT n FROM many)",
		"T[count:20 n:3802] D[0|0] D[0|0] C(INSERT 0 2) ZI")
	f.want("UPDATE u SET a = 3 WHERE id = 'u:1' RETURNING (SELECT count(*) FROM seen), (SELECT n FROM many)",
		"T[count:20 n:3802] D[2|2] C(UPDATE 1) ZI")
	f.want("DELETE FROM u RETURNING (SELECT count(*) FROM seen), (SELECT n FROM many)",
		"T[count:20 n:3802] D[3|2] D[3|2] C(DELETE 2) ZI")
	f.want("SELECT count(*), (SELECT n FROM many) FROM seen", "T[count:20 n:3802] D[5|0] C(SELECT 1) ZI")
}
