package ml

import (
	"errors"
	"math"
	"sort"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// reductions make one value of many.
var reductions = map[string]operator{
	"ReduceSum":       {1, 2, reduction(reduceSum, func(a, b int64) int64 { return a + b }, 0, 13), rowsReduce, false},
	"ReduceMean":      {1, 2, reduction(reduceMean, nil, 0, 18), rowsReduce, false},
	"ReduceMax":       {1, 2, reduction(reduceMax, maxInt, math.MinInt64, 18), rowsReduce, false},
	"ReduceMin":       {1, 2, reduction(reduceMin, minInt, math.MaxInt64, 18), rowsReduce, false},
	"ReduceProd":      {1, 2, reduction(reduceProd, func(a, b int64) int64 { return a * b }, 1, 18), rowsReduce, false},
	"ReduceL1":        {1, 2, reduction(reduceL1, addSize, 0, 18), rowsReduce, false},
	"ReduceL2":        {1, 2, reduction(reduceL2, nil, 0, 18), rowsReduce, false},
	"ReduceSumSquare": {1, 2, reduction(reduceSumSquare, addSquare, 0, 18), rowsReduce, false},
	"ReduceLogSum":    {1, 2, reduction(reduceLogSum, nil, 0, 18), rowsReduce, false},
	"ReduceLogSumExp": {1, 2, reduction(reduceLogSumExp, nil, 0, 18), rowsReduce, false},

	"ArgMax": {1, 1, buildArg(true), rowsAxisDrop, false},
	"ArgMin": {1, 1, buildArg(false), rowsAxisDrop, false},
	"TopK":   {1, 2, buildTopK, rowsAxisFirst, false},
	"CumSum": {2, 2, buildCumSum, rowsNever, false},
}

func reduceSum(s []float64) float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum
}

func reduceLogSum(s []float64) float64 { return math.Log(reduceSum(s)) }

func addSquare(a, b int64) int64 { return a + b*b }

func addSize(a, b int64) int64 { return a + max(b, -b) }

func reduceMean(s []float64) float64 { return reduceSum(s) / float64(len(s)) }

func reduceMax(s []float64) float64 {
	m := math.Inf(-1)
	for _, v := range s {
		m = max(m, v)
	}
	return m
}

func reduceMin(s []float64) float64 {
	m := math.Inf(1)
	for _, v := range s {
		m = min(m, v)
	}
	return m
}

func reduceProd(s []float64) float64 {
	p := 1.0
	for _, v := range s {
		p *= v
	}
	return p
}

func reduceL1(s []float64) float64 {
	sum := 0.0
	for _, v := range s {
		sum += math.Abs(v)
	}
	return sum
}

func reduceSumSquare(s []float64) float64 {
	sum := 0.0
	for _, v := range s {
		sum += v * v
	}
	return sum
}

func reduceL2(s []float64) float64 { return math.Sqrt(reduceSumSquare(s)) }

func reduceLogSumExp(s []float64) float64 {
	m := reduceMax(s)
	if math.IsInf(m, 0) {
		return m
	}
	sum := 0.0
	for _, v := range s {
		sum += math.Exp(v - m)
	}
	return m + math.Log(sum)
}

// groups are the elements of a tensor, together by their places on the axes that stay.
type groups struct {
	kept, gone           []int // sizes
	keptSteps, goneSteps []int
	keepDims             []int // shape with the axes that went as 1
}

// groupsOf takes axes away from dims.
func groupsOf(dims, axes []int) (*groups, error) {
	g, out := &groups{}, make([]bool, len(dims))
	for _, a := range axes {
		a, err := axisOf(a, len(dims))
		if err != nil {
			return nil, err
		}
		out[a] = true
	}
	for i, s := range strides(dims) {
		if out[i] {
			g.gone, g.goneSteps = append(g.gone, dims[i]), append(g.goneSteps, s)
			g.keepDims = append(g.keepDims, 1)
			continue
		}
		g.kept, g.keptSteps = append(g.kept, dims[i]), append(g.keptSteps, s)
		g.keepDims = append(g.keepDims, dims[i])
	}
	return g, nil
}

// each calls fn for each group with the places of its elements.
func (g *groups) each(r *run, fn func(i int, at []int) error) error {
	inner := product(g.gone)
	if err := r.hold(int64(inner) * 8); err != nil {
		return err
	}
	defer func() { r.held -= int64(inner) * 8 }()
	list, base := make([]int, inner), []int{0}
	outer := odometer{dims: g.kept, count: make([]int, len(g.kept))}
	in := odometer{dims: g.gone, count: make([]int, len(g.gone))}
	outerSteps, innerSteps := [][]int{g.keptSteps}, [][]int{g.goneSteps}
	for i := range product(g.kept) {
		at := []int{base[0]}
		for j := range list {
			list[j] = at[0]
			in.next(at, innerSteps, 0)
		}
		if err := fn(i, list); err != nil {
			return err
		}
		outer.next(base, outerSteps, 0)
		if err := r.tick(2*inner + 1); err != nil {
			return err
		}
	}
	return nil
}

// reduction builds a reduction. From version since on the axes are an input.
func reduction(f func([]float64) float64, whole func(a, b int64) int64, start int64, since int) builder {
	return func(n *node) (kernel, error) {
		fixed, keep := n.ints("axes"), n.int("keepdims", 1) != 0
		noop := n.int("noop_with_empty_axes", 0) != 0
		asInput := n.opset >= since
		return func(r *run, in, out []*Tensor) error {
			axes := fixed
			if asInput && len(in) > 1 && in[1] != nil {
				var err error
				if axes, err = in[1].ints(); err != nil {
					return err
				}
			}
			t := in[0]
			if !isFloat(t.Type) && !isInt(t.Type) {
				return notFor(t.Type)
			}
			if len(axes) == 0 {
				if noop {
					out[0] = r.view(t, t.Dims)
					return nil
				}
				axes = allAxes(len(t.Dims))
			}
			o, err := r.reduce(t, axes, keep, f, whole, start)
			out[0] = o
			return err
		}, nil
	}
}

func allAxes(rank int) []int {
	out := make([]int, rank)
	for i := range out {
		out[i] = i
	}
	return out
}

func (r *run) reduce(t *Tensor, axes []int, keep bool, f func([]float64) float64, whole func(a, b int64) int64,
	start int64) (*Tensor, error) {
	g, err := groupsOf(t.Dims, axes)
	if err != nil {
		return nil, err
	}
	dims := g.kept
	if keep {
		dims = g.keepDims
	}
	o, err := r.alloc(t.Type, orEmpty(dims))
	if err != nil {
		return nil, err
	}
	line := make([]float64, product(g.gone))
	return o, g.each(r, func(i int, at []int) error {
		if whole != nil && !isFloat(t.Type) {
			acc := start
			for _, j := range at {
				acc = whole(acc, t.int(j))
			}
			o.setInt(i, acc)
			return nil
		}
		for k, j := range at {
			line[k] = t.float(j)
		}
		o.setFloat(i, f(line))
		return nil
	})
}

func buildArg(largest bool) builder {
	return func(n *node) (kernel, error) {
		axis, keep, last := int(n.int("axis", 0)), n.int("keepdims", 1) != 0, n.int("select_last_index", 0) != 0
		return func(r *run, in, out []*Tensor) error {
			t := in[0]
			if !isFloat(t.Type) && !isInt(t.Type) {
				return notFor(t.Type)
			}
			a, err := axisOf(axis, len(t.Dims))
			if err != nil {
				return err
			}
			if t.Dims[a] == 0 {
				return errors.New("it looks for the best of no elements")
			}
			dims := append([]int{}, t.Dims...)
			dims[a] = 1
			if !keep {
				dims = append(dims[:a], dims[a+1:]...)
			}
			o, err := r.alloc(onnx.Int64, dims)
			if err != nil {
				return err
			}
			out[0] = o
			l := lines{product(t.Dims[:a]), t.Dims[a], product(t.Dims[a+1:])}
			for x := range l.outer * l.inner {
				at := x/l.inner*l.length*l.inner + x%l.inner
				best := 0
				for i := 1; i < l.length; i++ {
					c := t.order(at+i*l.inner, at+best*l.inner)
					if !largest {
						c = -c
					}
					if c > 0 || c == 0 && last {
						best = i
					}
				}
				o.I64[x] = int64(best)
				if err := r.tick(2 * l.length); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
}

// order compares two elements of t: 1 if element i is larger than element j.
func (t *Tensor) order(i, j int) int {
	if isFloat(t.Type) || t.Type == onnx.Uint64 {
		a, b := t.float(i), t.float(j)
		switch {
		case a > b:
			return 1
		case a < b:
			return -1
		}
		return 0
	}
	a, b := t.int(i), t.int(j)
	switch {
	case a > b:
		return 1
	case a < b:
		return -1
	}
	return 0
}

func buildTopK(n *node) (kernel, error) {
	axis, largest := int(n.int("axis", -1)), n.int("largest", 1) != 0
	fixed := int(n.int("k", -1))
	asInput := n.opset >= 10
	return func(r *run, in, out []*Tensor) error {
		t, k := in[0], fixed
		if asInput {
			if len(in) < 2 {
				return errors.New("it lacks the number of elements")
			}
			ks, err := in[1].ints()
			if err != nil || len(ks) != 1 {
				return errors.New("the number of elements is not a single int64")
			}
			k = ks[0]
		}
		if !isFloat(t.Type) && !isInt(t.Type) {
			return notFor(t.Type)
		}
		a, err := axisOf(axis, len(t.Dims))
		if err != nil {
			return err
		}
		if k < 0 || k > t.Dims[a] {
			return errors.New("it asks for more elements than there are")
		}
		dims := append([]int{}, t.Dims...)
		dims[a] = k
		v, err := r.alloc(t.Type, dims)
		if err != nil {
			return err
		}
		out[0] = v
		at, err := r.alloc(onnx.Int64, dims)
		if err != nil {
			return err
		}
		if len(out) > 1 {
			out[1] = at
		} else {
			defer r.release(at)
		}
		return r.topK(t, v, at, lines{product(t.Dims[:a]), t.Dims[a], product(t.Dims[a+1:])}, k, largest)
	}, nil
}

func (r *run) topK(t, v, at *Tensor, l lines, k int, largest bool) error {
	if err := r.hold(int64(l.length) * 8); err != nil {
		return err
	}
	defer func() { r.held -= int64(l.length) * 8 }()
	order := make([]int, l.length)
	for x := range l.outer * l.inner {
		base := x/l.inner*l.length*l.inner + x%l.inner
		to := x/l.inner*k*l.inner + x%l.inner
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool {
			c := t.order(base+order[i]*l.inner, base+order[j]*l.inner)
			return c > 0 && largest || c < 0 && !largest
		})
		for i := range k {
			t.copyTo(v, to+i*l.inner, base+order[i]*l.inner, 1)
			at.I64[to+i*l.inner] = int64(order[i])
		}
		if err := r.tick(16 * l.length); err != nil {
			return err
		}
	}
	return nil
}

func buildCumSum(n *node) (kernel, error) {
	exclusive, reverse := n.int("exclusive", 0) != 0, n.int("reverse", 0) != 0
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		axes, err := in[1].ints()
		if err != nil || len(axes) != 1 {
			return errors.New("its axis is not a single whole number")
		}
		a, err := axisOf(axes[0], len(t.Dims))
		if err != nil {
			return err
		}
		if !isFloat(t.Type) && !isInt(t.Type) {
			return notFor(t.Type)
		}
		o, err := r.alloc(t.Type, t.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		l := lines{product(t.Dims[:a]), t.Dims[a], product(t.Dims[a+1:])}
		for x := range l.outer * l.inner {
			base := x/max(l.inner, 1)*l.length*l.inner + x%l.inner
			sum, sumInt := 0.0, int64(0)
			for i := range l.length {
				j := base + i*l.inner
				if reverse {
					j = base + (l.length-1-i)*l.inner
				}
				before, beforeInt := sum, sumInt
				if isFloat(t.Type) {
					sum += t.float(j)
				} else {
					sumInt += t.int(j)
				}
				switch {
				case isFloat(t.Type) && exclusive:
					o.setFloat(j, before)
				case isFloat(t.Type):
					o.setFloat(j, sum)
				case exclusive:
					o.setInt(j, beforeInt)
				default:
					o.setInt(j, sumInt)
				}
			}
			if err := r.tick(2 * l.length); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
