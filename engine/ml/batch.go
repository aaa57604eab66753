package ml

import (
	"slices"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// rowRule says how an operator treats a batch: many inputs of the model at once, one below the other along a new or
// open first axis. A rule holds only if a row of the result depends on its own row alone, and is computed by the same
// steps as without the others. rowsNever says that this is not known.
type rowRule uint8

const (
	rowsNever     rowRule = iota
	rowsEach              // each element for itself
	rowsAligned           // several inputs, broadcast
	rowsFirst             // the first input by rows; the others are constant
	rowsTable             // a table by rows
	rowsMatMul            // MatMul
	rowsGemm              // Gemm
	rowsAxis              // along the attribute axis
	rowsAxisFirst         // along the attribute axis; other inputs are constant
	rowsAxisDrop          // along the attribute axis, 0 if there is none
	rowsReduce            // over axes
	rowsReshape
	rowsFlatten
	rowsSqueeze
	rowsUnsqueeze
	rowsTranspose
	rowsConcat
	rowsSlice
	rowsGather
)

// batch is a program for many rows at once.
type batch struct {
	p      *program
	lifted bool  // a row has one axis less: the model's input has no open first axis
	width  int   // results of each row
	most   int64 // bytes that the tensors of one row take at most
}

// maxBatch is how many rows are computed at once at most.
const maxBatch = 1024

// slot states while a program is looked at.
const (
	stateNone  = iota
	stateConst // the same for all rows
	stateRows  // a row for each row
)

// batcher finds out whether a program can work on rows.
type batcher struct {
	p      *program
	vals   []*Tensor // by slot: what one row gave
	state  []uint8
	lifted bool
}

// planBatch makes a program for rows, or nil if that cannot be. It computes one row to see the shapes.
func (m *Model) planBatch(env Call) *batch {
	if m.loose || len(m.Input) == 0 || len(m.Input) > 1 && m.Input[0] != 1 {
		return nil
	}
	r := &run{ctx: env.Ctx, limits: env.Limits, bear: env.Bear}
	vals, err := r.trace(m.program, &Tensor{Type: onnx.Float, Dims: m.Input, F32: make([]float32, product(m.Input))})
	if err != nil {
		return nil
	}
	b := &batcher{p: m.program, vals: vals, state: make([]uint8, m.program.slots), lifted: len(m.Input) == 1}
	for slot, t := range m.program.consts {
		if t != nil {
			b.state[slot] = stateConst
		}
	}
	b.state[m.program.inputs[0]] = stateRows
	p := &program{slots: m.program.slots, consts: slices.Clone(m.program.consts), inputs: m.program.inputs,
		outputs: m.program.outputs}
	for i := range m.program.steps {
		st, rows, ok := b.step(&m.program.steps[i])
		if !ok {
			return nil
		}
		if rows {
			p.steps = append(p.steps, st)
			continue
		}
		for _, slot := range st.out {
			if slot >= 0 {
				p.consts[slot] = vals[slot]
			}
		}
	}
	out := m.program.outputs[0]
	if b.state[out] != stateRows || vals[out].Str != nil {
		return nil
	}
	p.lifetimes()
	return &batch{p: p, lifted: b.lifted, width: vals[out].Len(), most: r.most}
}

// trace computes p for one row and keeps all values.
func (r *run) trace(p *program, x *Tensor) ([]*Tensor, error) {
	vals := slices.Clone(p.consts)
	vals[p.inputs[0]] = x
	for i := range p.steps {
		st := p.steps[i]
		st.dying = make([]bool, len(st.in))
		if err := r.step(&st, vals, nil); err != nil {
			return nil, err
		}
	}
	for _, t := range vals {
		if t != nil {
			t.store = nil
		}
	}
	return vals, nil
}

// step decides about a step: as it is in the batch, whether it works on rows, and whether it is known at all.
func (b *batcher) step(st *step) (step, bool, bool) {
	rows := false
	for _, slot := range st.in {
		if slot < 0 {
			continue
		}
		if b.state[slot] == stateNone {
			return *st, false, false
		}
		rows = rows || b.state[slot] == stateRows
	}
	shape := st.node.Domain == "" && (st.node.Op == "Shape" || st.node.Op == "Size")
	if !rows || shape { // the shape of one row is the same for all
		for _, slot := range st.out {
			if slot >= 0 {
				b.state[slot] = stateConst
			}
		}
		return *st, false, true
	}
	c := &rowCheck{b: b, st: st, n: newNode(st.node, 0)}
	all, ok := c.rule()
	if !ok {
		// Its outputs are of no use; that matters only if something reads them.
		return *st, true, false
	}
	for i, slot := range st.out {
		if slot < 0 {
			continue
		}
		if i == 0 || all {
			b.state[slot] = stateRows
		}
	}
	out := *st
	if st.rows == rowsReshape && !b.lifted {
		out.run = reshapeRows(b.vals[st.out[0]].Dims[1:])
	}
	return out, true, true
}

// reshapeRows is a Reshape of each row.
func reshapeRows(rest []int) kernel {
	each := product(rest)
	return func(r *run, in, out []*Tensor) error {
		n := 0
		if each > 0 {
			n = in[0].Len() / each
		}
		out[0] = r.view(in[0], append([]int{n}, rest...))
		return nil
	}
}

// batchPlan is the program for rows. It is made once; a call that ran out of time leaves it to the next one.
func (m *Model) batchPlan(env Call) *batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.planned {
		m.batch = m.planBatch(env)
		m.planned = m.batch != nil || env.Ctx.Err() == nil
	}
	return m.batch
}

// Batch computes n rows of numbers, one after the other in x, and gives the results of each row, one after the other,
// with their number. It reports false if the model cannot work on rows together; then nothing is computed.
func (m *Model) Batch(env Call, x []float32, n int) ([]float64, int, bool, error) {
	b := m.batchPlan(env)
	if b == nil || n == 0 || len(x)/n != product(m.Input) {
		return nil, 0, false, nil
	}
	step := maxBatch
	if b.most > 0 {
		step = int(max(min(int64(step), env.Limits.Tensors/(2*b.most)), 1))
	}
	out := make([]float64, 0, n*b.width)
	cols := len(x) / n
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		dims := append([]int{to - from}, m.Input[1:]...)
		if b.lifted {
			dims = []int{to - from, cols}
		}
		r := m.run(env)
		res, err := r.exec(b.p, []*Tensor{{Type: onnx.Float, Dims: dims, F32: x[from*cols : to*cols]}}, nil)
		if err != nil {
			return nil, 0, true, err
		}
		list, err := numbers(res[0])
		r.release(res[0])
		m.done(r)
		if err != nil {
			return nil, 0, true, err
		}
		if len(list) != (to-from)*b.width {
			return nil, 0, false, nil
		}
		out = append(out, list...)
	}
	return out, b.width, true, nil
}
