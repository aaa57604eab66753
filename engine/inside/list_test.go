package inside

import (
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

func TestSliceLiesWithinTheArray(t *testing.T) {
	elems := []value.Value{value.Int(0), value.Int(1), value.Int(2)}
	in := func(k value.BoundKind, i int64) value.Bound { return value.Bound{Kind: k, Value: value.Int(i)} }
	open := value.Bound{}
	for _, tc := range []struct {
		rg   value.Range
		want string
	}{
		{value.Range{Start: open, End: open}, "[0, 1, 2]"},
		{value.Range{Start: in(value.Included, 1), End: in(value.Excluded, 2)}, "[1]"},
		{value.Range{Start: in(value.Excluded, 0), End: in(value.Included, 2)}, "[1, 2]"},
		{value.Range{Start: in(value.Included, 3), End: open}, "[]"},
		{value.Range{Start: in(value.Included, 4), End: open}, "NONE"},
		{value.Range{Start: in(value.Included, 2), End: in(value.Excluded, 1)}, "NONE"},
		{value.Range{Start: in(value.Included, -1), End: open}, "NONE"},
		{value.Range{Start: open, End: in(value.Included, 3)}, "NONE"},
		{value.Range{Start: open, End: in(value.Included, 1<<62)}, "NONE"},
	} {
		if got := Slice(elems, &tc.rg).Text(); got != tc.want {
			t.Errorf("%s: got %s, want %s", value.RangeOf(&tc.rg), got, tc.want)
		}
	}
}
