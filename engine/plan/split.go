package plan

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/fn"
)

// Conjuncts takes a condition apart at its ANDs.
func Conjuncts(x ast.Expr) []ast.Expr { return split(nil, x, ast.OpAnd) }

// Disjuncts takes a condition apart at its ORs.
func Disjuncts(x ast.Expr) []ast.Expr { return split(nil, x, ast.OpOr) }

func split(out []ast.Expr, x ast.Expr, op ast.BinaryOp) []ast.Expr {
	switch x := x.(type) {
	case *ast.Paren:
		if b, ok := bare(x).(*ast.Binary); ok && b.Op == op {
			return split(out, b, op)
		}
	case *ast.Binary:
		if x.Op == op {
			return split(split(out, x.L, op), x.R, op)
		}
	}
	return append(out, x)
}

// bare takes the parentheses off an expression.
func bare(x ast.Expr) ast.Expr {
	for {
		p, ok := x.(*ast.Paren)
		if !ok {
			return x
		}
		x = p.X
	}
}

// And joins conditions; nil for none.
func And(conds ...ast.Expr) ast.Expr {
	var out ast.Expr
	for _, c := range conds {
		switch {
		case c == nil:
		case out == nil:
			out = c
		default:
			out = &ast.Binary{Op: ast.OpAnd, L: out, R: c}
		}
	}
	return out
}

// without are the conditions but for one.
func without(conds []ast.Expr, x ast.Expr) []ast.Expr {
	out := make([]ast.Expr, 0, len(conds))
	for _, c := range conds {
		if c != x {
			out = append(out, c)
		}
	}
	return out
}

// Constant reports whether an expression has the same value for all rows of a statement and costs little to evaluate
// once.
func Constant(x ast.Expr) bool {
	same := true
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Call:
			same = same && fixed(n)
		case *ast.Binary:
			same = same && n.KNN == nil && n.Match == nil
		default:
			same = same && written(n)
		}
		return same
	})
	return same
}

// Written reports whether an expression is made of literals and parameters alone, without calls and operators.
func Written(x ast.Expr) bool {
	same := true
	ast.Inspect(x, func(n any) bool {
		same = same && written(n)
		return same
	})
	return same
}

func written(n any) bool {
	switch n := n.(type) {
	case *ast.Literal, *ast.Constant, *ast.Array, *ast.Set, *ast.Object, *ast.RecordID, *ast.KeyRange, *ast.Range,
		*ast.Paren, *ast.Cast, *ast.Unary:
		return true
	case *ast.Param:
		return !ofRow(n.Name)
	}
	return false
}

// fixed reports whether a call is one of a function of the library that answers the same throughout a statement.
func fixed(c *ast.Call) bool {
	f, ok := c.Impl.(*fn.Func)
	return ok && c.Kind == ast.CallBuiltin && f.Fixed()
}

// Rowless reports whether an expression has the same value for every row of a statement.
func Rowless(x ast.Expr) bool {
	same := true
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Subquery, *ast.Block, *ast.Closure, *ast.Table:
			same = false
		case *ast.Call:
			same = same && fixed(n)
		case *ast.Idiom:
			_, starts := n.Parts[0].(*ast.PartStart)
			same = same && starts
		case *ast.Param:
			same = same && !ofRow(n.Name)
		}
		return same
	})
	return same
}

// ofRow reports whether a parameter stands for something of the current row.
func ofRow(param string) bool {
	switch param {
	case "this", "self", "parent", "value", "before", "after", "input", "event":
		return true
	}
	return false
}

// OfOuter reports whether an expression is a path of names in $parent, the row around a sub-select: it has one value
// for all rows of the sub-select, in whose place $parent stands for it.
func OfOuter(x ast.Expr) bool {
	id, ok := bare(x).(*ast.Idiom)
	if !ok {
		return false
	}
	start, ok := id.Parts[0].(*ast.PartStart)
	if !ok {
		return false
	}
	if p, ok := start.X.(*ast.Param); !ok || p.Name != "parent" {
		return false
	}
	for _, part := range id.Parts[1:] {
		if _, ok := part.(*ast.PartField); !ok {
			return false
		}
	}
	return true
}

// Names is an idiom as a path of names; false where it is more than that.
func Names(id *ast.Idiom) ([]string, bool) {
	out := make([]string, len(id.Parts))
	for i, p := range id.Parts {
		f, ok := p.(*ast.PartField)
		if !ok {
			return nil, false
		}
		out[i] = f.Name
	}
	return out, true
}
