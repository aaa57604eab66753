package graph

import (
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// aggregate is one aggregate call of a RETURN.
type aggregate struct {
	fn       string
	distinct bool
	arg      evalFn // nil: *
	fraction evalFn // of a percentile
}

// aggregate binds a call. One over a variable of a quantified pattern runs within the row.
func (b *binder) aggregate(e *gql.Aggregate, sc *scope) (evalFn, error) {
	if b.inAgg {
		return nil, b.fail(e.Span, "Aggregate functions may not stand inside of one another")
	}
	if e.Arg != nil {
		groups := groupsIn(e.Arg, sc)
		if len(groups) > 1 {
			return nil, b.fail(e.Span, "An aggregate may only be about one group variable")
		}
		if len(groups) == 1 {
			return b.horizontal(e, groups[0], sc)
		}
	}
	if b.aggs == nil {
		return nil, b.fail(e.Span, "Aggregate functions are only allowed in RETURN items and ORDER BY keys")
	}
	a, err := b.aggregateOf(e, sc)
	if err != nil {
		return nil, err
	}
	i := len(*b.aggs)
	*b.aggs = append(*b.aggs, a)
	return func(x *runner) (value.Value, error) { return x.aggs[i], nil }, nil
}

func (b *binder) aggregateOf(e *gql.Aggregate, sc *scope) (*aggregate, error) {
	b.inAgg = true
	defer func() { b.inAgg = false }()
	a := &aggregate{fn: e.Fn, distinct: e.Distinct}
	var err error
	if e.Arg != nil {
		if a.arg, err = b.expr(e.Arg, sc); err != nil {
			return nil, err
		}
	}
	if e.Arg2 != nil {
		a.fraction, err = b.expr(e.Arg2, sc)
	}
	return a, err
}

// groupsIn are the group variables that an expression names.
func groupsIn(x gql.Expr, sc *scope) []*variable {
	var out []*variable
	eachRef(x, func(r *gql.Ref) {
		if v := sc.find(r.Name.Text); v != nil && v.kind == varGroup && !slices.Contains(out, v) {
			out = append(out, v)
		}
	})
	return out
}

// horizontal binds an aggregate over the elements of a group variable: it gives one value for each row.
func (b *binder) horizontal(e *gql.Aggregate, over *variable, sc *scope) (evalFn, error) {
	over.want()
	inner := newScope(sc)
	elem := b.declare(inner, over.name, varEdge)
	a, err := b.aggregateOf(e, inner)
	if err != nil {
		return nil, err
	}
	from, at := over.slot, elem.slot
	return func(x *runner) (value.Value, error) {
		if x.row[from].kind == isNull {
			return value.Null, nil
		}
		var total acc
		for _, s := range x.row[from].list {
			x.row[at] = s
			if err := total.add(x, a); err != nil {
				return value.None, err
			}
		}
		return total.total(x, a)
	}, nil
}

// acc is the running total of an aggregate.
type acc struct {
	n, rows    int64 // numbers, values
	sum        value.Value
	low, high  value.Value // of the numbers
	first, end value.Value // of the other values
	mean, m2   float64
	list       []value.Value
	seen       *tally
}

// add adds the value that the argument has in the current row. Nulls do not count.
func (c *acc) add(x *runner, a *aggregate) error {
	if err := x.r.Tick(x.ctx); err != nil {
		return err
	}
	if a.arg == nil {
		c.rows++
		return nil
	}
	v, err := a.arg(x)
	if err != nil || v.IsNullish() {
		return err
	}
	if a.distinct {
		if c.seen == nil {
			c.seen = &tally{x: x, n: map[string]int{}}
		}
		if again, err := c.seen.add(string(appendKey(nil, v))); again || err != nil {
			return err
		}
	}
	c.rows++
	if a.fn == "collect_list" {
		c.list = append(c.list, v)
		return x.r.Mem.Charge(value.Weight(v))
	}
	if !v.Kind().IsNumber() {
		if c.first.IsNone() || value.Compare(v, c.first) < 0 {
			c.first = v
		}
		if c.end.IsNone() || value.Compare(v, c.end) > 0 {
			c.end = v
		}
		return nil
	}
	return c.number(x, a, v)
}

func (c *acc) number(x *runner, a *aggregate, v value.Value) error {
	c.n++
	switch a.fn {
	case "sum", "avg":
		if c.n == 1 {
			c.sum = v
			return nil
		}
		var err error
		c.sum, err = value.Add(c.sum, v)
		return err
	case "min", "max":
		if c.n == 1 || value.Compare(v, c.low) < 0 {
			c.low = v
		}
		if c.n == 1 || value.Compare(v, c.high) > 0 {
			c.high = v
		}
	case "stddev_samp", "stddev_pop":
		d := v.AsFloat() - c.mean
		c.mean += d / float64(c.n)
		c.m2 += d * (v.AsFloat() - c.mean)
	case "percentile_cont", "percentile_disc":
		c.list = append(c.list, v)
		return x.r.Mem.Charge(value.Weight(v))
	}
	return nil
}

// total is the value of the aggregate. Without a number sum is 0 and the others are null.
func (c *acc) total(x *runner, a *aggregate) (value.Value, error) {
	switch a.fn {
	case "count":
		return value.Int(c.rows), nil
	case "collect_list":
		return x.r.Checked(value.ArrayOf(c.list))
	case "sum":
		if c.n == 0 {
			return value.Int(0), nil
		}
		return c.sum, nil
	case "avg":
		if c.n > 0 {
			return value.Float(c.sum.AsFloat() / float64(c.n)), nil
		}
	case "min", "max":
		v, other := c.low, c.first
		if a.fn == "max" {
			v, other = c.high, c.end
		}
		if c.n == 0 {
			v = other
		}
		if !v.IsNone() {
			return v, nil
		}
	case "stddev_samp":
		if c.n > 1 {
			return value.Float(math.Sqrt(c.m2 / float64(c.n-1))), nil
		}
	case "stddev_pop":
		if c.n > 0 {
			return value.Float(math.Sqrt(c.m2 / float64(c.n))), nil
		}
	case "percentile_cont", "percentile_disc":
		return c.percentile(x, a)
	}
	return value.Null, nil
}

func (c *acc) percentile(x *runner, a *aggregate) (value.Value, error) {
	f, err := a.fraction(x)
	if err != nil {
		return value.None, err
	}
	if !f.Kind().IsNumber() || f.AsFloat() < 0 || f.AsFloat() > 1 {
		return value.None, errs.Internal("The fraction of a percentile must be a number from 0 to 1")
	}
	n := len(c.list)
	if n == 0 {
		return value.Null, nil
	}
	value.SortValues(c.list)
	if a.fn == "percentile_disc" {
		return c.list[max(int(math.Ceil(f.AsFloat()*float64(n)))-1, 0)], nil
	}
	at := f.AsFloat() * float64(n-1)
	low := int(math.Floor(at))
	v := c.list[low].AsFloat()
	if low+1 < n {
		v += (c.list[low+1].AsFloat() - v) * (at - float64(low))
	}
	return value.Float(v), nil
}
