package fn

import "github.com/nacredb/nacre/engine/value"

// typeName is the name of v's type as type::of and error texts give it.
func typeName(v value.Value) string {
	if v.Kind() == value.KindGeometry {
		return "geometry<" + v.Geometry().Kind.String() + ">"
	}
	return v.Kind().String()
}

// TypeName is the name of v's type as error texts give it: "int", "geometry<point>".
func TypeName(v value.Value) string { return typeName(v) }
