package value

import (
	"encoding/binary"
	"math"
	"strconv"
)

// storedItems reads stored values one item after the other. It panics with *DecodeError where the bytes are none.
type storedItems struct {
	b []byte
	p int
}

// head reads an initial byte with its argument; lengths are definite.
func (w *storedItems) head() (major byte, n uint64) {
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

// take reads the next n bytes.
func (w *storedItems) take(n uint64) []byte {
	if n > uint64(len(w.b)-w.p) {
		panic(recordError(w.p, "cut text"))
	}
	b := w.b[w.p : w.p+int(n)]
	w.p += int(n)
	return b
}

func (w *storedItems) text(n uint64) string { return aliasText(w.take(n)) }

// simple reads a bool, a null or a float.
func (w *storedItems) simple() (v Value) {
	switch ib := w.b[w.p]; {
	case ib == cborTrue, ib == cborFalse:
		v = Bool(ib == cborTrue)
	case ib == cborNull:
		v = Null
	case ib == cborFloat64 && len(w.b)-w.p >= 9:
		v = Float(math.Float64frombits(binary.BigEndian.Uint64(w.b[w.p+1:])))
		w.p += 8
	default:
		panic(recordError(w.p, "unknown simple value"))
	}
	w.p++
	return v
}

// decode reads the item that starts at start as a value.
func (w *storedItems) decode(start int) Value {
	d := decoder{b: w.b, pos: start, depth: storedDepth, alias: true, stored: true, special: true}
	v, err := d.value()
	if err != nil {
		panic(err)
	}
	w.p = d.pos
	return v
}

// table reads the table of a record id behind its tag.
func (w *storedItems) table() string {
	w.head() // the pair
	_, n := w.head()
	return w.text(n)
}

// appendKey appends the key of a record id behind its table, where it is text or an int.
func (w *storedItems) appendKey(dst []byte) (out []byte, ok bool) {
	switch major, n := w.head(); major {
	case majorText:
		return AppendRecordIdent(dst, w.text(n)), true
	case majorUint:
		return strconv.AppendInt(dst, int64(n), 10), true
	case majorNeg:
		return strconv.AppendInt(dst, ^int64(n), 10), true
	}
	return dst, false
}
