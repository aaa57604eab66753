package value

import (
	"slices"
	"sort"
)

// Relations of geometries in the plane, on exact coordinates. A line's boundary is its two ends
// (none if it is closed), a polygon's its rings; "contains" wants something of the interior.

// Relation answers the operators of containment. Those of geometries may take long: the product of the vertices of
// both. It asks poll from time to time whether to go on. When it says no, what is answered means nothing,
// and Err is set. A nil Relation never asks.
type Relation struct {
	poll func() error
	work int // since poll was asked
	err  error
}

// NewRelation makes a Relation that asks poll.
func NewRelation(poll func() error) *Relation { return &Relation{poll: poll} }

// Err returns the error with which poll ended the work.
func (rel *Relation) Err() error { return rel.err }

// relationPoll is how many edges are looked at between two questions.
const relationPoll = 1 << 16

// did counts n edges that are looked at, and reports whether the work is ended.
func (rel *Relation) did(n int) bool {
	if rel == nil {
		return false
	}
	if rel.work += n + 1; rel.work >= relationPoll && rel.err == nil && rel.poll != nil {
		rel.work = 0
		rel.err = rel.poll()
	}
	return rel.err != nil
}

// ended reports whether poll has said no.
func (rel *Relation) ended() bool { return rel != nil && rel.err != nil }

// contains reports whether g contains h: all of h lies in g, and some of it in g's interior.
// Of collections that holds for every item, as the reference has it: an empty one contains all, and lies in all.
func (rel *Relation) contains(g, h *Geometry) bool {
	if rel.did(0) {
		return false
	}
	switch {
	case g.Kind == GeometryCollection:
		return all(g.Items, func(item *Geometry) bool { return rel.contains(item, h) })
	case h.Kind == GeometryCollection:
		return all(h.Items, func(item *Geometry) bool { return rel.contains(g, item) })
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
				slices.ContainsFunc(h.Line,
					func(p Point) bool { return !rel.did(len(g.Line)) && slices.Contains(g.Line, p) })
		}
	case GeometryLine:
		return rel.linesContain([][]Point{g.Line}, h)
	case GeometryMultiLine:
		return rel.linesContain(g.Rings, h)
	case GeometryPolygon:
		return rel.polygonContains(g.Rings, h)
	case GeometryMultiPolygon:
		return rel.multiPolygonContains(g.Polys, h)
	}
	return false
}

func (rel *Relation) linesContain(lines [][]Point, h *Geometry) bool {
	one := func(f func(line []Point) bool) bool { return slices.ContainsFunc(lines, f) }
	holds := func(line []Point) bool {
		return one(func(l []Point) bool { return rel.lineContainsLine(l, line) })
	}
	switch h.Kind {
	case GeometryPoint:
		return one(func(l []Point) bool { return rel.lineContainsPoint(l, h.Point) })
	case GeometryLine:
		return holds(h.Line)
	case GeometryMultiLine:
		return all(h.Rings, holds)
	}
	return false
}

func (rel *Relation) polygonContains(rings [][]Point, h *Geometry) bool {
	switch h.Kind {
	case GeometryPoint:
		return rel.pointInPolygon(h.Point, rings) == inside
	case GeometryLine:
		return rel.polygonContainsLine(rings, h.Line)
	case GeometryPolygon:
		return rel.polygonContainsPolygon(rings, h.Rings)
	case GeometryMultiPolygon:
		return all(h.Polys, func(p [][]Point) bool { return rel.polygonContainsPolygon(rings, p) })
	}
	return false
}

func (rel *Relation) multiPolygonContains(polys [][][]Point, h *Geometry) bool {
	boxes := make([]box, len(polys))
	for i, p := range polys {
		boxes[i] = (&Geometry{Kind: GeometryPolygon, Rings: p}).box()
	}
	return all(h.parts(), func(part *Geometry) bool {
		around := part.box()
		rel.did(len(polys))
		for i, p := range polys {
			if rel.ended() {
				return false
			}
			if !boxes[i].apartFrom(around) && rel.polygonContains(p, part) {
				return true
			}
		}
		return false
	})
}

// intersects reports whether g and h share a point; of collections, whether every item does.
func (rel *Relation) intersects(g, h *Geometry) bool {
	if rel.did(0) {
		return false
	}
	switch {
	case g.Kind == GeometryCollection:
		return all(g.Items, func(item *Geometry) bool { return rel.intersects(item, h) })
	case h.Kind == GeometryCollection:
		return all(h.Items, func(item *Geometry) bool { return rel.intersects(g, item) })
	}
	hs := h.parts()
	return slices.ContainsFunc(g.parts(), func(a *Geometry) bool {
		around := a.box()
		rel.did(len(hs))
		return slices.ContainsFunc(hs, func(b *Geometry) bool {
			return rel.ended() || !around.apartFrom(b.box()) && rel.touches(a, b)
		})
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
func (rel *Relation) touches(g, h *Geometry) bool {
	if g.Kind > h.Kind {
		g, h = h, g
	}
	switch {
	case h.Kind == GeometryPoint:
		return g.Point == h.Point
	case g.Kind == GeometryPoint && h.Kind == GeometryLine:
		return rel.pointOnLine(g.Point, h.Line)
	case g.Kind == GeometryPoint:
		return rel.pointInPolygon(g.Point, h.Rings) != outside
	case h.Kind == GeometryLine:
		return rel.linesCross(g.Line, h.Line)
	case g.Kind == GeometryLine:
		return rel.lineMeetsPolygon(g.Line, h.Rings)
	}
	return slices.ContainsFunc(g.Rings, func(r []Point) bool { return rel.lineMeetsPolygon(r, h.Rings) }) ||
		slices.ContainsFunc(h.Rings, func(r []Point) bool { return rel.lineMeetsPolygon(r, g.Rings) })
}

func (rel *Relation) lineMeetsPolygon(line []Point, rings [][]Point) bool {
	return len(line) > 0 && rel.pointInPolygon(line[0], rings) != outside ||
		slices.ContainsFunc(rings, func(r []Point) bool { return rel.linesCross(line, r) })
}

// position says where a point lies with respect to a polygon.
type position int8

const (
	outside position = iota
	boundary
	inside
)

func (rel *Relation) pointInPolygon(p Point, rings [][]Point) position {
	if len(rings) == 0 {
		return outside
	}
	if at := rel.pointInRing(p, rings[0]); at != inside {
		return at
	}
	for _, hole := range rings[1:] {
		switch rel.pointInRing(p, hole) {
		case inside:
			return outside
		case boundary:
			return boundary
		}
	}
	return inside
}

// pointInRing counts the edges to the right of p.
func (rel *Relation) pointInRing(p Point, ring []Point) position {
	odd := false
	if rel.did(len(ring)) {
		return outside
	}
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

func (rel *Relation) pointOnLine(p Point, line []Point) bool {
	if len(line) == 1 {
		return p == line[0]
	}
	return rel.anySegment(line, func(a, b Point) bool { return pointOnSegment(p, a, b) })
}

func (rel *Relation) lineContainsPoint(line []Point, p Point) bool {
	if len(line) == 0 || !rel.pointOnLine(p, line) {
		return false
	}
	first, last := line[0], line[len(line)-1]
	return first == last || p != first && p != last
}

// lineContainsLine reports whether every segment of inner is covered by segments of outer.
func (rel *Relation) lineContainsLine(outer, inner []Point) bool {
	if p, ok := degenerate(inner); ok {
		return rel.lineContainsPoint(outer, p)
	}
	return len(inner) > 0 &&
		!rel.anySegment(inner, func(a, b Point) bool { return a != b && !rel.lineCovers(outer, a, b) })
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
func (rel *Relation) lineCovers(line []Point, a, b Point) bool {
	type span struct{ from, to float64 }
	var spans []span
	rel.anySegment(line, func(c, d Point) bool {
		if cross(a, b, c) == 0 && cross(a, b, d) == 0 {
			s, t := along(a, b, c), along(a, b, d)
			spans = append(spans, span{min(s, t), max(s, t)})
		}
		return false
	})
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	covered := 0.0
	for _, s := range spans {
		if covered >= 1 || s.from > covered {
			break
		}
		covered = max(covered, s.to)
	}
	return covered >= 1
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
func (rel *Relation) polygonContainsLine(rings [][]Point, line []Point) bool {
	if p, ok := degenerate(line); ok {
		return rel.pointInPolygon(p, rings) == inside
	}
	interior := false
	out := rel.anySegment(line, func(a, b Point) bool {
		return rel.anyPiece(a, b, rings, func(mid Point) bool {
			at := rel.pointInPolygon(mid, rings)
			interior = interior || at == inside
			return at == outside
		})
	})
	return !out && interior
}

// polygonContainsPolygon: no edge of inner leaves outer, no hole of outer opens inside inner, and an
// interior point of inner is one of outer.
func (rel *Relation) polygonContainsPolygon(outer, inner [][]Point) bool {
	p, ok := rel.interiorPoint(inner)
	if !ok || rel.pointInPolygon(p, outer) != inside {
		return false
	}
	for _, ring := range inner {
		if rel.anySegment(ring, func(a, b Point) bool {
			return rel.anyPiece(a, b, outer, func(mid Point) bool { return rel.pointInPolygon(mid, outer) == outside })
		}) {
			return false
		}
	}
	for _, hole := range outer[1:] {
		if rel.anySegment(hole, func(a, b Point) bool {
			return rel.anyPiece(a, b, inner, func(mid Point) bool { return rel.pointInPolygon(mid, inner) == inside })
		}) {
			return false
		}
	}
	return true
}

// anyPiece cuts the segment a–b where rings meet it and asks f about the middle of each piece.
func (rel *Relation) anyPiece(a, b Point, rings [][]Point, f func(mid Point) bool) bool {
	if a == b {
		return false
	}
	cuts := []float64{0, 1}
	for _, r := range rings {
		rel.anySegment(r, func(c, d Point) bool {
			cuts = appendCuts(cuts, a, b, c, d)
			return false
		})
	}
	slices.Sort(cuts)
	for i := 1; i < len(cuts) && !rel.ended(); i++ {
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
func (rel *Relation) interiorPoint(rings [][]Point) (Point, bool) {
	var ys []float64
	for _, r := range rings {
		for _, p := range r {
			ys = append(ys, p.Y)
		}
	}
	slices.Sort(ys)
	ys = slices.Compact(ys)
	for i := 1; i < len(ys) && !rel.ended(); i++ {
		y := (ys[i-1] + ys[i]) / 2
		var xs []float64
		for _, r := range rings {
			rel.anySegment(r, func(a, b Point) bool {
				if (a.Y > y) != (b.Y > y) {
					xs = append(xs, a.X+(y-a.Y)/(b.Y-a.Y)*(b.X-a.X))
				}
				return false
			})
		}
		slices.Sort(xs)
		for j := 1; j < len(xs) && !rel.ended(); j += 2 {
			if p := (Point{(xs[j-1] + xs[j]) / 2, y}); rel.pointInPolygon(p, rings) == inside {
				return p, true
			}
		}
	}
	return Point{}, false
}

func (rel *Relation) linesCross(a, b []Point) bool {
	if len(a) == 1 {
		return rel.pointOnLine(a[0], b)
	}
	if len(b) == 1 {
		return rel.pointOnLine(b[0], a)
	}
	return rel.anySegment(a, func(p, q Point) bool {
		return rel.anySegment(b, func(r, s Point) bool { return segmentsMeet(p, q, r, s) })
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

func (rel *Relation) anySegment(line []Point, f func(a, b Point) bool) bool {
	if rel.did(len(line)) {
		return true
	}
	for i := 1; i < len(line); i++ {
		if f(line[i-1], line[i]) || rel.ended() {
			return true
		}
	}
	return false
}

func all[T any](items []T, f func(T) bool) bool {
	return !slices.ContainsFunc(items, func(it T) bool { return !f(it) })
}

// Contains is Relation.Contains without a question: g contains h.
func (g *Geometry) Contains(h *Geometry) bool { return (*Relation)(nil).contains(g, h) }

// Intersects is Relation.Intersects without a question: g and h share a point.
func (g *Geometry) Intersects(h *Geometry) bool { return (*Relation)(nil).intersects(g, h) }
