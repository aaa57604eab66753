package ml

import (
	"errors"
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// control are the operators that hold graphs: If, Loop and Scan.
func (c *compiler) control(op string) (operator, func(*node) (kernel, []string, error)) {
	switch op {
	case "If":
		return operator{least: 1, most: 1, costly: true}, c.buildIf
	case "Loop":
		return operator{least: 0, most: anyInputs, costly: true}, c.buildLoop
	case "Scan":
		return operator{least: 1, most: anyInputs, costly: true}, c.buildScan
	}
	return operator{}, nil
}

// inner compiles the graph in an attribute.
func (c *compiler) inner(n *node, name string) (*program, *onnx.Graph, error) {
	a := n.attr(name, onnx.AttrGraph)
	if a == nil || a.G == nil {
		return nil, nil, fmt.Errorf("attribute %q is missing", name)
	}
	want := make([]string, len(a.G.Outputs))
	for i, o := range a.G.Outputs {
		want[i] = o.Name
	}
	p, err := c.compile(a.G, want, true)
	return p, a.G, err
}

func (c *compiler) buildIf(n *node) (kernel, []string, error) {
	yes, _, err := c.inner(n, "then_branch")
	if err != nil {
		return nil, nil, err
	}
	no, _, err := c.inner(n, "else_branch")
	if err != nil {
		return nil, nil, err
	}
	if len(yes.outputs) != len(n.Outputs) || len(no.outputs) != len(n.Outputs) ||
		len(yes.inputs)+len(no.inputs) > 0 {
		return nil, nil, errors.New("a branch has other inputs or outputs than the node")
	}
	cut := 1 + len(yes.captured)
	k := func(r *run, in, out []*Tensor) error {
		cond, err := condition(in[0])
		if err != nil {
			return err
		}
		branch, captured := yes, in[1:cut]
		if !cond {
			branch, captured = no, in[cut:]
		}
		res, err := r.exec(branch, nil, captured)
		copy(out, res)
		return err
	}
	return k, append(append([]string{}, yes.captured...), no.captured...), nil
}

// condition is the single bool of t.
func condition(t *Tensor) (bool, error) {
	if t == nil || t.Type != onnx.Bool || len(t.U8) != 1 {
		return false, errors.New("a condition is not a single bool")
	}
	return t.U8[0] != 0, nil
}

// scalarBool and scalarInt make the scalars that a loop passes to its body.
func scalarBool(b bool) *Tensor {
	return &Tensor{Type: onnx.Bool, Dims: []int{}, U8: []uint8{truth(b)}}
}

func scalarInt(v int64) *Tensor { return &Tensor{Type: onnx.Int64, Dims: []int{}, I64: []int64{v}} }

func (c *compiler) buildLoop(n *node) (kernel, []string, error) {
	body, _, err := c.inner(n, "body")
	if err != nil {
		return nil, nil, err
	}
	carried := max(len(n.Inputs)-2, 0)
	scans := len(body.outputs) - 1 - carried
	if len(body.inputs) != carried+2 || scans < 0 || len(n.Outputs) > carried+scans {
		return nil, nil, errors.New("the body has other inputs or outputs than the node")
	}
	given := len(n.Inputs)
	k := func(r *run, in, out []*Tensor) error {
		trips, cond := int64(math.MaxInt64), true
		var err error
		if given > 0 && in[0] != nil {
			if in[0].Type != onnx.Int64 || len(in[0].I64) != 1 {
				return errors.New("the number of turns is not a single int64")
			}
			trips = in[0].I64[0]
		}
		if given > 1 && in[1] != nil {
			if cond, err = condition(in[1]); err != nil {
				return err
			}
		}
		l := &loop{r: r, body: body, captured: in[given:], scans: make([][]*Tensor, scans)}
		if given > 2 {
			if err := l.start(in[2:given]); err != nil {
				return err
			}
		}
		for i := int64(0); i < trips && cond; i++ {
			if cond, err = l.turn(i, cond); err != nil {
				return err
			}
		}
		return l.finish(out)
	}
	return k, body.captured, nil
}

// loop is the state of a running Loop.
type loop struct {
	r        *run
	body     *program
	captured []*Tensor
	state    []*Tensor   // one use of each
	scans    [][]*Tensor // one use of each
}

func (l *loop) start(carried []*Tensor) error {
	for _, t := range carried {
		if t == nil {
			return errors.New("a carried value is missing")
		}
		own(t)
		l.state = append(l.state, t)
	}
	return nil
}

func (l *loop) turn(i int64, cond bool) (bool, error) {
	if err := l.r.turn(); err != nil {
		return false, err
	}
	args := append([]*Tensor{scalarInt(i), scalarBool(cond)}, l.state...)
	res, err := l.r.exec(l.body, args, l.captured)
	if err != nil {
		return false, err
	}
	next, err := condition(res[0])
	if err != nil {
		return false, err
	}
	for _, t := range l.state {
		l.r.release(t)
	}
	n := len(l.state)
	l.state = append(l.state[:0], res[1:1+n]...)
	for j, t := range res[1+n:] {
		l.scans[j] = append(l.scans[j], t)
	}
	return next, nil
}

func (l *loop) finish(out []*Tensor) error {
	n := copy(out, l.state)
	for j, list := range l.scans {
		if n+j >= len(out) {
			break
		}
		t, err := l.r.stack(list)
		if err != nil {
			return err
		}
		out[n+j] = t
	}
	for _, list := range l.scans {
		for _, t := range list {
			l.r.release(t)
		}
	}
	return nil
}

// stack puts tensors of one shape below each other along a new first axis.
func (r *run) stack(list []*Tensor) (*Tensor, error) {
	if len(list) == 0 {
		return r.alloc(onnx.Float, []int{0})
	}
	first := list[0]
	out, err := r.alloc(first.Type, append([]int{len(list)}, first.Dims...))
	if err != nil {
		return nil, err
	}
	n := first.Len()
	for i, t := range list {
		if t.Type != first.Type || !sameDims(t.Dims, first.Dims) {
			return nil, errors.New("the turns of a loop give tensors of different shapes")
		}
		t.copyTo(out, i*n, 0, n)
	}
	return out, nil
}

func (c *compiler) buildScan(n *node) (kernel, []string, error) {
	body, _, err := c.inner(n, "body")
	if err != nil {
		return nil, nil, err
	}
	s := &scan{body: body, given: len(n.Inputs), scanned: int(n.int("num_scan_inputs", 0))}
	s.inAxes, s.inBack = n.ints("scan_input_axes"), n.ints("scan_input_directions")
	s.outAxes, s.outBack = n.ints("scan_output_axes"), n.ints("scan_output_directions")
	s.states = s.given - s.scanned
	if n.opset < 9 {
		return nil, nil, errors.New("version 8 of Scan is not supported")
	}
	if s.scanned < 1 || s.states < 0 || len(body.inputs) != s.given || len(body.outputs) < s.states ||
		len(n.Outputs) > len(body.outputs) {
		return nil, nil, errors.New("the body has other inputs or outputs than the node")
	}
	return s.run, body.captured, n.err
}

// scan is a Scan: the body runs for each slice of the scanned inputs.
type scan struct {
	body                             *program
	given, scanned, states           int
	inAxes, inBack, outAxes, outBack []int
}

func at(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return 0
}

func (s *scan) run(r *run, in, out []*Tensor) error {
	l := &loop{r: r, body: s.body, captured: in[s.given:], scans: make([][]*Tensor, len(s.body.outputs)-s.states)}
	if err := l.start(in[:s.states]); err != nil {
		return err
	}
	turns := -1
	axes := make([]int, s.scanned)
	for j, t := range in[s.states:s.given] {
		if t == nil {
			return errors.New("a scanned value is missing")
		}
		axis, err := axisOf(at(s.inAxes, j), len(t.Dims))
		if err != nil {
			return err
		}
		axes[j] = axis
		if turns < 0 {
			turns = t.Dims[axis]
		}
		if t.Dims[axis] != turns {
			return errors.New("the scanned values have different lengths")
		}
	}
	for i := range turns {
		if err := s.turn(l, in[s.states:s.given], axes, i, turns); err != nil {
			return err
		}
	}
	return s.finish(l, out)
}

func (s *scan) turn(l *loop, scanned []*Tensor, axes []int, i, turns int) error {
	if err := l.r.turn(); err != nil {
		return err
	}
	args := append([]*Tensor{}, l.state...)
	for j, t := range scanned {
		k := i
		if at(s.inBack, j) == 1 {
			k = turns - 1 - i
		}
		part, err := l.r.pick(t, axes[j], k)
		if err != nil {
			return err
		}
		args = append(args, part)
	}
	res, err := l.r.exec(s.body, args, l.captured)
	if err != nil {
		return err
	}
	for _, t := range args { // the states of before and the slices
		l.r.release(t)
	}
	l.state = append(l.state[:0], res[:s.states]...)
	for j, t := range res[s.states:] {
		l.scans[j] = append(l.scans[j], t)
	}
	return nil
}

func (s *scan) finish(l *loop, out []*Tensor) error {
	for j, list := range l.scans {
		if at(s.outBack, j) == 1 {
			for a, b := 0, len(list)-1; a < b; a, b = a+1, b-1 {
				list[a], list[b] = list[b], list[a]
			}
		}
	}
	if err := l.finish(out); err != nil {
		return err
	}
	for j, want := range s.outAxes {
		i := s.states + j
		if i >= len(out) || want == 0 {
			continue
		}
		axis, err := axisOf(want, len(out[i].Dims))
		if err != nil {
			return err
		}
		perm := make([]int, 0, len(out[i].Dims))
		for a := 1; a < len(out[i].Dims); a++ {
			perm = append(perm, a)
		}
		perm = append(perm[:axis], append([]int{0}, perm[axis:]...)...)
		t, err := l.r.transpose(out[i], perm)
		if err != nil {
			return err
		}
		l.r.release(out[i])
		out[i] = t
	}
	return nil
}

// pick is the slice i of t along an axis, without that axis.
func (r *run) pick(t *Tensor, axis, i int) (*Tensor, error) {
	dims := append(append([]int{}, t.Dims[:axis]...), t.Dims[axis+1:]...)
	out, err := r.alloc(t.Type, dims)
	if err != nil {
		return nil, err
	}
	outer, inner := product(t.Dims[:axis]), product(t.Dims[axis+1:])
	for o := range outer {
		t.copyTo(out, o*inner, (o*t.Dims[axis]+i)*inner, inner)
	}
	return out, nil
}
