package engine_test

import (
	"fmt"
	"strings"
	"testing"
)

// everyKind are values of every kind that a record can hold, with those at their edges: each of them as a literal.
var everyKind = []string{
	"NONE", "NULL", "false", "true",
	"0", "-1", "1", "9223372036854775807", "-9223372036854775808", "9007199254740993", "2",
	"0f", "-0f", "1f", "1.5f", "9007199254740992f", "1e300f", "-1e300f", "math::inf", "math::neg_inf", "NaN", "0.1f",
	"0dec", "1dec", "1.0dec", "1.5dec", "0.1dec", "9007199254740993dec", "79228162514264337593543950335dec", "1.0000000000000000000000000001dec",
	"''", "'a'", "'A'", "'ab'", "'a\\0'", "'a\\0b'", "'é'", "'1'", "'t:1'", "'[0]'", "'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'", "'2024-01-01T00:00:00Z'",
	"0ns", "1ns", "1s", "1w", "d'2024-01-01T00:00:00Z'", "d'2024-01-01T00:00:00.000000001Z'", "d'0001-01-01T00:00:00Z'", "d'1969-12-31T23:59:59Z'",
	"u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'", "u'00000000-0000-0000-0000-000000000000'",
	"[]", "[NONE]", "[1]", "[1, 2]", "[1f]", "['a']", "[[1]]", "{,}", "{1,}", "{1, 2}",
	"{}", "{ a: 1 }", "{ a: 1f }", "{ b: 1 }", "(1, 2)", "(1.5, 2)", "{ type: 'LineString', coordinates: [[1, 2], [3, 4]] }",
	"<bytes> ''", "<bytes> 'a'", "<bytes> 'ab'", "type::table('t')", "t:1", "t:a", "t:⟨1⟩", "u:1", "t:[1]", "t:{ a: 1 }", "f'b:/k'", "/a/", "/b+/",
	"1..2", "1..=2", "..2", "'a'..'b'",
}

// TestIndexesKnowEveryKind compares every value with every other one, by every operator that an index answers: with an index,
// with a unique one, with one of two fields, and without. The rows, and how many they are said to be, must be the same.
func TestIndexesKnowEveryKind(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "DEFINE INDEX n ON one FIELDS n; DEFINE INDEX o ON one FIELDS o.n; DEFINE INDEX mn ON two FIELDS m, n")
	for i, v := range everyKind {
		for _, table := range []string{"plain", "one", "two"} {
			run(t, s, fmt.Sprintf("CREATE %[1]s:%[2]d SET n = %[3]s, m = %[2]d %% 3, o.n = %[3]s", table, i, v))
		}
	}
	ask := func(text string) string {
		out, err := s.Execute(t.Context(), text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if out[0].Err != nil {
			return out[0].Err.Error()
		}
		return strings.NewReplacer("plain:", "", "one:", "", "two:", "").Replace(out[0].Value.Text())
	}
	found := 0
	for _, v := range everyKind {
		for _, where := range []string{"n = %s", "n == %s", "n < %s", "n <= %s", "n > %s", "n >= %s", "n IN [%s, 1]", "n >= %s AND n < 'b'", "n > 0 AND n <= %s", "o.n = %s", "o.n <= %s", "n CONTAINS %s"} {
			cond := fmt.Sprintf(where, v)
			for _, m := range []string{"", "m = 1 AND "} {
				table := "one"
				if m != "" {
					table = "two"
				}
				want := ask("SELECT VALUE id FROM plain WHERE " + m + "(" + cond + ") ORDER BY id")
				if got := ask("SELECT VALUE id FROM " + table + " WHERE " + m + "(" + cond + ") ORDER BY id"); got != want {
					t.Errorf("%s%s: with an index %s, without %s", m, cond, got, want)
				}
				if want != "[]" {
					found++
				}
				want = ask("SELECT count() FROM plain WHERE " + m + "(" + cond + ") GROUP ALL")
				if got := ask("SELECT count() FROM " + table + " WHERE " + m + "(" + cond + ") GROUP ALL"); got != want {
					t.Errorf("%s%s: counted with an index %s, without %s", m, cond, got, want)
				}
			}
		}
	}
	if found < 10*len(everyKind) {
		t.Errorf("only %d queries found something", found)
	}
}
