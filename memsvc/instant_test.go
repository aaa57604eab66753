package memsvc_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// instant is a time between two writes, as a request says it.
func instant() string {
	time.Sleep(2 * time.Millisecond)
	defer time.Sleep(2 * time.Millisecond)
	return time.Now().UTC().Format(time.RFC3339Nano)
}

// TestAtInstantIsWhatTheDatabaseHeld holds that atInstant counts by when rows were recorded, not by the time that they
// are about: a fact of 2020 that was stored later is not there before, and asOf, which counts by when facts are
// known, answers otherwise.
func TestAtInstantIsWhatTheDatabaseHeld(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled":true}`)
	empty := instant()
	say := func(text, when string) {
		s.post(200, "/facts", map[string]any{"text": text, "name": "Ada", "ts": when})
	}
	say("I live in Porto.", "2020-01-01T00:00:00Z")
	porto := instant()
	say("I moved to Rome.", "2021-01-01T00:00:00Z")
	rome := instant()

	city := func(path string) string {
		a := s.get(200, path)
		var out []string
		for i := range a.list("attributes") {
			if a.str("attributes", i, "key") == "lives_in" {
				out = append(out, a.str("attributes", i, "value"))
			}
		}
		return strings.Join(out, " ")
	}
	at := func(param, time string) string { return "/entities/person/ada?" + param + "=" + url.QueryEscape(time) }
	s.get(404, at("atInstant", empty))
	for _, tc := range []struct{ path, want string }{
		{at("atInstant", porto), "Porto"}, {at("atInstant", rome), "Rome"}, {at("at_instant", porto), "Porto"},
		{at("atInstant", "2999-01-01"), "Rome"},
		{at("asOf", porto), "Rome"}, {at("asOf", "2020-06-01"), "Porto"},
		{at("asOf", "2021-06-01") + "&atInstant=" + url.QueryEscape(porto), "Porto"},
		{at("validFrom", "2020-03-01") + "&validUntil=2020-04-01", "Porto"},
		{at("validFrom", "2020-03-01"), "Porto Rome"},
		{at("validUntil", "2020-04-01"), "Porto"},
	} {
		if got := city(tc.path); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.path, got, tc.want)
		}
	}
	for path, want := range map[string]int{"/entities/person/ada/history/lives_in?atInstant=" + url.QueryEscape(porto): 1,
		"/entities/person/ada/history/lives_in": 2} {
		a := s.get(200, path)
		if got := len(a.list("history")); got != want {
			t.Errorf("%s: %d values: %s", path, got, a.raw)
		}
		if want == 1 && (a.at("history", 0, "validUntil") != nil || a.at("history", 0, "supersededBy") != nil) {
			t.Errorf("an end that was not known yet: %s", a.raw)
		}
	}
	if got := s.get(200, "/inspect?ref=attribute:person/Ada/lives_in&atInstant="+url.QueryEscape(porto)).str("value"); got != "Porto" {
		t.Errorf("inspect: %s", got)
	}
	s.get(404, "/inspect?ref=attribute:person/Ada/lives_in&atInstant="+url.QueryEscape(empty))

	first := func(path, at string) answer {
		return s.post(200, path, map[string]any{"query": "Where does Ada live?", "atInstant": at})
	}
	if a := first("/query", empty); len(a.list("hits")) != 0 {
		t.Errorf("before everything: %s", a.raw)
	}
	if a := first("/query", porto); !strings.Contains(a.str("hits", 0, "text"), "Porto") ||
		strings.Contains(string(a.raw), "Rome") {
		t.Errorf("after the first: %s", a.raw)
	}
	if a := first("/query", rome); !strings.Contains(a.str("hits", 0, "text"), "Rome") {
		t.Errorf("after the second: %s", a.raw)
	}
	if a := first("/context", porto); !strings.Contains(a.str("context"), "Porto") ||
		strings.Contains(a.str("context"), "Rome") {
		t.Errorf("context: %s", a.raw)
	}
	if a := s.get(200, "/state?atInstant="+url.QueryEscape(empty)); strings.Contains(string(a.raw), "Porto") {
		t.Errorf("state: %s", a.raw)
	}
	for _, path := range []string{at("atInstant", "soon"), at("asOf", "soon"),
		at("validFrom", "2022-01-01") + "&validUntil=2021-01-01"} {
		s.get(400, path)
	}
	if got := s.post(400, "/query", `{"query":"x","atInstant":"soon"}`).str("field"); got != "at_instant" {
		t.Errorf("the field is %q", got)
	}
}

// TestAtInstantShowsWhatWasForgottenLater holds that a soft forget is an end that an earlier instant does not know, and
// that a purge leaves no past.
func TestAtInstantShowsWhatWasForgottenLater(t *testing.T) {
	s := start(t)
	s.post(200, "/facts", map[string]any{"text": "The otter Juniper sleeps under the pier.", "infer": "none"})
	s.post(200, "/facts", map[string]any{"text": "The heron Basil nests on the mill.", "infer": "none"})
	before := instant()
	s.post(200, "/forget", `{"query": "otter Juniper sleeps under the pier"}`)
	s.post(200, "/forget", `{"query": "heron Basil nests on the mill", "purge": true}`)
	find := func(what, at string) string {
		return string(s.post(200, "/query", fmt.Sprintf(`{"query": %q, "atInstant": %q}`, what, at)).raw)
	}
	if got := find("otter Juniper", before); !strings.Contains(got, "under the pier") {
		t.Errorf("before the forget: %s", got)
	}
	if got := find("otter Juniper", instant()); strings.Contains(got, "under the pier") {
		t.Errorf("after the forget: %s", got)
	}
	if got := find("heron Basil", before); strings.Contains(got, "on the mill") {
		t.Errorf("after the purge: %s", got)
	}
}

// TestRelationThatHoldsAgainKeepsItsPast holds that a relation that ended and holds again keeps the time that it held
// before.
func TestRelationThatHoldsAgainKeepsItsPast(t *testing.T) {
	s := start(t)
	triple := func(when string) {
		s.post(200, "/facts", map[string]any{"observed_at": when, "triples": []any{map[string]any{"key": "works_at",
			"entity": map[string]any{"type": "person", "name": "Ada"},
			"target": map[string]any{"type": "company", "name": "Initech"}}}})
	}
	triple("2020-01-01")
	s.must(204, s.key, "DELETE", "/api/v1/main/entities/person/ada", nil)
	gone := instant()
	triple("2024-01-01")
	at := func(time string) int {
		return len(s.get(200, "/entities/person/ada?atInstant="+url.QueryEscape(time)).list("relations"))
	}
	if n := at(gone); n != 0 {
		t.Errorf("while it did not hold: %d relations", n)
	}
	a := s.get(200, "/entities/person/ada?validFrom=2000-01-01")
	if n := len(a.list("relations")); n != 2 {
		t.Errorf("%d times that it held: %s", n, a.raw)
	}
}
