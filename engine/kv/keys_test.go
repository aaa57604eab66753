package kv_test

import (
	"bytes"
	"cmp"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/kv"
)

// TestHeadsAndPrefixes: heads that differ have the order of their keys, and two keys are alike just as far as their
// shared prefix goes.
func TestHeadsAndPrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, 12)
		a, b := keys.Draw(t, "a"), keys.Draw(t, "b")
		if c := cmp.Compare(kv.Head(a), kv.Head(b)); c != 0 && c != bytes.Compare(a, b) {
			t.Fatalf("heads of %x and %x: %d", a, b, c)
		}
		n := kv.SharedPrefix(a, b)
		if !bytes.Equal(a[:n], b[:n]) || n < len(a) && n < len(b) && a[n] == b[n] {
			t.Fatalf("%x and %x share %d", a, b, n)
		}
	})
}
