package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/value"
)

// insertRules are tables that rows go into, each with what an INSERT may end with.
var insertRules = []string{
	``,
	`DEFINE TABLE t SCHEMAFULL; DEFINE FIELD n ON t TYPE int DEFAULT 7; DEFINE FIELD o ON t TYPE object;
		DEFINE FIELD o.x ON t TYPE option<int> VALUE $value + 1; DEFINE FIELD o.y ON t TYPE option<string> READONLY;
		DEFINE FIELD l ON t TYPE option<array>; DEFINE FIELD OVERWRITE l.* ON t ASSERT $value != 13; DEFINE FIELD s ON t TYPE option<string>`,
	`DEFINE FIELD s ON t VALUE string::uppercase($value OR 'none'); DEFINE FIELD n ON t ASSERT $value != 3;
		DEFINE FIELD c ON t COMPUTED n * 2; DEFINE FIELD o.made ON t DEFAULT $input.n`,
	`DEFINE TABLE t SCHEMAFULL; DEFINE FIELD o ON t TYPE object FLEXIBLE; DEFINE FIELD l ON t TYPE array<any> DEFAULT []; DEFINE FIELD id ON t TYPE int | string`,
	`DEFINE TABLE seen; DEFINE TABLE t; DEFINE EVENT e ON t THEN (CREATE seen SET id = $after.id, was = $before, now = $after, put = $input, at = $event)`,
	`DEFINE TABLE t; DEFINE TABLE by_n AS SELECT n, count() AS c, math::sum(o.x) AS x FROM t GROUP BY n;
		DEFINE INDEX u ON t FIELDS s UNIQUE; DEFINE INDEX i ON t FIELDS l, o.x; DEFINE INDEX k ON t COUNT`,
	`DEFINE TABLE t DROP`,
	`DEFINE TABLE t CHANGEFEED 1h INCLUDE ORIGINAL`,
	`DEFINE TABLE t TYPE RELATION`,
}

var insertedRows = []string{
	`[{ id: 1, n: 1, s: 'a', o: { x: 1, y: 'y' }, l: [1, 2] }, { id: 2, n: 2, s: 'b', o: {}, l: [] }]`,
	`[{ id: t:1, n: 1, o: { x: 1 } }, { id: t:2, n: 3, o: { x: 2 } }, { n: 3.5, id: t:['a', 1.0], o: { x: 5 } }]`,
	`[{ s: 'x', n: 1, o: { z: 9 } }, { s: 'x', n: 2, o: {} }, { s: 'y', o: { x: NONE, y: NONE }, n: NONE }]`,
	`[{ o: { x: 1 }, id: 5, n: NONE, l: [13] }, { id: 5, n: 8, o: { x: 2 } }, { id: 'five', n: 8 }]`,
	`[{ id: 1.7, n: 1 }, { id: u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab', l: [NONE, { a: NONE, b: [{ c: NONE }] }] }]`,
	`[{ id: other:1, n: 1 }, { id: t:⟨x y⟩, d: 1.50dec, e: -0f, f: 1h30m, g: d'2024-01-01T00:00:00.5Z', h: b'00ff', i: 1..=5 }]`,
	`[{ id: 9, p: { type: 'Point', coordinates: [1, 2] }, q: (1, 2), r: t:1..5, u: {1, 2}, w: /a+/, n: NULL, s: 'é€😀' }]`,
	`[{ id: 3, b: 1, a: 2, b: 3 }, { b: 1, id: 4, a: 2 }, { a: 2, id: 6, c: 3, b: 1 }, {}, { b: 4, a: 5, b: 6, id: 7 }]`,
	`[{ id: 1, in: t:1, out: t:2, n: 1 }]`,
	`[{ id: true }]`, `[{ id: t:1..3 }]`, `[{ id: '' }]`, `[{ id: NONE, n: 4 }, { id: NULL }]`, `[{ id: t:{ a: 1, b: [2] } }, { n: 1 + 1 }]`,
	`[{ id: 1, n: 1, o: { a: { b: { c: { d: NONE, e: [[[1, { f: NONE }]]] } } } } }]`,
}

var insertEnds = []string{
	`RETURN AFTER`, `RETURN n, s, o.x, id`, `RETURN DIFF`, `RETURN NONE`,
	`ON DUPLICATE KEY UPDATE n = $input.n, was = $this, o.x = $input.o.x, l += $input.l RETURN AFTER`,
}

// TestInsertOfRowsInText: rows that are written out in a text, which the parser makes records of, do what the same rows
// do as the value of a parameter: in the answer, in what is stored, in what events and views make of it.
func TestInsertOfRowsInText(t *testing.T) {
	for k, rules := range insertRules {
		verbs := []string{"INSERT INTO", "INSERT IGNORE INTO"}
		if strings.Contains(rules, "RELATION") {
			verbs[1] = "INSERT RELATION INTO"
		}
		for i, rows := range insertedRows {
			for j, verb := range verbs {
				text := fmt.Sprintf("%s t %%s %s", verb, insertEnds[(i+j+k)%len(insertEnds)])
				written := insertOutcome(t, rules, "", fmt.Sprintf(text, rows))
				given := insertOutcome(t, rules, "LET $rows = "+rows+";", fmt.Sprintf(text, "$rows"))
				if written != given {
					t.Errorf("%s\n%s\nas written:\n%s\nas a parameter:\n%s", rules, fmt.Sprintf(text, rows), written, given)
				}
			}
		}
	}
}

// insertOutcome runs a text twice, and tells all that came of it; made ids are left out.
func insertOutcome(t *testing.T, rules, let, text string) string {
	s := owner(t, openQuiet(t))
	run(t, s, rules)
	var out strings.Builder
	for range 2 {
		res := run(t, s, let+text, allowErrors)
		r := res[len(res)-1]
		fmt.Fprintln(&out, r.Value.Text(), r.Err)
	}
	var lines []string
	for _, q := range []string{"SELECT * FROM t", "SELECT * FROM other", "SELECT * FROM seen", "SELECT * FROM by_n",
		"SELECT * FROM t WHERE l CONTAINS 1", "SELECT count() FROM t GROUP ALL", "SHOW CHANGES FOR TABLE t SINCE 0"} {
		r := run(t, s, q, allowErrors)[0]
		lines = append(lines, fmt.Sprintf("%s: %v", q, r.Err))
		if r.Value.Kind() != value.KindArray {
			continue
		}
		for _, row := range r.Value.Elems() {
			lines = append(lines, q+": "+madeID.ReplaceAllString(row.Text(), "made"))
		}
	}
	slices.Sort(lines) // ids that are made come in any order
	return madeID.ReplaceAllString(out.String(), "made") + strings.Join(lines, "\n")
}

// madeID is an id that was made for a record, or a stamp of a change.
var madeID = regexp.MustCompile(`\b[a-z]+:[a-z0-9]{20}\b|versionstamp: \d+`)
