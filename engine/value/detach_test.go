package value_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

func TestDetachedValuesOutliveTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := valuetest.Object(3).Draw(t, "o").Object()
		b := record(t, o)
		stored := lazy(t, b)
		decoded := lazy(t, b)
		decoded.Fields()
		name, v := valuetest.Text().Draw(t, "name"), valuetest.Value(1).Draw(t, "v")
		edited := stored.With(name, v).With(name+"2", value.ObjectOf(stored))
		wantEdited := wire(t, value.ObjectOf(o.With(name, v).With(name+"2", value.ObjectOf(o))))
		plain := value.ObjectOf(value.ObjectOfSorted(stored.Fields()))
		list := value.Array(value.Int(1), plain, value.ObjectOf(stored))

		all := []value.Value{value.Detach(value.ObjectOf(stored)), value.Detach(value.ObjectOf(decoded)),
			value.Detach(plain)}
		list, ed := value.Detach(list), value.Detach(value.ObjectOf(edited))
		for i := range b {
			b[i] = 0xff
		}
		want := wire(t, value.ObjectOf(o))
		for i, v := range append(all, list.Elems()[1:]...) {
			if wire(t, v) != want {
				t.Fatalf("value %d is %s, want %s", i, v, value.ObjectOf(o))
			}
			sameObject(t, v.Object(), o)
		}
		if wire(t, ed) != wantEdited {
			t.Fatalf("edited: %s", ed)
		}
	})
}

// TestDetachedRecordsOfLists: the ids of a list are those that it had, also with other values between them, and are
// made many at a time.
func TestDetachedRecordsOfLists(t *testing.T) {
	var list []value.Value
	for i := range 200 {
		list = append(list, value.Record("person", value.Int(int64(i))))
		switch i % 50 {
		case 7:
			list = append(list, value.Str("between"))
		case 8:
			key := value.Array(value.Record("person", value.Int(1)), value.Str("x"))
			list = append(list, value.Record("place", key))
		}
	}
	v := value.ArrayOf(list)
	if got := value.Detach(v); value.Compare(got, v) != 0 || got.Elems()[0].Record() == v.Elems()[0].Record() {
		t.Errorf("got %s, want a copy of %s", got, v)
	}
	ids := value.ArrayOf(list[:7])
	for range 5 {
		ids = value.ArrayOf(append(ids.Elems(), ids.Elems()...))
	}
	if n := testing.AllocsPerRun(10, func() { value.Detach(ids) }); n > 20 {
		t.Errorf("%d ids take %v pieces of memory", ids.Len(), n)
	}
}
