package engine_test

import (
	"runtime"
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

// TestTransactionHoldsRecordsOnce: what it writes is in memory as it will be stored, and not beside that as the statements
// made it.
func TestTransactionHoldsRecordsOnce(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	s := owner(t, e)
	run(t, s, "DEFINE TABLE t")
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	const payload = 400 * 100_000
	for _, text := range []string{
		"FOR $i IN 0..400 { CREATE type::record('t', $i) SET x = string::repeat('abcdefghij', 10000), i = $i RETURN NONE }",
		"UPDATE t:1 SET i = 'one' RETURN NONE",
	} {
		if rs, err := tx.Execute(t.Context(), text, nil); err != nil || rs[0].Err != nil {
			t.Fatal(err, rs)
		}
	}
	if held := heap() - before; held < payload || held > payload*5/4 {
		t.Errorf("a transaction that writes %d bytes holds %d", payload, held)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := run(t, s, "RETURN [t:0.x.len(), t:1.i, t:399.i]")[0].Value.Text(); got != "[100000, 'one', 399]" {
		t.Error(got)
	}
}

// TestRemoveInsideIsBounded: a table that is removed inside of a transaction may have more keys than the transaction may
// write.
func TestRemoveInsideIsBounded(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Limits: engine.Limits{TxBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	s := owner(t, e)
	for range 13 {
		run(t, s, "CREATE |t:2000| RETURN NONE")
	}
	run(t, s, "BEGIN; CREATE u:1; REMOVE TABLE t; CREATE t:1; COMMIT")
	if got := run(t, s, "RETURN [u:1.exists(), (SELECT VALUE id FROM t)]")[0].Value.Text(); got != "[true, [t:1]]" {
		t.Error(got)
	}
}
