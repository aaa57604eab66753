// Package ml reads model files and runs the models in them: a header and an ONNX graph, interpreted in Go.
//
// A model is loaded once into a program: its nodes in an order in which they can be computed, with what depends on
// constants alone already computed. A Model is safe for concurrent use. A call works under limits of memory, turns of
// loops and time, and reads no file and no network: a model with data elsewhere is refused.
package ml

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// Model is a loaded model.
type Model struct {
	Header *Header
	Input  []int // the shape that a call's numbers take; open dimensions are 1
	loose  bool  // the input has no declared shape: it takes any number of numbers, as one axis

	program *program
	limits  Limits
	bytes   int64
	info    Info
	runs    sync.Pool // of *run

	mu      sync.Mutex // guards planned and batch
	planned bool
	batch   *batch // nil if rows cannot be computed together
}

// Info describes a model for people.
type Info struct {
	Producer  string
	Opsets    map[string]int64
	Inputs    []string // name, type and shape
	Outputs   []string
	Operators []string // that the first output needs, in order of their names
	Nodes     int
}

// Call holds the limits and memory of one call of a model.
type Call struct {
	Ctx    context.Context
	Limits Limits
	Bear   func(bytes int) error // reserves memory of the caller's account; nil: unlimited
}

// Load takes a model file apart and compiles its graph. The model shares b, which must not change.
func Load(b []byte, limits Limits) (*Model, error) {
	h, payload, err := Split(b)
	if err != nil {
		return nil, err
	}
	m, err := LoadONNX(payload, limits)
	if err != nil {
		return nil, err
	}
	m.Header = h
	m.bytes = int64(len(b))
	return m, nil
}

// LoadONNX compiles a bare ONNX model. The model shares b, which must not change.
func LoadONNX(b []byte, limits Limits) (*Model, error) {
	p, err := onnx.Read(b, onnx.DefaultLimits)
	if err != nil {
		return nil, fmt.Errorf("not an ONNX model: %w", err)
	}
	c := &compiler{opsets: p.Opsets, functions: map[string]*onnx.Function{}, limits: limits, foldable: 4 * limits.Fold}
	if err := c.checkOpsets(); err != nil {
		return nil, err
	}
	for _, f := range p.Functions {
		c.functions[f.Domain+":"+f.Name] = f
	}
	in, err := firstInput(p.Graph)
	if err != nil {
		return nil, err
	}
	if len(p.Graph.Outputs) == 0 {
		return nil, errNoOutput
	}
	m := &Model{Header: &Header{}, limits: limits, bytes: int64(len(b)), loose: !in.Shaped}
	for _, d := range in.Dims {
		if d.Value < 0 {
			d.Value = 1
		}
		m.Input = append(m.Input, int(d.Value))
	}
	if _, err := size(m.Input); err != nil {
		return nil, err
	}
	g := *p.Graph
	g.Inputs = []*onnx.ValueInfo{in}
	c.others = otherInputs(p.Graph, in)
	if m.program, err = c.compile(&g, []string{g.Outputs[0].Name}, false); err != nil {
		return nil, err
	}
	m.info = infoOf(p, c.used)
	return m, nil
}

// checkOpsets refuses operator sets that are too old or too new to be known.
func (c *compiler) checkOpsets() error {
	main, ok := c.opsets[""]
	switch {
	case !ok:
		return errors.New("the model does not say which operator set it uses")
	case main < oldestOpset || main > newestOpset[""]:
		return fmt.Errorf("the model uses operator set %d; those from %d to %d are supported", main, oldestOpset, newestOpset[""])
	case c.opsets[domainML] > newestOpset[domainML]:
		return fmt.Errorf("the model uses operator set %d of %s; those up to %d are supported", c.opsets[domainML], domainML,
			newestOpset[domainML])
	}
	if c.opsets[domainML] == 0 {
		c.opsets[domainML] = 1
	}
	return nil
}

// firstInput is the input that a call fills: the first one without a default.
func firstInput(g *onnx.Graph) (*onnx.ValueInfo, error) {
	held := map[string]bool{}
	for _, t := range g.Initializers {
		held[t.Name] = true
	}
	for _, in := range g.Inputs {
		if held[in.Name] {
			continue
		}
		if in.Type != onnx.Float {
			return nil, fmt.Errorf("the input %q has the type %s; models take float32", in.Name, in.Type)
		}
		return in, nil
	}
	return nil, errNoInput
}

// otherInputs are the names of inputs that a call cannot fill.
func otherInputs(g *onnx.Graph, first *onnx.ValueInfo) map[string]bool {
	out := map[string]bool{}
	for _, in := range g.Inputs {
		if in != first {
			out[in.Name] = true
		}
	}
	return out
}

// Bytes is about how much memory the model takes while it is loaded.
func (m *Model) Bytes() int64 {
	n := m.bytes
	for _, t := range m.program.consts {
		if t != nil && (t.F32 == nil || !inPlace) {
			n += int64(t.bytes())
		}
	}
	return n + int64(len(m.program.steps))*1024
}

// Takes is how many numbers a call takes; -1 if any number of them.
func (m *Model) Takes() int {
	if m.loose {
		return -1
	}
	return product(m.Input)
}

// Info tells what the model is.
func (m *Model) Info() Info { return m.info }

// run gives a run with what an earlier one left.
func (m *Model) run(env Call) *run {
	r, ok := m.runs.Get().(*run)
	if !ok {
		r = &run{}
	}
	r.ctx, r.limits, r.bear = env.Ctx, env.Limits, env.Bear
	r.held, r.most, r.turns, r.work = r.saved, 0, 0, 0
	return r
}

// maxKept bounds how many bytes of tensors wait for the next call.
const maxKept = 4 << 20

func (m *Model) done(r *run) {
	r.ctx, r.bear = nil, nil
	if r.saved > maxKept {
		r.spare, r.saved = nil, 0
	}
	m.runs.Put(r)
}

// ErrShape is the error of a call with another number of numbers than the model takes.
//
//lint:ignore ST1005 clients know the text as it is
var ErrShape = errors.New("Failed to reshape tensor to input dimensions")

// shape is the shape of the input for n numbers.
func (m *Model) shape(n int) ([]int, error) {
	if m.loose {
		return []int{n}, nil
	}
	if product(m.Input) != n {
		return nil, ErrShape
	}
	return m.Input, nil
}

// Compute runs the model on the numbers x and gives the first output, flat.
func (m *Model) Compute(env Call, x []float32) ([]float64, error) {
	dims, err := m.shape(len(x))
	if err != nil {
		return nil, err
	}
	if err := env.Ctx.Err(); err != nil {
		return nil, err
	}
	r := m.run(env)
	out, err := r.exec(m.program, []*Tensor{{Type: onnx.Float, Dims: dims, F32: x}}, nil)
	if err != nil {
		return nil, err // its tensors are left to the collector: some may still be in use
	}
	res, err := numbers(out[0])
	r.release(out[0])
	m.done(r)
	return res, err
}

// numbers are the elements of a result.
func numbers(t *Tensor) ([]float64, error) {
	if t.Str != nil {
		return nil, errors.New("the first output of the model is text; it must be numbers")
	}
	out := make([]float64, t.Len())
	for i := range out {
		out[i] = t.float(i)
	}
	return out, nil
}
