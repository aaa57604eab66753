package memsvc_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLocationFilters holds that memories keep where they were said, that both forms of an area find those inside and
// no others, and that facts and passages have the place of their source.
func TestLocationFilters(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled":true}`)
	berlin, paris := map[string]any{"lat": 52.52, "lng": 13.405}, map[string]any{"lat": 48.8566, "lng": 2.3522}
	s.post(200, "/facts", map[string]any{"text": "The bakery sells rye bread.", "location": berlin, "infer": "none"})
	s.post(200, "/facts", map[string]any{"text": "I work at Initech.", "name": "Ada", "location": paris})
	s.post(200, "/facts/batch", map[string]any{"location": berlin, "infer": "none", "messages": []any{
		map[string]any{"content": "The bakery by the river sells cake.", "location": paris},
		map[string]any{"content": "The bakery by the canal sells pie."}}})
	s.post(200, "/facts", map[string]any{"text": "The bakery of nowhere sells buns.", "infer": "none"})
	d := s.upload(202, s.key, "/api/v1/main/documents", "POST", "a.md",
		`{"title": "Guide", "location": {"lat": 52.5, "lng": 13.4}}`, []byte("# Guide\n\nThe bakery opens at six.\n"))
	s.isReady(d.str("id"))
	find := func(path, question, area string) string {
		t.Helper()
		a := s.post(200, path, fmt.Sprintf(`{"query": %q, "k": 50, "location": %s}`, question, area))
		var out []string
		for _, list := range []string{"hits", "results"} {
			for i := range a.list(list) {
				out = append(out, a.str(list, i, "text")+a.str(list, i, "chunk", "text"))
			}
		}
		return strings.Join(out, "|")
	}
	nearBerlin := `{"near": {"lat": 52.5, "lng": 13.4, "radiusKm": 20}}`
	aroundParis := `{"within": "POLYGON((2 48, 3 48, 3 49, 2 49, 2 48))"}`
	for _, tc := range []struct{ path, question, area, want, not string }{
		{"/query", "What does the bakery sell?", nearBerlin, "rye|pie|opens at six", "cake|buns"},
		{"/query", "What does the bakery sell?", aroundParis, "cake", "rye|pie|buns|opens"},
		{"/query", "Where does Ada work?", aroundParis, "works at: Initech", "rye"},
		{"/query", "Where does Ada work?", nearBerlin, "", "Initech"},
		{"/documents/query", "When does the bakery open?", nearBerlin, "opens at six", ""},
		{"/documents/query", "When does the bakery open?", aroundParis, "", "opens at six"},
	} {
		got := find(tc.path, tc.question, tc.area)
		for _, w := range strings.Split(tc.want, "|") {
			if !strings.Contains(got, w) {
				t.Errorf("%s %s in %s: no %q in %s", tc.path, tc.question, tc.area, w, got)
			}
		}
		for _, n := range strings.Split(tc.not, "|") {
			if n != "" && strings.Contains(got, n) {
				t.Errorf("%s %s in %s: %q in %s", tc.path, tc.question, tc.area, n, got)
			}
		}
	}
	a := s.post(200, "/query", `{"query": "What does the bakery sell?", "location": `+aroundParis+`}`)
	if a.str("hits", 0, "location", "lat") != "48.8566" {
		t.Errorf("a hit has no place: %s", a.raw)
	}
	if got := s.get(200, "/documents/"+d.str("id")).str("location", "lng"); got != "13.4" {
		t.Errorf("the document is at %q", got)
	}
	for _, tc := range [][2]string{{"/facts", `{"text": "x", "location": {"lat": 99, "lng": 1}}`},
		{"/facts", `{"text": "x", "location": "Berlin"}`}, {"/query", `{"query": "x", "location": {}}`},
		{"/query", `{"query": "x", "location": {"within": "POINT(1 1)"}}`},
		{"/documents/query", `{"query": "x", "location": {"near": {"lat": 1, "lng": 1}}}`}} {
		if got := s.post(400, tc[0], tc[1]).str("field"); got != "location" {
			t.Errorf("%s: the field is %q", tc[1], got)
		}
	}
}
