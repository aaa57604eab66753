package value

import (
	"encoding/binary"
	"math"
	"strconv"
)

// appendJSON appends the object as JSON, from its bytes where it is unchanged.
func (e *encoded) appendJSON(dst []byte) []byte {
	if len(e.edits) == 0 {
		w := storedJSON{b: e.rec, p: int(e.head)}
		return w.item(dst)
	}
	dst = append(dst, '{')
	start := len(dst)
	name := func(s string) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(jsonString(dst, s), ':')
	}
	e.merged(func(old entry) bool {
		name(old.name)
		w := storedJSON{b: old.value}
		dst = w.item(dst)
		return true
	}, func(d edit) bool {
		name(d.name)
		dst = AppendJSON(dst, d.value)
		return true
	})
	return append(dst, '}')
}

// storedJSON turns stored values into JSON without making values of them.
type storedJSON struct {
	b []byte
	p int
}

// head reads an initial byte with its argument; lengths are definite.
func (w *storedJSON) head() (major byte, n uint64) {
	if w.p < len(w.b) {
		if ib := w.b[w.p]; ib&0x1f < 24 {
			w.p++
			return ib & 0xe0, uint64(ib & 0x1f)
		}
	}
	d := decoder{b: w.b, pos: w.p}
	major, n, indef, err := d.head()
	if err == nil && indef {
		err = d.fail("indefinite length in storage")
	}
	if err != nil {
		panic(err)
	}
	w.p = d.pos
	return major, n
}

// item appends the value at p and moves past it.
func (w *storedJSON) item(dst []byte) []byte {
	start := w.p
	if start < len(w.b) && w.b[start] >= majorOther {
		return w.simple(dst)
	}
	major, n := w.head()
	switch major {
	case majorUint:
		return strconv.AppendInt(dst, int64(n), 10)
	case majorNeg:
		return strconv.AppendInt(dst, ^int64(n), 10)
	case majorText:
		return jsonString(dst, w.text(n))
	case majorBytes:
		return jsonBytes(dst, w.take(n))
	case majorArray:
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = w.item(dst)
		}
		return append(dst, ']')
	case majorMap:
		dst = append(dst, '{')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(w.item(dst), ':')
			dst = w.item(dst)
		}
		return append(dst, '}')
	default:
		return w.tagged(dst, start, n)
	}
}

func (w *storedJSON) take(n uint64) []byte {
	if n > uint64(len(w.b)-w.p) {
		panic(recordError(w.p, "cut text"))
	}
	b := w.b[w.p : w.p+int(n)]
	w.p += int(n)
	return b
}

func (w *storedJSON) text(n uint64) string { return aliasText(w.take(n)) }

func (w *storedJSON) simple(dst []byte) []byte {
	ib := w.b[w.p]
	switch {
	case ib == cborTrue:
		dst = append(dst, "true"...)
	case ib == cborFalse:
		dst = append(dst, "false"...)
	case ib == cborNull:
		dst = append(dst, "null"...)
	case ib == cborFloat64 && len(w.b)-w.p >= 9:
		dst = jsonFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(w.b[w.p+1:])))
		w.p += 8
	default:
		panic(recordError(w.p, "unknown simple value"))
	}
	w.p++
	return dst
}

// tagged appends a tagged value: record ids with plain keys and sets from the bytes, others by way
// of their value.
func (w *storedJSON) tagged(dst []byte, start int, tag uint64) []byte {
	switch tag {
	case tagNone:
		w.p++
		return append(dst, "null"...)
	case tagSet:
		return w.item(dst)
	case tagRecord:
		if out, ok := w.record(dst); ok {
			return out
		}
	}
	d := decoder{b: w.b, pos: start, depth: storedDepth, alias: true, stored: true, special: true}
	v, err := d.value()
	if err != nil {
		panic(err)
	}
	w.p = d.pos
	return AppendJSON(dst, v)
}

// record appends a record id whose key is text or an int.
func (w *storedJSON) record(dst []byte) ([]byte, bool) {
	w.head() // the pair
	_, n := w.head()
	table := w.text(n)
	major, n := w.head()
	if major > majorNeg && major != majorText {
		return dst, false
	}
	start := len(dst) + 1
	dst = append(AppendRecordIdent(append(dst, '"'), table), ':')
	switch major {
	case majorText:
		dst = AppendRecordIdent(dst, w.text(n))
	case majorUint:
		dst = strconv.AppendInt(dst, int64(n), 10)
	default:
		dst = strconv.AppendInt(dst, ^int64(n), 10)
	}
	return jsonQuoteTail(dst, start), true
}
