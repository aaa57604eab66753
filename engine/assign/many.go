package assign

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Few is how many fields of a record are written one by one. Each of them copies the record; more go in together.
const Few = 16

// edits gathers what is set in an object, to be done in one pass.
type edits struct {
	fields []value.Field
	at     map[string]int // the place of a name in fields
}

// value is a field of doc as it is with the edits.
func (e *edits) value(doc *value.Object, name string) value.Value {
	if i, ok := e.at[name]; ok {
		return e.fields[i].Value
	}
	v, _ := doc.Get(name)
	return v
}

// set notes a field; NONE removes it.
func (e *edits) set(name string, v value.Value) {
	if i, ok := e.at[name]; ok {
		e.fields[i].Value = v
		return
	}
	if e.at == nil {
		e.at = map[string]int{}
	}
	e.at[name] = len(e.fields)
	e.fields = append(e.fields, value.Field{Name: name, Value: v})
}

// into does the edits, and forgets them.
func (e *edits) into(doc value.Value) value.Value {
	if len(e.fields) == 0 {
		return doc
	}
	out := value.ObjectOf(doc.Object().WithAll(e.fields))
	*e = edits{}
	return out
}

// ownField is the name of the field of the record itself that a place is.
func ownField(place *ast.Idiom) (string, bool) {
	if len(place.Parts) != 1 {
		return "", false
	}
	f, ok := place.Parts[0].(*ast.PartField)
	if !ok {
		return "", false
	}
	return f.Name, true
}

// SetAll makes the assignments of a SET, whose values vals are.
func (a Assigner[E]) SetAll(ctx context.Context, set []ast.Assign, vals []value.Value, im Image) (value.Value, error) {
	var e edits
	for i := range set {
		if name, own := ownField(set[i].Place); own && len(set) > Few && !a.Apart {
			now, err := combine(set[i].Op, e.value(im.Doc.Object(), name), vals[i])
			if err != nil {
				return value.None, err
			}
			e.set(name, now)
			continue
		}
		im.Doc = e.into(im.Doc)
		var err error
		if im, err = a.Set(ctx, im, set[i].Place.Parts, set[i].Op, vals[i]); err != nil {
			return value.None, err
		}
		if im.Doc, err = a.Checked(im.Doc); err != nil {
			return value.None, err
		}
	}
	if len(e.fields) == 0 {
		return im.Doc, nil
	}
	return a.Checked(e.into(im.Doc))
}

// UnsetAll is UNSET.
func (a Assigner[E]) UnsetAll(ctx context.Context, places []*ast.Idiom, im Image) (value.Value, error) {
	var e edits
	for _, place := range places {
		if name, own := ownField(place); own && len(places) > Few && !a.Apart {
			e.set(name, value.None)
			continue
		}
		im.Doc = e.into(im.Doc)
		var err error
		if im, err = a.Unset(ctx, im, place.Parts); err != nil {
			return im.Doc, err
		}
	}
	return e.into(im.Doc), nil
}
