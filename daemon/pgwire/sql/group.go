package sql

import (
	"slices"

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
	text  []byte      // the best of the n texts so far; sofar is not set then
	state accumulator // in the place of sofar, after the first row; nil: there is none
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
	if len(a.args) == 1 && !a.distinct && a.fn.begin == nil && a.fn.streams() {
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
	return t.takeRow(row)
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

// takeRow adds the arguments of a row to what there is.
func (t *tally) takeRow(args []value.Value) error {
	switch {
	case t.a.fn.begin == nil && len(args) == 0:
		return t.take(value.None)
	case t.a.fn.begin == nil:
		return t.take(args[0])
	case slices.ContainsFunc(args, value.Value.IsNone):
		return nil
	}
	if t.state == nil {
		t.state = t.a.fn.begin(t.a.oid)
	}
	return t.state.add(args)
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

// result is the value of the aggregate over the rows so far, of a group whose keys are in s. More may be added after
// it.
func (t *tally) result(s *scope) (v value.Value, err error) {
	if t.a.within != nil {
		return t.a.within.value(s, t.rows)
	}
	if !t.a.fn.streams() {
		return t.a.fn.eval(t.a.oid, t.rows)
	}
	if begin := t.a.fn.begin; begin != nil {
		state := t.state
		if state == nil {
			state = begin(t.a.oid)
		}
		return state.result()
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
	set     int // the number of its grouping set
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
	if s == nil || len(r.filters) > 0 || len(r.agg.groups)+len(r.agg.sets) > 0 || len(r.agg.calls) == 0 {
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

// grouped hands one row for each group to yield: the keys, then the aggregates and the number of the grouping set.
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
		s.aggs = append(s.aggs, value.Int(int64(g.set)))
		if err := yield(s); err != nil {
			return err
		}
	}
	return nil
}

// groupIndex finds the groups of rows. list has them in the order in which they begin.
type groupIndex struct {
	rt    *runtime
	agg   *aggregation
	list  []*group
	byKey map[string]*group
	whole map[int64]*group // those of one key that is a whole number
	room  []value.Value
	key   []byte
}

// begin makes a group of a grouping set.
func (x *groupIndex) begin(set int, keys []value.Value) (*group, error) {
	g := &group{set: set, keys: keys, tallies: make([]tally, len(x.agg.calls))}
	weight := 0
	for i, a := range x.agg.calls {
		g.tallies[i].a = a
		if weight += tallyWeight; a.fn.begin != nil {
			weight += accumulatorWeight
		}
	}
	x.list = append(x.list, g)
	if err := x.rt.spend(weight); err != nil {
		return nil, err
	}
	return g, x.rt.hold(keys)
}

// tallyWeight is about what a tally takes.
const tallyWeight = 128

// single is the group of a row by the one key of the query, a whole number; nil: it is none.
func (x *groupIndex) single(s *scope) (*group, error) {
	n, ok, err := x.agg.groups[0].whole(s)
	if err != nil || !ok {
		return nil, err
	}
	if g := x.whole[n]; g != nil {
		return g, nil
	}
	g, err := x.begin(0, []value.Value{value.Int(n)})
	x.whole[n] = g
	return g, err
}

// each hands the groups of a row to do: one of each grouping set.
func (x *groupIndex) each(s *scope, do func(g *group, first bool) error) error {
	if x.agg.sets == nil && len(x.agg.groups) == 1 && x.agg.groups[0].whole != nil {
		if g, err := x.single(s); err != nil || g != nil {
			if err != nil {
				return err
			}
			return do(g, true)
		}
	}
	var err error
	if x.room, err = evalInto(x.room[:0], x.agg.groups, s); err != nil {
		return err
	}
	for set := range max(1, len(x.agg.sets)) {
		if err := x.rt.poll(); err != nil {
			return err
		}
		x.key = x.agg.setKey(set, x.room, x.key[:0])
		g := x.byKey[string(x.key)]
		if g == nil {
			if g, err = x.begin(set, x.agg.setValues(set, x.room)); err != nil {
				return err
			}
			x.byKey[string(x.key)] = g
		}
		if err := do(g, set == 0); err != nil {
			return err
		}
	}
	return nil
}

// groupsOf reads the rows into their groups.
func (r *coreRun) groupsOf(rt *runtime, outer *scope) ([]*group, error) {
	x := &groupIndex{rt: rt, agg: r.agg, byKey: map[string]*group{}, whole: map[int64]*group{}}
	for _, set := range r.agg.shared() {
		g, err := x.begin(set, make([]value.Value, len(r.agg.groups)))
		if err != nil {
			return nil, err
		}
		x.byKey[string(r.agg.setKey(set, g.keys, nil))] = g
	}
	streams := r.agg.streams()
	err := r.input(rt, outer, func(s *scope) error {
		return x.each(s, func(g *group, first bool) error {
			if !streams {
				g.rows = append(g.rows, s)
				if first {
					return rt.hold(s.row)
				}
				return rt.spend(8)
			}
			for i := range g.tallies {
				if err := g.tallies[i].add(s); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return x.list, err
}
