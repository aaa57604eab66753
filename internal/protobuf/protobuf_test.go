package protobuf_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
	"github.com/nacredb/nacre/internal/pb/valuepb"
	"github.com/nacredb/nacre/internal/protobuf"
)

// Every value comes back as it was, also by way of the generated code.
func TestRoundTrip(t *testing.T) {
	gen := valuetest.Value(4)
	rapid.Check(t, func(t *rapid.T) {
		want := gen.Draw(t, "v")
		b, err := protobuf.AppendValue(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := protobuf.DecodeValue(b, value.DecodeLimits{})
		if err != nil {
			t.Fatalf("%s: %v", want.Text(), err)
		}
		if got.Text() != want.Text() {
			t.Fatalf("got %s, want %s", got.Text(), want.Text())
		}
		own, err := protobuf.DecodeValue(bytes.Clone(b), value.DecodeLimits{Own: true})
		if err != nil || own.Text() != want.Text() {
			t.Fatalf("out of its own bytes: got %s, want %s, %v", own.Text(), want.Text(), err)
		}
		message := &valuepb.Value{}
		if err := proto.Unmarshal(b, message); err != nil {
			t.Fatalf("the generated code: %v", err)
		}
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%s:\n got %x\nwant %x", want.Text(), b, again)
		}
	})
}

func TestSpecialValues(t *testing.T) {
	re, err := value.CompileRegex("a+")
	if err != nil {
		t.Fatal(err)
	}
	deep := value.Int(1)
	for range 120 {
		deep = value.Array(deep)
	}
	for _, v := range []value.Value{
		value.RegexOf(re), value.Float(math.Copysign(0, -1)), value.Float(math.NaN()), value.Float(math.Inf(-1)), deep,
		value.Str(""), value.BytesOf([]byte{}), value.Array(), value.SetOf(nil), value.ObjectOf(nil),
		value.Str(strings.Repeat("x", 1<<20)), value.ObjectOf(value.NewObject(value.Field{Name: "",
			Value: value.None})),
	} {
		b, err := protobuf.AppendValue(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := protobuf.DecodeValue(b, value.DecodeLimits{})
		if err != nil || got.Kind() != v.Kind() || got.Text() != v.Text() {
			t.Errorf("%.80s: got %.80s, %v", v.Text(), got.Text(), err)
		}
	}
	if v, _ := protobuf.DecodeValue(must(protobuf.AppendValue(nil, value.Float(math.Copysign(0, -1)))),
		value.DecodeLimits{}); !math.Signbit(v.Float()) {
		t.Error("-0 has lost its sign")
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func str(s string) *valuepb.Value { return &valuepb.Value{Value: &valuepb.Value_String_{String_: s}} }

func list(v ...*valuepb.Value) *valuepb.Value {
	return &valuepb.Value{Value: &valuepb.Value_Array{Array: &valuepb.Array{Values: v}}}
}

func record(id *valuepb.RecordIdKey) *valuepb.Value {
	return &valuepb.Value{Value: &valuepb.Value_RecordId{RecordId: &valuepb.RecordId{Table: "t", Id: id}}}
}

// What a receiver must refuse: each of these messages is broken in one way.
func TestRefused(t *testing.T) {
	deep := str("x")
	for range 200 {
		deep = list(deep)
	}
	bound := &valuepb.ValueBound{Bound: &valuepb.ValueBound_Unbounded{Unbounded: &valuepb.NullValue{}}}
	hollow := &valuepb.Polygon{Interiors: []*valuepb.Line{{}}}
	geometry := func(g *valuepb.Geometry) *valuepb.Value {
		return &valuepb.Value{Value: &valuepb.Value_Geometry{Geometry: g}}
	}
	object := func(items ...*valuepb.KeyValue) *valuepb.Value {
		return &valuepb.Value{Value: &valuepb.Value_Object{Object: &valuepb.Object{Items: items}}}
	}
	for _, tc := range []struct {
		name string
		in   *valuepb.Value
		want string
	}{
		{"a value without a member", &valuepb.Value{}, "a value has no member"},
		{"one in a list", list(&valuepb.Value{}), "a value has no member"},
		{"a short uuid", &valuepb.Value{Value: &valuepb.Value_Uuid{Uuid: &valuepb.Uuid{Value: []byte("12345")}}},
			"16 bytes, not 5"},
		{"nanos of a duration",
			&valuepb.Value{Value: &valuepb.Value_Duration{Duration: &valuepb.Duration{Nanos: 1e9}}},
			"nanos must be at most"},
		{"nanos of a datetime",
			&valuepb.Value{Value: &valuepb.Value_Datetime{Datetime: &valuepb.Datetime{Nanos: 1e9}}},
			"nanos must be at most"},
		{"a datetime beyond the calendar",
			&valuepb.Value{Value: &valuepb.Value_Datetime{Datetime: &valuepb.Datetime{Seconds: 1 << 60}}},
			"outside of the calendar"},
		{"a key without a value", object(&valuepb.KeyValue{Key: "a"}), "has no value"},
		{"a key that comes twice", object(&valuepb.KeyValue{Key: "a", Value: str("")},
			&valuepb.KeyValue{Key: "a", Value: str("")}), "comes twice"},
		{"a key of a record without a member", record(&valuepb.RecordIdKey{}), "has no member"},
		{"a record without a key", record(nil), "has no key"},
		{"a float as a key", record(&valuepb.RecordIdKey{Id: &valuepb.RecordIdKey_Float64{Float64: 1}}),
			"must be an int"},
		{"a decimal as a key",
			record(&valuepb.RecordIdKey{Id: &valuepb.RecordIdKey_Decimal{Decimal: &valuepb.Decimal{Value: "1"}}}),
			"must be an int"},
		{"a geometry without a member", geometry(&valuepb.Geometry{}), "no member"},
		{"a polygon without an exterior",
			geometry(&valuepb.Geometry{Geometry: &valuepb.Geometry_Polygon{Polygon: hollow}}),
			"no exterior"},
		{"a range without an end", &valuepb.Value{Value: &valuepb.Value_Range{Range: &valuepb.Range{Start: bound}}},
			"no end"},
		{"a bound without a member",
			&valuepb.Value{Value: &valuepb.Value_Range{Range: &valuepb.Range{Start: bound,
				End: &valuepb.ValueBound{}}}}, "no member"},
		{"a decimal that is none",
			&valuepb.Value{Value: &valuepb.Value_Decimal{Decimal: &valuepb.Decimal{Value: "1x"}}}, "decimal"},
		{"a decimal that is too large",
			&valuepb.Value{Value: &valuepb.Value_Decimal{Decimal: &valuepb.Decimal{Value: "1" + strings.Repeat("0",
				40)}}}, "decimal"},
		{"a regex that does not compile", &valuepb.Value{Value: &valuepb.Value_Regex{Regex: "("}}, "does not compile"},
		{"the text of a record id", &valuepb.Value{Value: &valuepb.Value_StringRecordId{StringRecordId: "person"}},
			"is not one"},
		{"values that nest too deep", deep, "deeper than 128"},
	} {
		b, err := proto.Marshal(tc.in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = protobuf.DecodeValue(b, value.DecodeLimits{ParseRecord: recordText})
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != errs.KindSerialization || e.Detail.Kind != "Deserialization" ||
			!strings.Contains(e.Msg, tc.want) {
			t.Errorf("%s: got %v, want an error with %q", tc.name, err, tc.want)
		}
	}
}

func recordText(text string) (*value.RecordID, error) {
	v, err := parse.RecordID(text)
	if err != nil {
		return nil, err
	}
	return v.Record(), nil
}

func TestStringRecordID(t *testing.T) {
	b, err := proto.Marshal(&valuepb.Value{Value: &valuepb.Value_StringRecordId{StringRecordId: "person:1"}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := protobuf.DecodeValue(b, value.DecodeLimits{ParseRecord: recordText})
	if err != nil || v.Text() != "person:1" {
		t.Errorf("got %s, %v", v.Text(), err)
	}
}

// The number of values is bounded before memory is taken for them.
func TestMaxValues(t *testing.T) {
	many := make([]value.Value, 1000)
	b := must(protobuf.AppendValue(nil, value.ArrayOf(many)))
	if _, err := protobuf.DecodeValue(b, value.DecodeLimits{MaxValues: 1000}); err != nil {
		t.Error(err)
	}
	if _, err := protobuf.DecodeValue(b, value.DecodeLimits{MaxValues: 999}); err == nil ||
		!strings.Contains(err.Error(), "more than 999 values") {
		t.Errorf("got %v", err)
	}
	var failed error
	if n := testing.AllocsPerRun(1,
		func() { _, failed = protobuf.DecodeValue(b, value.DecodeLimits{MaxValues: 999}) }); n > 20 || failed == nil {
		t.Errorf("%v allocations, %v", n, failed)
	}
}

func TestErrorRoundTrip(t *testing.T) {
	for _, e := range []*errs.Error{
		errs.TableNotFound("t"), errs.InvalidAuth(), errs.Thrown("x"), errs.Conflict(),
		errs.TimedOut(1500*time.Millisecond,
			"1s500ms"), errs.Internal("no detail"), errs.InvalidParams("Expected (what)"),
	} {
		b := protobuf.AppendError(nil, e, protobuf.HintOf(e))
		message := &valuepb.SurrealError{}
		if err := proto.Unmarshal(b, message); err != nil {
			t.Fatal(err)
		}
		if message.GetMessage() != e.Msg || message.GetKind() == 0 || message.GetCode() >= 0 {
			t.Errorf("%v", message)
		}
		got, hint, err := protobuf.DecodeError(b)
		if err != nil || !errors.Is(got, e) || (hint != nil) != (e.Msg == errs.Conflict().Msg) {
			t.Errorf("%s: got %v, %v, %v", e.Msg, got, hint, err)
		}
		if e.Detail != nil && (got.Detail.Kind != e.Detail.Kind || len(got.Detail.Fields) != len(e.Detail.Fields) ||
			(got.Detail.Inner == nil) != (e.Detail.Inner == nil)) {
			t.Errorf("%s: got the detail %+v", e.Msg, got.Detail)
		}
	}
	b := protobuf.AppendError(nil, errs.Internal("x"), &protobuf.Hint{After: 3 * time.Second})
	if _, hint, err := protobuf.DecodeError(b); err != nil || hint == nil || hint.After != 3*time.Second {
		t.Errorf("got %v, %v", hint, err)
	}
}

// Every value that is read can be written, and is the same when it is read again.
func FuzzDecodeValue(f *testing.F) {
	for _, text := range []string{"1", "[1, {a: NONE}]", "t:1", "t:[1,'x']", "1..=2", "'x'", "1.5dec", "1h",
		"d'2024-01-01T00:00:00Z'", "(1, 2)", "{1, 2}"} {
		v, err := parse.Value(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(must(protobuf.AppendValue(nil, v)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := protobuf.DecodeValue(b, value.DecodeLimits{MaxDepth: 64, MaxValues: 10_000, ParseRecord: recordText})
		if _, _, err := protobuf.DecodeError(b); err != nil && errs.As(err).Kind != errs.KindSerialization {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		again, err := protobuf.AppendValue(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		w, err := protobuf.DecodeValue(again, value.DecodeLimits{})
		if err != nil || w.Text() != v.Text() {
			t.Fatalf("%s became %s, %v", v.Text(), w.Text(), err)
		}
	})
}

func BenchmarkAppendValue(b *testing.B) {
	v, err := parse.Value("{ id: person:1, name: 'a name of some length', age: 42, tags: ['a', 'b', 'c'], at: { x: 1.5, y: 2.5 } }")
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = protobuf.AppendValue(buf[:0], v); err != nil {
			b.Fatal(err)
		}
	}
}

// Rows as they come from a scan: each is encoded once.
func BenchmarkAppendStored(b *testing.B) {
	v, err := parse.Value("{ id: person:1, name: 'a name of some length', age: 42, tags: ['a', 'b', 'c'], " +
		"at: { x: 1.5, y: 2.5 }, mail: 'a@b.c', score: 1.5 }")
	if err != nil {
		b.Fatal(err)
	}
	rec, err := value.EncodeRecord(nil, v.Object())
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		o, err := value.RecordObject(rec)
		if err != nil {
			b.Fatal(err)
		}
		if buf, err = protobuf.AppendValue(buf[:0], value.ObjectOf(o)); err != nil {
			b.Fatal(err)
		}
	}
}

// A polygon without any ring can be stored, so it has to come back.
func TestAPolygonWithoutRings(t *testing.T) {
	want := value.GeometryOf(&value.Geometry{Kind: value.GeometryPolygon})
	b, err := protobuf.AppendValue(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := protobuf.DecodeValue(b, value.DecodeLimits{})
	if err != nil || got.Text() != want.Text() {
		t.Errorf("%s, %v", got.Text(), err)
	}
}
