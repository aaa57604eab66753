package diff

func (g *generator) integer() string {
	return g.pick("1", "2", "3", "1", "2", "0", "-1", "5", "8", "9")
}

func (g *generator) str() string {
	return g.pick("'a'", "'b'", "'ab'", "'B'", "''", "'zz'", "'a b'", "'10'", "'é'")
}

// literal of any kind.
func (g *generator) literal() string {
	return g.draw(g.integer, g.integer, g.str, g.str,
		func() string { return g.pick("true", "false", "NONE", "NULL") },
		func() string { return g.pick("1.5", "2f", "-0.5", "1e3", "2dec", "1.50dec") },
		func() string { return g.f("[%s]", g.list(0, 3, ", ", g.integer)) },
		func() string { return g.f("[%s, %s]", g.str(), g.row()) },
		func() string { return g.f("{ x: %s, y: %s }", g.integer(), g.str()) },
		g.row,
		func() string {
			return g.pick("1h", "90m", "d'2024-01-02T03:04:05Z'", "d'2023-06-01T00:00:00Z'", "1..3",
				"u'018e1a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b'", "(1, 2)", "{1, 2, 2}", "t:[1, 'x']", "'t:1'")
		},
	)
}

// field of a record, or a path from it.
func (g *generator) field() string {
	return g.pick("n", "n", "s", "s", "b", "a", "o", "o.x", "o.y", "l", "l.n", "l.s", "l.l.n", "ls.n", "ls", "k", "w",
		"w.name", "id", "c", "missing",
		"a[0]", "a[$]", "(a ?? [])[WHERE $this > 1]", "->e", "->e->u", "->e->(u WHERE n > 1)", "<-e<-t", "->f.n", "->?",
		"n.missing", "$this.n",
		"->e->u.n", "ls[0].n", "(ls ?? [])[WHERE n > 1]", "<~t", "->(e WHERE n > 1)->u", "<->e", "in", "out",
		"a.?.len()", "s.?.uppercase()", "id.?.id()", "l.?.n", "o.{ x }", "l.{ n, s }", "{ n, s }", "->e[0]",
		"->e[WHERE n = 1].n")
}

// sortable is a plain field.
func (g *generator) plain() string { return g.pick("n", "s", "b", "o.x", "id", "k", "l", "a", "w") }

func (g *generator) operator() string {
	return g.pick("+", "-", "*", "/", "=", "==", "!=", "<", "<=", ">", ">=", "IN", "NOT IN", "CONTAINS", "CONTAINSANY",
		"CONTAINSALL", "CONTAINSNONE",
		"INSIDE", "ALLINSIDE", "ANYINSIDE", "&&", "||", "??", "?:", "%", "**", "?=", "*=", "AND", "OR")
}

// expr reads the current record.
func (g *generator) expr(depth int) string {
	if depth == 0 {
		return g.draw(g.field, g.field, g.literal,
			func() string { return g.pick("$auth", "$auth.n", "$pp", "$p", "$rows") })
	}
	return g.compound(depth, g.expr)
}

// free reads no current record.
func (g *generator) free(depth int) string {
	if depth == 0 {
		return g.draw(g.literal, g.literal, func() string {
			return g.row() + g.pick(".n", ".s", ".o.x", ".l.n", ".ls.n", ".a[0]", ".*", "->e", "->e->u", "<-e<-t.n",
				".missing", ".w.name", ".ls", "->?")
		},
			func() string {
				return g.pick("$auth", "$auth.name", "$pp", "$p", "$rows", "$rows.n", "t:1->e->u", "t:2->e",
					"u:1<-e<-t.n", "t:1.{1..3}->e->t", "t:1.{..}->e->t", "t:1..=3")
			})
	}
	return g.compound(depth, g.free)
}

func (g *generator) compound(depth int, deeper func(int) string) string {
	sub := func() string { return deeper(depth - 1) }
	return g.draw(sub, sub,
		func() string { return g.special(sub) },
		func() string { return g.special(sub) },
		func() string { return g.f("(%s %s %s)", sub(), g.operator(), sub()) },
		func() string { return g.f("(%s %s %s)", sub(), g.operator(), sub()) },
		func() string { return g.f("(%s)", g.query()) },
		func() string { return g.f("%s(%s)", g.pick(unary...), sub()) },
		func() string { return g.f("%s(%s, %s)", g.pick(binary...), sub(), sub()) },
		func() string { return g.f("%s(%s)", g.pick(unary...), g.f("[%s]", g.list(0, 4, ", ", sub))) },
		func() string {
			return g.f("%s(%s)", g.pick("!", "-", "<string> ", "<int> ", "<array> ", "<bool> ", "<set> ", "<record> ",
				"<float> "), sub())
		},
		func() string { return g.f("[%s]", g.list(1, 3, ", ", sub)) },
		func() string { return g.f("{ p: %s, q: %s }", sub(), sub()) },
		func() string { return g.f("IF %s { [%s] } ELSE { [%s] }", sub(), sub(), sub()) },
		func() string {
			return g.f("[%s].%s", g.list(1, 4, ", ", g.integer),
				g.pick("map(|$x| $x + 1)", "filter(|$x| $x > 1)", "fold(0, |$s, $x| $s + $x)", "any(|$x| $x = 2)",
					"find(|$x| $x > 1)", "sort()", "distinct()", "reduce(|$s, $x| $s * $x)", "first()", "max()"))
		},
		func() string { return g.f("fn::f(%s)", sub()) },
	)
}

var unary = []string{"count", "type::of", "array::len", "array::distinct", "array::flatten", "array::sort",
	"string::uppercase", "string::len", "math::sum", "math::max", "math::mean",
	"array::first", "object::keys", "object::values", "record::id", "record::tb", "record::exists", "type::is_int",
	"type::is_none", "not", "array::group", "string::trim", "array::reverse", "type::string", "math::abs", "array::max",
	"object::entries"}

var binary = []string{"array::append", "array::union", "array::intersect", "string::concat", "string::contains",
	"array::at", "array::difference", "math::pow", "array::push", "string::split", "array::concat", "array::add",
	"object::extend", "string::starts_with"}
