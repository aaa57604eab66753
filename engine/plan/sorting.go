package plan

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
)

// SortsRaw reports whether the keys of ORDER BY mean the same before and after the projection, so
// that rows can be sorted (and dropped) before they are projected.
func SortsRaw(s *ast.Select) bool {
	if s.Order == nil || s.Order.Random {
		return true
	}
	for _, k := range s.Order.Keys {
		text := ast.Text(k.Key)
		for i := range s.Projections.Fields {
			f := &s.Projections.Fields[i]
			if f.Alias != nil && ast.Text(f.Alias) == text {
				if f.X == nil || ast.Text(f.X) != text {
					return false
				}
			}
			if f.Alias == nil && !f.All && ast.Text(f.X) != text && column.Is(f.X, text) {
				return false
			}
		}
	}
	return true
}

// SortsBoth reports whether a key of ORDER BY is no column, and so one of the rows before the projection.
func SortsBoth(s *ast.Select) bool {
	for _, k := range s.Order.Keys {
		if !IsColumn(s, k.Key) {
			return true
		}
	}
	return false
}

// IsColumn reports whether an idiom names a column.
func IsColumn(s *ast.Select, key *ast.Idiom) bool {
	text := ast.Text(key)
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		switch {
		case f.All, f.Alias != nil && ast.Text(f.Alias) == text:
			return true
		case f.Alias == nil && (ast.Text(f.X) == text || column.Is(f.X, text)):
			return true
		}
	}
	return false
}
