package diff

import "strings"

// elementSetup makes a table x with fields of single elements and of all elements of lists.
func elementSetup(g *generator) []string {
	out := []string{"DEFINE TABLE x " + g.pick("", "SCHEMAFULL", "SCHEMALESS")}
	for range 2 + g.r.IntN(4) {
		out = append(out, g.elementField(""))
	}
	return out
}

// elementPath names a list, its elements or what is inside of them.
func (g *generator) elementPath() string {
	return g.pick("p", "p", "q") + g.pick("", "", ".*", ".*", "[0]", "[1]", "[2]", ".*.a", "[0].a", "[1].*", ".*.*",
		".*.a.*", ".a", ".*.a[0]", "[*]", "…")
}

func (g *generator) elementField(how string) string {
	path := strings.TrimSuffix(g.elementPath(), "…")
	return g.f("DEFINE FIELD %s%s ON x%s%s%s", how, path, g.maybe(75, func() string {
		return " TYPE " +
			g.elementType()
	}),
		g.pick("", "", "", " VALUE $value ?? 7", " VALUE $value", " VALUE [$value]", " DEFAULT 5",
			" DEFAULT ALWAYS [1]",
			" DEFAULT []", " READONLY", " VALUE IF $value = 1 { 2 } ELSE { $value }", " VALUE type::of($value)",
			" FLEXIBLE"),
		g.pick("", "", "", " ASSERT $value != 3", " ASSERT $value < 9", " ASSERT $value != NONE",
			" ASSERT $this.p != [9]", " COMMENT 'c'", " PERMISSIONS NONE",
			" PERMISSIONS FOR select NONE, FOR update FULL"))
}

func (g *generator) elementType() string {
	return g.pick("any", "int", "option<int>", "string", "number", "array", "array<int>", "option<array<int>>",
		"array<any>", "array<array<int>>", "array<number, 2>", "object", "option<object>", "array<object>",
		"set<int>",
		"[int, string]", "array<int | string>", "{ a: int }", "array<{ a: int }>", "option<{ a: option<int> }>",
		"array<object> | int", "object | array<int>", "int | none", "set", "option<set<object>>",
		"{ a: array<int> }",
		"option<array<array<int>, 3>>", "any | int", "array<string> | set<int>")
}

func (g *generator) elementValue() string {
	return g.pick("[1, 2, 3]", "[1]", "[]", "['a', 1]", "[5, 50, 7]", "[[1, 2], [3]]", "[{ a: 1 }, { a: 'b' }]",
		"{ a: 1 }", "{ a: [1, 2] }", "1", "'s'", "NONE", "NULL", "[1, 'a']", "{1, 2}", "[NONE, 1]", "[{ a: 3 }]",
		"[{ a: [1, 3] }, 2]", "[3, 3, 3, 3]", "{ a: 3, b: [{ a: 1 }] }", "[[[1]]]", "[1f, 2dec]")
}

func elementStatement(g *generator) string {
	id := func() string { return g.f("x:%d", 1+g.r.IntN(4)) }
	return g.draw(
		func() string { return g.f("CREATE %s SET p = %s, q = %s", id(), g.elementValue(), g.elementValue()) },
		func() string { return g.f("UPSERT %s SET p = %s", id(), g.elementValue()) },
		func() string {
			return g.f("UPSERT %s CONTENT { p: %s, q: %s }", id(), g.elementValue(), g.elementValue())
		},
		func() string { return g.f("UPDATE %s MERGE { p: %s }", id(), g.elementValue()) },
		func() string {
			return g.f("UPDATE %s SET %s %s %s", id(),
				g.pick("p[0]", "p[1]", "p.*.a", "p.a", "p[5]", "p", "q", "q[0].a", "p[$]", "p.*"), g.pick("=", "=",
					"+=", "-="),
				g.draw(g.elementValue, g.integer))
		},
		func() string {
			return g.f("UPDATE %s PATCH [{ op: '%s', path: '/%s', value: %s }]", id(), g.pick("add", "replace",
				"remove"),
				g.pick("p/0", "p/-", "p/1/a", "q", "p/0/a"), g.elementValue())
		},
		func() string { return "UPDATE x UNSET " + g.pick("p[0]", "p", "p.*.a", "q.a", "p[1]") },
		func() string { return g.f("INSERT INTO x { id: %d, p: %s }", 1+g.r.IntN(4), g.elementValue()) },
		func() string { return "SELECT * FROM x" },
		func() string { return "RETURN (INFO FOR TABLE x" + g.pick("", " STRUCTURE") + ").fields" },
		func() string { return g.elementField("OVERWRITE ") },
		func() string { return g.elementField("OVERWRITE ") },
		func() string { return g.elementField(g.pick("", "IF NOT EXISTS ")) },
		func() string {
			return "REMOVE FIELD " + g.pick("", "IF EXISTS ") + strings.TrimSuffix(g.elementPath(), "…") + " ON x"
		},
		func() string {
			return g.f("ALTER FIELD %s%s ON x %s", g.pick("", "IF EXISTS "), strings.TrimSuffix(g.elementPath(),
				"…"),
				g.pick("TYPE "+g.elementType(), "TYPE "+g.elementType(), "DROP TYPE", "DEFAULT 4", "DROP VALUE",
					"VALUE $value", "ASSERT $value != 2", "DROP ASSERT", "DROP READONLY", "READONLY",
					"DROP DEFAULT",
					"DROP FLEXIBLE", "FLEXIBLE"))
		},
		func() string {
			return g.f("DEFINE INDEX OVERWRITE ix ON x FIELDS %s%s", g.elementPath(), g.pick("", " UNIQUE",
				", q… UNIQUE"))
		},
		func() string { return "ALTER TABLE x " + g.pick("SCHEMAFULL", "SCHEMALESS") },
	)
}

// shapeSetup makes tables whose definitions say much about each other: relations with in and out, ids with types,
// views and indexes.
func shapeSetup(g *generator) []string {
	return []string{"DEFINE TABLE p1", "DEFINE TABLE p2", "DEFINE TABLE r1 TYPE RELATION " + g.pick("",
		"IN p1 OUT p2",
		"FROM p1 TO p2 | p1", "IN p1 OUT p2 ENFORCED"), "CREATE p1:1, p1:2, p2:1 RETURN NONE", "DEFINE TABLE k1"}
}

func shapeStatement(g *generator) string {
	how := g.pick("", "OVERWRITE ", "OVERWRITE ", "IF NOT EXISTS ")
	return g.draw(
		func() string {
			return g.f("DEFINE FIELD %s%s ON r1 TYPE %s%s", how, g.pick("in", "out"),
				g.pick("record", "record<p1>", "record<p1 | p2>", "option<record<p1>>", "int", "record<nosuch>",
					"any"),
				g.pick("", "", " DEFAULT p1:1", " READONLY", " ASSERT $value != p1:2", " REFERENCE"))
		},
		func() string { return "REMOVE FIELD " + g.pick("", "IF EXISTS ") + g.pick("in", "out") + " ON r1" },
		func() string {
			return "ALTER FIELD " + g.pick("in", "out") + " ON r1 " + g.pick("TYPE record<p2>", "TYPE record",
				"DROP TYPE",
				"COMMENT 'x'")
		},
		func() string {
			return "ALTER TABLE r1 TYPE " + g.pick("RELATION", "RELATION IN p2", "NORMAL", "ANY",
				"RELATION IN p1 OUT p1")
		},
		func() string {
			return "DEFINE TABLE OVERWRITE r1 TYPE " + g.pick("RELATION", "RELATION IN p2 OUT p1", "NORMAL",
				"ANY SCHEMAFULL",
				"RELATION IN p1 | p2 ENFORCED")
		},
		func() string {
			return g.f("RELATE %s->r1:%d->%s", g.pick("p1:1", "p2:1", "p1:9"), 1+g.r.IntN(3), g.pick("p1:2", "p2:1",
				"p2:9"))
		},
		func() string { return g.f("CREATE r1:%d", 1+g.r.IntN(5)) },
		func() string { return "SELECT * FROM r1" },
		func() string { return "RETURN [(INFO FOR DB).tables.r1, (INFO FOR TABLE r1).fields]" },
		func() string { return "RETURN (INFO FOR DB STRUCTURE).tables" },
		func() string {
			return g.f("DEFINE FIELD %sid ON k1 TYPE %s%s", how, g.draw(func() string { return g.typeText(2) },
				func() string {
					return g.pick("int", "string", "uuid", "array<int>", "[int, string]", "{ a: int }",
						"int | string", "any",
						"number", "object", "set<int>", "option<int>", "1 | 2", "'a' | 'b'")
				}), g.pick("", "", " ASSERT $value != k1:3"))
		},
		func() string { return g.f("CREATE k1:%s SET n = 1", g.key()) },
		func() string { return g.f("CREATE k1 SET id = %s", g.draw(g.literal, g.key)) },
		func() string { return g.f("INSERT INTO k1 { id: %s }", g.draw(g.literal, g.key)) },
		func() string { return g.f("UPSERT k1:%s MERGE { m: %s }", g.key(), g.literal()) },
		func() string { return g.f("UPDATE k1 SET id = k1:%s", g.key()) },
		func() string {
			return "SELECT * FROM k1" + g.pick("", ":1..", ":..=2", ":[1]..", ":'a'..", ":[NONE]..[..]")
		},
		func() string { return "REMOVE FIELD IF EXISTS id ON k1" },
		func() string {
			return g.f("DEFINE FIELD %s%s ON %s %s", how, g.pick("value", "`a b`", "select", "type.x", "`a.b`",
				"a.`b c`",
				"in", "`all`.*"), g.pick("k1", "p1"), g.pick("", "TYPE int", "TYPE option<string>", "DEFAULT 1",
				"TYPE object"))
		},
		func() string { return "RETURN (INFO FOR TABLE k1" + g.pick("", " STRUCTURE") + ").fields" },
		func() string { return "CREATE p1:4 SET `a b` = 1, select = 'x', value = NULL, `a.b` = 3" },
		func() string {
			return g.f("DEFINE TABLE %svw AS SELECT %s FROM %s", how, g.pick("count() AS c", "*", "n, m",
				"id.n AS x"),
				g.pick("k1 GROUP ALL", "k1", "p1 WHERE n", "k1 GROUP BY m"))
		},
		func() string { return "REMOVE TABLE " + g.pick("", "IF EXISTS ") + g.pick("vw", "k1", "p2", "r1") },
		func() string {
			return g.f("DEFINE INDEX %s%s ON k1 FIELDS %s%s", how, g.pick("j1", "j2"),
				g.pick("n", "m", "n, m", "id", "nosuch", "o.*", "o.*.x", "value"), g.pick("", " UNIQUE",
					" COMMENT 'c'"))
		},
		func() string {
			return "ALTER TABLE k1 " + g.pick("SCHEMAFULL", "SCHEMALESS", "DROP COMMENT", "COMMENT 'x'")
		},
	)
}

func (g *generator) key() string {
	return g.pick("1", "2", "3", "a", "`a b`", "[1, 'x']", "[2]", "{ a: 1 }",
		"u'018e1a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b'",
		"-5", "⟨10⟩", "[NONE]", "{ a: 'x' }")
}

// word draws a text of letters that orders treat differently.
func (g *generator) word() string {
	return "'" + g.list(1, 4, "", func() string {
		return g.pick("a", "b", "B", "A", "z", "ß", "æ", "é", "É", "ø", "0", "1", "2", "10", "02", "002", "_", "-",
			" ", "~",
			"ж", "щ", "я", "Ж", "か", "ち", "山", "国", "한", "ธ", "ك", "א", "¢", "🍕", "¼", "²", "Ⅷ", "ü", "o", "n", "ñ",
			"f")
	}) + "'"
}

func orderSetup(g *generator) []string {
	out := []string{"DEFINE TABLE wd", g.pick("RETURN 1", "DEFINE INDEX wi ON wd FIELDS v",
		"DEFINE INDEX wi ON wd FIELDS k, v")}
	for i := range 6 + g.r.IntN(8) {
		out = append(out, g.f("CREATE wd:%d SET v = %s, k = %s, o.t = %s RETURN NONE", i, g.word(), g.integer(),
			g.draw(g.word, g.literal)))
	}
	return out
}

func orderStatement(g *generator) string {
	by := func() string {
		return g.pick("v", "v", "k, v", "o.t", "v, o.t", "x") + g.pick("", " COLLATE", " NUMERIC",
			" COLLATE NUMERIC") +
			g.pick("", " ASC", " DESC")
	}
	return g.draw(
		func() string { return "SELECT v, k, o.t, v AS x FROM wd ORDER BY " + by() + g.page() },
		func() string { return "SELECT v, k, o.t, v AS x FROM wd ORDER BY " + by() + ", v" },
		func() string {
			return "SELECT k, array::group(v) AS x FROM wd GROUP BY k ORDER BY k" + g.pick("", " DESC")
		},
		func() string {
			return "SELECT v, count() AS c FROM wd GROUP BY v ORDER BY v" + g.pick("", " COLLATE", " DESC")
		},
		func() string {
			return g.f("RETURN array::sort_%s([%s])", g.pick("lexical", "natural", "natural_lexical",
				"lexical_desc",
				"natural_desc", "natural_lexical_desc"), g.list(1, 9, ", ", g.word))
		},
		func() string {
			return g.f("RETURN array::sort_%s([%s])", g.pick("lexical", "natural"), g.list(1, 4, ", ", g.literal))
		},
		func() string {
			return g.f("RETURN [%s < %s, %s > %s]", g.word(), g.word(), g.word(), g.word())
		},
		func() string { return g.f("RETURN string::slug(%s)", g.pick("'Éa ß'", "'a  b'", "'Ж я'", "'a_b'")) },
		func() string {
			return g.f("RETURN array::is_sorted_%s([%s])", g.pick("lexical", "natural"), g.list(1, 3, ", ", g.word))
		},
		func() string {
			return g.f("SELECT VALUE v FROM wd WHERE v %s %s ORDER BY v COLLATE", g.pick("<", ">=", "!=",
				"CONTAINS"), g.word())
		},
		func() string { return g.f("UPSERT wd:%d SET v = %s", g.r.IntN(20), g.word()) },
	)
}

// chainSetup makes endpoints with middleware of their own and of the engine, which fail in many places.
func chainSetup(g *generator) []string {
	out := []string{
		"DEFINE FUNCTION fn::see($q: object, $n: function) -> object { LET $o = $n($q); RETURN $o + { headers: { seen: <string> $o.context } } }",
		"DEFINE FUNCTION fn::bad($q: object, $n: function) -> object { THROW 'mw' }",
		"DEFINE FUNCTION fn::odd($q: object, $n: function) { " + g.pick("5", "RETURN NONE", "$n",
			"{ status: 'x' }") + " }",
		"DEFINE FUNCTION fn::arg($q: object, $n: function, $s: string) -> object { LET $o = $n($q + { context: { s: $s } }); RETURN { status: 200, body: [$s, $o.body], context: { z: $s } } }",
		"DEFINE FUNCTION fn::stop($q: object, $n: function) -> object { RETURN { status: 403, body: $q.path ?? 'none', headers: { a: 'b' } } }",
	}
	for range 3 {
		out = append(out, g.chain())
	}
	return out
}

func (g *generator) middleware() string {
	return g.pick("fn::see()", "fn::see()", "fn::bad()", "fn::odd()", "fn::arg('s')", "fn::arg('t')", "fn::arg()",
		"fn::arg(5)", "fn::stop()", "fn::absent()", "api::timeout(5s)", "api::res::status(201)",
		"api::res::status(99)",
		"api::res::status('x')", "api::res::header('x-a', 'b')", "api::res::header('x-a', NONE)",
		"api::res::headers({ 'x-b': '1', 'x-c': NONE })", "api::res::body('json')", "api::res::body('plain')",
		"api::res::body('cbor')", "api::res::body('native')", "api::res::body('auto')", "api::req::body('json')",
		"api::req::body('plain')", "api::req::body('auto')", "api::req::body('native')", "api::req::body('bytes')",
		"api::res::body('nosuch')", "api::req::body()", "api::res::body('bytes')")
}

func (g *generator) chain() string {
	return g.f("DEFINE API OVERWRITE %s%s%s%s", g.pick("'/m'", "'/m/:id'", "'/m/:id<int>/x'", "'/n'", "'/n/*rest'",
		"'/'"),
		g.maybe(70, g.anyRequest), g.f(" FOR %s%s%s THEN %s", g.pick("get", "post", "get, post", "put", "patch",
			"trace", "delete"),
			g.maybe(55, func() string { return " MIDDLEWARE " + g.list(1, 3, ", ", g.middleware) }),
			g.pick("", "", " PERMISSIONS FULL", " PERMISSIONS NONE", " PERMISSIONS WHERE $request.query.q = '1'"),
			g.then()),
		g.pick("", "", " COMMENT 'c'"))
}

// anyRequest is the part of an endpoint for the methods that have none of their own.
func (g *generator) anyRequest() string {
	return g.f(" FOR any%s%s", g.maybe(50, func() string {
		return " MIDDLEWARE " + g.list(1, 2, ", ",
			g.middleware)
	}),
		g.maybe(60, func() string { return " THEN " + g.then() }))
}

func (g *generator) then() string {
	return g.pick("{ { body: 1 } }", "{ { status: 404, body: { a: [1, NONE] } } }", "{ { body: $request } }",
		"{ RETURN { body: $request.params, headers: { b: '1', 'C-d': 'x' } } }", "{ { body: $request.body } }",
		"{ { body: <bytes> 'abc' } }", "{ { body: 'text', context: { made: 2 } } }", "{ { headers: { a: 1 } } }",
		"{ { headers: 5 } }", "{ { body: $request.headers, raw: true } }",
		"{ { body: { d: 1.5dec, t: 1h, r: t:1 } } }",
		"{ fn::absent() }", "{ THROW 'x' }", "{ THROW { code: 5 } }", "{ 5 }", "{ NONE }", "{ { status: 99 } }",
		"{ { status: 200.5 } }", "{ { status: '200' } }",
		"{ CREATE u:50; RETURN { body: (SELECT VALUE id FROM u:50) } }",
		"{ { body: $request.method, status: 201 } }", "{ {} }", "{ { nosuch: 1 } }", "{ 1 + 'a' }",
		"{ { body: $request.context } }")
}

func chainStatement(g *generator) string {
	path := func() string {
		return g.pick("'/m'", "'/m/5'", "'/m/5/x'", "'/m/a/x'", "'/n'", "'/n/a/b'", "'/'", "'/m/'", "'m'", "''",
			"'//m'", "'/n/'", "'/nosuch'")
	}
	return g.draw(
		func() string { return g.f("RETURN api::invoke(%s)", path()) },
		func() string { return g.f("RETURN api::invoke(%s)", path()) },
		func() string {
			return g.f("RETURN api::invoke(%s, { %s })", path(), g.list(1, 4, ", ", func() string {
				return g.pick("method: 'get'", "method: 'post'", "method: 'put'", "method: 'PATCH'", "method: 5",
					"body: { a: 1 }",
					"body: 'text'", "body: <bytes> '{\"a\": 1}'", "body: <bytes> 'abc'", "query: { q: '1' }",
					"query: { q: 1 }",
					"headers: { 'content-type': 'application/json' }",
					"headers: { 'Content-Type': 'text/plain', a: 'b' }",
					"headers: { accept: 'application/json' }", "headers: { Accept: 'text/plain' }",
					"context: { c: 1 }", "nosuch: 1",
					"headers: { accept: 'application/cbor' }", "body: NONE", "headers: NONE")
			}))
		},
		g.chain, g.chain,
		func() string { return "RETURN (INFO FOR DB" + g.pick("", " STRUCTURE") + ").apis" },
		func() string { return "REMOVE API IF EXISTS " + g.pick("'/m'", "'/n'", "'/m/:id'") },
		func() string {
			return "DEFINE CONFIG OVERWRITE API " + g.pick("", "MIDDLEWARE "+g.middleware(), "PERMISSIONS NONE",
				"PERMISSIONS FULL")
		},
		func() string { return "REMOVE FUNCTION IF EXISTS fn::" + g.pick("see", "bad", "arg") },
		func() string {
			return g.f("DEFINE FUNCTION OVERWRITE fn::see($q: object, $n: function) -> object { LET $o = $n($q); RETURN %s }",
				g.pick("$o", "{ body: $o }", "{ body: [$o.status, $o.body, $o.headers, $o.context] }",
					"$o + { status: 299 }", "$q"))
		},
	)
}

// computedSetup makes fields that follow from each other.
func computedSetup(g *generator) []string {
	out := []string{"DEFINE TABLE y " + g.pick("", "SCHEMAFULL"), g.pick("RETURN 1",
		"DEFINE INDEX yi ON y FIELDS a", "DEFINE INDEX yi ON y FIELDS b, o.x")}
	for range 2 + g.r.IntN(3) {
		out = append(out, g.computedField(""))
	}
	return append(out, "CREATE y:1 SET n = 2, o = { x: 1 }, ls = [1, 2] RETURN NONE",
		"CREATE y:2 SET n = 'a' RETURN NONE")
}

func (g *generator) computedField(how string) string {
	return g.f("DEFINE FIELD %s%s ON y %s", how, g.pick("a", "b", "c", "d", "o.y", "o"),
		g.f(g.pick("COMPUTED %s", "COMPUTED %s", "COMPUTED %s", "VALUE %s", "DEFAULT %s",
			"TYPE any VALUE %s ASSERT $value != 9",
			"TYPE option<int> COMPUTED %s", "TYPE string COMPUTED <string> %s", "COMPUTED %s COMMENT 'x'"),
			g.pick("n", "[n, 1]", "{ v: n }", "type::of(n)", "$this.n", "$this.a", "(a)", "[b]", "c ?? 1",
				"{ LET $z = b; RETURN [$z]; }",
				"(SELECT VALUE id FROM y)", "count(SELECT * FROM y WHERE n = $parent.n)", "id.id()", "o.x",
				"ls.map(|$v| [$v, n])",
				"IF n = 2 { a } ELSE { 1 }", "fn::f(n)", "time::year(d'2020-01-01T00:00:00Z')", "$value", "$before",
				"->e", "ls[0] ?? 0", "d.v", "a.v")))
}

func computedStatement(g *generator) string {
	cols := func() string {
		return g.list(1, 3, ", ", func() string { return g.pick("a", "b", "c", "d", "o", "n", "id", "o.y") })
	}
	return g.draw(
		func() string { return g.computedField("OVERWRITE ") }, func() string { return g.computedField("") },
		func() string { return "REMOVE FIELD IF EXISTS " + g.pick("a", "b", "c", "d", "o") + " ON y" },
		func() string {
			return g.f("ALTER FIELD IF EXISTS %s ON y %s", g.pick("a", "b", "c", "d"), g.pick("DROP COMPUTED",
				"TYPE int", "COMPUTED 1", "COMPUTED b", "DROP VALUE", "COMMENT 'q'", "READONLY", "DEFAULT 1"))
		},
		func() string {
			return "SELECT " + cols() + " FROM y" + g.pick("", ":1", " WHERE a", " WHERE n = 2", " ORDER BY id",
				" WHERE b = NONE")
		},
		func() string { return "SELECT * FROM y" + g.pick("", " OMIT a", " WHERE a = 2", " FETCH b") },
		func() string { return "SELECT VALUE " + g.pick("a", "b", "c", "d") + " FROM y" },
		func() string {
			return g.f("UPDATE y:%d SET n = %s%s", 1+g.r.IntN(3), g.integer(), g.pick("", " RETURN NONE",
				" RETURN AFTER", " RETURN a, b", " RETURN DIFF"))
		},
		func() string {
			return g.f("UPSERT y:%d SET %s = %s", 1+g.r.IntN(4), g.pick("a", "b", "n", "o"), g.literal())
		},
		func() string { return g.f("CREATE y:%d SET n = %s", 3+g.r.IntN(3), g.integer()) },
		func() string { return "RETURN y:1." + g.pick("a", "b", "*", "{ a, n }", "o.y") },
		func() string { return "SELECT a, count() AS k FROM y GROUP BY a" },
		func() string { return "RETURN (INFO FOR TABLE y).fields" },
		func() string {
			return g.f("DEFINE INDEX %s ON y FIELDS %s", g.pick("yi", "yj", "OVERWRITE yk"), g.pick("a", "b", "c",
				"o.y", "o.*", "n"))
		},
		func() string { return "DELETE y:" + g.pick("1", "2", "3") + g.pick("", " RETURN BEFORE") },
	)
}
