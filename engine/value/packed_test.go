package value_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

func TestPackedRowsAreTheListOfThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p value.Packed
		var rows []value.Value
		for range rapid.IntRange(0, 40).Draw(t, "rows") {
			if rapid.Bool().Draw(t, "stored") {
				o := valuetest.Object(2).Draw(t, "o")
				p.AppendRecord(record(t, o.Object()))
				rows = append(rows, o)
				continue
			}
			v := valuetest.Value(2).Draw(t, "v")
			p.Append(v)
			rows = append(rows, v)
		}
		b, err := p.AppendTo([]byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "kept" + wire(t, value.ArrayOf(rows)); string(b) != want {
			t.Fatalf("packed as %x, want %x", b, want)
		}
		if p.Len() != len(rows) || p.Size() > len(b) || p.Size()+16 < len(b) {
			t.Fatalf("%d rows of %d bytes, want %d of %d", p.Len(), p.Size(), len(rows), len(b))
		}
	})
}

// Rows are long and short, and many, so that blocks fill up in all ways.
func TestPackedRowsOfAnySize(t *testing.T) {
	var p value.Packed
	var rows []value.Value
	for i := range 3000 {
		v := value.BytesOf(make([]byte, i*i%4001+i/2900*200_000))
		p.Append(v)
		rows = append(rows, v)
	}
	b, err := p.AppendTo(nil)
	if err != nil || string(b) != wire(t, value.ArrayOf(rows)) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestPackedRowsWithoutWireForm(t *testing.T) {
	re, err := value.CompileRegex("a")
	if err != nil {
		t.Fatal(err)
	}
	var p value.Packed
	p.Append(value.Int(1))
	p.AppendRecord(record(t, value.NewObject(value.Field{Name: "r", Value: value.RegexOf(re)})))
	p.Append(value.Int(2))
	if b, err := p.AppendTo(nil); err == nil {
		t.Errorf("went out as %x", b)
	}
}

func TestRawFieldsAreTheirWireForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := valuetest.Object(2).Draw(t, "o").Object()
		stored := lazy(t, record(t, o))
		for _, f := range o.Fields() {
			if got := string(stored.Raw(f.Name)); got != wire(t, f.Value) {
				t.Fatalf("field %q is %x, want %x", f.Name, got, wire(t, f.Value))
			}
			if stored.With(f.Name, value.Int(1)).Raw(f.Name) != nil {
				t.Fatalf("field %q is raw after a change", f.Name)
			}
		}
		if stored.Raw("no such field, to be sure") != nil || o.Raw("a") != nil {
			t.Fatal("a field that is not there is raw")
		}
	})
}
