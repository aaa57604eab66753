package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestPackedDistances: vectors are as far as Floats says, to the bit, and arrays with other elements are told apart.
func TestPackedDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, name := range []string{"EUCLIDEAN", "COSINE"} {
		m, ok := NewMetric(name, value.None)
		if !ok {
			t.Fatal(name)
		}
		for n := range 40 {
			query, elems := make([]float64, n), make([]value.Value, n)
			floats := make([]float64, n)
			for i := range query {
				query[i], floats[i] = r.NormFloat64(), r.NormFloat64()
				elems[i] = value.Float(floats[i])
			}
			got, ok := packedFar(t, m, query, elems)
			if want := m.Floats()(floats, query); !ok || math.Float64bits(got) != math.Float64bits(want) {
				t.Errorf("%s of %d elements: got %v, %v, want %v", name, n, got, ok, want)
			}
			if n == 0 {
				continue
			}
			elems[r.IntN(n)] = value.Str("12345678") // as long as a float
			if _, ok := packedFar(t, m, query, elems); ok {
				t.Errorf("%s of %d elements: an array with a text is measured", name, n)
			}
		}
	}
	if m, _ := NewMetric("PEARSON", value.None); m.Packed(nil) != nil {
		t.Error("PEARSON is packed")
	}
}

func packedFar(t *testing.T, m Metric, query []float64, elems []value.Value) (float64, bool) {
	t.Helper()
	b, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "v", Value: value.Array(elems...)}))
	if err != nil {
		t.Fatal(err)
	}
	f := value.NewFields([][]string{{"v"}})
	if err := f.Stored(b); err != nil {
		t.Fatal(err)
	}
	packed, ok := f.Packed(0, len(query))
	if !ok {
		t.Fatalf("%d elements are not packed", len(elems))
	}
	if _, ok := f.Packed(0, len(query)+1); ok {
		t.Fatal("an array of another length is packed")
	}
	return m.Packed(query)(packed)
}
