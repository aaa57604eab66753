package ml

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// shapes are the operators that keep the elements and change the shape.
var shapes = map[string]operator{
	"Identity":  {1, 1, buildIdentity, rowsEach, false},
	"Reshape":   {1, 2, buildReshape, rowsReshape, false},
	"Flatten":   {1, 1, buildFlatten, rowsFlatten, false},
	"Squeeze":   {1, 2, buildSqueeze, rowsSqueeze, false},
	"Unsqueeze": {1, 2, buildUnsqueeze, rowsUnsqueeze, false},
	"Transpose": {1, 1, buildTranspose, rowsTranspose, false},
	"Shape":     {1, 1, buildShape, rowsNever, false},
	"Size":      {1, 1, buildSize, rowsNever, false},
	"Expand":    {2, 2, buildExpand, rowsNever, false},
}

func buildIdentity(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		out[0] = r.view(in[0], in[0].Dims)
		return nil
	}, nil
}

func buildReshape(n *node) (kernel, error) {
	fixed, allowZero := n.ints("shape"), n.int("allowzero", 0) != 0
	return func(r *run, in, out []*Tensor) error {
		want := fixed
		if len(in) > 1 {
			var err error
			if want, err = in[1].ints(); err != nil {
				return err
			}
		}
		dims, err := reshaped(in[0].Dims, want, allowZero)
		if err != nil {
			return err
		}
		out[0] = r.view(in[0], dims)
		return nil
	}, nil
}

// reshaped is the shape that want asks for: 0 copies a dimension, one -1 is what remains.
func reshaped(dims, want []int, allowZero bool) ([]int, error) {
	out, open := slices.Clone(want), -1
	for i, d := range out {
		switch {
		case d == 0 && !allowZero:
			if i >= len(dims) {
				return nil, errors.New("the new shape copies a dimension that does not exist")
			}
			out[i] = dims[i]
		case d == -1 && open < 0:
			open, out[i] = i, 1
		case d < 0:
			return nil, errors.New("the new shape has a negative dimension")
		}
	}
	have := product(dims)
	n, err := size(out)
	if err != nil {
		return nil, err
	}
	if open >= 0 && n > 0 && have%n == 0 {
		out[open] = have / n
		n = have
	}
	if n != have {
		return nil, fmt.Errorf("a tensor of %s cannot take the shape %s", shapeText(dims), shapeText(want))
	}
	return orEmpty(out), nil
}

func buildFlatten(n *node) (kernel, error) {
	axis := int(n.int("axis", 1))
	return func(r *run, in, out []*Tensor) error {
		dims := in[0].Dims
		a := axis
		if a < 0 {
			a += len(dims)
		}
		if a < 0 || a > len(dims) {
			return fmt.Errorf("axis %d does not exist in a tensor of %d axes", axis, len(dims))
		}
		out[0] = r.view(in[0], []int{product(dims[:a]), product(dims[a:])})
		return nil
	}, nil
}

// axesOf are the axes of a node: an attribute before version 13, an input since. nil says there are none.
func axesOf(n *node) func(in []*Tensor) ([]int, error) {
	fixed, asInput := n.ints("axes"), n.opset >= 13
	return func(in []*Tensor) ([]int, error) {
		if !asInput || len(in) < 2 || in[1] == nil {
			return fixed, nil
		}
		return in[1].ints()
	}
}

func buildSqueeze(n *node) (kernel, error) {
	axes := axesOf(n)
	return func(r *run, in, out []*Tensor) error {
		list, err := axes(in)
		if err != nil {
			return err
		}
		t, drop := in[0], map[int]bool{}
		for _, a := range list {
			a, err := axisOf(a, len(t.Dims))
			if err != nil {
				return err
			}
			if t.Dims[a] != 1 {
				return fmt.Errorf("axis %d has the length %d and cannot go", a, t.Dims[a])
			}
			drop[a] = true
		}
		dims := []int{}
		for i, d := range t.Dims {
			if !drop[i] && (list != nil || d != 1) {
				dims = append(dims, d)
			}
		}
		out[0] = r.view(t, dims)
		return nil
	}, nil
}

func buildUnsqueeze(n *node) (kernel, error) {
	axes := axesOf(n)
	return func(r *run, in, out []*Tensor) error {
		list, err := axes(in)
		if err != nil {
			return err
		}
		t, rank := in[0], len(in[0].Dims)+len(list)
		add := make([]bool, rank)
		for _, a := range list {
			a, err := axisOf(a, rank)
			if err != nil {
				return err
			}
			if add[a] {
				return fmt.Errorf("axis %d is named twice", a)
			}
			add[a] = true
		}
		dims, next := make([]int, rank), 0
		for i := range dims {
			dims[i] = 1
			if !add[i] {
				dims[i] = t.Dims[next]
				next++
			}
		}
		out[0] = r.view(t, dims)
		return nil
	}, nil
}

func buildTranspose(n *node) (kernel, error) {
	perm := n.ints("perm")
	return func(r *run, in, out []*Tensor) (err error) {
		p := perm
		if p == nil {
			p = allAxes(len(in[0].Dims))
			slices.Reverse(p)
		}
		out[0], err = r.transpose(in[0], p)
		return err
	}, nil
}

// transpose orders the axes of t anew.
func (r *run) transpose(t *Tensor, perm []int) (*Tensor, error) {
	rank := len(t.Dims)
	if len(perm) != rank {
		return nil, errors.New("the order of the axes has another length than the shape")
	}
	seen, dims, steps, old := make([]bool, rank), make([]int, rank), make([]int, rank), strides(t.Dims)
	for i, a := range perm {
		if a < 0 || a >= rank || seen[a] {
			return nil, errors.New("the order of the axes names an axis twice or one that does not exist")
		}
		seen[a], dims[i], steps[i] = true, t.Dims[a], old[a]
	}
	o, err := r.alloc(t.Type, dims)
	if err != nil {
		return nil, err
	}
	return o, r.gather(t, o, steps, 0)
}

// gather fills o with elements of t: going along axis i of o is steps[i] in t, starting from start.
func (r *run) gather(t, o *Tensor, steps []int, start int) error {
	total := o.Len()
	if total == 0 {
		return nil
	}
	switch {
	case t.F32 != nil:
		return gatherInto(r, t.F32, o.F32, o.Dims, steps, start)
	case t.F64 != nil:
		return gatherInto(r, t.F64, o.F64, o.Dims, steps, start)
	case t.I64 != nil:
		return gatherInto(r, t.I64, o.I64, o.Dims, steps, start)
	case t.U8 != nil:
		return gatherInto(r, t.U8, o.U8, o.Dims, steps, start)
	}
	return gatherInto(r, t.Str, o.Str, o.Dims, steps, start)
}

func gatherInto[T any](r *run, from, to []T, dims, steps []int, start int) error {
	last := len(dims) - 1
	if last < 0 {
		to[0] = from[start]
		return nil
	}
	n, step := dims[last], steps[last]
	at, outer := []int{start}, odometer{dims: dims[:last], count: make([]int, last)}
	all := [][]int{steps}
	for i := 0; i < len(to); i += n {
		run := to[i : i+n]
		if step == 1 {
			copy(run, from[at[0]:at[0]+n])
		} else {
			for j, k := 0, at[0]; j < n; j, k = j+1, k+step {
				run[j] = from[k]
			}
		}
		outer.next(at, all, 0)
		if err := r.tick(n + 4); err != nil {
			return err
		}
	}
	return nil
}

func buildShape(n *node) (kernel, error) {
	start, end := int(n.int("start", 0)), int(n.int("end", 1<<31))
	return func(r *run, in, out []*Tensor) error {
		rank := len(in[0].Dims)
		bound := func(v int) int {
			if v < 0 {
				v += rank
			}
			return min(max(v, 0), rank)
		}
		a, b := bound(start), bound(end)
		o, err := r.alloc(onnx.Int64, []int{max(b-a, 0)})
		if err != nil {
			return err
		}
		for i := range o.I64 {
			o.I64[i] = int64(in[0].Dims[a+i])
		}
		out[0] = o
		return nil
	}, nil
}

func buildSize(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		out[0] = scalarInt(int64(in[0].Len()))
		return nil
	}, nil
}

func buildExpand(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		want, err := in[1].ints()
		if err != nil {
			return err
		}
		if _, err := size(want); err != nil {
			return err
		}
		o, err := r.expand(in[0], want)
		out[0] = o
		return err
	}, nil
}

// expand repeats t to the shape that it has together with want.
func (r *run) expand(t *Tensor, want []int) (*Tensor, error) {
	bc, err := align(t.Dims, want)
	if err != nil {
		return nil, err
	}
	o, err := r.alloc(t.Type, bc.out)
	if err != nil {
		return nil, err
	}
	steps, off := make([]int, len(bc.out)), len(bc.out)-len(t.Dims)
	for i, s := range strides(t.Dims) {
		if t.Dims[i] != 1 {
			steps[off+i] = s
		}
	}
	return o, r.gather(t, o, steps, 0)
}
