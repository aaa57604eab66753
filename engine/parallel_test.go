package engine_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// TestSharedScans: a walk that all processors share gives the rows of one that does not, in the same order, ends where a
// LIMIT ends it, and fails at the row at which the other fails.
func TestSharedScans(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, "DEFINE TABLE t; FOR $i IN 0..5000 { CREATE type::record('t', $i) SET n = $i, g = $i % 7, o = { x: $i % 3 }, l = type::record('u', $i % 2) };"+
		"CREATE u:0 SET x = 1; UPDATE t:4000 SET n = 'a', o = u:0")
	other, stop := e.SharedEarly()
	defer stop()
	shared := owner(t, other)
	for _, q := range []string{
		"SELECT * FROM t WHERE g = 3",
		"SELECT * FROM t WHERE g = 3 AND n > 100 ORDER BY id DESC",
		"SELECT VALUE id FROM t WHERE g != 3 LIMIT 5 START 300",
		"SELECT VALUE id FROM t WHERE o.x = 1",
		"SELECT VALUE id FROM t WHERE n * 2 > 100 LIMIT 100",
		"SELECT VALUE id FROM t WHERE n * 2 > 100",
		"SELECT g, count() FROM t WHERE n > 5 GROUP BY g",
		"SELECT VALUE id FROM t WHERE g = 2 AND (SELECT VALUE x FROM ONLY u:0) = 1",
		"SELECT VALUE (SELECT VALUE id FROM t WHERE g = $parent.x AND n < 20) FROM u:0",
		"SELECT VALUE id FROM (SELECT * FROM t WHERE g = 1), t WHERE n < 3000",
	} {
		want, got := run(t, s, q, allowErrors)[0], run(t, shared, q, allowErrors)[0]
		if (want.Err == nil) != (got.Err == nil) || want.Err != nil && want.Err.Msg != got.Err.Msg {
			t.Errorf("%s: got error %v, want %v", q, got.Err, want.Err)
			continue
		}
		if want.Value.Text() != got.Value.Text() {
			t.Errorf("%s: another answer", q)
		}
	}
}

// TestSharedScansEnd: a walk that is cut off leaves no worker behind.
func TestSharedScansEnd(t *testing.T) {
	e := openQuiet(t)
	run(t, owner(t, e), "FOR $i IN 0..3000 { CREATE type::record('t', $i) SET n = $i }")
	other, stop := e.SharedEarly()
	defer stop()
	s := owner(t, other)
	plan := run(t, s, "EXPLAIN ANALYZE SELECT * FROM t WHERE n >= 0")[0].Value.Str()
	if runtime.GOMAXPROCS(0) > 1 && !strings.Contains(plan, "processors: ") {
		t.Fatalf("the walk is not shared:\n%s", plan)
	}
	before := runtime.NumGoroutine()
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Execute(ctx, "SELECT * FROM t WHERE n >= 0", value.NewObject())
		}()
		cancel()
		<-done
		run(t, s, "SELECT * FROM t WHERE n >= 0 LIMIT 20")
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left of %d", runtime.NumGoroutine(), before)
		}
	}
}
