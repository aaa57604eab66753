package value_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// TestFieldsReadWhatObjectsHave reads fields of random records in both ways, and by their object.
func TestFieldsReadWhatObjectsHave(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	paths := [][]string{{"a"}, {"b"}, {"a name that is longer than 24 bytes"}, {"o", "x"}, {"o", "p", "y"}, {"m"},
		{"o"}}
	f := value.NewFields(paths)
	for range 20_000 {
		o := randomFields(r, 2)
		b, err := value.EncodeRecord(nil, o)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := value.RecordObject(b)
		if err != nil {
			t.Fatal(err)
		}
		edited := stored.With("b", value.Int(99))
		for _, way := range []struct {
			name string
			of   *value.Object
			set  func()
		}{
			{"stored", stored, func() {
				if err := f.Stored(b); err != nil {
					t.Fatal(err)
				}
			}},
			{"object", o, func() { f.Row(value.ObjectOf(o)) }},
			{"record", stored, func() { f.Row(value.ObjectOf(stored)) }},
			{"edited", edited, func() { f.Row(value.ObjectOf(edited)) }},
		} {
			way.set()
			for i, path := range paths {
				want, wantOK := at(value.ObjectOf(way.of), path)
				for range 2 {
					if got, ok := f.At(i); ok != wantOK || value.Compare(got, want) != 0 || got.Kind() != want.Kind() {
						t.Fatalf("%s %s at %v: got %s, %v, want %s, %v", way.name, value.ObjectOf(way.of).Text(), path,
							got.Text(), ok, want.Text(), wantOK)
					}
				}
				var whole []float64
				isFloats := false
				if wantOK {
					whole, isFloats = value.Floats(nil, want)
				}
				if got, ok := f.Floats(i); ok != isFloats || ok && fmt.Sprint(got) != fmt.Sprint(whole) {
					t.Fatalf("%s at %v: got floats %v, %v, want %v", way.name, path, got, ok, whole)
				}
			}
		}
	}
}

// at walks a path as the language does where only objects are on the way.
func at(v value.Value, path []string) (value.Value, bool) {
	for i, name := range path {
		if i > 0 && v.IsNullish() {
			return value.None, true
		}
		if v.Kind() != value.KindObject {
			return value.None, false
		}
		v, _ = v.Object().Get(name)
	}
	return v, true
}

// randomFields makes an object in which some of the names that the test reads are missing.
func randomFields(r *rand.Rand, depth int) *value.Object {
	var fields []value.Field
	for _, name := range []string{"a", "b", "a name that is longer than 24 bytes", "o", "p", "x", "y", "z"} {
		if r.IntN(3) > 0 {
			fields = append(fields, value.Field{Name: name, Value: randomField(r, depth)})
		}
	}
	if r.IntN(20) == 0 {
		for i := range 300 {
			fields = append(fields, value.Field{Name: fmt.Sprintf("f%03d", i), Value: value.Str("some text")})
		}
	}
	if r.IntN(2) == 0 {
		list := value.Array(value.Float(r.Float64()), value.Int(r.Int64N(1000)))
		fields = append(fields, value.Field{Name: "m", Value: list})
	}
	return value.NewObject(fields...)
}

func randomField(r *rand.Rand, depth int) value.Value {
	switch r.IntN(12) {
	case 0:
		return value.Int(r.Int64N(24))
	case 1:
		return value.Int(r.Int64() >> r.IntN(63))
	case 2:
		return value.Int(-r.Int64() >> r.IntN(63))
	case 3:
		return value.Float(r.NormFloat64())
	case 4:
		return value.Float(math.NaN())
	case 5:
		return value.Str("short")
	case 6:
		return value.Str("a text that is longer than twenty-four bytes")
	case 7:
		return value.Null
	case 8:
		return value.Bool(r.IntN(2) == 0)
	case 9:
		return value.DatetimeOf(value.Datetime{Secs: r.Int64N(1 << 32)})
	case 10:
		return value.Array(value.Str("in an array"), value.Int(1))
	}
	if depth == 0 {
		return value.None
	}
	return value.ObjectOf(randomFields(r, depth-1))
}
