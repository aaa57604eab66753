package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// TestBoundedDistances: below its bound a distance is that of euclidean, to the bit; others are not below it.
func TestBoundedDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		scale := []float64{1, 1e-22, 1e-160, 1e18, 1e160}[r.IntN(5)]
		n := r.IntN(140)
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i], b[i] = r.NormFloat64()*scale, r.NormFloat64()*scale
		}
		whole := euclidean(a, b)
		bound := []float64{0, whole, math.Nextafter(whole, 0), math.Nextafter(whole, math.Inf(1)), whole * r.Float64(),
			whole * (1 + r.Float64()), math.Inf(1), math.NaN()}[r.IntN(8)]
		below(t, a, b, bound)
		below(t, narrow[float32](a), narrow[float32](b), float64(float32(bound)))
		below(t, narrow[int16](a), narrow[int16](b), bound)
	}
}

func narrow[T number](v []float64) []T {
	out := make([]T, len(v))
	for i, x := range v {
		if f := math.Trunc(x); f == x || !isInteger[T]() {
			out[i] = T(x)
		} else {
			out[i] = T(int64(math.Mod(f, 1000)))
		}
	}
	return out
}

func below[T number](t *testing.T, a, b []T, bound float64) {
	t.Helper()
	got, want := euclideanBelow(a, b, bound), euclidean(a, b)
	if want < bound && math.Float64bits(got) != math.Float64bits(want) || !(want < bound) && got < bound {
		t.Fatalf("%T of %d elements, bound %v: got %v, want %v", a, len(a), bound, got, want)
	}
}

// TestBoundsChangeNoSearch compares searches with those that measure every distance to its end.
func TestBoundsChangeNoSearch(t *testing.T) {
	for _, metric := range []string{"EUCLIDEAN", "COSINE", "MANHATTAN"} {
		for _, kind := range []string{"F64", "F32", "I16", "F16"} {
			v := hnsw(70, metric, kind)
			s, ok := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v})
			if !ok {
				t.Fatal(metric, kind)
			}
			searchBoth(t, &s)
		}
	}
}

func searchBoth(t *testing.T, s *Spec) {
	t.Helper()
	r := rand.New(rand.NewPCG(2, 3))
	c := newClusters(4, 9, s.Dimension)
	encoded := func() []byte {
		e := c.vector()
		for i := range e {
			e[i] *= 100
		}
		raw, err := s.Encode(nil, numbersOf(e))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	g := newGraph(s, 1)
	for i := range 600 {
		place := g.put(node{record: string(rune('a' + i)), gone: alive}, encoded())
		g.join(place, g.plan(place))
	}
	keep := func(p uint32) bool { return p%7 != 3 }
	for range 60 {
		ef, to := 1+r.IntN(60), g.arena.to(encoded())
		bounded, _ := g.search(nil, new(paused), to, ef, keep)
		one := func(p uint32, _ float64) float64 { return to.one(p, unbounded) }
		whole, _ := g.search(nil, new(paused), measure{one, func(far []float64, places []uint32, _ float64) {
			for i, p := range places {
				far[i] = one(p, unbounded)
			}
		}}, ef, keep)
		if !slices.Equal(bounded, whole) {
			t.Fatalf("%s %s, ef %d: got %v, want %v", s.Metric.name, s.Type, ef, bounded, whole)
		}
	}
}
