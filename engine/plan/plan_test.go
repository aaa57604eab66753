package plan

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// world is a Host over nothing: constants are literals, and every access has as many entries as entries says.
type world struct {
	entries map[string]int // by the name of the index
	hidden  string         // an index that may not be used
	records int64
}

func (w *world) Value(ctx context.Context, x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.Constant:
		return x.Value, nil
	case *ast.Paren:
		return w.Value(ctx, x.X)
	case *ast.Array:
		var out []value.Value
		for _, e := range x.Elems {
			v, err := w.Value(ctx, e)
			if err != nil {
				return value.None, err
			}
			out = append(out, v)
		}
		return value.ArrayOf(out), nil
	case *ast.RecordID:
		k, err := w.Value(ctx, x.Key)
		return value.RecordOf(&value.RecordID{Table: x.Table, Key: k}), err
	}
	return value.None, errors.New("no value")
}

func (w *world) Once(*ast.Subquery) bool       { return false }
func (w *world) MayUse(ix *catalog.Index) bool { return ix.Name != w.hidden }
func (w *world) BindText(context.Context, *ast.Binary, *catalog.Index) (bool, error) {
	return true, nil
}
func (w *world) Terms() bool             { return true }
func (w *world) Records() (int64, error) { return w.records, nil }
func (w *world) Entries(ix *catalog.Index, a index.Access, most int) (int, error) {
	if a.From.Kind != value.Unbounded && a.From.Value.Kind() >= value.KindArray { // what stands apart
		return 0, nil
	}
	return min(most, w.entries[ix.Name]), nil
}

// table is a table with indexes over fields, by name: "a: x, y" is index a over x and y; "!" makes it unique.
func table(indexes ...string) *catalog.Table {
	tb := &catalog.Table{Def: &catalog.Def{Name: "t", ID: 1}}
	for i, text := range indexes {
		name, fields, _ := strings.Cut(text, ": ")
		d := &ast.DefineIndex{Kind: ast.IndexOrdered}
		if strings.HasSuffix(fields, "!") {
			d.Kind = ast.IndexUnique
		}
		ix := &catalog.Index{Def: &catalog.Def{Name: name, ID: uint32(i + 1)}, Define: d}
		for _, f := range strings.Split(strings.TrimSuffix(fields, "!"), ", ") {
			id, err := parse.Path(f)
			if err != nil {
				panic(err)
			}
			d.Fields = append(d.Fields, id)
			var path []catalog.Step
			for _, n := range strings.Split(f, ".") {
				path = append(path, catalog.Step{Name: n, All: n == "*"})
			}
			ix.Paths = append(ix.Paths, path)
		}
		tb.Indexes = append(tb.Indexes, ix)
	}
	return tb
}

// show is a path in a few words.
func show(p Path) string {
	switch p := p.(type) {
	case *Scan:
		if p.Reverse {
			return "scan back"
		}
		return "scan"
	case *Record:
		return value.RecordOf(p.ID).Text()
	case *Index:
		out := p.Index.Name + value.ArrayOf(p.Access.Lead).Text()
		if p.Access.From.Kind != value.Unbounded {
			out += " from " + p.Access.From.Value.Text()
		}
		if p.Access.To.Kind != value.Unbounded {
			out += " to " + p.Access.To.Value.Text()
		}
		if p.Access.Elements {
			out += " elements"
		}
		if p.Access.Reverse {
			out += " back"
		}
		return out
	case *Union:
		var parts []string
		for _, part := range p.Parts {
			parts = append(parts, show(part))
		}
		return "(" + strings.Join(parts, " | ") + ")"
	}
	return "?"
}

func choose(t *testing.T, tb *catalog.Table, w *world, query string, off ...Rule) (string, bool) {
	t.Helper()
	parsed, err := parse.Query(query, parse.Options{})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	s := parsed.Stmts[0].(*ast.Select)
	q := &Query{Table: tb, With: s.With, Where: s.Where, Order: s.Order, Wanted: -1, Host: w, Off: RulesOf(off...)}
	if s.Limit != nil {
		q.Wanted = 1
	}
	p, err := Choose(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return show(p.Path), p.Sorted
}

func TestChoose(t *testing.T) {
	tb := table("ia: a", "ib: b, c", "iu: u!", "it: tags")
	w := &world{records: 10, hidden: "none", entries: map[string]int{"ia": 20, "ib": 10, "iu": 5}}
	for _, tc := range []struct {
		where, want string
		sorted      bool
		off         []Rule
	}{
		{where: "", want: "scan"},
		{where: "WHERE x = 1", want: "scan"},
		{where: "WHERE id = t:1 AND a = 1", want: "t:1"},
		{where: "WHERE id = t:1 AND a = 1", want: "ia[1]", off: []Rule{RecordID}},
		{where: "WHERE id = other:1", want: "scan"},
		{where: "WHERE a = 1", want: "ia[1]"},
		{where: "WHERE a = 1", want: "scan", off: []Rule{Equality}},
		{where: "WITH NOINDEX WHERE a = 1", want: "scan"},
		{where: "WITH INDEX ib WHERE a = 1", want: "scan"},
		{where: "WHERE a = 1 AND b = 2", want: "ib[2]"},
		{where: "WHERE a = 1 AND b = 2", want: "ia[1]", off: []Rule{Estimate}},
		{where: "WHERE a = 1 AND u > 2", want: "iu[] from 2"},
		{where: "WHERE a = 1 AND u = 2", want: "iu[2]"},
		{where: "WHERE b = 1 AND c = 2", want: "ib[1, 2]"},
		{where: "WHERE b = 1 AND c = 2", want: "ib[1]", off: []Rule{Compound}},
		{where: "WHERE b = 1 AND c > 2 AND 5 > c", want: "ib[1] from 2 to 5"},
		{where: "WHERE b = 1 AND c > 2", want: "ib[1]", off: []Rule{Range}},
		{where: "WHERE c = 1", want: "scan"},
		{where: "WHERE a = y", want: "scan"},
		{where: "WHERE a = <int> 'x'", want: "scan"},
		{where: "WHERE a IN [2, 1, 2]", want: "(ia[1] | ia[2])"},
		{where: "WHERE a IN [2, 1]", want: "scan", off: []Rule{InList}},
		{where: "WHERE b IN [1, 2] AND c = 3", want: "(ib[1, 3] | ib[2, 3])"},
		{where: "WHERE a IN []", want: "()"},
		{where: "WHERE a = [1]", want: "scan"},
		{where: "WHERE tags CONTAINS 1", want: "scan"}, // of a small table
		{where: "WHERE tags CONTAINS 1", want: "(it[1] elements | it[] from '' to 0ns | it[] from {  })",
			off: []Rule{Estimate}},
		{where: "WHERE tags CONTAINS 1", want: "scan", off: []Rule{Elements}},
		{where: "WHERE a = 1 OR u = 2", want: "(ia[1] | iu[2])"},
		{where: "WHERE a = 1 OR u = 2", want: "scan", off: []Rule{OrUnion}},
		{where: "WHERE a = 1 OR x = 2", want: "scan"},
		{where: "ORDER BY id DESC", want: "scan back", sorted: true},
		{where: "ORDER BY id DESC", want: "scan", off: []Rule{OrderKeys}},
		{where: "ORDER BY a DESC", want: "ia[] back", sorted: true},
		{where: "ORDER BY a DESC", want: "scan", off: []Rule{OrderIndex}},
		{where: "ORDER BY a, id", want: "ia[]", sorted: true},
		{where: "ORDER BY b", want: "scan"},
		{where: "ORDER BY b, c", want: "ib[]", sorted: true},
		{where: "ORDER BY b, c DESC", want: "scan"},
		{where: "ORDER BY a COLLATE", want: "scan"},
		{where: "WHERE x = 1 ORDER BY a", want: "scan"},
		{where: "WHERE x = 1 ORDER BY a LIMIT 1", want: "ia[]", sorted: true},
		{where: "WHERE a > 1 ORDER BY a", want: "ia[] from 1", sorted: true},
		{where: "WHERE b = 1 ORDER BY c DESC", want: "ib[1] back", sorted: true},
		{where: "WHERE b = 1 ORDER BY b, c", want: "ib[1]", sorted: true},
		{where: "WHERE a IN [2, 1] ORDER BY a DESC", want: "(ia[2] back | ia[1] back)", sorted: true},
		{where: "WHERE a IN [2, 1] ORDER BY u", want: "(ia[1] | ia[2])"},
	} {
		got, sorted := choose(t, tb, w, "SELECT * FROM t "+tc.where, tc.off...)
		if got != tc.want || sorted != tc.sorted {
			t.Errorf("%s without %v: got %s (sorted %v), want %s (%v)", tc.where, tc.off, got, sorted, tc.want, tc.sorted)
		}
	}
}

func TestHiddenIndexesAreNotUsed(t *testing.T) {
	tb, w := table("ia: a"), &world{hidden: "ia", records: 10}
	for _, where := range []string{"WHERE a = 1", "WHERE a IN [1]", "WHERE a = 1 OR a = 2", "ORDER BY a LIMIT 1"} {
		if got, sorted := choose(t, tb, w, "SELECT * FROM t "+where); got != "scan" || sorted {
			t.Errorf("%s: got %s", where, got)
		}
	}
}

// Without LIMIT the size of the table tells whether its records are found one by one.
func TestWholeTablesAreReadInTheOrderOfAnIndexOrSorted(t *testing.T) {
	tb := table("ia: a")
	for _, tc := range []struct {
		records int64
		want    string
	}{{1, "ia[]"}, {nearRecords, "ia[]"}, {nearRecords + 1, "scan"}, {heldRecords, "scan"}, {heldRecords + 1, "ia[]"}} {
		w := &world{records: tc.records}
		if got, sorted := choose(t, tb, w, "SELECT * FROM t ORDER BY a"); got != tc.want || sorted != (got == "ia[]") {
			t.Errorf("%d records: got %s, sorted %v", tc.records, got, sorted)
		}
		if got, _ := choose(t, tb, w, "SELECT * FROM t WHERE b > 1 ORDER BY a"); got != "scan" {
			t.Errorf("%d records and a WHERE: got %s", tc.records, got)
		}
		if got, _ := choose(t, tb, w, "SELECT * FROM t ORDER BY a LIMIT 1"); got != "ia[]" {
			t.Errorf("%d records and a LIMIT: got %s", tc.records, got)
		}
	}
}

func TestParseRules(t *testing.T) {
	for _, r := range AllRules() {
		got, err := ParseRules([]string{r.String()})
		if err != nil || got != RulesOf(r) || !got.Has(r) {
			t.Errorf("%s: got %b, %v", r, got, err)
		}
	}
	if _, err := ParseRules([]string{"nothing"}); err == nil {
		t.Error("an unknown rule is taken")
	}
	if RulesOf(Always) != 0 {
		t.Error("what always holds can be switched off")
	}
}
