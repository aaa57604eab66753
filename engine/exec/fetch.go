package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// fetchPaths compiles FETCH or OMIT: idioms, type::field(s) calls, and parameters that hold names.
func (r *Run) fetchPaths(env *Env, xs []ast.Expr) ([][]ast.Part, error) {
	var out [][]ast.Part
	for _, x := range xs {
		switch x := x.(type) {
		case *ast.Idiom:
			out = append(out, x.Parts)
			continue
		case *ast.Table:
			out = append(out, []ast.Part{&ast.PartField{Name: x.Name}})
			continue
		case *ast.Call:
			if selfNaming(x) {
				ids, _, err := r.fieldPaths(env, x)
				if err != nil {
					return nil, err
				}
				for _, id := range ids {
					out = append(out, id.Parts)
				}
				continue
			}
		}
		v, err := r.Eval(env, x)
		if err != nil {
			return nil, err
		}
		if v.Kind() != value.KindString {
			return nil, errs.Internal("Found %s on FETCH CLAUSE, but FETCH expects an idiom, a string or fields", v.Text())
		}
		id, err := r.Ex.ParseIdiom(v.Str())
		if err != nil {
			return nil, errs.Internal("Invalid field path '%s': %s", v.Str(), err)
		}
		out = append(out, id.Parts)
	}
	return out, nil
}

// fetchInto puts records in the place of the links at a path: NONE for those that are missing or
// hidden. A path that leads nowhere changes nothing.
func (r *Run) fetchInto(v value.Value, path []ast.Part) (value.Value, error) {
	if v.Kind() == value.KindRecord {
		if err := r.Tick(); err != nil {
			return value.None, err
		}
		doc, err := r.Fetch(v.Record())
		if err != nil || doc.IsNone() {
			return value.None, err
		}
		v = doc
	}
	if len(path) == 0 {
		if v.Kind() != value.KindArray {
			return v, nil
		}
		return r.eachElem(v, nil)
	}
	switch p := path[0].(type) {
	case *ast.PartField:
		return r.fetchField(v, p.Name, path)
	case *ast.PartGraph:
		return r.fetchField(v, graphText(p.Graph), path)
	case *ast.PartAll:
		if v.Kind() == value.KindArray {
			return r.eachElem(v, path[1:])
		}
		if v.Kind() == value.KindObject {
			return r.eachField(v, path[1:])
		}
	case *ast.PartIndex:
		lit, ok := p.X.(*ast.Literal)
		if !ok || v.Kind() != value.KindArray {
			return v, nil
		}
		i, ok := wholeIndex(lit.Value)
		if !ok || i < 0 || i >= int64(v.Len()) {
			return v, nil
		}
		return r.oneElem(v, int(i), path[1:])
	case *ast.PartLast:
		if v.Kind() == value.KindArray && v.Len() > 0 {
			return r.oneElem(v, v.Len()-1, path[1:])
		}
	}
	return v, nil
}

func (r *Run) fetchField(v value.Value, name string, path []ast.Part) (value.Value, error) {
	switch v.Kind() {
	case value.KindArray:
		return r.eachElem(v, path)
	case value.KindObject:
		old, ok := v.Object().Get(name)
		if !ok {
			return v, nil
		}
		now, err := r.fetchInto(old, path[1:])
		if err != nil {
			return value.None, err
		}
		return value.ObjectOf(v.Object().With(name, now)), nil
	}
	return v, nil
}

func (r *Run) eachElem(v value.Value, path []ast.Part) (value.Value, error) {
	out, sum := make([]value.Value, v.Len()), held(0)
	for i, e := range v.Elems() {
		w, err := r.fetchInto(e, path)
		if err == nil {
			err = sum.add(r, w)
		}
		if err != nil {
			return value.None, err
		}
		out[i] = w
	}
	return value.ArrayOf(out), nil
}

func (r *Run) oneElem(v value.Value, i int, path []ast.Part) (value.Value, error) {
	w, err := r.fetchInto(v.Elems()[i], path)
	if err != nil {
		return value.None, err
	}
	out := append([]value.Value(nil), v.Elems()...)
	out[i] = w
	return value.ArrayOf(out), nil
}

func (r *Run) eachField(v value.Value, path []ast.Part) (value.Value, error) {
	fields, sum := append([]value.Field(nil), v.Object().Fields()...), held(0)
	for i := range fields {
		w, err := r.fetchInto(fields[i].Value, path)
		if err == nil {
			err = sum.add(r, w)
		}
		if err != nil {
			return value.None, err
		}
		fields[i].Value = w
	}
	return value.ObjectOf(value.ObjectOfSorted(fields)), nil
}

// omit takes the value at a path out of a document.
func omit(v value.Value, path []ast.Part) value.Value {
	if len(path) == 0 {
		return v
	}
	switch p := path[0].(type) {
	case *ast.PartField:
		if v.Kind() == value.KindArray {
			return omitEach(v, path)
		}
		if v.Kind() != value.KindObject {
			return v
		}
		if len(path) == 1 {
			return value.ObjectOf(v.Object().Without(p.Name))
		}
		old, ok := v.Object().Get(p.Name)
		if !ok {
			return v
		}
		return value.ObjectOf(v.Object().With(p.Name, omit(old, path[1:])))
	case *ast.PartAll:
		if v.Kind() == value.KindArray {
			if len(path) == 1 {
				return value.Array()
			}
			return omitEach(v, path[1:])
		}
		if v.Kind() == value.KindObject {
			return omitFields(v, path[1:])
		}
	case *ast.PartIndex:
		lit, ok := p.X.(*ast.Literal)
		if !ok || v.Kind() != value.KindArray {
			return v
		}
		if i, ok := wholeIndex(lit.Value); ok && i >= 0 && i < int64(v.Len()) {
			return omitElem(v, int(i), path[1:])
		}
	case *ast.PartLast:
		if v.Kind() == value.KindArray && v.Len() > 0 {
			return omitElem(v, v.Len()-1, path[1:])
		}
	case *ast.PartDestructure:
		if v.Kind() == value.KindObject {
			for i := range p.Fields {
				v = omit(v, destructurePath(&p.Fields[i]))
			}
		}
	}
	return v
}

// destructurePath is a field of a destructuring as a path.
func destructurePath(f *ast.DestructureField) []ast.Part {
	out := []ast.Part{&ast.PartField{Name: f.Name}}
	if f.Nested != nil {
		out = append(out, &ast.PartDestructure{Fields: f.Nested})
	}
	return out
}

func omitEach(v value.Value, path []ast.Part) value.Value {
	out := make([]value.Value, v.Len())
	for i, e := range v.Elems() {
		out[i] = omit(e, path)
	}
	return value.ArrayOf(out)
}

func omitFields(v value.Value, path []ast.Part) value.Value {
	if len(path) == 0 {
		return value.ObjectOf(nil)
	}
	fields := append([]value.Field(nil), v.Object().Fields()...)
	for i := range fields {
		fields[i].Value = omit(fields[i].Value, path)
	}
	return value.ObjectOf(value.ObjectOfSorted(fields))
}

func omitElem(v value.Value, i int, path []ast.Part) value.Value {
	elems := v.Elems()
	out := make([]value.Value, 0, len(elems))
	out = append(out, elems[:i]...)
	if len(path) > 0 {
		out = append(out, omit(elems[i], path))
	}
	return value.ArrayOf(append(out, elems[i+1:]...))
}
