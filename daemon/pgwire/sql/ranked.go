package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// ranked is a function of windows at work on row j of a partition.
type ranked struct {
	w          *windowCall
	p          *partition
	j          int
	start, end int // the peers of the row
	frame      span
}

func (r *ranked) rowNumber() (value.Value, error) { return value.Int(int64(r.j + 1)), nil }

func (r *ranked) rank() (value.Value, error) { return value.Int(int64(r.start + 1)), nil }

func (r *ranked) denseRank() (value.Value, error) { return value.Int(int64(r.p.group[r.j] + 1)), nil }

func (r *ranked) percentRank() (value.Value, error) {
	if len(r.p.rows) == 1 {
		return value.Float(0), nil
	}
	return value.Float(float64(r.start) / float64(len(r.p.rows)-1)), nil
}

func (r *ranked) cumeDist() (value.Value, error) {
	return value.Float(float64(r.end) / float64(len(r.p.rows))), nil
}

// of is argument i for row k.
func (r *ranked) of(i, k int) (value.Value, error) { return r.w.args[i].eval(r.p.rows[k]) }

func (r *ranked) lag() (value.Value, error) { return r.other(-1) }

func (r *ranked) lead() (value.Value, error) { return r.other(1) }

// other is the first argument for a row before or behind this one; where there is none the third one.
func (r *ranked) other(direction int64) (value.Value, error) {
	n := int64(1)
	if len(r.w.args) > 1 {
		v, err := r.of(1, r.j)
		if err != nil || v.IsNone() {
			return value.None, err
		}
		n = asInt(v)
	}
	if k := int64(r.j) + n*direction; k >= 0 && k < int64(len(r.p.rows)) {
		return r.of(0, int(k))
	}
	if len(r.w.args) > 2 {
		return r.of(2, r.j)
	}
	return value.None, nil
}

func (r *ranked) ntile() (value.Value, error) {
	v, err := r.of(0, r.j)
	if err != nil || v.IsNone() {
		return value.None, err
	}
	n := asInt(v)
	if n < 1 {
		return value.None, sqlstate.New(sqlstate.InvalidNtile, "argument of ntile must be greater than zero")
	}
	total := int64(len(r.p.rows))
	big, size := total%n, total/n
	k := int64(r.j)
	if k < big*(size+1) {
		return value.Int(k/(size+1) + 1), nil
	}
	return value.Int((k-big*(size+1))/max(size, 1) + big + 1), nil
}

// spans are the rows of the frame.
func (r *ranked) spans() [3]span {
	x := &framer{f: r.w.frame, p: r.p}
	return x.spans(r.j, r.frame)
}

func (r *ranked) firstValue() (value.Value, error) { return r.nth(1) }

func (r *ranked) lastValue() (value.Value, error) {
	spans := r.spans()
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].len() > 0 {
			return r.of(0, spans[i].end-1)
		}
	}
	return value.None, nil
}

func (r *ranked) nthValue() (value.Value, error) {
	v, err := r.of(1, r.j)
	if err != nil || v.IsNone() {
		return value.None, err
	}
	if asInt(v) < 1 {
		return value.None, sqlstate.New(sqlstate.InvalidNthValue, "argument of nth_value must be greater than zero")
	}
	return r.nth(asInt(v))
}

// nth is the first argument for row n of the frame, from 1.
func (r *ranked) nth(n int64) (value.Value, error) {
	for _, s := range r.spans() {
		if have := int64(s.len()); n > have {
			n -= have
			continue
		}
		return r.of(0, s.start+int(n)-1)
	}
	return value.None, nil
}
