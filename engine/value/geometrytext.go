package value

import (
	"math"
	"strconv"
)

// geoJSONNames are the type names of GeoJSON, by shape.
var geoJSONNames = [...]string{"Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon",
	"GeometryCollection"}

// shapeNames are the names of shapes inside geometry<…>.
var shapeNames = [...]string{"point", "line", "polygon", "multipoint", "multiline", "multipolygon", "collection"}

// GeoJSON is the type name of shape k: "Point", "LineString", …
func (k GeometryKind) GeoJSON() string { return geoJSONNames[k] }

// String is the name of shape k inside geometry<…>: "point", "line", …
func (k GeometryKind) String() string { return shapeNames[k] }

// appendText writes a point as (1, 2) and every other shape as its GeoJSON object. Coordinates have
// no float suffix.
func (g *Geometry) appendText(dst []byte) []byte {
	if g.Kind == GeometryPoint {
		dst = appendCoord(append(dst, '('), g.Point.X)
		dst = appendCoord(append(dst, ", "...), g.Point.Y)
		return append(dst, ')')
	}
	dst = append(append(append(dst, "{ type: '"...), g.Kind.GeoJSON()...), "', "...)
	if g.Kind == GeometryCollection {
		dst = append(dst, "geometries: ["...)
		for i, item := range g.Items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = item.appendText(dst)
		}
		return append(dst, "] }"...)
	}
	dst = append(dst, "coordinates: "...)
	switch g.Kind {
	case GeometryLine, GeometryMultiPoint:
		dst = appendLine(dst, g.Line)
	case GeometryPolygon, GeometryMultiLine:
		dst = appendRings(dst, g.Rings)
	default:
		dst = append(dst, '[')
		for i, p := range g.Polys {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendRings(dst, p)
		}
		dst = append(dst, ']')
	}
	return append(dst, " }"...)
}

func appendRings(dst []byte, rings [][]Point) []byte {
	dst = append(dst, '[')
	for i, r := range rings {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendLine(dst, r)
	}
	return append(dst, ']')
}

func appendLine(dst []byte, line []Point) []byte {
	dst = append(dst, '[')
	for i, p := range line {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendCoord(append(dst, '['), p.X)
		dst = appendCoord(append(dst, ", "...), p.Y)
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

func appendCoord(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}
