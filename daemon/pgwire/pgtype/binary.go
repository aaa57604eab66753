package pgtype

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// epoch is 2000-01-01, where dates and timestamps are counted from, in seconds of Unix time.
const epoch = 946684800

// AppendBinary writes v, which is not NULL, in the binary form of type oid. Types without a binary form of their own
// have that of texts.
func AppendBinary(dst []byte, oid OID, v value.Value, st *Style) []byte {
	be := binary.BigEndian
	k := v.Kind()
	switch {
	case oid == JSONB:
		return value.AppendJSON(append(dst, 1), v)
	case oid == Bool && k == value.KindBool:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case oid == Int2 && k == value.KindInt:
		return be.AppendUint16(dst, uint16(v.Int()))
	case (oid == Int4 || oid == Oid || oid == Xid || oid == Cid || IsReg(oid)) && k == value.KindInt:
		return be.AppendUint32(dst, uint32(v.Int()))
	case oid == Int8 && k == value.KindInt:
		return be.AppendUint64(dst, uint64(v.Int()))
	case oid == Float4:
		return be.AppendUint32(dst, math.Float32bits(float32(v.AsFloat())))
	case oid == Float8:
		return be.AppendUint64(dst, math.Float64bits(v.AsFloat()))
	case oid == Numeric:
		return appendNumeric(dst, v)
	case (oid == Timestamptz || oid == Timestamp) && k == value.KindDatetime:
		return be.AppendUint64(dst, uint64(microsOf(v.Datetime())))
	case oid == Date && k == value.KindDatetime:
		return be.AppendUint32(dst, uint32(int32(floorDiv(v.Datetime().Secs-epoch, daySeconds))))
	case oid == Time && k == value.KindDuration:
		return be.AppendUint64(dst, v.Duration().Secs*1e6+uint64(v.Duration().Nanos/1000))
	case oid == TimeTZ && k == value.KindClosure:
		c, _ := ClockOf(v)
		return be.AppendUint32(be.AppendUint64(dst, uint64(c.Micros)), uint32(-c.Offset))
	case oid == Interval && IsInterval(v):
		s, err := SpanOf(v)
		if err != nil { // a duration of more days has no other form than that of its seconds
			s = Span{Micros: int64(min(v.Duration().Secs, math.MaxInt64/MicrosPerSecond-1)) * MicrosPerSecond}
		}
		dst = be.AppendUint64(dst, uint64(s.Micros))
		return be.AppendUint32(be.AppendUint32(dst, uint32(s.Days)), uint32(s.Months))
	case oid == UUID && k == value.KindUUID:
		u := v.UUID()
		return append(dst, u[:]...)
	case oid == Bytea && k == value.KindBytes:
		return append(dst, v.Bytes()...)
	case oid == Record && k == value.KindArray:
		return appendBinaryRecord(dst, v.Elems(), st)
	case IsArray(oid) && (k == value.KindArray || k == value.KindSet):
		return appendBinaryArray(dst, ElemOf(oid), v.Elems(), st)
	}
	return AppendText(dst, oid, v, st)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// microsOf is d on the wire: microseconds since the epoch, infinite where there are more than fit.
func microsOf(d value.Datetime) int64 {
	secs := d.Secs - epoch
	switch {
	case secs > math.MaxInt64/1_000_000-1:
		return math.MaxInt64
	case secs < math.MinInt64/1_000_000+1:
		return math.MinInt64
	}
	return secs*1_000_000 + int64(d.Nanos/1000)
}

// Signs of a numeric.
const (
	numericNegative = 0x4000
	numericNaN      = 0xc000
	numericInf      = 0xd000
	numericNegInf   = 0xf000
)

// appendNumeric writes a number as groups of four decimal digits.
func appendNumeric(dst []byte, v value.Value) []byte {
	special := func(sign uint16) []byte {
		dst = append(dst, 0, 0, 0, 0)
		dst = binary.BigEndian.AppendUint16(dst, sign)
		return append(dst, 0, 0)
	}
	text := v.Text()
	switch v.Kind() {
	case value.KindDecimal:
		text = v.Decimal().String()
	case value.KindFloat:
		f := v.Float()
		switch {
		case math.IsNaN(f):
			return special(numericNaN)
		case math.IsInf(f, 1):
			return special(numericInf)
		case math.IsInf(f, -1):
			return special(numericNegInf)
		}
		text = plainFloat(f)
	}
	sign := uint16(0)
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text, sign = rest, numericNegative
	}
	whole, frac, _ := strings.Cut(text, ".")
	scale := len(frac)
	whole = strings.TrimLeft(whole, "0")
	if n := len(whole) % 4; n != 0 {
		whole = strings.Repeat("0", 4-n) + whole
	}
	if n := len(frac) % 4; n != 0 {
		frac += strings.Repeat("0", 4-n)
	}
	weight := len(whole)/4 - 1
	digits := whole + frac
	for strings.HasPrefix(digits, "0000") {
		digits = digits[4:]
		weight--
	}
	for strings.HasSuffix(digits, "0000") {
		digits = digits[:len(digits)-4]
	}
	if digits == "" {
		weight, sign = 0, 0
	}
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(len(digits)/4))
	dst = be.AppendUint16(dst, uint16(int16(weight)))
	dst = be.AppendUint16(dst, sign)
	dst = be.AppendUint16(dst, uint16(scale))
	for ; digits != ""; digits = digits[4:] {
		n := int(digits[0]-'0')*1000 + int(digits[1]-'0')*100 + int(digits[2]-'0')*10 + int(digits[3]-'0')
		dst = be.AppendUint16(dst, uint16(n))
	}
	return dst
}

func appendBinaryArray(dst []byte, elem OID, elems []value.Value, st *Style) []byte {
	be := binary.BigEndian
	dims, flat := flatten(elem, elems)
	hasNull := uint32(0)
	for _, e := range flat {
		if IsNull(elem, e) {
			hasNull = 1
		}
	}
	dst = be.AppendUint32(dst, uint32(len(dims)))
	dst = be.AppendUint32(dst, hasNull)
	dst = be.AppendUint32(dst, elem)
	for _, n := range dims {
		dst = be.AppendUint32(dst, uint32(n))
		dst = be.AppendUint32(dst, 1)
	}
	for _, e := range flat {
		dst = AppendSized(dst, elem, e, true, st)
	}
	return dst
}

// flatten gives the dimensions of an array, and its elements in order. An array whose parts differ in length has one
// dimension.
func flatten(elem OID, elems []value.Value) (dims []int, flat []value.Value) {
	if len(elems) == 0 {
		return nil, nil
	}
	dims, flat = []int{len(elems)}, elems
	for elem != JSON && elem != JSONB && elem != Record && len(dims) < 6 {
		n := -1
		var next []value.Value
		for _, e := range flat {
			if e.Kind() != value.KindArray || n >= 0 && e.Len() != n || e.Len() == 0 {
				return dims, flat
			}
			n = e.Len()
			next = append(next, e.Elems()...)
		}
		dims, flat = append(dims, n), next
	}
	return dims, flat
}

func appendBinaryRecord(dst []byte, fields []value.Value, st *Style) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(fields)))
	for _, f := range fields {
		oid := TypeOf(f)
		dst = binary.BigEndian.AppendUint32(dst, oid)
		dst = AppendSized(dst, oid, f, true, st)
	}
	return dst
}

// AppendSized writes v with its length before it, NULL as the length -1.
func AppendSized(dst []byte, oid OID, v value.Value, asBinary bool, st *Style) []byte {
	if IsNull(oid, v) {
		return append(dst, 0xff, 0xff, 0xff, 0xff)
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if asBinary {
		dst = AppendBinary(dst, oid, v, st)
	} else {
		dst = AppendText(dst, oid, v, st)
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
