package value

import (
	"slices"
	"sort"
)

// Relations of geometries in the plane, on exact coordinates. A line's boundary is its two ends
// (none if it is closed), a polygon's its rings; "contains" wants something of the interior.

// Contains reports whether g contains h: all of h lies in g, and some of it in g's interior.
// Of collections that holds for every item, as the reference has it: an empty one contains all, and lies in all.
func (g *Geometry) Contains(h *Geometry) bool {
	switch {
	case g.Kind == GeometryCollection:
		return all(g.Items, func(item *Geometry) bool { return item.Contains(h) })
	case h.Kind == GeometryCollection:
		return all(h.Items, g.Contains)
	}
	switch g.Kind {
	case GeometryPoint:
		return h.Kind == GeometryPoint && g.Point == h.Point
	case GeometryMultiPoint:
		switch h.Kind {
		case GeometryPoint:
			return slices.Contains(g.Line, h.Point)
		case GeometryMultiPoint: // one shared point is enough, as upstream
			return len(g.Line) == 0 && len(h.Line) == 0 ||
				slices.ContainsFunc(h.Line, func(p Point) bool { return slices.Contains(g.Line, p) })
		}
	case GeometryLine:
		return linesContain([][]Point{g.Line}, h)
	case GeometryMultiLine:
		return linesContain(g.Rings, h)
	case GeometryPolygon:
		return polygonContains(g.Rings, h)
	case GeometryMultiPolygon:
		return multiPolygonContains(g.Polys, h)
	}
	return false
}

func linesContain(lines [][]Point, h *Geometry) bool {
	one := func(f func(line []Point) bool) bool { return slices.ContainsFunc(lines, f) }
	holds := func(line []Point) bool {
		return one(func(l []Point) bool { return lineContainsLine(l, line) })
	}
	switch h.Kind {
	case GeometryPoint:
		return one(func(l []Point) bool { return lineContainsPoint(l, h.Point) })
	case GeometryLine:
		return holds(h.Line)
	case GeometryMultiLine:
		return all(h.Rings, holds)
	}
	return false
}

func polygonContains(rings [][]Point, h *Geometry) bool {
	switch h.Kind {
	case GeometryPoint:
		return pointInPolygon(h.Point, rings) == inside
	case GeometryLine:
		return polygonContainsLine(rings, h.Line)
	case GeometryPolygon:
		return polygonContainsPolygon(rings, h.Rings)
	case GeometryMultiPolygon:
		return all(h.Polys, func(p [][]Point) bool { return polygonContainsPolygon(rings, p) })
	}
	return false
}

func multiPolygonContains(polys [][][]Point, h *Geometry) bool {
	holds := func(part *Geometry) bool {
		return slices.ContainsFunc(polys, func(p [][]Point) bool { return polygonContains(p, part) })
	}
	return all(h.parts(), holds)
}

// Intersects reports whether g and h share a point; of collections, whether every item does.
func (g *Geometry) Intersects(h *Geometry) bool {
	switch {
	case g.Kind == GeometryCollection:
		return all(g.Items, func(item *Geometry) bool { return item.Intersects(h) })
	case h.Kind == GeometryCollection:
		return all(h.Items, g.Intersects)
	}
	hs := h.parts()
	return slices.ContainsFunc(g.parts(), func(a *Geometry) bool {
		return slices.ContainsFunc(hs, a.touches)
	})
}

// parts are the points, lines and polygons of g, which is no collection.
func (g *Geometry) parts() []*Geometry {
	var out []*Geometry
	switch g.Kind {
	case GeometryPoint, GeometryLine, GeometryPolygon:
		return []*Geometry{g}
	case GeometryMultiPoint:
		for _, p := range g.Line {
			out = append(out, &Geometry{Kind: GeometryPoint, Point: p})
		}
	case GeometryMultiLine:
		for _, l := range g.Rings {
			out = append(out, &Geometry{Kind: GeometryLine, Line: l})
		}
	case GeometryMultiPolygon:
		for _, p := range g.Polys {
			out = append(out, &Geometry{Kind: GeometryPolygon, Rings: p})
		}
	}
	return out
}

// touches is Intersects for single points, lines and polygons.
func (g *Geometry) touches(h *Geometry) bool {
	if g.Kind > h.Kind {
		g, h = h, g
	}
	switch {
	case h.Kind == GeometryPoint:
		return g.Point == h.Point
	case g.Kind == GeometryPoint && h.Kind == GeometryLine:
		return pointOnLine(g.Point, h.Line)
	case g.Kind == GeometryPoint:
		return pointInPolygon(g.Point, h.Rings) != outside
	case h.Kind == GeometryLine:
		return linesCross(g.Line, h.Line)
	case g.Kind == GeometryLine:
		return lineMeetsPolygon(g.Line, h.Rings)
	}
	return slices.ContainsFunc(g.Rings, func(r []Point) bool { return lineMeetsPolygon(r, h.Rings) }) ||
		slices.ContainsFunc(h.Rings, func(r []Point) bool { return lineMeetsPolygon(r, g.Rings) })
}

func lineMeetsPolygon(line []Point, rings [][]Point) bool {
	return len(line) > 0 && pointInPolygon(line[0], rings) != outside ||
		slices.ContainsFunc(rings, func(r []Point) bool { return linesCross(line, r) })
}

// position says where a point lies with respect to a polygon.
type position int8

const (
	outside position = iota
	boundary
	inside
)

func pointInPolygon(p Point, rings [][]Point) position {
	if len(rings) == 0 {
		return outside
	}
	if at := pointInRing(p, rings[0]); at != inside {
		return at
	}
	for _, hole := range rings[1:] {
		switch pointInRing(p, hole) {
		case inside:
			return outside
		case boundary:
			return boundary
		}
	}
	return inside
}

// pointInRing counts the edges to the right of p.
func pointInRing(p Point, ring []Point) position {
	odd := false
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		if pointOnSegment(p, a, b) {
			return boundary
		}
		if (a.Y > p.Y) != (b.Y > p.Y) && (cross(a, b, p) > 0) == (b.Y > a.Y) {
			odd = !odd
		}
	}
	if odd {
		return inside
	}
	return outside
}

// cross is positive if c lies left of the way from a to b.
func cross(a, b, c Point) float64 { return (b.X-a.X)*(c.Y-a.Y) - (b.Y-a.Y)*(c.X-a.X) }

func pointOnSegment(p, a, b Point) bool {
	return cross(a, b, p) == 0 &&
		min(a.X, b.X) <= p.X && p.X <= max(a.X, b.X) && min(a.Y, b.Y) <= p.Y && p.Y <= max(a.Y, b.Y)
}

func pointOnLine(p Point, line []Point) bool {
	if len(line) == 1 {
		return p == line[0]
	}
	return anySegment(line, func(a, b Point) bool { return pointOnSegment(p, a, b) })
}

func lineContainsPoint(line []Point, p Point) bool {
	if len(line) == 0 || !pointOnLine(p, line) {
		return false
	}
	first, last := line[0], line[len(line)-1]
	return first == last || p != first && p != last
}

// lineContainsLine reports whether every segment of inner is covered by segments of outer.
func lineContainsLine(outer, inner []Point) bool {
	if p, ok := degenerate(inner); ok {
		return lineContainsPoint(outer, p)
	}
	return len(inner) > 0 && !anySegment(inner, func(a, b Point) bool { return a != b && !lineCovers(outer, a, b) })
}

// degenerate reports whether all points of line are one.
func degenerate(line []Point) (Point, bool) {
	for _, p := range line {
		if p != line[0] {
			return Point{}, false
		}
	}
	if len(line) == 0 {
		return Point{}, false
	}
	return line[0], true
}

// lineCovers reports whether the segment a–b lies on line.
func lineCovers(line []Point, a, b Point) bool {
	type span struct{ from, to float64 }
	var spans []span
	anySegment(line, func(c, d Point) bool {
		if cross(a, b, c) == 0 && cross(a, b, d) == 0 {
			s, t := along(a, b, c), along(a, b, d)
			spans = append(spans, span{min(s, t), max(s, t)})
		}
		return false
	})
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	covered := 0.0
	for _, s := range spans {
		if s.from > covered {
			return false
		}
		covered = max(covered, s.to)
	}
	return covered >= 1 && len(spans) > 0
}

// along is where p of the line a–b lies: 0 at a, 1 at b.
func along(a, b, p Point) float64 {
	if dx, dy := b.X-a.X, b.Y-a.Y; dx*dx >= dy*dy {
		return (p.X - a.X) / dx
	} else {
		return (p.Y - a.Y) / dy
	}
}

// polygonContainsLine walks the pieces into which the rings cut the line.
func polygonContainsLine(rings [][]Point, line []Point) bool {
	if p, ok := degenerate(line); ok {
		return pointInPolygon(p, rings) == inside
	}
	interior := false
	out := anySegment(line, func(a, b Point) bool {
		return anyPiece(a, b, rings, func(mid Point) bool {
			at := pointInPolygon(mid, rings)
			interior = interior || at == inside
			return at == outside
		})
	})
	return !out && interior
}

// polygonContainsPolygon: no edge of inner leaves outer, no hole of outer opens inside inner, and an
// interior point of inner is one of outer.
func polygonContainsPolygon(outer, inner [][]Point) bool {
	p, ok := interiorPoint(inner)
	if !ok || pointInPolygon(p, outer) != inside {
		return false
	}
	for _, ring := range inner {
		if anySegment(ring, func(a, b Point) bool {
			return anyPiece(a, b, outer, func(mid Point) bool { return pointInPolygon(mid, outer) == outside })
		}) {
			return false
		}
	}
	for _, hole := range outer[1:] {
		if anySegment(hole, func(a, b Point) bool {
			return anyPiece(a, b, inner, func(mid Point) bool { return pointInPolygon(mid, inner) == inside })
		}) {
			return false
		}
	}
	return true
}

// anyPiece cuts the segment a–b where rings meet it and asks f about the middle of each piece.
func anyPiece(a, b Point, rings [][]Point, f func(mid Point) bool) bool {
	if a == b {
		return false
	}
	cuts := []float64{0, 1}
	for _, r := range rings {
		anySegment(r, func(c, d Point) bool {
			cuts = appendCuts(cuts, a, b, c, d)
			return false
		})
	}
	slices.Sort(cuts)
	for i := 1; i < len(cuts); i++ {
		if cuts[i] > cuts[i-1] {
			t := (cuts[i] + cuts[i-1]) / 2
			if f(Point{a.X + (b.X-a.X)*t, a.Y + (b.Y-a.Y)*t}) {
				return true
			}
		}
	}
	return false
}

// appendCuts adds where on a–b the segment c–d meets it.
func appendCuts(cuts []float64, a, b, c, d Point) []float64 {
	add := func(t float64) {
		if t > 0 && t < 1 {
			cuts = append(cuts, t)
		}
	}
	s, t := cross(a, b, c), cross(a, b, d)
	switch {
	case s == 0 && t == 0:
		add(along(a, b, c))
		add(along(a, b, d))
	case s == 0:
		add(along(a, b, c))
	case t == 0:
		add(along(a, b, d))
	case (s > 0) != (t > 0):
		u, v := cross(c, d, a), cross(c, d, b)
		if u != v {
			add(u / (u - v))
		}
	}
	return cuts
}

// interiorPoint finds a point inside a polygon on a horizontal line between two of its vertices.
func interiorPoint(rings [][]Point) (Point, bool) {
	var ys []float64
	for _, r := range rings {
		for _, p := range r {
			ys = append(ys, p.Y)
		}
	}
	slices.Sort(ys)
	ys = slices.Compact(ys)
	for i := 1; i < len(ys); i++ {
		y := (ys[i-1] + ys[i]) / 2
		var xs []float64
		for _, r := range rings {
			anySegment(r, func(a, b Point) bool {
				if (a.Y > y) != (b.Y > y) {
					xs = append(xs, a.X+(y-a.Y)/(b.Y-a.Y)*(b.X-a.X))
				}
				return false
			})
		}
		slices.Sort(xs)
		for j := 1; j < len(xs); j += 2 {
			if p := (Point{(xs[j-1] + xs[j]) / 2, y}); pointInPolygon(p, rings) == inside {
				return p, true
			}
		}
	}
	return Point{}, false
}

func linesCross(a, b []Point) bool {
	if len(a) == 1 {
		return pointOnLine(a[0], b)
	}
	if len(b) == 1 {
		return pointOnLine(b[0], a)
	}
	return anySegment(a, func(p, q Point) bool {
		return anySegment(b, func(r, s Point) bool { return segmentsMeet(p, q, r, s) })
	})
}

func segmentsMeet(p, q, r, s Point) bool {
	d1, d2 := cross(p, q, r), cross(p, q, s)
	d3, d4 := cross(r, s, p), cross(r, s, q)
	if (d1 > 0 && d2 < 0 || d1 < 0 && d2 > 0) && (d3 > 0 && d4 < 0 || d3 < 0 && d4 > 0) {
		return true
	}
	return pointOnSegment(r, p, q) || pointOnSegment(s, p, q) || pointOnSegment(p, r, s) || pointOnSegment(q, r, s)
}

func anySegment(line []Point, f func(a, b Point) bool) bool {
	for i := 1; i < len(line); i++ {
		if f(line[i-1], line[i]) {
			return true
		}
	}
	return false
}

func all[T any](items []T, f func(T) bool) bool {
	return !slices.ContainsFunc(items, func(it T) bool { return !f(it) })
}
