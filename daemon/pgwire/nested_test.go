package pgwire_test

import (
	"strings"
	"testing"
)

// TestNestedOperands: an operand that is compared with several values is evaluated once. Evaluated for each of them,
// those of 40 levels would never end.
func TestNestedOperands(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	for _, tc := range []struct{ inner, around, want string }{
		{"(1 = 1)", "(# IN (false, true))", "t"},
		{"(1 = 1)", "(# BETWEEN true AND true)", "t"},
		{"(1 = 1)", "(CASE # WHEN false THEN true WHEN true THEN true END)", "t"},
		{"1", "(# BETWEEN SYMMETRIC 2 AND 0)::int", "1"},
		{"1", "(1 BETWEEN SYMMETRIC 2 AND #)::int", "1"},
		{"1", "((#, 1) IN ((2, 3), (1, 1)))::int", "1"},
	} {
		x := tc.inner
		for range 40 {
			x = strings.Replace(tc.around, "#", x, 1)
		}
		if got := f.answer("SELECT " + x); !strings.Contains(got, "D["+tc.want+"]") {
			t.Errorf("%s: %s", tc.around, got)
		}
	}
}
