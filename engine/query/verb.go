package query

import "github.com/nacredb/nacre/engine/ast"

// Verbs are the labels by which metrics count statements: a closed set.
var Verbs = []string{"select", "create", "insert", "update", "upsert", "delete", "relate", "live", "return", "let",
	"info",
	"define", "transaction", "other"}

// verb returns the operation of a statement, one of Verbs.
func verb(s ast.Statement) string {
	switch s := s.(type) {
	case *ast.Select:
		return "select"
	case *ast.Create:
		return "create"
	case *ast.Insert:
		return "insert"
	case *ast.Update:
		if s.Upsert {
			return "upsert"
		}
		return "update"
	case *ast.Delete:
		return "delete"
	case *ast.Relate:
		return "relate"
	case *ast.Live, *ast.Kill:
		return "live"
	case *ast.ExprStmt, *ast.Return:
		return "return"
	case *ast.Let:
		return "let"
	case *ast.Info, *ast.Show:
		return "info"
	case *ast.Begin, *ast.Commit, *ast.Cancel:
		return "transaction"
	}
	if defines(s) {
		return "define"
	}
	return "other"
}

// defines reports whether a statement changes definitions.
func defines(s ast.Statement) bool {
	switch s.(type) {
	case *ast.DefineNamespace, *ast.DefineDatabase, *ast.DefineTable, *ast.DefineField, *ast.DefineIndex,
		*ast.DefineEvent,
		*ast.DefineFunction, *ast.DefineParam, *ast.DefineAnalyzer, *ast.DefineUser, *ast.DefineAccess,
		*ast.DefineSequence, *ast.DefineConfig, *ast.DefineAPI, *ast.DefineBucket, *ast.DefineModel, *ast.DefineModule,
		*ast.Remove, *ast.Alter, *ast.Rebuild:
		return true
	}
	return false
}
