package index

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEntriesAreSortedByTheirKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, 12)
		shared := short.Draw(t, "shared")
		b := &Batch{}
		for _, k := range rapid.SliceOfN(short, 0, 60).Draw(t, "keys") {
			b.entries = append(b.entries, gathered{k: slices.Concat(shared, k)})
		}
		var got [][]byte
		for _, o := range b.sorted() {
			got = append(got, b.entries[o.at].k)
		}
		if len(got) != len(b.entries) || !slices.IsSortedFunc(got, bytes.Compare) {
			t.Fatalf("%x comes as %x", b.entries, got)
		}
	})
}
