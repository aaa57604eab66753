package pgtype

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// Style is how a session wants its texts. The zero Style is that of a session that has set nothing.
type Style struct {
	Zone   *time.Location                 // of timestamps with a time zone; nil: UTC
	Escape bool                           // bytea in the old form
	Reg    func(oid OID, id int64) string // the name of an object; nil: its id
	Began  time.Time                      // when the transaction began, in microseconds; zero: there is none
	Asked  time.Time                      // when the client sent the statement, in microseconds
}

// IsNull reports whether v is NULL as a value of the type oid.
func IsNull(oid OID, v value.Value) bool {
	return v.IsNone() || v.IsNull() && oid != JSON && oid != JSONB
}

// AppendText writes v, which is not NULL, as a text of type oid. A value that is of another kind than the type says is
// written in its own form.
func AppendText(dst []byte, oid OID, v value.Value, st *Style) []byte {
	switch oid {
	case JSON, JSONB:
		return value.AppendJSON(dst, v)
	case Date:
		if v.Kind() == value.KindDatetime {
			return appendDate(dst, v.Datetime())
		}
	case Timestamp:
		if v.Kind() == value.KindDatetime {
			return appendTimestamp(dst, v.Datetime(), nil, st)
		}
	case Time:
		if v.Kind() == value.KindDuration {
			return appendClock(dst, v.Duration())
		}
	case Float4:
		return appendFloat(dst, v.AsFloat(), 32)
	case Float8:
		return appendFloat(dst, v.AsFloat(), 64)
	case Numeric:
		if v.Kind() == value.KindFloat {
			return appendFloat(dst, v.Float(), 64)
		}
	case Record:
		if v.Kind() == value.KindArray {
			return appendRecord(dst, v.Elems(), st)
		}
	}
	if IsReg(oid) && v.Kind() == value.KindInt {
		if st.Reg != nil {
			return append(dst, st.Reg(oid, v.Int())...)
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	}
	return appendKind(dst, oid, v, st)
}

// appendKind writes v by its kind.
func appendKind(dst []byte, oid OID, v value.Value, st *Style) []byte {
	switch v.Kind() {
	case value.KindBool:
		if v.Bool() {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case value.KindInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case value.KindFloat:
		return appendFloat(dst, v.Float(), 64)
	case value.KindDecimal:
		return append(dst, v.Decimal().String()...)
	case value.KindString:
		return append(dst, v.Str()...)
	case value.KindDatetime:
		return appendTimestamp(dst, v.Datetime(), st, st)
	case value.KindDuration:
		return appendInterval(dst, v.Duration())
	case value.KindClosure:
		if s, ok := asSpan(v); ok {
			return s.append(dst)
		}
		if c, ok := ClockOf(v); ok {
			return c.append(dst)
		}
	case value.KindUUID:
		return append(dst, v.UUID().String()...)
	case value.KindBytes:
		return appendBytea(dst, v.Bytes(), st.Escape)
	case value.KindArray, value.KindSet:
		switch {
		case IsVector(oid):
			return appendVector(dst, v.Elems())
		case IsArray(oid):
			return appendArray(dst, ElemOf(oid), v.Elems(), st)
		}
		return value.AppendJSON(dst, v)
	case value.KindObject, value.KindGeometry:
		return value.AppendJSON(dst, v)
	}
	return append(dst, v.Text()...)
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if a := math.Abs(f); a >= 1e15 || a < 1e-4 && a > 0 {
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, bits)
}

func appendDate(dst []byte, d value.Datetime) []byte {
	c := d.Civil()
	dst, bc := appendYear(dst, c.Year)
	dst = append(dst, '-')
	dst = appendPair(dst, c.Month)
	dst = append(dst, '-')
	dst = appendPair(dst, c.Day)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendYear writes a year; there is no year 0, and years before 1 are BC.
func appendYear(dst []byte, year int) (_ []byte, bc bool) {
	if year <= 0 {
		year, bc = 1-year, true
	}
	for n := 1000; n > 1 && year < n; n /= 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, int64(year), 10), bc
}

func appendPair(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10%10), byte('0'+n%10))
}

// appendTimestamp writes d in the zone of zoned, without one where zoned is nil.
func appendTimestamp(dst []byte, d value.Datetime, zoned, st *Style) []byte {
	offset := 0
	if zoned != nil && zoned.Zone != nil {
		_, offset = time.Unix(d.Secs, 0).In(zoned.Zone).Zone()
		d.Secs += int64(offset)
	}
	c := d.Civil()
	dst, bc := appendYear(dst, c.Year)
	dst = append(dst, '-')
	dst = appendPair(dst, c.Month)
	dst = append(dst, '-')
	dst = appendPair(dst, c.Day)
	dst = append(dst, ' ')
	dst = appendPair(dst, c.Hour)
	dst = append(dst, ':')
	dst = appendPair(dst, c.Minute)
	dst = append(dst, ':')
	dst = appendPair(dst, c.Second)
	dst = appendFraction(dst, int64(c.Nanos)/1000)
	if zoned != nil {
		dst = appendOffset(dst, offset)
	}
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendFraction writes microseconds after a point, without zeros at the end.
func appendFraction(dst []byte, micros int64) []byte {
	if micros == 0 {
		return dst
	}
	digits := strconv.FormatInt(1_000_000+micros, 10)[1:]
	return append(append(dst, '.'), strings.TrimRight(digits, "0")...)
}

func appendOffset(dst []byte, seconds int) []byte {
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	dst = appendPair(append(dst, sign), seconds/3600)
	if seconds%3600 != 0 {
		dst = appendPair(append(dst, ':'), seconds/60%60)
	}
	if seconds%60 != 0 {
		dst = appendPair(append(dst, ':'), seconds%60)
	}
	return dst
}

const daySeconds = 24 * 60 * 60

// appendInterval writes a duration in the style "postgres": 3 days 04:05:06.789.
func appendInterval(dst []byte, d value.Duration) []byte {
	days, rest := d.Secs/daySeconds, d.Secs%daySeconds
	if days > 0 {
		dst = strconv.AppendUint(dst, days, 10)
		dst = append(dst, " day"...)
		if days > 1 {
			dst = append(dst, 's')
		}
		if rest == 0 && d.Nanos < 1000 {
			return dst
		}
		dst = append(dst, ' ')
	}
	return appendClock(dst, value.Duration{Secs: rest, Nanos: d.Nanos})
}

// appendClock writes hours, minutes and seconds.
func appendClock(dst []byte, d value.Duration) []byte {
	if h := d.Secs / 3600; h < 100 {
		dst = appendPair(dst, int(h))
	} else {
		dst = strconv.AppendUint(dst, h, 10)
	}
	dst = appendPair(append(dst, ':'), int(d.Secs/60%60))
	dst = appendPair(append(dst, ':'), int(d.Secs%60))
	return appendFraction(dst, int64(d.Nanos)/1000)
}

func appendBytea(dst, b []byte, escape bool) []byte {
	if !escape {
		return hex.AppendEncode(append(dst, '\\', 'x'), b)
	}
	for _, c := range b {
		switch {
		case c == '\\':
			dst = append(dst, '\\', '\\')
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendVector(dst []byte, elems []value.Value) []byte {
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, e.Text()...)
	}
	return dst
}

func appendArray(dst []byte, elem OID, elems []value.Value, st *Style) []byte {
	dst = append(dst, '{')
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case IsNull(elem, e):
			dst = append(dst, "NULL"...)
		case (e.Kind() == value.KindArray || e.Kind() == value.KindSet) && elem != JSON && elem != JSONB &&
			elem != Record:
			dst = appendArray(dst, elem, e.Elems(), st)
		default:
			dst = appendQuoted(dst, AppendText(nil, elem, e, st), `{},`, strings.EqualFold)
		}
	}
	return append(dst, '}')
}

// appendQuoted writes an element of an array, or of a row where null is nil, in quotes where it needs them.
func appendQuoted(dst, text []byte, special string, null func(a, b string) bool) []byte {
	s := string(text)
	if s != "" && !strings.ContainsAny(s, special+"\"\\ \t\n\r\v\f") && (null == nil || !null(s, "null")) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			if null == nil {
				dst = append(dst, s[i])
			} else {
				dst = append(dst, '\\')
			}
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

func appendRecord(dst []byte, fields []value.Value, st *Style) []byte {
	dst = append(dst, '(')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		if f.IsNullish() {
			continue
		}
		dst = appendQuoted(dst, AppendText(nil, TypeOf(f), f, st), `(),`, nil)
	}
	return append(dst, ')')
}

// TypeOf is the type that a value has by itself.
func TypeOf(v value.Value) OID {
	switch v.Kind() {
	case value.KindBool:
		return Bool
	case value.KindInt:
		return Int8
	case value.KindFloat:
		return Float8
	case value.KindDecimal:
		return Numeric
	case value.KindDatetime:
		return Timestamptz
	case value.KindDuration:
		return Interval
	case value.KindClosure:
		if _, ok := asSpan(v); ok {
			return Interval
		}
		if _, ok := ClockOf(v); ok {
			return TimeTZ
		}
	case value.KindUUID:
		return UUID
	case value.KindBytes:
		return Bytea
	case value.KindArray, value.KindSet, value.KindObject, value.KindGeometry:
		return JSONB
	}
	return Text
}
