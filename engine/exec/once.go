package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// once holds the sub-selects of a WHERE or a projection that say the same for every row: they are run for the first row
// that asks, and not again. nil: there are none.
type once map[*ast.Subquery]*onceValue

type onceValue struct {
	known bool
	v     value.Value
}

// onceIn finds the sub-selects in an expression that need not be run for each row. What may write might change what
// they read, so there are none in transactions that may.
func (r *Run) onceIn(xs ...ast.Expr) once {
	if r.Tx.Writable() {
		return nil
	}
	return r.onceOf(xs, plan.Uncorrelated)
}

// onceOf finds the sub-selects in expressions that same holds for.
func (r *Run) onceOf(xs []ast.Expr, same func(*ast.Subquery) bool) once {
	if r.Ex.PlanOff.Has(plan.RunOnce) {
		return nil
	}
	var out once
	for _, x := range xs {
		ast.Inspect(x, func(n any) bool {
			switch n := n.(type) {
			case *ast.Closure, *ast.Block:
				return false
			case *ast.PartWhere, *ast.PartGraph: // their $parent and parameters are of other rows
				return false
			case *ast.Subquery:
				if same(n) {
					if out == nil {
						out = once{}
					}
					out[n] = &onceValue{}
				}
				return false
			}
			return true
		})
	}
	return out
}

// onceInSet finds the sub-selects of UPDATE … SET that need not be run for each record: those that read what the
// statement does not change. That are fields of other tables where the table that is written has no events and views,
// and ids of its own.
func (w *writer) onceInSet(s *ast.Update, targets []Target) (once, error) {
	if s.Upsert || s.Data == nil || s.Data.Kind != ast.DataSet || !w.r.Auth.CanRead() {
		return nil, nil
	}
	written := map[string]bool{}
	for i := range targets {
		if targets[i].Kind == TargetValue {
			return nil, nil
		}
		tb, err := w.r.Table(targets[i].Table)
		if tb == nil || err != nil || len(tb.Events) > 0 || len(tb.Views) > 0 || tb.References {
			return nil, err
		}
		written[tb.Name] = true
	}
	xs := make([]ast.Expr, len(s.Data.Set))
	for i := range s.Data.Set {
		xs[i] = s.Data.Set[i].X
	}
	return w.r.onceOf(xs, func(x *ast.Subquery) bool { return plan.Uncorrelated(x) && w.unchanging(x, written) }), nil
}

// unchanging reports whether what a sub-select reads stays the same while fields of records of some tables are written.
func (w *writer) unchanging(x *ast.Subquery, written map[string]bool) bool {
	idsOnly := false
	for _, from := range x.Stmt.(*ast.Select).From {
		t, ok := from.(*ast.Table)
		if !ok {
			return false
		}
		tb, err := w.r.Table(t.Name)
		if tb == nil || err != nil || len(tb.Computed) > 0 {
			return false
		}
		idsOnly = idsOnly || written[t.Name]
	}
	same := true
	for i := range x.Stmt.(*ast.Select).Projections.Fields {
		same = same && !(idsOnly && x.Stmt.(*ast.Select).Projections.Fields[i].All)
	}
	ast.Inspect(x, func(n any) bool {
		if id, ok := n.(*ast.Idiom); ok {
			f, name := id.Parts[0].(*ast.PartField) // links lead to any table
			same = same && len(id.Parts) == 1 && name && (!idsOnly || f.Name == "id")
		}
		return same
	})
	return same
}

// within evaluates an expression whose sub-selects are kept in o.
func (o once) within(ctx context.Context, r *Run, env *Env, x ast.Expr) (value.Value, error) {
	if o == nil {
		return r.Value(ctx, env, x)
	}
	outer := r.once
	r.once = o
	v, err := r.Value(ctx, env, x)
	r.once = outer
	return v, err
}

// subqueryOnce is the value of a sub-select that is run once.
func (r *Run) subqueryOnce(ctx context.Context, env *Env, x *ast.Subquery, kept *onceValue) (value.Value, error) {
	if kept.known {
		return kept.v, nil
	}
	outer := r.once
	r.once = nil
	v, err := r.runSubquery(ctx, env, x)
	r.once = outer
	if err == nil {
		kept.v, kept.known = v, true
	}
	return v, err
}
