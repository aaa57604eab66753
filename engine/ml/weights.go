package ml

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// inPlace reports whether the machine reads numbers as model files have them, at any address. Then floats need no copy.
const inPlace = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

// constant makes a tensor of what a model file has. float32 weights stay where they are in the file if the machine can
// read them there, so a loaded model takes about the memory of its file.
func constant(p *onnx.Tensor) (*Tensor, error) {
	if p.External {
		return nil, fmt.Errorf("tensor %q has its data in another file; a model must hold all of its data", p.Name)
	}
	dims := make([]int, len(p.Dims))
	for i, d := range p.Dims {
		dims[i] = int(d)
	}
	n, err := size(dims)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", p.Name, err)
	}
	t := &Tensor{Type: p.Type, Dims: dims}
	if p.Type == onnx.Float16 || p.Type == onnx.BFloat16 {
		t.Type = onnx.Float
	}
	switch {
	case listOf(t.Type) == listNone:
		return nil, fmt.Errorf("tensor %q has the type %s, which is not supported", p.Name, p.Type)
	case p.Raw != nil:
		err = t.raw(p, n)
	default:
		err = t.listed(p, n)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func wrongLength(p *onnx.Tensor, got, want int) error {
	return fmt.Errorf("tensor %q has data for %d elements; its shape asks for %d", p.Name, got, want)
}

// rawBytes is how many bytes an element takes in a file.
func rawBytes(t onnx.ElemType) int {
	switch t {
	case onnx.Bool, onnx.Int8, onnx.Uint8:
		return 1
	case onnx.Int16, onnx.Uint16, onnx.Float16, onnx.BFloat16:
		return 2
	case onnx.Float, onnx.Int32, onnx.Uint32:
		return 4
	}
	return 8
}

// raw takes the elements from little-endian bytes.
func (t *Tensor) raw(p *onnx.Tensor, n int) error {
	if p.Type == onnx.String {
		return fmt.Errorf("tensor %q keeps texts as raw bytes", p.Name)
	}
	w, b := rawBytes(p.Type), p.Raw
	if len(b)%w != 0 || len(b)/w != n {
		return wrongLength(p, len(b)/w, n)
	}
	le := binary.LittleEndian
	switch p.Type {
	case onnx.Float:
		t.F32 = floats32(b)
	case onnx.Float16, onnx.BFloat16:
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = half(p.Type, le.Uint16(b[2*i:]))
		}
	case onnx.Double:
		t.F64 = make([]float64, n)
		for i := range t.F64 {
			t.F64[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	case onnx.Bool, onnx.Int8, onnx.Uint8:
		t.U8 = b
		if p.Type == onnx.Bool {
			t.U8 = bools(b)
		}
	default:
		t.I64 = make([]int64, n)
		for i := range t.I64 {
			t.I64[i] = rawInt(p.Type, b[i*w:])
		}
	}
	return nil
}

func rawInt(t onnx.ElemType, b []byte) int64 {
	switch rawBytes(t) {
	case 2:
		return wrap(t, int64(binary.LittleEndian.Uint16(b)))
	case 4:
		return wrap(t, int64(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// floats32 is b as float32 numbers: the same memory where the machine allows it.
func floats32(b []byte) []float32 {
	n := len(b) / 4
	if n == 0 {
		return []float32{}
	}
	if inPlace {
		return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

func bools(b []byte) []uint8 {
	out := make([]uint8, len(b))
	for i, v := range b {
		out[i] = truth(v != 0)
	}
	return out
}

// half is a float16 or a bfloat16.
func half(t onnx.ElemType, v uint16) float32 {
	if t == onnx.BFloat16 {
		return math.Float32frombits(uint32(v) << 16)
	}
	sign, exp, frac := uint32(v>>15)<<31, int(v>>10&31), uint32(v&1023)
	switch exp {
	case 0:
		f := float32(frac) / (1 << 24)
		if sign != 0 {
			return -f
		}
		return f
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | uint32(exp+112)<<23 | frac<<13)
}

// listed takes the elements from the typed lists of the message.
func (t *Tensor) listed(p *onnx.Tensor, n int) error {
	got := 0
	switch p.Type {
	case onnx.Float:
		t.F32, got = p.Floats, len(p.Floats)
	case onnx.Double:
		t.F64, got = p.Doubles, len(p.Doubles)
	case onnx.String:
		t.Str, got = p.Strings, len(p.Strings)
	case onnx.Int64:
		t.I64, got = p.Int64s, len(p.Int64s)
	case onnx.Uint32, onnx.Uint64:
		t.I64, got = p.Uint64s, len(p.Uint64s)
	default:
		got = len(p.Int32s)
	}
	if got != n {
		return wrongLength(p, got, n)
	}
	switch p.Type {
	case onnx.Float16, onnx.BFloat16:
		t.F32 = make([]float32, n)
		for i, v := range p.Int32s {
			t.F32[i] = half(p.Type, uint16(v))
		}
	case onnx.Bool, onnx.Int8, onnx.Uint8:
		t.U8 = make([]uint8, n)
		for i, v := range p.Int32s {
			t.U8[i] = uint8(v)
			if p.Type == onnx.Bool {
				t.U8[i] = truth(v != 0)
			}
		}
	case onnx.Int32, onnx.Int16, onnx.Uint16:
		t.I64 = make([]int64, n)
		for i, v := range p.Int32s {
			t.I64[i] = wrap(p.Type, v)
		}
	}
	t.notNil()
	return nil
}

// notNil gives a tensor without elements a list of none, by which kernels tell its kind.
func (t *Tensor) notNil() {
	switch listOf(t.Type) {
	case listF32:
		t.F32 = orEmpty(t.F32)
	case listF64:
		t.F64 = orEmpty(t.F64)
	case listI64:
		t.I64 = orEmpty(t.I64)
	case listU8:
		t.U8 = orEmpty(t.U8)
	default:
		t.Str = orEmpty(t.Str)
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
