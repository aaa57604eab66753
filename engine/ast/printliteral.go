package ast

import (
	"math"

	"github.com/nacredb/nacre/engine/value"
)

// literal writes a constant. The numbers of geometries are floats here, and record ids name their tables as other names
// are written: the text is read back.
func (p *printer) literal(v value.Value) {
	switch v.Kind() {
	case value.KindGeometry:
		p.geometry(v.Geometry())
		return
	case value.KindRecord:
		if r := v.Record(); r.Key.Kind() != value.KindRange {
			p.ident(r.Table)
			p.byte(':')
			p.keyValue(r.Key)
			return
		}
	case value.KindArray:
		p.byte('[')
		list(p, v.Elems(), p.literal)
		p.byte(']')
		return
	case value.KindObject:
		if fields := v.Object().Fields(); len(fields) > 0 {
			p.str("{ ")
			list(p, fields, func(f value.Field) {
				p.buf = value.AppendKey(p.buf, f.Name)
				p.str(": ")
				p.literal(f.Value)
			})
			p.str(" }")
			return
		}
	}
	p.buf = v.AppendText(p.buf)
}

func (p *printer) keyValue(k value.Value) {
	if k.Kind() == value.KindString {
		p.buf = value.AppendRecordIdent(p.buf, k.Str())
		return
	}
	p.literal(k)
}

// geometry writes a point as (x, y) and every other shape as its object.
func (p *printer) geometry(g *value.Geometry) {
	if g.Kind == value.GeometryPoint {
		p.point(g.Point, '(', ')')
		return
	}
	p.str("{ type: '")
	p.str(g.Kind.GeoJSON())
	if g.Kind == value.GeometryCollection {
		p.str("', geometries: [")
		list(p, g.Items, p.geometry)
		p.str("] }")
		return
	}
	p.str("', coordinates: ")
	switch g.Kind {
	case value.GeometryLine, value.GeometryMultiPoint:
		p.line(g.Line)
	case value.GeometryPolygon, value.GeometryMultiLine:
		p.rings(g.Rings)
	default:
		p.byte('[')
		list(p, g.Polys, p.rings)
		p.byte(']')
	}
	p.str(" }")
}

func (p *printer) rings(rings [][]value.Point) {
	p.byte('[')
	list(p, rings, p.line)
	p.byte(']')
}

func (p *printer) line(points []value.Point) {
	p.byte('[')
	list(p, points, func(pt value.Point) { p.point(pt, '[', ']') })
	p.byte(']')
}

func (p *printer) point(pt value.Point, open, end byte) {
	p.byte(open)
	p.coordinate(pt.X)
	p.str(", ")
	p.coordinate(pt.Y)
	p.byte(end)
}

// coordinate writes a number of a geometry, where infinity has no name of its own.
func (p *printer) coordinate(f float64) {
	switch {
	case math.IsInf(f, 1):
		p.str("1e999f")
	case math.IsInf(f, -1):
		p.str("-1e999f")
	default:
		p.buf = value.Float(f).AppendText(p.buf)
	}
}
