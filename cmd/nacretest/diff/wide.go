package diff

// special draws values and expressions of the kinds that tables rarely hold: sets, ranges, geometry, closures,
// recursions, times and types. They read no current record.
func (g *generator) special(sub func() string) string {
	return g.draw(g.setExpr, g.rangeExpr, g.shapeExpr, g.recursion, g.timeExpr,
		func() string { return g.closureExpr(sub) },
		func() string { return g.castExpr(sub) },
		func() string { return g.textExpr(sub) },
	)
}

func (g *generator) set() string {
	return g.pick("{1, 2, 2}", "{,}", "{'a', 1}", "{3, 1, [2]}", "<set> [3, 1, 3]", "{{1, 2}, 2}")
}

func (g *generator) setExpr() string {
	return g.draw(
		func() string { return g.f("%s %s %s", g.set(), g.operator(), g.set()) },
		func() string { return g.f("%s %s %s", g.set(), g.operator(), g.literal()) },
		func() string {
			return g.f("set::%s(%s, %s)", g.pick("union", "intersect", "difference", "complement"), g.set(), g.set())
		},
		func() string {
			return g.f("set::%s(%s)", g.pick("len", "is_empty", "first", "last", "min", "max"), g.set())
		},
		func() string {
			return g.set() + g.pick(".len()", ".contains(1)", "[0]", "[$]", ".*", ".map(|$x| $x)",
				".filter(|$x| $x = 1)", ".add(7)", "[WHERE $this = 1]")
		},
		func() string { return g.f("<array> (%s)", g.set()) },
	)
}

func (g *generator) bounds() string {
	return g.pick("1..3", "1..=3", "1>..4", "..3", "2..", "'a'..'c'", "-2..2", "3..1",
		"d'2023-01-01T00:00:00Z'..d'2024-01-01T00:00:00Z'", "1.5..3", "[1]..[2]", "..")
}

func (g *generator) rangeExpr() string {
	return g.draw(
		func() string {
			return g.f("%s %s (%s)", g.literal(), g.pick("IN", "INSIDE", "NOT IN", "=", "<"), g.bounds())
		},
		func() string {
			return g.f("(%s) %s %s", g.bounds(), g.pick("CONTAINS", "=", "!=", "<", "CONTAINSNOT"), g.literal())
		},
		func() string { return g.f("(%s) = (%s)", g.bounds(), g.bounds()) },
		func() string { return g.f("<array> (%s)", g.pick("1..4", "1..=3", "0>..3", "3..1", "-2..2")) },
		func() string {
			return g.f("[%s][%s]", g.list(0, 5, ", ", g.integer),
				g.pick("1..", "..2", "0..=1", "1..5", "..", "2..1", "-1..2"))
		},
		func() string {
			return g.f("(%s).%s", g.pick("1..4", "1..=3"),
				g.pick("map(|$x| $x * 2)", "filter(|$x| $x > 1)", "fold(0, |$a, $x| $a + $x)"))
		},
		func() string { return g.f("[%s, %s].sort()", g.bounds(), g.literal()) },
		func() string { return g.f("<range> [%s, %s]", g.integer(), g.integer()) },
	)
}

func (g *generator) shape() string {
	return g.pick("(1, 2)", "(0, 0)", "(1.5, -2)", "{ type: 'Point', coordinates: [1, 2] }",
		"{ type: 'LineString', coordinates: [[0, 0], [2, 2]] }", "{ type: 'LineString', coordinates: [[0, 2], [2, 0], [3, 3]] }",
		"{ type: 'Polygon', coordinates: [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]] }",
		"{ type: 'Polygon', coordinates: [[[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]] }",
		"{ type: 'MultiPoint', coordinates: [[1, 1], [5, 5]] }",
		"{ type: 'GeometryCollection', geometries: [{ type: 'Point', coordinates: [1, 1] }] }")
}

func (g *generator) shapeExpr() string {
	return g.draw(
		func() string {
			return g.f("%s %s %s", g.shape(),
				g.pick("CONTAINS", "INSIDE", "INTERSECTS", "OUTSIDE", "=", "<", "CONTAINSNOT"), g.shape())
		},
		func() string {
			return g.f("geo::%s(%s)", g.pick("area", "centroid", "hash::encode", "is_valid"), g.shape())
		},
		func() string { return g.f("geo::%s(%s, %s)", g.pick("distance", "bearing"), g.shape(), g.shape()) },
		func() string { return g.shape() + g.pick(".type", ".coordinates", ".coordinates[0]", ".x") },
		func() string {
			return g.f("type::is_%s(%s)", g.pick("geometry", "point", "line", "polygon"), g.shape())
		},
		func() string {
			return g.f("<geometry<%s>> %s", g.pick("point", "line", "collection", "polygon | point"), g.shape())
		},
	)
}

// recursion follows links and edges again and again.
func (g *generator) recursion() string {
	depth := g.pick("{1}", "{2}", "{1..3}", "{..}", "{..2}", "{1..}", "{..+collect}", "{..3+path}",
		"{..+collect+inclusive}", "{..+shortest=t:3}", "{0}", "{2..1}")
	return g.row() + "." + depth + g.pick(".l", "(.l)", "->e->t", "(->e->t)", "->e->?", ".ls", "(<-e<-t)",
		".{ id, l: l.@ }", ".{ n, next: ->e->t.@ }", ".n", ".missing")
}

func (g *generator) moment() string {
	return g.pick("d'2024-01-02T03:04:05Z'", "d'2023-02-28T23:59:59.999Z'", "d'2024-02-29T00:00:00Z'",
		"d'1969-12-31T23:59:59Z'", "d'2024-01-02T03:04:05+02:00'")
}

func (g *generator) span() string {
	return g.pick("1h", "90m", "1d12h", "0ns", "1w", "1y", "1ms500us", "100000h")
}

func (g *generator) timeExpr() string {
	return g.draw(
		func() string {
			return g.f("(%s %s %s)", g.moment(), g.pick("+", "-", "<", ">=", "="), g.pick(g.moment(), g.span()))
		},
		func() string {
			return g.f("(%s %s %s)", g.span(), g.pick("+", "-", "*", "/", "<", "="),
				g.pick(g.span(), g.integer(), "1.5"))
		},
		func() string {
			return g.f("time::%s(%s)",
				g.pick("day", "month", "year", "wday", "week", "yday", "hour", "minute", "second", "unix", "nano",
					"millis", "is_leap_year"), g.moment())
		},
		func() string {
			return g.f("time::%s(%s, %s)", g.pick("floor", "ceil", "round"), g.moment(), g.span())
		},
		func() string {
			return g.f("time::group(%s, %s)", g.moment(), g.pick("'year'", "'month'", "'day'", "'hour'", "'nope'"))
		},
		func() string {
			return g.f("duration::%s(%s)", g.pick("days", "hours", "secs", "millis", "nanos", "weeks", "years"),
				g.span())
		},
		func() string {
			return g.f("time::format(%s, %s)", g.moment(), g.pick("'%Y-%m-%d'", "'%H:%M:%S'", "'%j %a %b'"))
		},
	)
}

func (g *generator) closureExpr(sub func() string) string {
	return g.draw(
		func() string { return g.f("(|$x| [$x, %s])(%s)", sub(), sub()) },
		func() string {
			return g.f("(|$x: %s| $x)(%s)",
				g.pick("int", "string", "option<int>", "option<number | string>", "array<int>"), sub())
		},
		func() string {
			return g.f("(|$x: any| -> %s { $x })(%s)", g.pick("int", "string", "any", "option<number>"), sub())
		},
		func() string {
			return g.f("[%s].map(|$v, $i| [$i, $v, %s])", g.list(0, 3, ", ", g.literal), sub())
		},
		func() string { return g.f("(|$f, $x| $f($f($x)))(|$y| $y + 1, %s)", sub()) },
		func() string { return g.f("{ LET $n = %s; [1, 2].map(|$x| [$x, $n]) }", sub()) },
		func() string {
			return g.f("{ a: 1, b: %s }.%s", sub(),
				g.pick("map(|$k, $v| $v)", "entries()", "keys()", "chain(|$o| $o.b)", "values().len()"))
		},
		func() string {
			return g.f("[%s].%s", g.list(1, 4, ", ", g.literal),
				g.pick("find_index(|$x| $x = 1)", "all(|$x| $x)", "filter_index(|$x| $x > 1)", "sort(|$a, $b| $a < $b)",
					"group()", "windows(2)", "clump(2)", "transpose()", "join('-')"))
		},
	)
}

func (g *generator) castExpr(sub func() string) string {
	return g.draw(
		func() string {
			return g.f("<%s> (%s)", g.pick("int", "float", "decimal", "number", "string", "bool", "array", "array<int>",
				"array<string, 2>", "set<int>", "record", "record<t>", "duration", "datetime", "uuid", "bytes",
				"object", "option<int>", "any", "range", "regex"), sub())
		},
		func() string {
			return g.f("type::%s(%s)", g.pick("is_array", "is_string", "is_number", "is_record", "is_object", "is_bool",
				"is_datetime", "is_duration", "is_null", "of", "array", "bool", "float", "int", "number", "string",
				"decimal", "duration", "datetime", "range"), sub())
		},
		func() string { return g.f("%s IS %s", sub(), g.pick("NONE", "NOT NONE", "NULL", "1")) },
		func() string {
			return g.f("type::%s", g.pick("record('t', 1)", "record('t:1')", "record('t:x', 'u')", "table('t')",
				"record('t', [1])", "field('n')", "fields(['n', 's'])", "point([1, 2])", "point(1)"))
		},
	)
}

func (g *generator) textExpr(sub func() string) string {
	return g.draw(
		func() string {
			return g.f("%s %s /%s/", g.str(), g.pick("=", "!=", "IN", "CONTAINS"), g.pick("a", "^b", "[ab]+", "é"))
		},
		func() string {
			return g.f("string::%s(%s, %s)", g.pick("ends_with", "split", "matches", "concat", "join", "repeat"), sub(),
				sub())
		},
		func() string { return g.f("string::slice(%s, %s, %s)", g.str(), g.integer(), g.integer()) },
		func() string { return g.f("string::replace(%s, %s, %s)", g.str(), g.str(), g.str()) },
		func() string {
			return g.f("string::%s(%s)",
				g.pick("reverse", "words", "lowercase", "slug", "is_alpha", "is_numeric", "is_record", "len"), g.str())
		},
		func() string {
			return g.f("parse::%s('http://a.b:80/c?d=e#f')", g.pick("url::host", "url::port", "url::query"))
		},
		func() string { return g.f("[%s, %s, %s].sort(%s)", sub(), sub(), sub(), g.pick("", "'desc'", "false")) },
	)
}

// further are definitions of other kinds than tables and what they hold, and statements that use them.
func (g *generator) further() string {
	return g.draw(
		func() string {
			return g.f("DEFINE SEQUENCE %ssq%s%s", g.pick("", "OVERWRITE ", "IF NOT EXISTS "),
				g.pick("", " BATCH 5", " BATCH 1"), g.pick("", " START 7", " START -2", " TIMEOUT 1s"))
		},
		func() string { return "RETURN sequence::nextval('sq')" },
		func() string { return "ALTER SEQUENCE IF EXISTS sq TIMEOUT " + g.pick("1s", "NONE", "5m") },
		func() string { return "REMOVE SEQUENCE " + g.pick("IF EXISTS ", "") + "sq" },
		func() string {
			return g.f("DEFINE PARAM %s$pp VALUE %s%s", g.pick("OVERWRITE ", "IF NOT EXISTS ", ""), g.free(1),
				g.pick("", " COMMENT 'p'"))
		},
		func() string { return "REMOVE PARAM " + g.pick("IF EXISTS ", "") + "$pp" },
		func() string {
			return g.f("DEFINE FUNCTION OVERWRITE fn::g($a: %s%s)%s { %s }",
				g.pick("int", "any", "option<string>", "array<int>", "number | string"),
				g.pick("", ", $b: option<int>"),
				g.pick("", " -> any", " -> option<int>"),
				g.pick("RETURN $a", "IF $a { RETURN 1 }; $b", "LET $x = $a; [$x, $b]", "{ RETURN { a: $a } }",
					"FOR $i IN [1] { RETURN $i }"))
		},
		func() string { return g.f("RETURN fn::g(%s)", g.list(0, 2, ", ", func() string { return g.free(1) })) },
		func() string { return "REMOVE FUNCTION " + g.pick("IF EXISTS ", "") + "fn::g" },
		func() string {
			return g.f("DEFINE ANALYZER OVERWRITE an%s%s%s", g.pick("", " TOKENIZERS blank", " TOKENIZERS class,camel"),
				g.pick("", " FILTERS lowercase", " FILTERS ngram(1,3), ascii", " FILTERS snowball(english)"),
				g.pick("", " COMMENT 'a'"))
		},
		func() string {
			return g.f("RETURN search::analyze('an', %s)", g.pick("'Hello big World'", "'aB cD'", "''"))
		},
		func() string { return "REMOVE ANALYZER " + g.pick("IF EXISTS ", "") + "an" },
		func() string {
			return g.f("DEFINE ACCESS OVERWRITE ac ON DATABASE TYPE %s%s",
				g.pick("RECORD", "RECORD SIGNUP (CREATE user) SIGNIN (SELECT * FROM user)",
					"JWT ALGORITHM HS256 KEY 'k'", "BEARER FOR USER", "BEARER FOR RECORD", "RECORD WITH REFRESH"),
				g.pick("", " DURATION FOR SESSION 1h", " DURATION FOR TOKEN 5m, FOR SESSION NONE", " COMMENT 'x'"))
		},
		func() string { return "REMOVE ACCESS " + g.pick("IF EXISTS ", "") + "ac ON DATABASE" },
		func() string {
			return g.f("DEFINE USER OVERWRITE us ON DATABASE PASSHASH 'h'%s%s",
				g.pick("", " ROLES OWNER", " ROLES VIEWER, EDITOR"),
				g.pick("", " DURATION FOR TOKEN 1h", " COMMENT 'u'"))
		},
		func() string { return "INFO FOR USER us ON DATABASE" + g.pick("", " STRUCTURE") },
		func() string { return "REMOVE USER " + g.pick("IF EXISTS ", "") + "us ON DATABASE" },
		func() string {
			return g.f("DEFINE CONFIG OVERWRITE GRAPHQL %s",
				g.pick("AUTO", "NONE", "TABLES INCLUDE t, u", "TABLES EXCLUDE t FUNCTIONS NONE",
					"TABLES AUTO FUNCTIONS AUTO DEPTH 3"))
		},
		func() string {
			return g.f("DEFINE API OVERWRITE '/x' %s",
				g.pick("FOR get THEN { { body: 1 } }", "FOR any PERMISSIONS NONE",
					"FOR post, put PERMISSIONS FULL THEN { RETURN {} }"))
		},
		func() string {
			return "ALTER TABLE " + g.pick("", "IF EXISTS ") + g.pick("t", "u", "e",
				"nosuch") + " " + g.pick("SCHEMAFULL", "SCHEMALESS", "PERMISSIONS NONE",
				"PERMISSIONS FOR select WHERE n > 1, FOR delete FULL", "DROP COMMENT", "COMMENT 'y' SCHEMALESS",
				"TYPE NORMAL", "TYPE RELATION IN t OUT u", "CHANGEFEED 1h", "DROP CHANGEFEED")
		},
		func() string {
			return "ALTER FIELD " + g.pick("", "IF EXISTS ") + g.pick("n", "s", "a", "o.x", "l",
				"k") + " ON t " + g.pick("TYPE option<int>", "DROP TYPE", "VALUE $value ?? 1", "ASSERT $value != 4",
				"DEFAULT ALWAYS 3", "COMMENT 'z'", "DROP COMMENT", "READONLY DROP ASSERT", "DROP READONLY",
				"PERMISSIONS NONE", "FLEXIBLE", "DROP REFERENCE")
		},
		func() string {
			return "ALTER INDEX " + g.pick("", "IF EXISTS ") + g.pick("i1", "i2") + " ON t " + g.pick("COMMENT 'i'",
				"DROP COMMENT", "PREPARE REMOVE")
		},
		func() string {
			return g.f("DEFINE FIELD OVERWRITE z ON %s TYPE %s%s", g.pick("t", "u"), g.typeText(2),
				g.pick("", "", " DEFAULT 1", " REFERENCE", " FLEXIBLE", " VALUE $value", " READONLY"))
		},
		func() string { return g.f("UPDATE t:1 SET z = %s", g.special(g.literal)) },
		func() string {
			return g.pick("BREAK", "CONTINUE", "THROW { a: 1 }", "SLEEP 0ns", "RETURN NONE", "OPTION IMPORT = false")
		},
		func() string { return g.f("SHOW CHANGES FOR TABLE %s SINCE 0 LIMIT 1", g.pick("u", "nosuch")) },
	)
}

// typeText draws a type.
func (g *generator) typeText(depth int) string {
	if depth == 0 || g.chance(40) {
		return g.pick("int", "string", "bool", "any", "number", "datetime", "record", "record<t>", "record<t | u>",
			"object", "geometry<point>", "duration", "decimal", "'a' | 'b'", "1 | 2", "regex", "uuid", "none", "null",
			"range", "bytes")
	}
	sub := func() string { return g.typeText(depth - 1) }
	return g.draw(
		func() string { return g.f("option<%s>", sub()) },
		func() string { return g.f("array<%s>", sub()) },
		func() string { return g.f("array<%s, %d>", sub(), g.r.IntN(4)) },
		func() string { return g.f("set<%s>", sub()) },
		func() string { return g.f("%s | %s", sub(), sub()) },
		func() string { return g.f("{ a: %s, b: %s }", sub(), sub()) },
		func() string { return g.f("[%s, %s]", sub(), sub()) },
	)
}
