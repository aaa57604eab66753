package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// once holds the sub-selects of a WHERE or a projection that say the same for every row: they are run for the first row that
// asks, and not again. nil: there are none.
type once map[*ast.Subquery]*onceValue

type onceValue struct {
	known bool
	v     value.Value
}

// onceIn finds the sub-selects in an expression that need not be run for each row. What may write might change what they
// read, so there are none in transactions that may.
func (r *Run) onceIn(xs ...ast.Expr) once {
	if r.Tx.Writable() || r.Ex.PlanOff.Has(plan.RunOnce) {
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
				if uncorrelated(n) {
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

// uncorrelated reports whether a sub-select reads tables and records by name and asks nothing of the row around it.
func uncorrelated(x *ast.Subquery) bool {
	s, ok := x.Stmt.(*ast.Select)
	if !ok || s.Explain != nil || s.Order != nil && s.Order.Random {
		return false
	}
	for _, from := range s.From {
		if _, table := from.(*ast.Table); !table && !plan.Constant(from) {
			return false
		}
	}
	for _, clause := range []ast.Expr{s.Limit, s.Start, s.Version, s.Timeout} {
		if clause != nil && !plan.Constant(clause) {
			return false
		}
	}
	same := true
	ast.Inspect(s, func(n any) bool {
		switch n := n.(type) {
		case *ast.Subquery, *ast.Block, *ast.Closure, *ast.Script, *ast.PartCall, *ast.KeyGen, *ast.Mock:
			same = false
		case *ast.Call:
			same = same && n.Kind == ast.CallBuiltin && steady(n.Impl)
		case *ast.PartMethod:
			same = same && steady(n.Impl)
		case *ast.Param:
			same = same && plan.Constant(n)
		}
		return same
	})
	return same
}

// steady reports whether a function gives the same result while a statement runs.
func steady(impl any) bool {
	f, ok := impl.(*fn.Func)
	return ok && (f.Pure || f.Steady)
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
