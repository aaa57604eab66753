package value

import (
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
	"pgregory.net/rapid"
)

// TestFindersFindWhatTryingAllFinds: sorted or not, a list has the same elements; equal numbers of different kinds and
// regular expressions among them.
func TestFindersFindWhatTryingAllFinds(t *testing.T) {
	pool := []Value{Int(1), Float(1), DecimalOf(decimal.FromInt(1)), Str("a"), Str("ab"), None, Null, Array(Int(1)),
		Array(Float(1)), Int(2), Str("1"), Bool(true)}
	if re, err := Cast(Str("b"), Simple(TypeRegex), nil); err == nil {
		pool = append(pool, re)
	} else {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		elems := rapid.SliceOfN(rapid.SampledFrom(pool), 0, 60).Draw(t, "elems")
		few, many := newFinder(elems, 1), newFinder(elems, 1<<20)
		for _, v := range pool {
			if few.equal(v) != many.equal(v) || few.loose(v) != many.loose(v) {
				t.Fatalf("%s in %s: sorted %v %v, else %v %v", v, ArrayOf(elems), many.equal(v), many.loose(v),
					few.equal(v), few.loose(v))
			}
		}
		var want []Value
		for _, e := range elems {
			if !containsEqual(want, e) {
				want = append(want, e)
			}
		}
		if got := ArrayOf(firsts(elems)); got.Text() != ArrayOf(want).Text() {
			t.Fatalf("firsts of %s are %s, want %s", ArrayOf(elems), got, ArrayOf(want))
		}
	})
}
