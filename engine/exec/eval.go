package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Eval gives the value of an expression, which is never heavier than the answer of a statement may be. A block or
// subquery inside may raise control flow, see signal.go.
func (r *Run) Eval(ctx context.Context, env *Env, x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.Param:
		return r.param(ctx, env, x.Name)
	case *ast.Idiom:
		return r.idiom(ctx, env, x)
	case *ast.Binary:
		return r.binary(ctx, env, x)
	case *ast.Call:
		return r.invoke(ctx, env, x)
	case *ast.Constant:
		return x.Value, nil
	case *ast.Block:
		return r.Block(ctx, blockFrame(env, x), x)
	case *ast.Paren:
		return r.Eval(ctx, env, x.X)
	}
	return r.evalRest(ctx, env, x)
}

// evalRest is Eval for the expressions that are met less often. Eval itself recurses with almost every value, so its
// frame must stay small: what is inlined here would be paid for there.
func (r *Run) evalRest(ctx context.Context, env *Env, x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Unary:
		return r.unary(ctx, env, x)
	case *ast.Cast:
		v, err := r.Eval(ctx, env, x.X)
		if err == nil && !v.Light() {
			err = r.did(ctx, value.Weight(v))
		}
		if err != nil {
			return value.None, err
		}
		return r.checked(value.Cast(v, x.Type, r.Ex))
	case *ast.Subquery:
		return r.subquery(ctx, env, x)
	case *ast.Array:
		if x.Const != nil {
			return *x.Const, nil
		}
		vs, err := r.evalAll(ctx, env, x.Elems)
		return value.ArrayOf(vs), err
	case *ast.Object:
		return r.object(ctx, env, x)
	case *ast.RecordID:
		return r.checked(r.record(ctx, env, x))
	case *ast.Set:
		vs, err := r.evalAll(ctx, env, x.Elems)
		return value.SetOf(vs), err
	case *ast.Range:
		return r.checked(r.span(ctx, env, x.Start, x.End, x.StartExcl, x.EndIncl))
	case *ast.KeyRange:
		return r.checked(r.span(ctx, env, x.Start, x.End, x.StartExcl, x.EndIncl))
	case *ast.KeyGen:
		return r.Ex.NewKey(x.Name), nil
	case *ast.Mock:
		return r.checked(r.mock(x))
	case *ast.Closure:
		return r.closure(env, x), nil
	case *ast.Table:
		return value.TableOf(x.Name), nil
	case *ast.Script:
		return r.checked(r.script(ctx, env, x))
	}
	return value.None, NotRunnable(x)
}

// Value is Eval as a unit of its own: a RETURN inside ends here and gives the value.
func (r *Run) Value(ctx context.Context, env *Env, x ast.Expr) (value.Value, error) {
	v, err := r.Eval(ctx, env, x)
	if err != nil {
		return r.Land(v, err)
	}
	return v, nil
}

// blockFrame gives a block a frame of its own if it defines anything.
func blockFrame(env *Env, b *ast.Block) *Env {
	for _, s := range b.Stmts {
		if _, ok := s.(*ast.Let); ok {
			return env.Child()
		}
	}
	return env
}

// subquery runs a statement in the place of an expression.
func (r *Run) subquery(ctx context.Context, env *Env, x *ast.Subquery) (value.Value, error) {
	if kept := r.once[x]; kept != nil {
		return r.subqueryOnce(ctx, env, x, kept)
	}
	return r.runSubquery(ctx, env, x)
}

func (r *Run) runSubquery(ctx context.Context, env *Env, x *ast.Subquery) (value.Value, error) {
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	v, err := r.Exec(ctx, env, x.Stmt)
	r.Leave()
	return v, err
}

// Project makes one row of a projection list over the current document of env, as RETURN clauses do.
func (r *Run) Project(ctx context.Context, env *Env, p *ast.Projections) (value.Value, error) {
	return r.projector(env, p).row(ctx, env.This())
}
