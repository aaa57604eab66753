package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value"
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

// TestSearchesOfOlderSnapshots: a search in a graph gives none of the vectors that came after its snapshot, nor one
// that its transaction took out.
func TestSearchesOfOlderSnapshots(t *testing.T) {
	b := newBench(t, mem.New(), hnsw(2, "EUCLIDEAN", "F32"))
	defer b.cache.Close()
	const before, after = 4 * exactLimit, 50
	r := rand.New(rand.NewPCG(3, 3))
	b.write(func(x *Index) {
		for id := range before {
			b.put(x, id, []float64{r.NormFloat64(), r.NormFloat64()})
		}
	})
	b.settle()
	older := b.begin(false)
	defer older.Tx.Cancel()
	b.write(func(x *Index) {
		for id := range after {
			b.put(x, before+id, []float64{0, 0})
		}
	})
	b.settle()
	for _, h := range b.nearest(older, []float64{0, 0}, 20, 40) {
		if h.Record.Int() >= before {
			t.Errorf("an older snapshot got %v", h.Record)
		}
	}
	writer := b.begin(true)
	defer writer.Tx.Cancel()
	hits := b.nearest(writer, []float64{0, 0}, after, 60)
	b.check(writer.Remove(hits[0].Record))
	for _, h := range hits {
		if h.Record.Int() < before {
			t.Errorf("a new snapshot got %v", h.Record)
		}
	}
	for _, h := range b.nearest(writer, []float64{0, 0}, after, 60) {
		if value.Compare(h.Record, hits[0].Record) == 0 {
			t.Errorf("a writer got %v, which it has removed", h.Record)
		}
	}
}
