package pgwire_test

// orderedSet is an aggregate of a kind with WITHIN GROUP.
func (g *queries) orderedSet(kind, filter string, fields []field) string {
	e := func(kind string) string {
		if kind == "text" { // a literal would have no type
			return g.one("lower(", "(") + g.column(kind, fields) + ")"
		}
		return g.expr(1, kind, fields)
	}
	order := func(x string) string {
		dir := g.one("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
		return " WITHIN GROUP (ORDER BY " + x + dir + ")" + filter
	}
	part := g.one("0.5", "0.5", "0.25", "0", "1", "0.9", "0.999", "NULL::float8", "1::float8 / 3")
	of := g.one("int", "text", "float", "numeric", "time")
	switch {
	case kind == "float" && g.chance(2):
		return "percentile_cont(" + part + ")" + order(e(g.one("int", "float", "numeric")))
	case kind == "float":
		return g.one("percent_rank(", "cume_dist(") + g.constant(of) + ")" + order(e(of))
	case kind == "int" && g.chance(2):
		return g.one("rank(", "dense_rank(") + g.constant(of) + ")" + order(e(of))
	case kind == "text" && g.chance(3):
		list := "ARRAY[" + g.one("0", "0.5", "0.75") + ", NULL, " + g.one("1", "0.1", "0.5") + "]"
		x := g.one("cont("+list+")"+order(e(g.one("int", "float"))),
			"disc("+list+")"+order(e(g.one("int", "text", "time"))))
		return "(percentile_" + x + ")::text"
	case g.chance(2):
		return "mode()" + order(e(kind))
	}
	return "percentile_disc(" + part + ")" + order(e(kind))
}
