package ml

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// parts are the operators that cut tensors and put them together.
var parts = map[string]operator{
	"Concat":          {1, anyInputs, buildConcat, rowsConcat, false},
	"Split":           {1, 2, buildSplit, rowsAxisFirst, false},
	"Slice":           {1, 5, buildSlice, rowsSlice, false},
	"Tile":            {2, 2, buildTile, rowsNever, false},
	"Pad":             {1, 4, buildPad, rowsNever, false},
	"DepthToSpace":    {1, 1, buildDepthToSpace, rowsEach, false},
	"SpaceToDepth":    {1, 1, buildSpaceToDepth, rowsEach, false},
	"Trilu":           {1, 2, buildTrilu, rowsNever, false},
	"ReverseSequence": {2, 2, buildReverseSequence, rowsNever, false},
}

func buildConcat(n *node) (kernel, error) {
	axis := int(n.int("axis", 1))
	if !n.has("axis") && n.opset >= 4 {
		return nil, errors.New("attribute \"axis\" is missing")
	}
	return func(r *run, in, out []*Tensor) error {
		first := in[0]
		a, err := axisOf(axis, len(first.Dims))
		if err != nil {
			return err
		}
		dims := slices.Clone(first.Dims)
		dims[a] = 0
		for _, t := range in {
			if t == nil || t.Type != first.Type {
				return errTypes
			}
			if len(t.Dims) != len(dims) {
				return errors.New("its inputs have shapes of different lengths")
			}
			for i, d := range t.Dims {
				if i != a && d != first.Dims[i] {
					return fmt.Errorf("the shapes %s and %s do not fit together",
						shapeText(first.Dims), shapeText(t.Dims))
				}
			}
			dims[a] += t.Dims[a]
		}
		o, err := r.alloc(first.Type, dims)
		if err != nil {
			return err
		}
		out[0] = o
		outer, inner, at := product(dims[:a]), product(dims[a+1:]), 0
		for _, t := range in {
			n := t.Dims[a] * inner
			for x := range outer {
				t.copyTo(o, x*dims[a]*inner+at, x*n, n)
			}
			at += n
			if err := r.tick(outer*(n+1) + 1); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func buildSplit(n *node) (kernel, error) {
	axis, fixed := int(n.int("axis", 0)), n.ints("split")
	asInput := n.opset >= 13
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		a, err := axisOf(axis, len(t.Dims))
		if err != nil {
			return err
		}
		sizes := fixed
		if asInput && len(in) > 1 && in[1] != nil {
			if sizes, err = in[1].ints(); err != nil {
				return err
			}
		}
		if sizes == nil {
			sizes = equalParts(t.Dims[a], len(out))
		}
		sum := 0
		for _, s := range sizes {
			if s < 0 || s > t.Dims[a] {
				return errors.New("a part has a size that it cannot have")
			}
			sum += s
		}
		if sum != t.Dims[a] || len(sizes) != len(out) {
			return errors.New("the sizes of the parts do not add up to the axis")
		}
		steps, start := strides(t.Dims), 0
		for i, s := range sizes {
			dims := slices.Clone(t.Dims)
			dims[a] = s
			if out[i], err = r.alloc(t.Type, dims); err != nil {
				return err
			}
			if err := r.gather(t, out[i], steps, start*steps[a]); err != nil {
				return err
			}
			start += s
		}
		return nil
	}, nil
}

// equalParts are n parts of length; the last ones may be smaller.
func equalParts(length, n int) []int {
	each := (length + n - 1) / n
	out := make([]int, n)
	for i := range out {
		out[i] = min(each, length)
		length -= out[i]
	}
	return out
}

func buildSlice(n *node) (kernel, error) {
	starts, ends, axes := n.ints("starts"), n.ints("ends"), n.ints("axes")
	asInput := n.opset >= 10
	return func(r *run, in, out []*Tensor) error {
		s := slicing{starts: starts, ends: ends, axes: axes}
		if asInput {
			if len(in) < 3 {
				return errors.New("it lacks where to start and to end")
			}
			for i, to := range []*[]int{&s.starts, &s.ends, &s.axes, &s.steps} {
				if i+1 >= len(in) || in[i+1] == nil {
					continue
				}
				var err error
				if *to, err = in[i+1].ints(); err != nil {
					return err
				}
			}
		}
		o, err := s.apply(r, in[0])
		out[0] = o
		return err
	}, nil
}

// slicing is a part of a tensor: on some axes from a start to an end in steps.
type slicing struct{ starts, ends, axes, steps []int }

func (s *slicing) apply(r *run, t *Tensor) (*Tensor, error) {
	if s.axes == nil {
		s.axes = allAxes(len(s.starts))
	}
	if len(s.starts) != len(s.ends) || len(s.starts) != len(s.axes) || s.steps != nil && len(s.steps) != len(s.axes) {
		return nil, errors.New("starts, ends, axes and steps have different lengths")
	}
	dims, steps, start := slices.Clone(t.Dims), strides(t.Dims), 0
	seen := make([]bool, len(dims))
	for i, axis := range s.axes {
		a, err := axisOf(axis, len(dims))
		if err != nil {
			return nil, err
		}
		if seen[a] {
			return nil, fmt.Errorf("axis %d is named twice", a)
		}
		seen[a] = true
		step := 1
		if s.steps != nil {
			step = s.steps[i]
		}
		if step == 0 {
			return nil, errors.New("a step is zero")
		}
		from, n := slicePart(s.starts[i], s.ends[i], step, dims[a])
		start += from * steps[a]
		dims[a] = n
		if n > 1 {
			steps[a] *= step
		}
	}
	o, err := r.alloc(t.Type, dims)
	if err != nil {
		return nil, err
	}
	return o, r.gather(t, o, steps, start)
}

// slicePart is where a part of an axis of length d starts, and how many elements it has.
func slicePart(from, to, step, d int) (int, int) {
	clampTo := func(v, least, most int) int {
		if v < 0 && v != math.MinInt {
			v += d
		}
		return min(max(v, least), most)
	}
	if step > 0 {
		from, to = clampTo(from, 0, d), clampTo(to, 0, d)
		if to <= from {
			return 0, 0
		}
		return from, (to-from-1)/step + 1
	}
	from, to = clampTo(from, -1, d-1), clampTo(to, -1, d-1)
	if to >= from || d == 0 {
		return 0, 0
	}
	if step == math.MinInt {
		return from, 1
	}
	return from, (from-to-1)/-step + 1
}

func buildTile(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		times, err := in[1].ints()
		if err != nil {
			return err
		}
		if len(times) != len(t.Dims) {
			return errors.New("it needs one number of repeats for each axis")
		}
		// Axis i becomes two: how often, and the axis itself.
		split, steps, dims := make([]int, 0, 2*len(times)), make([]int, 0, 2*len(times)), make([]int, len(times))
		for i, s := range strides(t.Dims) {
			if times[i] < 0 || t.Dims[i] > 0 && times[i] > maxElems/t.Dims[i] {
				return errors.New("a number of repeats is negative or too large")
			}
			split, steps, dims[i] = append(split, times[i], t.Dims[i]), append(steps, 0, s), times[i]*t.Dims[i]
		}
		o, err := r.alloc(t.Type, dims)
		if err != nil {
			return err
		}
		out[0] = o
		apart := *o
		apart.Dims = split
		return r.gather(t, &apart, steps, 0)
	}, nil
}

func buildTrilu(n *node) (kernel, error) {
	upper := n.int("upper", 1) != 0
	return func(r *run, in, out []*Tensor) error {
		t, k := in[0], int64(0)
		if len(in) > 1 && in[1] != nil {
			if !isInt(in[1].Type) || in[1].Len() != 1 {
				return errors.New("its diagonal is not a single whole number")
			}
			k = in[1].int(0)
		}
		if len(t.Dims) < 2 {
			return errors.New("its input is not a matrix")
		}
		o, err := r.zeros(t.Type, t.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		rows, cols := t.Dims[len(t.Dims)-2], t.Dims[len(t.Dims)-1]
		for x := range product(t.Dims[:len(t.Dims)-1]) {
			// The row keeps columns from i+k on, or up to it.
			edge := int64(x%rows) + min(max(k, -int64(rows)-1), int64(cols)+1)
			from, to := int(min(max(edge, 0), int64(cols))), cols
			if !upper {
				from, to = 0, int(min(max(edge+1, 0), int64(cols)))
			}
			t.copyTo(o, x*cols+from, x*cols+from, to-from)
			if err := r.tick(cols + 1); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func buildReverseSequence(n *node) (kernel, error) {
	batchAxis, timeAxis := int(n.int("batch_axis", 1)), int(n.int("time_axis", 0))
	if batchAxis+timeAxis != 1 || batchAxis < 0 || timeAxis < 0 {
		return nil, errors.New("its axes are not 0 and 1")
	}
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if len(t.Dims) < 2 {
			return errors.New("its input has fewer than two axes")
		}
		lens, err := in[1].ints()
		if err != nil {
			return err
		}
		if len(lens) != t.Dims[batchAxis] {
			return errors.New("it needs one length for each sequence")
		}
		o, err := r.alloc(t.Type, t.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		inner, steps := product(t.Dims[2:]), strides(t.Dims)
		for b, n := range lens {
			if n < 0 || n > t.Dims[timeAxis] {
				return errors.New("a length is longer than its sequence")
			}
			for i := range t.Dims[timeAxis] {
				from := i
				if i < n {
					from = n - 1 - i
				}
				base := b * steps[batchAxis]
				t.copyTo(o, base+i*steps[timeAxis], base+from*steps[timeAxis], inner)
			}
			if err := r.tick(t.Dims[timeAxis]*inner + 1); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
