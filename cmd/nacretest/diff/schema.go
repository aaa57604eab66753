package diff

import "strings"

// schema defines the tables of a case, the access method of its record users, and functions.
func (g *generator) schema() []string {
	out := []string{
		"DEFINE ACCESS acc ON DATABASE TYPE RECORD",
		"DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth OR n > 2, FOR update WHERE id = $auth",
		g.f("DEFINE TABLE t %s%s", g.pick("", "", "SCHEMAFULL ", "TYPE NORMAL "), g.permissions()),
		g.f("DEFINE TABLE u %s", g.permissions()),
		g.f("DEFINE TABLE e %s%s",
			g.pick("TYPE RELATION ", "TYPE RELATION IN t OUT t|u ",
				g.ofRecords("TYPE RELATION IN t OUT t|u ENFORCED ", "TYPE RELATION "), ""), g.edgePermissions()),
		g.f("DEFINE TABLE f TYPE RELATION %s", g.edgePermissions()),
		g.f("DEFINE FUNCTION fn::f($x: any) { %s }%s",
			g.pick("RETURN $x", "$x", "RETURN [$x, $auth]", "IF $x { 1 } ELSE { 2 }", "(SELECT VALUE id FROM t)",
				"RETURN count(SELECT * FROM u)"),
			g.ofRecords("", "", "", " PERMISSIONS NONE", " PERMISSIONS WHERE $auth.n > 1")),
		g.f("DEFINE FUNCTION fn::w($x: int) -> any { %s }",
			g.pick("UPDATE t:1 SET n = $x", "RETURN UPDATE t SET n = $x WHERE n = 1 RETURN BEFORE",
				"LET $y = $x + 1; RETURN $y", "CREATE u:77 SET n = $x; RETURN 1")),
		g.f("DEFINE PARAM $pp VALUE %s%s", g.integer(), g.ofRecords("", "", " PERMISSIONS NONE", " PERMISSIONS FULL")),
	}
	out = append(out, g.fields()...)
	for range g.r.IntN(3) {
		out = append(out, g.index())
	}
	if g.chance(30) {
		out = append(out, g.event())
	}
	return append(out, g.view())
}

// ofRecords draws one of the others where record users run the body; the reference takes an anonymous owner for one who
// needs permission.
func (g *generator) ofRecords(of ...string) string {
	if !g.record {
		return of[0]
	}
	return g.pick(of[1:]...)
}

// fields of t; SCHEMAFULL tables need most of them.
func (g *generator) fields() []string {
	all := []string{
		g.f("DEFINE FIELD n ON t TYPE %s%s", g.pick("any", "int", "option<int>", "number", "number | string"),
			g.fieldTail("n")),
		g.f("DEFINE FIELD s ON t TYPE %s%s", g.pick("any", "option<string>", "string | none | null", "option<string>"),
			g.fieldTail("s")),
		g.f("DEFINE FIELD b ON t TYPE %s%s", g.pick("bool", "any", "option<bool>"),
			g.pick(" DEFAULT true", " DEFAULT ALWAYS false", " DEFAULT n > 1", " VALUE $value OR false", "")),
		g.f("DEFINE FIELD a ON t TYPE %s", g.pick("any", "option<array<int>>", "option<array>", "option<array<int, 3>>",
			"option<set<int>>")),
		g.f("DEFINE FIELD o ON t TYPE %s", g.pick("any", "option<object>", "option<{ x: int, y: string }>")),
		g.f("DEFINE FIELD o.x ON t TYPE %s", g.pick("any", "option<int>", "option<number> ASSERT $value != 3")),
		g.f("DEFINE FIELD l ON t TYPE %s", g.pick("any", "option<record>", "option<record<t | u>>", "option<record<u>>",
			"option<record<t | u>> REFERENCE", "option<record<t | u>> REFERENCE ON DELETE CASCADE",
			"option<record<t | u>> REFERENCE ON DELETE UNSET", "option<record<t | u>> REFERENCE ON DELETE REJECT")),
		g.f("DEFINE FIELD ls ON t TYPE %s",
			g.pick("any", "option<array<record>>", "option<array<record<t | u>>> REFERENCE")),
		g.f("DEFINE FIELD k ON t TYPE %s%s", g.pick("any", "option<number | string | bool>", "any"), g.fieldTail("k")),
		g.f("DEFINE FIELD w ON t TYPE option<record<user>>%s",
			g.pick("", " DEFAULT $auth", " READONLY", " VALUE $before.w ?? $value")),
		g.f("DEFINE FIELD c ON t %s", g.computed("COMPUTED type::of(n)", "COMPUTED count(->e)", "COMPUTED [n, s]",
			"TYPE any VALUE n", "TYPE any VALUE n ?? 0", "TYPE any DEFAULT s", "TYPE any VALUE rand::int(4, 4)")),
	}
	var out []string
	for _, f := range all {
		if g.chance(55) {
			out = append(out, f)
		}
	}
	return out
}

// computed draws what comes after the name of field c.
func (g *generator) computed(of ...string) string {
	tail := g.pick(of...)
	if strings.HasPrefix(tail, "COMPUTED") {
		g.whole = true
	}
	return tail
}

func (g *generator) fieldTail(f string) string {
	return g.pick("", "", "", " DEFAULT 1", " DEFAULT ALWAYS 'd'", " VALUE $value", " VALUE $before."+f+" ?? $value",
		" READONLY",
		" ASSERT $value != 'zz'", " ASSERT $value != 9 AND $input != 8", " ASSERT type::is_int($value) OR $value = NONE",
		" PERMISSIONS FOR select WHERE w = $auth, FOR create, update FULL", " PERMISSIONS FOR select NONE",
		" PERMISSIONS FOR update WHERE n < 3, FOR create NONE", " COMMENT 'c'")
}

func (g *generator) permissions() string {
	return g.pick("", "PERMISSIONS FULL", "PERMISSIONS FULL", "PERMISSIONS NONE",
		"PERMISSIONS FOR select WHERE n > 1, FOR create, update FULL, FOR delete WHERE true",
		"PERMISSIONS FOR select FULL, FOR create WHERE n < 3, FOR update WHERE $before.n < $after.n, FOR delete WHERE w = $auth",
		"PERMISSIONS FOR select, update WHERE w = $auth OR b, FOR create FULL, FOR delete WHERE false",
		"PERMISSIONS FOR select WHERE l.n > 1 OR n = 2, FOR create, update, delete WHERE $auth.n = 2")
}

// edgePermissions mostly let record users see every edge: hidden ones are hidden from paths, which the reference shows.
func (g *generator) edgePermissions() string {
	if g.record && g.chance(85) {
		return "PERMISSIONS FULL"
	}
	return g.permissions()
}

func (g *generator) index() string {
	return g.f("DEFINE INDEX %s ON %s %s", g.pick("i1", "i2", "i3"), g.pick("t", "t", "u"), g.pick(
		"FIELDS n", "FIELDS s", "FIELDS n, s", "FIELDS s UNIQUE", "FIELDS n, s UNIQUE", "FIELDS o.x", "FIELDS l",
		"FIELDS b", "FIELDS l.n", "COUNT", "FIELDS n, b"))
}

func (g *generator) event() string {
	return g.f("DEFINE EVENT ev ON t WHEN %s THEN (%s)",
		g.pick("true", "$event = 'CREATE'", "$event != 'DELETE'", "$before.n != $after.n", "$after.n > 2"),
		g.pick("UPSERT u:9 SET s = $event, n = $after.n", "UPDATE u:1 SET k = [$event, $before.n, $after.n]",
			"UPSERT u:9 SET k = $value.n, o = $value.o", "DELETE u:2", "UPSERT u:9 SET n += 1, w = $auth"))
}

func (g *generator) view() string {
	return "DEFINE TABLE v AS " + g.pick(
		"SELECT count() AS c, n FROM t GROUP BY n", "SELECT n, s FROM t WHERE n > 1", "SELECT * FROM t WHERE b",
		"SELECT math::sum(n) AS m, count() AS c FROM t GROUP ALL",
		"SELECT math::max(n) AS m, math::min(n) AS i, s FROM t GROUP BY s", "SELECT count() AS c, s FROM u WHERE n < 3 GROUP BY s",
	) + g.pick("", " PERMISSIONS FULL", " PERMISSIONS FOR select WHERE n > 1")
}

// definition changes the schema after there is data.
func (g *generator) definition() string {
	return g.draw(
		g.index,
		func() string { return g.fields0() },
		g.event,
		func() string { return "REMOVE INDEX IF EXISTS " + g.pick("i1", "i2", "i3") + " ON t" },
		func() string {
			return "REMOVE FIELD IF EXISTS " + g.pick("n", "s", "a", "o", "o.x", "l", "c") + " ON t"
		},
		func() string { return "REMOVE EVENT IF EXISTS ev ON t" },
		func() string { return "REMOVE TABLE " + g.pick("t", "u", "v", "nosuch") },
		func() string { return "REBUILD INDEX IF EXISTS i1 ON t" },
		func() string {
			return "ALTER TABLE t " + g.pick("SCHEMAFULL", "SCHEMALESS", "PERMISSIONS FULL", "COMMENT 'x'", "TYPE ANY")
		},
		func() string {
			return "ALTER FIELD IF EXISTS n ON t " + g.pick("DROP DEFAULT", "DROP ASSERT", "TYPE any", "READONLY",
				"DEFAULT 5", "DROP VALUE")
		},
		func() string { return "INFO FOR TABLE " + g.pick("t", "u", "e", "v") + g.pick("", " STRUCTURE") },
		func() string { return "INFO FOR DB" + g.pick("", " STRUCTURE") },
		func() string { return "DEFINE TABLE OVERWRITE u " + g.permissions() },
	)
}

// fields0 redefines one field.
func (g *generator) fields0() string {
	const prefix = "DEFINE FIELD "
	all := g.fields()
	if len(all) == 0 {
		return "DEFINE FIELD OVERWRITE n ON t TYPE any"
	}
	return prefix + g.pick("OVERWRITE ", "IF NOT EXISTS ", "") + all[g.r.IntN(len(all))][len(prefix):]
}
