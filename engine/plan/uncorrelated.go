package plan

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/fn"
)

// Uncorrelated reports whether a sub-select reads tables and records by name and asks nothing of the row around it.
func Uncorrelated(x *ast.Subquery) bool {
	s, ok := x.Stmt.(*ast.Select)
	if !ok || s.Explain != nil || s.Order != nil && s.Order.Random {
		return false
	}
	for _, from := range s.From {
		if _, table := from.(*ast.Table); !table && !Constant(from) {
			return false
		}
	}
	for _, clause := range []ast.Expr{s.Limit, s.Start, s.Version, s.Timeout} {
		if clause != nil && !Constant(clause) {
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
			same = same && Constant(n)
		}
		return same
	})
	return same
}

// steady reports whether a function gives the same result while a statement runs.
func steady(impl any) bool {
	f, ok := impl.(*fn.Func)
	return ok && (f.Pure || f.Steady && f.Name != "time::now")
}
