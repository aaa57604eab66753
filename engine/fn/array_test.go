package fn_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// someItems generates arrays with many equal items, short ones and ones long enough for an index.
func someItems() *rapid.Generator[value.Value] {
	item := rapid.Custom(func(t *rapid.T) value.Value {
		n := rapid.Int64Range(0, 9).Draw(t, "n")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return value.Float(float64(n))
		case 1:
			return value.Str(string(rune('a' + n)))
		}
		return value.Int(n)
	})
	return rapid.Map(rapid.SliceOfN(item, 0, 40), value.ArrayOf)
}

func holds(items []value.Value, v value.Value) bool {
	return slices.ContainsFunc(items, func(w value.Value) bool { return value.Compare(v, w) == 0 })
}

// The plain definitions, one item at a time.
func naiveDistinct(items []value.Value) []value.Value {
	out := []value.Value{}
	for _, v := range items {
		if !holds(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func naiveIntersect(a, b []value.Value) (both, left []value.Value) {
	left = slices.Clone(b)
	for _, v := range a {
		if i := slices.IndexFunc(left, func(w value.Value) bool { return value.Compare(v, w) == 0 }); i >= 0 {
			both, left = append(both, v), slices.Delete(left, i, i+1)
		}
	}
	return both, left
}

func TestArrayAlgebraFollowsItsDefinitions(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		a, b := someItems().Draw(t, "a"), someItems().Draw(t, "b")
		same := func(name string, got value.Value, want []value.Value) {
			if got.Text() != value.ArrayOf(want).Text() {
				t.Fatalf("%s(%s, %s): got %s, want %s", name, a, b, got, value.ArrayOf(want))
			}
		}
		both, left := naiveIntersect(a.Elems(), b.Elems())
		rest := []value.Value{}
		for _, v := range a.Elems() {
			if !holds(b.Elems(), v) {
				rest = append(rest, v)
			}
		}
		same("distinct", l.call("array::distinct", a), naiveDistinct(a.Elems()))
		same("union", l.call("array::union", a, b), naiveDistinct(slices.Concat(a.Elems(), b.Elems())))
		same("complement", l.call("array::complement", a, b), rest)
		same("intersect", l.call("array::intersect", a, b), both)
		_, unmatched := naiveIntersect(b.Elems(), a.Elems())
		if d := l.call("array::difference", a, b); d.Len() != len(unmatched)+len(left) {
			t.Fatalf("difference(%s, %s) = %s", a, b, d)
		}
	})
}

// Equal values of any kind must meet in the hash table.
func TestDistinctOverAllKinds(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		a := value.ArrayOf(rapid.SliceOfN(valuetest.Value(1), 13, 60).Draw(t, "items"))
		if got, want := l.call("array::distinct", a),
			value.ArrayOf(naiveDistinct(a.Elems())); got.Text() != want.Text() {
			t.Fatalf("distinct(%s): got %s, want %s", a, got, want)
		}
	})
}

func TestSetAlgebra(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.Set(someItems().Draw(t, "a").Elems()...), value.Set(someItems().Draw(t, "b").Elems()...)
		union, both := l.call("set::union", a, b), l.call("set::intersect", a, b)
		onlyA, onlyB := l.call("set::complement", a, b), l.call("set::complement", b, a)
		if union.Len() != a.Len()+b.Len()-both.Len() {
			t.Fatalf("|%s ∪ %s| = %d", a, b, union.Len())
		}
		if d := l.call("set::difference", a, b); value.Compare(d, l.call("set::union", onlyA, onlyB)) != 0 {
			t.Fatalf("difference %s", d)
		}
		if r := l.call("set::remove", a, b); value.Compare(r, onlyA) != 0 {
			t.Fatalf("remove %s, complement %s", r, onlyA)
		}
		if r := l.call("set::add", b, a); value.Compare(r, union) != 0 {
			t.Fatalf("add %s, union %s", r, union)
		}
	})
}

func TestArrayPiecesMakeTheWhole(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		a := someItems().Draw(t, "a")
		k := value.Int(int64(rapid.IntRange(0, a.Len()).Draw(t, "k")))
		whole := l.call("array::concat", l.call("array::slice", a, value.Int(0), k), l.call("array::slice", a, k))
		if whole.Text() != a.Text() {
			t.Fatalf("slices at %s of %s make %s", k, a, whole)
		}
		if r := l.call("array::reverse", l.call("array::reverse", a)); r.Text() != a.Text() {
			t.Fatalf("twice reversed %s is %s", a, r)
		}
		size := value.Int(rapid.Int64Range(1, 5).Draw(t, "size"))
		if r := l.call("array::flatten", l.call("array::clump", a, size)); r.Text() != a.Text() {
			t.Fatalf("clumps of %s make %s", a, r)
		}
		sorted := l.call("array::sort", a).Elems()
		if !slices.IsSortedFunc(sorted, value.Compare) || len(sorted) != a.Len() {
			t.Fatalf("sort(%s) = %s", a, value.ArrayOf(sorted))
		}
	})
}

func TestCollation(t *testing.T) {
	l := newLibrary(t)
	for _, tc := range []struct{ name, in, want string }{
		{"array::sort_natural", "a01,a1,a001,a1b,a01a", "['a1', 'a1b', 'a01', 'a01a', 'a001']"},
		{"array::sort_natural", "1.5,1.10,1.9,-1,-2", "['-1', '-2', '1.5', '1.9', '1.10']"},
		{"array::sort_lexical", "Zebra,apple,Ápple,zoo", "['apple', 'Ápple', 'Zebra', 'zoo']"},
		{"array::sort_lexical", "a b,a-b,ab,a_b,Ab,AB,aB,æ,ae,af,ß,ss,日本,r,1,_x,-y,%,~",
			"['%', '-y', '_x', '~', '1', 'a b', 'a-b', 'a_b', 'AB', 'Ab', 'aB', 'ab', 'ae', 'æ', 'af', 'r', '日本', 'ss', 'ß']"},
		{"array::sort_natural_lexical", "item10,Item2,item1,éa", "['éa', 'item1', 'Item2', 'item10']"},
	} {
		in := l.call("string::split", value.Str(tc.in), value.Str(","))
		if got := l.call(tc.name, in).Text(); got != tc.want {
			t.Errorf("%s(%s): got %s, want %s", tc.name, tc.in, got, tc.want)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	l := newLibrary(t)
	long := value.Str(string(make([]byte, 2000)))
	many := value.ArrayOf(make([]value.Value, 5000))
	for name, args := range map[string][]value.Value{
		"string::repeat":  {value.Str("ab"), value.Int(1 << 40)},
		"array::repeat":   {value.Int(1), value.Int(1 << 40)},
		"array::range":    {value.Int(-1 << 62), value.Int(1 << 62)},
		"array::sequence": {value.Int(1 << 40)},
		"array::combine":  {many, many},
		"string::replace": {long, value.Str(""), long},
		"array::join":     {many, long},
	} {
		if v, err := l.try(name, args...); err == nil ||
			err.Error() != "Incorrect arguments for function "+name+"(). Output must not exceed 1048576 bytes." {
			t.Errorf("%s: got %v, %v", name, v.Kind(), err)
		}
	}
}
