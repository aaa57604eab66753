package plan

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/fn"
)

// oncePerGroup reports whether a projection does not read the rows of its group, so that it is evaluated once for all
// of them. What cannot be looked into counts as reading: functions of the database, scripts, closures that come as
// parameters; and so does what has effects, which would be seen less often.
func oncePerGroup(x ast.Expr) bool {
	same := true
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Idiom:
			_, starts := n.Parts[0].(*ast.PartStart)
			same = same && starts
		case *ast.Param:
			same = same && !ofRow(n.Name)
		case *ast.PartWhere, *ast.PartGraph, *ast.PartDestructure, *ast.PartRecurse:
			same = same && asksNoParent(n) // the names inside are of what the path has come to
			return false
		case *ast.Subquery:
			if s, ok := n.Stmt.(*ast.Select); ok {
				same = same && ownRows(s)
				return false
			}
		default:
			same = same && repeatable(n)
		}
		return same
	})
	return same
}

// ownRows reports whether a sub-select asks nothing of the row around it.
func ownRows(s *ast.Select) bool {
	for _, x := range append([]ast.Expr{s.Limit, s.Start, s.Version, s.Timeout}, s.From...) {
		if x != nil && !oncePerGroup(x) {
			return false
		}
	}
	return asksNoParent(s)
}

// asksNoParent reports whether nothing in n, whose names are of other rows, asks for the row around it.
func asksNoParent(n any) bool {
	same := true
	ast.Inspect(n, func(n any) bool {
		if p, ok := n.(*ast.Param); ok {
			same = same && p.Name != "parent"
		}
		same = same && repeatable(n)
		return same
	})
	return same
}

// repeatable reports whether a node, apart from what stands inside of it, may be evaluated once in the place of many
// times.
func repeatable(n any) bool {
	switch n := n.(type) {
	case *ast.Script, *ast.PartCall, *ast.KeyGen:
		return false
	case *ast.Call:
		return n.Kind == ast.CallBuiltin && quiet(n.Impl)
	case *ast.PartMethod:
		return n.Impl == nil || quiet(n.Impl)
	case *ast.Binary:
		return n.KNN == nil && n.Match == nil
	case ast.Statement:
		return ReadsOnly(n)
	}
	return true
}

// quiet reports whether a function of the library has no effects and does not read the row: those that give the same
// throughout a statement, and random ones.
func quiet(impl any) bool {
	f, ok := impl.(*fn.Func)
	return ok && (f.Fixed() || f.Name == "rand" || strings.HasPrefix(f.Name, "rand::"))
}
