package value

import (
	"encoding/binary"
	"math"
)

// Floats appends the numbers of an array of ints and floats. ok is false for anything else; what was appended is of no
// use then.
func Floats(dst []float64, v Value) (out []float64, ok bool) {
	if v.Kind() != KindArray {
		return dst, false
	}
	for _, e := range v.Elems() {
		switch e.Kind() {
		case KindFloat:
			dst = append(dst, e.Float())
		case KindInt:
			dst = append(dst, float64(e.Int()))
		default:
			return dst, false
		}
	}
	return dst, true
}

// FloatsAt is Floats of a field. It builds no values where the object is encoded.
func (o *Object) FloatsAt(dst []float64, name string) (out []float64, ok bool) {
	if o.enc == nil || len(o.enc.edits) > 0 || o.enc.cached() != nil {
		v, _ := o.Get(name)
		return Floats(dst, v)
	}
	start, end, ok := o.enc.find(name)
	if !ok {
		return dst, false
	}
	return storedFloats(dst, o.enc.rec[start:end])
}

// RecordFloats is FloatsAt for a field of a stored record, without an object in between. It fails if b has no sound
// head.
func RecordFloats(dst []float64, b []byte, name string) (out []float64, ok bool, err error) {
	head, n, width, err := splitRecord(b)
	if err != nil {
		return dst, false, err
	}
	e := encoded{rec: b, head: head, base: n, width: width}
	start, end, ok := e.find(name)
	if !ok {
		return dst, false, nil
	}
	out, ok = storedFloats(dst, b[start:end])
	return out, ok, nil
}

// storedFloats reads an encoded array.
func storedFloats(dst []float64, b []byte) (out []float64, ok bool) {
	d := decoder{b: b}
	major, n, indef, err := d.head()
	if err != nil || major != majorArray || indef {
		return dst, false
	}
	p := d.pos
	for range n {
		if p >= len(b) {
			return dst, false
		}
		ib := b[p]
		if ib == cborFloat64 && p+9 <= len(b) {
			dst = append(dst, math.Float64frombits(binary.BigEndian.Uint64(b[p+1:])))
			p += 9
			continue
		}
		if size, i := briefInt(b[p:]); size > 0 {
			dst = append(dst, float64(i))
			p += size
			continue
		}
		d.pos = p
		v, err := d.value()
		if err != nil {
			return dst, false
		}
		switch v.Kind() {
		case KindFloat:
			dst = append(dst, v.Float())
		case KindInt:
			dst = append(dst, float64(v.Int()))
		default:
			return dst, false
		}
		p = d.pos
	}
	return dst, true
}

// briefInt reads the int that b begins with, if it has three bytes at most. size is 0 for anything else.
func briefInt(b []byte) (size, n int) {
	ib := b[0]
	if ib >= majorBytes {
		return 0, 0
	}
	switch info := ib & 0x1f; {
	case info < 24:
		size, n = 1, int(info)
	case info == 24 && len(b) > 1:
		size, n = 2, int(b[1])
	case info == 25 && len(b) > 2:
		size, n = 3, int(binary.BigEndian.Uint16(b[1:]))
	}
	if ib >= majorNeg {
		n = ^n
	}
	return size, n
}
