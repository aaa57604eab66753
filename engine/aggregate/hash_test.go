package aggregate

import (
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
	"pgregory.net/rapid"
)

// TestEqualValuesHashAlike: grouping relies on it.
func TestEqualValuesHashAlike(t *testing.T) {
	hash := NewKeys().hash
	dec := func(i int64) value.Value { return value.DecimalOf(decimal.FromInt(i)) }
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
	if hash(value.Float(0)) != hash(value.Float(math.Copysign(0, -1))) {
		t.Error("0f and -0f hash differently")
	}
}
