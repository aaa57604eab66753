package vector

import (
	"encoding/binary"
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
	packedSums(t, r)
	if m, _ := NewMetric("PEARSON", value.None); m.Packed(nil) != nil {
		t.Error("PEARSON is packed")
	}
}

// packedSums compares the sums that the processor has of its own with those of the Go code: the bits, and which
// elements are floats.
func packedSums(t *testing.T, r *rand.Rand) {
	t.Helper()
	if !hasPackedSums {
		return
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, 5e-324}
	for turns := 1; turns < 40; turns++ {
		query := make([]float64, 4*turns)
		var packed []byte
		for i := range query {
			x := r.NormFloat64()
			if query[i] = r.NormFloat64(); r.IntN(50) == 0 {
				x = special[r.IntN(len(special))]
			}
			packed = binary.BigEndian.AppendUint64(append(packed, 0xfb), math.Float64bits(x))
		}
		for range 50 {
			var got, want [3][4]float64
			other := squares(&want[0], packed, query)
			if products(&want[1], &want[2], packed, query) != other {
				t.Fatal("squares and products do not tell the same of elements")
			}
			one := squaresAVX2(&got[0], &packed[0], &query[0], turns)
			two := productsAVX2(&got[1], &got[2], &packed[0], &query[0], turns)
			if (one == 0) != (other == 0) || (two == 0) != (other == 0) {
				t.Fatalf("%d turns: got others %x and %x, want %x", turns, one, two, other)
			}
			for i := range got {
				for k := range got[i] {
					if math.Float64bits(got[i][k]) != math.Float64bits(want[i][k]) && !math.IsNaN(want[i][k]) {
						t.Fatalf("%d turns, sum %d: got %v, want %v", turns, i, got[i], want[i])
					}
					if math.IsNaN(got[i][k]) != math.IsNaN(want[i][k]) {
						t.Fatalf("%d turns, sum %d: got %v, want %v", turns, i, got[i], want[i])
					}
				}
			}
			// In the next turn one element is none, or one less.
			packed[value.PackedFloat*r.IntN(len(query))] = 0xfb ^ byte(r.IntN(2)<<r.IntN(8))
		}
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
