// Package valuetest generates values for property tests and compares texts of values. The generator makes every kind
// that can be stored, nested, with a weight on what breaks codecs: zero bytes, number limits, equal numbers of
// different kinds, empty containers.
package valuetest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// Value generates any value that the wire can carry, nested at most depth levels.
func Value(depth int) *rapid.Generator[value.Value] {
	scalars := []*rapid.Generator[value.Value]{
		rapid.SampledFrom([]value.Value{value.None, value.Null, value.Bool(false), value.Bool(true)}),
		Number(), Number(),
		rapid.Map(Text(), value.Str),
		rapid.Map(rapid.Custom(duration), value.DurationOf),
		rapid.Map(rapid.Custom(datetime), value.DatetimeOf),
		rapid.Map(rapid.Custom(uuid), value.UUIDOf),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), value.BytesOf),
		rapid.Map(Text(), value.TableOf),
		rapid.Custom(file),
		rapid.Custom(geometry),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[value.Value] { return Value(depth - 1) })
	return rapid.OneOf(append(scalars,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), value.ArrayOf),
		rapid.Map(rapid.SliceOfN(inner, 0, 4), value.SetOf),
		Object(depth),
		rapid.Custom(func(t *rapid.T) value.Value {
			return value.Record(Text().Draw(t, "table"), RecordKey(depth-1).Draw(t, "key"))
		}),
		rapid.Custom(func(t *rapid.T) value.Value {
			return value.RangeOf(&value.Range{Start: bound(t, inner), End: bound(t, inner)})
		}),
	)...)
}

// Object generates objects whose fields nest at most depth-1 levels.
func Object(depth int) *rapid.Generator[value.Value] {
	inner := rapid.Deferred(func() *rapid.Generator[value.Value] { return Value(max(depth-1, 0)) })
	return rapid.Custom(func(t *rapid.T) value.Value {
		var fields []value.Field
		for range rapid.IntRange(0, 5).Draw(t, "fields") {
			fields = append(fields, value.Field{Name: Text().Draw(t, "name"), Value: inner.Draw(t, "value")})
		}
		return value.ObjectOf(value.NewObject(fields...))
	})
}

// RecordKey generates keys of records: ints, strings, uuids, and with depth arrays and objects.
func RecordKey(depth int) *rapid.Generator[value.Value] {
	kinds := []*rapid.Generator[value.Value]{
		rapid.Map(integer(), value.Int),
		rapid.Map(Text(), value.Str),
		rapid.Map(rapid.Custom(uuid), value.UUIDOf),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.Map(rapid.SliceOfN(Value(depth-1), 0, 4), value.ArrayOf), Object(depth))
	}
	return rapid.OneOf(kinds...)
}

// Number generates ints, floats and decimals that often meet.
func Number() *rapid.Generator[value.Value] {
	return rapid.OneOf(
		rapid.Map(integer(), value.Int),
		rapid.Map(integer(), func(i int64) value.Value { return value.Float(float64(i)) }),
		rapid.Map(rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 0.1, 0.5, 1e-28, 1e28, 5e-324,
				math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 53, 1<<53 + 2, 1 << 63, -1 << 63, 1e23,
				0.30000000000000004})), value.Float),
		rapid.Map(rapid.Float64Range(-10, 10),
			func(f float64) value.Value { return value.Float(math.Round(f*100) / 100) }),
		rapid.Custom(drawDecimal),
	)
}

// Text generates short texts, with zero bytes and characters of several lengths.
func Text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\x01é€😀\U0010ffff")), 0, 6, -1),
		rapid.StringN(0, 12, 30))
}

func integer() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64(),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 1<<53 - 1, 1 << 53,
			1<<53 + 1, -1<<53 - 1, 255, 256, -256, -257, 1 << 32, 23, 24}))
}

func drawDecimal(t *rapid.T) value.Value {
	d := decimal.Decimal{Neg: rapid.Bool().Draw(t, "neg"), Scale: uint8(rapid.IntRange(0, 28).Draw(t, "scale"))}
	switch rapid.IntRange(0, 2).Draw(t, "size") {
	case 0:
		d.Lo, d.Scale = rapid.Uint64Range(0, 2000).Draw(t, "small"), d.Scale%4
	case 1:
		d.Lo = rapid.Uint64().Draw(t, "lo")
	default:
		d.Lo, d.Hi = rapid.Uint64().Draw(t, "lo"), rapid.Uint32().Draw(t, "hi")
	}
	if d.IsZero() {
		d.Neg = false
	}
	return value.DecimalOf(d)
}

func duration(t *rapid.T) value.Duration {
	return value.Duration{Secs: rapid.Uint64().Draw(t, "secs"), Nanos: rapid.Uint32Range(0, 999999999).Draw(t, "nanos")}
}

func datetime(t *rapid.T) value.Datetime {
	return value.Datetime{Secs: rapid.Int64Range(-8e12, 8e12).Draw(t, "secs"),
		Nanos: rapid.Uint32Range(0, 999999999).Draw(t, "nanos")}
}

func uuid(t *rapid.T) (u value.UUID) {
	copy(u[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	return u
}

func file(t *rapid.T) value.Value {
	return value.FileOf(&value.File{Bucket: Text().Draw(t, "bucket"), Key: "/" + Text().Draw(t, "key")})
}

func bound(t *rapid.T, inner *rapid.Generator[value.Value]) value.Bound {
	b := value.Bound{Kind: value.BoundKind(rapid.IntRange(0, 2).Draw(t, "bound"))}
	if b.Kind != value.Unbounded {
		b.Value = inner.Draw(t, "end")
	}
	return b
}

func geometry(t *rapid.T) value.Value {
	return value.GeometryOf(shape(t, value.GeometryKind(rapid.IntRange(0, 6).Draw(t, "shape"))))
}

func shape(t *rapid.T, kind value.GeometryKind) *value.Geometry {
	g := &value.Geometry{Kind: kind}
	switch kind {
	case value.GeometryPoint:
		g.Point = point(t)
	case value.GeometryLine, value.GeometryMultiPoint:
		g.Line = points(t)
	case value.GeometryPolygon:
		g.Rings = rings(t)
	case value.GeometryMultiLine:
		for range rapid.IntRange(0, 2).Draw(t, "lines") {
			g.Rings = append(g.Rings, points(t))
		}
	case value.GeometryMultiPolygon:
		for range rapid.IntRange(0, 2).Draw(t, "polygons") {
			g.Polys = append(g.Polys, rings(t))
		}
	default:
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			g.Items = append(g.Items, shape(t, value.GeometryKind(rapid.IntRange(0, 5).Draw(t, "item"))))
		}
	}
	return g
}

func point(t *rapid.T) value.Point {
	coord := rapid.OneOf(rapid.Float64Range(-180, 180), rapid.SampledFrom([]float64{0, 1, -1}))
	return value.Point{X: coord.Draw(t, "x"), Y: coord.Draw(t, "y")}
}

func points(t *rapid.T) []value.Point {
	var out []value.Point
	for range rapid.IntRange(0, 3).Draw(t, "points") {
		out = append(out, point(t))
	}
	return out
}

func rings(t *rapid.T) [][]value.Point {
	var out [][]value.Point
	for range rapid.IntRange(0, 2).Draw(t, "rings") {
		if r := points(t); len(r) > 0 {
			out = append(out, append(r, r[0]))
		}
	}
	return out
}
