package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

// TestFoundByDifferentialFuzzing holds what nacretest diff found: the last answer of each query.
func TestFoundByDifferentialFuzzing(t *testing.T) {
	for _, c := range []struct{ name, query, want string }{
		{"a function is looked up before its arguments are evaluated", "RETURN fn::nope(array::len(1))", "error Function 'fn::nope' not found: The function 'fn::nope' does not exist"},
		{"statements of a block lose their parentheses", "DEFINE FUNCTION fn::d() { LET $x = (SELECT * FROM t); (CREATE t) }; (INFO FOR DB).functions.d",
			"'DEFINE FUNCTION fn::d() { LET $x = (SELECT * FROM t); CREATE t; } PERMISSIONS FULL'"},
		{"a field below a missing one of TYPE any is not looked at", "DEFINE FIELD o ON t TYPE any; DEFINE FIELD o.x ON t TYPE int; CREATE t:1", "[{ id: t:1 }]"},
		{"one below a missing one without TYPE is", "DEFINE FIELD o ON t; DEFINE FIELD o.x ON t TYPE int; CREATE t:1", "error Couldn't coerce value for field `o.x` of `t:1`: Expected `int` but found `NONE`"},
		{"any fits into any outer type", "DEFINE FIELD p ON t TYPE { x: int }; DEFINE FIELD p.x ON t TYPE any", "NONE"},
		{"an edge table tells its ends", "DEFINE TABLE e TYPE RELATION IN t OUT t | u ENFORCED; CREATE e:1",
			"error Found record: `e:1` which is not a relation, but expected a RELATION IN t OUT t | u ENFORCED"},
		{"a SCHEMAFULL table has no index on unknown fields", "DEFINE TABLE t SCHEMAFULL; DEFINE FIELD l ON t TYPE option<record>; DEFINE INDEX i ON t FIELDS l.n", "error The field 'l.n' does not exist"},
		{"it has one on what an object may hold", "DEFINE TABLE t SCHEMAFULL; DEFINE FIELD o ON t TYPE object; DEFINE INDEX i ON t FIELDS o.x", "NONE"},
		{"a record that exists is checked like a new one", "DEFINE FIELD n ON t TYPE int; CREATE t:1 SET n = 1; INSERT INTO t { id: 1, n: 'x' } ON DUPLICATE KEY UPDATE n = 7",
			"error Couldn't coerce value for field `n` of `t:1`: Expected `int` but found `'x'`"},
		{"RELATE makes no edge of a record", "CREATE u:1; RELATE t:1->u:1->t:2", "error Found NONE for the `in` field, which does not match the existing field value"},
		{"ends that do not exist are told before fields of a wrong type", "DEFINE TABLE e TYPE RELATION IN t OUT u ENFORCED; RELATE t:1->e:1->t:5", "error The record 't:1' does not exist"},
		{"PATCH takes NONE for a value", "CREATE t:1; UPDATE t:1 PATCH [{ op: 'test', path: '/k', value: NONE }]", "[{ id: t:1 }]"},
		{"PATCH adds the first element of what is not there in its place", "CREATE t:1; UPDATE t:1 PATCH [{ op: 'add', path: '/a/-', value: 1 }]", "[{ a: 1, id: t:1 }]"},
		{"the key of a path from an expression keeps its parentheses", "SELECT (a ?? [])[0], (1 + 2).x FROM { a: [1] }", "[{ \"(1 + 2).x\": NONE, \"(a ?? [])\": 1 }]"},
		{"ones have every power", "RETURN [1 ** -5, (-1) ** -2, (-1) ** -3]", "[1, 1, -1]"},
		{"a recursion over circles ends", "RELATE t:1->e:1->t:1; RELATE t:1->e:2->t:1; RETURN t:1.{..}->e->t", "error Exceeded the idiom recursion limit of 131072."},
		{"so does the search for its paths", "RELATE t:1->e:1->t:1; RELATE t:1->e:2->t:1; RETURN array::len(t:1.{..+path}->e->t) > 0", "error The array would have more than 131072 elements"},
		{"what is only on the way to a field accepts anything", "DEFINE TABLE t SCHEMAFULL; DEFINE FIELD o.x ON t TYPE any; CREATE t:1 SET o = { x: 1, y: 2 }, z = 1",
			"error Found field 'z', but no such field exists for table 't'"},
		{"as long as the field can be there", "DEFINE TABLE t SCHEMAFULL; DEFINE FIELD a.*.x ON t TYPE any; CREATE t:1 SET a = [1]", "error Found field 'a', but no such field exists for table 't'"},
		{"and it can", "DEFINE TABLE t SCHEMAFULL; DEFINE FIELD a.*.x ON t TYPE any; CREATE t:1 SET a = { x: { x: 1, z: 2 } }", "[{ a: { x: { x: 1, z: 2 } }, id: t:1 }]"},
		{"NULL around a field is an object, as NONE is", "DEFINE FIELD o.x ON t TYPE any DEFAULT 5; CREATE t:1 SET o = NULL", "[{ id: t:1, o: { x: 5 } }]"},
		{"USE DEFAULT goes where the config says", "DEFINE CONFIG DEFAULT NAMESPACE x DATABASE y; USE DEFAULT", "{ database: 'y', namespace: 'x' }"},
		{"equal keys in DESC keep the order of their records", "CREATE t:2 SET s = 'x'; CREATE t:3 SET s = 'x'; SELECT s, id FROM t:2.. ORDER BY s DESC", "[{ id: t:2, s: 'x' }, { id: t:3, s: 'x' }]"},
		{"paths lead nowhere from what is no record, and lists of lists are taken apart", "RELATE t:1->e:1->t:2; RETURN [[t:1], 1, t:1, NONE]->e", "[e:1, NONE, e:1, NONE]"},
		{"a GraphQL config shows what is said only", "DEFINE CONFIG GRAPHQL TABLES INCLUDE t; (INFO FOR DB).configs.GraphQL", "'GRAPHQL TABLES INCLUDE t FUNCTIONS NONE'"},
		{"what holds of a collection of shapes holds of every item",
			"LET $c = { type: 'GeometryCollection', geometries: [(1, 1), (9, 9)] }; LET $p = { type: 'Polygon', coordinates: [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]] }; RETURN [$p CONTAINS $c, $c INTERSECTS $p, $c CONTAINS (1, 1), { type: 'GeometryCollection', geometries: [(1, 1)] } INSIDE $p, { type: 'GeometryCollection', geometries: [(1, 1)] } CONTAINS (1, 1)]",
			"[false, false, false, true, true]"},
		{"READONLY keeps what is there, whatever the type says by now", "CREATE u:9; DEFINE FIELD z ON u TYPE string READONLY; UPDATE u:9 SET s = 1", "[{ id: u:9, s: 1 }]"},
		{"a group's key is a key under any name", "CREATE u:1 SET n = 1; SELECT n, n AS x FROM u GROUP BY n", "[{ n: 1, x: 1 }]"},
		{"a path over edges of several records has a list for each, once something comes after it",
			"RELATE t:1->e:1->t:2; RELATE t:1->e:2->t:3; RELATE t:2->e:3->t:3; RETURN [[t:1, t:2]->e, [t:1, t:2]->e.in, [t:1, t:2]->e[0], [[t:1], [t:2]]->e->t]",
			"[[e:1, e:2, e:3], [[t:1, t:1], [t:2]], [e:1, e:3], [[t:2, t:3], [t:3]]]"},
		{"what edges in parentheses lead to is a list, from which a path starts", "CREATE t:1, t:2, t:3; RELATE t:1->e:1->t:2; RELATE t:1->e:2->t:3; RELATE t:2->e:3->t:3; RETURN [(t:1->e->t)->e->t, (t:1->e->t)->e[0], ([t:1, t:2]->e)->t, (t:1->e.in).len()]",
			"[[[t:3], []], [e:3, NONE], [t:2, t:3, t:3], 2]"},
		{"such a path names itself only", "CREATE t:1, t:2, t:3; RELATE t:1->e:1->t:2; RELATE t:2->e:3->t:3; SELECT (->e->t)->e->t, (->e)->t FROM t:1", "[{ \"->e\": { \"->t\": [[t:3]] }, \"->t\": [t:2] }]"},
		{"but what comes after names both", "CREATE t:1, t:2; RELATE t:1->e:1->t:2; SELECT (->e).in, (->e->t).id, (id->e.out->e).in FROM t:1", "[{ \"->e\": { in: [t:1] }, \"->e->t\": { id: [t:2] }, \"id->e\": { \"out->e\": { in: [[]] } } }]"},
		{"RETURN, THROW and BREAK lose their parentheses in lists and clauses, not between operators", "DEFINE FUNCTION fn::d() { LET $x = (RETURN 1); RETURN [(RETURN 1), { a: (THROW 'b') }, fn::e((BREAK)), (RETURN a FETCH b), 1 + (RETURN 2), (RETURN 3).c, {(RETURN 5),}, |$x| (RETURN 4)] }; (INFO FOR DB).functions.d",
			"\"DEFINE FUNCTION fn::d() { LET $x = RETURN 1; RETURN [RETURN 1, { a: THROW 'b' }, fn::e(BREAK), (RETURN a FETCH b), 1 + (RETURN 2), (RETURN 3).c, {(RETURN 5),}, |$x: any| RETURN 4]; } PERMISSIONS FULL\""},
		{"a path in parentheses is a value", "CREATE t:1 SET a = [{ b: [{ c: 1 }, { c: 2 }] }, { b: { c: 3 } }]; SELECT VALUE [(a.b)[0], a.b[0], (a.b).len(), a.b.len(), (a.b)[$], (a.b)..., (a.b).c, (a.b)[0].c] FROM ONLY t:1",
			"[[{ c: 1 }, { c: 2 }], [{ c: 1 }, NONE], 2, [2, 1], { c: 3 }, [{ c: 1 }, { c: 2 }, { c: 3 }], [[1, 2], 3], [1, 2]]"},
		{"a definition keeps those parentheses", "DEFINE FUNCTION fn::d() { RETURN (t:1.a.b)[0] + (t:1->e->t)->e + (a.b).c }; (INFO FOR DB).functions.d",
			"'DEFINE FUNCTION fn::d() { RETURN ((t:1).a.b)[0] + ((t:1)->e->t)->e + a.b.c } PERMISSIONS FULL'"},
		{"what a path has found stays one list", "CREATE t:2; CREATE t:3; RELATE t:1->e:1->t:2; RELATE t:1->e:2->t:3; RETURN t:1->e[WHERE true]->t.id", "[t:2, t:3]"},
		{"a tree that is too short has no value", "CREATE t:1 SET l = t:2; CREATE t:2 SET n = 2; RETURN [t:1.{2}.{ n, k: l.@ }, t:1.{3}.{ n, k: l.@ }, [t:1, t:2].{2}.{ k: l.@ }, NULL.{1}.{ k: l.@ }]",
			"[{ k: { k: NONE, n: 2 }, n: NONE }, NONE, NONE, NULL]"},
		{"branches of a tree that are too short are left out", "CREATE t:1 SET l = [t:2, t:3]; CREATE t:2 SET l = [t:3]; CREATE t:3; RETURN t:1.{3}.{ id, l: l.@ }",
			"{ id: t:1, l: [{ id: t:2, l: [{ id: t:3, l: NONE }] }] }"},
		{"a recursion whose bounds cross has no value, but is followed", "CREATE t:1 SET n = 1; RETURN t:1.{2..1}.n", "error Expected a record ID during recursive graph traversal, but found `1`"},
		{"clauses of fields see what is NONE", "DEFINE FIELD o ON t TYPE any VALUE $value.keys(); DEFINE FIELD p ON t TYPE any; CREATE t:1 SET o = { a: NONE }, p = [{ b: NONE }]", "[{ id: t:1, o: ['a'], p: [{  }] }]"},
		{"so do their errors", "DEFINE FIELD o ON t TYPE int; CREATE t:1 CONTENT { o: { a: NONE } }", "error Couldn't coerce value for field `o` of `t:1`: Expected `int` but found `{ a: NONE }`"},
		{"a SCHEMAFULL table refuses unknown fields that are NONE", "DEFINE TABLE t SCHEMAFULL; CREATE t:1 CONTENT { z: NONE }", "error Found field 'z', but no such field exists for table 't'"},
		{"what is NONE is not stored", "DEFINE FIELD o ON t TYPE any DEFAULT { a: NONE }; CREATE t:1; RETURN t:1.o.keys()", "[]"},
		{"lists of targets name tables", "CREATE [t, [u]] SET id = 1", "[{ id: t:1 }, { id: u:1 }]"},
		{"fields of a deleted record are NONE", "RELATE t:1->e:1->t:2; DELETE e:1 RETURN id, ->t AS a, $this AS b", "[{ a: NONE, b: NONE, id: NONE }]"},
		{"a shape as a row has the fields of its GeoJSON", "SELECT *, 1 AS z FROM (1, 2)", "[{ coordinates: [1f, 2f], type: 'Point', z: 1 }]"},
		{"RELATE names what it can not relate", "LET $a = { a: 1 }; RELATE t:1->e->$a", "error Cannot execute RELATE statement where property 'id' is: { a: 1 }"},
		{"SCHEMAFULL makes a table NORMAL, whatever comes after it", "DEFINE TABLE t SCHEMAFULL SCHEMALESS; (INFO FOR DB).tables.t", "'DEFINE TABLE t TYPE NORMAL SCHEMALESS PERMISSIONS NONE'"},
		{"only statements stand in parentheses in events", "DEFINE EVENT e ON t THEN (1), (CREATE u); (INFO FOR TABLE t).events.e", "'DEFINE EVENT e ON t WHEN true THEN 1, (CREATE u)'"},
		{"columns of an index by text", "DEFINE INDEX i ON t FIELDS type::fields(['a', 'b.c']); (INFO FOR TABLE t).indexes.i", "'DEFINE INDEX i ON t FIELDS a, b.c'"},
		{"what is no path is no column", "DEFINE INDEX i ON t FIELDS 'a'", "error Expected an idiom or type::field or type::fields function call"},
		{"parameters hold regular expressions", "DEFINE PARAM $p VALUE [/x/]; $p[0] = 'x'", "true"},
		{"a GraphQL config of AUTO has limits too", "DEFINE CONFIG GRAPHQL AUTO DEPTH 5; (INFO FOR DB).configs.GraphQL", "'GRAPHQL TABLES AUTO FUNCTIONS AUTO DEPTH 5'"},
		{"what ALTER FIELD does not say of permissions is NONE", "DEFINE FIELD a ON t; ALTER FIELD a ON t PERMISSIONS FOR select FULL; (INFO FOR TABLE t).fields.a",
			"'DEFINE FIELD a ON t PERMISSIONS FOR select FULL, FOR create, update NONE'"},
		{"DROP TYPE takes FLEXIBLE along", "DEFINE TABLE t SCHEMAFULL; DEFINE FIELD a ON t TYPE object FLEXIBLE; ALTER FIELD a ON t DROP TYPE; (INFO FOR TABLE t).fields.a", "'DEFINE FIELD a ON t PERMISSIONS FULL'"},
		{"ALTER SEQUENCE takes a timeout away", "DEFINE SEQUENCE s TIMEOUT 1s; ALTER SEQUENCE s TIMEOUT NONE; (INFO FOR DB).sequences.s", "'DEFINE SEQUENCE s BATCH 1000 START 0'"},
		{"queries do without an index that is to be removed", "DEFINE INDEX i ON t FIELDS a; CREATE t:1 SET a = 1; ALTER INDEX i ON t PREPARE REMOVE; (SELECT * FROM t WHERE a = 1 EXPLAIN).children[0].operator", "'TableScan'"},
		{"which INFO tells", "DEFINE INDEX i ON t FIELDS a; ALTER INDEX i ON t PREPARE REMOVE; (INFO FOR TABLE t STRUCTURE).indexes[0].prepare_remove", "true"},
		{"types of files name buckets", "DEFINE FIELD a ON t TYPE option<file<b>>; (INFO FOR TABLE t).fields.a", "'DEFINE FIELD a ON t TYPE none | file<b> PERMISSIONS FULL'"},
		{"middleware goes on with the answer to a failure", "DEFINE API '/a' FOR get MIDDLEWARE api::res::headers({ a: 'b' }), api::res::status(202) THEN { THROW 'x' }; api::invoke('/a').chain(|$r| [$r.body, $r.headers.a, $r.status])",
			"['An error occurred: x', 'b', 202]"},
		{"so does middleware of the user's", "DEFINE FUNCTION fn::m($q: object, $next: function) -> object { { status: 201, body: $next($q) } }; DEFINE API '/a' FOR get MIDDLEWARE fn::m() THEN { 5 }; api::invoke('/a').chain(|$r| [$r.body.status, $r.status])",
			"[500, 201]"},
		{"what fails behind it has written nothing", "DEFINE TABLE u; DEFINE API '/a' FOR get MIDDLEWARE api::res::status(202) THEN { CREATE u; THROW 'x' }; LET $r = api::invoke('/a'); SELECT * FROM u", "[]"},
		{"ON DUPLICATE KEY UPDATE changes no ends", "RELATE m:1->r:1->o:1; INSERT RELATION INTO r { id: 1, in: m:2, out: o:1 } ON DUPLICATE KEY UPDATE n = 1",
			"error Found m:1 for the `id` field, but a specific record has been specified"},
		{"fields of no record are NONE", "RETURN type::fields(['a', 'b'])", "[NONE, NONE]"},
	} {
		e := openQuiet(t)
		if got := lastOf(t, owner(t, e), c.query); got != c.want {
			t.Errorf("%s:\n%s\n got %s\nwant %s", c.name, c.query, got, c.want)
		}
	}
}

// lastOf is the last answer of a query, as text.
func lastOf(t *testing.T, s *engine.Session, query string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	res, err := s.Execute(ctx, query, nil)
	if err != nil {
		return "error " + firstLine(err.Error())
	}
	if last := res[len(res)-1]; last.Err == nil {
		return last.Value.Text()
	}
	return "error " + res[len(res)-1].Err.Msg
}

// TestWritesOfRecordUsersTellAndTouchNothingHidden: as user:1, on tables with records that it may not see or write.
func TestWritesOfRecordUsersTellAndTouchNothingHidden(t *testing.T) {
	const setup = `
		DEFINE TABLE e TYPE RELATION PERMISSIONS FOR select, update WHERE n > 1, FOR create, delete FULL;
		RELATE t:1->e:1->t:2 SET n = 1;
		DEFINE TABLE shut PERMISSIONS FOR create WHERE false, FOR select, update FULL; CREATE shut:1;
		DEFINE TABLE ring PERMISSIONS FOR select WHERE n > 1; DEFINE FIELD l ON ring TYPE record<ring> REFERENCE; DEFINE FIELD c ON ring COMPUTED <~ring;
		CREATE ring:1 SET n = 9, l = ring:1; CREATE ring:2 SET n = 0, l = ring:1;
		DEFINE TABLE part PERMISSIONS FOR select WHERE n > 1, FOR create, update, delete FULL;
		DEFINE TABLE field PERMISSIONS FULL; DEFINE FIELD n ON field PERMISSIONS FOR select NONE; CREATE field:1 SET n = 7;
		CREATE part:1 SET n = 1; CREATE part:2 SET n = 2`
	for _, c := range []struct{ name, query, want string }{
		{"RELATE leaves an edge alone that may not be updated", "RELATE t:5->e:1->t:6 SET n = 5; SELECT * FROM e", "[]"},
		{"CREATE without permission does not tell that a record exists", "CREATE shut:1", "[]"},
		{"nor does INSERT", "INSERT INTO shut { id: 1 }", "[]"},
		{"nor does ON DUPLICATE KEY UPDATE write it", "INSERT INTO shut { id: 1 } ON DUPLICATE KEY UPDATE n = 9; SELECT * FROM shut", "[{ id: shut:1 }]"},
		{"DELETE RETURN BEFORE does not count hidden records", "DELETE part RETURN BEFORE", "[{ id: part:2, n: 2 }]"},
		{"nor DELETE RETURN VALUE", "DELETE part RETURN VALUE 5", "[5]"},
		{"nor DELETE RETURN NULL", "DELETE part RETURN NULL", "[NULL]"},
		{"UPDATE RETURN BEFORE does not count hidden records", "UPDATE part SET m = 1 RETURN BEFORE", "[{ id: part:2, n: 2 }]"},
		{"PATCH copies no hidden field", "UPDATE field:1 PATCH [{ op: 'copy', from: '/n', path: '/p' }]", "[{ id: field:1 }]"},
		{"COMPUTED references to hidden and own records end", "SELECT * FROM ring", "[{ c: [ring:1], id: ring:1, l: ring:1, n: 9 }]"},
		{"nor moves it into sight", "UPDATE field:1 PATCH [{ op: 'move', from: '/n', path: '/p' }]", "[{ id: field:1 }]"},
		{"nor tests it", "UPDATE field:1 PATCH [{ op: 'test', path: '/n', value: 7 }]", "error Given test operation failed for JSON Patch. Expected `7`, but got `NONE` instead."},
		{"a record that comes into sight does not show what it was", "UPDATE part:1 SET n = 5 RETURN BEFORE", "[]"},
	} {
		e := openQuiet(t)
		if got := lastOf(t, owner(t, e), setup); got == "" {
			t.Fatal("no answer to the setup")
		}
		user, err := signIn(e, "record:acc:user:1")
		if err != nil {
			t.Fatal(err)
		}
		if got := lastOf(t, user, c.query); got != c.want {
			t.Errorf("%s:\n%s\n got %s\nwant %s", c.name, c.query, got, c.want)
		}
	}
}
