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

// Names of tables may hold any characters.
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

// JSON typing: values in a JSON body are text; what a field makes of them is its own affair.
func TestKeyTyping(t *testing.T) {
	s := start(t)
	setup(t, s, `DEFINE TABLE t; DEFINE FIELD strict ON t TYPE option<datetime>; DEFINE FIELD free ON t VALUE <datetime> ($value OR '2020-01-01T00:00:00Z');
		DEFINE FIELD either ON t TYPE option<datetime | string> VALUE IF $value != NONE { <datetime> $value };
		DEFINE FIELD of ON t TYPE option<record<t>>; DEFINE FIELD long ON t TYPE option<duration>`)
	const asJSON = "Content-Type: application/json"
	for _, tc := range []struct{ row, method, path, body, want string }{
		{"a datetime type rejects a string", "POST", "/key/t/1", `{"strict":"2024-01-01T00:00:00Z"}`, `"status":"ERR"`},
		{"a record type rejects a string", "POST", "/key/t/1", `{"of":"t:1"}`, `"status":"ERR"`},
		{"a duration type rejects a string", "POST", "/key/t/1", `{"long":"1h"}`, `"status":"ERR"`},
		{"a field with no type and a conversion converts", "POST", "/key/t/2", `{"free":"2024-01-01T00:00:00Z"}`, `"free":"2024-01-01T00:00:00Z"`},
		{"a union type including string converts", "POST", "/key/t/3", `{"either":"2024-01-01T00:00:00Z"}`, `"either":"2024-01-01T00:00:00Z"`},
		{"literals have their types", "PATCH", "/key/t/3", `{ strict: d'2024-01-01T00:00:00Z', of: t:2, long: 1h }`, `"long":"1h","of":"t:2","strict":"2024-01-01T00:00:00Z"`},
	} {
		t.Run(tc.row, func(t *testing.T) {
			if r := s.do(tc.method, tc.path, tc.body, at(asJSON)...); r.StatusCode != 200 || !strings.Contains(r.body, tc.want) {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
	if r := s.do("POST", "/sql", "RETURN [t:2.free.is_datetime(), t:3.either.is_datetime()]", at()...); timeless(r.body) != "["+ok("[true,true]")+"]" {
		t.Errorf("converted: %s", r.body)
	}
}
