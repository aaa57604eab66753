package inside

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Omit takes the value at a path out of a document.
func Omit(v value.Value, path []ast.Part) value.Value {
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
		return value.ObjectOf(v.Object().With(p.Name, Omit(old, path[1:])))
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
		if i, ok := Whole(lit.Value); ok && i >= 0 && i < int64(v.Len()) {
			return omitElem(v, int(i), path[1:])
		}
	case *ast.PartLast:
		if v.Kind() == value.KindArray && v.Len() > 0 {
			return omitElem(v, v.Len()-1, path[1:])
		}
	case *ast.PartDestructure:
		if v.Kind() == value.KindObject {
			for i := range p.Fields {
				v = Omit(v, destructurePath(&p.Fields[i]))
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
		out[i] = Omit(e, path)
	}
	return value.ArrayOf(out)
}

func omitFields(v value.Value, path []ast.Part) value.Value {
	if len(path) == 0 {
		return value.ObjectOf(nil)
	}
	fields := append([]value.Field(nil), v.Object().Fields()...)
	for i := range fields {
		fields[i].Value = Omit(fields[i].Value, path)
	}
	return value.ObjectOf(value.ObjectOfSorted(fields))
}

func omitElem(v value.Value, i int, path []ast.Part) value.Value {
	elems := v.Elems()
	out := make([]value.Value, 0, len(elems))
	out = append(out, elems[:i]...)
	if len(path) > 0 {
		out = append(out, Omit(elems[i], path))
	}
	return value.ArrayOf(append(out, elems[i+1:]...))
}
