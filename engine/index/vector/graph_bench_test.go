package vector

import (
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// BenchmarkGraph searches a graph whose vectors differ in 16 directions above all, as those of models do.
func BenchmarkGraph(b *testing.B) {
	for _, metric := range []string{"EUCLIDEAN", "COSINE"} {
		b.Run(metric, func(b *testing.B) {
			search := searchGraph(b, metric, 10_000)
			i := 0
			for b.Loop() {
				search(i)
				i++
			}
		})
	}
}

// searchGraph gives what searches a graph of n vectors for the question i.
func searchGraph(b *testing.B, metric string, n int) func(i int) {
	v := hnsw(128, metric, "F32")
	spec, _ := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v})
	r := rand.New(rand.NewPCG(8, 8))
	var axes [16][128]float64
	for i := range axes {
		for j := range axes[i] {
			axes[i][j] = r.NormFloat64()
		}
	}
	vector := func() []byte {
		sum := make([]float64, 128)
		for i := range axes {
			by := r.NormFloat64()
			for k, x := range axes[i] {
				sum[k] += by * x
			}
		}
		for k := range sum {
			sum[k] += r.NormFloat64() / 2
		}
		raw, err := spec.Encode(nil, numbersOf(sum))
		if err != nil {
			b.Fatal(err)
		}
		return raw
	}
	g := newGraph(&spec, 1)
	for range n {
		place := g.put(node{gone: alive}, vector())
		g.join(place, g.plan(place))
	}
	asked := make([][]byte, 200)
	for i := range asked {
		asked[i] = vector()
	}
	var hits []found
	return func(i int) {
		var s paused
		hits, _ = g.search(hits[:0], &s, g.arena.to(asked[i%len(asked)]), 40, nil)
		s.end()
	}
}
