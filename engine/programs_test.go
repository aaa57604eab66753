package engine_test

import "testing"

// TestPrograms holds what whole programs, written as applications write them, showed: the last answer of each.
func TestPrograms(t *testing.T) {
	for _, c := range []struct{ name, query, want string }{
		{"numbers lead into the key of a record", "CREATE x:1 SET z = [7, 8]; CREATE r:[x:1, 6] SET l = r:['a', [5]]; SELECT id[0], id[1] AS n, id[0].z[1] AS z, l[1][0] AS l, id[2] AS none, l['a'] AS text, id[0..1] AS slice FROM r",
			"[{ id: x:1, l: 5, n: 6, none: NONE, slice: NONE, text: NONE, z: 8 }]"},
		{"in conditions, with an index over them too", "DEFINE INDEX i ON r FIELDS id[1]; CREATE r:['a', 6]; CREATE r:['a', 7]; [(SELECT VALUE id FROM r WHERE id[1] = 7), (SELECT VALUE id FROM r WITH NOINDEX WHERE id[1] = 7)]",
			"[[r:['a', 7]], [r:['a', 7]]]"},
		{"and in views", "DEFINE TABLE reading; DEFINE TABLE hourly AS SELECT id[0] AS sensor, time::floor(id[1], 1h) AS hour, math::mean(temp) AS mean FROM reading GROUP BY sensor, hour; CREATE reading:['a', d'2024-03-01T00:10:00Z'] SET temp = 1; CREATE reading:['a', d'2024-03-01T00:40:00Z'] SET temp = 2; SELECT * OMIT id FROM hourly",
			"[{ hour: d'2024-03-01T00:00:00Z', mean: 1.5f, sensor: 'a' }]"},
		{"but not into other keys", "RETURN [r:{ a: 1 }[0], r:{ a: 1 }['b'], r:5[0], r:abc[0], r:[1][-1], r:[1]['a']]", "[NONE, NONE, NONE, NONE, NONE, NONE]"},
		{"the fields of an object stand beside the others of a destructuring", "CREATE r:1 SET n = 1, a = { n: 2, b: 3 }, l = r:1, s = 4; SELECT $this.{ n, a.* } AS x, $this.{ a.*, n } AS y, [r:1].{ l.*, s.*, none.*, a.{ b } } AS z FROM r",
			"[{ x: { b: 3, n: 2 }, y: { b: 3, n: 1 }, z: [{ a: { b: 3 } }] }]"},
		{"there is no other star in one", "RETURN r:1.{ * }", "error Parse error: Unexpected token `*` expected an integer or .."},
		{"a star in a path over lists of lists leaves them as they are", "RETURN [[[2, 3]].a[*].b[*].c, [[{ a: [{ b: [{ c: 1 }, { c: 2 }] }] }]].a[*].b[*].c, [{ a: [[1, 2]] }].a[*][*][0]]",
			"[[[NONE, NONE]], [[[[1, 2]]]], [[1, 2]]]"},
		{"SPLIT takes what stands in lists of objects apart", "CREATE t:1 SET e = [{ a: 1, v: [1, 2] }, { a: 2, v: [3] }], l = [r:1, r:2]; [(SELECT VALUE e.a FROM t SPLIT e.a), (SELECT VALUE e[0].v FROM t SPLIT e[0].v), (SELECT e.*.v AS v, id FROM t SPLIT e.*.v), (SELECT id, l.a FROM t SPLIT l.a)]",
			"[[[1, 1], [2, 2]], [1, 2], [{ id: t:1, v: [[1, 2], [1, 2]] }, { id: t:1, v: [[3], [3]] }], [{ id: t:1, l: { a: [NONE, NONE] } }, { id: t:1, l: { a: [NONE, NONE] } }]]"},
		{"objects too, and leaves links alone", "CREATE t:1 SET o = { a: 1, b: [2] }, l = [{ a: 1 }, r:1, NULL]; [(SELECT VALUE o FROM (SELECT * FROM t SPLIT o.*)), (SELECT VALUE l FROM (SELECT * FROM t SPLIT l.a))]",
			"[[{ a: 1, b: 1 }, { a: [2], b: [2] }], [[{ a: 1 }, r:1, { a: 1 }], [{ a: NONE }, r:1, { a: NONE }], [{ a: NONE }, r:1, { a: NONE }]]]"},
		{"SET leads through NULL", "CREATE t:1 SET n = NULL, l = [NULL, { a: 1 }]; UPDATE t:1 SET n.x.y = 1, l[0].b = 2", "[{ id: t:1, l: [{ b: 2 }, { a: 1 }], n: { x: { y: 1 } } }]"},
		{"elements that are set to NONE go", "CREATE t:1 SET a = [1, NONE], b = [1, 2, NONE], c = [{ d: [1] }]; UPDATE t:1 SET a[*] = NONE, b[WHERE $this > 1] = NONE, c[*].d[*] = NONE", "[{ a: [], b: [1, NONE], c: [{ d: [] }], id: t:1 }]"},
		{"a column inside of a list stands in each of its elements", "CREATE t:1 SET e = [{ a: 1, n: 1 }, { a: 2 }], m = []; SELECT *, e.a, m.a FROM t", "[{ e: [{ a: [1, 2], n: 1 }, { a: [1, 2] }], id: t:1, m: [] }]"},
		{"paths over any edge go by the names of the edge tables", "RELATE a:1->z:1->b:3; RELATE a:1->m:1->b:1; RELATE a:1->m:2->b:2; RETURN [a:1->?, a:1->?->b, b:3<-?]", "[[m:1, m:2, z:1], [b:1, b:2, b:3], [z:1]]"},
		{"views go by their names", "DEFINE TABLE s; DEFINE TABLE z AS SELECT n * 2 AS d FROM s; DEFINE TABLE a AS SELECT math::sum(n) AS d FROM s GROUP ALL; REMOVE TABLE s",
			"error Invalid query: Cannot delete table `s` on which a view is defined, table(s) `a`, `z` are defined as a view on this table."},
		{"RETURN gives the values of writes their value", "CREATE (RETURN t:1) SET a = { IF true { RETURN 5 } }; UPDATE { RETURN t:1 } SET b = (RETURN 6) WHERE (RETURN a = 5); UPDATE t:1 MERGE (RETURN { c: 7 }); INSERT INTO t (RETURN { id: 2 }); INSERT INTO t (id, a) VALUES ((RETURN 3), (RETURN 4)); RELATE (RETURN t:1)->e:1->(RETURN t:2); [(SELECT * FROM t), (SELECT * FROM e)]",
			"[[{ a: 5, b: 6, c: 7, id: t:1 }, { id: t:2 }, { a: 4, id: t:3 }], [{ id: e:1, in: t:1, out: t:2 }]]"},
		{"ONLY of a sub-select may find nothing", "CREATE t:1; [(UPDATE ONLY (SELECT * FROM t WHERE false)), (DELETE ONLY (SELECT VALUE id FROM t WHERE false))]", "[NONE, NONE]"},
		{"but a list has one", "CREATE t:1; LET $none = []; UPDATE ONLY $none SET a = 1", "error Expected a single result output when using the ONLY keyword"},
		{"what refuses a CASCADE is told as it is", "DEFINE FIELD o ON e TYPE record<org> REFERENCE ON DELETE CASCADE; DEFINE FIELD e ON s TYPE record<e> REFERENCE ON DELETE REJECT; CREATE org:1; CREATE e:1 SET o = org:1; CREATE s:1 SET e = e:1; DELETE org:1",
			"error Cannot delete `e:1` as it is referenced by `s:1` with an ON DELETE REJECT clause"},
		{"the nearest of each row", "DEFINE INDEX i ON mem FIELDS v HNSW DIMENSION 2; CREATE mem:1 SET v = [1, 0]; CREATE mem:2 SET v = [1, 1]; CREATE mem:3 SET v = [3, 3]; SELECT id, (SELECT VALUE id FROM mem WHERE v <|2, 40|> $parent.v) AS near OMIT v FROM mem",
			"[{ id: mem:1, near: [mem:1, mem:2] }, { id: mem:2, near: [mem:2, mem:1] }, { id: mem:3, near: [mem:3, mem:2] }]"},
		{"and without an index", "CREATE mem:1 SET v = [1, 0]; CREATE mem:2 SET v = [1, 1]; CREATE mem:3 SET v = [3, 3]; SELECT VALUE (SELECT VALUE id FROM mem WHERE v <|1, EUCLIDEAN|> $parent.v)[0] FROM mem", "[mem:1, mem:2, mem:3]"},
		{"a field fits into every type around it", "DEFINE FIELD name ON p TYPE object | string; DEFINE FIELD name.first ON p TYPE string",
			"error Cannot set field `name.first` with type `string` as it mismatched with field `name` with type `object | string`"},
		{"but NONE", "DEFINE FIELD name ON p TYPE option<object>; DEFINE FIELD name.first ON p TYPE string; CREATE p:1", "[{ id: p:1 }]"},
		{"with or without elements", "DEFINE FIELD l ON p TYPE array<object> | object; DEFINE FIELD l.*.n ON p TYPE int; DEFINE FIELD l.n ON p TYPE int",
			"error Cannot set field `l.n` with type `int` as it mismatched with field `l` with type `array<object> | object`"},
		{"what is there already is told before what is wrong with the new one", "DEFINE BUCKET b BACKEND 'memory'; DEFINE BUCKET b BACKEND 'nowhere'", "error The bucket 'b' already exists"},
		{"which IF NOT EXISTS does not look at", "DEFINE BUCKET b BACKEND 'memory'; DEFINE BUCKET IF NOT EXISTS b", "NONE"},
		{"of analyzers too", "DEFINE ANALYZER a TOKENIZERS class; DEFINE ANALYZER IF NOT EXISTS a FILTERS mapper('nowhere')", "NONE"},
		{"and of sequences", "DEFINE SEQUENCE s; DEFINE SEQUENCE s BATCH -1", "error The sequence 's' already exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lastOf(t, owner(t, openQuiet(t)), c.query); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.query, got, c.want)
			}
		})
	}
}
