package key

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/nacredb/nacre/engine/value"
)

// maxDepth bounds the nesting of values read from a key; no parser or decoder lets more in.
const maxDepth = 256

// ReadRecordKey reads a record key from the front of k and gives what follows it. The value shares
// no memory with k.
func ReadRecordKey(k []byte) (v value.Value, rest []byte, err error) {
	return reader{depth: maxDepth}.recordKey(k)
}

// reader reads tuples back; it is passed by value so that its depth unwinds by itself.
type reader struct{ depth int }

func (r reader) recordKey(k []byte) (value.Value, []byte, error) {
	if len(k) == 0 {
		return value.None, nil, ErrMalformed
	}
	tag, k := k[0], k[1:]
	switch tag {
	case keyString:
		s, k, err := readText(k)
		return value.Str(s), k, err
	case keyUUID:
		if len(k) < 16 {
			return value.None, nil, ErrMalformed
		}
		return value.UUIDOf(value.UUID(k[:16])), k[16:], nil
	case keyArray:
		elems, k, err := r.list(k)
		return value.ArrayOf(elems), k, err
	case keyObject:
		return r.object(k)
	case keyRange:
		return r.bounds(k, reader.recordKey)
	default:
		return readKeyInt(tag, k)
	}
}

func readKeyInt(tag byte, k []byte) (value.Value, []byte, error) {
	n, neg := int(tag)-keyInt, false
	if n < 0 {
		n, neg = -n, true
	}
	if n > 8 || len(k) < n {
		return value.None, nil, ErrMalformed
	}
	var mag uint64
	for _, c := range k[:n] {
		if neg {
			c = ^c
		}
		mag = mag<<8 | uint64(c)
	}
	if neg {
		if mag > 1<<63 {
			return value.None, nil, ErrMalformed
		}
		return value.Int(-int64(mag)), k[n:], nil
	}
	if mag > math.MaxInt64 {
		return value.None, nil, ErrMalformed
	}
	return value.Int(int64(mag)), k[n:], nil
}

func readText(k []byte) (string, []byte, error) {
	b, k, err := readEscaped(k)
	return string(b), k, err
}

// readEscaped gives the unescaped bytes up to the terminator: a part of k itself where nothing was escaped.
func readEscaped(k []byte) (b, rest []byte, err error) {
	var out []byte
	for {
		i := bytes.IndexByte(k, 0)
		if i < 0 || i+1 == len(k) {
			return nil, nil, ErrMalformed
		}
		switch k[i+1] {
		case 1:
			if out == nil {
				return k[:i], k[i+2:], nil
			}
			return append(out, k[:i]...), k[i+2:], nil
		case 0xff:
			out = append(out, k[:i+1]...)
			k = k[i+2:]
		default:
			return nil, nil, ErrMalformed
		}
	}
}

func (r reader) value(k []byte) (value.Value, []byte, error) {
	if len(k) == 0 {
		return value.None, nil, ErrMalformed
	}
	tag, k := k[0], k[1:]
	switch tag {
	case tagNone:
		return value.None, k, nil
	case tagNull:
		return value.Null, k, nil
	case tagFalse, tagTrue:
		return value.Bool(tag == tagTrue), k, nil
	case tagNumber:
		return readNumber(k)
	case tagString:
		s, k, err := readText(k)
		return value.Str(s), k, err
	case tagDuration, tagDatetime:
		return readTime(tag, k)
	case tagUUID:
		if len(k) < 16 {
			return value.None, nil, ErrMalformed
		}
		return value.UUIDOf(value.UUID(k[:16])), k[16:], nil
	case tagArray:
		elems, k, err := r.list(k)
		return value.ArrayOf(elems), k, err
	case tagSet:
		elems, k, err := r.list(k)
		return value.SetOfSorted(elems), k, err
	case tagObject:
		return r.object(k)
	default:
		return r.rare(tag, k)
	}
}

func (r reader) rare(tag byte, k []byte) (value.Value, []byte, error) {
	switch tag {
	case tagGeometry:
		g, k, err := r.geometry(k)
		return value.GeometryOf(g), k, err
	case tagBytes:
		b, k, err := readEscaped(k)
		return value.BytesOf(bytes.Clone(b)), k, err
	case tagTable:
		s, k, err := readText(k)
		return value.TableOf(s), k, err
	case tagRecord:
		table, k, err := readText(k)
		if err != nil {
			return value.None, nil, err
		}
		id, k, err := r.recordKey(k)
		return value.Record(table, id), k, err
	case tagFile:
		bucket, k, err := readText(k)
		if err != nil {
			return value.None, nil, err
		}
		name, k, err := readText(k)
		return value.FileOf(&value.File{Bucket: bucket, Key: name}), k, err
	case tagRange:
		return r.bounds(k, reader.value)
	default:
		return value.None, nil, ErrMalformed
	}
}

func readTime(tag byte, k []byte) (value.Value, []byte, error) {
	if len(k) < 12 {
		return value.None, nil, ErrMalformed
	}
	secs, nanos := binary.BigEndian.Uint64(k), binary.BigEndian.Uint32(k[8:])
	if nanos >= 1e9 {
		return value.None, nil, ErrMalformed
	}
	if tag == tagDuration {
		return value.DurationOf(value.Duration{Secs: secs, Nanos: nanos}), k[12:], nil
	}
	return value.DatetimeOf(value.Datetime{Secs: int64(secs ^ signBit), Nanos: nanos}), k[12:], nil
}

func (r reader) list(k []byte) ([]value.Value, []byte, error) {
	if r.depth--; r.depth < 0 {
		return nil, nil, ErrMalformed
	}
	var out []value.Value
	for {
		if len(k) == 0 {
			return nil, nil, ErrMalformed
		}
		if k[0] == listEnd {
			return out, k[1:], nil
		}
		v, rest, err := r.value(k)
		if err != nil {
			return nil, nil, err
		}
		out, k = append(out, v), rest
	}
}

func (r reader) object(k []byte) (value.Value, []byte, error) {
	if r.depth--; r.depth < 0 {
		return value.None, nil, ErrMalformed
	}
	var fields []value.Field
	for {
		if len(k) == 0 {
			return value.None, nil, ErrMalformed
		}
		if k[0] == listEnd {
			return value.ObjectOf(value.ObjectOfSorted(fields)), k[1:], nil
		}
		if k[0] != tagName {
			return value.None, nil, ErrMalformed
		}
		name, rest, err := readText(k[1:])
		if err != nil {
			return value.None, nil, err
		}
		v, rest, err := r.value(rest)
		if err != nil {
			return value.None, nil, err
		}
		if n := len(fields); n > 0 && fields[n-1].Name >= name {
			return value.None, nil, ErrMalformed
		}
		fields, k = append(fields, value.Field{Name: name, Value: v}), rest
	}
}

func (r reader) bounds(k []byte, read func(reader, []byte) (value.Value, []byte, error)) (value.Value, []byte, error) {
	if r.depth--; r.depth < 0 {
		return value.None, nil, ErrMalformed
	}
	var ends [2]value.Bound
	for i := range ends {
		if len(k) == 0 {
			return value.None, nil, ErrMalformed
		}
		tag := k[0]
		k = k[1:]
		switch tag {
		case boundNone:
			continue
		case boundIncluded:
			ends[i].Kind = value.Included
		case boundExcluded:
			ends[i].Kind = value.Excluded
		default:
			return value.None, nil, ErrMalformed
		}
		var err error
		if ends[i].Value, k, err = read(r, k); err != nil {
			return value.None, nil, err
		}
	}
	return value.RangeOf(&value.Range{Start: ends[0], End: ends[1]}), k, nil
}

func (r reader) geometry(k []byte) (*value.Geometry, []byte, error) {
	if r.depth--; r.depth < 0 || len(k) == 0 || k[0] == 0 || k[0] > byte(value.GeometryCollection)+1 {
		return nil, nil, ErrMalformed
	}
	g := &value.Geometry{Kind: value.GeometryKind(k[0] - 1)}
	k = k[1:]
	var err error
	switch g.Kind {
	case value.GeometryPoint:
		g.Point, k, err = readPoint(k)
	case value.GeometryLine, value.GeometryMultiPoint:
		g.Line, k, err = readLine(k)
	case value.GeometryPolygon, value.GeometryMultiLine:
		g.Rings, k, err = readLines(k)
	case value.GeometryMultiPolygon:
		g.Polys, k, err = readItems(k, readLines)
	default:
		g.Items, k, err = readItems(k, r.geometry)
	}
	if err != nil {
		return nil, nil, err
	}
	return g, k, nil
}

func readPoint(k []byte) (value.Point, []byte, error) {
	if len(k) < 16 {
		return value.Point{}, nil, ErrMalformed
	}
	return value.Point{X: coordinate(k), Y: coordinate(k[8:])}, k[16:], nil
}

func coordinate(k []byte) float64 {
	b := binary.BigEndian.Uint64(k)
	if b&signBit == 0 {
		return math.Float64frombits(^b)
	}
	return math.Float64frombits(b &^ signBit)
}

func readLine(k []byte) ([]value.Point, []byte, error)    { return readItems(k, readPoint) }
func readLines(k []byte) ([][]value.Point, []byte, error) { return readItems(k, readLine) }

func readItems[T any](k []byte, read func([]byte) (T, []byte, error)) ([]T, []byte, error) {
	var out []T
	for {
		if len(k) == 0 {
			return nil, nil, ErrMalformed
		}
		if k[0] == listEnd {
			return out, k[1:], nil
		}
		if k[0] != tagName {
			return nil, nil, ErrMalformed
		}
		item, rest, err := read(k[1:])
		if err != nil {
			return nil, nil, err
		}
		out, k = append(out, item), rest
	}
}
