package plan

import "github.com/nacredb/nacre/engine/ast"

// Edges is the record that the target of a write starts from, where the target is the edges or references of that
// record alone and without clauses (person:1->knows), and the name of such a step; nil for all other targets.
func Edges(x ast.Expr) (from ast.Expr, name string) {
	for {
		p, ok := x.(*ast.Paren)
		if !ok {
			break
		}
		x = p.X
	}
	id, ok := x.(*ast.Idiom)
	if !ok || len(id.Parts) != 2 {
		return nil, ""
	}
	start, ok := id.Parts[0].(*ast.PartStart)
	if !ok {
		return nil, ""
	}
	if _, ok := start.X.(*ast.RecordID); !ok {
		return nil, ""
	}
	step, ok := id.Parts[1].(*ast.PartGraph)
	if !ok || clauses(step.Graph) {
		return nil, ""
	}
	if step.Graph.Dir == ast.DirRef {
		return start.X, "Iterate References"
	}
	return start.X, "Iterate Edges"
}

// clauses reports whether a graph step has any.
func clauses(g *ast.Graph) bool {
	return g.Select != nil || g.Where != nil || g.Split != nil || g.Group != nil || g.Order != nil || g.Limit != nil ||
		g.Start != nil || g.Alias != nil
}

// Literal reports whether a path starts from a value that is written out.
func Literal(x *ast.Idiom) bool {
	start, ok := x.Parts[0].(*ast.PartStart)
	if !ok {
		return false
	}
	switch start.X.(type) {
	case *ast.Literal, *ast.Array, *ast.Object, *ast.Set:
		return true
	}
	return false
}
