package ml

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// program is a graph ready to run: its nodes in an order in which they can be computed, with numbers for names.
type program struct {
	steps    []step
	slots    int       // values at most
	consts   []*Tensor // by slot; nil for what is computed
	inputs   []int
	outputs  []int
	captured []string // names of the outer graph that are read, in the order of captures
	captures []int    // the slots for them
}

// step is one node.
type step struct {
	run   kernel
	in    []int  // slots; -1 for one that is left out
	out   []int  // slots; -1 for one that is not wanted
	dying []bool // by input: its value is not needed after the step
	node  *onnx.Node
	rows  rowRule
	costs bool
}

// compiler makes programs of the graphs of one model.
type compiler struct {
	opsets    map[string]int64
	functions map[string]*onnx.Function
	limits    Limits
	foldable  int64           // bytes of values that may still be computed while the model is loaded
	inlined   int             // nodes that functions brought
	others    map[string]bool // inputs that a call cannot fill
	used      map[string]bool // operators that the model needs
}

// The newest operator sets that are known.
var newestOpset = map[string]int64{"": 24, domainML: 5}

// oldestOpset is the first one with today's rules of broadcasting.
const oldestOpset = 7

// maxFunctionDepth bounds how deep functions of a model may call each other.
const maxFunctionDepth = 16

var (
	errCycle    = errors.New("the nodes of the model feed each other in a circle")
	errNoInput  = errors.New("the model has no input")
	errNoOutput = errors.New("the model has no output")
)

// scope finds names while a graph is compiled.
type scope struct {
	g      *onnx.Graph
	p      *program
	slots  map[string]int
	makers map[string]int // node by the name that it makes
	inner  bool
	others map[string]bool // inputs that a call cannot fill
}

// compile makes a program of g that computes the outputs named want.
func (c *compiler) compile(g *onnx.Graph, want []string, inner bool) (*program, error) {
	if g.Sparse {
		return nil, errors.New("sparse tensors are not supported")
	}
	nodes, err := c.inline(g.Nodes)
	if err != nil {
		return nil, err
	}
	flat := *g
	flat.Nodes = nodes
	s := &scope{g: &flat, p: &program{}, slots: map[string]int{}, makers: map[string]int{}, inner: inner,
		others: c.others}
	if err := s.declare(); err != nil {
		return nil, err
	}
	order, err := s.order(want)
	if err != nil {
		return nil, err
	}
	if !inner {
		needed, missing := make([]*onnx.Node, len(order)), map[string]bool{}
		for i, k := range order {
			needed[i] = s.g.Nodes[k]
		}
		c.used = map[string]bool{}
		if c.unknown(needed, missing); len(missing) > 0 {
			return nil, &UnsupportedError{Operators: slices.Sorted(maps.Keys(missing))}
		}
	}
	for _, i := range order {
		if err := c.add(s, s.g.Nodes[i]); err != nil {
			return nil, err
		}
	}
	for _, name := range want {
		slot, err := s.use(name)
		if err != nil {
			return nil, err
		}
		s.p.outputs = append(s.p.outputs, slot)
	}
	s.p.lifetimes()
	return s.p, nil
}

// declare gives slots to inputs and initializers and notes which node makes which name.
func (s *scope) declare() error {
	held := map[string]bool{}
	for _, t := range s.g.Initializers {
		c, err := constant(t)
		if err != nil {
			return err
		}
		if held[t.Name] {
			return fmt.Errorf("the value %q is made twice", t.Name)
		}
		held[t.Name] = true
		s.p.consts[s.slot(t.Name)] = c
	}
	for _, in := range s.g.Inputs {
		if held[in.Name] && !s.inner {
			continue // a default, not an input
		}
		slot := s.slot(in.Name)
		s.p.consts[slot] = nil
		s.p.inputs = append(s.p.inputs, slot)
	}
	for i, n := range s.g.Nodes {
		for _, name := range n.Outputs {
			if name == "" {
				continue
			}
			if _, twice := s.makers[name]; twice {
				return fmt.Errorf("the value %q is made twice", name)
			}
			if _, twice := s.slots[name]; twice {
				return fmt.Errorf("the value %q is made twice", name)
			}
			s.makers[name] = i
		}
	}
	return nil
}

// slot is the number of name; a new one if it has none yet.
func (s *scope) slot(name string) int {
	if i, ok := s.slots[name]; ok {
		return i
	}
	i := s.p.slots
	s.p.slots++
	s.p.consts = append(s.p.consts, nil)
	s.slots[name] = i
	return i
}

// use is the slot of a value that is read. Names that an inner graph does not have are those of the outer one.
func (s *scope) use(name string) (int, error) {
	if i, ok := s.slots[name]; ok {
		return i, nil
	}
	if s.others[name] && !s.inner {
		return 0, fmt.Errorf("the model needs a second input, %q; models take one", name)
	}
	if !s.inner {
		return 0, fmt.Errorf("the value %q is read and never made", name)
	}
	i := s.slot(name)
	s.p.captured, s.p.captures = append(s.p.captured, name), append(s.p.captures, i)
	return i, nil
}

// reads are the names that a node needs, with those that its graphs take from outside.
func reads(n *onnx.Node) []string {
	out := n.Inputs
	for _, a := range n.Attrs {
		if a.G != nil {
			out = slices.Concat(out, outside(a.G))
		}
	}
	return out
}

// outside are the names that g reads and does not make.
func outside(g *onnx.Graph) []string {
	made := map[string]bool{"": true}
	for _, in := range g.Inputs {
		made[in.Name] = true
	}
	for _, t := range g.Initializers {
		made[t.Name] = true
	}
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			made[o] = true
		}
	}
	var out []string
	note := func(name string) {
		if !made[name] {
			made[name] = true
			out = append(out, name)
		}
	}
	for _, n := range g.Nodes {
		for _, name := range reads(n) {
			note(name)
		}
	}
	for _, o := range g.Outputs {
		note(o.Name)
	}
	return out
}

// order lists the nodes that want depends on, each after those that it reads from.
func (s *scope) order(want []string) ([]int, error) {
	const onPath, done = 1, 2
	state := make([]uint8, len(s.g.Nodes))
	var out []int
	type frame struct {
		node int
		deps []string
	}
	var stack []frame
	visit := func(name string) error {
		i, ok := s.makers[name]
		if !ok || state[i] == done {
			return nil
		}
		if state[i] == onPath {
			return errCycle
		}
		state[i] = onPath
		stack = append(stack, frame{i, reads(s.g.Nodes[i])})
		return nil
	}
	for _, w := range want {
		if err := visit(w); err != nil {
			return nil, err
		}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.deps) == 0 {
				state[top.node] = done
				out = append(out, top.node)
				stack = stack[:len(stack)-1]
				continue
			}
			dep := top.deps[0]
			top.deps = top.deps[1:]
			if err := visit(dep); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// add appends the step of a node.
func (c *compiler) add(s *scope, n *onnx.Node) error {
	op, build, err := c.operator(n)
	if err != nil {
		return err
	}
	st := step{node: n, rows: op.rows, costs: op.costly}
	for len(n.Inputs) > 0 && n.Inputs[len(n.Inputs)-1] == "" {
		n.Inputs = n.Inputs[:len(n.Inputs)-1]
	}
	if len(n.Inputs) < op.least || len(n.Inputs) > op.most || slices.Contains(n.Inputs[:op.least], "") {
		return fmt.Errorf("%s has %d inputs", title(n), len(n.Inputs))
	}
	names := n.Inputs
	k, captured, err := build(newNode(n, c.opset(n)))
	if err != nil {
		return fmt.Errorf("%s: %w", title(n), err)
	}
	for _, name := range slices.Concat(names, captured) {
		slot := -1
		if name != "" {
			if slot, err = s.use(name); err != nil {
				return err
			}
		}
		st.in = append(st.in, slot)
	}
	st.run = k
	if len(n.Outputs) > maxOutputs {
		return fmt.Errorf("%s has %d outputs", title(n), len(n.Outputs))
	}
	for _, name := range n.Outputs {
		slot := -1
		if name != "" {
			slot = s.slot(name)
		}
		st.out = append(st.out, slot)
	}
	if c.fold(s.p, &st) {
		return nil
	}
	s.p.steps = append(s.p.steps, st)
	return nil
}

// maxOutputs bounds the outputs of one node.
const maxOutputs = 1 << 12

// title names a node in errors.
func title(n *onnx.Node) string {
	op := n.Op
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	if n.Name == "" {
		return op
	}
	return fmt.Sprintf("%s %q", op, n.Name)
}

func (c *compiler) opset(n *onnx.Node) int { return int(c.opsets[n.Domain]) }

// operator finds how a node is built. The builder also gives the names that the node's graphs read from outside.
func (c *compiler) operator(n *onnx.Node) (operator, func(*node) (kernel, []string, error), error) {
	if n.Domain == "" {
		if op, build := c.control(n.Op); build != nil {
			return op, build, nil
		}
	}
	op, ok := lookup(n.Domain, n.Op)
	if !ok {
		return op, nil, &UnsupportedError{Operators: []string{fullName(n)}}
	}
	return op, func(n *node) (kernel, []string, error) {
		k, err := op.build(n)
		if err == nil {
			err = n.err
		}
		return k, nil, err
	}, nil
}

func fullName(n *onnx.Node) string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// UnsupportedError names the operators that a model needs and that are not known.
type UnsupportedError struct{ Operators []string }

// Error implements error.
func (e *UnsupportedError) Error() string {
	return "operators that are not supported: " + strings.Join(e.Operators, ", ")
}

// lifetimes notes for each step which inputs nothing reads later.
func (p *program) lifetimes() {
	last := make([]int, p.slots)
	for i := range last {
		last[i] = -1
	}
	for i, st := range p.steps {
		for _, slot := range st.in {
			if slot >= 0 {
				last[slot] = i
			}
		}
	}
	for _, slot := range p.outputs {
		last[slot] = len(p.steps)
	}
	for i := range p.steps {
		st := &p.steps[i]
		st.dying = make([]bool, len(st.in))
		for j, slot := range st.in {
			// Where a step reads a value twice only the last mention frees it.
			st.dying[j] = slot >= 0 && last[slot] == i && p.consts[slot] == nil && !slices.Contains(st.in[j+1:], slot)
		}
	}
}
