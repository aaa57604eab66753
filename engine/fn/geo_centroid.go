package fn

import (
	"math"

	"github.com/nacredb/nacre/engine/value"
)

func geoCentroid(_ Call, args []value.Value) (value.Value, error) {
	var m mass
	m.geometry(args[0].Geometry())
	if m.weight == 0 {
		return value.None, nil
	}
	return value.GeometryOf(&value.Geometry{Point: value.Point{X: m.x / m.weight, Y: m.y / m.weight}}), nil
}

// mass sums up weighted points. Only parts of the highest dimension count: areas before lines before points.
type mass struct {
	dimension    int
	x, y, weight float64
}

func (m *mass) add(dimension int, p value.Point, weight float64) {
	if dimension < m.dimension {
		return
	}
	if dimension > m.dimension {
		*m = mass{dimension: dimension}
	}
	m.x += p.X * weight
	m.y += p.Y * weight
	m.weight += weight
}

func (m *mass) geometry(g *value.Geometry) {
	switch g.Kind {
	case value.GeometryPoint:
		m.add(0, g.Point, 1)
	case value.GeometryMultiPoint:
		for _, p := range g.Line {
			m.add(0, p, 1)
		}
	case value.GeometryLine:
		m.line(g.Line)
	case value.GeometryMultiLine:
		for _, line := range g.Rings {
			m.line(line)
		}
	case value.GeometryPolygon:
		m.polygon(g.Rings)
	case value.GeometryMultiPolygon:
		for _, rings := range g.Polys {
			m.polygon(rings)
		}
	case value.GeometryCollection:
		for _, item := range g.Items {
			m.geometry(item)
		}
	}
}

// line counts each segment at its middle with its length; a line without length counts as a point.
func (m *mass) line(line []value.Point) {
	total := 0.0
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		if l := math.Hypot(b.X-a.X, b.Y-a.Y); l > 0 {
			total += l
			m.add(1, value.Point{X: (a.X + b.X) / 2, Y: (a.Y + b.Y) / 2}, l)
		}
	}
	if total == 0 && len(line) > 0 {
		m.add(0, line[0], 1)
	}
}

// polygon counts the outer ring's area less those of the holes; a polygon without area counts as its outline.
func (m *mass) polygon(rings [][]value.Point) {
	if len(rings) == 0 {
		return
	}
	if planarArea(rings[0]) == 0 {
		m.line(rings[0])
		return
	}
	for i, ring := range rings {
		sign := 1.0
		if i > 0 {
			sign = -1
		}
		if a := planarArea(ring); a != 0 {
			m.add(2, ringCentre(ring, a), sign*math.Abs(a))
		}
	}
}

// planarArea is the signed area of a ring in square degrees, by coordinates relative to its first point.
func planarArea(ring []value.Point) float64 {
	sum := 0.0
	for i := 1; i < len(ring); i++ {
		sum += cross(ring[0], ring[i-1], ring[i])
	}
	return sum / 2
}

func cross(origin, a, b value.Point) float64 {
	return (a.X-origin.X)*(b.Y-origin.Y) - (b.X-origin.X)*(a.Y-origin.Y)
}

func ringCentre(ring []value.Point, area float64) value.Point {
	var x, y float64
	o := ring[0]
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		w := cross(o, a, b)
		x += (a.X + b.X - 2*o.X) * w
		y += (a.Y + b.Y - 2*o.Y) * w
	}
	return value.Point{X: o.X + x/(6*area), Y: o.Y + y/(6*area)}
}
