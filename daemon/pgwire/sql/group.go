package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// tally is an aggregate of one group at work.
type tally struct {
	a     *aggCall
	sofar value.Value
	total int64 // to be added to sofar yet, in a sum
	n     int64
	rows  [][]value.Value // the arguments, where the aggregate looks at all of them
	seen  map[string]bool // the arguments that have been, for DISTINCT
	room  []value.Value
	text  []byte // the best of the n texts so far; sofar is not set then
}

// add takes a row.
func (t *tally) add(s *scope) error {
	a := t.a
	if a.filter != nil {
		v, err := a.filter.eval(s)
		if err != nil || !truth(v) {
			return err
		}
	}
	if len(a.args) == 0 && !a.distinct && a.fn.step != nil { // count(*)
		t.n++
		return nil
	}
	if len(a.args) == 1 && !a.distinct && a.fn.streams() {
		if a.fn.adds && a.args[0].whole != nil {
			n, ok, err := a.args[0].whole(s)
			if err != nil {
				return err
			}
			if ok {
				t.n++
				return t.sum(n)
			}
		}
		v, err := a.args[0].eval(s)
		if err != nil || v.IsNone() {
			return err
		}
		t.n++
		return t.take(v)
	}
	var err error
	if t.room, err = evalInto(t.room[:0], a.args, s); err != nil {
		return err
	}
	row := t.room
	if !a.star && !a.fn.nulls && row[0].IsNone() {
		return nil
	}
	if a.distinct {
		k := rowKey(row)
		if t.seen[k] {
			return nil
		}
		if t.seen == nil {
			t.seen = map[string]bool{}
		}
		t.seen[k] = true
		if err := s.rt.hold(row); err != nil {
			return err
		}
	}
	t.n++
	if !a.fn.streams() {
		row = detached(row)
		t.rows = append(t.rows, row)
		return s.rt.hold(row)
	}
	arg := value.None
	if len(row) > 0 {
		arg = row[0]
	}
	return t.take(arg)
}

// sum adds a whole number to a sum.
func (t *tally) sum(n int64) (err error) {
	if c := t.total + n; (c > t.total) == (n > 0) {
		t.total = c
		return nil
	}
	t.sofar, err = addTo(t.a.oid, t.sofar, value.Int(t.total))
	t.total = n
	return err
}

// take adds an argument to what there is.
func (t *tally) take(arg value.Value) (err error) {
	a := t.a
	if a.fn.best == 0 {
		t.sofar, err = a.fn.step(a.oid, t.sofar, arg)
		return err
	}
	if pgtype.IsText(a.oid) && arg.Kind() == value.KindString { // kept in one room: each row may bring a better one
		s := arg.Str()
		if t.n == 1 || a.fn.best > 0 && s > string(t.text) || a.fn.best < 0 && s < string(t.text) {
			t.text = append(t.text[:0], s...)
		}
		return nil
	}
	if t.sofar.IsNone() || order(a.oid, arg, t.sofar)*a.fn.best > 0 {
		t.sofar = value.Detach(arg)
	}
	return nil
}

// detached is a copy of a row that lasts.
func detached(row []value.Value) []value.Value {
	out := make([]value.Value, len(row))
	for i, v := range row {
		out[i] = value.Detach(v)
	}
	return out
}

// result is the value of the aggregate over the rows so far, of a group whose keys are in s. More may be added after it.
func (t *tally) result(s *scope) (v value.Value, err error) {
	if t.a.within != nil {
		return t.a.within.value(s, t.rows)
	}
	if !t.a.fn.streams() {
		return t.a.fn.eval(t.a.oid, t.rows)
	}
	if t.a.fn.best != 0 && t.n > 0 && t.sofar.IsNone() {
		return value.Str(string(t.text)), nil
	}
	sofar := t.sofar
	if t.total != 0 || t.n > 0 && t.a.fn.adds && sofar.IsNone() {
		if sofar, err = addTo(t.a.oid, sofar, value.Int(t.total)); err != nil {
			return value.None, err
		}
	}
	return t.a.fn.last(t.a.oid, sofar, t.n)
}

// group is one group of rows.
type group struct {
	keys    []value.Value
	tallies []tally
	rows    []*scope // where an aggregate wants them in an order of its own
}

// streams reports whether no aggregate needs the rows of its group together.
func (g *aggregation) streams() bool {
	for _, a := range g.calls {
		if len(a.order) > 0 {
			return false
		}
	}
	return true
}

// counted is the number of rows, where that is all that is wanted of one relation and it knows it; ok is false else.
func (r *coreRun) counted(rt *runtime, outer *scope) (n int64, ok bool, err error) {
	s := r.leaf()
	if s == nil || len(r.filters) > 0 || len(r.agg.groups) > 0 || len(r.agg.calls) == 0 {
		return 0, false, nil
	}
	for _, a := range r.agg.calls {
		if !a.star || a.filter != nil {
			return 0, false, nil
		}
	}
	c, ok := s.rel.(Counter)
	if !ok {
		return 0, false, nil
	}
	scan, err := pushed(new(Scan), s, &scope{rt: rt, row: make([]value.Value, r.width), outer: outer}, s.conds)
	if err != nil || len(scan.Filters) != len(s.conds) {
		return 0, false, err
	}
	return c.Count(rt.ctx, scan)
}

// grouped hands one row for each group to yield: the keys, then the aggregates.
func (r *coreRun) grouped(rt *runtime, outer *scope, yield func(*scope) error) error {
	n, ok, err := r.counted(rt, outer)
	if err != nil {
		return err
	}
	if ok {
		s := &scope{rt: rt, row: make([]value.Value, r.width), outer: outer}
		for range r.agg.calls {
			s.aggs = append(s.aggs, value.Int(n))
		}
		return yield(s)
	}
	list, err := r.groupsOf(rt, outer)
	if err != nil {
		return err
	}
	for _, g := range list {
		if err := rt.poll(); err != nil {
			return err
		}
		s := &scope{rt: rt, row: make([]value.Value, r.width), outer: outer, aggs: g.keys}
		for i, a := range r.agg.calls {
			var v value.Value
			var err error
			if g.rows != nil {
				v, err = a.value(s, g.rows)
			} else {
				v, err = g.tallies[i].result(s)
			}
			if err != nil {
				return err
			}
			s.aggs = append(s.aggs, v)
		}
		if err := yield(s); err != nil {
			return err
		}
	}
	return nil
}

// groupsOf reads the rows into their groups, in the order in which these begin.
func (r *coreRun) groupsOf(rt *runtime, outer *scope) (list []*group, err error) {
	begin := func(keys []value.Value) *group {
		g := &group{keys: keys, tallies: make([]tally, len(r.agg.calls))}
		for i, a := range r.agg.calls {
			g.tallies[i].a = a
		}
		list = append(list, g)
		return g
	}
	index := map[string]*group{}
	if len(r.agg.groups) == 0 {
		index[""] = begin(nil)
	}
	streams := r.agg.streams()
	whole := map[int64]*group{} // those of one key that is a whole number
	var single func(*scope) (int64, bool, error)
	if len(r.agg.groups) == 1 {
		single = r.agg.groups[0].whole
	}
	var room []value.Value
	var key []byte
	groupOf := func(s *scope) (*group, error) {
		if single != nil {
			n, ok, err := single(s)
			if err != nil {
				return nil, err
			}
			if ok {
				g := whole[n]
				if g == nil {
					g = begin([]value.Value{value.Int(n)})
					whole[n] = g
					return g, rt.hold(g.keys)
				}
				return g, nil
			}
		}
		var err error
		if room, err = evalInto(room[:0], r.agg.groups, s); err != nil {
			return nil, err
		}
		key = key[:0]
		for _, v := range room {
			key = append(appendKey(key, v), 2)
		}
		g := index[string(key)]
		if g == nil {
			g = begin(detached(room))
			index[string(key)] = g
			return g, rt.hold(g.keys)
		}
		return g, nil
	}
	err = r.input(rt, outer, func(s *scope) error {
		g, err := groupOf(s)
		if err != nil {
			return err
		}
		if !streams {
			g.rows = append(g.rows, s)
			return rt.hold(s.row)
		}
		for i := range g.tallies {
			if err := g.tallies[i].add(s); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
