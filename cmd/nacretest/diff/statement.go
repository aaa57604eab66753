package diff

import (
	"slices"
	"strings"
)

// condition of a WHERE, mostly simple comparisons that indexes can serve.
func (g *generator) condition() string {
	one := func() string {
		switch n := g.r.IntN(10); {
		case n < 5:
			return g.f("%s %s %s", g.pick("n", "n", "s", "o.x", "k", "l", "b", "id", "l.n", "a"),
				g.pick("=", "=", "!=", "<", "<=", ">", ">=", "IN", "CONTAINS", "NOT IN"), g.comparand())
		case n < 7:
			return g.pick("b", "!b", "n", "s", "l", "a CONTAINS 1", "n IN [1, 2]", "s IN ['a', 'b']", "n > 0 AND n < 3",
				"->e", "count(->e) > 0", "->e->u.n CONTAINS 1", "n IN 1..3", "n = NONE", "l.n > 1", "w = $auth",
				"id IN [t:1, t:2]", "id > t:2", "a ANYINSIDE [1, 2]", "o.x = n")
		default:
			return g.expr(1)
		}
	}
	return g.list(1, 2, g.pick(" AND ", " OR "), one)
}

func (g *generator) comparand() string {
	return g.draw(g.integer, g.integer, g.str, g.literal, g.field,
		func() string { return g.f("[%s]", g.list(0, 3, ", ", g.literal)) })
}

// source of a SELECT.
func (g *generator) source() string {
	return g.draw(
		g.table, g.table, g.table, g.table, g.table, g.table,
		func() string { return g.row() },
		func() string { return g.pick("t", "u") + ":" + g.pick("1..3", "2..", "..3", "1..=3", "1>..3", "..") },
		func() string { return g.list(1, 3, ", ", g.row) },
		func() string { return g.f("t:%d->e", 1+g.r.IntN(3)) },
		func() string { return g.f("(%s)", g.query()) },
		func() string { return g.pick("v", "user", "f", "t, u", "nosuch") },
		func() string {
			return g.pick("[1, 2, 3]", "[{ n: 1, s: 'a' }, { n: 2 }, { n: 1, s: 'b' }]", "{ n: 3, a: [1, 2] }", "$rows",
				"1..4", "NONE")
		},
	)
}

// query is a SELECT.
func (g *generator) query() string {
	if g.chance(3) {
		return g.f("SELECT VALUE %s FROM ONLY %s", g.expr(1), g.pick(g.row(), "t LIMIT 1", "u WHERE n = 1"))
	}
	switch n := g.r.IntN(100); {
	case n < 18:
		return g.grouped()
	case n < 36:
		fields := []string{g.plain()}
		for range g.r.IntN(3) {
			if f := g.plain(); !slices.Contains(fields, f) {
				fields = append(fields, f)
			}
		}
		order := fields[g.r.IntN(len(fields))]
		return "SELECT " + strings.Join(fields,
			", ") + " FROM " + g.source() + g.where() + g.order(order) + g.page() + g.maybe(10,
			func() string { return " FETCH l" })
	case n < 56:
		return "SELECT *" + g.maybe(25, func() string { return g.f(", %s AS x", g.expr(1)) }) + g.maybe(10,
			func() string { return " OMIT " + g.plain() }) + " FROM " + g.source() +
			g.maybe(6, func() string { return " WITH NOINDEX" }) + g.where() + g.maybe(10,
			func() string { return " SPLIT " + g.pick("a", "ls", "n") }) +
			g.maybe(50, func() string { return g.order(g.plain()) }) + g.page() + g.maybe(20,
			func() string { return " FETCH " + g.pick("l", "ls", "l.l", "w", "l, ls") })
	case n < 66:
		return "SELECT VALUE " + g.expr(1) + " FROM " + g.source() + g.where() + g.page()
	case n < 76:
		return g.f("SELECT %s, %s AS x FROM %s%s%s", g.field(), g.expr(1), g.source(), g.where(), g.page())
	default:
		return g.f("SELECT %s AS x, id FROM %s%s%s%s", g.expr(2), g.source(), g.where(),
			g.maybe(30, func() string { return g.order("x") }), g.page())
	}
}

func (g *generator) where() string {
	return g.maybe(55, func() string { return " WHERE " + g.condition() })
}

func (g *generator) order(f string) string {
	if g.chance(60) {
		return ""
	}
	return " ORDER BY " + f + g.pick("", " ASC", " DESC", " COLLATE", " NUMERIC DESC", " DESC")
}

func (g *generator) page() string {
	return g.maybe(15, func() string { return " LIMIT " + g.pick("1", "2", "3", "0") }) + g.maybe(8,
		func() string { return " START " + g.pick("0", "1", "2") })
}

// grouped has aggregates.
func (g *generator) grouped() string {
	agg := func() string {
		return g.f("%s AS x%d", g.pick("count()", "count(n > 1)", "math::sum(n)", "math::mean(n)", "math::max(n)",
			"math::min(n)", "array::group(a)", "array::distinct(s)", "math::stddev(n)",
			"array::len(n)", "n", "count() + 1", "math::sum(n) / count()", "time::min(k)", "array::first(s)",
			"count(b)"), g.r.IntN(9))
	}
	src, where := g.pick("t", "t", "u", "e", "v", "t:1..3"), g.where()
	if !g.record && g.chance(40) {
		return g.f("SELECT %s FROM %s%s GROUP ALL", g.list(1, 3, ", ", agg), src, where)
	}
	key := g.pick("n", "s", "b", "l", "k", "o.x")
	return g.f("SELECT %s, %s FROM %s%s GROUP BY %s%s%s", key, g.list(1, 2, ", ", agg), src, where, key,
		g.maybe(40, func() string { return g.order(key) }), g.page())
}

// data clause of a write.
func (g *generator) clause() string {
	return g.draw(
		func() string { return " SET " + g.list(1, 3, ", ", g.assignment) },
		func() string { return " SET " + g.list(1, 3, ", ", g.assignment) },
		func() string { return " SET " + g.values() },
		func() string { return g.f(" CONTENT { n: %s, s: %s }", g.integer(), g.str()) },
		func() string {
			return g.f(" CONTENT { n: %s, a: [%s], k: %s, o: { x: %s } }", g.integer(), g.integer(), g.literal(), g.integer())
		},
		func() string { return g.f(" MERGE { n: %s, o: { x: %s } }", g.integer(), g.literal()) },
		func() string { return g.f(" MERGE { %s: %s }", g.pick("n", "s", "k", "b", "extra"), g.literal()) },
		func() string { return g.f(" REPLACE { n: %s, l: %s }", g.integer(), g.row()) },
		func() string {
			return g.f(" PATCH [{ op: '%s', path: '/%s', value: %s }]", g.pick("add", "replace", "remove", "test"),
				g.pick("n", "s", "o/x", "a/0", "a/-", "k"), g.literal())
		},
		func() string { return " UNSET " + g.pick("n", "s", "o.x", "a", "k", "a[0]", "l, k", "missing") },
		func() string { return "" },
	)
}

func (g *generator) assignment() string {
	return g.draw(
		func() string {
			return g.f("%s = %s", g.pick("n", "s", "k", "b", "a", "o.x", "l", "a[0]", "o", "extra"), g.literal())
		},
		func() string { return g.f("%s = %s", g.pick("n", "k", "s", "o.x"), g.expr(1)) },
		func() string {
			return g.f("%s %s %s", g.pick("n", "a", "k", "o.x"), g.pick("+=", "-=", "+?="), g.literal())
		},
		func() string { return g.f("n = n + %s", g.integer()) },
		func() string { return g.f("a[*] = %s", g.integer()) },
	)
}

func (g *generator) output() string {
	return g.maybe(35, func() string {
		return " RETURN " + g.draw(func() string {
			return g.pick("NONE", "BEFORE", "AFTER", "DIFF", "VALUE n", "n, id", "$before.n AS p, $after.n AS q",
				"VALUE $before", "NULL")
		}, func() string { return "id, " + g.expr(1) + " AS r" })
	})
}

// target of UPDATE, UPSERT and DELETE.
func (g *generator) target() string {
	return g.draw(g.row, g.row, g.row, g.table, g.table, func() string { return g.pick("ONLY ", "") + g.row() },
		func() string { return "t:1..3" },
		func() string { return g.f("[%s]", g.list(1, 3, ", ", g.row)) }, func() string {
			return g.pick("t:1->e", "u:8", "nosuch", "v", "user", "user:1", "user:2", "$rows")
		})
}

// narrow is the WHERE of a write.
func (g *generator) narrow() string {
	if g.whole {
		return ""
	}
	return g.where()
}

// write changes records.
func (g *generator) write() string {
	return g.draw(
		func() string {
			return "CREATE " + g.pick("", "ONLY ") + g.f("%s:%d", g.pick("t", "t", "u", "e", "nosuch"),
				4+g.r.IntN(6)) + g.clause() + g.output()
		},
		func() string { return "UPDATE " + g.target() + g.clause() + g.narrow() + g.output() },
		func() string { return "UPDATE " + g.target() + g.clause() + g.narrow() + g.output() },
		func() string {
			return "UPSERT " + g.pick("", "", "ONLY ") + g.row() + " SET " + g.values() + g.output()
		}, // the reference evaluates others as if for a new record; generated ids come in any order
		func() string { return "DELETE " + g.target() + g.narrow() + g.output() },
		func() string {
			return g.f("RELATE %s->%s:%d->%s%s%s", g.row(), g.pick("e", "e", "f"), 1+g.r.IntN(8), g.row(), g.clause(),
				g.output())
		},
		func() string {
			return g.f("RELATE [%s]->%s:[%d]->%s%s", g.row(), g.pick("e", "f"), g.r.IntN(9), g.row(), g.output())
		},
		g.insert,
	)
}

func (g *generator) insert() string {
	row := func() string {
		return g.f("{ id: %d, n: %s, %s: %s }", 1+g.r.IntN(9), g.integer(), g.pick("s", "k", "b", "extra"), g.literal())
	}
	return g.draw(
		func() string {
			return g.f("INSERT %sINTO %s %s%s", g.pick("", "", "IGNORE "), g.pick("t", "t", "u"), row(), g.output())
		},
		func() string {
			return g.f("INSERT %sINTO %s [%s]%s", g.pick("", "IGNORE "), g.pick("t", "u"), g.list(1, 3, ", ", row),
				g.output())
		},
		func() string {
			return g.f("INSERT INTO %s %s ON DUPLICATE KEY UPDATE %s%s", g.pick("t", "t", "u"), row(),
				g.pick("n += 1", "n = $input.n", "s = $before.n, k = $input", "k = n", "a += n"), g.output())
		},
		func() string {
			return g.f("INSERT INTO %s (id, n, s) VALUES (%d, %s, %s), (%d, %s, %s)%s", g.pick("t", "u"), 5+g.r.IntN(5),
				g.integer(), g.str(), 5+g.r.IntN(5), g.literal(), g.str(), g.output())
		},
		func() string {
			return g.f("INSERT RELATION INTO %s { id: %d, in: %s, out: %s, n: %s }%s", g.pick("e", "f"), 1+g.r.IntN(9),
				g.row(), g.row(), g.integer(), g.output())
		},
	)
}
