package plan

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// byNearest answers the first nearest-neighbour operator that a vector index of the table is for.
func byNearest(_ context.Context, q *Query) (Path, error) {
	var found *Nearest
	var rest []ast.Expr
	for _, c := range Conjuncts(q.Where) {
		b, ok := c.(*ast.Binary)
		if !ok || b.Op != ast.OpKNN {
			rest = append(rest, c)
			continue
		}
		field, _ := b.L.(*ast.Idiom)
		if found != nil || b.KNN.EF == 0 || IsRowField(b.R) {
			continue
		}
		if ix := FieldIndex(q.Table, IsVector, field, q.With); ix != nil {
			found = &Nearest{Index: ix, KNN: b}
		}
	}
	if found == nil {
		return nil, nil
	}
	found.Rest = And(rest...)
	return found, nil
}

// IsVector reports whether an index finds nearest neighbours.
func IsVector(ix *catalog.Index) bool { return ix.Define.Vector != nil }

// IsText reports whether an index finds texts.
func IsText(ix *catalog.Index) bool { return ix.Define.Kind == ast.IndexFullText }

// IsRowField reports whether an expression is a path from the current row.
func IsRowField(x ast.Expr) bool {
	id, ok := x.(*ast.Idiom)
	if !ok {
		return false
	}
	_, starts := id.Parts[0].(*ast.PartStart)
	return !starts
}

// FieldIndex finds the index of a kind on a field: of several the last by name, as the reference picks. nil for none.
func FieldIndex(tb *catalog.Table, kind func(*catalog.Index) bool, field *ast.Idiom, with *ast.With) *catalog.Index {
	if tb == nil || field == nil {
		return nil
	}
	text, q := ast.Text(field), Query{With: with}
	for i := len(tb.Indexes) - 1; i >= 0; i-- {
		ix := tb.Indexes[i]
		if kind(ix) && q.names(ix) && len(ix.Define.Fields) == 1 && ast.Text(ix.Define.Fields[0]) == text {
			return ix
		}
	}
	return nil
}
