package value

import (
	"errors"
	"strings"
	"testing"
)

// TestSearchesAsk holds that a search of a large pattern in a long text asks on the way, and that many small ones do.
func TestSearchesAsk(t *testing.T) {
	gone := errors.New("gone")
	after := func(n int) func() error {
		return func() error {
			if n--; n < 0 {
				return gone
			}
			return nil
		}
	}
	re := func(s string) *Regex {
		r, err := CompileRegex(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	large, long := re(`(?:x?y?){100}$`), strings.Repeat("z", 1<<17)
	s := NewSearches(after(3))
	if s.Match(large, long); !errors.Is(s.Err(), gone) {
		t.Errorf("one search: %v", s.Err())
	}
	s = NewSearches(after(3))
	small, turns := re("b+"), 0
	for s.Err() == nil && turns < 1_000_000 {
		s.Match(small, "aaaa")
		turns++
	}
	if !errors.Is(s.Err(), gone) {
		t.Errorf("%d searches: %v", turns, s.Err())
	}
	s = NewSearches(nil)
	for text, want := range map[string]bool{long + "xy": true, "": true, strings.Repeat("xy", 20_000): true} {
		if got := s.Match(large, text); got != want || s.Err() != nil {
			t.Errorf("%.10s: got %v, %v", text, got, s.Err())
		}
	}
	if s.Match(large, strings.Repeat("z", 1<<23)); !errors.Is(s.Err(), ErrSearchTooLarge) {
		t.Errorf("too large: %v", s.Err())
	}
}

// TestRelationsAsk holds that relations of geometries with many vertices ask on the way, and that a no ends them.
func TestRelationsAsk(t *testing.T) {
	gone := errors.New("gone")
	zigzag := func(n int, shift float64) []Point {
		var out []Point
		for i := range n {
			out = append(out, Point{float64(i), float64(i%2) + shift})
		}
		for i := n - 1; i >= 0; i-- {
			out = append(out, Point{float64(i), float64(i%2) + shift + 10})
		}
		return append(out, out[0])
	}
	polygon := func(n int, shift float64) Value {
		return GeometryOf(&Geometry{Kind: GeometryPolygon, Rings: [][]Point{zigzag(n, shift)}})
	}
	line := func(n int) Value { return GeometryOf(&Geometry{Kind: GeometryLine, Line: zigzag(n, 0.5)}) }
	points := func(n int) Value { return GeometryOf(&Geometry{Kind: GeometryMultiPoint, Line: zigzag(n, 0.25)}) }
	var squares [][][]Point
	for i := range 4000 {
		x := float64(i % 7)
		squares = append(squares, [][]Point{{{x, 0}, {x + 3, 0}, {x + 3, 3}, {x, 3 + float64(i)}, {x, 0}}})
	}
	many := GeometryOf(&Geometry{Kind: GeometryMultiPolygon, Polys: squares})
	if zig := line(50); !Contains(zig, zig) {
		t.Error("a line whose parts lie on one line with others does not contain itself")
	}
	for name, f := range map[string]func(rel *Relation){
		"polygon in polygon":   func(rel *Relation) { rel.Contains(polygon(2000, 0), polygon(2000, 0.001)) },
		"polygon over polygon": func(rel *Relation) { rel.Intersects(polygon(2000, 0), polygon(2000, 10.5)) },
		"line in polygon":      func(rel *Relation) { rel.Contains(polygon(2000, 0), line(2000)) },
		"line in line":         func(rel *Relation) { rel.Contains(line(4000), line(4000)) },
		"line over line":       func(rel *Relation) { rel.Intersects(line(2000), polygon(2000, 20)) },
		"points among points": func(rel *Relation) {
			rel.Contains(points(4000), line(2))
			rel.Contains(points(20_000), polygon(1, 3))
		},
		"polygons in polygons": func(rel *Relation) { rel.Contains(many, many) },
		"a list in polygons":   func(rel *Relation) { rel.ContainsAll(many, Array(many, many)) },
		"points against points": func(rel *Relation) {
			rel.Contains(points(20_000), GeometryOf(&Geometry{Kind: GeometryMultiPoint, Line: zigzag(20_000, 0.75)}))
		},
	} {
		asked := 0
		rel := NewRelation(func() error {
			asked++
			return gone
		})
		f(rel)
		if name == "line over line" || name == "points among points" {
			continue // their boxes tell
		}
		if asked != 1 || !errors.Is(rel.Err(), gone) {
			t.Errorf("%s: asked %d times, %v", name, asked, rel.Err())
		}
	}
}
