package pgwire_test

import (
	"regexp"
	"strings"
)

// columns finds a column in a random expression.
var columns = regexp.MustCompile(`\bq[0-9]+\.`)

// constants find what may be one value for all rows.
var constants = regexp.MustCompile(`coalesce|CASE|AND|OR|NULL|IN|EXISTS|true|false`)

// groupBy is what GROUP BY names of keys: them, or grouping sets of them. It may add to the list of the query what
// tells of the sets.
func (g *queries) groupBy(keys, items []string, fields []field) string {
	// PostgreSQL 15 gives the value of a constant also for the sets without it, after it has simplified coalesce('a',
	// x).
	if !columns.MatchString(keys[0]) || constants.MatchString(keys[0]) || !g.chance(3) {
		return strings.Join(keys, ", ")
	}
	for g.chance(2) && len(keys) < 4 {
		keys = append(keys, g.column(g.one("int", "text", "bool"), fields))
	}
	for i, it := range items {
		if strings.HasPrefix(it, "count(") && g.chance(3) {
			items[i] = g.one("grouping("+g.one(keys...)+")::int8", "grouping("+strings.Join(keys, ", ")+")::int8")
		}
	}
	some := func() string {
		return g.one(keys[0], keys[len(keys)-1], "("+strings.Join(keys, ", ")+")", strings.Join(keys, ", "))
	}
	element := func() string {
		return g.one("ROLLUP("+some()+")", "CUBE("+some()+")", "ROLLUP("+some()+", "+some()+")", "("+some()+")",
			"GROUPING SETS ("+some()+", ())", "GROUPING SETS ((), "+some()+", ROLLUP("+some()+"), ())", some())
	}
	list := g.one("", "", "DISTINCT ") + element()
	for g.chance(3) {
		list += ", " + element()
	}
	for i, k := range keys {
		if (i == 0 || strings.Contains(strings.Join(items, " "), "grouping(")) && !strings.Contains(list, k) {
			list += ", " + k
		}
	}
	return list
}
