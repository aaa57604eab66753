package value_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// One Slots finds the fields of records of any shape, one after another.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"", "a", "b", "c", "nowhere", "zz"}
		slots := value.NewSlots(names)
		for range 5 {
			o := valuetest.Object(2).Draw(t, "object").Object()
			for _, name := range names[:4] {
				if rapid.Bool().Draw(t, "has "+name) {
					o = o.With(name, valuetest.Value(1).Draw(t, name))
				}
			}
			if slots.Open(o) {
				t.Fatal("an object that is not stored is open")
			}
			stored := lazy(t, record(t, o))
			if !slots.Open(stored) {
				t.Fatal("a stored record is not open")
			}
			for i, name := range names {
				item := slots.Item(i)
				want, ok := o.Get(name)
				if ok != (item != nil) {
					t.Fatalf("field %q is there: %v, want %v", name, item != nil, ok)
				}
				if !ok {
					continue
				}
				got, size := value.StoredValue(item)
				if size != len(item) || wire(t, got) != wire(t, want) {
					t.Fatalf("field %q is %s in %d of %d bytes, want %s", name, got, size, len(item), want)
				}
			}
			if slots.Open(stored.With("a", value.Int(1))) {
				t.Fatal("an object that was changed is open")
			}
		}
	})
}

// BenchmarkSlots reads three fields of stored records that have the same ones.
func BenchmarkSlots(b *testing.B) {
	var rows [64][]byte
	for i := range rows {
		raw, err := value.EncodeRecord(nil, value.NewObject(
			value.Field{Name: "id", Value: value.Record("item", value.Int(int64(i)))},
			value.Field{Name: "n", Value: value.Int(int64(i) * 1000)},
			value.Field{Name: "name", Value: value.Str("the name of a row")},
			value.Field{Name: "score", Value: value.Float(float64(i) / 2)}))
		if err != nil {
			b.Fatal(err)
		}
		rows[i] = raw
	}
	slots := value.NewSlots([]string{"name", "n", "score"})
	var shelf value.Shelf
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		shelf.Begin(len(rows))
		for _, raw := range rows {
			if err := shelf.Add(raw); err != nil {
				b.Fatal(err)
			}
		}
		for _, row := range shelf.Rows() {
			if !slots.Open(row.Object()) {
				b.Fatal("not stored")
			}
			for i := range 3 {
				size += len(slots.Item(i))
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
}
