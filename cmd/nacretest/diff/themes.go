package diff

// theme is a part of the language that needs a schema of its own: what sets it up, and statements that use it. The
// owner runs its cases, whose other statements mix with them.
type theme struct {
	setup     func(g *generator) []string
	statement func(g *generator) string
	looks     []string // what ends the case, to see what became of its data
}

func themes() []theme {
	return []theme{
		{feedSetup, feedStatement, []string{"SELECT * FROM c, co, cr"}},
		{versionSetup, versionStatement, []string{"SELECT * FROM h"}},
		{grantSetup, grantStatement, nil},
		{referenceSetup, referenceStatement, []string{"SELECT * FROM p, r0, r1, r2, r3, r4, r5, r6"}},
		{viewSetup, viewStatement, []string{"SELECT * FROM v1, v2, v3, v4, v5"}},
		{eventSetup, eventStatement, []string{"SELECT * FROM w, log"}},
		{sequenceSetup, sequenceStatement, nil},
		{endpointSetup, endpointStatement, nil},
		{edgeSetup, edgeStatement, []string{"SELECT * FROM m, o1, ra, rb, rc"}},
		{elementSetup, elementStatement, []string{"SELECT * FROM x", "INFO FOR TABLE x"}},
		{elementSetup, elementStatement, []string{"SELECT * FROM x", "INFO FOR TABLE x"}},
		{shapeSetup, shapeStatement, []string{"SELECT * FROM k1", "SELECT * FROM r1"}},
		{shapeSetup, shapeStatement, []string{"SELECT * FROM k1", "SELECT * FROM r1"}},
		{orderSetup, orderStatement, nil},
		{chainSetup, chainStatement, nil},
		{chainSetup, chainStatement, nil},
		{computedSetup, computedStatement, []string{"SELECT * FROM y", "INFO FOR TABLE y"}},
	}
}

// feedSetup makes tables with a CHANGEFEED: c keeps changes, co the originals too, cr edges.
func feedSetup(g *generator) []string {
	return []string{"DEFINE TABLE c CHANGEFEED 1h", "DEFINE TABLE co CHANGEFEED 2d INCLUDE ORIGINAL",
		"DEFINE TABLE cr TYPE RELATION CHANGEFEED 1h",
		g.pick("RETURN 1", "DEFINE FIELD n ON c TYPE option<int> VALUE $value ?? 1",
			"DEFINE INDEX i ON co FIELDS n UNIQUE", "DEFINE FIELD z ON co COMPUTED n")}
}

func feedStatement(g *generator) string {
	tb := g.pick("c", "co")
	return g.draw(
		func() string { return g.f("CREATE %s:%d%s%s", tb, 1+g.r.IntN(3), g.clause(), g.output()) },
		func() string { return g.f("UPDATE %s:%d%s%s", tb, 1+g.r.IntN(3), g.clause(), g.output()) },
		func() string { return g.f("UPDATE %s%s%s", tb, g.clause(), g.output()) },
		func() string { return g.f("UPSERT %s:%d SET %s", tb, 1+g.r.IntN(3), g.values()) },
		func() string { return g.f("DELETE %s:%d", tb, 1+g.r.IntN(3)) },
		func() string {
			return g.f("INSERT INTO %s [{ id: %d, n: %s }, { id: 9 }]", tb, 1+g.r.IntN(5), g.integer())
		},
		func() string { return g.f("RELATE c:1->cr:%d->co:1 SET n = %s", 1+g.r.IntN(2), g.integer()) },
		func() string { return "DELETE c" },
		func() string {
			return "ALTER TABLE " + tb + g.pick(" CHANGEFEED 3h", " CHANGEFEED 1h INCLUDE ORIGINAL", " DROP CHANGEFEED",
				" COMMENT 'x'")
		},
		func() string {
			return "DEFINE DATABASE OVERWRITE test" + g.pick("", " CHANGEFEED 1d", " CHANGEFEED 1d INCLUDE ORIGINAL")
		},
		g.changes, g.changes,
	)
}

func (g *generator) changes() string {
	return g.f("SHOW CHANGES FOR %s SINCE %s%s", g.pick("TABLE c", "TABLE co", "TABLE cr", "DATABASE", "TABLE t"),
		g.pick("0", "1", "d'2020-01-01T00:00:00Z'"), g.pick("", "", " LIMIT 0", " LIMIT 100"))
}

// versionSetup remembers a time before there is anything.
func versionSetup(g *generator) []string {
	return []string{"LET $v0 = time::now()", "DEFINE TABLE h", "CREATE h:1 SET n = 1, l = h:2", "LET $v1 = time::now()",
		"LET $v2 = time::now()", "CREATE h:2 SET n = 2",
		g.pick("RETURN 1", "DEFINE INDEX hi ON h FIELDS n")}
}

func versionStatement(g *generator) string {
	at := " VERSION " + g.pick("$v0", "$v1", "$v2", "$v2", "d'2020-01-01T00:00:00Z'", "d'2020-01-01T00:00:00Z' + 1d")
	return g.draw(
		func() string { return "LET $v2 = time::now()" },
		func() string { return g.f("UPSERT h:%d SET n = %s, s = %s", 1+g.r.IntN(4), g.integer(), g.str()) },
		func() string { return g.f("DELETE h:%d", 1+g.r.IntN(4)) },
		func() string { return g.f("UPDATE h%s", g.clause()) },
		func() string { return g.f("RELATE h:1->he:%d->h:2 SET n = %s", 1+g.r.IntN(3), g.integer()) },
		func() string {
			return "SELECT * FROM h" + g.pick("", ":1", ":1..3", ":1, h:2") + g.pick("", " WHERE n > 1",
				" WHERE n = 1") + at
		},
		func() string { return "SELECT n, count() AS c FROM h GROUP BY n" + at },
		func() string { return "SELECT VALUE n FROM h" + g.pick(" ORDER BY n", " LIMIT 1", " START 1", "") + at },
		func() string {
			return "SELECT " + g.pick("l.n, id", "->he", "->he->h.n AS x", "(SELECT n FROM h) AS x",
				"*") + " FROM h:1" + at
		},
		func() string {
			return g.pick("DEFINE FIELD OVERWRITE q ON h", "REMOVE FIELD IF EXISTS q ON h", "DEFINE TABLE OVERWRITE h2",
				"DEFINE INDEX hi ON h FIELDS s")
		},
		func() string { return "INFO FOR TABLE h" + at + g.pick("", " STRUCTURE") },
		func() string { return "CREATE h SET id = [" + g.integer() + "], n = 1" + at },
	)
}

// grantSetup makes users and bearer access methods.
func grantSetup(*generator) []string {
	return []string{"DEFINE USER ub ON DATABASE PASSHASH 'h'", "DEFINE ACCESS b ON DATABASE TYPE BEARER FOR USER",
		"DEFINE ACCESS br ON DATABASE TYPE BEARER FOR RECORD DURATION FOR GRANT 1d",
		"DEFINE ACCESS j ON DATABASE TYPE JWT ALGORITHM HS256 KEY 'k'", "LET $x = []"}
}

// grantStatement shows nothing of the keys.
func grantStatement(g *generator) string {
	const shown = "IF type::is_array($x) { $x.map(|$g| IF type::is_object($g) { [$g.ac, $g.type, $g.subject, $g.revocation = NONE, $g.expiration - $g.creation] } ELSE { count($g) }) } ELSE { [$x.ac, $x.subject, $x.expiration - $x.creation] }"
	ac := g.pick("b", "b", "br", "j", "nosuch")
	return g.draw(
		func() string {
			return g.f("LET $x = (ACCESS %s GRANT FOR %s)", ac,
				g.pick("USER ub", "USER nosuch", "RECORD user:1", "RECORD user:9"))
		},
		func() string { return g.f("LET $x = (ACCESS b GRANT FOR USER ub)") },
		func() string { return g.f("LET $x = (ACCESS br GRANT FOR RECORD user:%d)", 1+g.r.IntN(2)) },
		func() string {
			return g.f("LET $x = (ACCESS %s SHOW %s)", ac,
				g.pick("ALL", "WHERE true", "WHERE revocation = NONE", "WHERE revocation != NONE",
					"WHERE subject.user = 'ub'", "WHERE subject.record = user:1", "GRANT nosuch"))
		},
		func() string {
			return g.f("LET $x = (ACCESS %s REVOKE %s)", ac,
				g.pick("ALL", "WHERE true", "WHERE subject.record = user:1", "GRANT nosuch"))
		},
		func() string {
			return g.f("LET $x = (ACCESS %s PURGE %s)", ac,
				g.pick("EXPIRED", "REVOKED", "EXPIRED, REVOKED", "REVOKED FOR 1h"))
		},
		func() string {
			return g.pick("REMOVE USER IF EXISTS ub ON DATABASE", "REMOVE ACCESS IF EXISTS b ON DATABASE",
				"DEFINE ACCESS OVERWRITE br ON DATABASE TYPE BEARER FOR RECORD", "DELETE user:2")
		},
		func() string { return "RETURN (INFO FOR DB).accesses" },
		func() string { return "RETURN " + shown }, func() string { return "RETURN " + shown },
	)
}

// referenceSetup makes r tables that refer to p in each of the ways of ON DELETE.
func referenceSetup(g *generator) []string {
	out := []string{"DEFINE TABLE p", "CREATE p:1, p:2, p:3 RETURN NONE"}
	for i, on := range []string{"", " ON DELETE REJECT", " ON DELETE CASCADE", " ON DELETE UNSET", " ON DELETE IGNORE",
		" ON DELETE THEN (UPDATE $this SET gone += 1)", " ON DELETE THEN { CREATE log SET of = $reference, by = $this.id }"} {
		kind := g.pick("option<record<p>>", "record<p> | none", "option<array<record<p>>>", "option<set<record<p>>>",
			"option<record<p | r1>>")
		out = append(out, g.f("DEFINE FIELD at ON r%d TYPE %s REFERENCE%s", i, kind, on))
	}
	return append(out, "DEFINE FIELD back ON p COMPUTED "+g.pick("<~r0", "<~r2", "<~(r1, r2)", "<~r0.id",
		"count(<~r1)"))
}

func referenceStatement(g *generator) string {
	r := g.f("r%d", g.r.IntN(7))
	to := g.pick("p:1", "p:2", "[p:1, p:2]", "[p:3, p:3]", "NONE", "<set> [p:1]", "p:9", "r1:1")
	return g.draw(
		func() string { return g.f("UPSERT %s:%d SET at = %s", r, 1+g.r.IntN(2), to) },
		func() string { return g.f("CREATE %s:%d SET at = %s, n = %s", r, 1+g.r.IntN(3), to, g.integer()) },
		func() string { return g.f("DELETE p:%d%s", 1+g.r.IntN(3), g.pick("", " RETURN BEFORE")) },
		func() string { return g.f("DELETE %s:1", r) },
		func() string { return g.f("UPSERT p:%d SET n = %s", 1+g.r.IntN(3), g.integer()) },
		func() string {
			return g.f("RETURN p:%d<~%s", 1+g.r.IntN(3),
				g.pick(r, "("+r+" WHERE n > 1)", "(r0, r1)", "(r0 FIELD at)", "(SELECT n FROM r1)", "?", r+".n",
					r+"<~r1", "(r0, r2 FIELD at)", r+":1..2"))
		},
		func() string { return g.f("SELECT id, <~%s AS x FROM p", r) },
		func() string { return "SELECT * FROM p" + g.pick("", " FETCH back") },
		func() string { return "SELECT * FROM " + g.pick(r, "log", "r5") },
		func() string {
			return g.f("ALTER FIELD at ON %s %s", r,
				g.pick("DROP REFERENCE", "REFERENCE ON DELETE UNSET", "REFERENCE ON DELETE CASCADE"))
		},
		func() string { return g.f("UPDATE %s SET at %s %s", r, g.pick("+=", "-=", "="), to) },
	)
}

// viewSetup makes a view of each aggregate over s.
func viewSetup(g *generator) []string {
	return []string{"DEFINE TABLE s",
		"DEFINE TABLE v1 AS SELECT k, count() AS c, math::sum(n) AS s, math::min(n) AS mi, math::max(n) AS ma, math::mean(n) AS me FROM s GROUP BY k",
		"DEFINE TABLE v2 AS SELECT count() AS c, count(n > 1) AS c1, math::stddev(n) AS sd, math::variance(n) AS va FROM s GROUP ALL",
		"DEFINE TABLE v3 AS SELECT k, time::min(t) AS a, time::max(t) AS z FROM s WHERE n > 0 GROUP BY k",
		"DEFINE TABLE v4 AS SELECT n * 2 AS d, k, id AS was FROM s WHERE k != 'x'",
		"DEFINE TABLE v5 AS SELECT " + g.pick("k, o.x AS x, count() AS c FROM s GROUP BY k, x",
			"math::sum(n + 1) AS s, k FROM s GROUP BY k", "math::sum(n) + count() AS q FROM s GROUP ALL",
			"k, array::group(a) AS g FROM s GROUP BY k"),
	}
}

func viewStatement(g *generator) string {
	row := func() string {
		return g.f("k = '%s', n = %s, t = d'202%d-01-01T00:00:00Z', o.x = %s", g.pick("x", "y", "z"),
			g.pick("0", "1", "2", "3", "-1", "10"), g.r.IntN(5), g.integer())
	}
	id := func() string { return g.f("s:%d", 1+g.r.IntN(6)) }
	return g.draw(
		func() string { return "UPSERT " + id() + " SET " + row() },
		func() string { return "UPSERT " + id() + " SET " + row() },
		func() string { return "UPDATE s SET n += 1" + g.pick("", " WHERE k = 'x'") },
		func() string {
			return "UPDATE " + id() + g.pick(" SET k = 'x'", " UNSET n", " SET n = 0", " UNSET k", " SET n = 2.5")
		},
		func() string { return "DELETE " + g.pick("s", id(), id(), "s WHERE n > 1") },
		func() string {
			return g.f("INSERT INTO s [{ id: %d, n: %s, k: 'y' }, { id: 7 }] ON DUPLICATE KEY UPDATE n = 4", 1+g.r.IntN(6), g.integer())
		},
		func() string { return "SELECT * FROM " + g.pick("v1", "v2", "v3", "v4", "v5") },
		func() string { return "SELECT * FROM " + g.pick("v1", "v2", "v3", "v4", "v5") },
		func() string {
			return g.pick("REMOVE TABLE v4", "REMOVE TABLE s", "INFO FOR TABLE s", "DELETE v4", "CREATE v1:9",
				"UPDATE v4 SET d = 1")
		},
	)
}

// eventSetup makes events on w that leave traces in log.
func eventSetup(g *generator) []string {
	out := []string{"DEFINE TABLE w", "DEFINE TABLE log"}
	for i := range 1 + g.r.IntN(3) {
		out = append(out, g.event1(i))
	}
	return out
}

func (g *generator) event1(i int) string {
	return g.f("DEFINE EVENT OVERWRITE e%d ON w WHEN %s THEN %s", i,
		g.pick("true", "$event = 'CREATE'", "$event IN ['UPDATE', 'DELETE']", "$before != $after", "$after.n > 1",
			"$value.n = 2", "n = 1", "$input.n = 2"),
		g.pick("(UPSERT log:1 SET n += 1)", "(UPSERT log:[$event] SET b = $before, a = $after)",
			"{ LET $k = $value.n; UPSERT log:2 SET k = $k, i = $input; }",
			"(UPSERT log:3 SET n += 1), (UPSERT log:4 SET of = $value.id)", "(DELETE log:1)",
			"(IF $event = 'DELETE' { UPSERT log:5 SET d = $before.id })", "{ RETURN 1 }", "(THROW 'no')",
			"(UPSERT log:6 SET p = $parent)"))
}

func eventStatement(g *generator) string {
	return g.draw(
		func() string { return g.f("CREATE w:%d SET n = %s%s", 1+g.r.IntN(4), g.integer(), g.output()) },
		func() string { return g.f("UPDATE w:%d%s%s", 1+g.r.IntN(4), g.clause(), g.output()) },
		func() string { return g.f("UPSERT w:%d SET n = %s, s = 'x'", 1+g.r.IntN(4), g.integer()) },
		func() string { return g.f("DELETE w:%d%s", 1+g.r.IntN(4), g.output()) },
		func() string {
			return g.f("INSERT INTO w [{ id: 1, n: 2 }, { id: 5, n: %s }]%s", g.integer(),
				g.pick("", " ON DUPLICATE KEY UPDATE n = 2"))
		},
		func() string { return "UPDATE w SET n = 2" },
		func() string { return "SELECT * FROM log" }, func() string { return "SELECT * FROM log" },
		func() string { return g.event1(g.r.IntN(3)) },
		func() string { return "REMOVE EVENT IF EXISTS e0 ON w" },
		func() string { return "RETURN (INFO FOR TABLE w" + g.pick("", " STRUCTURE") + ").events" },
	)
}

func sequenceSetup(g *generator) []string {
	return []string{"DEFINE SEQUENCE q1", "DEFINE SEQUENCE q2 BATCH 2 START -1", "DEFINE TABLE n",
		"DEFINE FIELD no ON n DEFAULT sequence::nextval('q1')",
		g.pick("RETURN 1", "DEFINE FUNCTION fn::next() { sequence::nextval('q2') }")}
}

func sequenceStatement(g *generator) string {
	next := func() string { return g.f("sequence::nextval('%s')", g.pick("q1", "q1", "q2", "nosuch")) }
	return g.draw(
		func() string { return "RETURN " + next() }, func() string { return g.f("RETURN [%s, %s]", next(), next()) },
		func() string { return "CREATE n:" + g.pick("1", "2", "3") + " RETURN VALUE no" },
		func() string { return "LET $p = " + next() },
		func() string { return "SELECT VALUE " + next() + " FROM [1, 2]" },
		func() string { return g.f("FOR $i IN 0..2 { UPSERT n:[$i] SET no = %s }", next()) },
		func() string { return "RETURN fn::next()" },
		func() string {
			return "DEFINE SEQUENCE OVERWRITE " + g.pick("q1", "q2 START 5 BATCH 1", "q2 BATCH 10 TIMEOUT 1s")
		},
		func() string { return "ALTER SEQUENCE q1 TIMEOUT " + g.pick("1s", "NONE") },
		func() string { return "REMOVE SEQUENCE IF EXISTS q2" },
		func() string { return "RETURN (INFO FOR DB" + g.pick("", " STRUCTURE") + ").sequences" },
		func() string { return "SELECT VALUE no FROM n:1, n:2, n:3" },
	)
}

func endpointSetup(g *generator) []string {
	return []string{"DEFINE FUNCTION fn::mw($req: object, $next: function) -> object { LET $r = $next($req); RETURN { status: 201, body: $r.body, headers: { 'x-m': 'y' } } }",
		g.endpoint(), g.endpoint(), "DEFINE API '/any/*rest' FOR any THEN { { body: $request.params } }"}
}

func (g *generator) endpoint() string {
	return g.f("DEFINE API OVERWRITE %s FOR %s%s%s THEN %s", g.pick("'/a'", "'/a/:id'", "'/b/:n<int>'", "'/c'"),
		g.pick("get", "post", "get, post", "put", "any", "delete"),
		g.pick("", "", " MIDDLEWARE api::timeout(1s)", " MIDDLEWARE fn::mw()",
			" MIDDLEWARE api::res::headers({ 'a': 'b' })", " MIDDLEWARE api::res::body('json')",
			" MIDDLEWARE api::res::status(202)", " MIDDLEWARE api::req::body('json')"),
		g.pick("", "", " PERMISSIONS FULL", " PERMISSIONS WHERE $request.method = 'get'"),
		g.pick("{ { body: 1 } }", "{ { status: 404, body: { a: [1, NONE] } } }",
			"{ RETURN { body: $request.params, headers: { b: '1' } } }", "{ { body: $request.body } }",
			"{ { body: $request.query, status: 200 } }", "{ THROW 'x' }", "{ 5 }", "{ NONE }", "{ { status: 99 } }",
			"{ CREATE u:50; RETURN { body: 'made' } }", "{ { body: $request.method } }", "{ {} }"))
}

func endpointStatement(g *generator) string {
	path := g.pick("'/a'", "'/a/5'", "'/b/7'", "'/b/x'", "'/c'", "'/any/x/y'", "'/nosuch'", "'a'", "'/a/'")
	return g.draw(
		func() string { return g.f("RETURN api::invoke(%s)", path) },
		func() string { return g.f("RETURN api::invoke(%s)", path) },
		func() string {
			return g.f("RETURN api::invoke(%s, { method: '%s'%s })", path,
				g.pick("get", "post", "put", "delete", "GET", "foo"),
				g.pick("", ", body: { a: 1 }", ", body: 'text'", ", query: { q: '1' }",
					", headers: { 'content-type': 'application/json' }, body: '{\"a\": 1}'", ", body: <bytes> 'abc'"))
		},
		g.endpoint,
		func() string { return "REMOVE API " + g.pick("IF EXISTS ", "") + g.pick("'/a'", "'/c'", "'/nosuch'") },
		func() string { return "RETURN (INFO FOR DB" + g.pick("", " STRUCTURE") + ").apis" },
		func() string {
			return "DEFINE CONFIG OVERWRITE API " + g.pick("", "MIDDLEWARE api::res::headers({ 'z': '1' })",
				"PERMISSIONS NONE", "PERMISSIONS FULL")
		},
	)
}

// edgeSetup makes relation tables of each kind between m and m or o.
func edgeSetup(g *generator) []string {
	return []string{"DEFINE TABLE m", "DEFINE TABLE o1", "DEFINE TABLE ra TYPE RELATION",
		"DEFINE TABLE rb TYPE RELATION IN m OUT m | o1", "DEFINE TABLE rc TYPE RELATION IN m OUT o1 ENFORCED",
		"CREATE m:1, m:2, m:3 RETURN NONE", "CREATE o1:1, o1:2 RETURN NONE",
		g.pick("RETURN 1", "DEFINE INDEX u ON ra FIELDS in, out UNIQUE", "DEFINE FIELD n ON rb TYPE option<int>",
			"DEFINE FIELD w ON rb COMPUTED in.n")}
}

func edgeStatement(g *generator) string {
	node := func() string { return g.pick("m:1", "m:2", "m:3", "o1:1", "o1:2", "m:9", "ra:1") }
	side := func() string {
		return g.draw(node, node, node, func() string { return g.f("[%s, %s]", node(), node()) }, func() string {
			return g.pick("(SELECT VALUE id FROM m)", "(SELECT * FROM o1)", "[]", "(CREATE m:7)", "m:1->ra->m",
				"(RELATE m:1->ra:8->m:2)")
		})
	}
	edge := func() string { return g.pick("ra", "rb", "rc", "m") + g.f(":%d", 1+g.r.IntN(5)) }
	hop := func() string {
		return g.pick("->ra", "->rb", "<-ra", "<->ra", "->?", "<-?", "->(ra, rb)", "->(ra WHERE n > 1)", "->rb:1..3",
			"->ra[WHERE n > 1]", "->(SELECT n FROM ra)", "->(ra ORDER BY n DESC LIMIT 1)")
	}
	return g.draw(
		func() string { return g.f("RELATE %s->%s->%s%s%s", side(), edge(), side(), g.clause(), g.output()) },
		func() string {
			return g.f("RELATE %s%s<-%s<-%s SET n = %s", g.pick("", "ONLY "), node(), edge(), node(), g.integer())
		},
		func() string {
			return g.f("INSERT RELATION %sINTO %s [{ id: %d, in: %s, out: %s, n: %s }, { id: 4, in: m:1, out: o1:1 }]%s",
				g.pick("", "IGNORE "), g.pick("ra", "rb", "rc"), 1+g.r.IntN(3), node(), node(), g.integer(),
				g.pick("", "", " ON DUPLICATE KEY UPDATE n = 9"))
		},
		func() string {
			return g.f("INSERT RELATION { id: ra:%d, in: %s, out: %s }%s", 1+g.r.IntN(5), node(), node(), g.output())
		},
		func() string {
			return g.f("RETURN %s%s%s", node(), hop(),
				g.pick("", "->m", "->o1", "->?", ".n", "->m->ra", ".{ id, n }", ".out", "[0]"))
		},
		func() string { return g.f("SELECT id, %s%s AS x FROM m", hop(), g.pick("", "->m", ".n", "->?")) },
		func() string { return g.f("SELECT * FROM %s%s", node(), hop()) },
		func() string {
			return g.f("UPDATE %s SET %s", g.pick("ra", "rb", edge()),
				g.pick("in = m:3", "out = o1:2", "n = 4", "n += 1"))
		},
		func() string { return "DELETE " + g.pick(node(), node(), edge(), "ra") },
		func() string {
			return "SELECT * FROM " + g.pick("ra", "rb", "rc") + g.pick("", " FETCH in", " FETCH in, out",
				" WHERE in = m:1", " SPLIT in", " OMIT in")
		},
		func() string {
			return g.f("RETURN %s.%s", node(),
				g.pick("{1..3}->ra->m", "{..}(->ra->m)", "{2}->rb->m", "{..+collect}->ra->m", "{..+path}->ra->m",
					"{1..2}.{ id, x: ->ra->m.@ }"))
		},
	)
}
