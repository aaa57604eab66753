package define

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// checkComputedIn refuses a COMPUTED field that has parts, is indexed, or depends on itself.
func (r *run) checkComputedIn(db *catalog.Database, tb *catalog.Table, d *ast.DefineField, name string) error {
	tb, err := r.Cat.Table(db, tb.Name)
	if err != nil {
		return err
	}
	path := catalog.PathOf(d.Name)
	for _, f := range tb.Fields { // in order of their names
		if catalog.Within(f.Path, path) {
			return badOption("Cannot define field `%s` as `COMPUTED` since a nested field `%s` already exists.", name, f.Name)
		}
	}
	for _, ix := range tb.Indexes {
		for _, x := range ix.Define.Fields {
			if id, ok := x.(*ast.Idiom); ok && len(id.Parts) > 0 && ast.Text(&ast.Idiom{Parts: id.Parts[:1]}) == name {
				return badOption("Computed fields cannot be indexed. Index: '%s' - Field: '%s'", ix.Called(), name)
			}
		}
	}
	if circle := tb.Circle(name, d); circle != nil {
		return badOption("Cyclic dependency detected among computed fields: %s", strings.Join(circle, " -> "))
	}
	return nil
}

// checkOrder refuses a field whose VALUE or DEFAULT needs a field that needs this one.
func (r *run) checkOrder(db *catalog.Database, tb *catalog.Table, d *ast.DefineField, name string) error {
	if d.Value == nil && d.Default == nil {
		return nil
	}
	tb, err := r.Cat.Table(db, tb.Name)
	if err != nil {
		return err
	}
	if circle := tb.Circle(name, d); circle != nil {
		return badOption("Cyclic dependency detected among fields: %s", strings.Join(circle, " -> "))
	}
	return nil
}
