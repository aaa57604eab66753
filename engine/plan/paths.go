package plan

import (
	"github.com/nacredb/nacre/engine/ast"
)

// mostPaths bounds what Paths gives.
const mostPaths = 8

// Paths are the paths in expressions that lead, or may lead, from a row to other records: over edges, or by a link in
// one of its fields. It leaves out those that another query, a function, or a branch may not come to.
func Paths(xs []ast.Expr) [][]ast.Part {
	var out [][]ast.Part
	for _, x := range xs {
		if x == nil {
			continue
		}
		ast.Inspect(x, func(n any) bool {
			switch n := n.(type) {
			case *ast.Subquery, *ast.Block, *ast.Closure, *ast.If, *ast.Script:
				return false
			case *ast.Idiom:
				if len(out) < mostPaths && leadsAway(n.Parts) {
					out = append(out, n.Parts)
				}
				_, inside := n.Parts[0].(*ast.PartStart)
				return inside
			}
			return true
		})
	}
	return out
}

// leadsAway reports whether a path from a row may lead to other records.
func leadsAway(path []ast.Part) bool {
	switch path[0].(type) {
	case *ast.PartGraph, *ast.PartRecurse:
		return true
	case *ast.PartField:
		for _, p := range path[1:] {
			switch p.(type) {
			case *ast.PartField, *ast.PartAll, *ast.PartDestructure, *ast.PartGraph, *ast.PartRecurse, *ast.PartWhere:
				return true
			}
		}
	}
	return false
}

// IsNames reports whether an expression is a path of names.
func IsNames(x ast.Expr) bool {
	id, ok := x.(*ast.Idiom)
	if !ok {
		return false
	}
	_, ok = Names(id)
	return ok
}

// IsName reports whether an expression is one name.
func IsName(x ast.Expr) bool {
	id, ok := x.(*ast.Idiom)
	return ok && len(id.Parts) == 1 && IsNames(id)
}

// Followed are paths to the records behind the links that FETCH names.
func Followed(fetch [][]ast.Part) [][]ast.Part {
	out := make([][]ast.Part, len(fetch))
	for i, path := range fetch {
		out[i] = append(path[:len(path):len(path)], &ast.PartAll{})
	}
	return out
}
