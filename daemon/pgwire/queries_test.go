package pgwire_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// queries makes random queries over the tables x, y and z.
type queries struct {
	r     *rand.Rand
	names int
}

// field is a column that a query may use.
type field struct{ name, kind string }

// kindsOf are the types of the columns of the tables.
var kindsOf = []field{{"id", "text"}, {"b", "bool"}, {"d", "numeric"}, {"f", "float"}, {"k", "int"}, {"n", "int"},
	{"s", "text"}, {"t", "time"}}

func (g *queries) one(list ...string) string { return pickOf(g.r, list...) }

func (g *queries) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *queries) alias() string {
	g.names++
	return fmt.Sprintf("q%d", g.names)
}

// query is a whole query whose rows have an order, or are one.
func (g *queries) query(depth int) string {
	var with string
	table := ""
	if g.chance(5) {
		table = g.alias()
		with = "WITH " + table + " AS (" + g.body(depth-1, "", 0, nil) + ") "
		if g.chance(4) {
			with = "WITH RECURSIVE " + table + "(i, j) AS (SELECT k, 1 FROM x WHERE k IS NOT NULL UNION " +
				g.one("ALL ",
					"") + "SELECT i + 1, j + 1 FROM " + table + " WHERE j < 3) "
			return with + "SELECT i, count(*), sum(j) FROM " + table + " GROUP BY i ORDER BY 1"
		}
	}
	n := 1 + g.r.IntN(3)
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = g.one("int", "int", "text", "bool", "float", "numeric", "time")
	}
	body := g.body(depth, table, n, kinds)
	for g.chance(6) {
		body += " " + g.one("UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL") + " " +
			g.body(depth-1,
				"", n, kinds)
	}
	order := make([]string, n)
	for i := range order {
		order[i] = fmt.Sprint(i+1) + g.one("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	}
	g.r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	text := with + body + " ORDER BY " + strings.Join(order, ", ")
	if g.chance(3) {
		text += fmt.Sprintf(" LIMIT %d", g.r.IntN(8))
	}
	if g.chance(4) {
		text += fmt.Sprintf(" OFFSET %d", g.r.IntN(4))
	}
	return text
}

// body is a SELECT of columns of the given kinds. Without kinds it has all columns of a table, by their names.
func (g *queries) body(depth int, cte string, n int, kinds []string) string {
	if kinds == nil {
		from, fields := g.from(0, "")
		text := "SELECT " + fields[0].name[:strings.IndexByte(fields[0].name, '.')] + ".* FROM " + from
		if g.chance(2) {
			text += " WHERE " + g.expr(1, "bool", fields)
		}
		return text
	}
	from, fields := g.from(depth, cte)
	where := ""
	if g.chance(2) {
		where = " WHERE " + g.condition(depth, fields)
	}
	items := make([]string, n)
	switch g.r.IntN(6) {
	case 0, 1: // groups
		kind := g.one("int", "text", "bool")
		keys := []string{g.expr(1, kind, fields)}
		if g.chance(3) {
			keys = append(keys, fields[g.r.IntN(len(fields))].name)
		}
		for i := range items {
			items[i] = g.aggregate(kinds[i], fields)
		}
		if g.chance(4) {
			return "SELECT " + strings.Join(items, ", ") + " FROM " + from + where // one group
		}
		for i := range items {
			if kinds[i] == kind && g.chance(2) {
				items[i] = keys[0]
			}
		}
		by := g.groupBy(keys, items, fields)
		text := "SELECT " + strings.Join(items, ", ") + " FROM " + from + where + " GROUP BY " + by
		if g.chance(3) {
			text += " HAVING " + g.one("count(*) > 1", "min("+g.column("int", fields)+") IS NOT NULL", "bool_or("+
				g.expr(1, "bool", fields)+")", "count("+g.column("text", fields)+") <= 3")
		}
		return text
	case 2: // windows
		for i := range items {
			items[i] = g.expr(depth, kinds[i], fields)
			if g.chance(2) || kinds[i] == "int" {
				items[i] = g.window(kinds[i], fields)
			}
		}
	default:
		for i := range items {
			items[i] = g.expr(depth, kinds[i], fields)
		}
	}
	return "SELECT " + g.one("", "", "", "DISTINCT ") + strings.Join(items, ", ") + " FROM " + from + where
}

// from is a FROM clause and its columns.
func (g *queries) from(depth int, cte string) (string, []field) {
	table := func() (string, []field) {
		alias := g.alias()
		var fields []field
		for _, f := range kindsOf {
			fields = append(fields, field{alias + "." + f.name, f.kind})
		}
		switch {
		case cte != "" && g.chance(2):
			return cte + " " + alias, fields
		case depth > 1 && g.chance(5):
			inner, _ := g.from(0, "")
			sub := inner[strings.IndexByte(inner, ' ')+1:]
			text := "(SELECT * FROM " + inner
			if g.chance(2) {
				text += " WHERE " + sub + ".k " + g.one("= 1", "> 1", "IS NOT NULL")
			}
			return text + ") AS " + alias, fields
		}
		return g.one("x", "y", "z") + " " + alias, fields
	}
	text, fields := table()
	if depth <= 0 {
		return text, fields
	}
	for g.chance(2) && len(fields) < 24 {
		next, more := table()
		join := g.one("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ",")
		l, r := g.column("int", fields), g.column("int", more)
		all := append(append([]field(nil), fields...), more...)
		switch join {
		case ",":
			text += ", " + next
			if strings.Contains(text, "JOIN") && g.chance(2) {
				break
			}
			return text, all
		case "CROSS JOIN":
			text += " CROSS JOIN " + next
		default:
			text += " " + join + " " + next + " ON " + l + " = " + r
			if join != "FULL JOIN" && g.chance(3) { // PostgreSQL refuses it for FULL JOIN
				text += " AND " + g.column("int", all) + g.one(" > ", " <= ") + g.column("int", all)
			}
		}
		fields = all
	}
	return text, fields
}

// column is a column of a kind, or a constant where there is none.
func (g *queries) column(kind string, fields []field) string {
	var list []string
	for _, f := range fields {
		if f.kind == kind {
			list = append(list, f.name)
		}
	}
	return g.one(list...)
}

func (g *queries) constant(kind string) string {
	switch kind {
	case "int":
		return g.one("0", "1", "2", "-1", "7", "NULL::int8", "100")
	case "float":
		return g.one("0.5::float8", "1e10::float8", "'-2.5'::float8", "NULL::float8")
	case "numeric":
		return g.one("1.5", "0.25", "10.0", "NULL::numeric", "-2.25")
	case "text":
		return g.one("'a'", "'ab'", "''", "'Q'", "NULL::text", "'10'")
	case "time":
		return g.one("'2024-01-01 00:00:00+00'::timestamptz", "TIMESTAMPTZ '1999-12-31 23:59:59+00'",
			"NULL::timestamptz")
	}
	return g.one("true", "false", "NULL::bool")
}

// expr is an expression of a kind.
func (g *queries) expr(depth int, kind string, fields []field) string {
	if depth <= 0 || g.chance(3) {
		if g.chance(5) {
			return g.constant(kind)
		}
		return g.column(kind, fields)
	}
	e := func(kind string) string { return g.expr(depth-1, kind, fields) }
	switch g.r.IntN(8) {
	case 0:
		return "CASE WHEN " + e("bool") + " THEN " + e(kind) + g.one("", " ELSE "+e(kind)) + " END"
	case 1:
		return "coalesce(" + e(kind) + ", " + e(kind) + ")"
	case 2:
		return g.one("nullif", "greatest", "least") + "(" + e(kind) + ", " + e(kind) + ")"
	}
	switch kind {
	case "int":
		return g.one("("+e("int")+g.one(" + ", " - ", " * ")+e("int")+")", "("+e("int")+g.one(" / ", " % ")+
			g.one("2", "3",
				"-7", "nullif("+e("int")+", 0)")+")", "length("+e("text")+")::int8", "abs("+e("int")+")", "(- "+
			e("int")+")",
			"strpos("+e("text")+", "+e("text")+")::int8", "("+e("bool")+")::int4::int8", "extract("+g.one("year",
				"month", "dow",
				"hour", "quarter", "week", "doy")+" FROM "+e("time")+")::int8", "("+e("int")+g.one(" & ", " | ",
				" # ")+e("int")+")")
	case "float":
		return g.one("("+e("float")+g.one(" + ", " - ", " * ")+e("float")+")", e("int")+"::float8", "abs("+
			e("float")+")",
			"floor("+e("float")+")", "("+e("numeric")+")::float8")
	case "numeric":
		return g.one("("+e("numeric")+g.one(" + ", " - ", " * ")+e("numeric")+")", e("int")+"::numeric", "abs("+
			e("numeric")+")",
			"round("+e("numeric")+", 1)", "("+e("numeric")+" / 4)", "ceil("+e("numeric")+")", "("+e("int")+" * 0.5)")
	case "text":
		return g.one("("+e("text")+" || "+e("text")+")", g.one("lower", "upper", "reverse", "btrim", "md5")+"("+
			e("text")+")",
			"substring("+e("text")+" FROM "+g.one("1", "2")+" FOR "+g.one("1", "3")+")", "("+e("int")+")::text",
			"("+e("bool")+
				")::text", "left("+e("text")+", "+g.one("1", "-1", "2")+")", "replace("+e("text")+", 'a', 'x')",
			"lpad("+e("text")+
				", 4, '*')", "concat("+e("text")+", "+e("int")+")", "split_part("+e("text")+", 'b', 1)", "repeat("+
				e("text")+", 2)")
	case "time":
		return g.one("date_trunc('"+g.one("day", "month", "hour", "year", "week", "minute")+"', "+e("time")+")",
			e("time")+
				" + interval '1 mon -1 day'", e("time")+" - interval '90 minutes'",
			"("+e("time")+")::date::timestamptz")
	}
	return g.condition(depth, fields)
}

// condition is a condition, with sub-queries.
func (g *queries) condition(depth int, fields []field) string {
	if depth <= 0 {
		return g.column("bool", fields)
	}
	e := func(kind string) string { return g.expr(depth-1, kind, fields) }
	kind := g.one("int", "text", "float", "numeric", "time", "bool")
	switch g.r.IntN(13) {
	case 0:
		return "(" + g.condition(depth-1, fields) + g.one(" AND ", " OR ") + g.condition(depth-1, fields) + ")"
	case 1:
		return "(NOT " + g.condition(depth-1, fields) + ")"
	case 2:
		return "(" + e(kind) + " IS " + g.one("", "NOT ") + "NULL)"
	case 3:
		return "(" + e(kind) + g.one(" IN (", " NOT IN (") + g.constant(kind) + ", " + e(kind) + "))"
	case 4:
		return "(" + e(kind) + g.one(" BETWEEN ", " NOT BETWEEN ") + e(kind) + " AND " + e(kind) + ")"
	case 5:
		return "(" + e("text") + g.one(" LIKE ", " NOT LIKE ", " ILIKE ") + g.one("'a%'", "'%b'", "'_'", "'%'",
			`'a\%b'`,
			"'A_'") + ")"
	case 6:
		return "(" + e(kind) + " IS " + g.one("", "NOT ") + "DISTINCT FROM " + e(kind) + ")"
	case 7:
		return "((" + e("bool") + ") IS " + g.one("TRUE", "NOT TRUE", "FALSE", "UNKNOWN", "NOT FALSE") + ")"
	case 8, 9:
		return g.subquery(depth, fields)
	case 10:
		return "(" + e("text") + g.one(" ~ ", " !~ ", " ~* ") + g.one("'^a'", "'b$'", "'[ab]+'", "'.'") + ")"
	case 11:
		end := func() string { return g.one(e("time"), "interval '1 day'", "interval '-1 mon 40 days'") }
		return "((" + e("time") + ", " + end() + ") OVERLAPS (" + e("time") + ", " + end() + "))"
	}
	return "(" + e(kind) + g.one(" = ", " <> ", " < ", " <= ", " > ", " >= ") + e(kind) + ")"
}

// subquery is a condition with a query in it.
func (g *queries) subquery(depth int, fields []field) string {
	from, inner := g.from(0, "")
	where := ""
	if g.chance(2) {
		where = " WHERE " + g.column("int", inner) + g.one(" = ", " < ") + g.column("int", fields)
	}
	kind := g.one("int", "text", "numeric")
	col := g.column(kind, inner)
	switch g.r.IntN(5) {
	case 0:
		return "(" + g.one("", "NOT ") + "EXISTS (SELECT 1 FROM " + from + where + "))"
	case 1:
		return "(" + g.expr(depth-1, kind, fields) + g.one(" IN ", " NOT IN ") + "(SELECT " + col + " FROM " +
			from + where + "))"
	case 2:
		return "(" + g.expr(depth-1, kind, fields) + g.one(" = ", " > ", " <> ") + g.one("ANY", "ALL") +
			" (SELECT " + col +
			" FROM " + from + where + "))"
	case 3:
		return "(" + g.expr(depth-1, "int", fields) + g.one(" = ", " > ") + "ANY (ARRAY[1, 2, " + g.column("int",
			fields) + "]))"
	}
	return "(" + g.expr(depth-1, kind, fields) + g.one(" < ", " = ", " >= ") + "(SELECT " + g.one("min(", "max(") +
		col +
		") FROM " + from + where + "))"
}

// aggregate is an aggregate of a kind.
func (g *queries) aggregate(kind string, fields []field) string {
	e := func(kind string) string { return g.expr(1, kind, fields) }
	distinct := g.one("", "", "DISTINCT ")
	filter := g.one("", "", "", " FILTER (WHERE "+e("bool")+")")
	if g.chance(4) {
		return g.orderedSet(kind, filter, fields)
	}
	switch kind {
	case "int":
		return g.one("count(*)", "count("+distinct+e(g.one("int", "text"))+")", "min("+e("int")+")", "max("+
			e("int")+")") + filter
	case "numeric":
		return g.one("sum(", "avg(", "min(", "max(", deviations(g)) + distinct + e("numeric") + ")" + filter
	case "float":
		if g.chance(3) { // small whole numbers, whose sums are the same in any order
			return deviations(g) + distinct + g.column("int", fields) + "::float8)" + filter
		}
		return g.one("min(", "max(") + e("float") + ")" + filter
	case "text":
		x := g.column("text", fields)
		return g.one("min("+e("text")+")", "max("+e("text")+")", "string_agg("+x+", ',' ORDER BY "+x+")") + filter
	case "bool":
		return g.one("bool_or(", "bool_and(", "every(") + e("bool") + ")" + filter
	}
	return g.one("min(", "max(") + e("time") + ")" + filter
}

// deviations is the name of an aggregate that tells how numbers spread.
func deviations(g *queries) string {
	return g.one("stddev(", "variance(", "stddev_samp(", "stddev_pop(", "var_samp(", "var_pop(")
}

// pairs is the name of an aggregate over pairs of floats.
func pairs(g *queries) string {
	return g.one("corr(", "covar_pop(", "covar_samp(", "regr_avgx(", "regr_avgy(", "regr_intercept(", "regr_r2(",
		"regr_slope(", "regr_sxx(", "regr_sxy(", "regr_syy(")
}
