// Package inside reads and replaces what stands in a value at a path. Links are not followed and nothing is evaluated.
package inside

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Value returns the part of v at a path of names, indexes and stars; links are not followed.
func Value(v value.Value, path []ast.Part) value.Value {
	for i, part := range path {
		switch p := part.(type) {
		case *ast.PartField:
			if v.Kind() == value.KindArray {
				return insideEach(v, path[i:])
			}
			if v.Kind() != value.KindObject {
				return value.None
			}
			v, _ = v.Object().Get(p.Name)
		case *ast.PartAll:
			switch v.Kind() {
			case value.KindArray:
				return insideEach(v, path[i+1:])
			case value.KindObject:
				return insideEach(ValuesOf(v.Object()), path[i+1:])
			}
		case *ast.PartLast:
			v = Last(v)
		case *ast.PartIndex:
			n, ok := p.X.(*ast.Literal)
			if !ok {
				return value.None
			}
			v = Element(v, n.Value)
		default:
			return value.None
		}
	}
	return v
}

func insideEach(v value.Value, path []ast.Part) value.Value {
	out := make([]value.Value, v.Len())
	for i, e := range v.Elems() {
		out[i] = Value(e, path)
	}
	return value.ArrayOf(out)
}

// ValuesOf are the values of an object, in the order of their names.
func ValuesOf(o *value.Object) value.Value {
	fields := o.Fields()
	out := make([]value.Value, len(fields))
	for i, f := range fields {
		out[i] = f.Value
	}
	return value.ArrayOf(out)
}

// Put is v with x at a path of names, indexes and stars: in every place that Value looks at. What is NONE or NULL
// becomes an object where a name leads into it; links and what has no inside stay.
func Put(v value.Value, path []ast.Part, x value.Value) value.Value {
	if len(path) == 0 {
		return x
	}
	switch p := path[0].(type) {
	case *ast.PartField:
		switch v.Kind() {
		case value.KindArray:
			return putInElems(v, func(int) bool { return true }, path, x)
		case value.KindObject, value.KindNone, value.KindNull:
			o := value.ObjectOf(nil).Object()
			if v.Kind() == value.KindObject {
				o = v.Object()
			}
			old, _ := o.Get(p.Name)
			return value.ObjectOf(o.With(p.Name, Put(old, path[1:], x)))
		}
	case *ast.PartAll:
		switch v.Kind() {
		case value.KindArray:
			return putInElems(v, func(int) bool { return true }, path[1:], x)
		case value.KindObject:
			fields := append([]value.Field(nil), v.Object().Fields()...)
			for i := range fields {
				fields[i].Value = Put(fields[i].Value, path[1:], x)
			}
			return value.ObjectOf(value.ObjectOfSorted(fields))
		}
	case *ast.PartLast:
		if v.Kind() == value.KindArray {
			return putInElems(v, func(i int) bool { return i == v.Len()-1 }, path[1:], x)
		}
	case *ast.PartIndex:
		if n, ok := p.X.(*ast.Literal); ok && v.Kind() == value.KindArray {
			at, whole := Whole(n.Value)
			return putInElems(v, func(i int) bool { return whole && int64(i) == at }, path[1:], x)
		}
	}
	return v
}

func putInElems(v value.Value, meant func(i int) bool, path []ast.Part, x value.Value) value.Value {
	out := append([]value.Value(nil), v.Elems()...)
	for i, e := range out {
		if meant(i) {
			out[i] = Put(e, path, x)
		}
	}
	return value.ArrayOf(out)
}

// At is the value at a path of names.
func At(v value.Value, path []string) value.Value {
	for _, name := range path {
		if v.Kind() != value.KindObject {
			return value.None
		}
		v, _ = v.Object().Get(name)
	}
	return v
}

// Floats appends the numbers at a path of names, without values of them where the object is encoded. ok is false where
// no array of ints and floats is there; what was appended is of no use then.
func Floats(dst []float64, v value.Value, path []string) (out []float64, ok bool) {
	last := len(path) - 1
	if v = At(v, path[:last]); v.Kind() != value.KindObject {
		return dst, false
	}
	return v.Object().FloatsAt(dst, path[last])
}

// Set is v with the value at a path of names replaced; objects are made on the way, and each element of an array
// is one.
func Set(v value.Value, path []string, x value.Value) value.Value {
	if len(path) == 0 {
		return x
	}
	var o *value.Object
	switch v.Kind() {
	case value.KindObject:
		o = v.Object()
	case value.KindArray:
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			out[i] = Set(e, path, x)
		}
		return value.ArrayOf(out)
	default:
		o = value.ObjectOf(nil).Object()
	}
	old, _ := o.Get(path[0])
	return value.ObjectOf(o.With(path[0], Set(old, path[1:], x)))
}

// Last is v[$]: the last element of an array, the greatest of a set; anything else is its own last element.
func Last(v value.Value) value.Value {
	if v.Kind() != value.KindArray && v.Kind() != value.KindSet {
		return v
	}
	if e := v.Elems(); len(e) > 0 {
		return e[len(e)-1]
	}
	return value.None
}

// Element is v[at] of a number into an array, a set, or the array that a record's key is.
func Element(v, at value.Value) value.Value {
	if v.Kind() != value.KindArray && v.Kind() != value.KindSet {
		return value.None
	}
	i, ok := Whole(at)
	if e := v.Elems(); ok && i >= 0 && i < int64(len(e)) {
		return e[i]
	}
	return value.None
}

// Whole is a number as an index, less its fraction.
func Whole(v value.Value) (int64, bool) {
	switch v.Kind() {
	case value.KindInt:
		return v.Int(), true
	case value.KindFloat:
		f := v.Float()
		return int64(f), f > -1 && f < 1<<53
	case value.KindDecimal:
		return v.Decimal().Trunc().Int()
	}
	return 0, false
}

// Field is a field of an object; NONE where v is not one, or has no such field.
func Field(v value.Value, name string) value.Value {
	if v.Kind() != value.KindObject {
		return value.None
	}
	x, _ := v.Object().Get(name)
	return x
}

// WithField is v with one field set, or removed where x is NONE. A value that is no object gives way to one.
func WithField(v value.Value, name string, x value.Value) value.Value {
	switch {
	case v.Kind() != value.KindObject && x.IsNone():
		return v
	case v.Kind() != value.KindObject:
		return value.ObjectOf(value.NewObject(value.Field{Name: name, Value: x}))
	case x.IsNone():
		return value.ObjectOf(v.Object().Without(name))
	}
	return value.ObjectOf(v.Object().With(name, x))
}

// WithElement is the array v with another element at i.
func WithElement(v value.Value, i int, x value.Value) value.Value {
	elems := append([]value.Value(nil), v.Elems()...)
	elems[i] = x
	return value.ArrayOf(elems)
}

// Kept is the array of those elements of v that keeps wants, by their places.
func Kept(v value.Value, keeps func(i int) bool) value.Value {
	out := make([]value.Value, 0, v.Len())
	for i, e := range v.Elems() {
		if keeps(i) {
			out = append(out, e)
		}
	}
	return value.ArrayOf(out)
}
