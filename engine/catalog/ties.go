package catalog

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Ties say what the records of a table have left at those of other tables, which goes when the table does.
type Ties struct {
	Edges      bool // a record may be an edge: its nodes have adjacency entries
	References []Reference
}

// Reference is a REFERENCE field.
type Reference struct {
	Name string
	Path []Step
}

// None reports whether there is nothing.
func (t Ties) None() bool { return !t.Edges && len(t.References) == 0 }

// Ties are those of the table.
func (tb *Table) Ties() Ties {
	t := Ties{Edges: tb.Define.Kind != ast.TableNormal}
	for _, f := range tb.Fields {
		if f.Define.Reference != nil {
			t.References = append(t.References, Reference{f.Name, f.Path})
		}
	}
	return t
}

// The fields of stored ties: { edges: bool, references: [[name, step, …], …] }. A step is its name, or true for all.
const (
	tiesEdges      = "edges"
	tiesReferences = "references"
)

// facts are the ties as they are stored with a job.
func (t Ties) facts() value.Value {
	refs := make([]value.Value, len(t.References))
	for i, r := range t.References {
		ref := []value.Value{value.Str(r.Name)}
		for _, s := range r.Path {
			if s.All {
				ref = append(ref, value.Bool(true))
			} else {
				ref = append(ref, value.Str(s.Name))
			}
		}
		refs[i] = value.ArrayOf(ref)
	}
	return value.ObjectOf(value.NewObject(value.Field{Name: tiesEdges, Value: value.Bool(t.Edges)},
		value.Field{Name: tiesReferences, Value: value.ArrayOf(refs)}))
}

// tiesOf reads facts; it is none where there are none.
func tiesOf(facts value.Value) (t Ties) {
	if facts.Kind() != value.KindObject {
		return t
	}
	if e, ok := facts.Object().Get(tiesEdges); ok {
		t.Edges = value.Truthy(e)
	}
	refs, _ := facts.Object().Get(tiesReferences)
	if refs.Kind() != value.KindArray {
		return t
	}
	for _, ref := range refs.Elems() {
		if ref.Kind() != value.KindArray || len(ref.Elems()) == 0 || ref.Elems()[0].Kind() != value.KindString {
			continue
		}
		r := Reference{Name: ref.Elems()[0].Str()}
		for _, s := range ref.Elems()[1:] {
			if s.Kind() == value.KindString {
				r.Path = append(r.Path, Step{Name: s.Str()})
			} else {
				r.Path = append(r.Path, Step{All: true})
			}
		}
		t.References = append(t.References, r)
	}
	return t
}
