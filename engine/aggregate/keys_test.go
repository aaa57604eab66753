package aggregate_test

import (
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// TestKeys: keys that are equal in the order of values are one group, also of different kinds, and others are not.
func TestKeys(t *testing.T) {
	k := aggregate.NewKeys()
	for _, tc := range []struct {
		text string
		want int
	}{
		{"1", 0}, {"1f", 0}, {"1dec", 0}, {"'1'", 1}, {"NONE", 2}, {"NULL", 3}, {"[1, 2]", 4},
		{"[1f, 2]", 4}, {"[2, 1]", 5},
		{"{ a: 1 }", 6}, {"{ a: 1dec }", 6}, {"{ a: 2 }", 7}, {"person:1", 8},
		{"person:1", 8}, {"0", 9}, {"-0f", 9}, {"true", 10}, {"1", 0},
	} {
		v, err := parse.Value(tc.text)
		if err != nil {
			t.Fatalf("%s: %v", tc.text, err)
		}
		if got, _ := k.Of([]value.Value{v}); got != tc.want {
			t.Errorf("%s: got group %d, want %d", tc.text, got, tc.want)
		}
	}
	nan := []value.Value{value.Float(math.NaN())}
	a, hadA := k.Of(nan)
	b, hadB := k.Of(nan)
	if a != b || hadA || !hadB {
		t.Errorf("NaN: got groups %d and %d", a, b)
	}
	pair := aggregate.NewKeys()
	for i := range 1000 {
		keys := []value.Value{value.Int(int64(i % 40)), value.Int(int64(i % 25))}
		got, _ := pair.Of(keys)
		if got != i%200 {
			t.Fatalf("pair %d: got group %d, want %d", i, got, i%200)
		}
		if keys[0] = value.None; pair.At(got)[0].Int() != int64(i%40) {
			t.Fatal("the keys of a group are not a copy")
		}
	}
}
