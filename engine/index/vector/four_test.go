package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// TestFourDistances: measured four at once, distances are those of one by one, to the bit; those that are not below the
// bound are not below it.
func TestFourDistances(t *testing.T) {
	if !hasFour {
		t.Skip("no such code for this processor")
	}
	r := rand.New(rand.NewPCG(5, 7))
	for range 5_000 {
		v := hnsw(4+r.IntN(200), []string{"EUCLIDEAN", "COSINE"}[r.IntN(2)], []string{"F32", "F16"}[r.IntN(2)])
		s, ok := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v})
		if !ok {
			t.Fatal(v)
		}
		a := newArena(&s).(*vectors[float32])
		places := make([]uint32, r.IntN(11))
		for i := range places {
			places[i] = uint32(i)
			a.set(places[i], storedFloats(t, &s, r))
		}
		r.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		to := a.to(storedFloats(t, &s, r))
		want := make([]float64, len(places))
		for i, p := range places {
			want[i] = to.one(p, unbounded)
		}
		bound := math.Inf(1)
		if len(want) > 0 && r.IntN(3) > 0 {
			bound = want[0] * []float64{1, 1, 0.5, 0, 2}[r.IntN(5)]
		}
		got := make([]float64, len(places))
		to.each(got, places, bound)
		for i, w := range want {
			if w < bound && math.Float64bits(got[i]) != math.Float64bits(w) || !(w < bound) && got[i] < bound {
				t.Fatalf("%s %s of %d, bound %v: got %v, want %v", v.Distance, v.Type, v.Dimension, bound, got, want)
			}
		}
	}
}

// storedFloats is a vector in its stored form; some have elements that are no numbers, or whose squares are none.
func storedFloats(t *testing.T, s *Spec, r *rand.Rand) []byte {
	t.Helper()
	scale := []float64{1, 1, 1, 1e-22, 1e18, 1e30}[r.IntN(6)]
	e := make([]float64, s.Dimension)
	for i := range e {
		e[i] = r.NormFloat64() * scale
	}
	if r.IntN(20) == 0 {
		e[r.IntN(len(e))] = []float64{math.NaN(), math.Inf(1), 0}[r.IntN(3)]
	}
	raw, err := s.Encode(nil, numbersOf(e))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clip(raw)
}
