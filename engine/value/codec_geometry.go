package value

// geometry reads the content of the tag of kind.
func (d *decoder) geometry(kind GeometryKind) (*Geometry, error) {
	g := &Geometry{Kind: kind}
	var err error
	switch kind {
	case GeometryPoint:
		g.Point, err = d.point()
	case GeometryLine, GeometryMultiPoint:
		g.Line, err = items(d, GeometryPoint, (*decoder).point)
	case GeometryPolygon:
		g.Rings, err = d.rings()
	case GeometryMultiLine:
		g.Rings, err = items(d, GeometryLine, (*decoder).line)
	case GeometryMultiPolygon:
		g.Polys, err = items(d, GeometryPolygon, (*decoder).rings)
	default:
		g.Items, err = items(d, GeometryCollection, (*decoder).anyGeometry)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// items reads an array whose elements carry the tag of kind (any geometry for a collection),
// each by read, which starts after the tag.
func items[T any](d *decoder, kind GeometryKind, read func(*decoder) (T, error)) ([]T, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	start := d.pos
	major, n, indef, err := d.head()
	if err != nil {
		return nil, err
	}
	if major != majorArray {
		d.pos = start
		return nil, d.fail("geometry is not an array")
	}
	reserve, err := d.room(n, 2)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, reserve)
	for i := uint64(0); indef || i < n; i++ {
		if indef && d.atBreak() {
			break
		}
		if err := d.one(); err != nil {
			return nil, err
		}
		if kind != GeometryCollection {
			if err := d.geometryTag(kind); err != nil {
				return nil, err
			}
		}
		item, err := read(d)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

func (d *decoder) geometryTag(kind GeometryKind) error {
	start := d.pos
	major, tag, _, err := d.head()
	if err != nil {
		return err
	}
	if major != majorTag || tag != tagPoint+uint64(kind) {
		d.pos = start
		return d.fail("wrong part in a geometry")
	}
	return nil
}

func (d *decoder) anyGeometry() (*Geometry, error) {
	start := d.pos
	major, tag, _, err := d.head()
	if err != nil {
		return nil, err
	}
	if major != majorTag || tag < tagPoint || tag > tagCollection {
		d.pos = start
		return nil, d.fail("wrong part in a geometry")
	}
	return d.geometry(GeometryKind(tag - tagPoint))
}

func (d *decoder) point() (Point, error) {
	const reason = "point is not [x, y]"
	indef, err := d.pair(reason)
	if err != nil {
		return Point{}, err
	}
	var p Point
	if p.X, err = d.number(); err != nil {
		return Point{}, err
	}
	if p.Y, err = d.number(); err != nil {
		return Point{}, err
	}
	return p, d.endPair(indef, reason)
}

// number reads any kind of number as a float.
func (d *decoder) number() (float64, error) {
	start := d.pos
	v, err := d.value()
	if err != nil {
		return 0, err
	}
	switch v.Kind() {
	case KindFloat:
		return v.Float(), nil
	case KindInt:
		return float64(v.Int()), nil
	case KindDecimal:
		return v.Decimal().Float(), nil
	default:
		d.pos = start
		return 0, d.fail("coordinate is not a number")
	}
}

func (d *decoder) line() ([]Point, error) { return items(d, GeometryPoint, (*decoder).point) }

// rings reads the rings of a polygon and closes those that are open.
func (d *decoder) rings() ([][]Point, error) {
	return items(d, GeometryLine, func(d *decoder) ([]Point, error) {
		ring, err := d.line()
		if n := len(ring); n > 0 && comparePoints(ring[0], ring[n-1]) != 0 {
			ring = append(ring, ring[0])
		}
		return ring, err
	})
}
