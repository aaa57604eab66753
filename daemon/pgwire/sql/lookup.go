package sql

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/value"
)

// Looker is a relation that finds some rows without a look at the others.
type Looker interface {
	// Looks reports whether the rows with a value of a column are found by a key or an index; Indexed, whether those of
	// most values are.
	Looks(column int, v value.Value) bool
	Indexed(column int) bool
}

// MostLookups is how many rows of one side of a join look for those of the other: more of them read it whole. Tests set
// it to 0.
var MostLookups = func() *atomic.Int64 {
	n := new(atomic.Int64)
	n.Store(200)
	return n
}()

// lookup is a join whose rows of one side find those of the other by a key or an index of it.
type lookup struct {
	join        *source
	from, other *source
	rel         Looker    // of other
	column      int       // of rel
	key         [2]*bound // of from, and the column
}

// lookups are the ways to join by keys and indexes; the first is that from the left.
func (s *source) lookups() (ways []*lookup) {
	add := func(from, other *source, side int) {
		rel, ok := other.rel.(Looker)
		if !ok || other.lateral {
			return
		}
		for _, k := range s.keys {
			at, is := k[side].isColumn()
			if is && rel.Indexed(at-other.at) && len(k[1-side].cols) > 0 {
				ways = append(ways, &lookup{join: s, from: from, other: other, rel: rel, column: at - other.at,
					key: [2]*bound{k[1-side], k[side]}})
				return
			}
		}
	}
	if s.kind == "inner" || s.kind == "left" {
		add(s.l, s.r, 1)
	}
	if s.kind == "inner" {
		add(s.r, s.l, 0)
	}
	return ways
}

// drivers are the rows of the side that looks for others; ok is false where they are too many, or some of their values
// are not found by lookups.
func (w *lookup) drivers(rt *runtime, at *scope) (list []*scope, ok bool, err error) {
	ok = true
	err = w.from.run(rt, at, func(row *scope) error {
		v, err := w.key[0].eval(row)
		if err != nil {
			return err
		}
		if int64(len(list)) >= MostLookups.Load() || !v.IsNone() && !w.rel.Looks(w.column, v) {
			ok = false
			return errEnough
		}
		own := *row
		own.row = slices.Clone(row.row)
		list = append(list, &own)
		return rt.hold(own.row)
	})
	if !ok && errors.Is(err, errEnough) {
		err = nil
	}
	return list, ok, err
}

// find gives the rows of the other side with a value of the column.
func (w *lookup) find(rt *runtime, at *scope, v value.Value) (rows [][]value.Value, err error) {
	with := constant(v, w.key[1].oid)
	with.outer = true // the rows are those of one value
	cond := &bound{compares: &comparisonOf{col: w.other.at + w.column, op: "=", with: with}}
	other := w.other
	err = other.leaf(rt, at, append(slices.Clip(other.conds), cond), func(row *scope) error {
		ok, err := all(other.conds, row)
		if err != nil || !ok {
			return err
		}
		own := slices.Clone(row.row[other.at : other.at+other.n])
		rows = append(rows, own)
		return rt.hold(own)
	})
	return rows, err
}

// run joins the rows that look for others with those that they find.
func (w *lookup) run(rt *runtime, at *scope, list []*scope, yield func(*scope) error) error {
	known := map[string][][]value.Value{}
	for _, row := range list {
		v, err := w.key[0].eval(row)
		if err != nil {
			return err
		}
		found := false
		if !v.IsNone() {
			key := string(appendKey(nil, v))
			rows, ok := known[key]
			if !ok {
				if rows, err = w.find(rt, at, v); err != nil {
					return err
				}
				known[key] = rows
			}
			for _, other := range rows {
				both := row.with(w.other.at, other)
				if ok, err := w.join.fits(both); err != nil {
					return err
				} else if ok {
					found = true
					if err := yield(both); err != nil {
						return err
					}
				}
			}
		}
		if !found && w.join.kind == "left" {
			if err := yield(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// fits reports whether the two sides of a row belong together.
func (s *source) fits(both *scope) (bool, error) {
	l, ok, err := s.key(both, 0)
	if err != nil || !ok {
		return false, err
	}
	r, ok, err := s.key(both, 1)
	if err != nil || !ok || l != r {
		return false, err
	}
	return all(s.on, both)
}

// runLookups runs the join by lookups where few rows of a side look for others.
func (s *source) runLookups(rt *runtime, at *scope, yield func(*scope) error) (done bool, err error) {
	for _, w := range s.lookups() {
		list, ok, err := w.drivers(rt, at)
		if err != nil {
			return true, err
		}
		if ok {
			return true, w.run(rt, at, list, yield)
		}
	}
	return false, nil
}
