package value_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

type fataler interface{ Fatalf(string, ...any) }

func record(t fataler, o *value.Object) []byte {
	b, err := value.EncodeRecord(nil, o)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

func lazy(t fataler, b []byte) *value.Object {
	o, err := value.RecordObject(b)
	if err != nil {
		t.Fatalf("record: %v", err)
	}
	return o
}

func wire(t fataler, v value.Value) string {
	b, err := value.AppendCBOR(nil, v)
	if err != nil {
		t.Fatalf("wire: %v", err)
	}
	return string(b)
}

// sameObject compares every way to look at an object.
func sameObject(t fataler, got, want *value.Object) {
	if got.Len() != want.Len() {
		t.Fatalf("%d fields, want %d", got.Len(), want.Len())
	}
	for _, f := range want.Fields() {
		v, ok := got.Get(f.Name)
		if !ok || wire(t, v) != wire(t, f.Value) {
			t.Fatalf("field %q is %s, want %s", f.Name, v, f.Value)
		}
		if _, ok := got.Get(f.Name + "\x00"); ok != has(want, f.Name+"\x00") {
			t.Fatalf("a field after %q that is not there", f.Name)
		}
	}
	if a, b := wire(t, value.ObjectOf(got)), wire(t, value.ObjectOf(want)); a != b {
		t.Fatalf("on the wire %x, want %x", a, b)
	}
	for i, f := range got.Fields() {
		if w := want.Fields()[i]; f.Name != w.Name || wire(t, f.Value) != wire(t, w.Value) {
			t.Fatalf("field %d is %q: %s, want %q: %s", i, f.Name, f.Value, w.Name, w.Value)
		}
	}
	if len(want.Fields()) != len(got.Fields()) {
		t.Fatalf("%d decoded fields, want %d", len(got.Fields()), len(want.Fields()))
	}
}

func has(o *value.Object, name string) bool {
	_, ok := o.Get(name)
	return ok
}

func TestRecordBytes(t *testing.T) {
	o := value.NewObject(value.Field{Name: "b", Value: value.Int(1)}, value.Field{Name: "a", Value: value.Str("x")})
	want := unhex(t, "40 02 01 05 a2 6161 6178 6162 01")
	if got := record(t, o); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if m, err := value.RecordMap(want); err != nil || !bytes.Equal(m, unhex(t, "a2 6161 6178 6162 01")) {
		t.Errorf("map %x, %v", m, err)
	}
}

func TestRecordWidths(t *testing.T) {
	for _, size := range []int{0, 1, 240, 248, 249, 250, 255, 256, 65520, 65526, 65527, 65528, 65529, 65536, 70000} {
		o := value.NewObject(value.Field{Name: "a", Value: value.Str(strings.Repeat("x", size))},
			value.Field{Name: "b", Value: value.Int(7)})
		b := append([]byte("kept"), record(t, o)...)
		b2, err := value.EncodeRecord([]byte("kept"), o)
		if err != nil || !bytes.Equal(b, b2) {
			t.Fatalf("%d: what comes before matters: %v", size, err)
		}
		if err := value.CheckRecord(b[4:]); err != nil {
			t.Errorf("%d: %v", size, err)
		}
		sameObject(t, lazy(t, b[4:]), o)
	}
}

func TestRecordOfManyFields(t *testing.T) {
	var fields []value.Field
	for i := range 1000 {
		inner := value.NewObject(value.Field{Name: "i", Value: value.Int(int64(i))})
		fields = append(fields,
			value.Field{Name: fmt.Sprintf("a rather long name %d", i), Value: value.ObjectOf(inner)})
	}
	o := value.NewObject(fields...)
	sameObject(t, lazy(t, record(t, o)), o)
	nested := value.NewObject(value.Field{Name: "o", Value: value.ObjectOf(o)},
		value.Field{Name: "p", Value: value.Array(value.ObjectOf(o), value.Int(1))})
	got := lazy(t, record(t, nested))
	in, _ := got.Get("o")
	sameObject(t, in.Object(), o)
	arr, _ := got.Get("p")
	sameObject(t, arr.Elems()[0].Object(), o)
}

func TestRecordsAreTheObjectsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := valuetest.Object(4).Draw(t, "o").Object()
		b := record(t, o)
		if err := value.CheckRecord(b); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		got := lazy(t, b)
		sameObject(t, got, o)
		if again := record(t, got); !bytes.Equal(again, b) {
			t.Fatalf("%x was copied as %x", b, again)
		}
		for _, f := range o.Fields() {
			v, ok, err := value.RecordField(b, f.Name)
			if err != nil || !ok || wire(t, v) != wire(t, f.Value) {
				t.Fatalf("field %q is %s, %v, %v", f.Name, v, ok, err)
			}
			if inner, ok := got.Get(f.Name); ok && inner.Kind() == value.KindObject {
				sameObject(t, inner.Object(), f.Value.Object())
				if value.Compare(inner, f.Value) != 0 {
					t.Fatalf("field %q differs from itself", f.Name)
				}
			}
		}
	})
}

// Changing an encoded object is the same as changing a decoded one.
func TestRecordEditsAgreeWithPlainOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := valuetest.Object(2).Draw(t, "o").Object()
		got := lazy(t, record(t, plain))
		first, firstPlain := got, plain
		for range rapid.IntRange(0, 25).Draw(t, "edits") {
			name := valuetest.Text().Draw(t, "name")
			if fields := plain.Fields(); len(fields) > 0 && rapid.Bool().Draw(t, "existing") {
				name = fields[rapid.IntRange(0, len(fields)-1).Draw(t, "which")].Name
			}
			if rapid.Bool().Draw(t, "remove") {
				plain, got = plain.Without(name), got.Without(name)
			} else {
				v := valuetest.Value(1).Draw(t, "v")
				plain, got = plain.With(name, v), got.With(name, v)
			}
			if a, b := record(t, got), record(t, plain); !bytes.Equal(a, b) {
				t.Fatalf("stored as %x, want %x", a, b)
			}
			if rapid.Bool().Draw(t, "look") {
				sameObject(t, got, plain)
			}
		}
		sameObject(t, got, plain)
		sameObject(t, first, firstPlain)
	})
}

func TestRecordIsReadFromManyGoroutines(t *testing.T) {
	o := value.NewObject(value.Field{Name: "a", Value: value.Int(1)},
		value.Field{Name: "b", Value: value.Array(value.Str("x"))})
	shared := lazy(t, record(t, o))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if v, ok := shared.Get("a"); !ok || v.Int() != 1 || len(shared.Fields()) != 2 {
					t.Error("lost a field")
				}
			}
		})
	}
	wg.Wait()
}

func TestRecordRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in string }{
		{"nothing", ""},
		{"one byte", "40"},
		{"another format", "00 00 a0"},
		{"unknown width", "43 00 a0"},
		{"cut head", "41 00"},
		{"cut offsets", "40 05 00 a0"},
		{"no map", "40 00"},
		{"huge count", "42 ffffffff a0"},
	} {
		if _, err := value.RecordObject(unhex(t, tc.in)); err == nil {
			t.Errorf("%s: accepted", tc.name)
		}
	}
	for _, tc := range []struct{ name, in string }{
		{"wrong count", "40 01 01 a2 6161 01 6162 01"},
		{"wrong offset", "40 01 02 a1 6161 01"},
		{"names out of order", "40 02 01 04 a2 6162 01 6161 01"},
		{"not a map", "40 00 80"},
		{"bytes after", "40 00 a0 00"},
		{"inner names out of order", "40 01 01 a1 6161 a2 6162 01 6161 01"},
		{"long head", "40 01 01 a1 6161 1801"},
	} {
		if err := value.CheckRecord(unhex(t, tc.in)); err == nil {
			t.Errorf("%s: passes the check", tc.name)
		}
	}
}

func TestTooDeepIsNotStored(t *testing.T) {
	v := value.None
	for range 1000 {
		v = value.Array(v)
	}
	if _, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "a", Value: v})); err == nil {
		t.Error("stored what nobody can read")
	}
	v = value.Set(value.None)
	for range 250 {
		v = value.Set(v)
	}
	o := value.NewObject(value.Field{Name: "a", Value: v})
	sameObject(t, lazy(t, record(t, o)), o)

	// Nor does what was stored go deeper and deeper.
	o, steps := value.NewObject(value.Field{Name: "a",
		Value: value.ObjectOf(value.NewObject(value.Field{Name: "b",
			Value: value.Array(value.Array(), value.Int(1))}))}), 0
	for ; steps < 1000; steps++ {
		raw, err := value.EncodeRecord(nil, o)
		if err != nil {
			break
		}
		if err := value.CheckRecord(raw); err != nil {
			t.Fatalf("stored after %d steps: %v", steps, err)
		}
		a, _ := lazy(t, raw).Get("a")
		o = value.NewObject(value.Field{Name: "a",
			Value: value.ObjectOf(value.NewObject(value.Field{Name: "a", Value: a}))})
	}
	if steps < 240 || steps > 256 {
		t.Errorf("%d levels are stored", steps)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("\x40\x02\x01\x05\xa2\x61a\x61x\x61b\x01"))
	f.Add([]byte("\x40\x01\x01\xa1\x61a\xa1\x61b\x81\xa1\x61c\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := value.RecordObject(b)
		if value.CheckRecord(b) != nil {
			return
		}
		if err != nil {
			t.Fatalf("%x passes the check and does not open: %v", b, err)
		}
		body, err := value.RecordMap(b)
		if err != nil {
			t.Fatal(err)
		}
		v, err := value.DecodeCBORValue(body, value.DecodeLimits{MaxDepth: 2000})
		if err != nil {
			t.Fatal(err)
		}
		sameObject(t, o, v.Object())
	})
}

// A regex may be stored, nested anywhere, but a record that holds one is not the wire form.
func TestRegexesAreStoredAndNeverSent(t *testing.T) {
	re, err := value.CompileRegex("a.c")
	if err != nil {
		t.Fatal(err)
	}
	inner := value.NewObject(value.Field{Name: "r", Value: value.Array(value.RegexOf(re))},
		value.Field{Name: "s", Value: value.Int(1)})
	o := value.NewObject(value.Field{Name: "in", Value: value.ObjectOf(inner)},
		value.Field{Name: "n", Value: value.Int(7)})
	b := record(t, o)
	if err := value.CheckRecord(b); err != nil {
		t.Fatal(err)
	}
	stored := lazy(t, b)
	in, _ := stored.Get("in")
	list, _ := in.Object().Get("r")
	if r := list.Elems()[0].Regex(); r.Source != "a.c" || !r.Match("xabcx") || r.Match("ac") {
		t.Errorf("got %v", list)
	}
	if got := string(value.AppendJSON(nil, value.ObjectOf(stored))); got != `{"in":{"r":["/a.c/"],"s":1},"n":7}` {
		t.Errorf("JSON %s", got)
	}
	for i, v := range []value.Value{value.ObjectOf(stored), value.Array(in), list,
		value.ObjectOf(stored.With("n", value.Int(8)))} {
		if _, err := value.AppendCBOR(nil, v); err == nil {
			t.Errorf("value %d went out", i)
		}
	}
	if _, err := value.RecordMap(b); err == nil {
		t.Error("the map went out")
	}
	if again := record(t, stored.With("n", value.Int(8)).With("n", value.Int(7))); !bytes.Equal(again, b) {
		t.Errorf("stored again as %x, want %x", again, b)
	}
	if moved := record(t,
		value.NewObject(value.Field{Name: "in", Value: in},
			value.Field{Name: "n", Value: value.Int(7)})); !bytes.Equal(moved, b) {
		t.Errorf("moved as %x, want %x", moved, b)
	}
	clean := stored.Without("in")
	if wire(t, value.ObjectOf(clean)) != wire(t, value.ObjectOf(o.Without("in"))) {
		t.Error("without the regex it does not go out")
	}
	if err := value.CheckRecord(record(t, clean)); err != nil {
		t.Error(err)
	}
}
