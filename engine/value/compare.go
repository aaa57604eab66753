package value

import (
	"bytes"
	"cmp"
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/decimal"
)

// Compare orders any two values: -1, 0 or 1. It is the total order of the language, used by <, ORDER
// BY, sets and index keys. Numbers of all three kinds compare by value; NaN equals itself and comes
// after every other number. It does not allocate.
func Compare(a, b Value) int {
	if a.Kind() != b.Kind() {
		if a.Kind().IsNumber() && b.Kind().IsNumber() {
			return compareMixedNumbers(a, b)
		}
		return cmp.Compare(a.Kind(), b.Kind())
	}
	switch a.Kind() {
	case KindInt:
		return cmp.Compare(a.Int(), b.Int())
	case KindNone, KindNull:
		return 0
	case KindBool:
		return cmp.Compare(a.n, b.n)
	case KindFloat:
		return compareFloats(a.Float(), b.Float())
	case KindDecimal:
		return a.Decimal().Cmp(b.Decimal())
	case KindString, KindTable:
		return strings.Compare(a.Str(), b.Str())
	case KindDuration:
		return a.Duration().Cmp(b.Duration())
	case KindDatetime:
		return a.Datetime().Cmp(b.Datetime())
	case KindUUID:
		return bytes.Compare((*UUID)(a.p)[:], (*UUID)(b.p)[:])
	case KindArray, KindSet:
		return compareElems(a.Elems(), b.Elems())
	case KindObject:
		return compareObjects(a.Object(), b.Object())
	case KindGeometry:
		return compareGeometries(a.Geometry(), b.Geometry())
	case KindBytes:
		return bytes.Compare(a.Bytes(), b.Bytes())
	case KindRecord:
		x, y := a.Record(), b.Record()
		if c := strings.Compare(x.Table, y.Table); c != 0 {
			return c
		}
		return Compare(x.Key, y.Key)
	case KindFile:
		x, y := a.File(), b.File()
		if c := strings.Compare(x.Bucket, y.Bucket); c != 0 {
			return c
		}
		return strings.Compare(x.Key, y.Key)
	case KindRegex:
		return strings.Compare(a.Regex().Source, b.Regex().Source)
	case KindRange:
		x, y := a.Range(), b.Range()
		if c := compareBounds(x.Start, y.Start); c != 0 {
			return c
		}
		return compareBounds(x.End, y.End)
	default: // closures
		return strings.Compare(a.Closure().Text(), b.Closure().Text())
	}
}

// Equal reports whether a and b are the same in the total order: the == operator, and what makes
// two elements of a set one.
func Equal(a, b Value) bool {
	if a.Kind() == b.Kind() {
		switch a.Kind() { // lengths first: cheaper than an order
		case KindString, KindTable:
			return a.Str() == b.Str()
		case KindArray, KindSet, KindBytes:
			if a.n != b.n {
				return false
			}
		}
	}
	return Compare(a, b) == 0
}

// LooseEqual is the = operator: Equal, but a regex against a string is a search of the string.
func LooseEqual(a, b Value) bool {
	switch {
	case a.Kind() == KindRegex && b.Kind() == KindString:
		return a.Regex().Match(b.Str())
	case a.Kind() == KindString && b.Kind() == KindRegex:
		return b.Regex().Match(a.Str())
	}
	return Equal(a, b)
}

// Cmp orders durations by length.
func (d Duration) Cmp(e Duration) int {
	if c := cmp.Compare(d.Secs, e.Secs); c != 0 {
		return c
	}
	return cmp.Compare(d.Nanos, e.Nanos)
}

// Cmp orders datetimes by time.
func (d Datetime) Cmp(e Datetime) int {
	if c := cmp.Compare(d.Secs, e.Secs); c != 0 {
		return c
	}
	return cmp.Compare(d.Nanos, e.Nanos)
}

func compareElems(a, b []Value) int {
	for i := range min(len(a), len(b)) {
		if c := Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareObjects(a, b *Object) int {
	x, y := a.Fields(), b.Fields()
	for i := range min(len(x), len(y)) {
		if c := strings.Compare(x[i].Name, y[i].Name); c != 0 {
			return c
		}
		if c := Compare(x[i].Value, y[i].Value); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// compareBounds: an open end first, then all included bounds, then all excluded ones.
func compareBounds(a, b Bound) int {
	if a.Kind != b.Kind {
		return cmp.Compare(a.Kind, b.Kind)
	}
	if a.Kind == Unbounded {
		return 0
	}
	return Compare(a.Value, b.Value)
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	// At least one NaN: it is last, and equal to itself.
	switch x, y := math.IsNaN(a), math.IsNaN(b); {
	case x && y:
		return 0
	case x:
		return 1
	}
	return -1
}

func compareMixedNumbers(a, b Value) int {
	if a.Kind() > b.Kind() {
		return -compareMixedNumbers(b, a)
	}
	switch {
	case b.Kind() == KindFloat:
		return compareIntFloat(a.Int(), b.Float())
	case a.Kind() == KindInt:
		return decimal.FromInt(a.Int()).Cmp(b.Decimal())
	}
	return -b.Decimal().CmpFloat(a.Float())
}

// compareIntFloat is exact: the int is never rounded to a float.
func compareIntFloat(i int64, f float64) int {
	switch {
	case f != f || f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, f)
}

func compareGeometries(a, b *Geometry) int {
	if a.Kind != b.Kind {
		return cmp.Compare(a.Kind, b.Kind)
	}
	switch a.Kind {
	case GeometryPoint:
		return comparePoints(a.Point, b.Point)
	case GeometryLine, GeometryMultiPoint:
		return compareLines(a.Line, b.Line)
	case GeometryPolygon, GeometryMultiLine:
		return compareRings(a.Rings, b.Rings)
	case GeometryMultiPolygon:
		for i := range min(len(a.Polys), len(b.Polys)) {
			if c := compareRings(a.Polys[i], b.Polys[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.Polys), len(b.Polys))
	default:
		for i := range min(len(a.Items), len(b.Items)) {
			if c := compareGeometries(a.Items[i], b.Items[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a.Items), len(b.Items))
	}
}

func comparePoints(a, b Point) int {
	if c := compareFloats(a.X, b.X); c != 0 {
		return c
	}
	return compareFloats(a.Y, b.Y)
}

func compareLines(a, b []Point) int {
	for i := range min(len(a), len(b)) {
		if c := comparePoints(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareRings(a, b [][]Point) int {
	for i := range min(len(a), len(b)) {
		if c := compareLines(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
