package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

func TestJSONOut(t *testing.T) {
	uuid, _ := value.ParseUUID("018F0D3E-6f3b-7aaa-8aaa-1234567890ab")
	for _, tc := range []struct {
		name string
		v    value.Value
		want string
	}{
		{"NONE", value.None, `null`},
		{"NULL", value.Null, `null`},
		{"NaN and infinities",
			value.Array(value.Float(math.NaN()), value.Float(math.Inf(1)), value.Float(math.Inf(-1))),
			`[null,null,null]`},
		{"NONE inside of an object", value.ObjectOf(value.NewObject(value.Field{Name: "a"})), `{"a":null}`},
		{"bools", value.Array(value.Bool(true), value.Bool(false)), `[true,false]`},
		{"ints", value.Array(value.Int(0), value.Int(math.MinInt64)), `[0,-9223372036854775808]`},
		{"floats", value.Array(value.Float(1), value.Float(-0.5), value.Float(0), value.Float(1e15), value.Float(1e16),
			value.Float(1e21)), `[1.0,-0.5,0.0,1000000000000000.0,1e16,1e21]`},
		{"small and large floats",
			value.Array(value.Float(1e-5), value.Float(1.5e-7), value.Float(-1.5e300), value.Float(5e-324)),
			`[0.00001,1.5e-7,-1.5e300,5e-324]`},
		{"decimal", value.DecimalOf(decimal.Decimal{Lo: 150, Scale: 2}), `"1.50"`},
		{"text", value.Str("a\"b\\c/\n\r\t\b\f\x01\x7fé\u2028<"), `"a\"b\\c/\n\r\t\b\f\u0001` + "\x7fé\u2028<\""},
		{"datetime", value.DatetimeOf(value.Datetime{Nanos: 5e8}), `"1970-01-01T00:00:00.500Z"`},
		{"duration", value.DurationOf(value.Duration{Secs: 5400}), `"1h30m"`},
		{"uuid", value.UUIDOf(uuid), `"018f0d3e-6f3b-7aaa-8aaa-1234567890ab"`},
		{"table", value.TableOf("a b"), `"a b"`},
		{"record", value.Record("t", value.Str("a")), `"t:a"`},
		{"record of an int", value.Record("t", value.Int(-1)), `"t:-1"`},
		{"record with an odd key", value.Record("a-b", value.Str("x y")), "\"`a-b`:`x y`\""},
		{"record of an array", value.Record("t", value.Array(value.Int(1), value.Str("x\"y"))), `"t:[1, 'x\"y']"`},
		{"record of digits", value.Record("t", value.Str("1")), "\"t:`1`\""},
		{"set", value.Set(value.Int(2), value.Int(1)), `[1,2]`},
		{"bytes", value.BytesOf([]byte{0, 255}), `[0,255]`},
		{"range", value.RangeOf(&value.Range{Start: value.Bound{Kind: value.Included, Value: value.Int(1)}}), `"1.."`},
		{"file", value.FileOf(&value.File{Bucket: "b", Key: "/k"}), `"f\"b:/k\""`},
		{"regex", value.RegexOf(&value.Regex{Source: "a"}), `"/a/"`},
		{"point", value.GeometryOf(&value.Geometry{Point: value.Point{X: 1, Y: 2.5}}),
			`{"type":"Point","coordinates":[1.0,2.5]}`},
		{"polygon", value.GeometryOf(&value.Geometry{Kind: value.GeometryPolygon,
			Rings: [][]value.Point{{{X: 0}, {X: 1}, {X: 0}}}}), `{"type":"Polygon","coordinates":[[[0.0,0.0],[1.0,0.0],[0.0,0.0]]]}`},
		{"multipolygon", value.GeometryOf(&value.Geometry{Kind: value.GeometryMultiPolygon,
			Polys: [][][]value.Point{{{{X: 1}}}, {}}}), `{"type":"MultiPolygon","coordinates":[[[[1.0,0.0]]],[]]}`},
		{"collection", value.GeometryOf(&value.Geometry{Kind: value.GeometryCollection,
			Items: []*value.Geometry{{}, {Kind: value.GeometryLine}}}), `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[0.0,0.0]},{"type":"LineString","coordinates":[]}]}`},
	} {
		if got := string(value.AppendJSON(nil, tc.v)); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
		if tc.v.Kind() == value.KindRegex {
			continue
		}
		o := lazy(t, record(t, value.NewObject(value.Field{Name: "x", Value: tc.v})))
		if got, want := string(value.AppendJSON(nil, value.ObjectOf(o))), `{"x":`+tc.want+`}`; got != want {
			t.Errorf("%s from its bytes: got %s, want %s", tc.name, got, want)
		}
	}
}

func TestJSONFromBytesAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := valuetest.Object(3).Draw(t, "o").Object()
		want := value.AppendJSON([]byte("kept"), value.ObjectOf(o))
		stored := lazy(t, record(t, o))
		if got := value.AppendJSON([]byte("kept"), value.ObjectOf(stored)); !bytes.Equal(got, want) {
			t.Fatalf("got %s, want %s", got, want)
		}
		if !json.Valid(want[4:]) {
			t.Fatalf("not JSON: %s", want)
		}
		name, v := valuetest.Text().Draw(t, "name"), valuetest.Value(1).Draw(t, "v")
		want = value.AppendJSON(nil, value.ObjectOf(o.With(name, v)))
		if got := value.AppendJSON(nil, value.ObjectOf(stored.With(name, v))); !bytes.Equal(got, want) {
			t.Fatalf("edited: got %s, want %s", got, want)
		}
	})
}

func TestJSONIn(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{` null `, `NULL`},
		{"[true,\tfalse\r\n]", `[true, false]`},
		{`[]`, `[]`},
		{`[ [ ] , { } ]`, `[[], {  }]`},
		{`{"b":1,"a":{"c":[1,-2]},"b":3}`, `{ a: { c: [1, -2] }, b: 3 }`},
		{`[0,-0,9223372036854775807,-9223372036854775808]`, `[0, 0, 9223372036854775807, -9223372036854775808]`},
		{`[1.0,1e2,1E-2,1.5e+3]`, `[1f, 100f, 0.01f, 1500f]`},
		{`9223372036854775808`, `9223372036854776000f`},
		{`"a\"\\\/\f\n\r\t\u00e9"`, `'a"\\/\f\n\r\té'`},
		{`"\ud83d\ude00"`, `'😀'`},
		{`"t:1"`, `'t:1'`},
	} {
		v, err := value.DecodeJSONValue([]byte(tc.in), value.DecodeLimits{})
		if err != nil {
			t.Errorf("%s: %v", tc.in, err)
		} else if v.Text() != tc.want {
			t.Errorf("%s: got %s, want %s", tc.in, v.Text(), tc.want)
		}
	}
	parse := func(s string) (value.Value, bool) { return value.Record("t", value.Int(1)), s == "t:1" }
	v, err := value.DecodeJSONValue([]byte(`{"t:1":["t:1","x"]}`), value.DecodeLimits{ParseText: parse})
	if want := "{ \"t:1\": [t:1, 'x'] }"; err != nil || v.Text() != want {
		t.Errorf("got %s, %v, want %s", v, err, want)
	}
	tagged := value.DecodeLimits{Decimals: true, ParseObject: func(o *value.Object) (value.Value, error) {
		switch x, ok := o.Get("$"); {
		case !ok:
			return value.ObjectOf(o), nil
		case x.Kind() != value.KindString:
			return value.None, io.ErrUnexpectedEOF
		default:
			return value.Str("<" + x.Str() + ">"), nil
		}
	}}
	v, err = value.DecodeJSONValue([]byte(`[{"a":{"$":"x"}},{"$":"y"},1,9223372036854775808,-9223372036854775809,1e2]`), tagged)
	if want := `[{ a: '<x>' }, '<y>', 1, 9223372036854775808dec, -9223372036854775809dec, 100f]`; err != nil || v.Text() != want {
		t.Errorf("got %s, %v, want %s", v, err, want)
	}
	if _, err := value.DecodeJSONValue([]byte(`[{"$":1}]`), tagged); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error of an object: %v", err)
	}
	v, rest, err := value.DecodeJSON([]byte(" 1 2"), value.DecodeLimits{})
	if err != nil || v.Int() != 1 || string(rest) != " 2" {
		t.Errorf("got %s, rest %q, %v", v, rest, err)
	}
}

func TestJSONRefuses(t *testing.T) {
	for _, in := range []string{``, ` `, `nul`, `nulL`, `tru`, `[`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `{`, `{"a"`,
		`{"a":`, `{"a":1`, `{"a":1,}`,
		`{a:1}`, `{1:1}`, `{"a" 1}`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `1e999`, `NaN`, `Infinity`, `"`, `"a`,
		`"\`, `"\x"`, `"\u12"`,
		`"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00"`, "\"\n\"", "\"\\n\n\"", "\"\xff\"", "\"\\n\xff\"", `1 2`,
		`"a""b"`, `'a'`, `[1]]`, "\ufeff1"} {
		var de *value.DecodeError
		if v, err := value.DecodeJSONValue([]byte(in), value.DecodeLimits{}); !errors.As(err, &de) {
			t.Errorf("%q: got %s, %v", in, v, err)
		}
	}
	for _, open := range []string{`[`, `{"a":`} {
		if _, err := value.DecodeJSONValue([]byte(strings.Repeat(open, 1<<16)),
			value.DecodeLimits{MaxDepth: 10}); err == nil || !strings.Contains(err.Error(), "too deep") {
			t.Errorf("%s without end: %v", open, err)
		}
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,"\u00e9\n",null,true]}`, `"\ud83d\ude00"`, `[[],{}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := value.DecodeJSONValue(in, value.DecodeLimits{})
		if err != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("accepted %q", in)
		}
		out := value.AppendJSON(nil, v)
		again, err := value.DecodeJSONValue(out, value.DecodeLimits{})
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if !bytes.Equal(encode(t, again), encode(t, v)) {
			t.Fatalf("%q came back as %s", in, out)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	plain, buf := value.ObjectOf(row()), record(b, row())
	var out []byte
	b.Run("values", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out = value.AppendJSON(out[:0], plain)
		}
		b.SetBytes(int64(len(out)))
	})
	b.Run("stored", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out = value.AppendJSON(out[:0], value.ObjectOf(lazy(b, buf)))
		}
		b.SetBytes(int64(len(out)))
	})
}

func BenchmarkDecodeJSON(b *testing.B) {
	in := value.AppendJSON(nil, value.ObjectOf(row()))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := value.DecodeJSONValue(in, value.DecodeLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}
