package engine_test

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// TestTransactionIsBounded: a statement whose writes take more than a transaction may is refused, and leaves nothing; in
// smaller parts it goes through.
func TestTransactionIsBounded(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Limits: engine.Limits{TxBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	s := e.RootSession()
	place := "main"
	if err := s.Use(t.Context(), &place, &place); err != nil {
		t.Fatal(err)
	}
	ask := func(text string) string {
		t.Helper()
		rs, err := s.Execute(t.Context(), text, nil)
		if err != nil {
			t.Fatal(err)
		}
		last := rs[len(rs)-1]
		if last.Err != nil {
			return last.Err.Error()
		}
		return last.Value.Text()
	}
	const count = "RETURN count(SELECT VALUE id FROM t)"
	for range 10 {
		if got := ask("CREATE |t:2000| RETURN NONE; " + count); strings.Contains(got, "large") {
			t.Fatal(got)
		}
	}
	for _, text := range []string{"DELETE t", "UPDATE t SET n = 1 RETURN NONE", "DELETE t WHERE id != NONE"} {
		if got, want := ask(text), "The transaction is too large: write in smaller parts"; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		if got := ask(count); got != "20000" {
			t.Errorf("%s has left %s records", text, got)
		}
	}
	for range 10 {
		if got := ask("DELETE (SELECT VALUE id FROM t LIMIT 2000)"); got != "[]" {
			t.Fatal(got)
		}
	}
	if got := ask(count); got != "0" {
		t.Errorf("%s records are left", got)
	}
}
