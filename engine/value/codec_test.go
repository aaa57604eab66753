package value_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

func encode(t testing.TB, v value.Value) []byte {
	t.Helper()
	b, err := value.AppendCBOR(nil, v)
	if err != nil {
		t.Fatalf("encode %s: %v", v.Kind(), err)
	}
	return b
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// same reports whether a and b are the same value of the same kinds all through: their encodings agree.
func same(t testing.TB, a, b value.Value) bool {
	return bytes.Equal(encode(t, a), encode(t, b))
}

func TestCBORBytes(t *testing.T) {
	uuid, _ := value.ParseUUID("018f0d3e-6f3b-7aaa-8aaa-1234567890ab")
	for _, tc := range []struct {
		name string
		v    value.Value
		want string
	}{
		{"NONE", value.None, "c6 f6"},
		{"NULL", value.Null, "f6"},
		{"bools", value.Array(value.Bool(false), value.Bool(true)), "82 f4 f5"},
		{"ints", value.Array(value.Int(23), value.Int(24), value.Int(256), value.Int(65536), value.Int(1<<32)),
			"85 17 1818 190100 1a00010000 1b0000000100000000"},
		{"negative ints", value.Array(value.Int(-1), value.Int(math.MinInt64)), "82 20 3b7fffffffffffffff"},
		{"whole float", value.Float(1), "fb 3ff0000000000000"},
		{"text", value.Str("é"), "62 c3a9"},
		{"bytes", value.BytesOf([]byte{1, 2}), "42 0102"},
		{"decimal keeps its scale", value.DecimalOf(decimal.Decimal{Lo: 150, Scale: 2, Neg: true}), "ca 65 2d312e3530"},
		{"duration of nothing", value.DurationOf(value.Duration{}), "ce 80"},
		{"duration of seconds", value.DurationOf(value.Duration{Secs: 5}), "ce 81 05"},
		{"duration of nanoseconds", value.DurationOf(value.Duration{Nanos: 5}), "ce 82 00 05"},
		{"datetime has two items", value.DatetimeOf(value.Datetime{Secs: -1}), "cc 82 20 00"},
		{"uuid", value.UUIDOf(uuid), "d825 50 018f0d3e6f3b7aaa8aaa1234567890ab"},
		{"table", value.TableOf("t"), "c7 61 74"},
		{"record", value.Record("t", value.Int(1)), "c8 82 6174 01"},
		{"record range", value.Record("t",
			value.RangeOf(&value.Range{Start: value.Bound{Kind: value.Included, Value: value.Int(1)}})),
			"c8 82 6174 d831 82 d832 01 f6"},
		{"file", value.FileOf(&value.File{Bucket: "b", Key: "/k"}), "d837 82 6162 622f6b"},
		{"set", value.Set(value.Int(2), value.Int(1)), "d838 82 01 02"},
		{"object keys in byte order",
			value.ObjectOf(value.NewObject(value.Field{Name: "b", Value: value.Int(1)},
				value.Field{Name: "aa", Value: value.Int(2)})), "a2 626161 02 6162 01"},
		{"point", value.GeometryOf(&value.Geometry{Point: value.Point{X: 1, Y: 2}}),
			"d858 82 fb3ff0000000000000 fb4000000000000000"},
		{"line", value.GeometryOf(&value.Geometry{Kind: value.GeometryLine}), "d859 80"},
		{"collection", value.GeometryOf(&value.Geometry{Kind: value.GeometryCollection,
			Items: []*value.Geometry{{Kind: value.GeometryMultiPolygon}}}), "d85e 81 d85d 80"},
	} {
		if got := encode(t, tc.v); !bytes.Equal(got, unhex(t, tc.want)) {
			t.Errorf("%s: got %x, want %s", tc.name, got, tc.want)
		}
		if got, err := value.DecodeCBORValue(unhex(t, tc.want), value.DecodeLimits{}); err != nil ||
			!same(t, got, tc.v) {
			t.Errorf("%s: decoded %s, %v", tc.name, got, err)
		}
	}
}

func TestCBORReadsWhatClientsSend(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"datetime as text", "c0 74 323032342d30312d30315430303a30303a30305a", "d'2024-01-01T00:00:00Z'"},
		{"uuid as text", "c9 7824 30313866306433652d366633622d376161612d386161612d313233343536373839306162", "u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'"},
		{"duration as text", "cd 65 3168333073", "1h30s"},
		{"undefined", "f7", "NONE"},
		{"half float", "f9 3e00", "1.5f"},
		{"half float subnormal", "f9 0001", "0.00000005960464477539063f"},
		{"half infinity", "f9 fc00", "-Infinity"},
		{"single float", "fa 3fc00000", "1.5f"},
		{"long heads", "9a00000001 1b0000000000000001", "[1]"},
		{"indefinite array", "9f 01 02 ff", "[1, 2]"},
		{"indefinite map", "bf 6161 01 ff", "{ a: 1 }"},
		{"indefinite text", "7f 6161 6162 ff", "'ab'"},
		{"indefinite bytes", "5f 4101 40 ff", `b"01"`},
		{"indefinite pair", "cc 9f 01 02 ff", "d'1970-01-01T00:00:01.000000002Z'"},
		{"unsigned beyond int64 wraps", "1b ffffffffffffffff", "-1"},
		{"negative beyond int64 wraps", "3b ffffffffffffffff", "0"},
		{"keys in any order, the last of equals wins", "a3 6162 01 6161 02 6162 03", "{ a: 2, b: 3 }"},
		{"set in any order", "d838 83 02 01 02", "{1, 2}"},
		{"record with a tagged table", "c8 82 c7 6174 6161", "t:a"},
		{"record range with open ends", "c8 82 6174 d831 82 f6 c6f6", "t:.."},
		{"point of ints", "d858 82 01 20", "(1, -1)"},
		{"point of decimals", "d858 82 ca 63312e35 01", "(1.5, 1)"},
		{"open ring is closed", "d85a 81 d859 83 d858820000 d858820100 d858820101", "{ type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] }"},
		{"duration carries nanoseconds", "ce 82 01 1a 77359400", "3s"},
	} {
		v, err := value.DecodeCBORValue(unhex(t, tc.in), value.DecodeLimits{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if v.Text() != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, v.Text(), tc.want)
		}
	}
}

func TestCBORRecordTextNeedsAParser(t *testing.T) {
	in := unhex(t, "c8 63 743a31")
	if _, err := value.DecodeCBORValue(in, value.DecodeLimits{}); err == nil {
		t.Error("text was taken for a record id without a parser")
	}
	parse := func(s string) (*value.RecordID, error) {
		if s != "t:1" {
			return nil, errors.New("no")
		}
		return &value.RecordID{Table: "t", Key: value.Int(1)}, nil
	}
	if v, err := value.DecodeCBORValue(in, value.DecodeLimits{ParseRecord: parse}); err != nil || v.Text() != "t:1" {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestCBORRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in, reason string }{
		{"nothing", "", "unexpected end"},
		{"cut int", "19 01", "unexpected end"},
		{"cut float", "fb 00", "unexpected end"},
		{"cut text", "63 6161", "runs past the end"},
		{"cut array", "82 01", "runs past the end"},
		{"huge array", "9b ffffffffffffffff", "runs past the end"},
		{"huge array in an array", "81 9a 0fffffff", "runs past the end"},
		{"huge map", "bb 7fffffffffffffff", "runs past the end"},
		{"huge text", "7b ffffffffffffffff", "runs past the end"},
		{"cut indefinite array", "9f 01", "unexpected end"},
		{"wrong piece", "7f 4101 ff", "wrong piece"},
		{"nested pieces", "7f 7f ff ff", "wrong piece"},
		{"stray break", "ff", "unexpected break"},
		{"break for a value in a map", "bf 6161 ff", "unexpected break"},
		{"reserved length", "1c", "reserved length"},
		{"indefinite int", "1f", "reserved length"},
		{"unknown tag", "d863 01", "unknown tag"},
		{"reserved future tag", "cf 01", "unknown tag"},
		{"storage-only tag", "d83c 6161", "unknown tag"},
		{"unknown simple", "f0", "unknown simple"},
		{"map key of int", "a1 01 02", "map key"},
		{"text that is not UTF-8", "62 c328", "not UTF-8"},
		{"bytes after the value", "01 02", "after the value"},
		{"record without key", "c8 81 6174", "record id"},
		{"record with a float key", "c8 82 6174 f93c00", "record key"},
		{"record with a null key", "c8 82 6174 f6", "record key"},
		{"range of records of bools", "c8 82 6174 d831 82 d832 f5 f6", "record key"},
		{"datetime with one item", "cc 81 01", "datetime"},
		{"datetime with too many nanoseconds", "cc 82 01 1a 3b9aca00", "datetime"},
		{"duration with three items", "ce 83 01 02 03", "duration"},
		{"indefinite duration with three items", "ce 9f 01 02 03 ff", "duration"},
		{"uuid of 15 bytes", "d825 4f 000000000000000000000000000000", "16 bytes"},
		{"decimal that is none", "ca 61 78", "cannot be read"},
		{"bound outside of a range", "d832 01", "unknown tag"},
		{"range of values without bounds", "d831 82 01 02", "bound"},
		{"line of numbers", "d859 81 1903e8", "wrong part"},
		{"point of three", "d858 83 01 02 03", "point"},
		{"NONE with content", "c6 01", "not null"},
	} {
		_, err := value.DecodeCBORValue(unhex(t, tc.in), value.DecodeLimits{})
		var de *value.DecodeError
		if !errors.As(err, &de) || !strings.Contains(de.Reason, tc.reason) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.reason)
		}
	}
}

func TestCBORDepthIsLimited(t *testing.T) {
	nest := func(b byte, n int) []byte { return append(bytes.Repeat([]byte{b}, n), 0xf6) }
	for _, tc := range []struct {
		name string
		in   []byte
		max  int
		ok   bool
	}{
		{"arrays at the limit", nest(0x81, 10), 10, true},
		{"arrays beyond it", nest(0x81, 11), 10, false},
		{"indefinite arrays", bytes.Repeat([]byte{0x9f}, 1<<16), 10, false},
		{"tags", nest(0xc6, 1000), 10, false},
		{"default", nest(0x81, value.DefaultMaxDepth+1), 0, false},
		{"collections", bytes.Repeat(unhex(t, "d85e81"), 1000), 10, false},
		{"bounds", bytes.Repeat(unhex(t, "d83182d832"), 1000), 10, false},
	} {
		_, err := value.DecodeCBORValue(tc.in, value.DecodeLimits{MaxDepth: tc.max})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestCBORDoesNotKeepItsInput(t *testing.T) {
	in := unhex(t, "82 6161 4101")
	v, err := value.DecodeCBORValue(in, value.DecodeLimits{})
	if err != nil {
		t.Fatal(err)
	}
	clear(in)
	if v.Text() != `['a', b"01"]` {
		t.Errorf("the value changed with its input: %s", v.Text())
	}
}

func TestCBORRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Value(3).Draw(t, "v")
		b, err := value.AppendCBOR(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := value.DecodeCBORValue(b, value.DecodeLimits{})
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		again, err := value.AppendCBOR(nil, got)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x came back as %x, %v", b, again, err)
		}
		if value.Compare(v, got) != 0 {
			t.Fatalf("%s came back as %s", v, got)
		}
	})
}

// What we write, fxamacker/cbor reads, and what it writes of that, we read as the same value.
func TestCBORAgreesWithAnotherLibrary(t *testing.T) {
	opts := cbor.CoreDetEncOptions()
	opts.ShortestFloat = cbor.ShortestFloat16
	enc, err := opts.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	dec, err := cbor.DecOptions{TimeTag: cbor.DecTagIgnored, MaxNestedLevels: 200}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.Value(3).Draw(t, "v")
		b, err := value.AppendCBOR(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		var any any
		if err := dec.Unmarshal(b, &any); err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		theirs, err := enc.Marshal(any)
		if err != nil {
			t.Fatal(err)
		}
		got, err := value.DecodeCBORValue(theirs, value.DecodeLimits{})
		if err != nil {
			t.Fatalf("%x: %v", theirs, err)
		}
		if again, err := value.AppendCBOR(nil, got); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x came back as %x, %v", b, again, err)
		}
	})
}

func FuzzDecodeCBOR(f *testing.F) {
	for _, s := range []string{"c8826174d83182d83201f6", "a26161016162c6f6", "9f017f6161ffff",
		"d85a81d85983d858820000d858820100d858820101",
		"d838830201f93e00", "ca63312e35", "ce820105", "cc820105", "d8255000000000000000000000000000000000"} {
		b, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, rest, err := value.DecodeCBOR(in, value.DecodeLimits{})
		if err != nil {
			return
		}
		if cbor.Wellformed(in[:len(in)-len(rest)]) != nil && !deep(in) {
			t.Fatalf("accepted bytes that are not CBOR: %x", in)
		}
		b := encode(t, v)
		again, err := value.DecodeCBORValue(b, value.DecodeLimits{MaxDepth: 2 * value.DefaultMaxDepth})
		if err != nil {
			t.Fatalf("%x: %v", b, err)
		}
		if !bytes.Equal(encode(t, again), b) {
			t.Fatalf("%x is not a fixed point", b)
		}
	})
}

// deep reports whether in may go beyond the other library's nesting limit of 32.
func deep(in []byte) bool { return len(in) > 32 }
