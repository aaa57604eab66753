package footprint

import (
	"testing"
)

const mib = 1 << 20

var kept any // so that nothing is optimised away

// TestOver is the control of the bounds that fuzz targets hold.
func TestOver(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    func()
		over bool
	}{
		{"nothing", func() {}, false},
		{"one large block", func() { kept = filled(150 * mib); kept = nil }, true},
		{"many small blocks, all kept", func() {
			var list [][]byte
			for range 150 << 10 {
				list = append(list, make([]byte, 1<<10))
			}
			kept = list
			kept = nil
		}, true},
		{"many small blocks, none kept", func() {
			for range 300 << 10 {
				kept = make([]byte, 1<<10)
			}
			kept = nil
		}, false},
		{"a deep stack", func() { kept = deep(400_000, [32]int{}) }, true},
		{"a block below the limit", func() { kept = filled(20 * mib); kept = nil }, false},
		{"one block after the other", func() {
			for range 8 {
				kept = filled(10 * mib)
				kept = nil
			}
		}, false},
	} {
		got := Over(64*mib, tc.f)
		if (got > 0) != tc.over {
			t.Errorf("%s: over by the measure of %d MiB, want over: %v", tc.name, got/mib, tc.over)
		}
	}
}

// filled is a block that is written to, as one that is used is.
func filled(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

//go:noinline
func deep(n int, pad [32]int) int {
	if n == 0 {
		return pad[0]
	}
	pad[n%32]++
	return deep(n-1, pad) + pad[1]
}
