package exec

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// checked returns the value that an expression made, or an error if it is too heavy. Lists that hold one another many
// times over take little memory, but writing, comparing and copying them takes as long as if nothing were shared. All
// that makes values of others ends here, so the code below needs no bounds of its own.
func (r *Run) checked(v value.Value, err error) (value.Value, error) {
	if v.Light() || err != nil {
		return v, err
	}
	return r.weighed(v)
}

func (r *Run) weighed(v value.Value) (value.Value, error) {
	if value.Deep(v) {
		return value.None, errs.TooDeep()
	}
	r.worked(value.Weight(v))
	if err := r.reserve(value.Weight(v)); err != nil {
		return value.None, err
	}
	return v, nil
}

// reserve refuses to hold n bytes of values at once if a value may not weigh so much, or if queries have no such memory
// left.
func (r *Run) reserve(n int) error {
	if n > r.Ex.Limits.Answer || n == value.Heaviest {
		return value.TooHeavy(r.Ex.Limits.Answer)
	}
	return r.Mem.Reach(n)
}

// keep counts what an operator or a variable holds on to, until the statement or block around it rewinds.
func (r *Run) keep(v value.Value) error { return r.Mem.Charge(value.Weight(v)) }

// held is the weight of the values gathered so far for a list or an object.
type held int

// add refuses a value too many.
func (h *held) add(r *Run, v value.Value) error {
	if v.Light() {
		return nil
	}
	return h.more(r, v)
}

func (h *held) more(r *Run, v value.Value) error {
	if value.Deep(v) {
		return errs.TooDeep()
	}
	*h += held(value.Weight(v))
	return r.reserve(int(*h))
}

// keep is add for what is kept until the statement rewinds.
func (h *held) keep(r *Run, v value.Value) error {
	n := value.Weight(v)
	if *h += held(n); int(*h) > r.Ex.Limits.Answer {
		return errs.Internal("The statement would hold more than %d bytes", r.Ex.Limits.Answer)
	}
	return r.Mem.Charge(n)
}
