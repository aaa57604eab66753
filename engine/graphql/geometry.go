package graphql

import (
	"strings"

	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/value"
)

// geometryNames are the kinds of geometries by value.GeometryKind, as GeoJSON calls them.
var geometryNames = [...]string{"Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon",
	"GeometryCollection"}

// geometryType is the name of the object type of a kind.
func geometryType(k value.GeometryKind) string {
	if k == value.GeometryCollection {
		return "GeometryCollection"
	}
	return "Geometry" + geometryNames[k]
}

// shapesOf are the kinds of geometries that a type allows; none: all.
func shapesOf(t *value.Type) []value.GeometryKind {
	if t.Kind == value.TypePoint {
		return []value.GeometryKind{value.GeometryPoint}
	}
	return t.Shapes
}

func (b *builder) geometry(t *value.Type) *shape {
	b.geometries()
	s := &shape{kind: shapeGeometry, name: "Geometry", input: "GeometryInput", typ: t}
	kinds := shapesOf(t)
	switch len(kinds) {
	case 0:
	case 1:
		s.name = geometryType(kinds[0])
		s.input = s.name + "Input"
	default:
		names := make([]string, len(kinds))
		for i, k := range kinds {
			names[i] = geometryType(k)
		}
		s.name = strings.Join(names, "_or_")
		b.unionOf(s.name, "A geometry which is one of: "+strings.Join(names, ", "), names)
	}
	return s
}

// geometries defines the types of geometries, once.
func (b *builder) geometries() {
	if b.hasGeometry {
		return
	}
	b.hasGeometry = true
	kind := &gast.Definition{Kind: gast.Enum, Name: "GeometryType",
		Description: "The kind of a geometry, as in GeoJSON"}
	var all []string
	for k, name := range geometryNames {
		kind.EnumValues = append(kind.EnumValues, &gast.EnumValueDefinition{Name: name})
		object := geometryType(value.GeometryKind(k))
		all = append(all, object)
		coordinates := &gast.FieldDefinition{Name: "coordinates", Type: must("JSON")}
		input := &gast.FieldDefinition{Name: "coordinates", Type: must("JSON")}
		if value.GeometryKind(k) == value.GeometryCollection {
			coordinates = &gast.FieldDefinition{Name: "geometries", Type: gast.NonNullListType(must("Geometry"), nil)}
			input = &gast.FieldDefinition{Name: "geometries", Type: gast.NonNullListType(must("GeometryInput"), nil)}
		}
		b.define(&gast.Definition{Kind: gast.Object, Name: object,
			Fields: gast.FieldList{{Name: "type", Type: must("GeometryType")}, coordinates}}, "")
		b.define(&gast.Definition{Kind: gast.InputObject, Name: object + "Input",
			Fields: gast.FieldList{{Name: "type", Type: may("GeometryType")}, input}}, "")
	}
	b.define(kind, "")
	b.define(&gast.Definition{Kind: gast.InputObject, Name: "GeometryInput", Fields: gast.FieldList{
		{Name: "type", Type: must("GeometryType")}, {Name: "coordinates", Type: may("JSON")},
		{Name: "geometries", Type: gast.ListType(must("GeometryInput"), nil)}}}, "")
	b.unionOf("Geometry", "Any geometry", all)
}

// must and may are named types that cannot and can be null.
func must(name string) *gast.Type { return gast.NonNullNamedType(name, nil) }
func may(name string) *gast.Type  { return gast.NamedType(name, nil) }

// geometry reads a geometry of one of some kinds; none: of any.
func (c *converter) geometry(v value.Value, kinds []value.GeometryKind) (value.Value, error) {
	if v.Kind() != value.KindObject {
		return value.None, resolving("Each item in 'geometries' must be a geometry object")
	}
	o := v.Object()
	name, given := o.Get("type")
	var kind value.GeometryKind
	switch {
	case given && name.Kind() != value.KindString:
		return value.None, resolving("Geometry 'type' must be a GeometryType enum value")
	case !given && len(kinds) != 1:
		return value.None,
			resolving("Geometry input must include a 'type' field when multiple geometry types are allowed")
	case !given:
		kind = kinds[0]
	default:
		at := -1
		for k, known := range geometryNames {
			if known == name.Str() {
				at = k
			}
		}
		if at < 0 {
			return value.None, resolving("Unknown geometry type: %s", name.Str())
		}
		kind = value.GeometryKind(at)
	}
	if err := allowed(kind, kinds); err != nil {
		return value.None, err
	}
	return c.geometryOf(o, kind)
}

func allowed(kind value.GeometryKind, kinds []value.GeometryKind) error {
	var names []string
	for _, k := range kinds {
		if k == kind {
			return nil
		}
		names = append(names, geometryNames[k])
	}
	if len(kinds) == 0 {
		return nil
	}
	return resolving("Geometry type '%s' is not allowed here; expected one of: %s", geometryNames[kind],
		strings.Join(names, ", "))
}

// coordinateForms describes the form of coordinates, by kind.
var coordinateForms = [...]string{"[lng, lat]", "[[lng, lat], ...]", "[[[lng, lat], ...], ...]", "[[lng, lat], ...]",
	"[[[lng, lat], ...], ...]", "[[[[lng, lat], ...], ...], ...]"}

func (c *converter) geometryOf(o *value.Object, kind value.GeometryKind) (value.Value, error) {
	name := geometryNames[kind]
	if kind == value.GeometryCollection {
		list, ok := o.Get("geometries")
		if !ok || list.Kind() != value.KindArray {
			return value.None, resolving("GeometryCollection requires 'geometries' field")
		}
		g := &value.Geometry{Kind: kind}
		for _, e := range list.Elems() {
			item, err := c.geometry(e, nil)
			if err != nil {
				return value.None, err
			}
			if item.Geometry().Kind == value.GeometryCollection {
				return value.None, resolving("A GeometryCollection cannot hold another one")
			}
			g.Items = append(g.Items, item.Geometry())
		}
		return value.GeometryOf(g), nil
	}
	at, ok := o.Get("coordinates")
	if !ok || at.IsNullish() {
		return value.None, resolving("%s requires 'coordinates' field", name)
	}
	g, ok := value.GeometryFromObject(value.NewObject(value.Field{Name: "type", Value: value.Str(name)},
		value.Field{Name: "coordinates", Value: at}))
	if !ok {
		return value.None, resolving("Invalid %s coordinates: expected %s", name, coordinateForms[kind])
	}
	return value.GeometryOf(g), nil
}
