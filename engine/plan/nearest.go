package plan

import (
	"context"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
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

// KNNs divides a WHERE into the KNN operators that are conditions of their own and the rest; nil for none. It leaves
// out operators that say neither a width nor a distance.
func KNNs(where ast.Expr) (knns []*ast.Binary, rest ast.Expr) {
	for _, c := range Conjuncts(where) {
		if b, ok := c.(*ast.Binary); !ok || b.Op != ast.OpKNN {
			rest = And(rest, c)
		} else if b.KNN.EF != 0 || b.KNN.Distance != "" {
			knns = append(knns, b)
		}
	}
	return knns, rest
}

// DistanceName is how EXPLAIN writes the distance of an operator that has one.
func DistanceName(k *ast.KNN) string {
	name := k.Distance[:1] + strings.ToLower(k.Distance[1:])
	if name != "Minkowski" {
		return name
	}
	kind := "Int"
	if k.Order.Kind() == value.KindFloat {
		kind = "Float"
	}
	return name + "(" + kind + "(" + strings.TrimSuffix(k.Order.Text(), "f") + "))"
}

// IsNamed reports whether a source is named, so that it may be looked at more than once.
func IsNamed(x ast.Expr) bool {
	switch x.(type) {
	case *ast.Table, *ast.Param:
		return true
	}
	return false
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
