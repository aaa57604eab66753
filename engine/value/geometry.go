package value

// GeometryFromObject is the geometry that a GeoJSON-shaped object stands for: exactly a type and its
// coordinates (or geometries), numbers in pairs. An object of that shape that is written out is a geometry.
// Open rings of polygons are closed.
func GeometryFromObject(o *Object) (*Geometry, bool) {
	if o.Len() != 2 {
		return nil, false
	}
	name, ok := o.Get("type")
	if !ok || name.Kind() != KindString {
		return nil, false
	}
	kind, ok := geoJSONKind(name.Str())
	if !ok {
		return nil, false
	}
	g := &Geometry{Kind: kind}
	if kind == GeometryCollection {
		list, found := o.Get("geometries")
		g.Items, ok = collectionItems(list)
		return g, found && ok
	}
	c, ok := o.Get("coordinates")
	if !ok {
		return nil, false
	}
	switch kind {
	case GeometryPoint:
		g.Point, ok = pointFrom(c)
	case GeometryLine, GeometryMultiPoint:
		g.Line, ok = listFrom(c, pointFrom)
	case GeometryPolygon:
		g.Rings, ok = polygonFrom(c)
	case GeometryMultiLine:
		g.Rings, ok = listFrom(c, lineFrom)
	default:
		g.Polys, ok = listFrom(c, polygonFrom)
	}
	return g, ok
}

func geoJSONKind(name string) (GeometryKind, bool) {
	for k, n := range geoJSONNames {
		if n == name {
			return GeometryKind(k), true
		}
	}
	return 0, false
}

// collectionItems takes geometries, or objects of their shape; collections do not nest.
func collectionItems(v Value) ([]*Geometry, bool) {
	return listFrom(v, func(v Value) (*Geometry, bool) {
		switch v.Kind() {
		case KindGeometry:
			return v.Geometry(), v.Geometry().Kind != GeometryCollection
		case KindObject:
			g, ok := GeometryFromObject(v.Object())
			return g, ok && g.Kind != GeometryCollection
		}
		return nil, false
	})
}

func listFrom[T any](v Value, item func(Value) (T, bool)) ([]T, bool) {
	if v.Kind() != KindArray {
		return nil, false
	}
	out := make([]T, v.Len())
	for i, e := range v.Elems() {
		var ok bool
		if out[i], ok = item(e); !ok {
			return nil, false
		}
	}
	return out, true
}

func pointFrom(v Value) (Point, bool) {
	if v.Kind() != KindArray || v.Len() != 2 {
		return Point{}, false
	}
	e := v.Elems()
	for _, c := range e {
		if c.Kind() != KindInt && c.Kind() != KindFloat {
			return Point{}, false
		}
	}
	return Point{e[0].AsFloat(), e[1].AsFloat()}, true
}

func lineFrom(v Value) ([]Point, bool) { return listFrom(v, pointFrom) }

func polygonFrom(v Value) ([][]Point, bool) {
	rings, ok := listFrom(v, lineFrom)
	if !ok || len(rings) == 0 {
		return nil, false
	}
	for i, r := range rings {
		if len(r) > 0 && r[0] != r[len(r)-1] {
			rings[i] = append(r, r[0])
		}
	}
	return rings, true
}

// PointOf makes a point value.
func PointOf(x, y float64) Value {
	return GeometryOf(&Geometry{Kind: GeometryPoint, Point: Point{x, y}})
}

// Field returns the member name of a geometry: "type", "coordinates" (floats in arrays) or, of a collection,
// "geometries"; NONE for other names.
func (g *Geometry) Field(name string) Value {
	switch {
	case name == "type":
		return Str(g.Kind.GeoJSON())
	case name == "coordinates" && g.Kind != GeometryCollection:
		return g.coordinates()
	case name == "geometries" && g.Kind == GeometryCollection:
		return arrayOfAll(g.Items, GeometryOf)
	}
	return None
}

// Object is g as its GeoJSON object.
func (g *Geometry) Object() *Object {
	list := "coordinates"
	if g.Kind == GeometryCollection {
		list = "geometries"
	}
	return NewObject(Field{"type", g.Field("type")}, Field{list, g.Field(list)})
}

func (g *Geometry) coordinates() Value {
	switch g.Kind {
	case GeometryPoint:
		return pointArray(g.Point)
	case GeometryLine, GeometryMultiPoint:
		return lineArray(g.Line)
	case GeometryPolygon, GeometryMultiLine:
		return ringArray(g.Rings)
	}
	return arrayOfAll(g.Polys, ringArray)
}

func pointArray(p Point) Value        { return Array(Float(p.X), Float(p.Y)) }
func lineArray(line []Point) Value    { return arrayOfAll(line, pointArray) }
func ringArray(rings [][]Point) Value { return arrayOfAll(rings, lineArray) }

func arrayOfAll[T any](items []T, f func(T) Value) Value {
	out := make([]Value, len(items))
	for i, it := range items {
		out[i] = f(it)
	}
	return ArrayOf(out)
}
