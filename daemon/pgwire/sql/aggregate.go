package sql

import (
	"maps"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// aggregateFunc makes one value of many. NULLs are left out of vals unless nulls is set.
type aggregateFunc struct {
	min, max int
	nulls    bool
	typ      func(arg pgtype.OID) pgtype.OID
	eval     func(oid pgtype.OID, rows [][]value.Value) (value.Value, error)
	// step adds the next argument to what there is (NONE at first), so that none has to be kept; last makes the result
	// of that and the number of arguments. Nil: eval looks at all of them.
	step func(oid pgtype.OID, sofar, arg value.Value) (value.Value, error)
	last func(oid pgtype.OID, sofar value.Value, n int64) (value.Value, error)
	// best is in the place of step: 1 keeps the greatest argument, -1 the least.
	best int
	adds bool // step is addTo
	// begin makes what is in the place of step and last, for a type of the first argument. Rows with a NULL among the
	// arguments do not count.
	begin func(oid pgtype.OID) accumulator
	pairs bool // begin is for pairs of floats
}

// streams reports whether no argument has to be kept.
func (f *aggregateFunc) streams() bool { return f.step != nil || f.best != 0 || f.begin != nil }

func always(oid pgtype.OID) func(pgtype.OID) pgtype.OID {
	return func(pgtype.OID) pgtype.OID { return oid }
}

func same(oid pgtype.OID) pgtype.OID { return oid }

// sumType is the type of a sum.
func sumType(oid pgtype.OID) pgtype.OID {
	switch oid {
	case pgtype.Int2, pgtype.Int4:
		return pgtype.Int8
	case pgtype.Int8:
		return pgtype.Numeric
	}
	return oid
}

func avgType(oid pgtype.OID) pgtype.OID {
	switch oid {
	case pgtype.Float4, pgtype.Float8:
		return pgtype.Float8
	case pgtype.Interval:
		return oid
	}
	return pgtype.Numeric
}

var aggregates map[string]*aggregateFunc

func init() {
	aggregates = map[string]*aggregateFunc{
		"count":            {max: 1, typ: always(pgtype.Int8), step: counts, last: countOf},
		"sum":              {min: 1, max: 1, typ: sumType, step: addTo, last: asIs, adds: true},
		"avg":              {min: 1, max: 1, typ: avgType, step: addTo, last: average, adds: true},
		"min":              {min: 1, max: 1, typ: same, best: -1, last: asIs},
		"max":              {min: 1, max: 1, typ: same, best: 1, last: asIs},
		"array_agg":        {min: 1, max: 1, nulls: true, typ: arrayType, eval: listOf},
		"string_agg":       {min: 2, max: 2, typ: always(pgtype.Text), eval: joinTexts},
		"bool_or":          {min: 1, max: 1, typ: always(pgtype.Bool), step: decides(true), last: asIs},
		"bool_and":         {min: 1, max: 1, typ: always(pgtype.Bool), step: decides(false), last: asIs},
		"every":            {min: 1, max: 1, typ: always(pgtype.Bool), step: decides(false), last: asIs},
		"json_agg":         {min: 1, max: 1, nulls: true, typ: always(pgtype.JSON), eval: listOf},
		"jsonb_agg":        {min: 1, max: 1, nulls: true, typ: always(pgtype.JSONB), eval: listOf},
		"json_object_agg":  {min: 2, max: 2, nulls: true, typ: always(pgtype.JSON), eval: jsonObject},
		"jsonb_object_agg": {min: 2, max: 2, nulls: true, typ: always(pgtype.JSONB), eval: jsonObject},
	}
	maps.Copy(aggregates, statistics())
}

func firsts(rows [][]value.Value) []value.Value {
	out := make([]value.Value, len(rows))
	for i, r := range rows {
		out[i] = r[0]
	}
	return out
}

// asIs returns the state after the last step as the result.
func asIs(_ pgtype.OID, sofar value.Value, _ int64) (value.Value, error) { return sofar, nil }

// counts has nothing to add: the arguments are counted by themselves.
func counts(_ pgtype.OID, sofar, _ value.Value) (value.Value, error) { return sofar, nil }

func countOf(_ pgtype.OID, _ value.Value, n int64) (value.Value, error) { return value.Int(n), nil }

// addTo adds to a sum.
func addTo(oid pgtype.OID, total, v value.Value) (value.Value, error) {
	if total.IsNone() {
		total = value.Int(0)
		if oid == pgtype.Interval {
			return v, nil
		}
	}
	to := sumType(oid)
	if to == pgtype.Interval {
		return addSpans(total, v, false)
	}
	if total.Kind() == value.KindInt && v.Kind() == value.KindInt && to != pgtype.Float8 && to != pgtype.Float4 {
		a, b := total.Int(), v.Int()
		if c := a + b; (c > a) == (b > 0) {
			return value.Int(c), nil
		}
	}
	return calculate("+", to, total, v)
}

func average(oid pgtype.OID, total value.Value, n int64) (value.Value, error) {
	if n == 0 {
		return value.None, nil
	}
	switch avgType(oid) {
	case pgtype.Interval:
		return scaled(total, float64(n), true)
	case pgtype.Float8:
		return calculate("/", pgtype.Float8, total, value.Int(n))
	}
	return calculate("/", pgtype.Numeric, total, value.Int(n))
}

// decides keeps whether one of the values was want.
func decides(want bool) func(pgtype.OID, value.Value, value.Value) (value.Value, error) {
	return func(_ pgtype.OID, sofar, v value.Value) (value.Value, error) {
		if truth(v) == want || !sofar.IsNone() && truth(sofar) == want {
			return value.Bool(want), nil
		}
		return value.Bool(!want), nil
	}
}

func joinTexts(_ pgtype.OID, rows [][]value.Value) (value.Value, error) {
	if len(rows) == 0 {
		return value.None, nil
	}
	var b strings.Builder
	for i, r := range rows {
		if i > 0 && !r[1].IsNone() {
			b.WriteString(r[1].Str())
		}
		b.WriteString(plain(r[0]))
		if err := fits(b.Len(), longestText); err != nil {
			return value.None, err
		}
	}
	return value.Str(b.String()), nil
}

func listOf(_ pgtype.OID, rows [][]value.Value) (value.Value, error) {
	if len(rows) == 0 {
		return value.None, nil
	}
	return value.ArrayOf(firsts(rows)), nil
}

func jsonObject(_ pgtype.OID, rows [][]value.Value) (value.Value, error) {
	if len(rows) == 0 {
		return value.None, nil
	}
	o := value.NewObject()
	for _, r := range rows {
		v := r[1]
		if v.IsNone() {
			v = value.Null
		}
		o = o.With(plain(r[0]), v)
	}
	return value.ObjectOf(o), nil
}

// aggCall is an aggregate of a query.
type aggCall struct {
	fn       *aggregateFunc
	oid      pgtype.OID // of the argument
	args     []*bound
	distinct bool
	filter   *bound
	order    []boundKey
	star     bool
	within   *withinGroup // args are its keys; nil: there is none
}

func (b *binder) aggregate(c *call, ns *names) (*bound, error) {
	if ns.aggs == nil {
		return nil, sqlstate.New(sqlstate.GroupingError, "aggregate functions are not allowed in %s",
			ns.where).At(c.pos)
	}
	var a *aggCall
	var oid pgtype.OID
	var err error
	if aggregates[c.name] == nil || c.within != nil {
		a, oid, err = b.orderedSet(c, ns)
	} else if a, err = b.aggCall(c, &names{cols: ns.cols, outer: ns.outer, where: "an aggregate"}); err == nil {
		oid = a.fn.typ(a.oid)
	}
	if err != nil {
		return nil, err
	}
	i := len(ns.aggs.groups) + len(ns.aggs.calls)
	ns.aggs.calls = append(ns.aggs.calls, a)
	out := &bound{oid: oid, name: c.name, key: "agg " + itoa(i)}
	out.eval = func(s *scope) (value.Value, error) { return s.aggs[i], nil }
	return out, nil
}

func (b *binder) aggCall(c *call, ns *names) (*aggCall, error) {
	a := &aggCall{fn: aggregates[c.name], distinct: c.distinct, star: c.star}
	if n := len(c.args); n < a.fn.min || n > a.fn.max || c.star != (n == 0) {
		return nil, sqlstate.New(sqlstate.UndefinedFunction, "function %s does not take these arguments",
			c.name).At(c.pos)
	}
	if err := b.aggArgs(a, c, ns); err != nil {
		return nil, err
	}
	if c.filter != nil {
		var err error
		if a.filter, err = b.condition(c.filter, ns); err != nil {
			return nil, err
		}
	}
	for _, k := range c.order {
		x, err := b.expr(k.x, ns)
		if err != nil {
			return nil, err
		}
		a.order = append(a.order, boundKey{x: x, out: -1, desc: k.desc, nullsFirst: k.nullsFirst, oid: x.oid})
	}
	return a, nil
}

// aggArgs binds the arguments of an aggregate.
func (b *binder) aggArgs(a *aggCall, c *call, ns *names) error {
	numbers := a.fn.adds || a.fn.begin != nil
	types, fit := make([]string, len(c.args)), true
	for i, x := range c.args {
		e, err := b.expr(x, ns)
		if err != nil {
			return err
		}
		types[i] = pgtype.Format(e.oid)
		to := e.oid
		switch {
		case a.fn.begin != nil && (e.oid == pgtype.Unknown || a.fn.pairs && pgtype.IsNumber(e.oid)):
			to = pgtype.Float8
		case e.oid == pgtype.Unknown, c.name == "string_agg" && i == 0 && !pgtype.IsText(e.oid):
			to = pgtype.Text
		}
		if e, err = b.coerce(e, to); err != nil {
			return err
		}
		fit = fit && (!numbers || pgtype.IsNumber(e.oid) || a.fn.adds && e.oid == pgtype.Interval)
		if makesJSON(c.name) {
			e = jsonArgument(e)
		}
		a.args = append(a.args, e)
	}
	if len(a.args) > 0 {
		a.oid = a.args[0].oid
	}
	if !fit {
		return sqlstate.New(sqlstate.UndefinedFunction, "function %s(%s) does not exist", c.name,
			strings.Join(types, ", ")).At(c.pos)
	}
	return nil
}

// value is the value of the aggregate over the rows of a group, whose keys are in of.
func (a *aggCall) value(of *scope, list []*scope) (value.Value, error) {
	if len(a.order) > 0 {
		list = slices.Clone(list)
		if err := sortScopes(list, a.order); err != nil {
			return value.None, err
		}
	}
	t := tally{a: a}
	for _, s := range list {
		if err := t.add(s); err != nil {
			return value.None, err
		}
	}
	return t.result(of)
}
