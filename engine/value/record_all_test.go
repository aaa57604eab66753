package value_test

import (
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// All gives what Fields gives, of stored records as they are and with changes, and stops where it is told to.
func TestAllIsFields(t *testing.T) {
	plain := value.NewObject(value.Field{Name: "a", Value: value.Int(1)}, value.Field{Name: "c", Value: value.Str("x")},
		value.Field{Name: "e", Value: value.Array(value.Int(2))})
	rec, err := value.EncodeRecord(nil, plain)
	if err != nil {
		t.Fatal(err)
	}
	stored := func() *value.Object {
		o, err := value.RecordObject(rec)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	edited := func() *value.Object {
		return stored().With("b", value.Int(3)).Without("c").With("e", value.Int(4)).With("f", value.Int(5))
	}
	read := stored()
	read.Fields()
	for i, o := range []*value.Object{value.NewObject(), plain, stored(), edited(), read} {
		var got []value.Field
		for name, v := range o.All() {
			got = append(got, value.Field{Name: name, Value: v})
		}
		same := func(a, b value.Field) bool { return a.Name == b.Name && a.Value.Text() == b.Value.Text() }
		if !slices.EqualFunc(got, o.Fields(), same) {
			t.Errorf("object %d: %v, want %v", i, got, o.Fields())
		}
		n := 0
		for range o.All() {
			n++
			break
		}
		if n != min(1, o.Len()) {
			t.Errorf("object %d: %d fields behind the first", i, n)
		}
	}
	for _, o := range []*value.Object{edited(), stored()} {
		for name := range o.All() {
			if name == "b" || name == "c" {
				break // in the midst of what was changed
			}
		}
	}
}
