package ml

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// recurrents are the layers that read a sequence step by step.
var recurrents = map[string]operator{
	"LSTM": {3, 8, buildRecurrent(4), rowsNever, true},
	"GRU":  {3, 6, buildRecurrent(3), rowsNever, true},
	"RNN":  {3, 6, buildRecurrent(1), rowsNever, true},
}

// recurrent is a recurrent layer of one or two directions.
type recurrent struct {
	gates      int // 4 of an LSTM, 3 of a GRU, 1 of an RNN
	directions int
	reverse    bool // the single direction reads from the end
	hidden     int
	clip       float64
	resetAfter bool // of a GRU: the reset gate works on the product
	coupled    bool // of an LSTM: the forget gate is 1 less the input gate
	layout     bool // the batch is the first axis
	acts       []func(float64) float64
}

func buildRecurrent(gates int) builder {
	return func(n *node) (kernel, error) {
		c := &recurrent{gates: gates, directions: 1, hidden: int(n.int("hidden_size", 0)),
			clip:       float64(n.float("clip", 0)),
			resetAfter: n.int("linear_before_reset", 0) != 0, coupled: n.int("input_forget", 0) != 0,
			layout: n.int("layout", 0) != 0}
		switch d := n.text("direction", "forward"); d {
		case "forward":
		case "reverse":
			c.reverse = true
		case "bidirectional":
			c.directions = 2
		default:
			return nil, fmt.Errorf("direction %q is not supported", d)
		}
		return c.run, c.activations(n)
	}
}

// activations sets the functions of each direction: one of an RNN, two of a GRU, three of an LSTM.
func (c *recurrent) activations(n *node) error {
	each := map[int][]string{4: {"Sigmoid", "Tanh", "Tanh"}, 3: {"Sigmoid", "Tanh"}, 1: {"Tanh"}}[c.gates]
	names := n.strings("activations")
	if names == nil {
		for range c.directions {
			names = append(names, each...)
		}
	}
	if len(names) != c.directions*len(each) {
		return errors.New("it has another number of activations than it needs")
	}
	alphas, betas := n.floats("activation_alpha"), n.floats("activation_beta")
	for _, name := range names {
		f, err := activationNamed(name, &alphas, &betas)
		if err != nil {
			return err
		}
		c.acts = append(c.acts, f)
	}
	return nil
}

// activationNamed is an activation of a recurrent layer; those with numbers take them from the lists.
func activationNamed(name string, alphas, betas *[]float32) (func(float64) float64, error) {
	take := func(list *[]float32) *float64 {
		if len(*list) == 0 {
			return nil
		}
		v := float64((*list)[0])
		*list = (*list)[1:]
		return &v
	}
	switch name {
	case "Sigmoid":
		return sigmoid, nil
	case "Tanh":
		return math.Tanh, nil
	case "Relu":
		return func(v float64) float64 { return max(v, 0) }, nil
	case "Softsign":
		return softsign, nil
	case "Softplus":
		return softplus, nil
	case "LeakyRelu":
		return leakyRelu(take(alphas), nil), nil
	case "ThresholdedRelu":
		return thresholdedRelu(take(alphas), nil), nil
	case "Elu":
		return elu(take(alphas), nil), nil
	case "HardSigmoid":
		return hardSigmoid(take(alphas), take(betas)), nil
	case "Affine":
		a, b := or(take(alphas), 1), or(take(betas), 0)
		return func(v float64) float64 { return a*v + b }, nil
	case "ScaledTanh":
		a, b := or(take(alphas), 1), or(take(betas), 1)
		return func(v float64) float64 { return a * math.Tanh(b*v) }, nil
	}
	return nil, fmt.Errorf("activation %q is not supported", name)
}

// sequence are the inputs of a recurrent layer, with the sequence as first axis, as float64.
type sequence struct {
	steps, batch, in int
	x                *Tensor
	w, r             *Tensor
	bias             *Tensor
	lens             []int
	h0, c0, peephole *Tensor
}

// optional is input i, or nil if it is left out.
func optional(in []*Tensor, i int) *Tensor {
	if i < len(in) {
		return in[i]
	}
	return nil
}

// read checks the inputs against each other.
func (c *recurrent) read(r *run, in []*Tensor) (*sequence, error) {
	s := &sequence{x: in[0], w: in[1], r: in[2], bias: optional(in, 3), h0: optional(in, 5)}
	if c.gates == 4 {
		s.c0, s.peephole = optional(in, 6), optional(in, 7)
	}
	if err := floatsOf(s.x, s.w, s.r, s.bias, s.h0, s.c0, s.peephole); err != nil {
		return nil, err
	}
	if len(s.x.Dims) != 3 || len(s.w.Dims) != 3 || len(s.r.Dims) != 3 {
		return nil, errors.New("its input or its weights do not have three axes")
	}
	var err error
	swap := func(t **Tensor) {
		if *t != nil && err == nil && len((*t).Dims) == 3 {
			*t, err = r.transpose(*t, []int{1, 0, 2})
		}
	}
	if c.layout {
		swap(&s.x)
		swap(&s.h0)
		swap(&s.c0)
		if err != nil {
			return nil, err
		}
	}
	s.steps, s.batch, s.in = s.x.Dims[0], s.x.Dims[1], s.x.Dims[2]
	h := s.r.Dims[2]
	if c.hidden != 0 && c.hidden != h {
		return nil, errors.New("its weights have another size than hidden_size")
	}
	d, g := c.directions, c.gates
	for _, want := range []struct {
		t    *Tensor
		dims []int
	}{{s.w, []int{d, g * h, s.in}}, {s.r, []int{d, g * h, h}}, {s.bias, []int{d, 2 * g * h}},
		{s.h0, []int{d, s.batch, h}}, {s.c0, []int{d, s.batch, h}}, {s.peephole, []int{d, 3 * h}}} {
		if want.t != nil && !sameDims(want.t.Dims, want.dims) {
			return nil, fmt.Errorf("an input has the shape %s instead of %s",
				shapeText(want.t.Dims), shapeText(want.dims))
		}
	}
	s.lens = make([]int, s.batch)
	fill(s.lens, s.steps)
	if t := optional(in, 4); t != nil {
		lens, err := t.ints()
		if err != nil || len(lens) != s.batch {
			return nil, errors.New("it needs one length for each sequence")
		}
		for _, n := range lens {
			if n < 0 || n > s.steps {
				return nil, errors.New("a length is longer than its sequence")
			}
		}
		s.lens = lens
	}
	return s, nil
}

func (c *recurrent) run(r *run, in, out []*Tensor) error {
	s, err := c.read(r, in)
	if err != nil {
		return err
	}
	h := s.r.Dims[2]
	y, err := r.zeros(s.x.Type, []int{s.steps, c.directions, s.batch, h})
	if err != nil {
		return err
	}
	results := []*Tensor{y}
	for range 2 {
		t, err := r.zeros(s.x.Type, []int{c.directions, s.batch, h})
		if err != nil {
			return err
		}
		results = append(results, t)
	}
	for d := range c.directions {
		for b := range s.batch {
			if err := c.line(r, s, d, b, results); err != nil {
				return err
			}
		}
	}
	if c.gates != 4 {
		r.release(results[2])
		results = results[:2]
	}
	for i, t := range results {
		if i >= len(out) {
			r.release(t)
			continue
		}
		if out[i] = t; !c.layout {
			continue
		}
		perm := []int{1, 0, 2}
		if i == 0 {
			perm = []int{2, 0, 1, 3}
		}
		if out[i], err = r.transpose(t, perm); err != nil {
			return err
		}
		r.release(t)
	}
	return nil
}

// line reads one sequence of the batch in one direction.
func (c *recurrent) line(r *run, s *sequence, d, b int, results []*Tensor) error {
	h := s.r.Dims[2]
	l := &cell{c: c, s: s, d: d, h: make([]float64, h), c1: make([]float64, h), x: make([]float64, s.in),
		acts: c.acts[d*len(c.acts)/c.directions:]}
	for i := range h {
		if s.h0 != nil {
			l.h[i] = s.h0.float((d*s.batch+b)*h + i)
		}
		if s.c0 != nil {
			l.c1[i] = s.c0.float((d*s.batch+b)*h + i)
		}
	}
	l.load()
	n := s.lens[b]
	for i := range n {
		t := i
		if c.reverse || d == 1 {
			t = n - 1 - i
		}
		for k := range l.x {
			l.x[k] = s.x.float((t*s.batch+b)*s.in + k)
		}
		l.step()
		for k, v := range l.h {
			results[0].setFloat(((t*c.directions+d)*s.batch+b)*h+k, v)
		}
		if err := r.tick(c.gates * h * (h + s.in)); err != nil {
			return err
		}
	}
	for k := range h {
		results[1].setFloat((d*s.batch+b)*h+k, l.h[k])
		results[2].setFloat((d*s.batch+b)*h+k, l.c1[k])
	}
	return nil
}

// cell is the state of a layer while it reads a sequence.
type cell struct {
	c        *recurrent
	s        *sequence
	d        int
	h, c1, x []float64
	acts     []func(float64) float64
	wb, rb   []float64 // biases of the input and of the state
	next     []float64
	z        []float64
}

func (l *cell) load() {
	n := l.c.gates * len(l.h)
	l.wb, l.rb, l.z, l.next = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, len(l.h))
	if b := l.s.bias; b != nil {
		for i := range n {
			l.wb[i], l.rb[i] = b.float(l.d*2*n+i), b.float(l.d*2*n+n+i)
		}
	}
}

// dot is row i of t, a stack of matrices of n rows, times v.
func (l *cell) dot(t *Tensor, n, i int, v []float64) float64 {
	at, sum := (l.d*n+i)*len(v), 0.0
	if t.F32 != nil {
		for k, w := range t.F32[at : at+len(v)] {
			sum += float64(w) * v[k]
		}
		return sum
	}
	for k, w := range t.F64[at : at+len(v)] {
		sum += w * v[k]
	}
	return sum
}

func (l *cell) clipped(v float64) float64 {
	if c := l.c.clip; c > 0 {
		return clamp(v, -c, c)
	}
	return v
}

func (l *cell) step() {
	n := len(l.z)
	for i := range l.z {
		l.z[i] = l.dot(l.s.w, n, i, l.x) + l.wb[i]
	}
	switch l.c.gates {
	case 4:
		l.lstm()
	case 3:
		l.gru()
	default:
		for i := range l.h {
			l.next[i] = l.acts[0](l.clipped(l.z[i] + l.dot(l.s.r, n, i, l.h) + l.rb[i]))
		}
		copy(l.h, l.next)
	}
}

// lstm takes a step of an LSTM; the gates are in the order input, output, forget, cell.
func (l *cell) lstm() {
	h, n := len(l.h), len(l.z)
	for i := range l.z {
		l.z[i] += l.dot(l.s.r, n, i, l.h) + l.rb[i]
	}
	peep := func(k, i int, c float64) float64 {
		if l.s.peephole == nil {
			return 0
		}
		return l.s.peephole.float(l.d*3*h+k*h+i) * c
	}
	for i := range h {
		in := l.acts[0](l.clipped(l.z[i] + peep(0, i, l.c1[i])))
		forget := 1 - in
		if !l.c.coupled {
			forget = l.acts[0](l.clipped(l.z[2*h+i] + peep(2, i, l.c1[i])))
		}
		l.c1[i] = forget*l.c1[i] + in*l.acts[1](l.clipped(l.z[3*h+i]))
		l.h[i] = l.acts[0](l.clipped(l.z[h+i]+peep(1, i, l.c1[i]))) * l.acts[2](l.c1[i])
	}
}

// gru takes a step of a GRU; the gates are in the order update, reset, hidden.
func (l *cell) gru() {
	h, n := len(l.h), len(l.z)
	reset := slices.Clone(l.h)
	for i := range h {
		rt := l.acts[0](l.clipped(l.z[h+i] + l.dot(l.s.r, n, h+i, l.h) + l.rb[h+i]))
		if l.c.resetAfter {
			reset[i] = rt
		} else {
			reset[i] = rt * l.h[i]
		}
	}
	for i := range h {
		zt := l.acts[0](l.clipped(l.z[i] + l.dot(l.s.r, n, i, l.h) + l.rb[i]))
		v := l.z[2*h+i]
		if l.c.resetAfter {
			v += reset[i] * (l.dot(l.s.r, n, 2*h+i, l.h) + l.rb[2*h+i])
		} else {
			v += l.dot(l.s.r, n, 2*h+i, reset) + l.rb[2*h+i]
		}
		l.next[i] = (1-zt)*l.acts[1](l.clipped(v)) + zt*l.h[i]
	}
	copy(l.h, l.next)
}
