package sql

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// windowCall is a function over a window.
type windowCall struct {
	name      string
	agg       *aggCall // nil: one of the rankings
	args      []*bound // of a ranking
	partition []*bound
	order     []boundKey
	frame     *boundFrame
	// spec is the same for windows of the same partitions and order, so that the rows are sorted once for all of them.
	spec string
}

// ranking is a function that only a window has.
type ranking struct {
	min, max int                                  // arguments
	typ      func(arg pgtype.OID) pgtype.OID      // of the result
	number   int                                  // which argument is an integer; -1: none
	framed   bool                                 // it looks at the frame, else at the whole partition
	at       func(r *ranked) (value.Value, error) // the value for a row
}

var rankings map[string]*ranking

func init() {
	whole, real := always(pgtype.Int8), always(pgtype.Float8)
	rankings = map[string]*ranking{
		"row_number":   {typ: whole, number: -1, at: (*ranked).rowNumber},
		"rank":         {typ: whole, number: -1, at: (*ranked).rank},
		"dense_rank":   {typ: whole, number: -1, at: (*ranked).denseRank},
		"percent_rank": {typ: real, number: -1, at: (*ranked).percentRank},
		"cume_dist":    {typ: real, number: -1, at: (*ranked).cumeDist},
		"ntile":        {min: 1, max: 1, typ: always(pgtype.Int4), at: (*ranked).ntile},
		"lag":          {min: 1, max: 3, typ: same, number: 1, at: (*ranked).lag},
		"lead":         {min: 1, max: 3, typ: same, number: 1, at: (*ranked).lead},
		"first_value":  {min: 1, max: 1, typ: same, number: -1, framed: true, at: (*ranked).firstValue},
		"last_value":   {min: 1, max: 1, typ: same, number: -1, framed: true, at: (*ranked).lastValue},
		"nth_value":    {min: 2, max: 2, typ: same, number: 1, framed: true, at: (*ranked).nthValue},
	}
}

// windowCall binds a function with OVER: an aggregate or a ranking.
func (b *binder) windowCall(c *call, ns *names) (*bound, error) {
	switch {
	case c.within != nil && orderedSets[c.name] != nil:
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "OVER is not supported for ordered-set aggregate %s",
			c.name).At(c.pos)
	case aggregates[c.name] == nil && (rankings[c.name] == nil || len(c.args) > 0) && orderedSets[c.name] != nil:
		return nil, sqlstate.New(sqlstate.WrongObject, "WITHIN GROUP is required for ordered-set aggregate %s",
			c.name).At(c.pos)
	case ns.wins == nil:
		return nil, sqlstate.New(sqlstate.WindowingError, "window functions are not allowed in %s", ns.where).At(c.pos)
	}
	inner := *ns
	inner.wins, inner.sets = nil, nil
	w := &windowCall{name: c.name}
	var oid pgtype.OID
	var err error
	if aggregates[c.name] != nil {
		oid, err = b.windowAggregate(w, c, &inner)
	} else {
		oid, err = b.ranking(w, c, &inner)
	}
	if err != nil {
		return nil, err
	}
	if err := b.over(w, c.over, &inner); err != nil {
		return nil, err
	}
	i := len(*ns.wins)
	if w.spec == "" {
		w.spec = "own " + itoa(i)
	}
	*ns.wins = append(*ns.wins, w)
	out := &bound{oid: oid, name: c.name, key: "window " + itoa(i)}
	out.eval = func(s *scope) (value.Value, error) { return s.wins[i], nil }
	return out, nil
}

// windowAggregate binds an aggregate over a window.
func (b *binder) windowAggregate(w *windowCall, c *call, ns *names) (oid pgtype.OID, err error) {
	switch {
	case c.distinct:
		return 0, sqlstate.New(sqlstate.FeatureNotSupported, "DISTINCT is not implemented for window functions").At(c.pos)
	case len(c.order) > 0:
		return 0, sqlstate.New(sqlstate.FeatureNotSupported,
			"aggregate ORDER BY is not implemented for window functions").At(c.pos)
	}
	if w.agg, err = b.aggCall(c, ns); err != nil {
		return 0, err
	}
	return w.agg.fn.typ(w.agg.oid), nil
}

// ranking binds the arguments of a function that only a window has.
func (b *binder) ranking(w *windowCall, c *call, ns *names) (pgtype.OID, error) {
	fn := rankings[c.name]
	switch {
	case fn == nil && b.function(c) != nil:
		return 0, sqlstate.New(sqlstate.WrongObject,
			"OVER specified, but %s is not a window function nor an aggregate function", c.name).At(c.pos)
	case c.distinct:
		return 0, sqlstate.New(sqlstate.FeatureNotSupported, "DISTINCT is not implemented for window functions").At(c.pos)
	case c.filter != nil:
		return 0, sqlstate.New(sqlstate.FeatureNotSupported,
			"FILTER is not implemented for non-aggregate window functions").At(c.pos)
	}
	for _, x := range c.args {
		e, err := b.expr(x, ns)
		if err != nil {
			return 0, err
		}
		w.args = append(w.args, e)
	}
	types := make([]string, len(w.args))
	for i, e := range w.args {
		types[i] = pgtype.Format(e.oid)
	}
	none := sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", c.name,
		strings.Join(types, ", ")).At(c.pos).
		Hinted("No function matches the given name and argument types. You might need to add explicit type casts.")
	if fn == nil || len(w.args) < fn.min || len(w.args) > fn.max || c.star {
		return 0, none
	}
	arg := pgtype.OID(0)
	for i, e := range w.args {
		if i == fn.number {
			continue
		}
		if arg = common(arg, e.oid); arg == 0 {
			return 0, none
		}
	}
	if arg == pgtype.Unknown {
		if w.args[0].param == 0 {
			return 0, sqlstate.New(sqlstate.TypeMismatch,
				"could not determine polymorphic type because input has type unknown")
		}
		arg = pgtype.Text
	}
	for i, e := range w.args {
		to := arg
		if i == fn.number {
			if to = pgtype.Int4; e.oid != pgtype.Unknown && e.oid != pgtype.Int4 && e.oid != pgtype.Int2 {
				return 0, none
			}
		}
		var err error
		if w.args[i], err = b.coerce(e, to); err != nil {
			return 0, err
		}
	}
	return fn.typ(arg), nil
}

// over binds the partitions, the order and the frame of a window.
func (b *binder) over(w *windowCall, over *window, ns *names) error {
	if over.name != "" { // it stands outside of the query that has WINDOW
		return sqlstate.New(sqlstate.UndefinedObject, "window %q does not exist", over.name).At(over.at)
	}
	spec, known := "by", true
	add := func(x *bound, as string) {
		known = known && !x.varies
		spec = keyed(spec, as, x.key)
	}
	for _, x := range over.partition {
		e, err := b.expr(x, ns)
		if err != nil {
			return err
		}
		w.partition = append(w.partition, e)
		add(e, " by ")
	}
	for _, k := range over.order {
		e, err := b.expr(k.x, ns)
		if err != nil {
			return err
		}
		w.order = append(w.order, boundKey{x: e, out: -1, desc: k.desc, nullsFirst: k.nullsFirst, oid: e.oid})
		add(e, " "+map[bool]string{true: "desc "}[k.desc]+map[bool]string{true: "first "}[k.nullsFirst])
	}
	if known {
		w.spec = spec
	}
	var err error
	w.frame, err = b.frame(over, w.order, ns)
	return err
}
