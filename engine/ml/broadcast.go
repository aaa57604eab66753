package ml

import (
	"fmt"
)

// broadcast is how several tensors line up: shapes aligned at the right, with dimensions of 1 repeated. Axes that lie
// next to each other in all of them count as one.
type broadcast struct {
	out   []int   // shape of the result
	dims  []int   // its axes, merged
	steps [][]int // by input: the step of each axis, 0 where it repeats
}

// align lines up shapes, or reports that they do not fit.
func align(shapes ...[]int) (*broadcast, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	b := &broadcast{out: make([]int, rank)}
	fill(b.out, 1)
	for _, s := range shapes {
		for i, d := range s {
			at := &b.out[rank-len(s)+i]
			switch {
			case d == *at || d == 1:
			case *at == 1:
				*at = d
			default:
				return nil, fmt.Errorf("the shapes %s and %s do not fit together", shapeText(shapes[0]), shapeText(s))
			}
		}
	}
	full := make([][]int, len(shapes))
	for k, s := range shapes {
		full[k] = make([]int, rank)
		for i, step := range strides(s) {
			if s[i] != 1 {
				full[k][rank-len(s)+i] = step
			}
		}
	}
	b.merge(full)
	return b, nil
}

// merge drops axes of 1 and joins neighbours that are one run of elements in each input.
func (b *broadcast) merge(full [][]int) {
	b.steps = make([][]int, len(full))
	for i, d := range b.out {
		if d == 1 {
			continue
		}
		last := len(b.dims) - 1
		joins := last >= 0
		for k := 0; joins && k < len(full); k++ {
			joins = b.steps[k][last] == full[k][i]*d
		}
		if joins {
			b.dims[last] *= d
		} else {
			b.dims = append(b.dims, d)
		}
		for k := range full {
			if joins {
				b.steps[k][last] = full[k][i]
			} else {
				b.steps[k] = append(b.steps[k], full[k][i])
			}
		}
	}
	if len(b.dims) == 0 {
		b.dims = []int{1}
		for k := range full {
			b.steps[k] = []int{0}
		}
	}
}

// each calls fn for each run of n elements of the result: where it starts there and in each input. Within a run an
// input goes forward by its last step, which is 0 or 1.
func (b *broadcast) each(r *run, fn func(at int, from []int, n int) error) error {
	total := product(b.dims)
	if total == 0 {
		return nil
	}
	last := len(b.dims) - 1
	n := b.dims[last]
	from, count := make([]int, len(b.steps)), make([]int, last)
	for at := 0; ; {
		if err := r.tick(n); err != nil {
			return err
		}
		if err := fn(at, from, n); err != nil {
			return err
		}
		if at += n; at >= total {
			return nil
		}
		for axis := last - 1; axis >= 0; axis-- {
			count[axis]++
			for k := range from {
				from[k] += b.steps[k][axis]
			}
			if count[axis] < b.dims[axis] {
				break
			}
			count[axis] = 0
			for k := range from {
				from[k] -= b.steps[k][axis] * b.dims[axis]
			}
		}
	}
}

// step is the last step of input k: 0 or 1.
func (b *broadcast) step(k int) int { return b.steps[k][len(b.dims)-1] }

// part is the run of s from a start: n elements, or the single one that repeats.
func part[T any](s []T, from, n, step int) []T {
	if step == 0 {
		return s[from : from+1]
	}
	return s[from : from+n]
}

// zip computes out[i] = f(a[i], b[i]) over a run; an input of one element repeats.
func zip[T, U any](out []U, a, b []T, f func(T, T) U) {
	switch {
	case len(a) == len(out) && len(b) == len(out):
		for i := range out {
			out[i] = f(a[i], b[i])
		}
	case len(b) == len(out):
		x := a[0]
		for i := range out {
			out[i] = f(x, b[i])
		}
	case len(a) == len(out):
		y := b[0]
		for i := range out {
			out[i] = f(a[i], y)
		}
	default:
		fill(out, f(a[0], b[0]))
	}
}

// zipAll is zip over all runs of two tensors.
func zipAll[T, U any](r *run, b *broadcast, out []U, x, y []T, row func(out []U, x, y []T)) error {
	sx, sy := b.step(0), b.step(1)
	return b.each(r, func(at int, from []int, n int) error {
		row(out[at:at+n], part(x, from[0], n, sx), part(y, from[1], n, sy))
		return nil
	})
}

// wide are the elements of an integer or bool tensor as int64: a copy if they are kept as bytes.
func (t *Tensor) wide() []int64 {
	if t.I64 != nil {
		return t.I64
	}
	out := make([]int64, len(t.U8))
	for i := range out {
		out[i] = t.int(i)
	}
	return out
}
