package place_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/nacredb/nacre/memsvc/place"
)

func TestDistanceAlongTheGround(t *testing.T) {
	berlin, paris := place.Point{Lat: 52.5200, Lng: 13.4050}, place.Point{Lat: 48.8566, Lng: 2.3522}
	if d := place.Distance(berlin, paris); math.Abs(d-877.5) > 1 {
		t.Errorf("Berlin to Paris: %g km", d)
	}
	// Across the antimeridian, and to the other side of the earth.
	if d := place.Distance(place.Point{Lng: 179.5}, place.Point{Lng: -179.5}); math.Abs(d-111.2) > 0.1 {
		t.Errorf("one degree of the equator: %g km", d)
	}
	if d := place.Distance(place.Point{Lat: 90}, place.Point{Lat: -90}); math.Abs(d-20015.1) > 1 {
		t.Errorf("pole to pole: %g km", d)
	}
}

func TestAreas(t *testing.T) {
	for _, tc := range []struct {
		area     string
		lat, lng float64
		want     bool
	}{
		{`{"near": {"lat": 52.5, "lng": 13.4, "radiusKm": 10}}`, 52.55, 13.45, true},
		{`{"near": {"lat": 52.5, "lng": 13.4, "radius_km": 1}}`, 52.55, 13.45, false},
		{`{"near": {"lat": 0, "lng": 179.99, "radiusKm": 10}}`, 0, -179.99, true},
		{`{"within": "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0))"}`, 5, 5, true},
		{`{"within": "polygon ( ( 0 0 , 10 0 , 10 10 , 0 10 , 0 0 ) ) "}`, 11, 5, false},
		{`{"within": "POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (4 4, 6 4, 6 6, 4 6, 4 4))"}`, 5, 5, false},
		{`{"within": "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((20 20, 30 20, 30 30, 20 30, 20 20)))"}`, 25, 25, true},
	} {
		var a place.Area
		if err := json.Unmarshal([]byte(tc.area), &a); err != nil {
			t.Errorf("%s: %v", tc.area, err)
		} else if got := a.Holds(place.Point{Lat: tc.lat, Lng: tc.lng}); got != tc.want {
			t.Errorf("%s holds %g, %g: %v", tc.area, tc.lat, tc.lng, got)
		}
	}
	many := strings.Repeat("1 1,", 10_001)
	for _, bad := range []string{`{}`, `5`, `{"near": {"lat": 1, "lng": 1, "radiusKm": 1}, "within": "x"}`,
		`{"near": {"lat": 91, "lng": 1, "radiusKm": 1}}`, `{"near": {"lat": 1, "lng": 1}}`,
		`{"near": {"lat": 1, "lng": 1, "radiusKm": -1}}`, `{"near": {"lat": 1, "lng": 1, "radiusKm": 1e9}}`,
		`{"within": ""}`, `{"within": "POINT(1 1)"}`, `{"within": "POLYGON"}`, `{"within": "POLYGON(("}`,
		`{"within": "POLYGON((0 0, 1 1, 0 0))"}`, `{"within": "POLYGON((0 0, 1 0, 1 1, 0 1))"}`,
		`{"within": "POLYGON((0 0, 1 0, 1 1, 0 0)) x"}`, `{"within": "POLYGON((0 0, 200 0, 1 1, 0 0))"}`,
		`{"within": "POLYGON((0 0, NaN 0, 1 1, 0 0))"}`, `{"within": "POLYGON((` + many + `1 1))"}`} {
		var a place.Area
		if err := json.Unmarshal([]byte(bad), &a); err == nil {
			t.Errorf("%.80s is taken", bad)
		}
	}
	for _, bad := range []string{`{}`, `{"lat": 1}`, `{"lat": 1, "lng": 181}`, `[1, 2]`,
		`{"lat": 1, "lng": 2, "x": 3}`} {
		var p place.Point
		if err := json.Unmarshal([]byte(bad), &p); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
