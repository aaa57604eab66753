package exec

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// rowExpr is an expression compiled for the documents of rows: it asks nothing of the run, so any goroutine may call it. It
// answers errUncompiled where it can not tell, or fails: then the expression is evaluated as it is written.
type rowExpr func(doc value.Value) (value.Value, error)

var errUncompiled = errors.New("the row must be evaluated as the expression is written")

// compile compiles an expression: paths of names, values that are the same for all rows, and operators over them. nil: it is
// more than that. env is that of the rows.
func (r *Run) compile(ctx context.Context, env *Env, x ast.Expr) rowExpr {
	switch x := x.(type) {
	case *ast.Paren:
		return r.compile(ctx, env, x.X)
	case *ast.Idiom:
		if path, ok := plan.Names(x); ok {
			return compilePath(path)
		}
		return nil
	case *ast.Binary:
		return r.compileBinary(ctx, env, x)
	case *ast.Unary:
		if in := r.compile(ctx, env, x.X); in != nil && x.Op == ast.OpNot {
			return func(doc value.Value) (value.Value, error) {
				v, err := in(doc)
				return value.Bool(!value.Truthy(v)), err
			}
		}
	}
	if !plan.Constant(x) {
		return nil
	}
	v, err := r.Value(ctx, env, x)
	if err != nil || v.Kind() == value.KindClosure {
		return nil
	}
	return func(value.Value) (value.Value, error) { return v, nil }
}

// compilePath reads a field. What leads through a link, a list or anything but an object is left to the evaluator.
func compilePath(path []string) rowExpr {
	if len(path) == 1 {
		name := path[0]
		return func(doc value.Value) (value.Value, error) {
			if doc.Kind() != value.KindObject {
				return value.None, errUncompiled
			}
			v, _ := doc.Object().Get(name)
			return v, nil
		}
	}
	return func(doc value.Value) (value.Value, error) {
		for _, name := range path {
			switch doc.Kind() {
			case value.KindObject:
				doc, _ = doc.Object().Get(name)
			case value.KindNone, value.KindNull:
				return value.None, nil
			default:
				return value.None, errUncompiled
			}
		}
		return doc, nil
	}
}

func (r *Run) compileBinary(ctx context.Context, env *Env, x *ast.Binary) rowExpr {
	if x.Op == ast.OpMatches || x.Op == ast.OpKNN {
		return nil
	}
	l, right := r.compile(ctx, env, x.L), r.compile(ctx, env, x.R)
	if l == nil || right == nil {
		return nil
	}
	switch x.Op {
	case ast.OpAnd, ast.OpOr, ast.OpTruthyElse, ast.OpNullCoalesce:
		return compileLogic(x.Op, l, right)
	}
	op, plus := x.Op, x.Op == ast.OpAdd
	return func(doc value.Value) (value.Value, error) {
		a, err := l(doc)
		if err != nil {
			return value.None, err
		}
		b, err := right(doc)
		if err != nil {
			return value.None, err
		}
		if a.Kind() == value.KindInt && b.Kind() == value.KindInt {
			if v, ok := operate.Ints(op, a.Int(), b.Int()); ok {
				return v, nil
			}
		}
		if plus && !a.Kind().IsNumber() {
			return value.None, errUncompiled // may be too long
		}
		if !a.Light() && !b.Light() && laborious(a, b) {
			return value.None, errUncompiled // the statement can be stopped on the way
		}
		v, err := operate.Apply(op, a, b)
		if err != nil {
			return value.None, errUncompiled
		}
		return v, nil
	}
}

// Operands of more weight together are left to the statement. Relations of geometries take the product of their vertices.
const (
	maxCompiled         = 64 << 10
	maxCompiledGeometry = 4 << 10
	quickSearch         = 1 << 18 // effort of a search
)

// laborious reports whether an operator over a and b takes longer than a row should.
func laborious(a, b value.Value) bool {
	weight := value.Weight(a) + value.Weight(b)
	switch {
	case a.Kind() == value.KindRegex && b.Kind() == value.KindString:
		return a.Regex().Effort(b.Str()) > quickSearch
	case b.Kind() == value.KindRegex && a.Kind() == value.KindString:
		return b.Regex().Effort(a.Str()) > quickSearch
	case a.Kind() == value.KindRegex || b.Kind() == value.KindRegex || value.HasRegex(a) || value.HasRegex(b):
		return true
	case a.Kind() == value.KindGeometry || b.Kind() == value.KindGeometry:
		return weight > maxCompiledGeometry
	}
	return weight > maxCompiled
}

// compileLogic is an operator that may leave its right side alone.
func compileLogic(op ast.BinaryOp, l, right rowExpr) rowExpr {
	return func(doc value.Value) (value.Value, error) {
		a, err := l(doc)
		if err != nil {
			return value.None, err
		}
		done := false
		switch op {
		case ast.OpAnd:
			done = !value.Truthy(a)
		case ast.OpNullCoalesce:
			done = !a.IsNullish()
		default:
			done = value.Truthy(a)
		}
		if done {
			return a, nil
		}
		return right(doc)
	}
}

// compileAfter is how many rows are evaluated as the expression is written before it is compiled: it is not worth it for
// the few that a key or an index finds.
const compileAfter = 8

// compiled is an expression that is compiled once it has been evaluated for some rows.
type compiled struct {
	rows int // evaluated so far; -1: no more are counted
	fast rowExpr
}

// ready is the compiled expression; nil as long, or for ever, as there is none.
func (c *compiled) ready(ctx context.Context, r *Run, env *Env, x ast.Expr) rowExpr {
	if c.rows < 0 {
		return c.fast
	}
	if c.rows++; c.rows > compileAfter {
		c.rows = -1
		if !r.Ex.PlanOff.Has(plan.Compile) {
			c.fast = r.compile(ctx, env, x)
		}
	}
	return c.fast
}
