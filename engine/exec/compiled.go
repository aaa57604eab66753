package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// compileAfter is how many rows are evaluated as the expression is written before it is compiled: it is not worth it
// for the few that a key or an index finds.
const compileAfter = 8

// compiled is an expression that is compiled once it has been evaluated for some rows.
type compiled struct {
	rows int // evaluated so far; -1: no more are counted
	fast compile.Expr
	row  *value.Fields
}

// value evaluates the expression for a row; false where the expression must be evaluated as it is written.
func (c *compiled) value(ctx context.Context, r *Run, env *Env, x ast.Expr, doc value.Value) (value.Value, bool) {
	if c.rows >= 0 {
		if c.rows++; c.rows <= compileAfter {
			return value.None, false
		}
		c.rows = -1
		if !r.Ex.PlanOff.Has(plan.Compile) {
			set := r.compiler(ctx, env)
			c.fast = set.Expr(x)
			c.row = set.Fields()
		}
	}
	if c.fast == nil {
		return value.None, false
	}
	c.row.Row(doc)
	v, err := c.fast(c.row)
	return v, err == nil
}

// compiler compiles expressions over the rows of env.
func (r *Run) compiler(ctx context.Context, env *Env) *compile.Set {
	return compile.New(func(x ast.Expr) (value.Value, error) { return r.Value(ctx, env, x) })
}
