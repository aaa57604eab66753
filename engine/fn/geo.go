package fn

import (
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/real"
	"github.com/nacredb/nacre/engine/value"
)

func geoFuncs() []entry {
	return methodsOn(kindSet(value.KindGeometry), []entry{
		{sig: "geo::area(shape: geometry) -> float", impl: geoArea, doc: "The area on the globe in square metres."},
		{sig: "geo::bearing(a: geometry, b: geometry) -> option<float>", impl: onPoints(bearing),
			doc: "The initial bearing between two points in degrees, -180 to 180; NONE for other shapes."},
		{sig: "geo::centroid(shape: geometry) -> option<point>", impl: geoCentroid, doc: "The centre of mass."},
		{sig: "geo::distance(a: geometry, b: geometry) -> option<float>", impl: onPoints(haversine),
			doc: "The distance between two points along the globe in metres; NONE for other shapes."},
		{sig: "geo::hash::decode(hash: any) -> option<point>", impl: geoHashDecode,
			doc: "The middle of the cell that a geohash names."},
		{sig: "geo::hash::encode(point: geometry, precision?: int) -> option<string>", impl: geoHashEncode,
			doc: "The geohash of a point in 1 to 12 characters, 12 by default."},
		{sig: "geo::is_valid(shape: geometry) -> bool", impl: geoIsValid,
			doc: "Whether all coordinates are on the globe."},
	})
}

const (
	earthRadius   = 6371008.8 // mean, metres
	earthEquator  = 6378137.0 // of WGS84, metres
	hashAlphabet  = "0123456789bcdefghjkmnpqrstuvwxyz"
	hashPrecision = 12
)

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

// onPoints makes an Impl of a function of two points; other shapes give NONE.
func onPoints(f func(a, b value.Point) float64) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		a, b := args[0].Geometry(), args[1].Geometry()
		if a.Kind != value.GeometryPoint || b.Kind != value.GeometryPoint {
			return value.None, nil
		}
		return value.Float(f(a.Point, b.Point)), nil
	}
}

func haversine(a, b value.Point) float64 {
	latA, latB := radians(a.Y), radians(b.Y)
	sinLat, sinLon := real.Sin(radians(b.Y-a.Y)/2), real.Sin(radians(b.X-a.X)/2)
	h := float64(sinLat*sinLat) + float64(real.Cos(latA)*real.Cos(latB)*float64(sinLon*sinLon))
	return earthRadius * (2 * real.Asin(math.Min(1, math.Sqrt(h))))
}

func bearing(a, b value.Point) float64 {
	latA, latB, dLon := radians(a.Y), radians(b.Y), radians(b.X)-radians(a.X)
	sinA, cosA := real.Sin(latA), real.Cos(latA)
	sinB, cosB := real.Sin(latB), real.Cos(latB)
	y := float64(real.Sin(dLon) * cosB)
	x := float64(cosA*sinB) - float64(float64(sinA*cosB)*real.Cos(dLon))
	// The detour through 0 to 360 costs digits, and shows.
	d := math.Mod(rad2deg(real.Atan2(y, x))+360, 360)
	if d > 180 {
		d -= 360
	}
	return d
}

func geoArea(_ Call, args []value.Value) (value.Value, error) {
	return value.Float(area(args[0].Geometry())), nil
}

func area(g *value.Geometry) float64 {
	sum := 0.0
	switch g.Kind {
	case value.GeometryPolygon:
		return polygonArea(g.Rings)
	case value.GeometryMultiPolygon:
		for _, rings := range g.Polys {
			sum += polygonArea(rings)
		}
	case value.GeometryCollection:
		for _, item := range g.Items {
			sum += area(item)
		}
	}
	return sum
}

func polygonArea(rings [][]value.Point) float64 {
	sum := 0.0
	for i, ring := range rings {
		a := math.Abs(ringArea(ring))
		if i > 0 {
			a = -a
		}
		sum += a
	}
	return sum
}

// ringArea is the signed area inside a ring on a sphere, by the formula of Chamberlain and Duquette.
func ringArea(ring []value.Point) float64 {
	n := len(ring) - 1 // the last point is the first
	if n < 3 {
		return 0
	}
	// The closing point counts as a point of its own: it adds little to the sum, but the order of additions shows.
	total := 0.0
	for i := range ring {
		at, after := ring[(i+1)%len(ring)], ring[(i+2)%len(ring)]
		total += float64((radians(after.X) - radians(ring[i].X)) * real.Sin(radians(at.Y)))
	}
	return total * earthEquator * earthEquator / -2
}

func geoIsValid(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(onGlobe(args[0].Geometry())), nil
}

func onGlobe(g *value.Geometry) bool {
	ok := true
	eachPoint(g, func(p value.Point) {
		ok = ok && p.X >= -180 && p.X <= 180 && p.Y >= -90 && p.Y <= 90
	})
	return ok
}

func eachPoint(g *value.Geometry, f func(value.Point)) {
	lines := func(ls ...[]value.Point) {
		for _, l := range ls {
			for _, p := range l {
				f(p)
			}
		}
	}
	switch g.Kind {
	case value.GeometryPoint:
		f(g.Point)
	case value.GeometryLine, value.GeometryMultiPoint:
		lines(g.Line)
	case value.GeometryPolygon, value.GeometryMultiLine:
		lines(g.Rings...)
	case value.GeometryMultiPolygon:
		for _, rings := range g.Polys {
			lines(rings...)
		}
	case value.GeometryCollection:
		for _, item := range g.Items {
			eachPoint(item, f)
		}
	}
}

func geoHashEncode(c Call, args []value.Value) (value.Value, error) {
	precision := int64(hashPrecision)
	if len(args) == 2 {
		precision = args[1].Int()
	}
	if precision < 1 || precision > hashPrecision {
		named := "function geo::encode"
		if c.Method != nil {
			named = "method " + c.Method.Name
		}
		return value.None, errs.Internal("Incorrect arguments for %s(). The second argument must be an integer greater than 0 and less than or equal to 12.", named)
	}
	g := args[0].Geometry()
	if g.Kind != value.GeometryPoint {
		return value.None, nil
	}
	return value.Str(geohash(g.Point, int(precision))), nil
}

// geohash halves the ranges of longitude and latitude in turn; a point on the middle line is in the lower half.
func geohash(p value.Point, precision int) string {
	low, high := value.Point{X: -180, Y: -90}, value.Point{X: 180, Y: 90}
	out := make([]byte, precision)
	lon := true
	for i := range out {
		index := 0
		for range 5 {
			at, lo, hi := p.Y, &low.Y, &high.Y
			if lon {
				at, lo, hi = p.X, &low.X, &high.X
			}
			index <<= 1
			if mid := (*lo + *hi) / 2; at > mid {
				index |= 1
				*lo = mid
			} else {
				*hi = mid
			}
			lon = !lon
		}
		out[i] = hashAlphabet[index]
	}
	return string(out)
}

func geoHashDecode(_ Call, args []value.Value) (value.Value, error) {
	if args[0].Kind() != value.KindString {
		return value.None, nil
	}
	low, high := value.Point{X: -180, Y: -90}, value.Point{X: 180, Y: 90}
	lon := true
	for _, r := range args[0].Str() {
		// Characters outside of the alphabet are not refused: their low bits count.
		index := strings.IndexRune(hashAlphabet, r)
		if index < 0 {
			index = int(r & 31)
		}
		for bit := 16; bit > 0; bit >>= 1 {
			lo, hi := &low.Y, &high.Y
			if lon {
				lo, hi = &low.X, &high.X
			}
			if mid := (*lo + *hi) / 2; index&bit != 0 {
				*lo = mid
			} else {
				*hi = mid
			}
			lon = !lon
		}
	}
	return value.GeometryOf(&value.Geometry{Point: value.Point{X: (low.X + high.X) / 2, Y: (low.Y + high.Y) / 2}}), nil
}
