package index

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

func path(names ...string) []catalog.Step {
	out := make([]catalog.Step, len(names))
	for i, n := range names {
		out[i] = catalog.Step{Name: n, All: n == "*"}
	}
	return out
}

func object(kv ...any) value.Value {
	var f []value.Field
	for i := 0; i < len(kv); i += 2 {
		f = append(f, value.Field{Name: kv[i].(string), Value: kv[i+1].(value.Value)})
	}
	return value.ObjectOf(value.NewObject(f...))
}

func TestAtFollowsPaths(t *testing.T) {
	one, two := value.Int(1), value.Int(2)
	doc := object("a", one, "o", object("x", two), "l", value.Array(object("k", one), object("k", two), one), "n",
		value.Array(value.Array(one)))
	for _, tc := range []struct {
		path []catalog.Step
		want string
	}{
		{path("a"), "1"},
		{path("o", "x"), "2"},
		{path("o", "y"), "NONE"},
		{path("a", "x"), "NONE"},
		{path("l", "*", "k"), "[1, 2]"},
		{path("l", "k"), "[1, 2]"},
		{path("n", "*"), "[[1]]"},
		{path("a", "*"), "NONE"},
		{path("missing"), "NONE"},
	} {
		if got := At(doc, tc.path).Text(); got != tc.want {
			t.Errorf("%s: got %s, want %s", catalog.PathText(tc.path), got, tc.want)
		}
	}
}

// fixture is a table with one index, over a memory store.
type fixture struct {
	tx *txn.Tx
	w  Writer
	tb *catalog.Table
	ix *catalog.Index
}

func newFixture(t interface{ Fatal(...any) }, kind ast.IndexKind, fields int) *fixture {
	tx, err := txn.Begin(context.Background(), mem.New(), txn.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	ix := &catalog.Index{Def: &catalog.Def{Name: "i", ID: 1}, Define: &ast.DefineIndex{Kind: kind},
		Paths: make([][]catalog.Step, fields)}
	tb := &catalog.Table{Def: &catalog.Def{Name: "t", ID: 1, Scope: catalog.Scope{NS: 1, DB: 1}}}
	return &fixture{tx: tx, w: Writer{Tx: tx}, tb: tb, ix: ix}
}

func id(k int64) *value.RecordID { return &value.RecordID{Table: "t", Key: value.Int(k)} }

// keys are the record keys that an access finds, in its order.
func (f *fixture) keys(t interface{ Fatal(...any) }, a Access) []int64 {
	c := Scan(f.tx, f.tb, f.ix, a)
	defer c.Close()
	var out []int64
	for c.Next() {
		out = append(out, c.Key().Int())
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUniqueIndexesSayWhoHasTheValue(t *testing.T) {
	f := newFixture(t, ast.IndexUnique, 1)
	add := func(k int64, v value.Value) error { return f.w.Change(f.tb, f.ix, id(k), nil, []value.Value{v}) }
	str := value.Str
	for _, tc := range []struct {
		name string
		key  int64
		v    value.Value
		want string
	}{
		{"the first", 1, value.Int(1), ""},
		{"an equal number", 2, value.Float(1), "Database index `i` already contains 1f, with record `t:1`"},
		{"NONE", 3, value.None, ""},
		{"NONE again", 4, value.None, ""},
		{"NULL", 5, value.Null, ""},
		{"NULL again", 6, value.Null, ""},
		{"an array", 7, value.Array(str("a"), str("b")), ""},
		{"an element of it", 8, str("a"), "Database index `i` already contains 'a', with record `t:7`"},
		{"an array with an element of it", 9, value.Array(str("c"), str("b")),
			"Database index `i` already contains 'b', with record `t:7`"},
		{"an element twice", 10, value.Array(str("d"), str("d")), "Database index `i` already contains 'd', with record `t:10`"},
	} {
		mark := f.tx.Savepoint()
		err := add(tc.key, tc.v)
		if err != nil {
			f.tx.RollbackTo(mark)
		}
		var violation *Violation
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || err.Error() != tc.want || !errors.As(err, &violation)):
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}

// values draws what may stand in an indexed field.
var values = rapid.OneOf(
	rapid.Map(rapid.Int64Range(-3, 3), value.Int),
	rapid.Map(rapid.SampledFrom([]float64{-1.5, 0, 1, 2.5}), value.Float),
	rapid.Map(rapid.SampledFrom([]string{"", "a", "b", "a\x00b"}), value.Str),
	rapid.SampledFrom([]value.Value{value.None, value.Null, value.Bool(true), value.Array(),
		value.Array(value.Int(1), value.Str("a")),
		value.Array(value.Int(1), value.Int(1)), value.Array(value.Array(value.Int(2))), value.Array(value.None)}),
)

// TestEntriesFollowRecords changes records at random and compares every kind of access with a walk over them.
func TestEntriesFollowRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.IntRange(1, 2).Draw(t, "fields")
		f := newFixture(t, ast.IndexOrdered, fields)
		records := map[int64][]value.Value{}
		draw := rapid.SliceOfN(values, fields, fields)
		for range rapid.IntRange(0, 12).Draw(t, "writes") {
			k := rapid.Int64Range(0, 4).Draw(t, "record")
			var after []value.Value
			if rapid.IntRange(0, 3).Draw(t, "delete") > 0 {
				after = draw.Draw(t, "values")
			}
			if err := f.w.Change(f.tb, f.ix, id(k), records[k], after); err != nil {
				t.Fatal(err)
			}
			if delete(records, k); after != nil {
				records[k] = after
			}
		}
		check := func(name string, a Access, holds func([]value.Value) bool) {
			var want []int64
			for k, vs := range records {
				if holds(vs) {
					want = append(want, k)
				}
			}
			order := func(x, y int64) int {
				if c := value.Compare(value.ArrayOf(records[x]), value.ArrayOf(records[y])); c != 0 {
					return c
				}
				return int(x - y)
			}
			slices.SortFunc(want, order)
			if a.Reverse {
				slices.Reverse(want)
			}
			if got := f.keys(t, a); !slices.Equal(got, want) {
				t.Fatalf("%s: got %v, want %v", name, got, want)
			}
		}
		v, w := values.Draw(t, "v"), values.Draw(t, "w")
		check("all", Access{}, func([]value.Value) bool { return true })
		check("all, backwards", Access{Reverse: true}, func([]value.Value) bool { return true })
		check("equal", Access{Lead: []value.Value{v}}, func(vs []value.Value) bool { return value.Equal(vs[0], v) })
		check("range", Access{From: value.Bound{Kind: value.Excluded, Value: v},
			To: value.Bound{Kind: value.Included, Value: w}},
			func(vs []value.Value) bool { return value.Compare(vs[0], v) > 0 && value.Compare(vs[0], w) <= 0 })
		f.checkElements(t, records, v)
	})
}

// checkElements compares the element walk for one value with the records that hold it in their first field.
func (f *fixture) checkElements(t *rapid.T, records map[int64][]value.Value, v value.Value) {
	var want []int64
	for k, vs := range records {
		if isList(vs[0]) && slices.ContainsFunc(vs[0].Elems(), func(e value.Value) bool { return value.Equal(e, v) }) {
			want = append(want, k)
		}
	}
	slices.Sort(want)
	got := f.keys(t, Access{Lead: []value.Value{v}, Elements: true})
	// A scalar first field beside an array has element entries too.
	got = slices.DeleteFunc(got, func(k int64) bool { return !isList(records[k][0]) })
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Fatalf("elements: got %v, want %v", got, want)
	}
}

func BenchmarkChange(b *testing.B) {
	f := newFixture(b, ast.IndexOrdered, 1)
	before, after := []value.Value{value.Int(1)}, []value.Value{value.Int(2)}
	if err := f.w.Change(f.tb, f.ix, id(1), nil, before); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := f.w.Change(f.tb, f.ix, id(1), before, after); err != nil {
			b.Fatal(err)
		}
		before, after = after, before
	}
}
