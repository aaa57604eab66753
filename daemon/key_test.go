package daemon_test

import (
	"fmt"
	"strings"
	"testing"
)

// The rows of the /key table, in order: each works on what the earlier ones left.
func TestKey(t *testing.T) {
	s := start(t)
	if r := s.do("POST", "/sql", "DEFINE TABLE person; DEFINE TABLE number", at()...); strings.Contains(r.body, "ERR") {
		t.Fatal(r.body)
	}
	for _, tc := range []struct{ name, method, path, body, want string }{
		{"POST /key/:table/:id creates that record", "POST", "/key/person/ada", `{"name":"Ada","age":36}`, `[{"age":36,"id":"person:ada","name":"Ada"}]`},
		{"POST /key/:table creates one record, here with its id", "POST", "/key/person", `{"id":"bob","name":"Bob"}`, `[{"id":"person:bob","name":"Bob"}]`},
		{"GET /key/:table selects records", "GET", "/key/person", "", `[{"age":36,"id":"person:ada","name":"Ada"},{"id":"person:bob","name":"Bob"}]`},
		{"limit", "GET", "/key/person?limit=1", "", `[{"age":36,"id":"person:ada","name":"Ada"}]`},
		{"start", "GET", "/key/person?start=1", "", `[{"id":"person:bob","name":"Bob"}]`},
		{"fields", "GET", "/key/person?fields=name&limit=1", "", `[{"name":"Ada"}]`},
		{"fields, and the id only when named", "GET", "/key/person?fields=name&fields=id&limit=1", "", `[{"id":"person:ada","name":"Ada"}]`},
		{"GET /key/:table/:id selects that record", "GET", "/key/person/ada", "", `[{"age":36,"id":"person:ada","name":"Ada"}]`},
		{"a record that is not there", "GET", "/key/person/nobody", "", `[]`},
		{"PATCH /key/:table/:id merges", "PATCH", "/key/person/ada", `{"born":1815}`, `[{"age":36,"born":1815,"id":"person:ada","name":"Ada"}]`},
		{"PUT /key/:table/:id replaces", "PUT", "/key/person/ada", `{"name":"Ada L"}`, `[{"id":"person:ada","name":"Ada L"}]`},
		{"PATCH /key/:table merges into all", "PATCH", "/key/person", `{"x":1}`, `[{"id":"person:ada","name":"Ada L","x":1},{"id":"person:bob","name":"Bob","x":1}]`},
		{"PUT /key/:table replaces all", "PUT", "/key/person", `{"y":2}`, `[{"id":"person:ada","y":2},{"id":"person:bob","y":2}]`},
		{"DELETE /key/:table/:id deletes that record", "DELETE", "/key/person/bob", "", `[{"id":"person:bob","y":2}]`},
		{"DELETE /key/:table deletes all", "DELETE", "/key/person", "", `[{"id":"person:ada","y":2}]`},
		{"an id that reads as a number is one", "POST", "/key/number/7", `{}`, `[{"id":"number:7"}]`},
		{"an id that reads as a uuid is one", "POST", "/key/number/u'01a1ff8e-6163-7761-a50f-13f3db900459'", `{}`, `[{"id":"number:u'01a1ff8e-6163-7761-a50f-13f3db900459'"}]`},
		{"an escaped id", "POST", "/key/number/a%20b%2Fc", `{}`, "[{\"id\":\"number:`a b/c`\"}]"},
		{"a body of the language", "POST", "/key/number/lit?n=5", `{ since: d'2024-01-01T00:00:00Z', n: $n, of: person:ada }`,
			`[{"id":"number:lit","n":"5","of":"person:ada","since":"2024-01-01T00:00:00Z"}]`},
		{"values in JSON stay text", "POST", "/key/number/json", `{ "since": "2024-01-01T00:00:00Z", "of": "person:ada" }`,
			`[{"id":"number:json","of":"person:ada","since":"2024-01-01T00:00:00Z"}]`},
	} {
		r := s.do(tc.method, tc.path, tc.body, at("Content-Type: application/json")...)
		if got, want := timeless(r.body), `[`+ok(tc.want)+`]`; r.StatusCode != 200 || got != want {
			t.Errorf("%s: %d\ngot  %s\nwant %s", tc.name, r.StatusCode, got, want)
		}
	}
}

func TestKeyRefuses(t *testing.T) {
	s := start(t)
	for _, tc := range []struct{ name, method, path, body string }{
		{"a limit that is no number", "GET", "/key/person?limit=x", ""},
		{"a negative start", "GET", "/key/person?start=-1", ""},
		{"a fraction", "GET", "/key/person?limit=1.5", ""},
		{"a function", "POST", "/key/person", "{ at: time::now() }"},
		{"a statement", "POST", "/key/person", "CREATE x"},
		{"a subquery", "POST", "/key/person", "{ a: (SELECT * FROM person) }"},
		{"an escape from the value", "POST", "/key/person", "{}; REMOVE TABLE person"},
		{"an operator", "PATCH", "/key/person/1", "{ a: 1 + 1 }"},
		{"nothing", "PUT", "/key/person/1", " "},
	} {
		if r := s.do(tc.method, tc.path, tc.body, at()...); r.StatusCode != 400 {
			t.Errorf("%s: %d %s", tc.name, r.StatusCode, r.body)
		}
	}
}

func TestKeyLimitsTo100(t *testing.T) {
	s := start(t)
	var rows strings.Builder
	for i := range 150 {
		fmt.Fprintf(&rows, "{ id: %d },", i)
	}
	if r := s.do("POST", "/sql", "INSERT INTO n ["+rows.String()+"] RETURN NONE", at()...); strings.Contains(r.body, "ERR") {
		t.Fatal(r.body)
	}
	for path, want := range map[string]int{"/key/n": 100, "/key/n?limit=120": 120, "/key/n?start=100": 50, "/key/n?limit=0": 0} {
		if got := strings.Count(s.do("GET", path, "", at()...).body, `"id":`); got != want {
			t.Errorf("%s: %d records, want %d", path, got, want)
		}
	}
}

// Names of tables are names, whatever is in them.
func TestKeyOfHostileNames(t *testing.T) {
	s := start(t)
	for _, name := range []string{"a%20b", "x;REMOVE%20TABLE%20person", "%60", "%27", "%E2%9F%A9", "a%2Fb"} {
		r := s.do("POST", "/key/"+name+"/1", "{}", at()...)
		if r.StatusCode != 200 || !strings.Contains(r.body, `"status":"OK"`) {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
			continue
		}
		if r := s.do("GET", "/key/"+name, "", at()...); strings.Count(r.body, `"id":`) != 1 {
			t.Errorf("%s: %s", name, r.body)
		}
	}
}
