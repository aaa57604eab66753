package ml

import (
	"errors"
	"fmt"
)

// products are the operators that multiply matrices.
var products = map[string]operator{
	"MatMul": {2, 2, buildMatMul, rowsMatMul, true},
	"Gemm":   {2, 3, buildGemm, rowsGemm, true},
	"Einsum": {1, anyInputs, buildEinsum, rowsNever, true},
}

// stacks is how two stacks of matrices are multiplied: numpy's rules.
type stacks struct {
	m, n, k int
	batch   *broadcast
	out     []int
}

func stacked(ad, bd []int) (*stacks, error) {
	if len(ad) == 0 || len(bd) == 0 {
		return nil, errors.New("a matrix product needs at least one axis")
	}
	a, b := ad, bd
	if len(a) == 1 {
		a = []int{1, a[0]}
	}
	if len(b) == 1 {
		b = []int{b[0], 1}
	}
	s := &stacks{m: a[len(a)-2], k: a[len(a)-1], n: b[len(b)-1]}
	if b[len(b)-2] != s.k {
		return nil, fmt.Errorf("the shapes %s and %s cannot be multiplied", shapeText(ad), shapeText(bd))
	}
	var err error
	if s.batch, err = align(a[:len(a)-2], b[:len(b)-2]); err != nil {
		return nil, err
	}
	s.out = append([]int{}, s.batch.out...)
	if len(ad) > 1 {
		s.out = append(s.out, s.m)
	}
	if len(bd) > 1 {
		s.out = append(s.out, s.n)
	}
	if len(bd) == 2 || len(bd) == 1 { // one matrix for all: one product with more rows
		s.m *= product(a[:len(a)-2])
		s.batch, err = align(nil, nil)
	}
	return s, err
}

// each calls fn for each pair of matrices with their places.
func (s *stacks) each(r *run, fn func(c, a, b int) error) error {
	return s.batch.each(r, func(at int, from []int, n int) error {
		for i := range n {
			err := fn((at+i)*s.m*s.n, (from[0]+i*s.batch.step(0))*s.m*s.k, (from[1]+i*s.batch.step(1))*s.k*s.n)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func buildMatMul(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) (err error) {
		out[0], err = r.matmul(in[0], in[1])
		return err
	}, nil
}

func (r *run) matmul(a, b *Tensor) (*Tensor, error) {
	if a.Type != b.Type {
		return nil, errTypes
	}
	s, err := stacked(a.Dims, b.Dims)
	if err != nil {
		return nil, err
	}
	out, err := r.zeros(a.Type, s.out)
	if err != nil {
		return nil, err
	}
	switch {
	case a.F32 != nil:
		return out, multiply(r, s, out.F32, a.F32, b.F32)
	case a.F64 != nil:
		return out, multiply(r, s, out.F64, a.F64, b.F64)
	case isInt(a.Type):
		return out, r.multiplyInts(s, out, a, b, nil, nil)
	}
	return nil, notFor(a.Type)
}

func multiply[T real](r *run, s *stacks, c, a, b []T) error {
	return s.each(r, func(ci, ai, bi int) error {
		return gemm(r, c[ci:ci+s.m*s.n], s.m, s.n, s.k, matrix[T]{a[ai:], s.k, 1}, matrix[T]{b[bi:], s.n, 1})
	})
}

// multiplyInts is the product of whole numbers, less the zero points where there are any: by row for a, by column for
// b.
func (r *run) multiplyInts(s *stacks, out, a, b *Tensor, zeroA, zeroB []int64) error {
	pick := func(list []int64, i int) int64 {
		switch len(list) {
		case 0:
			return 0
		case 1:
			return list[0]
		}
		return list[i]
	}
	x, y := a.wide(), b.wide()
	return s.each(r, func(ci, ai, bi int) error {
		for i := range s.m {
			za := pick(zeroA, i)
			for j := range s.n {
				zb, sum := pick(zeroB, j), int64(0)
				for p := range s.k {
					sum += (x[ai+i*s.k+p] - za) * (y[bi+p*s.n+j] - zb)
				}
				out.setInt(ci+i*s.n+j, sum)
				if err := r.tick(s.k); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func buildGemm(n *node) (kernel, error) {
	g := &gemmNode{alpha: n.float("alpha", 1), beta: n.float("beta", 1),
		transA: n.int("transA", 0) != 0, transB: n.int("transB", 0) != 0}
	return g.run, nil
}

type gemmNode struct {
	alpha, beta    float32
	transA, transB bool
}

func (g *gemmNode) run(r *run, in, out []*Tensor) error {
	a, b := in[0], in[1]
	if len(a.Dims) != 2 || len(b.Dims) != 2 {
		return errors.New("its inputs are not matrices")
	}
	if a.Type != b.Type {
		return errTypes
	}
	m, k, n, kb := a.Dims[0], a.Dims[1], b.Dims[1], b.Dims[0]
	if g.transA {
		m, k = k, m
	}
	if g.transB {
		n, kb = kb, n
	}
	if k != kb {
		return fmt.Errorf("the shapes %s and %s cannot be multiplied", shapeText(a.Dims), shapeText(b.Dims))
	}
	o, err := r.zeros(a.Type, []int{m, n})
	if err != nil {
		return err
	}
	out[0] = o
	var c *Tensor
	if len(in) > 2 && in[2] != nil {
		if c = in[2]; c.Type != a.Type {
			return errTypes
		}
	}
	switch {
	case a.F32 != nil:
		var bias []float32
		if c != nil {
			bias = c.F32
		}
		return gemmOf(r, g, o.F32, a.F32, b.F32, bias, c, m, n, k)
	case a.F64 != nil:
		var bias []float64
		if c != nil {
			bias = c.F64
		}
		return gemmOf(r, g, o.F64, a.F64, b.F64, bias, c, m, n, k)
	}
	return notFor(a.Type)
}

func gemmOf[T real](r *run, g *gemmNode, out, a, b, bias []T, c *Tensor, m, n, k int) error {
	x, y := matrix[T]{a, k, 1}, matrix[T]{b, n, 1}
	if g.transA {
		x.rows, x.cols = 1, m
	}
	if g.transB {
		y.rows, y.cols = 1, k
	}
	if err := gemm(r, out, m, n, k, x, y); err != nil {
		return err
	}
	if alpha := T(g.alpha); alpha != 1 {
		for i := range out {
			out[i] *= alpha
		}
	}
	if c == nil || g.beta == 0 {
		return nil
	}
	bc, err := align([]int{m, n}, c.Dims)
	if err != nil {
		return err
	}
	if !sameDims(bc.out, []int{m, n}) {
		return errors.New("the third input does not fit the result")
	}
	beta := T(g.beta)
	if len(bias) == n && c.Dims[len(c.Dims)-1] == n {
		for i := range m {
			row := out[i*n : i*n+n]
			for j, y := range bias {
				row[j] += beta * y
			}
		}
		return r.tick(m * n / 8)
	}
	return zipAll(r, bc, out, out, bias, func(o, x, y []T) {
		zip(o, x, y, func(x, y T) T { return x + beta*y })
	})
}
