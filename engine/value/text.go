package value

import (
	"encoding/hex"
	"math"
	"strconv"
	"unicode/utf8"
)

// Text is v as a literal of the language: strings quoted, 1f, 1.5dec, d'…', { a: 1 }. What it gives
// reads back as v (closures and bare tables excepted).
func (v Value) Text() string { return string(v.AppendText(nil)) }

// String implements fmt.Stringer: Text.
func (v Value) String() string { return v.Text() }

// ToString returns the result of <string>v and of string concatenation: strings, datetimes and uuids bare,
// decimals without suffix, everything else as Text. (Bytes do not cast to a string this way: Cast
// decodes them.)
func ToString(v Value) string {
	switch v.Kind() {
	case KindString:
		return v.Str()
	case KindDecimal:
		return v.Decimal().String()
	case KindDatetime:
		return v.Datetime().String()
	case KindUUID:
		return v.UUID().String()
	}
	return v.Text()
}

// operandText is v in the text of an arithmetic error: bare strings, datetimes and uuids.
func operandText(v Value) string {
	if v.Kind() == KindDecimal {
		return v.Text()
	}
	return ToString(v.Beginning(briefLen))
}

// AppendText appends v's Text to dst.
func (v Value) AppendText(dst []byte) []byte {
	switch v.Kind() {
	case KindNone:
		return append(dst, "NONE"...)
	case KindNull:
		return append(dst, "NULL"...)
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case KindFloat:
		return appendFloat(dst, v.Float())
	case KindDecimal:
		return append(v.Decimal().Append(dst), "dec"...)
	case KindString:
		return AppendQuoted(dst, v.Str())
	case KindDuration:
		return v.Duration().append(dst)
	case KindDatetime:
		return append(v.Datetime().append(append(dst, "d'"...)), '\'')
	case KindUUID:
		return append(v.UUID().append(append(dst, "u'"...)), '\'')
	case KindArray:
		return append(appendElems(append(dst, '['), v.Elems()), ']')
	case KindSet:
		dst = appendElems(append(dst, '{'), v.Elems())
		if v.Len() < 2 {
			dst = append(dst, ',')
		}
		return append(dst, '}')
	case KindObject:
		return v.Object().AppendWith(dst, appendText)
	case KindGeometry:
		return v.Geometry().appendText(dst)
	case KindBytes:
		return appendBytes(dst, v.Bytes())
	case KindTable:
		return AppendIdent(dst, v.Table())
	case KindRecord:
		return v.Record().append(dst)
	case KindFile:
		return appendFile(dst, v.File())
	case KindRegex:
		return appendRegex(dst, v.Regex().Source)
	case KindRange:
		return v.Range().append(dst)
	default:
		return append(dst, v.Closure().Text()...)
	}
}

func appendText(dst []byte, v Value) []byte { return v.AppendText(dst) }

func appendElems(dst []byte, elems []Value) []byte {
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = e.AppendText(dst)
	}
	return dst
}

// An empty object has two blanks, as the reference prints it.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	return append(strconv.AppendFloat(dst, f, 'f', -1, 64), 'f')
}

func appendBytes(dst, b []byte) []byte {
	dst = append(dst, `b"`...)
	n := len(dst)
	dst = hex.AppendEncode(dst, b)
	for i := n; i < len(dst); i++ {
		if dst[i] >= 'a' {
			dst[i] -= 'a' - 'A'
		}
	}
	return append(dst, '"')
}

func appendFile(dst []byte, f *File) []byte {
	dst = append(dst, `f"`...)
	dst = appendFilePart(dst, f.Bucket, false)
	dst = append(dst, ':')
	dst = appendFilePart(dst, f.Key, true)
	return append(dst, '"')
}

// appendFilePart puts a backslash before every character that a file literal may not hold bare.
func appendFilePart(dst []byte, s string, slash bool) []byte {
	for i := range s { // the first bytes of characters
		if c := s[i]; !isWordByte(c) && c != '-' && c != '.' && (c != '/' || !slash) {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
		for i++; i < len(s) && !utf8.RuneStart(s[i]); i++ {
			dst = append(dst, s[i])
		}
	}
	return dst
}

// appendRegex writes /source/ with its slashes escaped.
func appendRegex(dst []byte, source string) []byte {
	dst = append(dst, '/')
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source):
			dst = append(dst, c, source[i+1])
			i++
		case c == '/':
			dst = append(dst, `\/`...)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '/')
}

// String is r as a literal: person:1, t:`a b`, t:[1, 2].
func (r *RecordID) String() string { return string(r.append(nil)) }

func (r *RecordID) append(dst []byte) []byte {
	dst = append(AppendRecordIdent(dst, r.Table), ':')
	if r.Key.Kind() == KindRange {
		g := r.Key.Range()
		if g.Start.Kind != Unbounded {
			dst = appendKeyPart(dst, g.Start.Value)
		}
		dst = appendDots(dst, g)
		if g.End.Kind != Unbounded {
			dst = appendKeyPart(dst, g.End.Value)
		}
		return dst
	}
	return appendKeyPart(dst, r.Key)
}

func appendKeyPart(dst []byte, key Value) []byte {
	if key.Kind() == KindString {
		return AppendRecordIdent(dst, key.Str())
	}
	return key.AppendText(dst)
}

func (r *Range) append(dst []byte) []byte {
	if r.Start.Kind != Unbounded {
		dst = r.Start.Value.AppendText(dst)
	}
	dst = appendDots(dst, r)
	if r.End.Kind != Unbounded {
		dst = r.End.Value.AppendText(dst)
	}
	return dst
}

func appendDots(dst []byte, r *Range) []byte {
	if r.Start.Kind == Excluded {
		dst = append(dst, '>')
	}
	dst = append(dst, ".."...)
	if r.End.Kind == Included {
		dst = append(dst, '=')
	}
	return dst
}

// String is u in its 8-4-4-4-12 form, lower case.
func (u UUID) String() string { return string(u.append(nil)) }

func (u UUID) append(dst []byte) []byte {
	for i, n := range [5]int{4, 6, 8, 10, 16} {
		from := [5]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, u[from:n])
	}
	return dst
}
