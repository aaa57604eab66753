package key

import (
	"encoding/binary"
	"math/bits"

	"github.com/nacredb/nacre/engine/value"
)

// First bytes of values (V).
const (
	listEnd     = 0x01
	tagName     = 0x02 // before each name of an object
	tagNone     = 0x02
	tagNull     = 0x03
	tagFalse    = 0x04
	tagTrue     = 0x05
	tagNumber   = 0x06
	tagString   = 0x07
	tagDuration = 0x08
	tagDatetime = 0x09
	tagUUID     = 0x0a
	tagArray    = 0x0b
	tagSet      = 0x0c
	tagObject   = 0x0d
	tagGeometry = 0x0e
	tagBytes    = 0x0f
	tagTable    = 0x10
	tagRecord   = 0x11
	tagFile     = 0x12
	tagRegex    = 0x13
	tagRange    = 0x14
	tagClosure  = 0x15 // sorts, never read back
)

// First bytes of record keys (RK).
const (
	keyInt    = 0x20 // ± up to 8
	keyString = 0x30
	keyUUID   = 0x40
	keyArray  = 0x50
	keyObject = 0x60
	keyRange  = 0x70
)

const (
	boundNone     = 0x02
	boundIncluded = 0x03
	boundExcluded = 0x04
)

// form is one of the two spellings of numbers.
type form bool

const (
	exact  form = true  // numbers carry their kind
	folded form = false // equal numbers are equal bytes
)

// AppendRecordKey appends the key part of a record id: an int, string, uuid, array or object.
func AppendRecordKey(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindInt:
		return appendKeyInt(dst, v.Int())
	case value.KindString:
		return appendText(append(dst, keyString), v.Str())
	case value.KindUUID:
		u := v.UUID()
		return append(append(dst, keyUUID), u[:]...)
	case value.KindArray:
		return exact.list(append(dst, keyArray), v.Elems())
	case value.KindObject:
		return exact.object(append(dst, keyObject), v.Object())
	case value.KindRange:
		r := v.Range()
		return appendKeyBound(appendKeyBound(append(dst, keyRange), r.Start), r.End)
	default:
		panic("key: record key of kind " + v.Kind().String())
	}
}

// AppendValue appends v so that equal values are equal bytes and bytes sort as values do: the form
// of index fields.
func AppendValue(dst []byte, v value.Value) []byte { return folded.value(dst, v) }

// appendKeyInt writes as many bytes as i needs; the first byte holds their number and the sign.
func appendKeyInt(dst []byte, i int64) []byte {
	mag := uint64(i)
	if i < 0 {
		mag = -mag
	}
	n := (bits.Len64(mag) + 7) / 8
	if i < 0 {
		dst, mag = append(dst, byte(keyInt-n)), ^mag
	} else {
		dst = append(dst, byte(keyInt+n))
	}
	for n--; n >= 0; n-- {
		dst = append(dst, byte(mag>>(8*n)))
	}
	return dst
}

func appendKeyBound(dst []byte, b value.Bound) []byte {
	switch b.Kind {
	case value.Included:
		return AppendRecordKey(append(dst, boundIncluded), b.Value)
	case value.Excluded:
		return AppendRecordKey(append(dst, boundExcluded), b.Value)
	default:
		return append(dst, boundNone)
	}
}

// appendText appends s escaped and ended.
func appendText(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			dst = append(append(dst, s[from:i+1]...), 0xff)
			from = i + 1
		}
	}
	return append(append(dst, s[from:]...), 0, 1)
}

func appendBytes(dst, b []byte) []byte {
	for _, c := range b {
		if dst = append(dst, c); c == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 1)
}

func (f form) value(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindNone:
		return append(dst, tagNone)
	case value.KindNull:
		return append(dst, tagNull)
	case value.KindBool:
		if v.Bool() {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case value.KindInt, value.KindFloat, value.KindDecimal:
		return f.number(append(dst, tagNumber), v)
	case value.KindString:
		return appendText(append(dst, tagString), v.Str())
	case value.KindDuration:
		d := v.Duration()
		return appendUint32(binary.BigEndian.AppendUint64(append(dst, tagDuration), d.Secs), d.Nanos)
	case value.KindDatetime:
		d := v.Datetime()
		return appendUint32(binary.BigEndian.AppendUint64(append(dst, tagDatetime), uint64(d.Secs)^signBit), d.Nanos)
	case value.KindUUID:
		u := v.UUID()
		return append(append(dst, tagUUID), u[:]...)
	case value.KindArray:
		return f.list(append(dst, tagArray), v.Elems())
	case value.KindSet:
		return f.list(append(dst, tagSet), v.Elems())
	case value.KindObject:
		return f.object(append(dst, tagObject), v.Object())
	default:
		return f.rare(dst, v)
	}
}

func (f form) rare(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindGeometry:
		return appendGeometry(append(dst, tagGeometry), v.Geometry())
	case value.KindBytes:
		return appendBytes(append(dst, tagBytes), v.Bytes())
	case value.KindTable:
		return appendText(append(dst, tagTable), v.Table())
	case value.KindRecord:
		r := v.Record()
		return AppendRecordKey(appendText(append(dst, tagRecord), r.Table), r.Key)
	case value.KindFile:
		file := v.File()
		return appendText(appendText(append(dst, tagFile), file.Bucket), file.Key)
	case value.KindRegex:
		return appendText(append(dst, tagRegex), v.Regex().Source)
	case value.KindRange:
		r := v.Range()
		return f.bound(f.bound(append(dst, tagRange), r.Start), r.End)
	default:
		return appendText(append(dst, tagClosure), v.Closure().Text())
	}
}

func (f form) number(dst []byte, v value.Value) []byte {
	dst = appendNumber(dst, v)
	if f == folded {
		return dst
	}
	switch v.Kind() {
	case value.KindInt:
		return append(dst, kindInt)
	case value.KindFloat:
		return append(dst, kindFloat)
	default:
		return append(dst, kindDecimal+v.Decimal().Scale)
	}
}

func (f form) list(dst []byte, elems []value.Value) []byte {
	for i := range elems {
		dst = f.value(dst, elems[i])
	}
	return append(dst, listEnd)
}

func (f form) object(dst []byte, o *value.Object) []byte {
	for _, field := range o.Fields() {
		dst = f.value(appendText(append(dst, tagName), field.Name), field.Value)
	}
	return append(dst, listEnd)
}

func (f form) bound(dst []byte, b value.Bound) []byte {
	switch b.Kind {
	case value.Included:
		return f.value(append(dst, boundIncluded), b.Value)
	case value.Excluded:
		return f.value(append(dst, boundExcluded), b.Value)
	default:
		return append(dst, boundNone)
	}
}

// A geometry is its kind + 1, then its points as pairs of doubles; every list of points, rings or
// parts has 0x02 before each element and 0x01 at its end.
func appendGeometry(dst []byte, g *value.Geometry) []byte {
	dst = append(dst, byte(g.Kind)+1)
	switch g.Kind {
	case value.GeometryPoint:
		return appendPoint(dst, g.Point)
	case value.GeometryLine, value.GeometryMultiPoint:
		return appendLine(dst, g.Line)
	case value.GeometryPolygon, value.GeometryMultiLine:
		return appendLines(dst, g.Rings)
	case value.GeometryMultiPolygon:
		for _, p := range g.Polys {
			dst = appendLines(append(dst, tagName), p)
		}
	default:
		for _, item := range g.Items {
			dst = appendGeometry(append(dst, tagName), item)
		}
	}
	return append(dst, listEnd)
}

func appendPoint(dst []byte, p value.Point) []byte {
	return appendCoordinate(appendCoordinate(dst, p.X), p.Y)
}

func appendCoordinate(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(dst, orderedBits(f))
}

func appendLine(dst []byte, points []value.Point) []byte {
	for _, p := range points {
		dst = appendPoint(append(dst, tagName), p)
	}
	return append(dst, listEnd)
}

func appendLines(dst []byte, lines [][]value.Point) []byte {
	for _, l := range lines {
		dst = appendLine(append(dst, tagName), l)
	}
	return append(dst, listEnd)
}
