package vector

import (
	"encoding/binary"
	"math"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Encode appends the stored form of a vector: the elements of an array, those of arrays in it in their places.
func (s *Spec) Encode(dst []byte, v value.Value) ([]byte, error) {
	start := len(dst)
	dst, err := s.appendElements(dst, v, 0)
	if err != nil {
		return nil, err
	}
	if n := (len(dst) - start) / s.size(); n != s.Dimension {
		return nil, errs.Internal("Incorrect vector dimension (%d). Expected a vector of %d dimension.", n, s.Dimension)
	}
	return dst, nil
}

// Numbers refuses a value that is no array of numbers.
func Numbers(v value.Value) error {
	if v.Kind() != value.KindArray {
		return errs.Internal("Expected `array<number>` but found `%s`", v.Brief())
	}
	for _, e := range v.Elems() {
		if !e.Kind().IsNumber() {
			return errs.Internal("Expected `number` but found `%s` when coercing an element of `array<number>`", e.Brief())
		}
	}
	return nil
}

// maxNesting is how deep arrays in a vector may nest.
const maxNesting = 16

func (s *Spec) appendElements(dst []byte, v value.Value, depth int) ([]byte, error) {
	switch {
	case v.Kind().IsNumber():
		return s.appendElement(dst, v)
	case v.Kind() == value.KindArray && depth < maxNesting:
		var err error
		for _, e := range v.Elems() {
			if dst, err = s.appendElements(dst, e, depth+1); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	return nil, errs.Internal("The value cannot be converted to a vector: %s", value.ToString(v))
}

// floats reports whether the elements are made of floats as they are, or rounded.
func (s *Spec) floats() bool { return s.Type == "F64" || s.Type == "F32" }

// appendFloats appends the elements of a vector of F64 or F32.
func (s *Spec) appendFloats(dst []byte, v []float64) []byte {
	le := binary.LittleEndian
	if s.Type == "F64" {
		for _, f := range v {
			dst = le.AppendUint64(dst, math.Float64bits(f))
		}
		return dst
	}
	for _, f := range v {
		dst = le.AppendUint32(dst, math.Float32bits(float32(f)))
	}
	return dst
}

func (s *Spec) appendElement(dst []byte, v value.Value) ([]byte, error) {
	le := binary.LittleEndian
	switch s.Type {
	case "F64":
		return le.AppendUint64(dst, math.Float64bits(v.AsFloat())), nil
	case "F32":
		return le.AppendUint32(dst, math.Float32bits(float32(v.AsFloat()))), nil
	case "F16":
		return le.AppendUint16(dst, halfBits(float32(v.AsFloat()))), nil
	}
	low, high := s.bounds()
	n, ok := integer(v)
	if !ok || n < low || n > high {
		return nil, errs.Internal("Cannot convert from '%s' to '%s'", value.ToString(v), lowerType[s.Type])
	}
	switch s.size() {
	case 8:
		return le.AppendUint64(dst, uint64(n)), nil
	case 4:
		return le.AppendUint32(dst, uint32(n)), nil
	case 2:
		return le.AppendUint16(dst, uint16(n)), nil
	}
	return append(dst, byte(n)), nil
}

// lowerType are the names of integer types in error texts.
var lowerType = map[string]string{"I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U8": "u8"}

// bounds are the least and the greatest element of an integer type.
func (s *Spec) bounds() (low, high int64) {
	switch s.Type {
	case "I32":
		return math.MinInt32, math.MaxInt32
	case "I16":
		return math.MinInt16, math.MaxInt16
	case "I8":
		return math.MinInt8, math.MaxInt8
	case "U8":
		return 0, math.MaxUint8
	}
	return math.MinInt64, math.MaxInt64
}

// integer is a number without its fraction; false for one that fits no int.
func integer(v value.Value) (int64, bool) {
	if v.Kind() == value.KindInt {
		return v.Int(), true
	}
	f := math.Trunc(v.AsFloat())
	if !(f >= -1<<63 && f < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

// halfBits rounds to the nearest binary16, ties to even.
func halfBits(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	exp, frac := int(b>>23&255)-127, b&0x7fffff
	switch {
	case exp == 128:
		if frac != 0 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case exp > 15:
		return sign | 0x7c00
	case exp < -25:
		return sign
	}
	// The fraction with its leading one, to be cut to the bits that a half has at this exponent.
	frac |= 0x800000
	cut := uint(13)
	var h uint32
	if exp < -14 {
		cut += uint(-14 - exp)
	} else {
		h = uint32(exp+14) << 10 // the leading one adds one to it
	}
	kept, rest, tie := frac>>cut, frac&(1<<cut-1), uint32(1)<<(cut-1)
	h += kept
	if rest > tie || rest == tie && kept&1 == 1 {
		h++
	}
	return sign | uint16(h)
}

// halfFloat widens a binary16.
func halfFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&31), uint32(h&0x3ff)
	switch exp {
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case 0:
		f := float32(frac) / (1 << 24)
		if sign != 0 {
			return -f
		}
		return f
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
