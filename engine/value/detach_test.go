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
