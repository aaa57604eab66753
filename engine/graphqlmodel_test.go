package engine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

var graphQLQueries = flag.Int("graphql-queries", 3000, "queries by chance that are compared with ServiceQL")

// drawnGraphQL draws queries over a drawn database, in GraphQL and in ServiceQL.
type drawnGraphQL struct {
	r      *rand.Rand
	tables []string
	fields []string // beside the link to, of every table
}

func (d *drawnGraphQL) pick(list ...string) string { return list[d.r.IntN(len(list))] }

// schema draws which fields are optional, which are indexed, and the rows.
func (d *drawnGraphQL) schema() string {
	var b strings.Builder
	b.WriteString("DEFINE CONFIG GRAPHQL AUTO;")
	for i, table := range d.tables {
		fmt.Fprintf(&b, "DEFINE TABLE %s SCHEMAFULL; DEFINE FIELD i ON %[1]s TYPE int; DEFINE FIELD s ON %[1]s TYPE option<string>;", table)
		fmt.Fprintf(&b, "DEFINE FIELD f ON %s TYPE option<float>; DEFINE FIELD b ON %[1]s TYPE bool; DEFINE FIELD e ON %[1]s TYPE 'x' | 'y y';", table)
		fmt.Fprintf(&b, "DEFINE FIELD to ON %s TYPE option<record<%s>>;", table, d.tables[(i+1)%len(d.tables)])
		for _, f := range []string{"i", "s", "f", "e", "to"} {
			if d.r.IntN(2) == 0 {
				fmt.Fprintf(&b, "DEFINE INDEX x%s ON %s FIELDS %[1]s;", f, table)
			}
		}
		for k := range 12 {
			fmt.Fprintf(&b, "CREATE %s:%d SET i = %d, b = %v, e = '%s'", table, k, d.r.IntN(6), d.r.IntN(2) == 0, d.pick("x", "y y"))
			if d.r.IntN(3) > 0 {
				fmt.Fprintf(&b, ", s = '%s'", d.pick("ab", "abc", "b", "c"))
			}
			if d.r.IntN(3) > 0 {
				fmt.Fprintf(&b, ", f = %.1ff", d.r.Float64()*4)
			}
			if d.r.IntN(3) > 0 { // some links lead nowhere
				fmt.Fprintf(&b, ", to = %s:%d", d.tables[(i+1)%len(d.tables)], d.r.IntN(15))
			}
			b.WriteString(";")
		}
	}
	return b.String()
}

var drawnOps = map[string]string{"eq": "=", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

// filter draws a filter of a table, and its condition; at is the path of its records.
func (d *drawnGraphQL) filter(table int, at string, depth int) (graph, cond string) {
	op := d.pick("eq", "ne", "gt", "gte", "lt", "lte")
	switch d.r.IntN(11) {
	case 0:
		n := d.r.IntN(6)
		return fmt.Sprintf("{i:{%s:%d}}", op, n), fmt.Sprintf("%si %s %d", at, drawnOps[op], n)
	case 1:
		return "{i:{in:[1,3]}}", at + "i INSIDE [1, 3]"
	case 2:
		text := d.pick("ab", "b")
		return fmt.Sprintf("{s:{eq:%q}}", text), fmt.Sprintf("%ss = '%s'", at, text)
	case 3:
		return "{s:{startsWith:\"a\"}}", fmt.Sprintf("(%ss != NONE AND string::starts_with(%[1]ss, 'a'))", at)
	case 4:
		return "{s:{eq:null}}", fmt.Sprintf("(%ss = NONE OR %[1]ss = NULL)", at)
	case 5:
		return fmt.Sprintf("{f:{%s:1.5}}", op), fmt.Sprintf("%sf %s 1.5f", at, drawnOps[op])
	case 6:
		return fmt.Sprintf("{e:{eq:%s_E_Y_Y}}", strings.ToUpper(d.tables[table])), at + "e = 'y y'"
	case 7:
		return "{b:{eq:true}}", at + "b = true"
	case 8:
		return fmt.Sprintf("{id:{range:{from:\"%s:2\",to:\"%[1]s:9\"}}}", d.tables[table]),
			fmt.Sprintf("(%sid >= %s:2 AND %[1]sid < %[2]s:9)", at, d.tables[table])
	}
	if depth == 0 {
		return "{b:{ne:true}}", at + "b != true"
	}
	g1, c1 := d.filter(table, at, depth-1)
	switch d.r.IntN(4) {
	case 0:
		g2, c2 := d.filter(table, at, depth-1)
		return "{or:[" + g1 + "," + g2 + "]}", "(" + c1 + " OR " + c2 + ")"
	case 1:
		g2, c2 := d.filter(table, at, depth-1)
		return "{and:[" + g1 + "," + g2 + "]}", "(" + c1 + " AND " + c2 + ")"
	case 2:
		return "{not:" + g1 + "}", "!(" + c1 + ")"
	}
	next := (table + 1) % len(d.tables)
	g, c := d.filter(next, at+"to.", depth-1)
	return "{to:" + g + "}", c
}

// selection draws fields, with links at most so many levels deep.
func (d *drawnGraphQL) selection(depth int) []any {
	out := []any{"id"}
	for _, f := range d.fields {
		if d.r.IntN(2) == 0 {
			out = append(out, f)
		}
	}
	if depth > 0 && d.r.IntN(2) == 0 {
		out = append(out, d.selection(depth-1))
	}
	return out
}

func selectionText(sel []any) string {
	var b strings.Builder
	for _, x := range sel {
		if f, ok := x.(string); ok {
			b.WriteString(f + " ")
		} else {
			b.WriteString("to { " + selectionText(x.([]any)) + "} ")
		}
	}
	return b.String()
}

// answer is what GraphQL must answer for a record, by the rows of all tables.
func (d *drawnGraphQL) answer(b []byte, rows map[string]value.Value, id string, sel []any) []byte {
	doc := rows[id].Object()
	b = append(b, '{')
	for i, x := range sel {
		if i > 0 {
			b = append(b, ',')
		}
		name, plain := x.(string)
		if !plain {
			b = append(b, `"to":`...)
			to, _ := doc.Get("to")
			if to.Kind() != value.KindRecord || rows[to.Text()].IsNone() {
				b = append(b, "null"...)
			} else {
				b = d.answer(b, rows, to.Text(), x.([]any))
			}
			continue
		}
		v, _ := doc.Get(name)
		b = append(value.AppendJSON(b, value.Str(name)), ':')
		if name == "e" {
			table, _, _ := strings.Cut(id, ":")
			v = value.Str(strings.ToUpper(table) + "_E_" + map[string]string{"x": "X", "y y": "Y_Y"}[v.Str()])
		}
		b = value.AppendJSON(b, v)
	}
	return append(b, '}')
}

// TestGraphQLAnswersAsServiceQL compares queries by chance with the SELECTs that they mean, over databases by chance.
func TestGraphQLAnswersAsServiceQL(t *testing.T) {
	const each = 100
	for seed := range max(1, *graphQLQueries/each) {
		d := &drawnGraphQL{r: rand.New(rand.NewPCG(uint64(seed), 7)), tables: []string{"alpha", "beta", "gamma"},
			fields: []string{"i", "s", "f", "b", "e"}}
		_, s := graphQLDatabase(t, engine.Options{}, "")
		mustRun(t, s, d.schema())
		rows := map[string]value.Value{}
		for _, table := range d.tables {
			for _, doc := range mustRun(t, s, "SELECT * FROM "+table)[0].Value.Elems() {
				id, _ := doc.Object().Get("id")
				rows[id.Text()] = doc
			}
		}
		for range each {
			d.compare(t, s, rows)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func (d *drawnGraphQL) compare(t *testing.T, s *engine.Session, rows map[string]value.Value) {
	t.Helper()
	table := d.r.IntN(len(d.tables))
	sel := d.selection(2)
	text := "SELECT * FROM " + d.tables[table]
	var args []string
	if d.r.IntN(5) > 0 {
		g, c := d.filter(table, "", 2)
		args, text = append(args, "filter:"+g), text+" WHERE "+c
	}
	if d.r.IntN(2) == 0 {
		f, down := d.pick("i", "s", "f", "e"), d.pick("asc", "desc")
		args = append(args, "order:{"+down+":"+f+",then:{asc:id}}")
		text += " ORDER BY " + f + " " + down + ", id"
	}
	if d.r.IntN(2) == 0 {
		args, text = append(args, "limit:4"), text+" LIMIT 4"
	}
	if d.r.IntN(3) == 0 {
		args, text = append(args, "start:2"), text+" START 2"
	}
	list := ""
	if len(args) > 0 {
		list = "(" + strings.Join(args, ",") + ")"
	}
	query := "{ " + d.tables[table] + "s" + list + " { " + selectionText(sel) + "} }"
	want := []byte(`{"` + d.tables[table] + `s":[`)
	for i, doc := range mustRun(t, s, text)[0].Value.Elems() {
		if i > 0 {
			want = append(want, ',')
		}
		id, _ := doc.Object().Get("id")
		want = d.answer(want, rows, id.Text(), sel)
	}
	want = append(want, "]}"...)
	if got := askGraphQL(t, s, query, ""); string(got.Data) != string(want) || len(got.Errors) > 0 {
		t.Errorf("%s\n%s\n got %s\nwant %s", query, text, got.AppendJSON(nil), want)
	}
}
