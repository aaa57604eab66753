package value

import (
	"math"
	"testing"

	"github.com/nacredb/nacre/engine/decimal"
	"pgregory.net/rapid"
)

// genValue makes values of every kind, with many near-equal numbers.
func genValue(t *rapid.T, depth int) Value {
	kinds := 15
	if depth > 0 {
		kinds = 21
	}
	elems := func() []Value {
		out := make([]Value, rapid.IntRange(0, 3).Draw(t, "n"))
		for i := range out {
			out[i] = genValue(t, depth-1)
		}
		return out
	}
	word := func() string {
		return rapid.SampledFrom([]string{"", "a", "aa", "b", "it's", "é", "a b", "1"}).Draw(t, "word")
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return None
	case 1:
		return Null
	case 2:
		return Bool(rapid.Bool().Draw(t, "bool"))
	case 3:
		return Int(rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 9007199254740993}).Draw(t, "int"))
	case 4:
		return Float(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 0.1, 0.3, 0.30000000000000004, 3.3, 1, 1.5,
			-1, math.NaN(), math.Inf(1), math.Inf(-1), 1 << 63, -1 << 63, 9007199254740992, 1e28, 1e29, 5e-324,
			7.922816251426434e28}).Draw(t, "float"))
	case 5:
		return Float(rapid.Float64().Draw(t, "anyfloat"))
	case 6:
		return DecimalOf(decimal.Decimal{Lo: rapid.Uint64().Draw(t, "lo") >> rapid.IntRange(0, 63).Draw(t, "short"),
			Neg: rapid.Bool().Draw(t, "neg"), Scale: uint8(rapid.IntRange(0, 28).Draw(t, "scale"))})
	case 7:
		return mustDecimalOf(rapid.SampledFrom([]string{"0", "0.1", "0.3", "3.3", "1", "1.0e0", "1.5",
			"9223372036854775807", "9223372036854775808", "9007199254740992", "79228162514264337593543950335",
			"0.1000000000000000055511151231"}).Draw(t, "dec"))
	case 8:
		return Str(word())
	case 9:
		return DurationOf(Duration{rapid.Uint64().Draw(t, "s") >> rapid.IntRange(0, 63).Draw(t, "shift"),
			uint32(rapid.IntRange(0, 999_999_999).Draw(t, "ns"))})
	case 10:
		return DatetimeOf(Datetime{rapid.Int64Range(minDatetimeSecs, maxDatetimeSecs).Draw(t, "at"),
			uint32(rapid.IntRange(0, 999_999_999).Draw(t, "ns"))})
	case 11:
		return UUIDOf(UUID{rapid.Byte().Draw(t, "u")})
	case 12:
		return BytesOf([]byte(word()))
	case 13:
		return TableOf(word())
	case 14:
		return FileOf(&File{word(), "/" + word()})
	case 15:
		return PointOf(float64(rapid.IntRange(0, 2).Draw(t, "x")), rapid.Float64().Draw(t, "y"))
	case 16:
		return ArrayOf(elems())
	case 17:
		return SetOf(elems())
	case 18:
		var fields []Field
		for _, e := range elems() {
			fields = append(fields, Field{word(), e})
		}
		return ObjectOf(NewObject(fields...))
	case 19:
		return Record(word(),
			rapid.SampledFrom([]Value{Int(1), Str("1"), Str("a"), Array(Int(1)), ObjectOf(nil),
				UUIDOf(UUID{1})}).Draw(t, "key"))
	case 20:
		return GeometryOf(&Geometry{Kind: GeometryLine, Line: []Point{{1, 2}, {rapid.Float64().Draw(t, "x"), 4}}})
	default:
		bound := func() Bound {
			b := Bound{Kind: BoundKind(rapid.IntRange(0, 2).Draw(t, "bound"))}
			if b.Kind != Unbounded {
				b.Value = genValue(t, 0)
			}
			return b
		}
		return RangeOf(&Range{bound(), bound()})
	}
}

func mustDecimalOf(s string) Value {
	d, err := decimal.ParseLiteral(s)
	if err != nil {
		panic(err)
	}
	return DecimalOf(d)
}

// The order is total: antisymmetric and transitive over all kinds; Equal is its equality.
func TestOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := genValue(t, 2), genValue(t, 2), genValue(t, 2)
		ab, ba, bc, ac := Compare(a, b), Compare(b, a), Compare(b, c), Compare(a, c)
		if ab != -ba {
			t.Fatalf("%s against %s: %d, %d", a, b, ab, ba)
		}
		if (ab == 0) != Equal(a, b) {
			t.Fatalf("%s and %s: order %d, equal %v", a, b, ab, Equal(a, b))
		}
		if Compare(a, a) != 0 {
			t.Fatalf("%s is not itself", a)
		}
		if ab <= 0 && bc <= 0 && (ac > 0 || ac == 0 && (ab != 0 || bc != 0)) {
			t.Fatalf("%s ≤ %s ≤ %s, but %d", a, b, c, ac)
		}
	})
}

func TestNumberOrder(t *testing.T) {
	dec := mustDecimalOf
	for _, c := range []struct {
		a, b Value
		want int
	}{
		{Float(0.1), dec("0.1"), 0}, {Float(0.30000000000000004), dec("0.3"), 1}, {Float(3.3), dec("3.3"), -1},
		{Float(0.7), dec("0.7"), 0},
		{Float(0.1), dec("0.1000000000000000055511151231"), -1}, {Float(1e23), dec("1e23"), -1},
		{Float(1e22), dec("1e22"), 0}, {Float(1e300), dec("1"), 1}, {Float(-1e300), dec("1"), -1},
		{Float(5e-324), dec("0"), 1}, {Float(math.NaN()), dec("1"), 1}, {Float(math.Inf(-1)), dec("1"), -1},
		{Float(math.Copysign(0, -1)), dec("0"), 0},
		{Int(9007199254740993), Float(9007199254740992), 1}, {Int(math.MaxInt64), Float(1 << 63), -1},
		{Int(math.MinInt64), Float(-1 << 63), 0}, {Int(1), Float(math.NaN()), -1},
		{Int(math.MaxInt64), dec("9223372036854775807.5"), -1}, {Int(1), dec("1.00e0"), 0},
	} {
		if got := Compare(c.a, c.b); got != c.want {
			t.Errorf("%s against %s: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Compare(c.b, c.a); got != -c.want {
			t.Errorf("%s against %s: %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

// What <string> gives, the cast back reads.
func TestStringCastRoundTrip(t *testing.T) {
	back := map[Kind]*Type{KindBool: Simple(TypeBool), KindInt: Simple(TypeInt), KindDecimal: Simple(TypeDecimal),
		KindDuration: Simple(TypeDuration),
		KindDatetime: Simple(TypeDatetime), KindUUID: Simple(TypeUUID), KindString: Simple(TypeString),
		KindBytes: Simple(TypeBytes)}
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(t, 0)
		if back[v.Kind()] == nil {
			return
		}
		s, err := Cast(v, Simple(TypeString), nil)
		if err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		got, err := Cast(s, back[v.Kind()], nil)
		if err != nil || !Equal(got, v) {
			t.Fatalf("%s became %s, came back as %s, %v", v, s, got, err)
		}
	})
}

func TestCompareDoesNotAllocate(t *testing.T) {
	pairs := [][2]Value{
		{Float(0.123), mustDecimalOf("0.124")}, {Int(5), mustDecimalOf("5.5")},
		{Array(Int(1), Str("a")), Array(Int(1), Str("b"))},
		{Record("a", Int(1)), Record("a", Int(2))}, {mustDecimalOf("1.5"), mustDecimalOf("1.25")},
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, p := range pairs {
			Compare(p[0], p[1])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCompare(b *testing.B) {
	for name, p := range map[string][2]Value{
		"int": {Int(1), Int(2)}, "intfloat": {Int(1), Float(1.5)},
		"floatdecimal": {Float(0.123), mustDecimalOf("0.124")}, "string": {Str("Ada Lovelace"), Str("Ada Byron")},
		"record": {Record("person", Int(1)), Record("person", Int(2))},
		"array":  {Array(Int(1), Str("a"), Int(3)), Array(Int(1), Str("a"), Int(4))},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compare(p[0], p[1])
			}
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	for name, p := range map[string][2]Value{"int": {Int(1), Int(2)}, "float": {Float(1), Int(2)},
		"decimal": {mustDecimalOf("1.5"), Int(2)}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Add(p[0], p[1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCoerce(b *testing.B) {
	opt := OptionOf(Simple(TypeInt))
	list := ArrayType(Simple(TypeInt), -1)
	v := Array(Int(1), Int(2), Int(3))
	b.Run("option<int>", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Coerce(Int(1), opt); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("array<int>", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Coerce(v, list); err != nil {
				b.Fatal(err)
			}
		}
	})
}
