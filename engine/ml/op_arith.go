package ml

import (
	"errors"
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// arithmetic are the operators of two numbers.
var arithmetic = map[string]operator{
	"Add": {2, 2, pairwise(addRow, addRow, func(a, b int64) int64 { return a + b }), rowsAligned, false},
	"Sub": {2, 2, pairwise(subRow, subRow, func(a, b int64) int64 { return a - b }), rowsAligned, false},
	"Mul": {2, 2, pairwise(mulRow, mulRow, func(a, b int64) int64 { return a * b }), rowsAligned, false},
	"Div": {2, 2, buildDiv, rowsAligned, false},
	"Mod": {2, 2, buildMod, rowsAligned, false},
	"Pow": {2, 2, buildPow, rowsAligned, false},

	"Max":  {1, anyInputs, several(maxOf, maxOf, maxInt, false), rowsAligned, false},
	"Min":  {1, anyInputs, several(minOf, minOf, minInt, false), rowsAligned, false},
	"Sum":  {1, anyInputs, several(sumOf, sumOf, nil, false), rowsAligned, false},
	"Mean": {1, anyInputs, several(sumOf, sumOf, nil, true), rowsAligned, false},
}

// real is a floating point number.
type real interface{ ~float32 | ~float64 }

func addRow[T real](out, a, b []T) {
	switch {
	case len(a) == len(out) && len(b) == len(out):
		for i := range out {
			out[i] = a[i] + b[i]
		}
	case len(a) == len(out):
		y := b[0]
		for i := range out {
			out[i] = a[i] + y
		}
	default:
		zip(out, a, b, sumOf)
	}
}

func mulRow[T real](out, a, b []T) {
	switch {
	case len(a) == len(out) && len(b) == len(out):
		for i := range out {
			out[i] = a[i] * b[i]
		}
	case len(a) == len(out):
		y := b[0]
		for i := range out {
			out[i] = a[i] * y
		}
	default:
		zip(out, a, b, func(x, y T) T { return x * y })
	}
}

func subRow[T real](out, a, b []T) { zip(out, a, b, func(x, y T) T { return x - y }) }

func divRow[T real](out, a, b []T) { zip(out, a, b, func(x, y T) T { return x / y }) }

func sumOf[T real](a, b T) T { return a + b }

func maxInt(a, b int64) int64 { return max(a, b) }

func minInt(a, b int64) int64 { return min(a, b) }

// maxOf and minOf give NaN if one of the two is NaN.
func maxOf[T real](a, b T) T { return max(a, b) }

func minOf[T real](a, b T) T { return min(a, b) }

var errTypes = errors.New("its inputs have different types")

func notFor(t onnx.ElemType) error { return fmt.Errorf("it does not work on %s", t) }

// pairwise builds an operator of two numbers of one type.
func pairwise(f32 func(out, a, b []float32), f64 func(out, a, b []float64), whole func(a, b int64) int64,
) builder {
	return func(*node) (kernel, error) {
		return func(r *run, in, out []*Tensor) (err error) {
			out[0], err = r.pairwise(in[0], in[1], f32, f64,
				func(a, b int64) (int64, error) { return whole(a, b), nil })
			return err
		}, nil
	}
}

// pairwise computes an operator of two numbers of one type.
func (r *run) pairwise(a, b *Tensor, f32 func(out, a, b []float32), f64 func(out, a, b []float64),
	whole func(a, b int64) (int64, error)) (*Tensor, error) {
	if a.Type != b.Type {
		return nil, errTypes
	}
	bc, err := align(a.Dims, b.Dims)
	if err != nil {
		return nil, err
	}
	out, err := r.alloc(a.Type, bc.out)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Type == onnx.Float:
		return out, zipAll(r, bc, out.F32, a.F32, b.F32, f32)
	case a.Type == onnx.Double:
		return out, zipAll(r, bc, out.F64, a.F64, b.F64, f64)
	case !isInt(a.Type):
		return nil, notFor(a.Type)
	}
	sa, sb := bc.step(0), bc.step(1)
	return out, bc.each(r, func(at int, from []int, n int) error {
		for i := range n {
			v, err := whole(a.int(from[0]+i*sa), b.int(from[1]+i*sb))
			if err != nil {
				return err
			}
			out.setInt(at+i, v)
		}
		return nil
	})
}

var errZero = errors.New("a whole number is divided by zero")

func buildDiv(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) (err error) {
		unsigned := in[0].Type == onnx.Uint64
		out[0], err = r.pairwise(in[0], in[1], divRow, divRow, func(a, b int64) (int64, error) {
			switch {
			case b == 0:
				return 0, errZero
			case unsigned:
				return int64(uint64(a) / uint64(b)), nil
			case b == -1:
				return -a, nil
			}
			return a / b, nil
		})
		return err
	}, nil
}

func buildMod(n *node) (kernel, error) {
	fmod := n.int("fmod", 0) == 1
	return func(r *run, in, out []*Tensor) (err error) {
		if !fmod && isFloat(in[0].Type) {
			return errors.New("it needs fmod=1 for floating point numbers")
		}
		unsigned := in[0].Type == onnx.Uint64
		out[0], err = r.pairwise(in[0], in[1], fmodRow, fmodRow, func(a, b int64) (int64, error) {
			switch {
			case b == 0:
				return 0, errZero
			case unsigned:
				return int64(uint64(a) % uint64(b)), nil
			case b == -1:
				return 0, nil
			}
			m := a % b
			if !fmod && m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return m, nil
		})
		return err
	}, nil
}

func fmodRow[T real](out, a, b []T) {
	zip(out, a, b, func(x, y T) T { return T(math.Mod(float64(x), float64(y))) })
}

func buildPow(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		a, b := in[0], in[1]
		if !isFloat(a.Type) && !isInt(a.Type) || !isFloat(b.Type) && !isInt(b.Type) {
			return notFor(a.Type)
		}
		bc, err := align(a.Dims, b.Dims)
		if err != nil {
			return err
		}
		if out[0], err = r.alloc(a.Type, bc.out); err != nil {
			return err
		}
		sa, sb := bc.step(0), bc.step(1)
		return bc.each(r, func(at int, from []int, n int) error {
			if err := r.tick(8 * n); err != nil {
				return err
			}
			for i := range n {
				out[0].setFloat(at+i, power(a.float(from[0]+i*sa), b.float(from[1]+i*sb)))
			}
			return nil
		})
	}, nil
}

func power(x, y float64) float64 {
	if y == 2 {
		return x * x
	}
	return math.Pow(x, y)
}

// several builds an operator of one or more inputs, folded from the left.
func several(f32 func(a, b float32) float32, f64 func(a, b float64) float64, whole func(a, b int64) int64, mean bool,
) builder {
	return func(*node) (kernel, error) {
		return func(r *run, in, out []*Tensor) error {
			for _, t := range in {
				if t == nil {
					return errors.New("one of its inputs is missing")
				}
			}
			if whole == nil && !isFloat(in[0].Type) || listOf(in[0].Type) == listStr || in[0].Type == onnx.Bool {
				return notFor(in[0].Type)
			}
			acc := r.view(in[0], in[0].Dims)
			for _, t := range in[1:] {
				next, err := r.pairwise(acc, t, func(o, a, b []float32) { zip(o, a, b, f32) },
					func(o, a, b []float64) { zip(o, a, b, f64) },
					func(a, b int64) (int64, error) { return whole(a, b), nil })
				if err != nil {
					return err
				}
				r.release(acc)
				acc = next
			}
			if mean && len(in) > 1 {
				next, err := r.pairwise(acc, real1(acc.Type, float64(len(in))), divRow, divRow, nil)
				if err != nil {
					return err
				}
				r.release(acc)
				acc = next
			}
			out[0] = acc
			return nil
		}, nil
	}
}

// real1 is a floating point number as a tensor without axes.
func real1(t onnx.ElemType, v float64) *Tensor {
	if t == onnx.Float {
		return &Tensor{Type: t, Dims: []int{}, F32: []float32{float32(v)}}
	}
	return &Tensor{Type: t, Dims: []int{}, F64: []float64{v}}
}
