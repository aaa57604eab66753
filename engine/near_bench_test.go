//go:build unix

package engine_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// fillNear makes records with vectors that differ in 16 directions above all, as those of models do.
func fillNear(t testing.TB, s *engine.Session, n, dimension int) {
	r := rand.New(rand.NewPCG(8, 8))
	axes := make([][]float64, 16)
	for i := range axes {
		axes[i] = make([]float64, dimension)
		for j := range axes[i] {
			axes[i][j] = r.NormFloat64()
		}
	}
	for from := 0; from < n; from += 500 {
		rows := make([]value.Value, 0, 500)
		for id := from; id < min(n, from+500); id++ {
			sum := make([]float64, dimension)
			for _, axis := range axes {
				by := r.NormFloat64()
				for k, x := range axis {
					sum[k] += by * x
				}
			}
			v := make([]value.Value, dimension)
			for i, x := range sum {
				v[i] = value.Float(x + r.NormFloat64()/2)
			}
			rows = append(rows, value.ObjectOf(value.NewObject(value.Field{Name: "id", Value: value.Int(int64(id))},
				value.Field{Name: "v", Value: value.ArrayOf(v)}, value.Field{Name: "g", Value: value.Int(int64(id % 10))})))
		}
		run(t, s, "INSERT INTO pt $rows RETURN NONE", value.Field{Name: "rows", Value: value.ArrayOf(rows)})
	}
}

// BenchmarkSpeedGraph searches a graph that is whole: its vectors are linked after the statement that stores them.
func BenchmarkSpeedGraph(b *testing.B) {
	s := stored(b, func(s *engine.Session) { fillNear(b, s, 10_000, 128) })
	run(b, s, "DEFINE INDEX h ON pt FIELDS v HNSW DIMENSION 128 DIST EUCLIDEAN")
	q := value.Field{Name: "q", Value: run(b, s, "SELECT VALUE v FROM ONLY pt:77")[0].Value}
	for before := processorTime(b); ; {
		time.Sleep(time.Second)
		now := processorTime(b)
		if now-before < 50*time.Millisecond {
			break
		}
		before = now
	}
	for _, c := range []struct{ name, text string }{
		{"Index", "SELECT VALUE id FROM pt WHERE v <|10,40|> $q"},
		{"Filtered", "SELECT VALUE id FROM pt WHERE v <|10,10|> $q AND g = 3"},
		{"Exact", "SELECT VALUE id FROM pt WHERE v <|10,EUCLIDEAN|> $q"},
	} {
		b.Run(c.name, func(b *testing.B) { speed(b, s, c.text, 0, q) })
	}
}

// BenchmarkSpeedHops walks edges without a look at the records.
func BenchmarkSpeedHops(b *testing.B) {
	s := stored(b, func(s *engine.Session) { run(b, s, society) })
	b.Run("1", func(b *testing.B) { speed(b, s, "SELECT VALUE ->knows->person FROM ONLY person:42", 10) })
	b.Run("2", func(b *testing.B) {
		speed(b, s, "SELECT VALUE ->knows->person->knows->person FROM ONLY person:42", 100)
	})
	b.Run("3", func(b *testing.B) {
		speed(b, s, "SELECT VALUE ->knows->person->knows->person->knows->person FROM ONLY person:42", 1000)
	})
}
