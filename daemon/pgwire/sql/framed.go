package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// framed is an aggregate at work over the frames of one partition. Frames that begin where the partition does only
// add rows. Other frames slide: of whole numbers and decimals the sums also lose rows, exactly; the least and
// greatest come from a tree of them; anything else, floats above all, is added up again for each frame, in the order
// of the rows.
type framed struct {
	rt *runtime
	a  *aggCall
	p  *partition
	fr *framer

	// The arguments of all rows, len(a.args) for each, and which rows count: FILTER lets them pass, and the first
	// argument is not NULL unless the aggregate takes that.
	args   []value.Value
	counts []bool

	rows [][]value.Value // room for the arguments of one frame
}

// run hands the value for each row to give.
func (f *framed) run(give func(j int, v value.Value) error) error {
	if f.fr.f.running() {
		return f.grow(give)
	}
	at := f.again
	ok, err := f.prepare()
	if err != nil {
		return err
	}
	if ok {
		switch {
		case f.a.fn.best != 0:
			t, err := f.tree()
			if err != nil {
				return err
			}
			at = t.value
		default:
			if s := f.slider(); s != nil {
				at = s.value
			}
		}
	}
	var last [3]span
	v := value.None
	for j := range f.p.rows {
		s, err := f.fr.next(j)
		if err != nil {
			return err
		}
		if spans := f.fr.spans(j, s); j == 0 || spans != last {
			if v, err = at(j, s, spans); err != nil {
				return err
			}
			last = spans
		}
		if err := give(j, v); err != nil {
			return err
		}
	}
	return nil
}

// grow is run where each frame has the rows of the one before.
func (f *framed) grow(give func(j int, v value.Value) error) error {
	t := tally{a: f.a}
	v := value.None
	for j, added := 0, 0; j < len(f.p.rows); j++ {
		s, err := f.fr.next(j)
		if err != nil {
			return err
		}
		more := added < s.end
		for ; added < s.end; added++ {
			if err := f.rt.poll(); err != nil {
				return err
			}
			if err := t.add(f.p.rows[added]); err != nil {
				return err
			}
		}
		if more || j == 0 {
			if v, err = t.result(nil); err != nil {
				return err
			}
		}
		if err := give(j, v); err != nil {
			return err
		}
	}
	return nil
}

// prepare computes the arguments of all rows. ok is false where one of them fails: the error counts only if its row
// is in a frame.
func (f *framed) prepare() (ok bool, err error) {
	n, k := len(f.p.rows), len(f.a.args)
	if err := f.rt.spend(n * (1 + 24*k)); err != nil {
		return false, err
	}
	f.counts = make([]bool, n)
	f.args = make([]value.Value, 0, n*k)
	for i, s := range f.p.rows {
		if err := f.rt.poll(); err != nil {
			return false, err
		}
		if f.a.filter != nil {
			v, err := f.a.filter.eval(s)
			if err != nil {
				return false, f.forget(err)
			}
			if !truth(v) {
				f.args = f.args[:len(f.args)+k]
				continue
			}
		}
		from := len(f.args)
		if f.args, err = evalInto(f.args, f.a.args, s); err != nil {
			return false, f.forget(err)
		}
		f.counts[i] = k == 0 || f.a.fn.nulls || !f.args[from].IsNone()
		for _, v := range f.args[from:] {
			if !v.Light() {
				if err := f.rt.spend(value.Weight(v)); err != nil {
					return false, err
				}
			}
		}
	}
	return true, nil
}

// forget drops the arguments. It returns err only where the statement must end.
func (f *framed) forget(err error) error {
	f.args, f.counts = nil, nil
	if ended := f.rt.ctx.Err(); ended != nil {
		return err
	}
	return nil
}

// again adds up a frame from its first row on.
func (f *framed) again(_ int, _ span, spans [3]span) (value.Value, error) {
	t := tally{a: f.a, rows: f.rows[:0]}
	k := len(f.a.args)
	for _, s := range spans {
		for i := s.start; i < s.end; i++ {
			if err := f.rt.poll(); err != nil {
				return value.None, err
			}
			var err error
			switch {
			case f.counts == nil:
				err = t.add(f.p.rows[i])
			case !f.counts[i]:
			default:
				t.n++
				if !f.a.fn.streams() {
					t.rows = append(t.rows, f.args[i*k:i*k+k:i*k+k])
				} else if k > 0 {
					err = t.takeRow(f.args[i*k : i*k+k])
				}
			}
			if err != nil {
				return value.None, err
			}
		}
	}
	f.rows = t.rows[:0]
	return t.result(nil)
}

// slides reports whether the aggregate is one that a slider knows.
func (a *aggCall) slides() bool {
	if a.fn.adds {
		return pgtype.IsInt(a.oid) || a.oid == pgtype.Numeric
	}
	return a.fn.step != nil
}
