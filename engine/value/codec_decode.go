package value

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"
)

// DecodeCBOR reads one value from the front of b and gives what follows it. The value shares no
// memory with b unless lim says that it may. Errors are *DecodeError: truncated or oversized lengths, nesting and
// numbers of values beyond lim, unknown tags, map keys that are not text, text that is not UTF-8.
// Integers outside int64 wrap; maps may be in any order and of equal keys the last one wins.
func DecodeCBOR(b []byte, lim DecodeLimits) (v Value, rest []byte, err error) {
	d := decoder{b: b, depth: lim.depth(), most: lim.MaxValues, alias: lim.Own, parseRecord: lim.ParseRecord}
	if !d.alias {
		// One copy of the item instead of one of each string in it.
		if end := skipItem(b, 0); end > 0 {
			d.b, d.alias = slices.Clone(b[:end]), true
		}
	}
	v, err = d.value()
	if err != nil {
		return None, nil, err
	}
	return v, b[d.pos:], nil
}

// DecodeCBORValue reads b as exactly one value; bytes after it are an error.
func DecodeCBORValue(b []byte, lim DecodeLimits) (Value, error) {
	v, rest, err := DecodeCBOR(b, lim)
	if err == nil && len(rest) > 0 {
		err = &DecodeError{Format: "CBOR", Offset: len(b) - len(rest), Reason: "bytes after the value"}
	}
	if err != nil {
		return None, err
	}
	return v, nil
}

// preallocate bounds how many elements a declared length may reserve before they have been seen,
// so that a few bytes cannot claim much memory.
const preallocate = 1024

// decoder pulls values out of b. With stored set b is trusted storage: text is not checked again
// and inner maps stay encoded.
type decoder struct {
	b           []byte
	pos         int
	depth       int  // levels left
	count, most int  // elements and fields so far; 0: no bound
	alias       bool // strings and bytes are parts of b
	stored      bool
	special     bool // regexes are allowed
	parseRecord func(string) (*RecordID, error)
}

func (d *decoder) fail(reason string) error {
	return &DecodeError{Format: "CBOR", Offset: d.pos, Reason: reason}
}

// head reads an initial byte with its argument. indef is set for the indefinite length of
// majors 2 to 5; additional information 28 to 30 is refused.
func (d *decoder) head() (major byte, n uint64, indef bool, err error) {
	if d.pos >= len(d.b) {
		return 0, 0, false, d.fail("unexpected end")
	}
	ib := d.b[d.pos]
	major = ib & 0xe0
	info := ib & 0x1f
	d.pos++
	if info < 24 {
		return major, uint64(info), false, nil
	}
	rest := d.b[d.pos:]
	switch {
	case info == 24 && len(rest) >= 1:
		d.pos++
		return major, uint64(rest[0]), false, nil
	case info == 25 && len(rest) >= 2:
		d.pos += 2
		return major, uint64(binary.BigEndian.Uint16(rest)), false, nil
	case info == 26 && len(rest) >= 4:
		d.pos += 4
		return major, uint64(binary.BigEndian.Uint32(rest)), false, nil
	case info == 27 && len(rest) >= 8:
		d.pos += 8
		return major, binary.BigEndian.Uint64(rest), false, nil
	case info == 31 && major >= majorBytes && major <= majorMap:
		return major, 0, true, nil
	case info < 28:
		return 0, 0, false, d.fail("unexpected end")
	default:
		d.pos--
		return 0, 0, false, d.fail("reserved length code")
	}
}

// value reads any value.
func (d *decoder) value() (Value, error) {
	if d.pos >= len(d.b) {
		return None, d.fail("unexpected end")
	}
	switch ib := d.b[d.pos]; {
	case ib < 24:
		d.pos++
		return Int(int64(ib)), nil
	case ib >= majorOther:
		return d.simple()
	}
	start := d.pos
	major, n, indef, err := d.head()
	if err != nil {
		return None, err
	}
	switch major {
	case majorUint:
		return Int(int64(n)), nil
	case majorNeg:
		return Int(^int64(n)), nil
	case majorBytes:
		b, err := d.run(majorBytes, n, indef)
		return BytesOf(b), err
	case majorText:
		s, err := d.textRun(n, indef)
		return Str(s), err
	case majorArray:
		elems, err := d.elems(n, indef)
		return ArrayOf(elems), err
	case majorMap:
		if d.stored {
			return d.storedMap(start, n, indef)
		}
		return d.object(n, indef)
	default:
		return d.tagged(n)
	}
}

// simple reads a value of major type 7.
func (d *decoder) simple() (Value, error) {
	ib := d.b[d.pos]
	rest := d.b[d.pos+1:]
	switch {
	case ib == cborFalse || ib == cborTrue:
		d.pos++
		return Bool(ib == cborTrue), nil
	case ib == cborNull:
		d.pos++
		return Null, nil
	case ib == cborUndefined:
		d.pos++
		return None, nil
	case ib == cborFloat64 && len(rest) >= 8:
		d.pos += 9
		return Float(math.Float64frombits(binary.BigEndian.Uint64(rest))), nil
	case ib == cborFloat32 && len(rest) >= 4:
		d.pos += 5
		return Float(float64(math.Float32frombits(binary.BigEndian.Uint32(rest)))), nil
	case ib == cborFloat16 && len(rest) >= 2:
		d.pos += 3
		return Float(halfFloat(binary.BigEndian.Uint16(rest))), nil
	case ib >= cborFloat16 && ib <= cborFloat64:
		return None, d.fail("unexpected end")
	case ib == cborBreak:
		return None, d.fail("unexpected break")
	default:
		return None, d.fail("unknown simple value")
	}
}

// halfFloat widens an IEEE 754 binary16.
func halfFloat(h uint16) float64 {
	exp, frac := int(h>>10&31), float64(h&1023)
	var f float64
	switch exp {
	case 0:
		f = math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		f = math.Inf(1)
	default:
		f = math.Ldexp(1024+frac, exp-25)
	}
	if h&0x8000 != 0 {
		return -f
	}
	return f
}

// take gives the next n bytes of the input itself.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.b)-d.pos) {
		return nil, d.fail("length runs past the end")
	}
	b := d.b[d.pos : d.pos+int(n) : d.pos+int(n)]
	d.pos += int(n)
	return b, nil
}

// run reads the content of a byte or text string.
func (d *decoder) run(major byte, n uint64, indef bool) ([]byte, error) {
	if indef {
		return d.chunks(major)
	}
	b, err := d.take(n)
	if err != nil || d.alias {
		return b, err
	}
	return append(make([]byte, 0, len(b)), b...), nil
}

func (d *decoder) textRun(n uint64, indef bool) (string, error) {
	start := d.pos
	if d.stored && !indef {
		b, err := d.take(n)
		return aliasText(b), err
	}
	b, err := d.run(majorText, n, indef)
	if err != nil {
		return "", err
	}
	if !d.stored && !utf8.Valid(b) {
		d.pos = start
		return "", d.fail("text is not UTF-8")
	}
	return aliasText(b), nil
}

// chunks joins the definite pieces of an indefinite string.
func (d *decoder) chunks(major byte) ([]byte, error) {
	var out []byte
	for {
		if d.atBreak() {
			return out, nil
		}
		m, n, indef, err := d.head()
		if err != nil {
			return nil, err
		}
		if m != major || indef {
			return nil, d.fail("wrong piece in an indefinite string")
		}
		b, err := d.take(n)
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
}

// atBreak consumes a break if one is next.
func (d *decoder) atBreak() bool {
	if d.pos < len(d.b) && d.b[d.pos] == cborBreak {
		d.pos++
		return true
	}
	return false
}

// enter counts a level of nesting; leave gives it back.
func (d *decoder) enter() error {
	if d.depth--; d.depth < 0 {
		return d.fail("nested too deep")
	}
	return nil
}

func (d *decoder) leave() { d.depth++ }

// one counts an element or a field.
func (d *decoder) one() error {
	if d.count++; d.count > d.most && d.most > 0 {
		return d.fail("too many values")
	}
	return nil
}

// room checks a declared count of items of at least size bytes each and says how many to reserve.
func (d *decoder) room(n uint64, size int) (int, error) {
	if n > uint64((len(d.b)-d.pos)/size) {
		return 0, d.fail("length runs past the end")
	}
	return int(min(n, preallocate)), nil
}

// elems reads the elements of an array whose head has been read.
func (d *decoder) elems(n uint64, indef bool) ([]Value, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	reserve, err := d.room(n, 1)
	if err != nil {
		return nil, err
	}
	out := make([]Value, 0, reserve)
	for i := uint64(0); indef || i < n; i++ {
		if indef && d.atBreak() {
			break
		}
		if err := d.one(); err != nil {
			return nil, err
		}
		if b := d.b[d.pos:]; len(b) >= 9 && b[0] == cborFloat64 { // vectors
			d.pos += 9
			out = append(out, Float(math.Float64frombits(binary.BigEndian.Uint64(b[1:]))))
			continue
		}
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// object reads the entries of a map whose head has been read.
func (d *decoder) object(n uint64, indef bool) (Value, error) {
	fields, sorted, err := d.fields(n, indef)
	if err != nil {
		return None, err
	}
	if sorted {
		return ObjectOf(ObjectOfSorted(fields)), nil
	}
	return ObjectOf(NewObject(fields...)), nil
}

// fields reads the entries of a map and tells whether they are in strictly ascending order.
func (d *decoder) fields(n uint64, indef bool) (fields []Field, sorted bool, err error) {
	if err := d.enter(); err != nil {
		return nil, false, err
	}
	defer d.leave()
	reserve, err := d.room(n, 2)
	if err != nil {
		return nil, false, err
	}
	fields, sorted = make([]Field, 0, reserve), true
	for i := uint64(0); indef || i < n; i++ {
		if indef && d.atBreak() {
			break
		}
		if err := d.one(); err != nil {
			return nil, false, err
		}
		name, err := d.text("map key is not text")
		if err != nil {
			return nil, false, err
		}
		v, err := d.value()
		if err != nil {
			return nil, false, err
		}
		if k := len(fields); k > 0 && fields[k-1].Name >= name {
			sorted = false
		}
		fields = append(fields, Field{name, v})
	}
	return fields, sorted, nil
}

// text reads a value that must be text.
func (d *decoder) text(reason string) (string, error) {
	start := d.pos
	if start < len(d.b) {
		// Nearly all names are shorter than 24 bytes.
		if n := int(d.b[start]) - majorText; n >= 0 && n < 24 {
			d.pos++
			return d.textRun(uint64(n), false)
		}
	}
	major, n, indef, err := d.head()
	if err != nil {
		return "", err
	}
	if major != majorText {
		d.pos = start
		return "", d.fail(reason)
	}
	return d.textRun(n, indef)
}

// pair reads the head of an array that must have two elements; the caller hands indef on to
// endPair after the second one.
func (d *decoder) pair(reason string) (indef bool, err error) {
	start := d.pos
	major, n, indef, err := d.head()
	if err != nil {
		return false, err
	}
	if major != majorArray || (!indef && n != 2) {
		d.pos = start
		return false, d.fail(reason)
	}
	return indef, nil
}

func (d *decoder) endPair(indef bool, reason string) error {
	if indef && !d.atBreak() {
		return d.fail(reason)
	}
	return nil
}
