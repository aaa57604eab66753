package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// geometry is the geometry that an object of the shape of GeoJSON is, if all of it is written out: what only turns out
// to have that shape when it is evaluated stays an object.
func geometry(fields []ast.ObjectField) (ast.Expr, bool) {
	if len(fields) != 2 || fields[0].Key != "type" && fields[1].Key != "type" {
		return nil, false
	}
	out := make([]value.Field, len(fields))
	for i, f := range fields {
		v, ok := written(f.Value)
		if !ok {
			return nil, false
		}
		out[i] = value.Field{Name: f.Key, Value: v}
	}
	g, ok := value.GeometryFromObject(value.NewObject(out...))
	if !ok {
		return nil, false
	}
	return &ast.Literal{Value: value.GeometryOf(g)}, true
}

// written is the value of x where it is made of ints, floats, strings, geometries and arrays of them.
func written(x ast.Expr) (value.Value, bool) {
	switch x := x.(type) {
	case *ast.Literal:
		switch x.Value.Kind() {
		case value.KindInt, value.KindFloat, value.KindString, value.KindGeometry:
			return x.Value, true
		}
	case *ast.Paren:
		return written(x.X)
	case *ast.Unary:
		if v, ok := written(x.X); ok && x.Op == ast.OpNeg && v.Kind().IsNumber() {
			n, err := value.Neg(v)
			return n, err == nil
		}
	case *ast.Array:
		elems := make([]value.Value, len(x.Elems))
		for i, e := range x.Elems {
			v, ok := written(e)
			if !ok {
				return value.None, false
			}
			elems[i] = v
		}
		return value.ArrayOf(elems), true
	}
	return value.None, false
}
