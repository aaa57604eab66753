package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// source builds what a SELECT reads from: its FROM list with the WHERE pushed into it.
func (r *Run) source(ctx context.Context, env *Env, s *ast.Select, where *predicate, w *properties) (rows, error) {
	u := &unionRows{where: where}
	for _, x := range s.From {
		part, err := r.sourceOf(ctx, env, s, x, where, r.at, w)
		if err != nil {
			return nil, err
		}
		if part != nil {
			u.parts = append(u.parts, part)
		}
	}
	if len(u.parts) == 1 {
		return u.parts[0], nil
	}
	return u, nil
}

func (r *Run) sourceOf(ctx context.Context, env *Env, s *ast.Select, x ast.Expr, where *predicate, version uint64,
	w *properties) (rows, error) {
	if _, ok := x.(*ast.Subquery); ok && s.Version != nil {
		return nil, errs.Internal("Invalid query: VERSION clause cannot be used with a subquery source. Place the VERSION clause inside the subquery instead.")
	}
	if t, ok := x.(*ast.Table); ok {
		return r.tableSource(ctx, env, s, t.Name, where, version, w)
	}
	rowsOf := followed{r: r, filter: where, links: plan.AsksForLinks(s)}
	if inner := plan.Subselect(x); inner != nil {
		in, err := r.plan(ctx, env, inner)
		if err != nil {
			return nil, err
		}
		return &subRows{followed: rowsOf, in: in}, nil
	}
	v, err := r.Eval(ctx, inFrom(env), x)
	if err != nil {
		return nil, err
	}
	switch v.Kind() {
	case value.KindNone, value.KindNull:
		return &valueRows{followed: rowsOf, from: x}, nil
	case value.KindTable:
		in, err := r.tableSource(ctx, env, s, v.Table(), where, version, w)
		if scan, ok := in.(*tableRows); ok {
			scan.from = plan.Unwritten(x)
		}
		return in, err
	case value.KindRecord:
		return r.recordSource(x, v.Record(), s, where, version, w)
	case value.KindArray:
		if !plan.Unwrapped(x) {
			_, sub := x.(*ast.Subquery)
			return &valueRows{followed: rowsOf, vs: v.Elems(), skip: !sub, from: x}, nil
		}
	}
	return &valueRows{followed: rowsOf, vs: []value.Value{v}, from: x}, nil
}

// inFrom is where the FROM and LIMIT of a subquery are evaluated: both $this and $parent are the row around it.
func inFrom(env *Env) *Env {
	if !env.HasDoc() {
		return env
	}
	return env.WithDoc(env.This())
}

// recordSource reads one record, or a range of records.
func (r *Run) recordSource(
	x ast.Expr, id *value.RecordID, s *ast.Select, where *predicate, version uint64, w *properties,
) (rows, error) {
	tb, err := r.Table(id.Table)
	if err != nil {
		return nil, err
	}
	if tb != nil {
		tb = r.needed(tb, s)
	}
	if tb != nil && id.Key.Kind() != value.KindRange {
		return &recordRows{r: r, tb: tb, id: id, version: version, filter: where, from: x}, nil
	}
	scan := &tableRows{r: r, name: id.Table, tb: tb, rng: keyRange(id), version: version, filter: where, id: id}
	if tb != nil && w != nil {
		scan.reverse, w.sorted = plan.ByKeys(w.order, r.Ex.PlanOff)
	}
	return scan, nil
}

// Table finds a table; nil where it does not exist.
func (r *Run) Table(name string) (*catalog.Table, error) {
	g, err := r.Gate()
	if err != nil {
		return nil, err
	}
	return r.Cat.Table(g.DB, name)
}

func keyRange(id *value.RecordID) *value.Range {
	if id.Key.Kind() == value.KindRange {
		return id.Key.Range()
	}
	return nil
}
