package ml

import (
	"errors"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// quantized are the operators of models whose numbers are kept as bytes.
var quantized = map[string]operator{
	"QuantizeLinear":        {2, 3, buildQuantize, rowsNever, false},
	"DequantizeLinear":      {2, 3, buildDequantize, rowsNever, false},
	"DynamicQuantizeLinear": {1, 1, buildDynamicQuantize, rowsNever, false},
	"MatMulInteger":         {2, 4, buildMatMulInteger, rowsNever, true},
}

// scaleOf finds scale and zero point of each element: one for all, or one for each place on an axis.
func scaleOf(t, scale, zero *Tensor, axis int) (func(i int) (float64, float64), error) {
	if !isFloat(scale.Type) || zero != nil && zero.Len() != scale.Len() || zero != nil && !isInt(zero.Type) {
		return nil, errors.New("its scale and its zero point do not fit together")
	}
	zeroAt := func(i int) float64 {
		if zero == nil {
			return 0
		}
		return float64(zero.int(i))
	}
	if scale.Len() == 1 {
		s, z := scale.float(0), zeroAt(0)
		return func(int) (float64, float64) { return s, z }, nil
	}
	a, err := axisOf(axis, len(t.Dims))
	if err != nil {
		return nil, err
	}
	if scale.Len() != t.Dims[a] || len(scale.Dims) != 1 {
		return nil, errors.New("it needs one scale for each place on its axis")
	}
	inner, n := product(t.Dims[a+1:]), t.Dims[a]
	return func(i int) (float64, float64) {
		k := i / inner % n
		return scale.float(k), zeroAt(k)
	}, nil
}

func buildQuantize(n *node) (kernel, error) {
	axis := int(n.int("axis", 1))
	if n.int("block_size", 0) != 0 {
		return nil, errors.New("blocks are not supported")
	}
	to := onnx.ElemType(n.int("output_dtype", 0))
	return func(r *run, in, out []*Tensor) error {
		t, zero := in[0], optional(in, 2)
		if !isFloat(t.Type) && t.Type != onnx.Int32 {
			return notFor(t.Type)
		}
		typ := onnx.Uint8
		if to != onnx.Undefined {
			typ = to
		}
		if zero != nil {
			typ = zero.Type
		}
		if !isInt(typ) {
			return notFor(typ)
		}
		at, err := scaleOf(t, in[1], zero, axis)
		if err != nil {
			return err
		}
		if out[0], err = r.alloc(typ, t.Dims); err != nil {
			return err
		}
		for i := range t.Len() {
			s, z := at(i)
			out[0].setInt(i, saturate(typ, math.RoundToEven(t.float(i)/s)+z))
		}
		return r.tick(4 * t.Len())
	}, nil
}

func buildDequantize(n *node) (kernel, error) {
	axis := int(n.int("axis", 1))
	if n.int("block_size", 0) != 0 {
		return nil, errors.New("blocks are not supported")
	}
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if !isInt(t.Type) {
			return notFor(t.Type)
		}
		at, err := scaleOf(t, in[1], optional(in, 2), axis)
		if err != nil {
			return err
		}
		if out[0], err = r.alloc(in[1].Type, t.Dims); err != nil {
			return err
		}
		for i := range t.Len() {
			s, z := at(i)
			out[0].setFloat(i, (float64(t.int(i))-z)*s)
		}
		return r.tick(4 * t.Len())
	}, nil
}

func buildDynamicQuantize(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if t.Type != onnx.Float {
			return notFor(t.Type)
		}
		least, most := float32(0), float32(0)
		for _, v := range t.F32 {
			least, most = min(least, v), max(most, v)
		}
		scale := (most - least) / 255
		zero := 0.0
		if scale != 0 {
			zero = clamp(math.RoundToEven(float64(-least/scale)), 0, 255)
		} else {
			scale = 1
		}
		o, err := r.alloc(onnx.Uint8, t.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		for i, v := range t.F32 {
			o.U8[i] = uint8(saturate(onnx.Uint8, math.RoundToEven(float64(v/scale))+zero))
		}
		if len(out) > 1 {
			out[1] = real1(onnx.Float, float64(scale))
		}
		if len(out) > 2 {
			out[2] = &Tensor{Type: onnx.Uint8, Dims: []int{}, U8: []uint8{uint8(saturate(onnx.Uint8, zero))}}
		}
		return r.tick(4 * t.Len())
	}, nil
}

func buildMatMulInteger(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		a, b := in[0], in[1]
		if !isInt(a.Type) || !isInt(b.Type) {
			return notFor(a.Type)
		}
		s, err := stacked(a.Dims, b.Dims)
		if err != nil {
			return err
		}
		var zeros [2][]int64
		for i, most := range []int{s.m, s.n} {
			if z := optional(in, i+2); z != nil {
				if !isInt(z.Type) || z.Len() != 1 && z.Len() != most {
					return errors.New("a zero point does not fit its matrix")
				}
				zeros[i] = z.wide()
			}
		}
		if out[0], err = r.alloc(onnx.Int32, s.out); err != nil {
			return err
		}
		return r.multiplyInts(s, out[0], a, b, zeros[0], zeros[1])
	}, nil
}
