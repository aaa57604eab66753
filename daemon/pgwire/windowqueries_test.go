package pgwire_test

import (
	"fmt"
	"strings"
)

// total are the columns that tell all rows apart.
func total(fields []field) string {
	var list []string
	for _, f := range fields {
		if strings.HasSuffix(f.name, ".id") {
			list = append(list, f.name)
		}
	}
	return strings.Join(list, ", ")
}

// window is a function of a kind over a window. Its order has no ties where they would matter.
func (g *queries) window(kind string, fields []field) string {
	if kind != "int" || g.chance(2) {
		return g.framed(kind, fields)
	}
	over := " OVER (" + g.one("", "PARTITION BY "+g.column(g.one("int", "bool", "text"), fields)+" ")
	all := total(fields)
	key := g.column(g.one("int", "text", "time"), fields) + g.one("", " DESC", " NULLS FIRST")
	col := g.column("int", fields)
	switch g.r.IntN(6) {
	case 0:
		return "row_number()" + over + "ORDER BY " + key + ", " + all + ")"
	case 1:
		return g.one("rank()", "dense_rank()") + over + "ORDER BY " + key + ")"
	case 2:
		other := g.one("", ", 2", ", 1, 99", ", NULL", ", -1, "+g.column("int", fields))
		return g.one("lag(", "lead(") + col + other + ")" + over + "ORDER BY " + key + ", " + all + ")"
	case 3:
		return g.one("count(*)", "count("+col+")", "max("+col+")", "min("+col+")") + over + g.one("", "ORDER BY "+
			key) + ")"
	case 4:
		return "ntile(" + g.one("1", "2", "3", "100") + ")" + over + "ORDER BY " + key + ", " + all + ")::int8"
	}
	return g.one("first_value(", "last_value(") + col + ")" + over + "ORDER BY " + key + ", " + all + ")"
}

// framed is a function of a kind over frames.
func (g *queries) framed(kind string, fields []field) string {
	e := func(kind string) string { return g.expr(1, kind, fields) }
	all := total(fields)
	// Where equal rows may come in any order, the answer must not tell: first is for functions that see it.
	frame, ordered := g.frame(fields)
	pick := g.one("first_value(", "last_value(", "nth_value(")
	nth := pick + e(kind) + map[bool]string{true: g.one(", 1", ", 2", ", 3", ", NULL")}[pick == "nth_value("] + ")"
	filter := g.one("", "", "", " FILTER (WHERE "+e("bool")+")")
	fn := g.one("min(", "max(") + e(kind) + ")" + filter
	switch kind {
	case "int":
		fn = g.one("count(*)", "count("+e(g.one("int", "text"))+")", "min("+e("int")+")", "max("+e("int")+")") + filter
	case "numeric":
		x := e(g.one("numeric", "numeric", "int"))
		fn = g.one("sum(", "avg(", "min(", "max(", deviations(g)) + x + ")::numeric" + filter
		if filter != "" {
			fn = "sum(" + e("numeric") + ")" + filter
		}
	case "bool":
		fn = g.one("bool_or(", "bool_and(", "every(") + e("bool") + ")" + filter
	case "float":
		fn = g.one("min("+e("float")+")"+filter, "max("+e("float")+")"+filter, g.one("percent_rank()", "cume_dist()"))
		if ordered && g.chance(2) {
			fn = g.one("sum(", "avg(", deviations(g), pairs(g)+g.column("float", fields)+", ") +
				g.column(g.one("float", "int"), fields) + "::float8)" + filter
		}
	case "text":
		if ordered && g.chance(2) {
			fn = "string_agg(" + e("text") + ", " + g.one("','", e("text")) + ")" + filter
		}
	}
	if ordered && g.chance(3) {
		fn = nth
	}
	over := " OVER (" + g.one("", "PARTITION BY "+g.column(g.one("int", "bool", "text"), fields)+" ") +
		strings.ReplaceAll(frame, "ALL", all) + ")"
	if at := strings.LastIndex(fn, "::numeric"); kind == "numeric" && strings.HasSuffix(fn, "::numeric") {
		return fn[:at] + over + fn[at:]
	}
	return fn + over
}

// frame is ORDER BY and a frame. ordered: no two rows are peers, or the frame is by ROWS behind such an order. ALL
// stands for all columns that tell rows apart.
func (g *queries) frame(fields []field) (text string, ordered bool) {
	dir := func() string { return g.one("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST") }
	exclude := g.one("", "", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS")
	count := func() string { return g.one("0", "1", "1", "2", "3", "100", "(1 + 1)") }
	kind := g.one("int", "text", "float", "numeric", "time")
	key := g.column(kind, fields) + dir()
	switch g.r.IntN(5) {
	case 0, 1:
		return "ORDER BY " + key + ", ALL " + "ROWS " + g.extent(count) + exclude, true
	case 2:
		key += g.one("", ", "+g.column("int", fields)+dir())
		return "ORDER BY " + key + " GROUPS " + g.extent(count) + exclude, false
	case 3:
		offset := map[string]func() string{
			"int":     func() string { return g.one("0", "1", "2", "5", "1000") },
			"float":   func() string { return g.one("0", "1.5", "3.75", "1e20", "'Infinity'") },
			"numeric": func() string { return g.one("0", "1.5", "3", "0.25") },
			"time": func() string {
				return g.one("'1 mon'", "interval '1 mon 29 days'", "'90 minutes'", "'10000 days'")
			},
		}[kind]
		if offset != nil {
			return "ORDER BY " + key + " RANGE " + g.extent(offset) + exclude, false
		}
	}
	none := func() string { return "" }
	return g.one("", "ORDER BY "+key+" ", "ORDER BY "+key+", ALL ") + "RANGE " + g.extent(none) + exclude, false
}

// extent are the bounds of a frame; offset gives "" where it can have none.
func (g *queries) extent(offset func() string) string {
	bounds := []string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}
	for {
		from, to := g.r.IntN(4), 2
		between := !g.chance(4)
		if between {
			to = 1 + g.r.IntN(4)
		}
		if to < from || from == 3 && to < 3 || from == 2 && to < 2 {
			continue
		}
		text := func(i int) string {
			if o := offset(); i == 1 || i == 3 {
				return fmt.Sprint(o, " ", bounds[i])
			}
			return bounds[i]
		}
		if offset() == "" && (from == 1 || from == 3 || to == 1 || to == 3) {
			continue
		}
		if !between {
			return text(from)
		}
		return "BETWEEN " + text(from) + " AND " + text(to)
	}
}
