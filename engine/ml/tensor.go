package ml

import (
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// Tensor is a dense array of one element type, in row-major order. One of its lists holds the elements: F32 those of
// float32, F64 those of float64, U8 those of bool, int8 and uint8 as bytes, Str texts, I64 all other integers.
//
// A tensor that a kernel got is shared and must not be changed, except by the rule of run.reuse.
type Tensor struct {
	Type onnx.ElemType
	Dims []int
	F32  []float32
	F64  []float64
	I64  []int64
	U8   []uint8
	Str  []string

	store *storage // where the elements come from; nil for a constant
}

// storage counts who uses the elements of a tensor, so that a run can use them again.
type storage struct{ users int }

// kindOf says which list holds the elements of type t.
type listKind uint8

const (
	listNone listKind = iota
	listF32
	listF64
	listI64
	listU8
	listStr
)

func listOf(t onnx.ElemType) listKind {
	switch t {
	case onnx.Float:
		return listF32
	case onnx.Double:
		return listF64
	case onnx.Int64, onnx.Int32, onnx.Uint16, onnx.Int16, onnx.Uint32, onnx.Uint64:
		return listI64
	case onnx.Bool, onnx.Int8, onnx.Uint8:
		return listU8
	case onnx.String:
		return listStr
	}
	return listNone
}

// elemBytes is how many bytes an element takes in memory.
func elemBytes(t onnx.ElemType) int {
	switch listOf(t) {
	case listF32:
		return 4
	case listU8:
		return 1
	case listStr:
		return 16
	}
	return 8
}

// maxElems bounds the elements of one tensor, independent of memory: products of dimensions stay far from overflow.
const maxElems = 1 << 40

// size is the product of dims, or an error if one is negative or the product is too large.
func size(dims []int) (int, error) {
	n, zero := 1, false
	for _, d := range dims {
		switch {
		case d < 0:
			return 0, fmt.Errorf("a tensor has the negative dimension %d", d)
		case d == 0:
			zero = true
		case n > maxElems/d:
			return 0, fmt.Errorf("a tensor of %s has too many elements", shapeText(dims))
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// product is the product of dims that size has checked.
func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func shapeText(dims []int) string {
	s := "["
	for i, d := range dims {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(d)
	}
	return s + "]"
}

// Len is how many elements t has.
func (t *Tensor) Len() int {
	switch listOf(t.Type) {
	case listF32:
		return len(t.F32)
	case listF64:
		return len(t.F64)
	case listI64:
		return len(t.I64)
	case listU8:
		return len(t.U8)
	}
	return len(t.Str)
}

// bytes is about how much memory the elements of t take.
func (t *Tensor) bytes() int {
	n := t.Len() * elemBytes(t.Type)
	for _, s := range t.Str {
		n += len(s)
	}
	return n
}

// int is element i of an integer or bool tensor.
func (t *Tensor) int(i int) int64 {
	if t.I64 != nil {
		return t.I64[i]
	}
	if t.Type == onnx.Int8 {
		return int64(int8(t.U8[i]))
	}
	return int64(t.U8[i])
}

// setInt stores v as element i of an integer or bool tensor; it wraps.
func (t *Tensor) setInt(i int, v int64) {
	if t.I64 == nil {
		t.U8[i] = uint8(v)
		return
	}
	t.I64[i] = wrap(t.Type, v)
}

// wrap is v as an integer of type t, with the bits that do not fit cut off.
func wrap(t onnx.ElemType, v int64) int64 {
	switch t {
	case onnx.Int32:
		return int64(int32(v))
	case onnx.Uint32:
		return int64(uint32(v))
	case onnx.Int16:
		return int64(int16(v))
	case onnx.Uint16:
		return int64(uint16(v))
	case onnx.Int8:
		return int64(int8(v))
	case onnx.Uint8:
		return int64(uint8(v))
	}
	return v
}

// float is element i of a numeric tensor.
func (t *Tensor) float(i int) float64 {
	switch {
	case t.F32 != nil:
		return float64(t.F32[i])
	case t.F64 != nil:
		return t.F64[i]
	case t.Type == onnx.Uint64:
		return float64(uint64(t.I64[i]))
	}
	return float64(t.int(i))
}

// setFloat stores v as element i of a numeric tensor; for integers it is cut toward zero and saturates.
func (t *Tensor) setFloat(i int, v float64) {
	switch {
	case t.F32 != nil:
		t.F32[i] = float32(v)
	case t.F64 != nil:
		t.F64[i] = v
	case t.Type == onnx.Bool:
		t.U8[i] = truth(v != 0)
	default:
		t.setInt(i, saturate(t.Type, v))
	}
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// intRange is the least and the greatest value of integer type t. Those of uint64 are the bits of an int64.
func intRange(t onnx.ElemType) (float64, float64) {
	switch t {
	case onnx.Int8:
		return math.MinInt8, math.MaxInt8
	case onnx.Uint8:
		return 0, math.MaxUint8
	case onnx.Int16:
		return math.MinInt16, math.MaxInt16
	case onnx.Uint16:
		return 0, math.MaxUint16
	case onnx.Int32:
		return math.MinInt32, math.MaxInt32
	case onnx.Uint32:
		return 0, math.MaxUint32
	case onnx.Uint64:
		return 0, math.MaxUint64
	}
	return math.MinInt64, math.MaxInt64
}

// saturate is v toward zero as an integer of type t, or the nearest one there is. NaN is 0.
func saturate(t onnx.ElemType, v float64) int64 {
	least, most := intRange(t)
	switch {
	case v != v:
		return 0
	case v <= least:
		if t == onnx.Int64 {
			return math.MinInt64
		}
		return int64(least)
	case v >= most:
		switch t {
		case onnx.Int64:
			return math.MaxInt64
		case onnx.Uint64:
			return -1
		}
		return int64(most)
	case t == onnx.Uint64:
		return int64(uint64(v))
	}
	return int64(v)
}

// isFloat reports whether t is float32 or float64.
func isFloat(t onnx.ElemType) bool { return t == onnx.Float || t == onnx.Double }

// isInt reports whether t is an integer type; bool is none.
func isInt(t onnx.ElemType) bool {
	k := listOf(t)
	return k == listI64 || k == listU8 && t != onnx.Bool
}

// ints is a copy of the elements of an integer tensor, as a kernel reads axes, shapes and sizes.
func (t *Tensor) ints() ([]int, error) {
	if t.Type != onnx.Int64 && t.Type != onnx.Int32 {
		return nil, fmt.Errorf("an input of whole numbers has the type %s", t.Type)
	}
	if len(t.I64) > 1<<16 {
		return nil, fmt.Errorf("an input of axes or sizes has %d elements", len(t.I64))
	}
	out := make([]int, len(t.I64))
	for i, v := range t.I64 {
		out[i] = int(v)
	}
	return out, nil
}

// copyTo copies n elements of t from index from to index at of d, which has the same type.
func (t *Tensor) copyTo(d *Tensor, at, from, n int) {
	switch listOf(t.Type) {
	case listF32:
		copy(d.F32[at:at+n], t.F32[from:from+n])
	case listF64:
		copy(d.F64[at:at+n], t.F64[from:from+n])
	case listI64:
		copy(d.I64[at:at+n], t.I64[from:from+n])
	case listU8:
		copy(d.U8[at:at+n], t.U8[from:from+n])
	default:
		copy(d.Str[at:at+n], t.Str[from:from+n])
	}
}

// fillFrom sets all elements of t to element i of s, which has the same type.
func (t *Tensor) fillFrom(s *Tensor, i int) {
	switch listOf(t.Type) {
	case listF32:
		fill(t.F32, s.F32[i])
	case listF64:
		fill(t.F64, s.F64[i])
	case listI64:
		fill(t.I64, s.I64[i])
	case listU8:
		fill(t.U8, s.U8[i])
	default:
		fill(t.Str, s.Str[i])
	}
}

func fill[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// strides are the steps of each axis of dims, in elements.
func strides(dims []int) []int {
	out, n := make([]int, len(dims)), 1
	for i := len(dims) - 1; i >= 0; i-- {
		out[i] = n
		n *= dims[i]
	}
	return out
}

// axisOf is axis a of a tensor of rank axes, counted from the end if it is negative.
func axisOf(a, rank int) (int, error) {
	if a < -rank || a >= rank {
		return 0, fmt.Errorf("axis %d does not exist in a tensor of %d axes", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a, nil
}

func sameDims(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
