package engine_test

import (
	"strings"
	"testing"
)

// TestIDsOfOneStatement: the ids that a statement makes for its records begin with the same 7 letters and differ; those
// of the next statement begin with other letters. Functions and tables that make ids themselves share nothing.
func TestIDsOfOneStatement(t *testing.T) {
	const rows = `[{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]`
	const ends = `[{ in: p:1, out: p:2 }, { in: p:2, out: p:1 }, { in: p:1, out: p:1 }]`
	s := owner(t, openQuiet(t))
	run(t, s, `CREATE p:1, p:2; DEFINE TABLE own; DEFINE FIELD id ON own TYPE string DEFAULT rand::id()`)
	for _, tc := range []struct {
		text  string
		alike bool
	}{
		{`INSERT INTO t ` + rows, true},
		{`LET $rows = ` + rows + `; INSERT INTO t $rows`, true},
		{`INSERT INTO t (n, m) VALUES (1, 2), (3, 4), (5, 6)`, true},
		{`INSERT IGNORE INTO t ` + rows, true},
		{`INSERT RELATION INTO knows ` + ends, true},
		{`RELATE [p:1, p:2]->knows->[p:1, p:2]`, true},
		{`CREATE |t:5|`, true},
		{`CREATE t, t, u SET n = 1`, true},
		{`INSERT INTO own ` + rows, false},
		{`CREATE t:rand(), t:rand()`, false},
		{`FOR $i IN 1..=3 { CREATE three }; SELECT * FROM three`, false},
		{`RETURN [1, 2, 3].map(|$i| { id: type::record('t', rand::id()) })`, false},
	} {
		var begins []string
		for range 2 {
			res := run(t, s, tc.text)
			ids := map[string]bool{}
			begin, alike := "", true
			for _, row := range res[len(res)-1].Value.Elems() {
				id, _ := row.Object().Get("id")
				_, key, _ := strings.Cut(id.Text(), ":")
				key = strings.Trim(key, "⟨⟩`")
				if ids[key] || len(key) != 20 {
					t.Errorf("%s: key %s", tc.text, key)
				}
				if begin == "" {
					begin = key[:7]
				}
				alike = alike && begin == key[:7]
				ids[key] = true
			}
			if len(ids) < 3 && tc.alike || len(ids) < 2 || alike != tc.alike {
				t.Errorf("%s: %d ids begin alike: %t", tc.text, len(ids), alike)
			}
			begins = append(begins, begin)
		}
		if tc.alike && begins[0] == begins[1] {
			t.Errorf("%s: two statements begin with %s", tc.text, begins[0])
		}
	}
}
