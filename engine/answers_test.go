package engine_test

import "testing"

// TestAnswersOfTheReference: what the reference answers, asked of it one by one. The texts run in a store of their own;
// the answer is that of the last statement.
func TestAnswersOfTheReference(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"the elements of a set are looked at before their number", "DEFINE FIELD a ON t TYPE set<string, 2>; CREATE t:1 SET a = {1, 2, 3}",
			"ERR Couldn't coerce value for field `a` of `t:1`: Expected `string` but found `1` when coercing an element of `set<string>`"},
		{"the number of an array's elements is looked at first", "DEFINE FIELD a ON t TYPE array<string, 2>; CREATE t:1 SET a = [1, 2, 3]",
			"ERR Couldn't coerce value for field `a` of `t:1`: Expected `array<string,2>` but found a collection of length `3`"},
		{"a set of the wrong number", "DEFINE FIELD a ON t TYPE set<string, 2>; CREATE t:1 SET a = {'1', '2', '3'}",
			"ERR Couldn't coerce value for field `a` of `t:1`: Expected `set<string,2>` but found a collection of length `3`"},
		{"HASHED_VECTOR of HNSW", "DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 3 HASHED_VECTOR; RETURN (INFO FOR TABLE t).indexes.i",
			"'DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 3 DIST EUCLIDEAN TYPE F32 EFC 150 M 12 M0 24 LM 0.40242960438184466f HASHED_VECTOR'"},
		{"structures show statements without parentheses", "DEFINE FIELD a ON t VALUE IF $value { 1 } ELSE { 2 } PERMISSIONS FOR select WHERE (SELECT * FROM t); RETURN (INFO FOR TABLE t STRUCTURE).fields[0].{ value, s: permissions.select }",
			"{ s: 'SELECT * FROM t', value: 'IF $value { 1 } ELSE { 2 }' }"},
		{"definitions show RETURN and THROW without parentheses", "DEFINE FIELD a ON t DEFAULT RETURN 2 VALUE (THROW 1); DEFINE EVENT e ON t WHEN RETURN 1 THEN RETURN 1; RETURN object::values((INFO FOR TABLE t).{ a: fields.a, e: events.e })",
			"['DEFINE FIELD a ON t DEFAULT RETURN 2 VALUE THROW 1 PERMISSIONS FULL', 'DEFINE EVENT e ON t WHEN RETURN 1 THEN RETURN 1']"},
		{"RETURN in the value of a parameter", "DEFINE PARAM $p VALUE RETURN 1; RETURN [$p]", "[1]"},
		{"tokens that nobody issues do not last", "DEFINE ACCESS a ON DATABASE TYPE JWT ALGORITHM ES256 KEY 'k'; RETURN (INFO FOR DB).accesses.a",
			"\"DEFINE ACCESS a ON DATABASE TYPE JWT ALGORITHM ES256 KEY 'k' DURATION FOR SESSION NONE\""},
		{"tokens of keys from a URL that are issued too", "DEFINE ACCESS a ON DATABASE TYPE JWT URL 'http://x' WITH ISSUER KEY 'p'; RETURN (INFO FOR DB).accesses.a",
			"\"DEFINE ACCESS a ON DATABASE TYPE JWT URL 'http://x' WITH ISSUER KEY '[REDACTED]' DURATION FOR TOKEN 1h, FOR SESSION NONE\""},
		{"two keys for one secret", "DEFINE ACCESS a ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k' WITH ISSUER KEY 'p'",
			"ERR Invalid query: Symmetric algorithm HS256 requires the same key for signing and verification. Use the same key value for both KEY and WITH ISSUER KEY clauses, or omit WITH ISSUER KEY."},
		{"views keep decimals", `DEFINE TABLE t; DEFINE TABLE v AS SELECT k, math::mean(n) AS m, math::sum(n) AS s, math::stddev(n) AS sd, math::variance(n) AS va FROM t GROUP BY k;
			CREATE t:1 SET k = 1, n = 3dec; CREATE t:2 SET k = 1, n = 4dec; CREATE t:3 SET k = 1, n = 1; SELECT * OMIT id FROM v`,
			"[{ k: 1, m: 2.6666666666666666666666666667dec, s: 8dec, sd: 1.5275252316519466688626823978dec, va: 2.333333333333333333333333333dec }]"},
		{"and take them out again", `DEFINE TABLE t; DEFINE TABLE v AS SELECT k, math::mean(n) AS m, math::sum(n) AS s, math::stddev(n) AS sd, math::variance(n) AS va FROM t GROUP BY k;
			CREATE t:1 SET k = 1, n = 0.1dec; CREATE t:2 SET k = 1, n = 0.2dec; CREATE t:3 SET k = 1, n = 1.5; DELETE t:3; DELETE t:2; SELECT * OMIT id FROM v`,
			"[{ k: 1, m: 0.1dec, s: 0.1dec, sd: 0f, va: 0f }]"},
		{"what ON DELETE runs finds the record gone", `DEFINE FIELD e ON post TYPE array<record<person>> REFERENCE ON DELETE THEN { LET $x = $this; CREATE log:1 SET t = $x, n = name, gone = $reference.name, there = record::exists($reference) };
			CREATE person:1 SET name = 'x'; CREATE post:1 SET e = [person:1], name = 'p'; DELETE person:1; SELECT * OMIT id FROM log`, "[{ t: post:1, there: false }]"},
		{"events of what goes with a record find it gone", `DEFINE FIELD e ON post TYPE record<person> REFERENCE ON DELETE CASCADE; DEFINE EVENT x ON post WHEN $event = 'DELETE' THEN (CREATE log:1 SET people = (SELECT VALUE id FROM person));
			CREATE person:1; CREATE post:1 SET e = person:1; DELETE person:1; RETURN log:1.people`, "[]"},
		{"records in a circle of CASCADE go once", `DEFINE FIELD up ON n TYPE option<record<n>> REFERENCE ON DELETE CASCADE; CREATE n:1; CREATE n:2 SET up = n:1; CREATE n:3 SET up = n:2; UPDATE n:1 SET up = n:3;
			DELETE n:2; SELECT * FROM n`, "[]"},
		{"what is evaluated is no geometry", "LET $x = 1; RETURN [type::of({ type: 'Point', coordinates: [$x, 2] }), type::of({ type: 'Point', coordinates: [1, 2] }), type::of({ type: 'Point', coordinates: [1dec, 2] }), type::of({ type: 'Point', coordinates: [(1), -2] })]",
			"['object', 'geometry<point>', 'object', 'geometry<point>']"},
		{"nor equal to one", "LET $x = 1; RETURN { type: 'Point', coordinates: [$x, 2] } = (1, 2)", "false"},
		{"geometries in definitions", "DEFINE FIELD d ON w DEFAULT { type: 'Point', coordinates: [1, 2] } VALUE { type: 'LineString', coordinates: [[1, 2], [3, 4]] }; RETURN (INFO FOR TABLE w).fields.d",
			"\"DEFINE FIELD d ON w DEFAULT (1f, 2f) VALUE { type: 'LineString', coordinates: [[1f, 2f], [3f, 4f]] } PERMISSIONS FULL\""},
		{"tables named like reserved words", "DEFINE FUNCTION fn::x() { RETURN [`none`:1, `create`:`none`] }; DEFINE PARAM $p VALUE [`none`:`NaN`, { a: `select`:1 }]; RETURN [(INFO FOR DB).functions.x, fn::x(), $p]",
			"['DEFINE FUNCTION fn::x() { RETURN [`none`:1, `create`:none] } PERMISSIONS FULL', [none:1, create:none], [none:`NaN`, { a: select:1 }]]"},
		{"closures that a method calls", "RETURN [3].filter(|$x: string| true)", "ERR Incorrect arguments for method filter(). Expected a value of type 'string' for argument $x"},
		{"closures that a function calls", "RETURN array::filter([3], |$x: string| true)", "ERR Incorrect arguments for function ANONYMOUS(). Expected a value of type 'string' for argument $x"},
		{"closures that need more than they get", "RETURN [3].map(|$x: string, $y, $z: int| 1)", "ERR Incorrect arguments for method map(). Expected a value for $z"},
		{"closures that are called in closures", "LET $f = |$x: string| 1; RETURN [3].map(|$x| $f($x))", "ERR Incorrect arguments for function ANONYMOUS(). Expected a value of type 'string' for argument $x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := run(t, owner(t, openQuiet(t)), tc.text, allowErrors)
			last := res[len(res)-1]
			got := last.Value.Text()
			if last.Err != nil {
				got = "ERR " + last.Err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
