// Package place reads places and areas of the earth, and says which places are in an area.
package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Point is a place in degrees (WGS 84).
type Point struct {
	Lat float64 `json:"lat" db:"lat"`
	Lng float64 `json:"lng" db:"lng"`
}

var errPoint = errors.New("want lat from -90 to 90 and lng from -180 to 180")

// UnmarshalJSON implements json.Unmarshaler: an object with lat and lng, and nothing else.
func (p *Point) UnmarshalJSON(b []byte) error {
	var in map[string]*float64
	if json.Unmarshal(b, &in) != nil || len(in) != 2 || in["lat"] == nil || in["lng"] == nil {
		return errPoint
	}
	q := Point{*in["lat"], *in["lng"]}
	if !q.valid() {
		return errPoint
	}
	*p = q
	return nil
}

func (p Point) valid() bool { return math.Abs(p.Lat) <= 90 && math.Abs(p.Lng) <= 180 }

// earthKm is the mean radius of the earth.
const earthKm = 6371.0088

// maxKm is half of the way around the earth: everything is that near.
const maxKm = 20_038

// Distance is the way between two places along the ground in kilometres, by the haversine formula.
func Distance(a, b Point) float64 {
	const rad = math.Pi / 180
	dLat, dLng := (b.Lat-a.Lat)*rad, (b.Lng-a.Lng)*rad
	h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(a.Lat*rad)*math.Cos(b.Lat*rad)*math.Pow(math.Sin(dLng/2), 2)
	return 2 * earthKm * math.Asin(math.Sqrt(min(1, h)))
}

// Area is a part of the earth: a circle, or polygons.
type Area struct {
	centre   Point
	radiusKm float64
	polygons [][][]Point // rings: the outer one, then holes
}

// UnmarshalJSON implements json.Unmarshaler: {near: {lat, lng, radius_km}} or {within: WKT}. The text is a POLYGON or
// MULTIPOLYGON with the longitude first, as the OGC Simple Feature Access standard has it.
func (a *Area) UnmarshalJSON(b []byte) error {
	var in struct {
		Near   map[string]*float64 `json:"near"`
		Within *string             `json:"within"`
	}
	if json.Unmarshal(b, &in) != nil || (in.Near == nil) == (in.Within == nil) {
		return errors.New("want near (lat, lng, radiusKm) or within (a text)")
	}
	if in.Within != nil {
		var err error
		a.polygons, err = readWKT(*in.Within)
		return err
	}
	lat, lng, r := in.Near["lat"], in.Near["lng"], in.Near["radius_km"]
	if r == nil {
		r = in.Near["radiusKm"]
	}
	if lat == nil || lng == nil || r == nil || !(Point{*lat, *lng}).valid() {
		return fmt.Errorf("near: %w, and radiusKm", errPoint)
	}
	if *r <= 0 || *r > maxKm {
		return fmt.Errorf("near: want a radiusKm above 0, at most %d", maxKm)
	}
	a.centre, a.radiusKm = Point{*lat, *lng}, *r
	return nil
}

// Holds reports whether a place is in the area. A place on the border of a polygon may be on either side.
func (a *Area) Holds(p Point) bool {
	if a.polygons == nil {
		return Distance(a.centre, p) <= a.radiusKm
	}
	for _, rings := range a.polygons {
		in := false
		for _, ring := range rings { // crossing a hole leaves the polygon again
			in = in != inside(ring, p)
		}
		if in {
			return true
		}
	}
	return false
}

// inside counts how often a ray from p crosses a ring (the even-odd rule).
func inside(ring []Point, p Point) bool {
	in := false
	for i := range ring[1:] {
		a, b := ring[i], ring[i+1]
		if (a.Lat > p.Lat) != (b.Lat > p.Lat) && p.Lng < a.Lng+(p.Lat-a.Lat)/(b.Lat-a.Lat)*(b.Lng-a.Lng) {
			in = !in
		}
	}
	return in
}

// maxPoints bounds the corners of an area.
const maxPoints = 10_000

// wkt reads well-known text.
type wkt struct {
	rest   string
	points int
}

var errWKT = errors.New("within: want POLYGON((lng lat, …)) or MULTIPOLYGON(((lng lat, …)))")

func readWKT(s string) ([][][]Point, error) {
	r := &wkt{rest: strings.TrimSpace(s)}
	word := r.rest[:len(r.rest)-len(strings.TrimLeft(strings.ToUpper(r.rest), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))]
	r.rest = r.rest[len(word):]
	var out [][][]Point
	var err error
	switch strings.ToUpper(word) {
	case "POLYGON":
		var one [][]Point
		one, err = list(r, r.ring)
		out = [][][]Point{one}
	case "MULTIPOLYGON":
		out, err = list(r, func() ([][]Point, error) { return list(r, r.ring) })
	default:
		err = errWKT
	}
	if err == nil && strings.TrimSpace(r.rest) != "" {
		err = errWKT
	}
	return out, err
}

// take reads one character and the space before it.
func (r *wkt) take(c byte) bool {
	r.rest = strings.TrimLeft(r.rest, " \t\r\n")
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// list reads (E, E, …).
func list[E any](r *wkt, element func() (E, error)) ([]E, error) {
	if !r.take('(') {
		return nil, errWKT
	}
	var out []E
	for {
		e, err := element()
		if err != nil {
			return nil, err
		}
		if out = append(out, e); r.take(')') {
			return out, nil
		}
		if !r.take(',') {
			return nil, errWKT
		}
	}
}

func (r *wkt) ring() ([]Point, error) {
	ring, err := list(r, r.point)
	switch {
	case err != nil:
		return nil, err
	case len(ring) < 4 || ring[0] != ring[len(ring)-1]:
		return nil, errors.New("within: a ring wants at least four places, and its first one again at the end")
	}
	return ring, nil
}

func (r *wkt) point() (p Point, err error) {
	if r.points++; r.points > maxPoints {
		return p, fmt.Errorf("within: at most %d places", maxPoints)
	}
	end := strings.IndexAny(r.rest, ",)")
	if end < 0 {
		return p, errWKT
	}
	parts := strings.Fields(r.rest[:end])
	r.rest = r.rest[end:]
	if len(parts) != 2 {
		return p, errWKT
	}
	var bad error
	p.Lng, err = strconv.ParseFloat(parts[0], 64)
	p.Lat, bad = strconv.ParseFloat(parts[1], 64)
	if err != nil || bad != nil || !p.valid() {
		return p, fmt.Errorf("within: %w", errPoint)
	}
	return p, nil
}
