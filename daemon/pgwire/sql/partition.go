package sql

import (
	"slices"

	"github.com/nacredb/nacre/engine/value"
)

// partition are the rows of a window that belong together, in the order of the window.
type partition struct {
	rows   []*scope
	keys   [][]value.Value // of ORDER BY, for each row
	group  []int           // the number of the peers of each row, from 0
	starts []int           // where the peers of each number begin, then where the last ones end
}

// peers are the rows that are equal in order to row j.
func (p *partition) peers(j int) (start, end int) {
	g := p.group[j]
	return p.starts[g], p.starts[g+1]
}

// runWindows computes the functions over windows for all rows.
func runWindows(rt *runtime, outer *scope, calls []*windowCall, rows []*scope) error {
	frames := make([]offsets, len(calls))
	for i, w := range calls {
		var err error
		if frames[i], err = w.frame.offsets(rt, outer); err != nil {
			return err
		}
	}
	for _, s := range rows {
		s.wins = make([]value.Value, len(calls))
		if err := rt.spend(24 * len(calls)); err != nil {
			return err
		}
	}
	parts := map[string][]*partition{}
	for i, w := range calls {
		list, ok := parts[w.spec]
		if !ok {
			var err error
			if list, err = w.partitions(rt, rows); err != nil {
				return err
			}
			parts[w.spec] = list
		}
		for _, p := range list {
			if err := w.run(rt, i, p, frames[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// partitions sorts the rows into those of the window.
func (w *windowCall) partitions(rt *runtime, rows []*scope) (list []*partition, err error) {
	index := map[string]*partition{}
	var room []value.Value
	var key []byte
	for _, s := range rows {
		if err := rt.poll(); err != nil {
			return nil, err
		}
		if room, err = evalInto(room[:0], w.partition, s); err != nil {
			return nil, err
		}
		key = key[:0]
		for _, v := range room {
			key = append(appendKey(key, v), 2)
		}
		p := index[string(key)]
		if p == nil {
			p = &partition{}
			index[string(key)] = p
			list = append(list, p)
		}
		p.rows = append(p.rows, s)
	}
	for _, p := range list {
		if err := p.sort(rt, w.order); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// sort brings the rows into order and finds the peers.
func (p *partition) sort(rt *runtime, order []boundKey) error {
	n := len(p.rows)
	if err := rt.spend(32 * n); err != nil {
		return err
	}
	p.group = make([]int, n)
	if len(order) == 0 {
		p.starts = []int{0, n}
		return nil
	}
	type keyed struct {
		s    *scope
		keys []value.Value
	}
	list := make([]keyed, n)
	room := make([]value.Value, 0, n*len(order))
	for i, s := range p.rows {
		if err := rt.poll(); err != nil {
			return err
		}
		from := len(room)
		for _, k := range order {
			v, err := k.x.eval(s)
			if err != nil {
				return err
			}
			room = append(room, v)
		}
		list[i] = keyed{s, room[from:]}
		if err := rt.hold(list[i].keys); err != nil {
			return err
		}
	}
	slices.SortStableFunc(list, func(a, c keyed) int { return compareKeys(order, a.keys, c.keys) })
	p.keys = make([][]value.Value, n)
	for i, k := range list {
		p.rows[i], p.keys[i] = k.s, k.keys
		if i == 0 || compareKeys(order, p.keys[i-1], k.keys) != 0 {
			p.starts = append(p.starts, i)
		}
		p.group[i] = len(p.starts) - 1
	}
	p.starts = append(p.starts, n)
	return nil
}

// run computes function i of the query for a partition.
func (w *windowCall) run(rt *runtime, i int, p *partition, o offsets) error {
	give := func(j int, v value.Value) error {
		if err := rt.poll(); err != nil {
			return err
		}
		p.rows[j].wins[i] = v
		if v.Light() {
			return nil
		}
		return rt.spend(value.Weight(v))
	}
	fr := &framer{f: w.frame, o: o, p: p}
	if len(w.order) == 1 {
		fr.key = &w.order[0]
	}
	if w.agg != nil {
		return (&framed{rt: rt, a: w.agg, p: p, fr: fr}).run(give)
	}
	fn := rankings[w.name]
	r := &ranked{w: w, p: p}
	for j := range p.rows {
		r.j = j
		r.start, r.end = p.peers(j)
		if fn.framed || o.fromRange.Kind() != value.KindNone || o.toRange.Kind() != value.KindNone {
			var err error
			if r.frame, err = fr.next(j); err != nil {
				return err
			}
		}
		v, err := fn.at(r)
		if err != nil {
			return err
		}
		if err := give(j, v); err != nil {
			return err
		}
	}
	return nil
}
