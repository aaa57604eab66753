package plan

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// ReadsElsewhere reports whether a WHERE may read other records than the one that it is tried on: through links,
// sub-selects or functions. The statement may have changed those before the turn of a record comes, so they have to be
// looked at in the order of the table, as if there were no index.
func ReadsElsewhere(tb *catalog.Table, where ast.Expr) bool {
	if len(tb.Computed) > 0 {
		return true
	}
	elsewhere := false
	ast.Inspect(where, func(n any) bool {
		switch n := n.(type) {
		case *ast.Literal, *ast.Param, *ast.Array, *ast.Set, *ast.Object, *ast.RecordID, *ast.KeyRange, *ast.Range,
			*ast.Unary, *ast.Binary, *ast.Cast, *ast.Paren, *ast.PartField:
		case *ast.Idiom:
			elsewhere = elsewhere || len(n.Parts) > 1
		default:
			elsewhere = true
		}
		return !elsewhere
	})
	return elsewhere
}
