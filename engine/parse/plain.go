package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
)

// Path parses a path that comes as text: names, .*, [0], ['name'], [$], .?, …, destructurings by name, and graph steps
// without clauses. SECURITY: such text is data. A path with something to evaluate in it (a method, a condition, an
// index that is computed, a recursion) is refused: only eval::surql makes text into code.
func Path(text string) (*ast.Idiom, error) {
	id, err := whole(text, Options{MaxBytes: MaxDataText, constants: true}, (*parser).plainIdiom)
	if err != nil {
		return nil, err
	}
	for _, part := range id.Parts {
		if !plain(part) {
			return nil, errs.Validation("Only names, indexes, `*`, `$` and graph steps without clauses are allowed here")
		}
	}
	return id, nil
}

// plain reports whether a step of a path has nothing to evaluate.
func plain(part ast.Part) bool {
	switch x := part.(type) {
	case *ast.PartField, *ast.PartAll, *ast.PartLast, *ast.PartFlatten, *ast.PartOptional, *ast.PartDoc:
		return true
	case *ast.PartIndex:
		_, ok := x.X.(*ast.Literal)
		return ok
	case *ast.PartDestructure:
		return plainFields(x.Fields)
	case *ast.PartGraph:
		g := x.Graph
		return g.Select == nil && g.Where == nil && len(g.Split) == 0 && g.Group == nil && g.Order == nil &&
			g.Limit == nil && g.Start == nil && g.Alias == nil
	}
	return false
}

func plainFields(fields []ast.DestructureField) bool {
	for i := range fields {
		if fields[i].Expr != nil || !plainFields(fields[i].Nested) {
			return false
		}
	}
	return true
}
