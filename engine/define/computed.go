package define

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
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
	if circle := circleOf(tb, path[0].Name, d); circle != nil {
		return badOption("Cyclic dependency detected among computed fields: %s", strings.Join(circle, " -> "))
	}
	return nil
}

// circleOf finds COMPUTED fields that depend on one another, with the field called name defined as d: the names on the
// way round, the first one twice. Nil: there are none.
func circleOf(tb *catalog.Table, name string, d *ast.DefineField) []string {
	needs := map[string][]string{name: readsFields(d.Computed)}
	for _, f := range tb.Computed {
		if f.Path[0].Name != name {
			needs[f.Path[0].Name] = readsFields(f.Define.Computed)
		}
	}
	names := make([]string, 0, len(needs))
	for n := range needs {
		names = append(names, n)
	}
	slices.Sort(names)
	s := circleSearch{needs: needs, done: map[string]bool{}}
	for _, n := range names {
		if s.visit(n) {
			return s.way
		}
	}
	return nil
}

// circleSearch walks dependencies depth first.
type circleSearch struct {
	needs map[string][]string
	done  map[string]bool // those from which no circle is reached
	way   []string
}

func (s *circleSearch) visit(name string) (found bool) {
	if s.done[name] || s.needs[name] == nil {
		return false
	}
	if at := slices.Index(s.way, name); at >= 0 {
		s.way = append(s.way[at:], name)
		return true
	}
	s.way = append(s.way, name)
	for _, n := range s.needs[name] {
		if s.visit(n) {
			return true
		}
	}
	s.way = s.way[:len(s.way)-1]
	s.done[name] = true
	return false
}

// readsFields are the fields of the record that an expression names, in order: the first part of every path in it, also
// behind $this and $self. The list is not nil.
func readsFields(x ast.Expr) []string {
	out := []string{}
	ast.Inspect(x, func(n any) bool {
		if id, ok := n.(*ast.Idiom); ok && len(id.Parts) > 0 {
			if name := firstField(id.Parts); name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

// firstField is the field of the record that a path begins with, "" where it begins with something else.
func firstField(parts []ast.Part) string {
	switch p := parts[0].(type) {
	case *ast.PartField:
		return p.Name
	case *ast.PartStart:
		this, ok := p.X.(*ast.Param)
		if !ok || len(parts) < 2 || this.Name != "this" && this.Name != "self" {
			return ""
		}
		switch p := parts[1].(type) {
		case *ast.PartField:
			return p.Name
		case *ast.PartIndex:
			if l, ok := p.X.(*ast.Literal); ok && l.Value.Kind() == value.KindString {
				return l.Value.Str()
			}
		}
	}
	return ""
}
