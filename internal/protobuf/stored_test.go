package protobuf_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
	"github.com/nacredb/nacre/internal/protobuf"
)

// stored is o as it comes from the store.
func stored(t rapid.TB, o *value.Object) *value.Object {
	rec, err := value.EncodeRecord(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := value.RecordObject(rec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sameBytes holds the object in its stored bytes to what is written of its values.
func sameBytes(t rapid.TB, o *value.Object) {
	want, err := protobuf.AppendValue(nil, value.ObjectOf(o))
	if err != nil {
		t.Fatal(err)
	}
	got, err := protobuf.AppendValue([]byte("before"), value.ObjectOf(stored(t, o)))
	if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
		t.Fatalf("%s: %v\n got %x\nwant %x", value.ObjectOf(o).Text(), err, got, want)
	}
	// Into room that is there, and as the field of a message.
	got, err = protobuf.AppendField(make([]byte, 0, 2*len(want)+200), 1, value.ObjectOf(stored(t, o)))
	if err != nil || !bytes.Equal(got, field(want)) {
		t.Fatalf("%s as a field: %v\n got %x\nwant %x", value.ObjectOf(o).Text(), err, got, field(want))
	}
}

// field is a field by the plain way: its tag, its length, its content.
func field(b []byte) []byte { return protowire.AppendBytes([]byte{1<<3 | 2}, b) }

// What is written from stored bytes is what is written of the values in them.
func TestStoredBytes(t *testing.T) {
	re, err := value.CompileRegex("a+")
	if err != nil {
		t.Fatal(err)
	}
	gen, name := valuetest.Value(4), valuetest.Text()
	rapid.Check(t, func(t *rapid.T) {
		v := gen.Draw(t, "v")
		key := valuetest.RecordKey(3).Draw(t, "key")
		o := value.NewObject(value.Field{Name: name.Draw(t, "name"), Value: v},
			value.Field{Name: "list", Value: value.Array(v, value.RegexOf(re), value.Null, value.None)},
			value.Field{Name: "set", Value: value.SetOf([]value.Value{v, value.Bool(false)})},
			value.Field{Name: "id", Value: value.Record(name.Draw(t, "table"), key)},
			value.Field{Name: "inner", Value: value.ObjectOf(value.NewObject(value.Field{Name: "", Value: v}))})
		sameBytes(t, o)
		// Fields that were changed since stand beside the bytes of the others.
		edited := stored(t, o).With("more", v).Without("list")
		want, err := protobuf.AppendValue(nil, value.ObjectOf(o.With("more", v).Without("list")))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := protobuf.AppendValue(nil, value.ObjectOf(edited)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("edited: %v\n got %x\nwant %x", err, got, want)
		}
	})
}

// Numbers at the edges of their sizes, beside short and long names.
func TestStoredNumbers(t *testing.T) {
	for bits := range 64 {
		for _, n := range []int64{1<<bits - 1, 1 << bits, -1 << bits, -1<<bits - 1} {
			for _, name := range []string{"a", "a name of 23 bytes here", "a name of twenty-four by"} {
				sameBytes(t, value.NewObject(value.Field{Name: name, Value: value.Int(n)},
					value.Field{Name: name + "b", Value: value.Float(float64(n))},
					value.Field{Name: name + "c", Value: value.Bool(n > 0)},
					value.Field{Name: name + "d", Value: value.Null},
					value.Field{Name: name + "e", Value: value.Record("t", value.Int(n))}))
			}
		}
	}
}

// Lengths at the edges of their varints, and nesting as deep as it may be and one deeper.
func TestStoredEdges(t *testing.T) {
	one := func(v value.Value) *value.Object { return value.NewObject(value.Field{Name: "a", Value: v}) }
	sizes := []int{255, 256, 16370, 16384, 1 << 16, 1<<21 + 1}
	for n := range 130 {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		sameBytes(t, one(value.Str(string(bytes.Repeat([]byte("x"), n)))))
		sameBytes(t, one(value.BytesOf(bytes.Repeat([]byte{0xff}, n))))
		if n < 1<<17 {
			name := string(bytes.Repeat([]byte("n"), n))
			sameBytes(t, value.NewObject(value.Field{Name: name, Value: value.Int(int64(-n))}))
			sameBytes(t, one(value.ArrayOf(make([]value.Value, n))))
		}
	}
	for _, nest := range []func(value.Value) value.Value{
		func(v value.Value) value.Value { return value.Array(v) },
		func(v value.Value) value.Value { return value.ObjectOf(one(v)) },
		func(v value.Value) value.Value { return value.Record("t", value.Array(v)) },
	} {
		v, levels, failed := value.Int(1), 0, 0
		for range 300 {
			v = nest(v)
			if levels++; failed > 1 {
				break
			}
			rec, err := value.EncodeRecord(nil, one(v))
			if err != nil {
				break // no deeper one can be stored
			}
			o, err := value.RecordObject(rec)
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := protobuf.AppendValue(nil, value.ObjectOf(one(v)))
			got, gotErr := protobuf.AppendValue(nil, value.ObjectOf(o))
			if (gotErr == nil) != (wantErr == nil) || gotErr == nil && !bytes.Equal(got, want) {
				t.Fatalf("%d levels: %v, want %v", levels, gotErr, wantErr)
			}
			if gotErr != nil {
				failed++
			}
		}
	}
}
