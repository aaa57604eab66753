package sift_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/sift"
)

func TestTop(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 5))
	for range 500 {
		all := r.Perm(r.IntN(60))
		for _, most := range []int64{-1, 0, 1, 2, 7, 30, 100} {
			top := sift.Top[int]{Most: most, Less: func(a, b *int) bool { return *a < *b }}
			grown := 0
			for _, x := range all {
				among := top.Among(&x)
				before := top.Len()
				if top.Take(x) {
					grown++
				}
				if !among && top.Len() != before {
					t.Fatalf("%d is kept, and not among the first", x)
				}
			}
			want := slices.Sorted(slices.Values(all))
			if most >= 0 {
				want = want[:min(int(most), len(want))]
			}
			if got := top.Sorted(); !slices.Equal(got, want) || grown != len(want) {
				t.Fatalf("the first %d of %v: got %v, grown %d", most, all, got, grown)
			}
		}
	}
}
