package sql

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// orderedSet is an aggregate with WITHIN GROUP. One that is hypothetical answers for a row that its direct arguments
// make.
type orderedSet struct {
	direct       int // arguments; of a hypothetical one as many as keys of the order
	hypothetical bool
	typ          pgtype.OID // of the result; 0: that of the key
	// eval answers for the keys of all rows, in order, and the direct arguments.
	eval func(w *withinGroup, rows [][]value.Value, direct []value.Value) (value.Value, error)
}

var orderedSets map[string]*orderedSet

func init() {
	orderedSets = map[string]*orderedSet{
		"mode":            {eval: modeOf},
		"percentile_disc": {direct: 1, eval: percentiles(discrete)},
		"percentile_cont": {direct: 1, eval: percentiles(continuous)},
		"rank":            {hypothetical: true, typ: pgtype.Int8, eval: rankIn},
		"dense_rank":      {hypothetical: true, typ: pgtype.Int8, eval: denseRankIn},
		"percent_rank":    {hypothetical: true, typ: pgtype.Float8, eval: percentRankIn},
		"cume_dist":       {hypothetical: true, typ: pgtype.Float8, eval: cumeDistIn},
	}
}

// withinGroup is the part of an aggregate that WITHIN GROUP is about.
type withinGroup struct {
	fn     *orderedSet
	keys   []boundKey
	direct []*bound // arguments that have one value for a group
}

// value is that of the aggregate for rows of keys. s has the values of GROUP BY.
func (w *withinGroup) value(s *scope, rows [][]value.Value) (value.Value, error) {
	direct, err := evalAll(w.direct, s)
	if err != nil {
		return value.None, err
	}
	slices.SortStableFunc(rows, func(a, c []value.Value) int { return compareKeys(w.keys, a, c) })
	return w.fn.eval(w, rows, direct)
}

// isAggregate reports whether c is an aggregate of its query.
func (c *call) isAggregate() bool {
	set := orderedSets[c.name]
	return aggregates[c.name] != nil || c.within != nil || set != nil && !(set.hypothetical && len(c.args) == 0)
}

// orderedSet binds an aggregate with WITHIN GROUP. ns are the names of its query.
func (b *binder) orderedSet(c *call, ns *names) (*aggCall, pgtype.OID, error) {
	fn := orderedSets[c.name]
	if fn != nil && c.within == nil && (fn.hypothetical || len(c.args) == fn.direct+1) {
		return nil, 0, sqlstate.New(sqlstate.WrongObject, "WITHIN GROUP is required for ordered-set aggregate %s",
			c.name).At(c.pos)
	}
	w := &withinGroup{fn: fn}
	inside := &names{cols: ns.cols, outer: ns.outer, where: "an aggregate"}
	grouped := &names{cols: ns.cols, outer: ns.outer, groups: ns.groups, where: "an aggregate"}
	if fn == nil { // its error is that there is no such aggregate
		grouped = inside
	}
	for _, x := range c.args {
		e, err := b.expr(x, grouped)
		if err != nil {
			return nil, 0, err
		}
		w.direct = append(w.direct, e)
	}
	for _, k := range c.within {
		e, err := b.expr(k.x, inside)
		if err != nil {
			return nil, 0, err
		}
		w.keys = append(w.keys, boundKey{x: e, out: -1, desc: k.desc, nullsFirst: k.nullsFirst, oid: e.oid})
	}
	oid, err := b.setTypes(w, c)
	if err != nil {
		return nil, 0, err
	}
	a := &aggCall{within: w, fn: &aggregateFunc{nulls: fn.hypothetical}, oid: oid}
	for i := range w.keys {
		w.keys[i].oid = w.keys[i].x.oid
		a.args = append(a.args, w.keys[i].x)
	}
	if c.filter != nil {
		if a.filter, err = b.condition(c.filter, inside); err != nil {
			return nil, 0, err
		}
	}
	return a, oid, nil
}

// setTypes gives the arguments their types. oid is that of the result.
func (b *binder) setTypes(w *withinGroup, c *call) (oid pgtype.OID, err error) {
	types := make([]string, 0, len(w.direct)+len(w.keys))
	for _, e := range w.direct {
		types = append(types, pgtype.Format(e.oid))
	}
	for _, k := range w.keys {
		types = append(types, pgtype.Format(k.oid))
	}
	none := sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", c.name,
		strings.Join(types, ", ")).At(c.pos)
	switch {
	case w.fn == nil || !w.fn.hypothetical && (len(w.direct) != w.fn.direct || len(w.keys) != 1):
		return 0, none
	case w.fn.hypothetical && len(w.direct) != len(w.keys):
		return 0, none.Hinted("To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments "+
			"(here %d) must match the number of ordering columns (here %d).", c.name, len(w.direct), len(w.keys))
	case w.fn.hypothetical:
		return w.fn.typ, b.hypotheticalTypes(w, c)
	}
	key := &w.keys[0]
	if c.name == "percentile_cont" && key.oid != pgtype.Interval {
		if key.oid != pgtype.Unknown && rank(key.oid) == 0 {
			return 0, none
		}
		if key.x, err = b.coerce(key.x, pgtype.Float8); err != nil {
			return 0, err
		}
	}
	if key.x.oid == pgtype.Unknown {
		return 0, sqlstate.New(sqlstate.TypeMismatch,
			"could not determine polymorphic type because input has type unknown")
	}
	oid = key.x.oid
	if w.fn.direct == 0 {
		return oid, nil
	}
	to, at := pgtype.Float8, w.direct[0].oid
	if at == pgtype.Unknown && c.name == "percentile_disc" && rank(oid) == 0 {
		return 0, sqlstate.New(sqlstate.AmbiguousFunction, "function %s(%s) is not unique", c.name,
			strings.Join(types, ", ")).At(c.pos)
	}
	if pgtype.IsArray(at) {
		to, oid, at = pgtype.ArrayOf(pgtype.Float8), arrayType(oid), pgtype.ElemOf(at)
	}
	if at != pgtype.Unknown && rank(at) == 0 {
		return 0, none
	}
	w.direct[0], err = b.coerce(w.direct[0], to)
	return oid, err
}

// hypotheticalTypes makes each direct argument and its key of one type.
func (b *binder) hypotheticalTypes(w *withinGroup, c *call) error {
	for i := range w.keys {
		k := &w.keys[i]
		if common(k.oid, w.direct[i].oid) == 0 {
			return sqlstate.New(sqlstate.TypeMismatch, "WITHIN GROUP types %s and %s cannot be matched",
				pgtype.Format(k.oid), pgtype.Format(w.direct[i].oid)).At(c.pos)
		}
		var err error
		if k.x, w.direct[i], _, err = b.unify(k.x, w.direct[i]); err != nil {
			return err
		}
	}
	return nil
}

// modeOf is the most frequent key, and of several the first one.
func modeOf(w *withinGroup, rows [][]value.Value, _ []value.Value) (value.Value, error) {
	best, most := value.None, 0
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && compareKeys(w.keys, rows[i], rows[j]) == 0 {
			j++
		}
		if j-i > most {
			best, most = rows[i][0], j-i
		}
		i = j
	}
	return best, nil
}

// percentiles answers for one number from 0 to 1, or for an array of them. at is for one of them.
func percentiles(at func(rows [][]value.Value, p float64) (value.Value, error)) func(*withinGroup, [][]value.Value,
	[]value.Value) (value.Value, error) {
	var each func(rows [][]value.Value, p value.Value) (value.Value, error)
	each = func(rows [][]value.Value, p value.Value) (value.Value, error) {
		switch p.Kind() {
		case value.KindNone:
			return p, nil
		case value.KindArray:
			out := make([]value.Value, p.Len())
			for i, e := range p.Elems() {
				var err error
				if out[i], err = each(rows, e); err != nil {
					return value.None, err
				}
			}
			return value.ArrayOf(out), nil
		}
		f := p.AsFloat()
		if !(f >= 0 && f <= 1) {
			return value.None, sqlstate.New(sqlstate.OutOfRange, "percentile value %g is not between 0 and 1", f)
		}
		if len(rows) == 0 {
			return value.None, nil
		}
		return at(rows, f)
	}
	return func(_ *withinGroup, rows [][]value.Value, direct []value.Value) (value.Value, error) {
		if len(rows) == 0 && direct[0].Kind() == value.KindArray {
			return value.None, nil
		}
		return each(rows, direct[0])
	}
}

// discrete is the first key that has at least the part p of all keys up to it.
func discrete(rows [][]value.Value, p float64) (value.Value, error) {
	n := int(math.Ceil(p * float64(len(rows))))
	return rows[min(max(n, 1), len(rows))-1][0], nil
}

// continuous lies between the two keys that are the nearest to the part p.
func continuous(rows [][]value.Value, p float64) (value.Value, error) {
	at := p * float64(len(rows)-1)
	i := int(math.Floor(at))
	low, high, part := rows[i][0], rows[int(math.Ceil(at))][0], at-math.Floor(at)
	if part == 0 {
		return low, nil
	}
	if !pgtype.IsInterval(low) {
		return value.Float(low.AsFloat() + part*(high.AsFloat()-low.AsFloat())), nil
	}
	way, err := addSpans(high, low, true)
	if err == nil {
		way, err = scaled(way, part, false)
	}
	if err != nil {
		return value.None, err
	}
	return addSpans(low, way, false)
}

// before counts the rows that are in order before a row of direct arguments, and those that are its peers.
func (w *withinGroup) before(rows [][]value.Value, direct []value.Value) (before, peers int) {
	compare := func(row, direct []value.Value) int { return cmp.Compare(compareKeys(w.keys, row, direct), 0) }
	before, _ = slices.BinarySearchFunc(rows, direct, compare)
	for before+peers < len(rows) && compare(rows[before+peers], direct) == 0 {
		peers++
	}
	return before, peers
}

func rankIn(w *withinGroup, rows [][]value.Value, direct []value.Value) (value.Value, error) {
	n, _ := w.before(rows, direct)
	return value.Int(int64(n) + 1), nil
}

func denseRankIn(w *withinGroup, rows [][]value.Value, direct []value.Value) (value.Value, error) {
	n, _ := w.before(rows, direct)
	out := int64(1)
	for i := range n {
		if i == 0 || compareKeys(w.keys, rows[i-1], rows[i]) != 0 {
			out++
		}
	}
	return value.Int(out), nil
}

func percentRankIn(w *withinGroup, rows [][]value.Value, direct []value.Value) (value.Value, error) {
	if len(rows) == 0 {
		return value.Float(0), nil
	}
	n, _ := w.before(rows, direct)
	return value.Float(float64(n) / float64(len(rows))), nil
}

func cumeDistIn(w *withinGroup, rows [][]value.Value, direct []value.Value) (value.Value, error) {
	n, peers := w.before(rows, direct)
	return value.Float(float64(n+peers+1) / float64(len(rows)+1)), nil
}
