package plan

import "github.com/nacredb/nacre/engine/ast"

// FromValue reports whether a source is written out, as a list of values or as nothing: ONLY wants one value of it.
func FromValue(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Array:
		return true
	case *ast.Literal:
		return x.Value.IsNullish()
	}
	return false
}

// ScansLimit reports whether LIMIT is that of the scan of a table, whose errors have other words.
func ScansLimit(s *ast.Select) bool {
	if s.Limit == nil || len(s.From) != 1 || s.Group != nil || s.Order != nil || len(s.Split) > 0 {
		return false
	}
	_, ok := s.From[0].(*ast.Table)
	return ok
}
