package exec

import (
	"github.com/nacredb/nacre/engine/value"
)

// borne passes on what an expression made, unless it is too heavy to go on with. Lists that hold one another many times
// over take no memory to speak of, but all that is done with them takes as long as if nothing were shared: writing,
// comparing, copying. As whatever makes a value of others ends here, and so each sees none that is heavier, nothing below
// needs a bound of its own.
func (r *Run) borne(v value.Value, err error) (value.Value, error) {
	if v.Light() || err != nil {
		return v, err
	}
	return r.weighed(v)
}

func (r *Run) weighed(v value.Value) (value.Value, error) {
	if err := r.bear(value.Weight(v)); err != nil {
		return value.None, err
	}
	return v, nil
}

// bear refuses to hold n bytes of values at once.
func (r *Run) bear(n int) error {
	if n > r.Ex.Limits.Answer || n == value.Heaviest {
		return value.TooHeavy(r.Ex.Limits.Answer)
	}
	return nil
}

// held is what the values weigh that are gathered for a list or an object, while it grows.
type held int

// add refuses a value too many.
func (h *held) add(r *Run, v value.Value) error {
	if v.Light() {
		return nil
	}
	return h.more(r, v)
}

func (h *held) more(r *Run, v value.Value) error {
	*h += held(value.Weight(v))
	return r.bear(int(*h))
}
