package plan

import (
	"strconv"

	"github.com/nacredb/nacre/engine/ast"
)

// SplitColumns makes the aliases that SPLIT names into fields of the rows: made says which values go where, and the
// SELECT that comes back splits there and projects what it finds there. Where the rows are not used as a whole the
// fields have names of their own, so that expressions beside them find the fields of the row as they are.
func SplitColumns(s *ast.Select) (to *ast.Select, made []ast.Projection) {
	whole := usesWhole(s)
	out := *s
	for i, id := range s.Split {
		at := aliased(s.Projections, id)
		if at < 0 {
			continue
		}
		if len(made) == 0 {
			out.Split = append([]*ast.Idiom(nil), s.Split...)
			columns := *s.Projections
			columns.Fields = append([]ast.Projection(nil), s.Projections.Fields...)
			out.Projections = &columns
		}
		place := id
		if !whole {
			place = &ast.Idiom{Parts: []ast.Part{&ast.PartField{Name: "\x00split" + strconv.Itoa(i)}}}
		}
		f := &out.Projections.Fields[at]
		made = append(made, ast.Projection{X: f.X, Alias: place})
		f.X, out.Split[i] = place, place
	}
	if len(made) == 0 {
		return s, nil
	}
	return &out, made
}

// aliased is the place of the column that has an idiom as its alias and is not the field of that name; -1: there is
// none.
func aliased(columns *ast.Projections, id *ast.Idiom) int {
	text := ast.Text(id)
	for i := range columns.Fields {
		f := &columns.Fields[i]
		if f.Alias != nil && ast.Text(f.Alias) == text && ast.Text(f.X) != text {
			return i
		}
	}
	return -1
}

// usesWhole reports whether the columns show rows as a whole.
func usesWhole(s *ast.Select) bool {
	whole := false
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		whole = whole || f.All
		ast.Inspect(f.X, func(n any) bool {
			p, ok := n.(*ast.Param)
			whole = whole || ok && ofRow(p.Name)
			return !whole
		})
	}
	return whole
}
