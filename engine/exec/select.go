package exec

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// Select executes SELECT.
func (r *Run) Select(ctx context.Context, env *Env, s *ast.Select) (value.Value, error) {
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	defer r.Mem.Rewind(r.Mem.Mark())
	ctx, stop, err := r.limitTime(ctx, env, s.Timeout, false)
	if err != nil {
		return value.None, err
	}
	defer stop()
	p, err := r.plan(ctx, env, s)
	if err != nil {
		return value.None, err
	}
	defer p.close()
	if s.Explain != nil {
		return r.explainJSON(ctx, p, s)
	}
	if r.Out != nil && r.Out.Of == ast.Statement(s) {
		return value.ArrayOf(nil), r.leave(ctx, p)
	}
	out, err := r.drain(ctx, p)
	if err != nil {
		return value.None, err
	}
	if !s.Only {
		return value.ArrayOf(out), nil
	}
	return only(s, out)
}

// only unwraps the single row of ONLY.
func only(s *ast.Select, out []value.Value) (value.Value, error) {
	switch len(out) {
	case 1:
		return out[0], nil
	case 0:
		if len(s.From) != 1 || !plan.FromValue(s.From[0]) {
			return value.None, nil
		}
	}
	return value.None, errs.SingleOutput()
}

// drain reads all rows.
func (r *Run) drain(ctx context.Context, p rows) ([]value.Value, error) {
	out, sum := []value.Value{}, held(0)
	for {
		doc, ok, err := p.next(ctx)
		if ok && err == nil {
			err = sum.keep(r, doc)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			return out, nil
		}
		out = append(out, doc)
		if len(out) > r.Ex.Limits.Rows {
			return nil, errs.ManyRows(r.Ex.Limits.Rows)
		}
		if len(out)&255 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
}

var timeoutType = value.Simple(value.TypeDuration)

// limitTime applies a TIMEOUT clause: the statement runs with the context that it returns, and then calls stop. Writes
// cast its value; of a NONE, which SELECT has to write out, there is no limit.
func (r *Run) limitTime(ctx context.Context, env *Env, x ast.Expr, writes bool) (context.Context, func(), error) {
	if none, ok := x.(*ast.Literal); x == nil || ok && none.Value.IsNone() {
		return ctx, func() {}, nil
	}
	return r.limitedBy(ctx, env, x, writes)
}

// limitedBy is limitTime where there is a clause.
func (r *Run) limitedBy(ctx context.Context, env *Env, x ast.Expr, writes bool) (within context.Context, stop func(),
	err error) {
	v, err := r.Eval(ctx, env, x)
	if writes && err == nil {
		if v.IsNone() {
			return ctx, func() {}, nil
		}
		v, err = value.Cast(v, timeoutType, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	if v.Kind() != value.KindDuration {
		return nil, nil, errs.Internal("Invalid timeout value")
	}
	d := v.Duration()
	if d == (value.Duration{}) {
		return nil, nil, errs.TimedOut(0, "0ns")
	}
	outer := r.timeout
	within, cancel := context.WithTimeout(ctx, d.Std())
	r.timeout = d
	return within, func() {
		cancel()
		if within.Err() == nil || ctx.Err() != nil {
			r.timeout = outer
		}
	}, nil
}

// plan builds the operators of a SELECT from the sources up, as VERSION says.
func (r *Run) plan(ctx context.Context, env *Env, s *ast.Select) (rows, error) {
	if s.Version == nil {
		return r.operators(ctx, env, s)
	}
	at, err := r.Version(ctx, env, s.Version)
	if err != nil {
		return nil, err
	}
	defer r.travel(at)()
	in, err := r.operators(ctx, env, s)
	if err != nil {
		return nil, err
	}
	return &pastRows{in, r, at}, nil
}

func (r *Run) operators(ctx context.Context, env *Env, s *ast.Select) (rows, error) {
	s = aggregate.Counted(s)
	rowEnv := env.WithDoc(value.None)
	rowEnv.stands = asColumns
	var where *predicate
	if s.Where != nil {
		where = &predicate{r: r, env: rowEnv, x: s.Where, once: r.onceIn(s.Where)}
		rowEnv.search = searchesOf(s.Where)
	}
	lim, err := r.limits(ctx, env, s)
	if err != nil {
		return nil, err
	}
	if c, err := r.countPlan(env, s); c != nil || err != nil {
		return c, err
	}
	if err := aggregate.Check(s); err != nil {
		return nil, err
	}
	w := propertiesOf(s, lim)
	in, err := r.sourceFor(ctx, env, s, where, w)
	if err != nil {
		return nil, err
	}
	switch in := in.(type) {
	case *valueRows:
		rowEnv.linked = in.all(value.KindRecord)
		in.tell(rowEnv, s)
	case *subRows:
		in.tell(rowEnv, s)
	}
	if scan, ok := in.(*textRows); ok && !r.Ex.PlanOff.Has(plan.BestScores) {
		scan.Best = bestWanted(s, lim, rowEnv.search, scan.m)
	}
	if w.sorted {
		ordered := *s
		ordered.Order = nil
		return r.pipeline(ctx, env, rowEnv, in, &ordered, lim)
	}
	return r.pipeline(ctx, env, rowEnv, in, s, lim)
}

// selectFrom runs the clauses of a SELECT over values that are at hand already.
func (r *Run) selectFrom(ctx context.Context, env *Env, s *ast.Select, from value.Value) ([]value.Value, error) {
	s = aggregate.Counted(s)
	rowEnv := env.WithDoc(value.None)
	rowEnv.stands = asColumns
	in := &valueRows{followed: followed{r: r}, vs: from.Elems()}
	if s.Where != nil {
		in.filter = &predicate{r: r, env: rowEnv, x: s.Where, once: r.onceIn(s.Where)}
		rowEnv.search = searchesOf(s.Where)
	}
	lim, err := r.limits(ctx, env, s)
	if err != nil {
		return nil, err
	}
	p, err := r.pipeline(ctx, env, rowEnv, in, s, lim)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return r.drain(ctx, p)
}

// window is START and LIMIT.
type window struct {
	start, limit   int64    // limit -1: none
	startX, limitX ast.Expr // as written; nil: not at all
	inOrder        bool     // the rows come in the order that ORDER BY asks for
}

func (w window) given() bool { return w.limit >= 0 || w.start > 0 }

func (r *Run) limits(ctx context.Context, env *Env, s *ast.Select) (window, error) {
	w := window{limit: -1, startX: s.Start, limitX: s.Limit}
	if s.Limit == nil && s.Start == nil {
		return w, nil
	}
	env = inFrom(env)
	scanned := plan.ScansLimit(s)
	var err error
	if s.Limit != nil {
		if w.limit, err = r.bound(ctx, env, s.Limit, "LIMIT", scanned); err != nil {
			return w, err
		}
	}
	if s.Start != nil {
		w.start, err = r.bound(ctx, env, s.Start, "START", scanned)
	}
	return w, err
}

// bound is the number of a LIMIT or START.
func (r *Run) bound(ctx context.Context, env *Env, x ast.Expr, clause string, scanned bool) (int64, error) {
	v, err := r.Value(ctx, env, x)
	if err != nil {
		return 0, err
	}
	return inside.Bound(v, clause, scanned)
}

// pipeline puts SPLIT, GROUP, ORDER, START and LIMIT, the projection, FETCH and OMIT over a source.
func (r *Run) pipeline(ctx context.Context, env, rowEnv *Env, in rows, s *ast.Select, lim window) (rows, error) {
	columns := s.Projections
	if len(s.Split) > 0 {
		in, columns = r.split(rowEnv, in, s)
	}
	fetch, err := r.FetchPaths(ctx, env, s.Fetch)
	if err != nil {
		return nil, err
	}
	omits, err := r.FetchPaths(ctx, env, s.Omit)
	if err != nil {
		return nil, err
	}
	if s.Group != nil {
		if in, err = r.groupBy(rowEnv, in, s); err != nil {
			return nil, err
		}
		in = r.orderAndLimit(rowEnv, in, s.Order, lim, nil)
		return r.finish(ctx, in, s, fetch, omits), nil
	}
	proj := r.projector(rowEnv, columns)
	if s.Projections.Value {
		if !plan.SortsRaw(s) && s.Order != nil {
			return r.sortedValues(ctx, rowEnv, omitted(in, omits), s, lim, proj, fetch), nil
		}
		in = omitted(r.orderAndLimit(rowEnv, in, s.Order, lim, tiesOf(in)), omits)
		in = r.projected(ctx, rowEnv, in, proj, s)
		return r.finish(ctx, in, s, fetch, nil), nil
	}
	ties := tiesOf(in)
	switch {
	case plan.SortsRaw(s):
		in = r.orderAndLimit(rowEnv, in, s.Order, lim, ties)
		in = r.projected(ctx, rowEnv, in, proj, s)
	case plan.SortsBoth(s):
		in = r.sortedPairs(ctx, rowEnv, in, s, lim, proj, ties)
	default:
		if lim.inOrder = r.comesByScore(in, proj); lim.inOrder && lim.start+lim.limit <= fewBest {
			proj.asWritten()
		}
		in = r.projected(ctx, rowEnv, in, proj, s)
		in = r.orderAndLimit(rowEnv, in, s.Order, lim, ties)
	}
	return r.finish(ctx, in, s, fetch, omits), nil
}

// sortedValues is SELECT VALUE x AS a … ORDER BY a: rows are ordered by the value that they become.
func (r *Run) sortedValues(ctx context.Context, rowEnv *Env, in rows, s *ast.Select, lim window, proj *projector,
	fetch [][]ast.Part) rows {
	alias := column.Alias(s.Projections.Fields[0].Alias)
	ties := tiesOf(in)
	in = r.projected(ctx, rowEnv, in, proj, s)
	in = &mapRows{in: in, f: func(_ context.Context, v value.Value) (value.Value, error) {
		return inside.Set(value.None, alias, v), nil
	}}
	in = r.orderAndLimit(rowEnv, in, s.Order, lim, ties)
	in = &mapRows{in: in, f: func(_ context.Context, v value.Value) (value.Value, error) {
		return inside.At(v, alias), nil
	}}
	return r.finish(ctx, in, s, fetch, nil)
}

// The two halves of what sortedPairs sorts.
const (
	selectedHalf = "selected"
	storedHalf   = "stored"
)

// sortedPairs sorts rows by columns and by what is no column: each row goes on beside its projection until it has its
// place.
func (r *Run) sortedPairs(ctx context.Context, env *Env, in rows, s *ast.Select, lim window, proj *projector,
	ties func() value.Value) rows {
	order := *s.Order
	order.Keys = slices.Clone(order.Keys)
	for i := range order.Keys {
		half := storedHalf
		if plan.IsColumn(s, order.Keys[i].Key) {
			half = selectedHalf
		}
		order.Keys[i].Key = &ast.Idiom{Parts: slices.Concat([]ast.Part{&ast.PartField{Name: half}},
			order.Keys[i].Key.Parts)}
	}
	both := func(ctx context.Context, doc value.Value) (value.Value, error) {
		v, err := proj.row(ctx, doc)
		return object(value.Field{Name: selectedHalf, Value: v}, value.Field{Name: storedHalf, Value: doc}), err
	}
	in = &mapRows{in: in, shows: r.projection(env, s), f: both}
	in = r.orderAndLimit(env, in, &order, lim, ties)
	return &mapRows{in: in, f: func(_ context.Context, v value.Value) (value.Value, error) {
		return inside.Field(v, selectedHalf), nil
	}}
}

// tiesOf says by which record ids the rows of an index are sorted where ORDER BY leaves them equal: they come in
// another order than those of a table, and an index must not change an answer. nil: rows stay as they come.
func tiesOf(in rows) func() value.Value {
	switch s := in.(type) {
	case *indexRows:
		return func() value.Value { return RecordOf(s.doc) }
	case *unionIndexRows:
		return func() value.Value { return RecordOf(s.doc) }
	}
	return nil
}

func (r *Run) orderAndLimit(env *Env, in rows, o *ast.Order, lim window, ties func() value.Value) rows {
	if o != nil {
		so := &sortRows{r: r, env: env, in: in, keep: -1, wanted: -1, rand: o.Random, sorted: lim.inOrder, ties: ties}
		if lim.limit >= 0 && lim.start+lim.limit >= 0 && !r.Ex.PlanOff.Has(plan.TopK) {
			so.wanted = lim.start + lim.limit
		}
		if !o.Random {
			so.keys = sortKeys(o)
			so.keep = so.wanted
		}
		in = so
	}
	if lim.given() || lim.limit == 0 {
		in = &limitRows{in: in, window: lim}
	}
	return in
}

// projected applies the projection; SELECT * leaves rows as they are.
func (r *Run) projected(ctx context.Context, env *Env, in rows, p *projector, s *ast.Select) rows {
	if p.alone {
		return &passRows{rows: in, shows: r.projection(env, s)}
	}
	if r.Tx.Prefetches() && (tiesOf(in) == nil || plan.SortsRaw(s)) { // else a sort asks for the row that was read last
		in = r.lookingAhead(in, p.exprs()...)
	}
	return &mapRows{in: r.withModels(in, p), f: p.row, shows: r.projection(env, s)}
}

// finish applies FETCH and OMIT.
func (r *Run) finish(ctx context.Context, in rows, s *ast.Select, fetch, omits [][]ast.Part) rows {
	if len(fetch) > 0 {
		links := &fetcher{r: r}
		if r.far() {
			in = r.hold(in, plan.Followed(fetch))
		}
		in = &mapRows{in: in, shows: func(context.Context) plan.Node {
			return plan.Fetching(s.Fetch)
		}, f: func(ctx context.Context, doc value.Value) (value.Value, error) {
			var err error
			for _, p := range fetch {
				if doc, err = r.checked(links.into(ctx, doc, p)); err != nil {
					return value.None, err
				}
			}
			return doc, nil
		}}
	}
	return omitted(in, omits)
}

// omitted takes out what OMIT names.
func omitted(in rows, omits [][]ast.Part) rows {
	if len(omits) == 0 {
		return in
	}
	return &mapRows{in: in, f: func(_ context.Context, doc value.Value) (value.Value, error) {
		for _, p := range omits {
			doc = inside.Omit(doc, p)
		}
		return doc, nil
	}}
}
