package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/value"
)

// appendGeometry appends the content of a Geometry message. The members of its oneof have the order of GeometryKind.
func appendGeometry(dst []byte, g *value.Geometry) []byte {
	dst, at := Open(dst, protowire.Number(g.Kind)+1)
	switch g.Kind {
	case value.GeometryPoint:
		dst = appendPoint(dst, g.Point)
	case value.GeometryLine, value.GeometryMultiPoint:
		dst = appendPoints(dst, g.Line)
	case value.GeometryPolygon:
		dst = appendRings(dst, g.Rings)
	case value.GeometryMultiLine:
		for _, line := range g.Rings {
			var in int
			dst, in = Open(dst, 1)
			dst = Seal(appendPoints(dst, line), in)
		}
	case value.GeometryMultiPolygon:
		for _, rings := range g.Polys {
			var in int
			dst, in = Open(dst, 1)
			dst = Seal(appendRings(dst, rings), in)
		}
	default:
		for _, item := range g.Items {
			var in int
			dst, in = Open(dst, 1)
			dst = Seal(appendGeometry(dst, item), in)
		}
	}
	return Seal(dst, at)
}

func appendPoint(dst []byte, p value.Point) []byte {
	for i, c := range [...]float64{p.X, p.Y} {
		if bits := math.Float64bits(c); bits != 0 {
			dst = protowire.AppendFixed64(protowire.AppendTag(dst, protowire.Number(i+1), protowire.Fixed64Type), bits)
		}
	}
	return dst
}

func appendPoints(dst []byte, points []value.Point) []byte {
	for _, p := range points {
		var at int
		dst, at = Open(dst, 1)
		dst = Seal(appendPoint(dst, p), at)
	}
	return dst
}

// appendRings appends the content of a Polygon message.
func appendRings(dst []byte, rings [][]value.Point) []byte {
	for i, ring := range rings {
		var at int
		dst, at = Open(dst, protowire.Number(min(i, 1)+1))
		dst = Seal(appendPoints(dst, ring), at)
	}
	return dst
}

func (d *decoder) geometry(b []byte, depth int) (*value.Geometry, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	var g *value.Geometry
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		kind := int(s.Num) - 1
		if s.B == nil || kind < int(value.GeometryPoint) || kind > int(value.GeometryCollection) {
			continue
		}
		g = &value.Geometry{Kind: value.GeometryKind(kind)}
		switch g.Kind {
		case value.GeometryPoint:
			g.Point, err = d.point(s.B, depth)
		case value.GeometryLine, value.GeometryMultiPoint:
			g.Line, err = d.points(s.B, depth)
		case value.GeometryPolygon:
			g.Rings, err = d.rings(s.B, depth)
		case value.GeometryMultiLine:
			g.Rings, err = items(d, s.B, depth, d.points)
		case value.GeometryMultiPolygon:
			g.Polys, err = items(d, s.B, depth, d.rings)
		default:
			g.Items, err = items(d, s.B, depth, d.geometry)
		}
		if err != nil {
			return nil, err
		}
	}
	if g == nil {
		return nil, refused("a geometry has no member")
	}
	return g, nil
}

// items reads the repeated field 1 of a message.
func items[T any](d *decoder, b []byte, depth int, read func(b []byte, depth int) (T, error)) ([]T, error) {
	n, err := count(b)
	if err != nil {
		return nil, err
	}
	if err := d.take(n); err != nil {
		return nil, err
	}
	out := make([]T, 0, n)
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return out, err
		}
		if s.Num != 1 || s.B == nil {
			continue
		}
		item, err := read(s.B, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
}

func (d *decoder) point(b []byte, _ int) (p value.Point, err error) {
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return p, err
		}
		if s.B != nil {
			continue
		}
		switch s.Num {
		case 1:
			p.X = math.Float64frombits(s.N)
		case 2:
			p.Y = math.Float64frombits(s.N)
		}
	}
}

func (d *decoder) points(b []byte, depth int) ([]value.Point, error) {
	return items(d, b, depth, d.point)
}

// rings reads a Polygon and closes the rings that are open.
func (d *decoder) rings(b []byte, depth int) ([][]value.Point, error) {
	if err := d.enter(depth); err != nil {
		return nil, err
	}
	var exterior []value.Point
	rings := make([][]value.Point, 1)
	for s := Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if s.B == nil || s.Num > 2 {
			continue
		}
		if err := d.take(1); err != nil {
			return nil, err
		}
		ring, err := d.points(s.B, depth)
		if err != nil {
			return nil, err
		}
		if n := len(ring); n > 0 && ring[0] != ring[n-1] {
			ring = append(ring, ring[0])
		}
		if s.Num == 1 {
			exterior = ring
		} else {
			rings = append(rings, ring)
		}
	}
	switch {
	case exterior != nil:
	case len(rings) == 1:
		return nil, nil // a polygon without any ring
	default:
		return nil, refused("a polygon has no exterior")
	}
	rings[0] = exterior
	return rings, nil
}
