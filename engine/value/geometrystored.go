package value

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"
)

// A geometry out of a stored record keeps its stored form until somebody asks for its points. Who asks whether it lies
// in another one, or meets it, needs them only where the boxes around the two come near to one another.

// encodedGeometry is the flag of a geometry that came in its stored form; the other bits are its kind.
const encodedGeometry = 0x80

// lazyGeometry is a geometry that came in its stored form. The value has the size of that.
type lazyGeometry struct {
	first *byte                    // of the stored form
	made  atomic.Pointer[Geometry] // once somebody asked for it
}

// storedGeometry is the geometry of a kind, no collection, at the front of b, which begins behind its tag, and its size
// there. False: it is not as putGeometry writes it.
func storedGeometry(kind GeometryKind, b []byte) (v Value, size int, ok bool) {
	rest := walkGeometry(b, kind, nil)
	if rest == nil {
		return None, 0, false
	}
	size = len(b) - len(rest)
	return Value{tag: tagWith(KindGeometry, encodedGeometry|uint8(kind), carried(overhead+uint64(size))),
		n: uint64(size),
		p: unsafe.Pointer(&lazyGeometry{first: unsafe.SliceData(b)})}, size, true
}

// stored returns the bytes behind the tag of a geometry; nil where it did not come in its stored form.
func (v Value) stored() []byte {
	if v.flag() == 0 {
		return nil
	}
	return unsafe.Slice((*lazyGeometry)(v.p).first, int(v.n))
}

// shape is the kind of a geometry.
func (v Value) shape() GeometryKind {
	if v.flag() == 0 {
		return (*Geometry)(v.p).Kind
	}
	return GeometryKind(v.flag() &^ encodedGeometry)
}

// decodeGeometry makes the geometry, once unless two goroutines come at the same time; both get equal ones.
func (v Value) decodeGeometry() *Geometry {
	l := (*lazyGeometry)(v.p)
	if g := l.made.Load(); g != nil {
		return g
	}
	g := makeGeometry(v.shape(), v.stored())
	l.made.Store(g)
	return g
}

// makeGeometry makes a geometry of its stored form.
func makeGeometry(kind GeometryKind, b []byte) *Geometry {
	if kind == GeometryPoint {
		return &Geometry{Point: pointAt(b)}
	}
	d := decoder{b: b, depth: storedDepth, stored: true}
	g, err := d.geometry(kind)
	if err != nil {
		panic(err)
	}
	return g
}

// pointAt reads a stored point.
func pointAt(b []byte) Point {
	be := binary.BigEndian
	return Point{math.Float64frombits(be.Uint64(b[2:])), math.Float64frombits(be.Uint64(b[11:]))}
}

// storedPoint is the size of a point behind its tag: [x, y].
const storedPoint = 1 + 2*(1+8)

// partKinds are the kinds of the parts that geometries have, each with a tag before it.
var partKinds = [...]GeometryKind{GeometryLine: GeometryPoint, GeometryPolygon: GeometryLine,
	GeometryMultiPoint: GeometryPoint,
	GeometryMultiLine:  GeometryLine, GeometryMultiPolygon: GeometryPolygon}

// walkGeometry walks over a geometry of a kind, no collection, that begins behind its tag, and adds its points to a
// box, if there is one. It gives what comes behind; nil where the geometry is not as putGeometry writes it.
func walkGeometry(b []byte, kind GeometryKind, to *box) []byte {
	if kind == GeometryPoint {
		if len(b) < storedPoint || b[0] != majorArray|2 || b[1] != cborFloat64 || b[10] != cborFloat64 {
			return nil
		}
		if to != nil {
			to.add(pointAt(b))
		}
		return b[storedPoint:]
	}
	n, rest := arrayHead(b)
	part := partKinds[kind]
	for ; rest != nil && n > 0; n-- {
		if len(rest) < 2 || rest[0] != majorTag|24 || rest[1] != tagPoint+byte(part) {
			return nil
		}
		ring := rest[2:]
		rest = walkGeometry(ring, part, to)
		if kind == GeometryPolygon && rest != nil && !isClosed(ring[:len(ring)-len(rest)]) {
			return nil
		}
	}
	return rest
}

// isClosed reports whether a stored line, behind its tag, ends where it begins.
func isClosed(line []byte) bool {
	_, points := arrayHead(line)
	return len(points) == 0 || bytes.Equal(points[2:2+storedPoint], points[len(points)-storedPoint:])
}

// arrayHead reads the shortest head of an array; nil where b does not begin with one.
func arrayHead(b []byte) (n uint64, rest []byte) {
	if len(b) == 0 || b[0]&0xe0 != majorArray {
		return 0, nil
	}
	size := 0
	switch n = uint64(b[0] & 0x1f); {
	case n < 24:
	case n <= 27:
		if size = 1 << (n - 24); len(b) <= size {
			return 0, nil
		}
		n = 0
		for _, c := range b[1 : 1+size] {
			n = n<<8 | uint64(c)
		}
	default:
		return 0, nil
	}
	if rest = b[1+size:]; headSize(n) != 1+size {
		return 0, nil
	}
	return n, rest
}

// headSize is the size of the shortest head with a number.
func headSize(n uint64) int {
	switch {
	case n < 24:
		return 1
	case n <= math.MaxUint8:
		return 2
	case n <= math.MaxUint16:
		return 3
	case n <= math.MaxUint32:
		return 5
	}
	return 9
}

// box is the least rectangle around points.
type box struct {
	min, max Point
	far      float64 // the largest coordinate, without sign
	wild     bool    // a coordinate is no number, or one that the predicates may not get right
}

// Between these the products of coordinates, and of their differences, are neither infinite nor 0.
const (
	farthest = 1e100
	nearest  = 1e-100
)

func newBox() box {
	inf := math.Inf(1)
	return box{min: Point{inf, inf}, max: Point{-inf, -inf}}
}

func (b *box) add(p Point) {
	b.min.X, b.max.X = min(b.min.X, p.X), max(b.max.X, p.X)
	b.min.Y, b.max.Y = min(b.min.Y, p.Y), max(b.max.Y, p.Y)
	x, y := math.Abs(p.X), math.Abs(p.Y)
	b.far = max(b.far, x, y)
	b.wild = b.wild || !(b.far < farthest) || x < nearest && x != 0 || y < nearest && y != 0
}

// box is the one around a geometry; false where none tells anything: the geometry is a collection, has no points or
// wild ones.
func (v Value) box() (b box, ok bool) {
	shape := v.shape()
	if shape == GeometryCollection {
		return b, false
	}
	if v.flag() != 0 && (*lazyGeometry)(v.p).made.Load() == nil {
		b = newBox()
		walkGeometry(v.stored(), shape, &b)
	} else {
		b = v.Geometry().box()
	}
	return b, !b.wild && b.min.X <= b.max.X
}

// box is the one around a geometry, which is no collection. It is kept: one geometry is compared with many.
func (g *Geometry) box() box {
	if g.Kind == GeometryPoint {
		b := newBox()
		b.add(g.Point)
		return b
	}
	known := (*box)(atomic.LoadPointer(&g.around))
	if known == nil {
		known = g.surround()
		atomic.StorePointer(&g.around, unsafe.Pointer(known))
	}
	return *known
}

// surround makes the box around a geometry with parts.
func (g *Geometry) surround() *box {
	b := newBox()
	line := func(points []Point) {
		for _, p := range points {
			b.add(p)
		}
	}
	line(g.Line)
	for _, r := range g.Rings {
		line(r)
	}
	for _, p := range g.Polys {
		for _, r := range p {
			line(r)
		}
	}
	return &b
}

// apart reports that two geometries share no point because their boxes are farther from one another than any rounding.
// False says nothing.
func apart(v, w Value) bool {
	a, ok := v.box()
	if !ok {
		return false
	}
	b, ok := w.box()
	if !ok {
		return false
	}
	return a.beyond(b)
}

// beyond reports that two boxes are farther from one another than any rounding.
func (a box) beyond(b box) bool {
	gap := 1e-9 * max(a.far, b.far)
	return a.max.X+gap < b.min.X || b.max.X+gap < a.min.X || a.max.Y+gap < b.min.Y || b.max.Y+gap < a.min.Y
}

// apartFrom is beyond for boxes of parts, which may be empty or hold what is no number: of those it says nothing.
func (a box) apartFrom(b box) bool {
	return !a.wild && !b.wild && a.min.X <= a.max.X && b.min.X <= b.max.X && a.beyond(b)
}
