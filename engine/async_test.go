package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

func TestAsyncEventsRunAfterTheCommit(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, `DEFINE TABLE t; DEFINE TABLE log;
		DEFINE EVENT e ON t ASYNC WHEN $event = 'CREATE' THEN { CREATE log SET of = $after.id };
		CREATE t:1; UPDATE t:1 SET x = 1`)
	if _, err := s.Execute(context.Background(), "BEGIN; CREATE t:2; CANCEL", nil); err != nil {
		t.Fatal(err)
	}
	waitFor(t, s, "SELECT VALUE of FROM log", "[t:1]")
}

// TestAsyncEventsStopAtTheirDepth: each log row would make another one.
func TestAsyncEventsStopAtTheirDepth(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, `DEFINE TABLE log; DEFINE EVENT e ON log ASYNC MAXDEPTH 2 THEN { CREATE log }; CREATE log`)
	waitFor(t, s, "SELECT VALUE count FROM (SELECT count() FROM log GROUP ALL)", "[3]")
}

// waitFor asks until the answer is want, for two seconds at most.
func waitFor(t *testing.T, s *engine.Session, text, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	got := ""
	for tick := time.NewTicker(time.Millisecond); ; {
		if res := run(t, s, text); res[0].Value.Text() == want {
			tick.Stop()
			return
		} else {
			got = res[0].Value.Text()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: got %s, want %s", text, got, want)
		}
	}
}
