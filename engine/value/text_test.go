package value

import (
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
)

func mustDatetime(t testing.TB, s string) Value {
	t.Helper()
	d, err := ParseDatetime(s)
	if err != nil {
		t.Fatalf("datetime %q: %v", s, err)
	}
	return DatetimeOf(d)
}

func mustDecimal(t testing.TB, s string) Value {
	t.Helper()
	d, err := decimal.ParseLiteral(s)
	if err != nil {
		t.Fatalf("decimal %q: %v", s, err)
	}
	return DecimalOf(d)
}

func mustDuration(t testing.TB, s string) Value {
	t.Helper()
	d, err := ParseDuration(s)
	if err != nil {
		t.Fatalf("duration %q: %v", s, err)
	}
	return DurationOf(d)
}

// The expected texts are the reference's own answers.
func TestText(t *testing.T) {
	str := Str
	for _, c := range []struct {
		v    Value
		want string
	}{
		{None, "NONE"}, {Null, "NULL"}, {Bool(true), "true"}, {Int(-5), "-5"},
		{Float(1), "1f"}, {Float(math.Copysign(0, -1)), "-0f"}, {Float(1e21), "1000000000000000000000f"},
		{Float(1e-7), "0.0000001f"},
		{Float(math.NaN()), "NaN"}, {Float(math.Inf(-1)), "-Infinity"}, {Float(0.1), "0.1f"},
		{Float(123456789012345678), "123456789012345680f"},
		{mustDecimal(t, "1.50"), "1.5dec"}, {mustDecimal(t, "-0.00"), "0dec"}, {mustDecimal(t, "1.50e1"), "15.0dec"},
		{mustDecimal(t, "0.0000000000000000000000000001"), "0.0000000000000000000000000001dec"},
		{str("it's"), `"it's"`}, {str(`both ' and "`), `"both ' and \""`},
		{str("\x00\x01\b\t\n\v\f\r\x7f\\`\""), "'\\0\x01\\u{8}\\t\\n\v\\f\\r\x7f\\\\`\"'"},
		{mustDuration(t, "90s"), "1m30s"}, {mustDuration(t, "0s"), "0ns"}, {mustDuration(t, "400d"), "1y5w"},
		{mustDuration(t, "1ms1us1ns"), "1ms1µs1ns"},
		{mustDatetime(t, "2024-01-01T00:00:00.1Z"), "d'2024-01-01T00:00:00.100Z'"},
		{mustDatetime(t, "-0001-01-01"), "d'-0001-01-01T00:00:00Z'"},
		{mustDatetime(t, "+262142-12-31T23:59:59Z"), "d'+262142-12-31T23:59:59Z'"},
		{mustDatetime(t, "-262143-01-01"), "d'-262143-01-01T00:00:00Z'"},
		{mustDatetime(t, "2024-02-29T12:00:00+02:00"), "d'2024-02-29T10:00:00Z'"},
		{Array(), "[]"}, {Array(Int(1), str("a")), "[1, 'a']"}, {Set(), "{,}"}, {Set(Int(1)), "{1,}"},
		{Set(Int(2), Int(1), Float(1)), "{1, 2}"},
		{ObjectOf(nil), "{  }"},
		{ObjectOf(NewObject(Field{"a b", Int(1)}, Field{"4", Int(1)}, Field{"a\"\n", Int(1)}, Field{"select", Int(1)},
			Field{"", Int(1)})),
			`{ "": 1, "4": 1, "a b": 1, "a\"\n": 1, select: 1 }`},
		{GeometryOf(&Geometry{Point: Point{1.5, -2}}), "(1.5, -2)"},
		{BytesOf([]byte{0, 255}), `b"00FF"`}, {TableOf("select"), "`select`"}, {TableOf("1a"), "`1a`"},
		{TableOf("_"), "_"}, {TableOf("nan"), "nan"}, {TableOf("NaN"), "`NaN`"}, {TableOf("TB"), "`TB`"},
		{Record("a b", str("x`y")), "`a b`:`x\\`y`"}, {Record("select", str("1_0")), "select:`1_0`"},
		{Record("1a", str("5a")), "1a:5a"}, {Record("t", str("")), "t:``"}, {Record("t", Int(-5)), "t:-5"},
		{Record("t", RangeOf(&Range{Bound{Excluded, str("a b")}, Bound{Included, Int(5)}})), "t:`a b`>..=5"},
		{FileOf(&File{"a b/", `/é~ :"`}), `f"a\ b\/:/\é\~\ \:\""`},
		{RegexOf(&Regex{Source: `a/b\/c\d`}), `/a\/b\/c\d/`},
		{RangeOf(&Range{Bound{Excluded, Int(1)}, Bound{Included, Int(3)}}), "1>..=3"}, {RangeOf(&Range{}), ".."},
	} {
		if got := c.v.Text(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestTypeText(t *testing.T) {
	integer, str := Simple(TypeInt), Simple(TypeString)
	for _, c := range []struct {
		t             *Type
		want, compact string
	}{
		{OptionOf(integer), "none | int", "none | int"},
		{ArrayType(UnionOf(integer, str), 3), "array<int | string, 3>", "array<int | string,3>"},
		{ArrayType(Any, -1), "array", "array"}, {SetType(Any, 5), "set<any, 5>", "set<any,5>"},
		{Simple(TypeArray), "array", "array"},
		{RecordType("a b", "select"), "record<`a b` | select>", "record<`a b`|select>"},
		{GeometryType(GeometryPoint, GeometryLine), "geometry<point | line>", "geometry<point|line>"},
		{Simple(TypePoint), "geometry<point>", "geometry<point>"},
		{FieldsType(TypeField{"b c", OptionOf(str)}, TypeField{"a", integer}, TypeField{"1", LiteralType(Int(2))}),
			`{ "1": 2, a: int, "b c": none | string }`, `{ "1": 2, a: int, "b c": none | string }`},
		{FieldsType(), "{  }", "{  }"}, {&Type{Kind: TypeTuple, Alts: []*Type{integer, UnionOf(str, integer)}},
			"[int, string | int]", "[int, string | int]"},
		{UnionOf(LiteralType(Str("it's")), LiteralType(Float(1.5)), LiteralType(Int(-5))), `"it's" |  1.5f | -5`,
			`"it's" |  1.5f | -5`},
		{UnionOf(integer, integer), "int", "int"},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if got := c.t.compact(); got != c.compact {
			t.Errorf("compact: got %s, want %s", got, c.compact)
		}
	}
}

func BenchmarkText(b *testing.B) {
	v := ObjectOf(NewObject(Field{"id", Record("person", Int(1))}, Field{"name", Str("Ada Lovelace")},
		Field{"age", Int(36)},
		Field{"score", Float(98.6)}, Field{"at", mustDatetime(b, "2024-01-01T00:00:00.123Z")},
		Field{"tags", Array(Str("a"), Str("b"))}))
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = v.AppendText(buf[:0])
	}
}
