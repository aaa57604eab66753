package value

import (
	"encoding/binary"
	"math"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
)

// AppendCBOR appends v in the wire form: object keys in byte order, lengths definite and shortest,
// floats always 64 bits. An object that is still encoded is copied as it is. It fails only on
// values without a wire form (regexes, closures) and on nesting beyond 256 levels; dst is then to
// be thrown away.
func AppendCBOR(dst []byte, v Value) ([]byte, error) {
	return newEncoder().value(dst, v)
}

// maxEncodeDepth bounds the nesting of what is encoded; programs can build deeper values than any
// decoder accepts.
const maxEncodeDepth = 256

// encoder appends CBOR. It is passed by value, so that depth, the levels left, unwinds by itself.
type encoder struct {
	depth   int
	special *bool // not nil: for storage, which has regexes too; set when there is one
}

func newEncoder() encoder { return encoder{depth: maxEncodeDepth} }

func (e encoder) value(dst []byte, v Value) ([]byte, error) {
	switch v.Kind() {
	case KindNone:
		return append(dst, majorTag|tagNone, cborNull), nil
	case KindNull:
		return append(dst, cborNull), nil
	case KindBool:
		if v.Bool() {
			return append(dst, cborTrue), nil
		}
		return append(dst, cborFalse), nil
	case KindInt:
		return putInt(dst, v.Int()), nil
	case KindFloat:
		return putFloat(dst, v.Float()), nil
	case KindString:
		return putText(dst, v.Str()), nil
	case KindBytes:
		return append(putHead(dst, majorBytes, v.n), v.Bytes()...), nil
	case KindDatetime:
		t := v.Datetime()
		return putInt(putInt(append(dst, majorTag|tagDatetime, majorArray|2), t.Secs), int64(t.Nanos)), nil
	case KindArray:
		return e.elems(dst, v.Elems())
	case KindObject:
		return e.object(dst, v.Object())
	case KindRecord:
		return e.record(dst, v.Record())
	default:
		return e.rare(dst, v)
	}
}

// rare encodes the kinds that few records hold.
func (e encoder) rare(dst []byte, v Value) ([]byte, error) {
	switch v.Kind() {
	case KindDecimal:
		return putDecimal(dst, v.Decimal()), nil
	case KindDuration:
		return putDuration(dst, v.Duration()), nil
	case KindUUID:
		u := v.UUID()
		return append(append(putTag(dst, tagUUID), majorBytes|16), u[:]...), nil
	case KindSet:
		return e.elems(putTag(dst, tagSet), v.Elems())
	case KindTable:
		return putText(append(dst, majorTag|tagTable), v.Table()), nil
	case KindFile:
		f := v.File()
		return putText(putText(append(putTag(dst, tagFile), majorArray|2), f.Bucket), f.Key), nil
	case KindRange:
		r := v.Range()
		dst, err := e.bound(append(putTag(dst, tagRange), majorArray|2), r.Start)
		if err != nil {
			return dst, err
		}
		return e.bound(dst, r.End)
	case KindGeometry:
		if b := v.stored(); b != nil {
			return append(putTag(dst, tagPoint+byte(v.shape())), b...), nil
		}
		return putGeometry(dst, v.Geometry()), nil
	case KindRegex:
		if e.special != nil {
			*e.special = true
			return putText(putTag(dst, tagRegex), v.Regex().Source), nil
		}
	}
	return dst, errNotEncodable()
}

func (e encoder) elems(dst []byte, elems []Value) ([]byte, error) {
	if e.depth--; e.depth < 0 {
		return dst, errs.TooDeep()
	}
	dst = putHead(dst, majorArray, uint64(len(elems)))
	var err error
	for i := range elems {
		if dst, err = e.value(dst, elems[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (e encoder) object(dst []byte, o *Object) ([]byte, error) {
	if e.depth--; e.depth < 0 {
		return dst, errs.TooDeep()
	}
	if o.enc != nil {
		if e.special != nil && !o.enc.fits(e.depth) {
			return dst, errs.TooDeep()
		}
		return o.enc.appendMap(e, dst)
	}
	return e.fields(dst, o.fields)
}

func (e encoder) fields(dst []byte, fields []Field) ([]byte, error) {
	dst = putHead(dst, majorMap, uint64(len(fields)))
	var err error
	for i := range fields {
		dst = putText(dst, fields[i].Name)
		if dst, err = e.value(dst, fields[i].Value); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (e encoder) record(dst []byte, r *RecordID) ([]byte, error) {
	if e.depth--; e.depth < 0 {
		return dst, errs.TooDeep()
	}
	dst = putText(append(dst, majorTag|tagRecord, majorArray|2), r.Table)
	return e.value(dst, r.Key)
}

func (e encoder) bound(dst []byte, b Bound) ([]byte, error) {
	if e.depth--; e.depth < 0 {
		return dst, errs.TooDeep()
	}
	switch b.Kind {
	case Included:
		return e.value(putTag(dst, tagIncluded), b.Value)
	case Excluded:
		return e.value(putTag(dst, tagExcluded), b.Value)
	default:
		return append(dst, cborNull), nil
	}
}

// putHead appends the initial byte of major and its argument in the shortest form.
func putHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return append(dst, major|25, byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, major|27), n)
	}
}

func putTag(dst []byte, tag byte) []byte { return putHead(dst, majorTag, uint64(tag)) }

func putInt(dst []byte, i int64) []byte {
	if i < 0 {
		return putHead(dst, majorNeg, uint64(^i))
	}
	return putHead(dst, majorUint, uint64(i))
}

func putFloat(dst []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, cborFloat64), math.Float64bits(f))
}

func putText(dst []byte, s string) []byte {
	return append(putHead(dst, majorText, uint64(len(s))), s...)
}

func putDecimal(dst []byte, d decimal.Decimal) []byte {
	var buf [40]byte
	text := d.Append(buf[:0])
	return append(putHead(putTag(dst, tagDecimal), majorText, uint64(len(text))), text...)
}

// putDuration writes the shortest of the three forms.
func putDuration(dst []byte, d Duration) []byte {
	dst = append(dst, majorTag|tagDuration)
	switch {
	case d.Nanos != 0:
		return putHead(putHead(append(dst, majorArray|2), majorUint, d.Secs), majorUint, uint64(d.Nanos))
	case d.Secs != 0:
		return putHead(append(dst, majorArray|1), majorUint, d.Secs)
	default:
		return append(dst, majorArray)
	}
}

func putGeometry(dst []byte, g *Geometry) []byte {
	switch g.Kind {
	case GeometryPoint:
		return putPoint(dst, g.Point)
	case GeometryLine:
		return putLine(dst, g.Line)
	case GeometryPolygon:
		return putPolygon(dst, g.Rings)
	}
	dst = putTag(dst, tagPoint+byte(g.Kind))
	switch g.Kind {
	case GeometryMultiPoint:
		return putPoints(dst, g.Line)
	case GeometryMultiLine:
		return putLines(dst, g.Rings)
	case GeometryMultiPolygon:
		dst = putHead(dst, majorArray, uint64(len(g.Polys)))
		for _, p := range g.Polys {
			dst = putPolygon(dst, p)
		}
	default:
		dst = putHead(dst, majorArray, uint64(len(g.Items)))
		for _, item := range g.Items {
			dst = putGeometry(dst, item)
		}
	}
	return dst
}

func putPoint(dst []byte, p Point) []byte {
	return putFloat(putFloat(append(putTag(dst, tagPoint), majorArray|2), p.X), p.Y)
}

func putPoints(dst []byte, points []Point) []byte {
	dst = putHead(dst, majorArray, uint64(len(points)))
	for _, p := range points {
		dst = putPoint(dst, p)
	}
	return dst
}

func putLine(dst []byte, line []Point) []byte {
	return putPoints(putTag(dst, tagPoint+byte(GeometryLine)), line)
}

func putLines(dst []byte, lines [][]Point) []byte {
	dst = putHead(dst, majorArray, uint64(len(lines)))
	for _, l := range lines {
		dst = putLine(dst, l)
	}
	return dst
}

func putPolygon(dst []byte, rings [][]Point) []byte {
	return putLines(putTag(dst, tagPoint+byte(GeometryPolygon)), rings)
}
