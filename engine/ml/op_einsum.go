package ml

import (
	"errors"
	"strings"
)

// einsum is a sum of products over named axes.
type einsum struct {
	inputs [][]string // names of the axes, "..." for those between
	output []string
	free   bool // the equation has no "->": the output is made of the names that stand once
}

var errEquation = errors.New("the equation does not fit the inputs")

func buildEinsum(n *node) (kernel, error) {
	e, err := parseEinsum(n.text("equation", ""))
	if err != nil {
		return nil, err
	}
	return e.run, nil
}

// maxEinsumAxes bounds the axes of an equation with those behind "...".
const maxEinsumAxes = 64

func parseEinsum(s string) (*einsum, error) {
	s = strings.ReplaceAll(s, " ", "")
	left, right, ok := strings.Cut(s, "->")
	e := &einsum{free: !ok}
	for part := range strings.SplitSeq(left, ",") {
		names, err := einsumNames(part)
		if err != nil {
			return nil, err
		}
		e.inputs = append(e.inputs, names)
	}
	var err error
	e.output, err = einsumNames(right)
	return e, err
}

func einsumNames(s string) ([]string, error) {
	var out []string
	for s != "" {
		switch c := s[0]; {
		case strings.HasPrefix(s, "..."):
			out, s = append(out, "..."), s[3:]
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			out, s = append(out, s[:1]), s[1:]
		default:
			return nil, errors.New("the equation has a character that it cannot have")
		}
		if len(out) > maxEinsumAxes {
			return nil, errors.New("the equation has too many axes")
		}
	}
	return out, nil
}

// axes gives the axes of an input by name; those behind "..." are named by their distance from its end.
func (e *einsum) axes(names []string, rank int) ([]string, error) {
	var out []string
	more := rank - len(names)
	for _, n := range names {
		if n == "..." {
			more++
		}
	}
	seen := false
	for _, n := range names {
		if n != "..." {
			out = append(out, n)
			continue
		}
		if seen || more < 0 {
			return nil, errEquation
		}
		seen = true
		for i := more; i > 0; i-- {
			out = append(out, "."+string(rune('0'+i)))
		}
	}
	if len(out) != rank || rank > maxEinsumAxes {
		return nil, errEquation
	}
	return out, nil
}

// run multiplies over all axes and sums over those that the output does not have.
func (e *einsum) run(r *run, in, out []*Tensor) error {
	if len(in) != len(e.inputs) {
		return errEquation
	}
	sizes, order, count := map[string]int{}, []string{}, map[string]int{}
	axes := make([][]string, len(in))
	for k, t := range in {
		if t == nil || !isFloat(t.Type) && !isInt(t.Type) || t.Type != in[0].Type {
			return errTypes
		}
		var err error
		if axes[k], err = e.axes(e.inputs[k], len(t.Dims)); err != nil {
			return err
		}
		for i, name := range axes[k] {
			old, ok := sizes[name]
			if !ok {
				order = append(order, name)
			}
			if d := t.Dims[i]; !ok || old == 1 {
				sizes[name] = d
			} else if d != old && d != 1 {
				return errEquation
			}
			count[name]++
		}
	}
	target, err := e.target(order, count)
	if err != nil {
		return err
	}
	return e.compute(r, in, out, axes, target, order, sizes)
}

// target are the axes of the output.
func (e *einsum) target(order []string, count map[string]int) ([]string, error) {
	var dots, out []string
	for _, n := range order {
		if n[0] == '.' {
			dots = append(dots, n)
		}
	}
	sortTexts(dots, true)
	if e.free {
		var single []string
		for _, n := range order {
			if n[0] != '.' && count[n] == 1 {
				single = append(single, n)
			}
		}
		sortTexts(single, false)
		return append(dots, single...), nil
	}
	seen := map[string]bool{}
	for _, n := range e.output {
		if seen[n] || n != "..." && count[n] == 0 {
			return nil, errEquation
		}
		seen[n] = true
		if n == "..." {
			out = append(out, dots...)
		} else {
			out = append(out, n)
		}
	}
	return out, nil
}

func sortTexts(list []string, down bool) {
	for i := range list {
		for j := i; j > 0 && (list[j] < list[j-1]) != down && list[j] != list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

func (e *einsum) compute(r *run, in, out []*Tensor, axes [][]string, target, order []string, sizes map[string]int,
) error {
	inTarget := map[string]bool{}
	var dims, sumDims []int
	for _, n := range target {
		inTarget[n] = true
		dims = append(dims, sizes[n])
	}
	all := append([]string{}, target...)
	for _, n := range order {
		if !inTarget[n] {
			all = append(all, n)
			sumDims = append(sumDims, sizes[n])
		}
	}
	if _, err := size(append(append([]int{}, dims...), sumDims...)); err != nil {
		return err
	}
	o, err := r.zeros(in[0].Type, orEmpty(dims))
	if err != nil {
		return err
	}
	out[0] = o
	steps := make([][]int, len(in))
	for k, t := range in {
		steps[k] = make([]int, len(all))
		for i, s := range strides(t.Dims) {
			if t.Dims[i] == 1 {
				continue
			}
			for a, n := range all {
				if n == axes[k][i] {
					steps[k][a] += s // an axis that stands twice walks along the diagonal
				}
			}
		}
	}
	return einsumSum(r, o, in, steps, dims, sumDims)
}

// einsumSum fills o: for each of its elements the sum over sumDims of the products.
func einsumSum(r *run, o *Tensor, in []*Tensor, steps [][]int, dims, sumDims []int) error {
	total, inner := product(dims), product(sumDims)
	from, sub := make([]int, len(in)), make([]int, len(in))
	whole := !isFloat(o.Type)
	outer := odometer{dims: dims, count: make([]int, len(dims))}
	turns := odometer{dims: sumDims, count: make([]int, len(sumDims))}
	for i := range total {
		copy(sub, from)
		sum, sumInt := 0.0, int64(0)
		for range inner {
			if whole {
				p := int64(1)
				for k, t := range in {
					p *= t.int(sub[k])
				}
				sumInt += p
			} else {
				p := 1.0
				for k, t := range in {
					p *= t.float(sub[k])
				}
				sum += p
			}
			turns.next(sub, steps, len(dims))
			if err := r.tick(4 * len(in)); err != nil {
				return err
			}
		}
		if whole {
			o.setInt(i, sumInt)
		} else {
			o.setFloat(i, sum)
		}
		outer.next(from, steps, 0)
		if err := r.tick(1); err != nil {
			return err
		}
	}
	return nil
}

// odometer counts through the places of a shape, the last axis first.
type odometer struct{ dims, count []int }

// next moves the places of several lists on by one; steps of axis i are at offset+i. After the last place it is back at
// the start.
func (o *odometer) next(at []int, steps [][]int, offset int) {
	for i := len(o.dims) - 1; i >= 0; i-- {
		o.count[i]++
		for k := range at {
			at[k] += steps[k][offset+i]
		}
		if o.count[i] < o.dims[i] {
			return
		}
		o.count[i] = 0
		for k := range at {
			at[k] -= steps[k][offset+i] * o.dims[i]
		}
	}
}
