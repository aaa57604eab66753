package engine_test

import (
	"fmt"
	"testing"
)

// TestInsertedRowsAreCounted: the number of rows that is kept of a table is that of its records, however INSERT came by
// them, and the records are those that were written out.
func TestInsertedRowsAreCounted(t *testing.T) {
	const rows = "INTO a [{ id: 1, n: 1 }, { n: 2 }, { id: a:3, n: 3 }, { id: b:4, n: 4 }, { n: 5, id: 'x' }]"
	const list = "INSERT " + rows
	const ignore = "INSERT IGNORE " + rows + " RETURN NONE"
	for _, tc := range []struct{ setup, text, a, b string }{
		{"", list + " RETURN NONE", "5", "0"},
		{"", list, "5", "0"},
		{"", list + " RETURN (SELECT count() FROM a GROUP ALL)[0].count AS n", "5", "0"},
		{"", "INSERT [{ id: a:1 }, { id: b:1 }, { id: b:2 }, { id: a:2 }, { id: a:3 }] RETURN NONE", "3", "2"},
		{"CREATE a:3", ignore, "5", "0"},
		{"CREATE a:3", list + " RETURN NONE", "1", "0"},
		{"CREATE a:3", "BEGIN; INSERT INTO a { n: 0 } RETURN NONE; " + list + " RETURN NONE; COMMIT", "1", "0"},
		{"CREATE a:3", list + " RETURN NONE; " + list + " ON DUPLICATE KEY UPDATE n += 1 RETURN NONE", "5", "0"},
		{"CREATE a:3", list + " ON DUPLICATE KEY UPDATE n = (SELECT count() FROM a GROUP ALL)[0].count RETURN NONE",
			"5", "0"},
		{"DEFINE EVENT e ON a THEN { INSERT INTO b { n: 1 } RETURN NONE }", list + " RETURN NONE", "5", "5"},
		{"DEFINE INDEX u ON a FIELDS n UNIQUE; CREATE a SET n = 5", ignore, "5", "0"},
		{"DEFINE FIELD n ON a TYPE int DEFAULT 7", "INSERT INTO a [{ id: 1 }, { n: 2 }] RETURN NONE", "2", "0"},
		{"DEFINE TABLE OVERWRITE a DROP", list + " RETURN NONE", "0", "0"},
		{"", "OPTION IMPORT; " + list, "5", "0"},
	} {
		s := owner(t, openQuiet(t))
		run(t, s, "DEFINE TABLE a; DEFINE TABLE b; "+tc.setup)
		saidOf(t, s, tc.text)
		for table, want := range map[string]string{"a": tc.a, "b": tc.b} {
			text := fmt.Sprintf("RETURN [(SELECT count() FROM %[1]s GROUP ALL)[0].count ?? 0, "+
				"array::len((SELECT * FROM %[1]s))]", table)
			if got := saidOf(t, s, text)[0]; got != fmt.Sprintf("return [%s, %[1]s]", want) {
				t.Errorf("%s; %s: %s of %s", tc.setup, tc.text, got, table)
			}
		}
	}
	s := owner(t, openQuiet(t))
	run(t, s, "DEFINE TABLE a")
	saidOf(t, s, list+" RETURN NONE")
	got := saidOf(t, s, "RETURN (SELECT VALUE { id: IF n == 2 { 'any' } ELSE { id }, n: n } FROM a ORDER BY n)")[0]
	want := "return [{ id: a:1, n: 1 }, { id: 'any', n: 2 }, { id: a:3, n: 3 }, { id: a:4, n: 4 }, { id: a:x, n: 5 }]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
