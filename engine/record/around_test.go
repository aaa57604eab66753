package record_test

import (
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// TestReserve: a list that grows by as many stops from each is copied once or twice, and one that grows by many from
// the first alone does not take much more than it has.
func TestReserve(t *testing.T) {
	for _, tc := range []struct{ all, first, each, copies, most int }{
		{100, 10, 10, 2, 1500}, {1000, 1, 1, 1, 1100}, {1000, 0, 0, 1, 1100}, {1, 5, 0, 1, 10},
		{1000, 9000, 0, 3, 22_000},
	} {
		var out, want []record.Stop
		copies, before := 0, 0
		for i := range tc.all {
			out = record.Reserve(out, i, tc.all)
			n := tc.each
			if i == 0 {
				n = tc.first
			}
			found := make([]record.Stop, n)
			for j := range found {
				found[j].At = value.Int(int64(len(want) + j))
			}
			out, want = append(out, found...), append(want, found...)
			if cap(out) != before {
				copies, before = copies+1, cap(out)
			}
		}
		if !slices.Equal(out, want) || copies > tc.copies || cap(out) > tc.most {
			t.Errorf("%+v: %d stops, %d copies, room for %d", tc, len(out), copies, cap(out))
		}
	}
}
