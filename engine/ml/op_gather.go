package ml

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// lookups are the operators that pick elements by their places, and put them there.
var lookups = map[string]operator{
	"Gather":          {2, 2, buildGather, rowsGather, false},
	"GatherElements":  {2, 2, buildGatherElements, rowsNever, false},
	"GatherND":        {2, 2, buildGatherND, rowsNever, false},
	"ScatterElements": {3, 3, buildScatterElements, rowsNever, false},
	"Scatter":         {3, 3, buildScatterElements, rowsNever, false},
	"ScatterND":       {3, 3, buildScatterND, rowsNever, false},
	"Compress":        {2, 2, buildCompress, rowsNever, false},
	"NonZero":         {1, 1, buildNonZero, rowsNever, false},
	"Unique":          {1, 1, buildUnique, rowsNever, false},
}

// place is element i of indices, counted from the end of an axis of length d if it is negative.
func place(indices *Tensor, i, d int) (int, error) {
	v := indices.I64[i]
	if v < -int64(d) || v >= int64(d) {
		return 0, fmt.Errorf("index %d is outside an axis of length %d", v, d)
	}
	if v < 0 {
		v += int64(d)
	}
	return int(v), nil
}

func checkIndices(t *Tensor) error {
	if t.Type != onnx.Int64 && t.Type != onnx.Int32 {
		return errors.New("its indices are not int32 or int64")
	}
	return nil
}

func buildGather(n *node) (kernel, error) {
	axis := int(n.int("axis", 0))
	return func(r *run, in, out []*Tensor) error {
		t, idx := in[0], in[1]
		if err := checkIndices(idx); err != nil {
			return err
		}
		a, err := axisOf(axis, len(t.Dims))
		if err != nil {
			return err
		}
		dims := slices.Concat(t.Dims[:a], idx.Dims, t.Dims[a+1:])
		o, err := r.alloc(t.Type, orEmpty(dims))
		if err != nil {
			return err
		}
		out[0] = o
		outer, d, inner := product(t.Dims[:a]), t.Dims[a], product(t.Dims[a+1:])
		places := make([]int, len(idx.I64))
		for i := range places {
			if places[i], err = place(idx, i, d); err != nil {
				return err
			}
		}
		for x := range outer {
			for i, p := range places {
				t.copyTo(o, (x*len(places)+i)*inner, (x*d+p)*inner, inner)
			}
			if err := r.tick(len(places)*(inner+2) + 1); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// along calls fn for each index of a tensor of indices: its number, and the place in t where it points along an axis.
func along(r *run, t, idx *Tensor, axis int, fn func(i, at int)) error {
	if err := checkIndices(idx); err != nil {
		return err
	}
	if len(idx.Dims) != len(t.Dims) {
		return errors.New("its indices have a shape of another length")
	}
	a, err := axisOf(axis, len(t.Dims))
	if err != nil {
		return err
	}
	for i, d := range idx.Dims {
		if i != a && d > t.Dims[i] {
			return errors.New("its indices have a shape that does not fit")
		}
	}
	steps := strides(t.Dims)
	along := steps[a]
	steps[a] = 0
	at, o := []int{0}, odometer{dims: idx.Dims, count: make([]int, len(idx.Dims))}
	all := [][]int{steps}
	for i := range idx.I64 {
		p, err := place(idx, i, t.Dims[a])
		if err != nil {
			return err
		}
		fn(i, at[0]+p*along)
		o.next(at, all, 0)
		if err := r.tick(4); err != nil {
			return err
		}
	}
	return nil
}

func buildGatherElements(n *node) (kernel, error) {
	axis := int(n.int("axis", 0))
	return func(r *run, in, out []*Tensor) error {
		t, idx := in[0], in[1]
		o, err := r.alloc(t.Type, idx.Dims)
		if err != nil {
			return err
		}
		out[0] = o
		return along(r, t, idx, axis, func(i, at int) { t.copyTo(o, i, at, 1) })
	}, nil
}

// tuples are indices of several axes at once: the last axis of a tensor holds a place.
type tuples struct {
	idx          *Tensor
	n, width     int // how many, and how many axes each names
	dims, steps  []int
	inner        int // elements at each place
	batch, space int // leading axes that both share: how many elements there are in each
}

func tuplesOf(t, idx *Tensor, batchDims int) (*tuples, error) {
	if err := checkIndices(idx); err != nil {
		return nil, err
	}
	if len(idx.Dims) == 0 || batchDims < 0 || batchDims >= len(idx.Dims) || batchDims > len(t.Dims) ||
		!sameDims(t.Dims[:batchDims], idx.Dims[:batchDims]) {
		return nil, errors.New("its indices have a shape that does not fit")
	}
	k := idx.Dims[len(idx.Dims)-1]
	rest := t.Dims[batchDims:]
	if k > len(rest) || k < 1 {
		return nil, errors.New("its indices name more axes than there are")
	}
	u := &tuples{idx: idx, width: k, n: product(idx.Dims[:len(idx.Dims)-1]), dims: rest[:k],
		steps: strides(rest)[:k], inner: product(rest[k:]), space: product(rest)}
	u.batch = max(u.n/max(product(idx.Dims[:batchDims]), 1), 1)
	return u, nil
}

// at is where tuple i points.
func (u *tuples) at(i int) (int, error) {
	at := i / u.batch * u.space
	for j := range u.width {
		p, err := place(u.idx, i*u.width+j, u.dims[j])
		if err != nil {
			return 0, err
		}
		at += p * u.steps[j]
	}
	return at, nil
}

func buildGatherND(n *node) (kernel, error) {
	batch := int(n.int("batch_dims", 0))
	return func(r *run, in, out []*Tensor) error {
		t, idx := in[0], in[1]
		u, err := tuplesOf(t, idx, batch)
		if err != nil {
			return err
		}
		dims := slices.Concat(idx.Dims[:len(idx.Dims)-1], t.Dims[batch+u.width:])
		o, err := r.alloc(t.Type, orEmpty(dims))
		if err != nil {
			return err
		}
		out[0] = o
		for i := range u.n {
			at, err := u.at(i)
			if err != nil {
				return err
			}
			t.copyTo(o, i*u.inner, at, u.inner)
			if err := r.tick(u.inner + 2); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// combine puts element i of s at place at of o: in its stead or together with it.
func combine(how string, o *Tensor, at int, s *Tensor, i int) {
	if how == "none" {
		s.copyTo(o, at, i, 1)
		return
	}
	if isFloat(o.Type) {
		o.setFloat(at, reduced(how, o.float(at), s.float(i)))
		return
	}
	o.setInt(at, reduced(how, o.int(at), s.int(i)))
}

// reduced is a and b put together as a reduction of ScatterElements and ScatterND says.
func reduced[T float64 | int64](how string, a, b T) T {
	switch how {
	case "add":
		return a + b
	case "mul":
		return a * b
	case "max":
		return max(a, b)
	case "min":
		return min(a, b)
	}
	return a
}

func reductionOf(n *node) (string, error) {
	how := n.text("reduction", "none")
	return how, oneOf("reduction", how, "none", "add", "mul", "max", "min")
}

// copied is a copy of t to change.
func (r *run) copied(t *Tensor) (*Tensor, error) {
	o, err := r.alloc(t.Type, t.Dims)
	if err == nil {
		t.copyTo(o, 0, 0, t.Len())
	}
	return o, err
}

func buildScatterElements(n *node) (kernel, error) {
	axis := int(n.int("axis", 0))
	how, err := reductionOf(n)
	if err != nil {
		return nil, err
	}
	return func(r *run, in, out []*Tensor) error {
		t, idx, s := in[0], in[1], in[2]
		if s.Type != t.Type || how != "none" && !isFloat(t.Type) && !isInt(t.Type) {
			return errTypes
		}
		if !sameDims(idx.Dims, s.Dims) {
			return errors.New("its updates have another shape than its indices")
		}
		o, err := r.copied(t)
		if err != nil {
			return err
		}
		out[0] = o
		return along(r, t, idx, axis, func(i, at int) { combine(how, o, at, s, i) })
	}, nil
}

func buildScatterND(n *node) (kernel, error) {
	how, err := reductionOf(n)
	if err != nil {
		return nil, err
	}
	return func(r *run, in, out []*Tensor) error {
		t, s := in[0], in[2]
		if s.Type != t.Type || how != "none" && !isFloat(t.Type) && !isInt(t.Type) {
			return errTypes
		}
		u, err := tuplesOf(t, in[1], 0)
		if err != nil {
			return err
		}
		if s.Len() != u.n*u.inner {
			return errors.New("its updates have a shape that does not fit its indices")
		}
		o, err := r.copied(t)
		if err != nil {
			return err
		}
		out[0] = o
		for i := range u.n {
			at, err := u.at(i)
			if err != nil {
				return err
			}
			for j := range u.inner {
				combine(how, o, at+j, s, i*u.inner+j)
			}
			if err := r.tick(2 * (u.inner + 1)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func buildCompress(n *node) (kernel, error) {
	axis, flat := int(n.int("axis", 0)), !n.has("axis")
	return func(r *run, in, out []*Tensor) error {
		t, cond := in[0], in[1]
		if cond.Type != onnx.Bool || len(cond.Dims) != 1 {
			return errors.New("its condition is not a list of bools")
		}
		dims, a := t.Dims, 0
		if flat {
			dims = []int{t.Len()}
		} else {
			var err error
			if a, err = axisOf(axis, len(dims)); err != nil {
				return err
			}
		}
		var keep []int
		for i, c := range cond.U8 {
			if c != 0 && i < dims[a] {
				keep = append(keep, i)
			}
		}
		odims := slices.Clone(dims)
		odims[a] = len(keep)
		o, err := r.alloc(t.Type, odims)
		if err != nil {
			return err
		}
		out[0] = o
		inner := product(dims[a+1:])
		for x := range product(dims[:a]) {
			for i, k := range keep {
				t.copyTo(o, (x*len(keep)+i)*inner, (x*dims[a]+k)*inner, inner)
			}
			if err := r.tick(len(keep)*(inner+1) + 1); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func buildNonZero(*node) (kernel, error) {
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if t.Str != nil {
			return notFor(t.Type)
		}
		n := 0
		for i := range t.Len() {
			if t.float(i) != 0 {
				n++
			}
		}
		rank := len(t.Dims)
		o, err := r.alloc(onnx.Int64, []int{rank, n})
		if err != nil {
			return err
		}
		out[0] = o
		steps, k := strides(t.Dims), 0
		for i := range t.Len() {
			if t.float(i) == 0 {
				continue
			}
			for a, s := range steps {
				o.I64[a*n+k] = int64(i / s % t.Dims[a])
			}
			k++
		}
		return r.tick(4 * t.Len())
	}, nil
}

func buildUnique(n *node) (kernel, error) {
	sorted := n.int("sorted", 1) != 0
	if n.has("axis") {
		return nil, errors.New("an axis is not supported")
	}
	return func(r *run, in, out []*Tensor) error {
		t := in[0]
		if t.Str != nil || t.Type == onnx.Bool {
			return notFor(t.Type)
		}
		if err := r.hold(int64(t.Len()) * 40); err != nil {
			return err
		}
		defer func() { r.held -= int64(t.Len()) * 40 }()
		order := allAxes(t.Len())
		sort.SliceStable(order, func(i, j int) bool { return t.order(order[i], order[j]) < 0 })
		var first, count []int // by value in order
		inverse := make([]int, t.Len())
		for i, k := range order {
			if i == 0 || t.order(order[i-1], k) != 0 {
				first, count = append(first, k), append(count, 0)
			}
			count[len(count)-1]++
			inverse[k] = len(first) - 1
		}
		if !sorted {
			first, count, inverse = byFirst(first, count, inverse)
		}
		if err := r.tick(16 * t.Len()); err != nil {
			return err
		}
		return r.uniqueOut(t, out, first, count, inverse)
	}, nil
}

// byFirst orders values by where they stand first.
func byFirst(first, count, inverse []int) ([]int, []int, []int) {
	perm, rank := allAxes(len(first)), make([]int, len(first))
	sort.Slice(perm, func(i, j int) bool { return first[perm[i]] < first[perm[j]] })
	f, c := make([]int, len(first)), make([]int, len(first))
	for i, p := range perm {
		f[i], c[i], rank[p] = first[p], count[p], i
	}
	for i, v := range inverse {
		inverse[i] = rank[v]
	}
	return f, c, inverse
}

func (r *run) uniqueOut(t *Tensor, out []*Tensor, first, count, inverse []int) error {
	o, err := r.alloc(t.Type, []int{len(first)})
	if err != nil {
		return err
	}
	out[0] = o
	for i, k := range first {
		t.copyTo(o, i, k, 1)
	}
	for i, list := range [][]int{first, inverse, count} {
		if i+1 >= len(out) {
			break
		}
		if out[i+1], err = r.alloc(onnx.Int64, []int{len(list)}); err != nil {
			return err
		}
		for j, v := range list {
			out[i+1].I64[j] = int64(v)
		}
	}
	return nil
}
