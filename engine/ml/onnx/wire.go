package onnx

import (
	"encoding/binary"
	"errors"
	"math"
)

// Wire types of protobuf.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

var (
	errCut   = errors.New("the protobuf ends in the middle of a field")
	errType  = errors.New("a protobuf field has an unexpected wire type")
	errField = errors.New("a protobuf field has an invalid number")
)

// reader walks over the fields of one message. It shares the bytes that it is given.
type reader struct {
	b     []byte
	field int
	kind  int
	// The value of the current field.
	num  uint64 // of a varint, a fixed 32 or a fixed 64
	data []byte // of a length-delimited field
	err  error
}

// next moves to the next field. It reports false at the end and after an error, which is in r.err.
func (r *reader) next() bool {
	if r.err != nil || len(r.b) == 0 {
		return false
	}
	tag, ok := r.varint()
	if !ok {
		return false
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		r.err = errField
		return false
	}
	r.field, r.kind = int(tag>>3), int(tag&7)
	r.num, r.data = 0, nil
	switch r.kind {
	case wireVarint:
		r.num, ok = r.varint()
	case wire64:
		if ok = len(r.b) >= 8; ok {
			r.num, r.b = binary.LittleEndian.Uint64(r.b), r.b[8:]
		}
	case wire32:
		if ok = len(r.b) >= 4; ok {
			r.num, r.b = uint64(binary.LittleEndian.Uint32(r.b)), r.b[4:]
		}
	case wireBytes:
		var n uint64
		if n, ok = r.varint(); ok {
			if ok = n <= uint64(len(r.b)); ok {
				r.data, r.b = r.b[:n:n], r.b[n:]
			}
		}
	default:
		r.err = errType
		return false
	}
	if !ok && r.err == nil {
		r.err = errCut
	}
	return r.err == nil
}

func (r *reader) varint() (uint64, bool) {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err = errCut
		return 0, false
	}
	r.b = r.b[n:]
	return v, true
}

// want refuses the current field unless it has the wire type kind.
func (r *reader) want(kind int) bool {
	if r.kind != kind {
		r.err = errType
	}
	return r.err == nil
}

// bytes is the current field's bytes.
func (r *reader) bytes() []byte {
	r.want(wireBytes)
	return r.data
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) int() int64 {
	r.want(wireVarint)
	return int64(r.num)
}

// ints appends the current field, one number or packed ones, to to.
func (r *reader) ints(to []int64) []int64 {
	if r.kind != wireBytes {
		return append(to, r.int())
	}
	in := reader{b: r.data}
	for len(in.b) > 0 {
		v, ok := in.varint()
		if !ok {
			r.err = in.err
			return to
		}
		to = append(to, int64(v))
	}
	return to
}

func (r *reader) float() float32 {
	r.want(wire32)
	return math.Float32frombits(uint32(r.num))
}

func (r *reader) floats(to []float32) []float32 {
	if r.kind != wireBytes {
		return append(to, r.float())
	}
	if len(r.data)%4 != 0 {
		r.err = errCut
		return to
	}
	for i := 0; i < len(r.data); i += 4 {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(r.data[i:])))
	}
	return to
}

func (r *reader) doubles(to []float64) []float64 {
	if r.kind != wireBytes {
		r.want(wire64)
		return append(to, math.Float64frombits(r.num))
	}
	if len(r.data)%8 != 0 {
		r.err = errCut
		return to
	}
	for i := 0; i < len(r.data); i += 8 {
		to = append(to, math.Float64frombits(binary.LittleEndian.Uint64(r.data[i:])))
	}
	return to
}
