package value

import (
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/decimal"
)

// tagged reads the content of a tag whose number has been read.
func (d *decoder) tagged(tag uint64) (Value, error) {
	if err := d.enter(); err != nil {
		return None, err
	}
	defer d.leave()
	switch tag {
	case tagNone:
		return d.none()
	case tagTable:
		s, err := d.text("table name is not text")
		return TableOf(s), err
	case tagRecord:
		return d.record()
	case tagDatetime:
		return d.datetime()
	case tagDuration:
		return d.duration()
	case tagUUID:
		return d.uuid()
	case tagSet:
		return d.set()
	case tagRange:
		return d.rangeOf()
	case tagFile:
		return d.file()
	case tagDecimal, tagDatetimeText, tagDurationText, tagUUIDText:
		return d.fromText(tag)
	case tagRegex:
		if d.special {
			return d.regex()
		}
	}
	if tag < tagPoint || tag > tagCollection {
		return None, d.fail("unknown tag")
	}
	kind := GeometryKind(tag - tagPoint)
	if d.stored && d.alias && kind != GeometryCollection {
		if v, size, ok := storedGeometry(kind, d.b[d.pos:]); ok {
			d.pos += size
			return v, nil
		}
	}
	// The geometry readers are function values, so their decoder is on the heap: a copy, for the
	// sake of all others.
	inner := *d
	g, err := inner.geometry(kind)
	d.pos = inner.pos
	if err != nil {
		return None, err
	}
	return GeometryOf(g), nil
}

// none reads the content of tag 6, which says nothing.
func (d *decoder) none() (Value, error) {
	v, err := d.value()
	if err == nil && !v.IsNullish() {
		err = d.fail("content of NONE is not null")
	}
	return None, err
}

func (d *decoder) record() (Value, error) {
	if d.pos < len(d.b) && d.b[d.pos]&0xe0 == majorText {
		return d.recordText()
	}
	const reason = "record id is not [table, key]"
	indef, err := d.pair(reason)
	if err != nil {
		return None, err
	}
	table, err := d.tableName()
	if err != nil {
		return None, err
	}
	start := d.pos
	// A key is decoded whole even in storage: keys are compared and printed, never copied through.
	key, err := d.value()
	if err != nil {
		return None, err
	}
	if !validKey(key, true) {
		d.pos = start
		return None, d.fail("wrong kind of record key")
	}
	return Record(table, key), d.endPair(indef, reason)
}

// validKey reports whether v can be the key of a record id, or where ranges is set, of a scan target.
func validKey(v Value, ranges bool) bool {
	switch v.Kind() {
	case KindInt, KindString, KindUUID, KindArray, KindObject:
		return true
	case KindRange:
		r := v.Range()
		return ranges && (r.Start.Kind == Unbounded || validKey(r.Start.Value, false)) &&
			(r.End.Kind == Unbounded || validKey(r.End.Value, false))
	}
	return false
}

func (d *decoder) recordText() (Value, error) {
	start := d.pos
	s, err := d.text("")
	if err != nil {
		return None, err
	}
	if d.parseRecord == nil {
		d.pos = start
		return None, d.fail("record id as text is not accepted here")
	}
	r, err := d.parseRecord(s)
	if err != nil {
		d.pos = start
		return None, d.fail("text is not a record id")
	}
	return RecordOf(r), nil
}

// tableName reads a table as text or as tag 7.
func (d *decoder) tableName() (string, error) {
	if d.pos < len(d.b) && d.b[d.pos] == majorTag|tagTable {
		d.pos++
	}
	return d.text("table name is not text")
}

// seconds reads [], [seconds] or [seconds, nanoseconds]; count says how many there were.
func (d *decoder) seconds(reason string) (secs int64, nanos uint64, count int, err error) {
	start := d.pos
	major, n, indef, err := d.head()
	if err != nil {
		return 0, 0, 0, err
	}
	if major != majorArray || (!indef && n > 2) {
		d.pos = start
		return 0, 0, 0, d.fail(reason)
	}
	var parts [2]int64
	for indef || count < int(n) {
		if indef && d.atBreak() {
			break
		}
		at := d.pos
		v, err := d.value()
		if err != nil {
			return 0, 0, 0, err
		}
		if v.Kind() != KindInt || count == 2 {
			d.pos = at
			return 0, 0, 0, d.fail(reason)
		}
		parts[count] = v.Int()
		count++
	}
	return parts[0], uint64(parts[1]), count, nil
}

func (d *decoder) datetime() (Value, error) {
	const reason = "datetime is not [seconds, nanoseconds]"
	start := d.pos
	secs, nanos, count, err := d.seconds(reason)
	if err != nil {
		return None, err
	}
	if count != 2 || nanos >= 1e9 {
		d.pos = start
		return None, d.fail(reason)
	}
	return DatetimeOf(Datetime{Secs: secs, Nanos: uint32(nanos)}), nil
}

func (d *decoder) duration() (Value, error) {
	const reason = "duration is not [seconds, nanoseconds]"
	start := d.pos
	secs, nanos, _, err := d.seconds(reason)
	if err != nil {
		return None, err
	}
	carry := nanos / 1e9
	if uint64(secs) > math.MaxUint64-carry {
		d.pos = start
		return None, d.fail(reason)
	}
	return DurationOf(Duration{Secs: uint64(secs) + carry, Nanos: uint32(nanos % 1e9)}), nil
}

func (d *decoder) uuid() (Value, error) {
	start := d.pos
	major, n, indef, err := d.head()
	if err != nil {
		return None, err
	}
	if major != majorBytes || indef || n != 16 {
		d.pos = start
		return None, d.fail("uuid is not 16 bytes")
	}
	b, err := d.take(16)
	if err != nil {
		return None, err
	}
	return UUIDOf(UUID(b)), nil
}

func (d *decoder) set() (Value, error) {
	start := d.pos
	major, n, indef, err := d.head()
	if err != nil {
		return None, err
	}
	if major != majorArray {
		d.pos = start
		return None, d.fail("set is not an array")
	}
	elems, err := d.elems(n, indef)
	if err != nil {
		return None, err
	}
	return SetOf(elems), nil
}

func (d *decoder) rangeOf() (Value, error) {
	const reason = "range is not [bound, bound]"
	indef, err := d.pair(reason)
	if err != nil {
		return None, err
	}
	r := &Range{}
	if r.Start, err = d.bound(); err != nil {
		return None, err
	}
	if r.End, err = d.bound(); err != nil {
		return None, err
	}
	return RangeOf(r), d.endPair(indef, reason)
}

func (d *decoder) bound() (Bound, error) {
	start := d.pos
	if d.pos >= len(d.b) {
		return Bound{}, d.fail("unexpected end")
	}
	if d.b[d.pos] == cborNull || d.b[d.pos] == cborUndefined {
		d.pos++
		return Bound{}, nil
	}
	major, tag, _, err := d.head()
	if err != nil {
		return Bound{}, err
	}
	if major != majorTag || (tag != tagNone && tag != tagIncluded && tag != tagExcluded) {
		d.pos = start
		return Bound{}, d.fail("range bound is neither null nor a bound")
	}
	if err := d.enter(); err != nil {
		return Bound{}, err
	}
	defer d.leave()
	switch tag {
	case tagIncluded:
		v, err := d.value()
		return Bound{Included, v}, err
	case tagExcluded:
		v, err := d.value()
		return Bound{Excluded, v}, err
	default:
		_, err := d.none()
		return Bound{}, err
	}
}

func (d *decoder) file() (Value, error) {
	const reason = "file is not [bucket, key]"
	indef, err := d.pair(reason)
	if err != nil {
		return None, err
	}
	f := &File{}
	if f.Bucket, err = d.text(reason); err != nil {
		return None, err
	}
	if f.Key, err = d.text(reason); err != nil {
		return None, err
	}
	return FileOf(f), d.endPair(indef, reason)
}

// fromText reads one of the tags whose content is the text of a value.
func (d *decoder) fromText(tag uint64) (Value, error) {
	start := d.pos
	s, err := d.text("content of a text tag is not text")
	if err != nil {
		return None, err
	}
	var v Value
	switch tag {
	case tagDecimal:
		var x decimal.Decimal
		x, err = decimal.Decode(s)
		v = DecimalOf(x)
	case tagDatetimeText:
		var x Datetime
		x, err = ParseDatetime(s)
		v = DatetimeOf(x)
	case tagDurationText:
		var x Duration
		x, err = ParseDuration(s)
		v = DurationOf(x)
	default:
		var x UUID
		x, err = ParseUUID(s)
		v = UUIDOf(x)
	}
	if err != nil {
		d.pos = start
		return None, d.fail("text cannot be read as the value its tag names")
	}
	return v, nil
}

// regex reads a regex; its source does not alias the input, so that it may be kept compiled.
func (d *decoder) regex() (Value, error) {
	start := d.pos
	s, err := d.text("content of a text tag is not text")
	if err != nil {
		return None, err
	}
	r, err := CompileRegex(strings.Clone(s))
	if err != nil {
		d.pos = start
		return None, d.fail("text is not a regex")
	}
	return RegexOf(r), nil
}
