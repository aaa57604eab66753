package exec

import (
	"hash/maphash"
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/value"
	"pgregory.net/rapid"
)

func TestCompareText(t *testing.T) {
	for _, tc := range []struct {
		a, b             string
		collate, numeric bool
		want             int
	}{
		{"a10", "a9", false, false, -1},
		{"a10", "a9", false, true, 1},
		{"a010", "a10", false, true, -1},
		{"A1", "a1", false, false, -1},
		{"B", "a", true, false, 1},
		{"é", "z", true, false, -1},
		{"é", "z", false, false, 1},
		{"file10", "File2", true, true, 1},
		{"", "a", true, true, -1},
		{"a", "a", true, true, 0},
	} {
		if got := compareText(tc.a, tc.b, tc.collate, tc.numeric); sign(got) != tc.want {
			t.Errorf("%q and %q (collate %v, numeric %v): got %d, want %d", tc.a, tc.b, tc.collate, tc.numeric, got, tc.want)
		}
	}
}

func sign(i int) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

// TestCompareTextIsAnOrder: it is antisymmetric and transitive in all its forms.
func TestCompareTextIsAnOrder(t *testing.T) {
	text := rapid.StringMatching(`[aAbBéZ019 _]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := text.Draw(t, "a"), text.Draw(t, "b"), text.Draw(t, "c")
		collate, numeric := rapid.Bool().Draw(t, "collate"), rapid.Bool().Draw(t, "numeric")
		cmp := func(x, y string) int { return sign(compareText(x, y, collate, numeric)) }
		if cmp(a, b) != -cmp(b, a) {
			t.Fatalf("%q and %q are not antisymmetric", a, b)
		}
		if cmp(a, b) <= 0 && cmp(b, c) <= 0 && cmp(a, c) > 0 {
			t.Fatalf("%q ≤ %q ≤ %q, but not %q ≤ %q", a, b, c, a, c)
		}
		if (cmp(a, b) == 0) != (a == b) {
			t.Fatalf("%q and %q compare equal", a, b)
		}
	})
}

// TestEqualValuesHashAlike: grouping relies on it.
func TestEqualValuesHashAlike(t *testing.T) {
	seed := maphash.MakeSeed()
	hash := func(v value.Value) uint64 { return hashValue(seed, v) }
	dec := func(i int64) value.Value { return value.DecimalOf(value.DecimalFromInt(i)) }
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.Int64Range(-1<<52, 1<<52).Draw(t, "i")
		same := []value.Value{value.Int(i), value.Float(float64(i)), dec(i)}
		for _, v := range same[1:] {
			if value.Compare(same[0], v) != 0 || hash(same[0]) != hash(v) {
				t.Fatalf("%s and %s hash differently", same[0], v)
			}
			if hash(value.Array(same[0])) != hash(value.Array(v)) {
				t.Fatalf("[%s] and [%s] hash differently", same[0], v)
			}
		}
	})
	nan := value.Float(math.NaN())
	if other := value.Float(math.Float64frombits(0xfff8000000000001)); hash(nan) != hash(other) {
		t.Error("NaN and NaN hash differently")
	}
	if hash(value.Float(0)) != hash(value.Float(negativeZero())) {
		t.Error("0f and -0f hash differently")
	}
}

func negativeZero() float64 {
	z := 0.0
	return -z
}
