package protobuf

import (
	"math"
	"sync"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// decoder reads values under limits.
type decoder struct {
	lim  value.DecodeLimits
	left int // values that may still come; negative: any number

	// What has been read of the lists and objects at hand, each behind those around it: their sizes are known only at
	// their ends.
	elems  []value.Value
	fields []value.Field
}

var decoders = sync.Pool{New: func() any { return &decoder{} }}

// keptItems is the largest number of items that a decoder has room for when it is used again.
const keptItems = 1 << 10

func newDecoder(lim value.DecodeLimits) *decoder {
	d := decoders.Get().(*decoder)
	d.lim, d.left = lim, -1
	if lim.MaxDepth <= 0 {
		d.lim.MaxDepth = value.DefaultMaxDepth
	}
	if lim.MaxValues > 0 {
		d.left = lim.MaxValues
	}
	return d
}

// release ends the use of d.
func (d *decoder) release() {
	d.lim = value.DecodeLimits{}
	// An error leaves what was read.
	d.elems, d.fields = emptied(d.elems, 0), emptied(d.fields, 0)
	if cap(d.elems) <= keptItems && cap(d.fields) <= keptItems {
		decoders.Put(d)
	}
}

// emptied cuts items off from n on, and forgets them.
func emptied[T any](items []T, n int) []T {
	clear(items[n:])
	return items[:n]
}

// DecodeValue reads the content of a Value message. Errors are *errs.Error of the kind Serialization. The value shares
// memory with b where lim.Own says that it may.
func DecodeValue(b []byte, lim value.DecodeLimits) (value.Value, error) {
	d := newDecoder(lim)
	defer d.release()
	return d.value(b, 0)
}

// DecodeVariables reads the content of an Object or Variables message.
func DecodeVariables(b []byte, lim value.DecodeLimits) (*value.Object, error) {
	d := newDecoder(lim)
	defer d.release()
	return d.object(b, 0)
}

// DecodeRecord reads the content of a RecordId message.
func DecodeRecord(b []byte, lim value.DecodeLimits) (value.Value, error) {
	d := newDecoder(lim)
	defer d.release()
	return d.record(b, 0)
}

// enter refuses what nests too deep.
func (d *decoder) enter(depth int) error {
	if depth > d.lim.MaxDepth {
		return refused("its values nest deeper than %d levels", d.lim.MaxDepth)
	}
	return nil
}

// take counts n values.
func (d *decoder) take(n int) error {
	if d.left < 0 {
		return nil
	}
	if d.left -= n; d.left < 0 {
		return refused("it has more than %d values", d.lim.MaxValues)
	}
	return nil
}

// count is how many fields with the number 1 a message has.
func count(b []byte) (n int, err error) {
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return n, err
		}
		if s.Num == 1 && s.B != nil {
			n++
		}
	}
}

// text is b as a text.
func (d *decoder) text(b []byte) (string, error) {
	if !d.lim.Own {
		return plain(b)
	}
	if !utf8.Valid(b) {
		return "", notUTF8()
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), nil // the bytes do not change
}

// plain is a copy of b as a text.
func plain(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", notUTF8()
	}
	return string(b), nil
}

func notUTF8() error { return refused("a text is not valid UTF-8") }

func (d *decoder) value(b []byte, depth int) (value.Value, error) {
	v, set := value.None, false
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			break
		}
		var known bool
		if s.B == nil {
			v, known = number(&s, v)
		} else {
			v, known, err = d.member(&s, v, depth)
		}
		if err != nil {
			return value.None, err
		}
		set = set || known
	}
	if !set {
		return value.None, refused("a value has no member")
	}
	return v, nil
}

// number reads a member that is a number; known is false, and was is kept, where s is none.
func number(s *Scan, was value.Value) (v value.Value, known bool) {
	switch s.Num {
	case valueBool:
		return value.Bool(protowire.DecodeBool(s.N)), true
	case valueInt:
		return value.Int(int64(s.N)), true
	case valueFloat:
		return value.Float(math.Float64frombits(s.N)), true
	}
	return was, false
}

// member reads a member with bytes; known is false, and was is kept, where s is none.
func (d *decoder) member(s *Scan, was value.Value, depth int) (v value.Value, known bool, err error) {
	switch s.Num {
	case valueNone:
		return value.None, true, nil
	case valueNull:
		return value.Null, true, nil
	case valueDecimal:
		v, err = d.decimal(s.B)
	case valueString, valueTable, valueStringRecordID, valueRegex:
		v, err = d.texts(s)
	case valueBytes:
		if v = value.BytesOf(s.B); !d.lim.Own {
			v = value.BytesOf(append([]byte{}, s.B...))
		}
	case valueDuration:
		var x value.Duration
		x, err = DecodeDuration(s.B)
		v = value.DurationOf(x)
	case valueDatetime:
		var x value.Datetime
		x, err = DecodeDatetime(s.B)
		v = value.DatetimeOf(x)
	case valueUUID:
		var x value.UUID
		x, err = DecodeUUID(s.B)
		v = value.UUIDOf(x)
	case valueGeometry:
		var g *value.Geometry
		if g, err = d.geometry(s.B, depth+1); err == nil {
			v = value.GeometryOf(g)
		}
	case valueRecordID:
		v, err = d.record(s.B, depth+1)
	case valueFile:
		v, err = d.file(s.B)
	case valueRange:
		v, err = d.rangeOf(s.B, depth+1, d.value)
	case valueObject:
		var o *value.Object
		o, err = d.object(s.B, depth+1)
		v = value.ObjectOf(o)
	case valueArray:
		v, err = d.list(s.B, depth+1)
	case valueSet:
		if v, err = d.list(s.B, depth+1); err == nil {
			v = value.SetOf(v.Elems())
		}
	default:
		return was, false, nil
	}
	return v, true, err
}

// texts reads a member that is a text.
func (d *decoder) texts(s *Scan) (value.Value, error) {
	t, err := d.text(s.B)
	if err != nil {
		return value.None, err
	}
	switch s.Num {
	case valueTable:
		return value.TableOf(t), nil
	case valueStringRecordID:
		if d.lim.ParseRecord != nil {
			if r, err := d.lim.ParseRecord(t); err == nil {
				return value.RecordOf(r), nil
			}
		}
		return value.None, refused("the text of a record id is not one")
	case valueRegex:
		r, err := value.CompileRegex(t)
		if err != nil {
			return value.None, refused("a regular expression does not compile")
		}
		return value.RegexOf(r), nil
	}
	return value.Str(t), nil
}

func (d *decoder) decimal(b []byte) (value.Value, error) {
	t, err := d.onlyText(b)
	if err != nil {
		return value.None, err
	}
	x, err := decimal.Decode(t)
	if err != nil {
		return value.None, refused("a decimal is not one, or has too many digits")
	}
	return value.DecimalOf(x), nil
}

// onlyText reads a message whose field 1 is a text.
func (d *decoder) onlyText(b []byte) (string, error) {
	var last []byte
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return "", err
		}
		if !more {
			return d.text(last)
		}
		if s.Num == 1 && s.B != nil {
			last = s.B
		}
	}
}

// secondsAndNanos reads the fields of Duration and Datetime.
func secondsAndNanos(b []byte) (secs uint64, nanos uint32, err error) {
	var n uint64
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return 0, 0, err
		}
		if !more {
			break
		}
		switch {
		case s.B != nil:
		case s.Num == 1:
			secs = s.N
		case s.Num == 2:
			n = s.N
		}
	}
	if n > 999_999_999 {
		return 0, 0, refused("nanos must be at most 999999999")
	}
	return secs, uint32(n), nil
}

// DecodeDuration reads the content of a Duration message.
func DecodeDuration(b []byte) (value.Duration, error) {
	secs, nanos, err := secondsAndNanos(b)
	return value.Duration{Secs: secs, Nanos: nanos}, err
}

// DecodeDatetime reads the content of a Datetime message.
func DecodeDatetime(b []byte) (value.Datetime, error) {
	secs, nanos, err := secondsAndNanos(b)
	d := value.Datetime{Secs: int64(secs), Nanos: nanos}
	if err == nil && (d.Secs < value.MinDatetime.Secs || d.Secs > value.MaxDatetime.Secs) {
		err = refused("a datetime is outside of the calendar")
	}
	return d, err
}

// DecodeUUID reads the content of a Uuid message.
func DecodeUUID(b []byte) (u value.UUID, err error) {
	var last []byte
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return u, err
		}
		if !more {
			break
		}
		if s.Num == 1 && s.B != nil {
			last = s.B
		}
	}
	if len(last) != len(u) {
		return u, refused("a uuid must have 16 bytes, not %d", len(last))
	}
	return value.UUID(last), nil
}

func (d *decoder) file(b []byte) (value.Value, error) {
	f := &value.File{}
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			return value.FileOf(f), nil
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			f.Bucket, err = d.text(s.B)
		case s.Num == 2:
			f.Key, err = d.text(s.B)
		}
		if err != nil {
			return value.None, err
		}
	}
}

func (d *decoder) list(b []byte, depth int) (value.Value, error) {
	if err := d.enter(depth); err != nil {
		return value.None, err
	}
	start := len(d.elems)
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			break
		}
		if s.Num != 1 || s.B == nil {
			continue
		}
		if err := d.take(1); err != nil {
			return value.None, err
		}
		v, err := d.value(s.B, depth)
		if err != nil {
			return value.None, err
		}
		d.elems = append(d.elems, v)
	}
	out := append(make([]value.Value, 0, len(d.elems)-start), d.elems[start:]...)
	d.elems = emptied(d.elems, start)
	return value.ArrayOf(out), nil
}

// object reads the repeated KeyValue of an Object or of Variables. Its keys may come in any order, but only once.
func (d *decoder) object(b []byte, depth int) (*value.Object, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	start, sorted := len(d.fields), true
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if s.Num != 1 || s.B == nil {
			continue
		}
		if err := d.take(1); err != nil {
			return nil, err
		}
		f, err := d.field(s.B, depth)
		if err != nil {
			return nil, err
		}
		if n := len(d.fields); n > start && d.fields[n-1].Name >= f.Name {
			sorted = false
		}
		d.fields = append(d.fields, f)
	}
	read := d.fields[start:]
	o, fields := value.MakeObject(len(read))
	copy(fields, read)
	d.fields = emptied(d.fields, start)
	if sorted {
		return o, nil
	}
	n := len(fields)
	if o = value.NewObject(fields...); o.Len() != n {
		return nil, refused("a key of an object comes twice")
	}
	return o, nil
}

func (d *decoder) field(b []byte, depth int) (f value.Field, err error) {
	found := false
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return f, err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			f.Name, err = d.text(s.B)
		case s.Num == 2:
			found = true
			f.Value, err = d.value(s.B, depth)
		}
		if err != nil {
			return f, err
		}
	}
	if !found {
		return f, refused("a key of an object has no value")
	}
	return f, nil
}

// rangeOf reads a Range or a RecordIdKeyRange; item reads what is at a bound.
func (d *decoder) rangeOf(b []byte, depth int, item func([]byte, int) (value.Value, error)) (value.Value, error) {
	if err := d.enter(depth); err != nil {
		return value.None, err
	}
	r := &value.Range{}
	var start, end bool
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			start = true
			r.Start, err = d.bound(s.B, depth, item)
		case s.Num == 2:
			end = true
			r.End, err = d.bound(s.B, depth, item)
		}
		if err != nil {
			return value.None, err
		}
	}
	if !start || !end {
		return value.None, refused("a range has no start or no end")
	}
	return value.RangeOf(r), nil
}

func (d *decoder) bound(b []byte, depth int, item func([]byte, int) (value.Value, error)) (value.Bound, error) {
	var out value.Bound
	set := false
	if err := d.take(1); err != nil {
		return out, err
	}
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return out, err
		}
		if !more {
			break
		}
		if s.B == nil || s.Num > boundUnbounded {
			continue
		}
		set, out = true, value.Bound{}
		switch s.Num {
		case boundInclusive:
			out.Kind = value.Included
		case boundExclusive:
			out.Kind = value.Excluded
		}
		if out.Kind != value.Unbounded {
			if out.Value, err = item(s.B, depth+1); err != nil {
				return out, err
			}
		}
	}
	if !set {
		return out, refused("a bound of a range has no member")
	}
	return out, nil
}

func (d *decoder) record(b []byte, depth int) (value.Value, error) {
	if err := d.enter(depth); err != nil {
		return value.None, err
	}
	r := &value.RecordID{}
	found := false
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			r.Table, err = d.text(s.B)
		case s.Num == 2:
			found = true
			r.Key, err = d.key(s.B, depth)
		}
		if err != nil {
			return value.None, err
		}
	}
	if !found {
		return value.None, refused("a record id has no key")
	}
	return value.RecordOf(r), nil
}

// key reads a RecordIdKey.
func (d *decoder) key(b []byte, depth int) (value.Value, error) {
	if err := d.enter(depth); err != nil {
		return value.None, err
	}
	v, set := value.None, false
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			break
		}
		known := true
		switch {
		case s.B == nil && s.Num == keyInt:
			v = value.Int(int64(s.N))
		case s.B == nil && s.Num == keyFloat, s.B != nil && s.Num == keyDecimal:
			return value.None, refused("the key of a record id must be an int, a text, a uuid, an array or an object")
		case s.B != nil:
			v, known, err = d.keyMember(&s, v, depth)
		default:
			known = false
		}
		if err != nil {
			return value.None, err
		}
		set = set || known
	}
	if !set {
		return value.None, refused("the key of a record id has no member")
	}
	return v, nil
}

func (d *decoder) keyMember(s *Scan, was value.Value, depth int) (v value.Value, known bool, err error) {
	switch s.Num {
	case keyString:
		var t string
		t, err = d.text(s.B)
		v = value.Str(t)
	case keyUUID:
		var u value.UUID
		u, err = DecodeUUID(s.B)
		v = value.UUIDOf(u)
	case keyArray:
		v, err = d.list(s.B, depth+1)
	case keyObject:
		var o *value.Object
		o, err = d.object(s.B, depth+1)
		v = value.ObjectOf(o)
	case keyRange:
		v, err = d.rangeOf(s.B, depth+1, d.boundKey)
	default:
		return was, false, nil
	}
	return v, true, err
}

// boundKey reads the key at a bound of a range of keys, which is no range itself.
func (d *decoder) boundKey(b []byte, depth int) (value.Value, error) {
	v, err := d.key(b, depth)
	if err == nil && v.Kind() == value.KindRange {
		err = refused("a bound of a range of keys is a range")
	}
	return v, err
}
