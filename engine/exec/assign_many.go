package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// fewPlaces is how many fields of a record are written one by one. Each of them copies the record; more go in together.
const fewPlaces = 16

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

// assignMany is the assignments of a SET with many.
func (a assigner) assignMany(ctx context.Context, set []ast.Assign, vals []value.Value, im image) (value.Value, error) {
	var e edits
	for i := range set {
		name, own := ownField(set[i].Place)
		if !own || a.apart {
			im.doc = e.into(im.doc)
			var err error
			if im, err = a.checked(a.assign(ctx, im, set[i].Place.Parts, set[i].Op, vals[i])); err != nil {
				return value.None, err
			}
			continue
		}
		now, err := combine(set[i].Op, e.value(im.doc.Object(), name), vals[i])
		if err != nil {
			return value.None, err
		}
		e.set(name, now)
	}
	return a.r.checked(e.into(im.doc), nil)
}

// checked is Run.checked of the stored image.
func (a assigner) checked(im image, err error) (image, error) {
	im.doc, err = a.r.checked(im.doc, err)
	return im, err
}

// unsetAll is UNSET.
func (r *Run) unsetAll(ctx context.Context, env *Env, places []*ast.Idiom, im image) (value.Value, error) {
	a := r.assigner(env, im)
	var e edits
	for _, place := range places {
		if name, own := ownField(place); own && len(places) > fewPlaces && !a.apart {
			e.set(name, value.None)
			continue
		}
		im.doc = e.into(im.doc)
		var err error
		if im, err = a.unset(ctx, im, place.Parts); err != nil {
			return im.doc, err
		}
	}
	return e.into(im.doc), nil
}
