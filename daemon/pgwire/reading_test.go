package pgwire_test

import (
	"strings"
	"testing"
)

// A text of many statements is read once, and statements that begin or end anywhere in a part that is read are the
// same.
func TestTextsOfManyStatements(t *testing.T) {
	addr, _ := start(t, unauthenticated)
	f := login(t, addr)
	const n = 20_000
	got := f.ask(strings.Repeat("RETURN 1;", n) + `RETURN "$1"`)
	if all := strings.Count(got, " D[1] C("); all != n || !strings.Contains(got, "D[$1]") {
		t.Errorf("%d answers of %d; the end: %s", all, n, got[max(0, len(got)-200):])
	}
	for pad := 440; pad < 520; pad++ {
		text := "RETURN /*" + strings.Repeat("é", pad/2) + strings.Repeat(";", pad%2) +
			"*/ \"a;ö\"; RETURN [1, 2] /* ; */; RETURN `$1` ?? 'none;'; RETURN 100"
		got := f.ask(text)
		if strings.Count(got, " C(") != 4 || !strings.Contains(got, "D[a;ö]") || !strings.Contains(got, "D[none;]") ||
			!strings.Contains(got, "D[100]") {
			t.Fatalf("%d: %s", pad, got)
		}
	}
	long := strings.Repeat("x", 100_000)
	got = f.ask("RETURN string::len('" + long + ";'); RETURN 2")
	if !strings.Contains(got, "D[100001]") || !strings.Contains(got, "D[2]") {
		t.Errorf("a long statement: %s", got)
	}
	if got := f.ask("RETURN 1; RETURN '" + long); !strings.Contains(got, "E!42601") {
		t.Errorf("a text that does not end: %s", got)
	}
}
