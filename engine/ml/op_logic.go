package ml

import (
	"cmp"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// logic are comparisons and the operators of bools.
var logic = map[string]operator{
	"Equal":          {2, 2, comparison(func(c int) bool { return c == 0 }, true), rowsAligned, false},
	"Less":           {2, 2, comparison(func(c int) bool { return c < 0 }, false), rowsAligned, false},
	"LessOrEqual":    {2, 2, comparison(func(c int) bool { return c <= 0 }, false), rowsAligned, false},
	"Greater":        {2, 2, comparison(func(c int) bool { return c > 0 }, false), rowsAligned, false},
	"GreaterOrEqual": {2, 2, comparison(func(c int) bool { return c >= 0 }, false), rowsAligned, false},
	"And":            {2, 2, connective(func(a, b uint8) uint8 { return a & b }), rowsAligned, false},
	"Or":             {2, 2, connective(func(a, b uint8) uint8 { return a | b }), rowsAligned, false},
	"Xor":            {2, 2, connective(func(a, b uint8) uint8 { return a ^ b }), rowsAligned, false},
	"Not":            {1, 1, buildNot, rowsEach, false},
	"Where":          {3, 3, buildWhere, rowsAligned, false},
}

// comparison builds an operator that tells by the order of two values whether it holds. NaN never holds.
func comparison(holds func(c int) bool, all bool) builder {
	return func(*node) (kernel, error) {
		return func(r *run, in, out []*Tensor) error {
			a, b := in[0], in[1]
			if a.Type != b.Type {
				return errTypes
			}
			if !all && (a.Str != nil || a.Type == onnx.Bool) {
				return notFor(a.Type)
			}
			bc, err := align(a.Dims, b.Dims)
			if err != nil {
				return err
			}
			if out[0], err = r.alloc(onnx.Bool, bc.out); err != nil {
				return err
			}
			to := out[0].U8
			switch {
			case a.F32 != nil:
				return zipAll(r, bc, to, a.F32, b.F32, compareRow[float32](holds))
			case a.F64 != nil:
				return zipAll(r, bc, to, a.F64, b.F64, compareRow[float64](holds))
			case a.Str != nil:
				return zipAll(r, bc, to, a.Str, b.Str, compareRow[string](holds))
			case a.Type == onnx.Uint64:
				return zipAll(r, bc, to, a.I64, b.I64, func(out []uint8, x, y []int64) {
					zip(out, x, y, func(x, y int64) uint8 { return truth(holds(cmp.Compare(uint64(x), uint64(y)))) })
				})
			}
			return zipAll(r, bc, to, a.wide(), b.wide(), compareRow[int64](holds))
		}, nil
	}
}

func compareRow[T cmp.Ordered](holds func(c int) bool) func(out []uint8, a, b []T) {
	return func(out []uint8, a, b []T) {
		zip(out, a, b, func(x, y T) uint8 {
			switch {
			case x != x || y != y:
				return 0
			case x < y:
				return truth(holds(-1))
			case x > y:
				return truth(holds(1))
			}
			return truth(holds(0))
		})
	}
}

func connective(f func(a, b uint8) uint8) builder {
	return func(*node) (kernel, error) {
		return func(r *run, in, out []*Tensor) error {
			a, b := in[0], in[1]
			if a.Type != onnx.Bool || b.Type != onnx.Bool {
				return notFor(a.Type)
			}
			bc, err := align(a.Dims, b.Dims)
			if err != nil {
				return err
			}
			if out[0], err = r.alloc(onnx.Bool, bc.out); err != nil {
				return err
			}
			return zipAll(r, bc, out[0].U8, a.U8, b.U8, func(o, x, y []uint8) { zip(o, x, y, f) })
		}, nil
	}
}

func buildNot(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) (err error) {
		if in[0].Type != onnx.Bool {
			return notFor(in[0].Type)
		}
		if out[0], err = r.reuse(in, 0); err != nil {
			return err
		}
		for i, v := range in[0].U8 {
			out[0].U8[i] = v ^ 1
		}
		return nil
	}, nil
}

func buildWhere(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		c, a, b := in[0], in[1], in[2]
		if c.Type != onnx.Bool {
			return notFor(c.Type)
		}
		if a.Type != b.Type {
			return errTypes
		}
		bc, err := align(c.Dims, a.Dims, b.Dims)
		if err != nil {
			return err
		}
		if out[0], err = r.alloc(a.Type, bc.out); err != nil {
			return err
		}
		switch {
		case a.F32 != nil:
			return choose(r, bc, out[0].F32, c.U8, a.F32, b.F32)
		case a.F64 != nil:
			return choose(r, bc, out[0].F64, c.U8, a.F64, b.F64)
		case a.I64 != nil:
			return choose(r, bc, out[0].I64, c.U8, a.I64, b.I64)
		case a.U8 != nil:
			return choose(r, bc, out[0].U8, c.U8, a.U8, b.U8)
		}
		return choose(r, bc, out[0].Str, c.U8, a.Str, b.Str)
	}, nil
}

func choose[T any](r *run, bc *broadcast, out []T, c []uint8, a, b []T) error {
	sc, sa, sb := bc.step(0), bc.step(1), bc.step(2)
	return bc.each(r, func(at int, from []int, n int) error {
		for i := range n {
			if c[from[0]+i*sc] != 0 {
				out[at+i] = a[from[1]+i*sa]
			} else {
				out[at+i] = b[from[2]+i*sb]
			}
		}
		return nil
	})
}
