package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Eval gives the value of an expression. A block or subquery inside may raise control flow, see
// signal.go.
func (r *Run) Eval(env *Env, x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.Param:
		return r.param(env, x.Name)
	case *ast.Constant:
		return x.Value, nil
	case *ast.Paren:
		return r.Eval(env, x.X)
	case *ast.Block:
		return r.Block(env, x)
	case *ast.Table:
		return value.TableOf(x.Name), nil
	}
	return value.None, notRunnable(x)
}

// param is the value of $name. Unknown ones are NONE.
func (r *Run) param(env *Env, name string) (value.Value, error) {
	if v, ok := env.Lookup(name); ok {
		return v, nil
	}
	switch name {
	case "this":
		return env.This(), nil
	case "parent":
		return env.Parent(), nil
	}
	return value.None, nil
}
