package value

import (
	"strings"
	"testing"
)

func lit(t testing.TB, s string) Value {
	t.Helper()
	v, err := readLiteral(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func shape(t testing.TB, kind, coords string) Value {
	t.Helper()
	list := "coordinates"
	if kind == "GeometryCollection" {
		list = "geometries"
	}
	return lit(t, "{type:'"+kind+"',"+list+":"+coords+"}")
}

// The answers are the reference's, but for a multiline in a line: all its lines must lie in it.
func TestGeometryContains(t *testing.T) {
	pt, line := lit(t, "(1,1)"), shape(t, "LineString", "[[1,1],[2,2]]")
	square := shape(t, "Polygon", "[[[1,1],[1,2],[2,2],[2,1],[1,1]]]")
	points := shape(t, "MultiPoint", "[[1,1],[2,2]]")
	polys := shape(t, "MultiPolygon", "[[[[1,1],[1,2],[2,2],[2,1],[1,1]]]]")
	group := shape(t, "GeometryCollection", "[{type:'Point',coordinates:[1,1]}]")
	all := []Value{pt, line, square, points, polys, group}
	for i, want := range []string{"TFFFFT", "FTFFFF", "FTTFTF", "TFFTFT", "FTTFTF", "TFFFFT"} {
		for j, b := range all {
			if got := Contains(all[i], b); got != (want[j] == 'T') {
				t.Errorf("%s CONTAINS %s: %v", all[i], b, got)
			}
			if got := Intersects(all[i], b); !got {
				t.Errorf("%s INTERSECTS %s: %v", all[i], b, got)
			}
		}
	}
	big := shape(t, "Polygon", "[[[0,0],[0,4],[4,4],[4,0],[0,0]]]")
	for j, want := range "TTTFTT" {
		if got := Contains(big, all[j]); got != (want == 'T') {
			t.Errorf("big CONTAINS %s: %v", all[j], got)
		}
	}
	two := shape(t, "MultiPolygon", "[[[[0,0],[0,4],[4,4],[4,0],[0,0]]],[[[10,0],[10,4],[14,4],[14,0],[10,0]]]]")
	for s, want := range map[string]bool{
		"(12,2)": true, "{type:'MultiPoint',coordinates:[[1,1],[12,2]]}": true, "{type:'MultiPoint',coordinates:[[1,1],[8,2]]}": false,
		"{type:'MultiLineString',coordinates:[[[1,1],[2,2]],[[11,2],[12,1]]]}": true, "{type:'LineString',coordinates:[[1,1],[12,1]]}": false,
	} {
		if got := Contains(two, lit(t, s)); got != want {
			t.Errorf("two CONTAINS %s: %v", s, got)
		}
	}
}

// The answers are the reference's: contains, intersects.
func TestLineAndPolygonRelations(t *testing.T) {
	bent := shape(t, "LineString", "[[0,0],[4,0],[4,4]]")
	ring := shape(t, "Polygon", "[[[0,0],[0,4],[4,4],[4,0],[0,0]],[[1,1],[1,3],[3,3],[3,1],[1,1]]]")
	full := shape(t, "Polygon", "[[[0,0],[0,4],[4,4],[4,0],[0,0]]]")
	l := func(c string) string { return "{type:'LineString',coordinates:" + c + "}" }
	p := func(c string) string { return "{type:'Polygon',coordinates:" + c + "}" }
	for _, c := range []struct {
		a       Value
		b, want string
	}{
		{bent, "(0,0)", "FT"}, {bent, "(1,0)", "TT"}, {bent, "(4,0)", "TT"}, {bent, "(4,4)", "FT"},
		{bent, "(2,2)", "FF"}, {bent, "(4,5)", "FF"},
		{bent, l("[[0,0],[4,0]]"), "TT"}, {bent, l("[[0,0],[2,0]]"), "TT"}, {bent, l("[[4,0],[0,0]]"), "TT"},
		{bent, l("[[0,0],[4,0],[4,4]]"), "TT"}, {bent, "{type:'MultiPoint',coordinates:[[1,0],[4,0]]}", "FT"},
		{bent, l("[[1,0],[1,0]]"), "TT"}, {bent, l("[[0,0],[5,0]]"), "FT"},
		{ring, "(0.5,0.5)", "TT"}, {ring, "(2,2)", "FF"}, {ring, "(1,1)", "FT"}, {ring, "(1,2)", "FT"},
		{ring, "(0,2)", "FT"},
		{ring, l("[[0.5,0.5],[0.5,3]]"), "TT"}, {ring, l("[[0.5,0.5],[3.5,3.5]]"), "FT"},
		{ring, p("[[[1.5,1.5],[1.5,2.5],[2.5,2.5],[1.5,1.5]]]"), "FF"},
		{ring, p("[[[0.2,0.2],[0.2,0.5],[0.5,0.5],[0.2,0.2]]]"), "TT"}, {ring, l("[[0,0],[0,4]]"), "FT"},
		{ring, l("[[0,0],[0.5,0.5]]"), "TT"},
		{ring, p("[[[0,0],[0,4],[4,4],[4,0],[0,0]]]"), "FT"}, {ring, "{type:'MultiPoint',coordinates:[[0.5,0.6],[2,2]]}", "FT"},
		{full, l("[[1,1],[9,9]]"), "FT"}, {full, l("[[0,0],[4,4]]"), "TT"}, {full, l("[[0,0],[0,4],[4,4]]"), "FT"},
		{full, l("[[0,0],[0,4],[4,0]]"), "TT"},
		{full, p("[[[0,0],[0,4],[4,4],[0,0]]]"), "TT"}, {full, p("[[[0,0],[0,5],[4,4],[0,0]]]"), "FT"},
		{full, p("[[[0,0],[4,0],[4,4],[0,4],[0,0]]]"), "TT"},
		{ring, p("[[[1,1],[1,3],[3,3],[3,1],[1,1]]]"), "FT"},
	} {
		b := lit(t, c.b)
		got := ""
		for _, ok := range []bool{Contains(c.a, b), Intersects(c.a, b)} {
			got += map[bool]string{true: "T", false: "F"}[ok]
		}
		if got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.a, b, got, c.want)
		}
	}
}

// Which objects are geometries.
func TestGeometryFromObject(t *testing.T) {
	for s, want := range map[string]string{
		"{type:'Polygon',coordinates:[[[0,0],[0,1],[1,1]]]}": "{ type: 'Polygon', coordinates: [[[0, 0], [0, 1], [1, 1], [0, 0]]] }",
		"{type:'Polygon',coordinates:[[[0,0]]]}":             "{ type: 'Polygon', coordinates: [[[0, 0]]] }",
		"{type:'LineString',coordinates:[]}":                 "{ type: 'LineString', coordinates: [] }",
		"{type:'MultiPolygon',coordinates:[]}":               "{ type: 'MultiPolygon', coordinates: [] }",
		"{type:'GeometryCollection',geometries:[]}":          "{ type: 'GeometryCollection', geometries: [] }",
		"{type:'Point',coordinates:[NaN,Infinity]}":          "(NaN, inf)",
	} {
		v := lit(t, s)
		if v.Kind() != KindGeometry || v.Text() != want {
			t.Errorf("%s: %s %s", s, v.Kind(), v)
		}
	}
	for _, s := range []string{
		"{type:'Polygon',coordinates:[]}", "{type:'MultiPoint',coordinates:[(1,2)]}",
		"{type:'Point',coordinates:(1,2)}", "{type:'Point',coordinates:[1,2,3]}",
		"{type:'Point',coordinates:[1dec,2f]}", "{type:'point',coordinates:[1,2]}",
		"{type:'Point',coordinates:[1,2],extra:1}", "{type:'GeometryCollection',geometries:[1]}",
		"{type:'GeometryCollection',coordinates:[(1,2)]}", "{type:'Point',geometries:[1,2]}",
	} {
		if v := lit(t, s); v.Kind() != KindObject {
			t.Errorf("%s: %s", s, v.Kind())
		}
	}
	g := shape(t, "Polygon", "[[[0,0],[0,1],[1,1]]]").Geometry()
	if got := g.Field("coordinates").Text(); got != "[[[0f, 0f], [0f, 1f], [1f, 1f], [0f, 0f]]]" {
		t.Error(got)
	}
	if got := g.Field("type").Text() + g.Field("geometries").Text(); got != "'Polygon'NONE" {
		t.Error(got)
	}
	back, ok := GeometryFromObject(g.Object())
	if !ok || !Equal(GeometryOf(back), GeometryOf(g)) ||
		!strings.HasPrefix(ObjectOf(g.Object()).Text(), "{ coordinates:") {
		t.Error("an object of a geometry is not that geometry")
	}
}

// The ALL and ANY forms; the answers are the reference's.
func TestContainsAllAny(t *testing.T) {
	for _, c := range []struct{ a, op, b, want string }{
		{"{a:1,b:2}", "CONTAINSALL", "['a','b']", "false"}, {"(1..5)", "CONTAINSALL", "[1,2]", "false"},
		{"'abc'", "CONTAINSALL", "{'a','b'}", "true"}, {"'abc'", "CONTAINSALL", "'ca'", "false"},
		{"'abc'", "CONTAINSALL", "['ab',1]", "false"}, {"{'abc',}", "CONTAINSALL", "[/b/]", "true"},
		{"'abc'", "IN", "{/b/,}", "false"}, {"'abc'", "IN", "[/b/]", "true"},
		{"(..'z')", "CONTAINS", "5", "true"}, {"(1..)", "CONTAINS", "'z'", "true"},
		{"(1..5)", "CONTAINS", "(2..3)", "false"}, {"[1]", "?=", "[1]", "false"},
		{"[1,2]", "CONTAINSNONE", "{3,}", "true"},
		{"{a:1}", "?=", "{a:1}", "true"}, {"{,}", "*=", "1", "true"}, {"{'ab',}", "*=", "/a/", "true"},
		{"1", "OUTSIDE", "2", "true"},
		{"u'018A6680-bef9-701b-9025-e1754f296a00'", "CONTAINS", "'8a6'", "true"},
		{"'8A6'", "IN", "u'018a6680-bef9-701b-9025-e1754f296a00'", "false"},
		{"u'018a6680-bef9-701b-9025-e1754f296a00'", "CONTAINSANY", "['9']", "false"},
		{"u'018a6680-bef9-701b-9025-e1754f296a00'", "CONTAINSALL", "['9']", "false"},
		{"'abc'", "CONTAINSANY", "['a',3]", "false"}, {"'abc'", "CONTAINSANY", "['z','a']", "true"},
		{"'abc'", "CONTAINSNONE", "['a',[]]", "true"}, {"'abc'", "CONTAINSANY", "{'a',3}", "false"},
	} {
		got, err := operators[c.op](lit(t, c.a), lit(t, c.b))
		if err != nil || got.Text() != c.want {
			t.Errorf("%s %s %s: %s %v", c.a, c.op, c.b, got, err)
		}
	}
}
