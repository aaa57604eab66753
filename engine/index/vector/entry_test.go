package vector

import (
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value"
)

func TestInField(t *testing.T) {
	object := func(name string, v value.Value) value.Value {
		return value.ObjectOf(value.NewObject(value.Field{Name: name, Value: v}))
	}
	one := value.Array(value.Int(1))
	for _, tc := range []struct {
		path []catalog.Step
		doc  value.Value
		want bool
	}{
		{[]catalog.Step{{Name: "v"}}, object("v", one), true},
		{[]catalog.Step{{Name: "m"}, {Name: "v"}}, object("m", object("v", one)), true},
		{[]catalog.Step{{Name: "m"}, {Name: "v"}}, object("m", value.Array(object("v", one))), false},
		{[]catalog.Step{{Name: "m"}, {All: true}}, object("m", one), false},
		{nil, object("v", one), false},
		{[]catalog.Step{{Name: "v"}}, value.None, false},
	} {
		ix := &catalog.Index{Paths: [][]catalog.Step{tc.path}}
		if got := InField(ix, tc.doc); got != tc.want {
			t.Errorf("%v of %s: got %v, want %v", tc.path, tc.doc.Text(), got, tc.want)
		}
	}
}

// TestVectorsOfFields: for every notation of a vector in its record, the reader of fields finds what was indexed.
func TestVectorsOfFields(t *testing.T) {
	decimal, err := decimal.ParseLiteral("2.5")
	if err != nil {
		t.Fatal(err)
	}
	mixed := func(n int) value.Value {
		out := make([]value.Value, n)
		for i := range out {
			switch i % 4 {
			case 0:
				out[i] = value.Int(int64(i))
			case 1:
				out[i] = value.Float(-float64(i))
			case 2:
				out[i] = value.DecimalOf(decimal)
			default:
				out[i] = value.Float(math.Copysign(0, -1))
			}
		}
		return value.ArrayOf(out)
	}
	nested := value.Array(mixed(16), mixed(16))
	for _, kind := range []string{"F64", "F32", "I64", "I32", "I16"} {
		for _, v := range []value.Value{mixed(32), nested} {
			b := newBench(t, mem.New(), hnsw(32, "EUCLIDEAN", kind))
			b.ix.Paths = [][]catalog.Step{{{Name: "m"}, {Name: "v"}}}
			image := value.NewObject(value.Field{Name: "m",
				Value: value.ObjectOf(value.NewObject(value.Field{Name: "v", Value: v}))})
			raw, err := value.EncodeRecord(nil, image)
			b.check(err)
			b.write(func(x *Index) {
				b.check(x.Put(value.Int(7), v, InField(b.ix, value.ObjectOf(image))))
				b.check(x.Tx.Set(key.Record(nil, 1, 2, 3, value.Int(7)), raw))
			})
			x := b.begin(false)
			want, err := x.Spec.Encode(nil, v)
			b.check(err)
			entry, err := x.Tx.Get(x.vectorKey(value.Int(7)))
			b.check(err)
			if len(entry) != pointerSize || !x.agrees(entry, want) {
				t.Errorf("%s: entry %x", kind, entry)
			}
			in := x.fields()
			got, err := in.append(nil, key.AppendRecordKey(nil, value.Int(7)), entry)
			b.check(err)
			if string(got) != string(want) {
				t.Errorf("%s of %s: got %x, want %x", kind, v.Text(), got, want)
			}
			if _, err := in.append(nil, key.AppendRecordKey(nil, value.Int(8)), entry); err == nil {
				t.Errorf("%s: the vector of a record that is not there", kind)
			}
			in.close()
			if has, err := x.Holds(value.Int(7), v); err != nil || !has {
				t.Errorf("%s: Holds: %v %v", kind, has, err)
			}
			if has, err := x.Holds(value.Int(7), mixed(31)); err == nil && has {
				t.Errorf("%s: holds another vector", kind)
			}
			x.Tx.Cancel()
			b.cache.Close()
		}
	}
}

// TestFilling: what is put while an index is made is found by searches of the same transaction, and afterwards.
func TestFilling(t *testing.T) {
	b := newBench(t, mem.New(), ast.VectorIndex{Dimension: 32, Distance: "EUCLIDEAN", Type: "F32", EFC: 50, M: 4, M0: 8,
		LM: value.Float(0.7)})
	defer b.cache.Close()
	at := func(i int) []float64 {
		v := make([]float64, 32)
		v[0] = float64(i)
		return v
	}
	look := func(x *Index) {
		t.Helper()
		hits := b.nearest(x, at(40), 3, 10)
		if len(hits) != 3 || hits[0].Record.Int() != 40 || hits[0].Distance != 0 {
			t.Fatalf("got %v", hits)
		}
	}
	b.write(func(x *Index) { b.put(x, 1, at(1)) })
	b.settle() // there is a graph
	b.write(func(x *Index) {
		x.Filling = true
		for i := 2; i < 80; i++ {
			b.put(x, i, at(i))
		}
		look(x)
	})
	x := b.begin(false)
	defer x.Tx.Cancel()
	look(x)
	b.settle()
	look(x)
	later := b.begin(false)
	defer later.Tx.Cancel()
	look(later)
	if n, err := later.Check(t.Context(), func(text string) { t.Error(text) }); err != nil || n != 79 {
		t.Errorf("check: %d %v", n, err)
	}
}
