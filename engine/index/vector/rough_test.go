package vector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestRough: what may be near has all that is near, by vectors of many sizes and kinds, also those that are equally far
// and those that cannot be rounded.
func TestRough(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	narrowed := 0
	for range 3000 {
		name := []string{"EUCLIDEAN", "COSINE"}[r.IntN(2)]
		m, _ := NewMetric(name, value.None)
		n, count, k := 1+r.IntN(70), r.IntN(300), 1+r.IntN(12)
		kind := r.IntN(9)
		rough := NewRough(m, n)
		vectors := make([][]float64, count)
		for i := range vectors {
			vectors[i] = roughVector(r, n, kind)
			if i > 0 && r.IntN(4) == 0 {
				vectors[i] = slices.Clone(vectors[r.IntN(i)])
				vectors[i][r.IntN(n)] *= 1 + float64(r.IntN(3)-1)*1e-9
			}
			rough.Add(vectors[i])
		}
		query := roughVector(r, n, kind)
		if count > 0 && r.IntN(3) == 0 {
			query = slices.Clone(vectors[r.IntN(count)])
		}
		if kind == 8 {
			clear(query)
		}
		places, ok := rough.Near(context.Background(), query, k, count)
		if !ok {
			if _, _, fits := rough.round(make([]float32, n), query); fits {
				t.Fatalf("%s: no answer for %v", name, query)
			}
			continue
		}
		if !slices.IsSorted(places) || len(slices.Compact(slices.Clone(places))) != len(places) {
			t.Fatalf("places are not ascending: %v", places)
		}
		if len(places) < count {
			narrowed++
		}
		if missing := missed(m, vectors, query, places, k); missing != "" {
			t.Fatalf("%s, dimension %d, %d of %d vectors of kind %d: %s", name, n, k, count, kind, missing)
		}
	}
	if narrowed < 1000 {
		t.Errorf("only %d searches left vectors out", narrowed)
	}
}

// roughVector makes a vector of a kind.
func roughVector(r *rand.Rand, n, kind int) []float64 {
	v := make([]float64, n)
	for i := range v {
		x := r.NormFloat64()
		switch kind {
		case 0: // of different sizes
			x *= math.Pow(10, float64(r.IntN(300)-150))
		case 1: // near one another, far from zero
			x = 1e5 + x*2e-2
		case 2: // few different ones
			x = float64(r.IntN(3) - 1)
		case 3:
			if r.IntN(20) == 0 {
				x = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, 0}[r.IntN(6)]
			}
		case 4: // too small for the squares of 32 bits, and for 32 bits
			x *= math.Pow(10, -float64(15+r.IntN(35)))
		case 5: // as large as may be
			x *= mostRough
		case 7: // whose squares have few bits of 32
			x = float64(float32(x * 1e-22))
		case 8: // of the same elements: equally far from zero, but for how sums are rounded
			x = float64(1000 + i)
		}
		v[i] = x
	}
	if kind == 8 {
		r.Shuffle(n, func(i, j int) { v[i], v[j] = v[j], v[i] })
	}
	return v
}

// missed says which of the k nearest vectors is not at the places; "" if all are.
func missed(m Metric, vectors [][]float64, query []float64, places []uint32, k int) string {
	far := make([]float64, len(vectors))
	order := make([]int, len(vectors))
	for i, v := range vectors {
		far[i], order[i] = m.Floats()(v, query), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := far[a], far[b]; {
		case x < y || math.IsNaN(x) && !math.IsNaN(y):
			return -1
		case x > y || math.IsNaN(y) && !math.IsNaN(x):
			return 1
		}
		return 0
	})
	for rank, i := range order[:min(k, len(order))] {
		if _, there := slices.BinarySearch(places, uint32(i)); !there {
			return fmt.Sprintf("no vector %d, which has rank %d and is %v away: %v from %v", i, rank, far[i], vectors[i], query)
		}
	}
	return ""
}

// TestRoughFew: a search whose vectors are mostly far finds few more than it must, also with many of them, and gives up
// where too many may be near.
func TestRoughFew(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	const n, count = 24, 3*roughBlock + 7
	for _, name := range []string{"EUCLIDEAN", "COSINE"} {
		m, _ := NewMetric(name, value.None)
		rough, alike := NewRough(m, n), NewRough(m, n)
		vectors := make([][]float64, count)
		for i := range vectors {
			vectors[i] = roughVector(r, n, 6)
			rough.Add(vectors[i])
			alike.Add(vectors[0])
		}
		rough.AddOdd()
		if rough.Len() != count+1 || rough.Odd() != 1 {
			t.Errorf("got %d vectors, %d of them odd", rough.Len(), rough.Odd())
		}
		query := roughVector(r, n, 6)
		places, ok := rough.Near(context.Background(), query, 10, 20)
		if !ok || len(places) > 15 || places[len(places)-1] != count {
			t.Fatalf("%s: got %v, %v", name, places, ok)
		}
		if missing := missed(m, vectors, query, places, 10); missing != "" {
			t.Errorf("%s: %s", name, missing)
		}
		if places, ok := alike.Near(context.Background(), query, 10, 1000); ok {
			t.Errorf("%s: of vectors that are all alike it finds %d", name, len(places))
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, ok := rough.Near(ctx, query, 10, 20); ok {
			t.Errorf("%s: a search answers whose context has ended", name)
		}
	}
	if m, _ := NewMetric("MANHATTAN", value.None); Rounds(m, n) {
		t.Error("MANHATTAN is rounded")
	}
}

func BenchmarkRough(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 3))
	for _, name := range []string{"EUCLIDEAN", "COSINE"} {
		m, _ := NewMetric(name, value.None)
		rough := NewRough(m, 128)
		for range 100_000 {
			rough.Add(roughVector(r, 128, 6))
		}
		query := roughVector(r, 128, 6)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok := rough.Near(context.Background(), query, 10, 1000); !ok {
					b.Fatal("no answer")
				}
			}
		})
	}
}
