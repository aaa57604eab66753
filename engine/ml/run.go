package ml

import (
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// Limits bound what loading and running a model may take.
type Limits struct {
	Tensors int64 // bytes of all tensors of one call
	Turns   int   // turns of all loops of one call
	Fold    int64 // bytes of values that are computed once, when the model is loaded
}

// DefaultLimits are the limits of a server without other settings.
var DefaultLimits = Limits{Tensors: 256 << 20, Turns: 1_000_000, Fold: 16 << 20}

// WithDefaults is l with DefaultLimits for what is zero.
func (l Limits) WithDefaults() Limits {
	if l.Tensors == 0 {
		l.Tensors = DefaultLimits.Tensors
	}
	if l.Turns == 0 {
		l.Turns = DefaultLimits.Turns
	}
	if l.Fold == 0 {
		l.Fold = DefaultLimits.Fold
	}
	return l
}

// run is one computation.
type run struct {
	ctx    context.Context
	limits Limits
	bear   func(bytes int) error // reserves memory of the caller's account; nil: unlimited

	held  int64 // bytes of all tensors, with those in spare
	most  int64 // the most that held has been, as far as the account knows
	turns int
	work  int // since ctx was looked at
	dying []bool
	spare map[int][]*Tensor // unused tensors, by list and length
	saved int64             // bytes in spare
	packs packs
}

// workTick is after how many elements a kernel looks whether it may go on.
const workTick = 1 << 18

// tick counts work of n elements. It reports that the time is over or the caller has gone.
func (r *run) tick(n int) error {
	if r.work += n; r.work < workTick {
		return nil
	}
	r.work = 0
	return r.ctx.Err()
}

// turn counts a turn of a loop.
func (r *run) turn() error {
	if r.turns++; r.turns > r.limits.Turns {
		return fmt.Errorf("its loops take more than %d turns", r.limits.Turns)
	}
	return r.tick(64)
}

// tensorCost is about what a tensor takes beside its elements, in bytes.
const tensorCost = 256

func costOf(t onnx.ElemType, n int) int64 { return int64(n)*int64(elemBytes(t)) + tensorCost }

func spareKey(t onnx.ElemType, n int) int { return n<<3 | int(listOf(t)) }

// alloc makes a tensor. Its elements may be of any value.
func (r *run) alloc(t onnx.ElemType, dims []int) (*Tensor, error) {
	n, err := size(dims)
	if err != nil {
		return nil, err
	}
	key := spareKey(t, n)
	if list := r.spare[key]; len(list) > 0 {
		if err := r.charge(); err != nil {
			return nil, err
		}
		old := list[len(list)-1]
		r.spare[key] = list[:len(list)-1]
		r.saved -= costOf(t, n)
		*old = Tensor{Type: t, Dims: dims, F32: old.F32, F64: old.F64, I64: old.I64, U8: old.U8, Str: old.Str,
			store: old.store}
		old.store.users = 1
		return old, nil
	}
	if err := r.hold(costOf(t, n)); err != nil {
		return nil, err
	}
	out := &Tensor{Type: t, Dims: dims, store: &storage{users: 1}}
	switch listOf(t) {
	case listF32:
		out.F32 = make([]float32, n)
	case listF64:
		out.F64 = make([]float64, n)
	case listI64:
		out.I64 = make([]int64, n)
	case listU8:
		out.U8 = make([]uint8, n)
	case listStr:
		out.Str = make([]string, n)
	default:
		return nil, fmt.Errorf("the type %s is not supported", t)
	}
	return out, nil
}

// hold counts n more bytes.
func (r *run) hold(n int64) error {
	if r.held+n > r.limits.Tensors && r.saved > 0 {
		r.held -= r.saved
		r.spare, r.saved = nil, 0
	}
	if r.held+n > r.limits.Tensors {
		return fmt.Errorf("its tensors take more than %d MiB", r.limits.Tensors>>20)
	}
	r.held += n
	if err := r.charge(); err != nil {
		return err
	}
	return r.tick(int(n / 8))
}

// charge asks the account for what the run holds beyond what it had asked for.
func (r *run) charge() error {
	if r.held > r.most && r.bear != nil {
		if err := r.bear(int(r.held - r.most)); err != nil {
			return err
		}
	}
	r.most = max(r.most, r.held)
	return nil
}

// zeros is alloc with all elements zero.
func (r *run) zeros(t onnx.ElemType, dims []int) (*Tensor, error) {
	out, err := r.alloc(t, dims)
	if err != nil {
		return nil, err
	}
	clear(out.F32)
	clear(out.F64)
	clear(out.I64)
	clear(out.U8)
	clear(out.Str)
	return out, nil
}

// view is t's elements in another shape of the same size.
func (r *run) view(t *Tensor, dims []int) *Tensor {
	out := *t
	out.Dims = dims
	if out.store != nil {
		out.store.users++
	}
	return &out
}

// reuse is a tensor of the type and shape of input i: the same memory if nothing else needs it.
func (r *run) reuse(in []*Tensor, i int) (*Tensor, error) {
	t := in[i]
	if r.dying[i] && t.store != nil && t.store.users == 1 {
		return r.view(t, t.Dims), nil
	}
	return r.alloc(t.Type, t.Dims)
}

// maxSpare bounds how many bytes of tensors a run keeps to use them again.
const maxSpare = 64 << 20

// release says that one value holds t no longer.
func (r *run) release(t *Tensor) {
	if t == nil || t.store == nil {
		return
	}
	if t.store.users--; t.store.users > 0 {
		return
	}
	n := costOf(t.Type, t.Len())
	if r.saved+n > maxSpare || t.Str != nil {
		r.held -= n
		return
	}
	if r.spare == nil {
		r.spare = map[int][]*Tensor{}
	}
	key := spareKey(t.Type, t.Len())
	r.spare[key] = append(r.spare[key], t)
	r.saved += n
}

// own takes part in the count of users: the caller keeps t beside what has it now.
func own(t *Tensor) {
	if t.store != nil {
		t.store.users++
	}
}

// exec computes p. The caller keeps args; it gets one use of each result.
func (r *run) exec(p *program, args, captured []*Tensor) ([]*Tensor, error) {
	vals := make([]*Tensor, p.slots)
	copy(vals, p.consts)
	for i, slot := range p.inputs {
		own(args[i])
		vals[slot] = args[i]
	}
	for i, slot := range p.captures {
		own(captured[i])
		vals[slot] = captured[i]
	}
	var buf [8]*Tensor
	for i := range p.steps {
		if err := r.step(&p.steps[i], vals, buf[:0]); err != nil {
			return nil, err
		}
	}
	out := make([]*Tensor, len(p.outputs))
	for i, slot := range p.outputs {
		own(vals[slot])
		out[i] = vals[slot]
	}
	for slot, t := range vals {
		if t != nil && p.consts[slot] == nil {
			r.release(t)
		}
	}
	return out, nil
}

var errUnset = errors.New("an output was not computed")

// step computes one node. buf is room for its inputs and outputs.
func (r *run) step(st *step, vals, buf []*Tensor) error {
	if err := r.tick(1); err != nil {
		return err
	}
	for _, slot := range st.in {
		var t *Tensor
		if slot >= 0 {
			t = vals[slot]
		}
		buf = append(buf, t)
	}
	for range st.out {
		buf = append(buf, nil)
	}
	in, out := buf[:len(st.in):len(st.in)], buf[len(st.in):]
	r.dying = st.dying
	if err := st.run(r, in, out); err != nil {
		return stepError(st, err)
	}
	for i, slot := range st.out {
		switch {
		case slot < 0:
			r.release(out[i])
		case out[i] == nil:
			return stepError(st, errUnset)
		default:
			vals[slot] = out[i]
		}
	}
	for i, slot := range st.in {
		if st.dying[i] {
			r.release(vals[slot])
			vals[slot] = nil
		}
	}
	return nil
}

// stepError names the node that failed; the end of the caller's time stays what it is.
func stepError(st *step, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%s: %w", title(st.node), err)
}

// fold computes a node of constants once, when the model is loaded. It reports false if that cannot or should not be
// done; then the node is computed in each call, and fails there if it must.
func (c *compiler) fold(p *program, st *step) bool {
	if st.costs {
		return false
	}
	in := make([]*Tensor, len(st.in))
	for i, slot := range st.in {
		if slot >= 0 {
			if p.consts[slot] == nil {
				return false
			}
			in[i] = p.consts[slot]
		}
	}
	held := 0
	for _, t := range in {
		if t != nil {
			held += t.bytes()
		}
	}
	if int64(held) > c.foldable {
		return false
	}
	r := &run{ctx: context.Background(), limits: Limits{Tensors: c.foldable}, dying: make([]bool, len(in))}
	out := make([]*Tensor, len(st.out))
	if st.run(r, in, out) != nil {
		return false
	}
	c.foldable -= r.held
	for i, slot := range st.out {
		if slot >= 0 {
			if out[i] == nil {
				return false
			}
			out[i].store = nil
			p.consts[slot] = out[i]
		}
	}
	return true
}
