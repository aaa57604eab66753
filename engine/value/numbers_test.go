package value_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// TestNumbersReadWhatGetReads reads fields of objects of many forms, one after the other by the same reader.
func TestNumbersReadWhatGetReads(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	long := "a name of more than twenty-three bytes"
	names := []string{"c", "b10", long, "b1", "z", "id"}
	object := value.ObjectOf(value.NewObject(value.Field{Name: "c", Value: value.Int(1)}))
	some := []value.Value{
		value.Int(0), value.Int(23), value.Int(24), value.Int(-1), value.Int(1 << 60), value.Float(0.5),
		value.Float(-1e300), value.DecimalOf(decimal.FromInt(7)), // numbers up to here
		value.Str("1"), value.None, value.Null, value.Bool(true), value.Array(value.Int(1)), object,
	}
	n := value.NumbersOf(names)
	read := 0
	for range 5000 {
		var fields []value.Field
		for _, name := range append(names, "a", "d", "y") {
			if rnd.IntN(20) > 0 {
				v := some[rnd.IntN(8)]
				if rnd.IntN(20) == 0 {
					v = some[rnd.IntN(len(some))]
				}
				fields = append(fields, value.Field{Name: name, Value: v})
			}
		}
		o := value.NewObject(fields...)
		if rnd.IntN(2) == 0 {
			o = lazy(t, record(t, o))
			if rnd.IntN(4) == 0 {
				o = o.With("b1", value.Int(5))
			}
		}
		want, wantOK := []float32{9}, true
		for _, name := range names {
			v, _ := o.Get(name)
			wantOK = wantOK && v.Kind().IsNumber()
			want = append(want, float32(v.AsFloat()))
		}
		if !wantOK {
			want = want[:1]
		} else {
			read++
		}
		got, ok := n.Append([]float32{9}, o)
		if ok != wantOK || !slices.Equal(got, want) {
			t.Fatalf("%s: got %v, %v, want %v, %v", value.ObjectOf(o).Text(), got, ok, want, wantOK)
		}
	}
	if read < 500 {
		t.Errorf("only %d objects had all the numbers", read)
	}
}

// BenchmarkNumbers reads 20 fields of stored records.
func BenchmarkNumbers(b *testing.B) {
	var names []string
	var fields []value.Field
	for i := range 20 {
		names = append(names, fmt.Sprint("c", i))
		fields = append(fields, value.Field{Name: names[i], Value: value.Float(float64(i) / 3)})
	}
	o, n := lazy(b, record(b, value.NewObject(fields...))), value.NumbersOf(names)
	var row []float32
	b.ReportAllocs()
	for b.Loop() {
		row, _ = n.Append(row[:0], o)
	}
	if len(row) != len(names) {
		b.Fatal(row)
	}
}
