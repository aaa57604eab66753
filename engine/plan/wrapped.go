package plan

import "github.com/nacredb/nacre/engine/ast"

// Wrapped reports whether the answer of a statement is put into an array: the language does that to
// blocks whose last statement is a LET, to RETURN (RETURN x) and to RETURN { RETURN x }.
func Wrapped(s ast.Statement) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		return endsInLet(s.X)
	case *ast.Return:
		return endsInLet(s.X) || isReturn(s.X)
	}
	return false
}

func isReturn(x ast.Expr) bool {
	var s ast.Statement
	switch x := x.(type) {
	case *ast.Subquery:
		s = x.Stmt
	case *ast.Block:
		if len(x.Stmts) == 1 {
			s = x.Stmts[0]
		}
	}
	_, ok := s.(*ast.Return)
	return ok
}

func endsInLet(x ast.Expr) bool {
	if q, ok := x.(*ast.Subquery); ok {
		_, ok := q.Stmt.(*ast.Let)
		return ok
	}
	b, ok := x.(*ast.Block)
	if !ok || len(b.Stmts) == 0 {
		return false
	}
	switch s := b.Stmts[len(b.Stmts)-1].(type) {
	case *ast.Let:
		return true
	case *ast.ExprStmt:
		return endsInLet(s.X)
	}
	return false
}
