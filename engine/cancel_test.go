package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
)

// TestStatementsStopWithTheirContext: the end of its context ends a statement in every kind of work.
func TestStatementsStopWithTheirContext(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, "INSERT INTO t (SELECT VALUE { id: $this, n: $this } FROM <array> 0..2000) RETURN NONE;"+
		"DEFINE FUNCTION fn::spin() { FOR $i IN 0..1000000000 { } }")
	for _, text := range []string{
		"FOR $i IN 0..1000000000 { }",
		"FOR $i IN 0..100000 { FOR $j IN 0..100000 { FOR $k IN 0..100000 { } } }",
		"RETURN fn::spin()",
		"SLEEP 1h",
		"RETURN sleep(1h)",
		"RETURN (<array> 0..1000000).map(|$x| { FOR $i IN 0..1000000 { } })",
		"SELECT (SELECT VALUE n FROM t WHERE n > $parent.n) FROM t",
		"SELECT count() FROM t WHERE { FOR $i IN 0..1000000000 { }; true } GROUP ALL",
		"SELECT n FROM t ORDER BY n LIMIT (SELECT VALUE { FOR $i IN 0..1000000000 { }; 1 } FROM ONLY t:1)",
		"UPDATE t SET m = (SELECT VALUE math::sum(n) FROM t GROUP ALL)",
		"LET $x = { FOR $i IN 0..1000000000 { } }",
	} {
		ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		begin := time.Now()
		res, err := s.Execute(ctx, text, nil)
		spent := time.Since(begin)
		stop()
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if res[0].Err == nil {
			t.Errorf("%s: it came to its end in %v", text, spent)
		}
		if spent > 10*time.Second { // generous: the machine may be busy
			t.Errorf("%s: it took %v to stop", text, spent)
		}
	}
}

func TestTimeoutsNameTheirLimit(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "CREATE t:1")
	for text, want := range map[string]string{
		"SELECT sleep(1h) FROM t TIMEOUT 10ms":                "The query was not executed because it exceeded the timeout: 10ms",
		"SELECT * FROM t TIMEOUT 0s":                          "The query was not executed because it exceeded the timeout: 0ns",
		"UPDATE t SET n = sleep(1h) TIMEOUT 20ms":             "The query was not executed because it exceeded the timeout: 20ms",
		"RETURN (SELECT VALUE sleep(1h) FROM t TIMEOUT 10ms)": "The query was not executed because it exceeded the timeout: 10ms",
	} {
		res := run(t, s, text, allowErrors)
		if res[0].Err == nil || res[0].Err.Msg != want {
			t.Errorf("%s: got %v, want %s", text, res[0].Err, want)
		}
	}
	if got := run(t, s, "SELECT VALUE id FROM t TIMEOUT 1h; SELECT VALUE id FROM t")[1].Value.Text(); got != "[t:1]" {
		t.Errorf("after a timeout that did not pass: %s", got)
	}
}

// TestTheDeadlineOfTheCallerIsNamed: a statement that the caller's context ended says so, not that it took longer than a
// TIMEOUT that the statement does not have; a context with a cause, as the daemon's have, is answered by that cause.
func TestTheDeadlineOfTheCallerIsNamed(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Limits: engine.Limits{QueryTimeout: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close(context.Background()) }()
	const passed = "The query was not executed because the deadline of its caller passed"
	for _, s := range []*engine.Session{owner(t, openQuiet(t)), owner(t, e)} {
		for _, text := range []string{"SLEEP 1h", "SELECT sleep(1h) FROM 1 TIMEOUT 2h", "CREATE t SET n = sleep(1h)", "BEGIN; SLEEP 1h; COMMIT"} {
			ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
			res, err := s.Execute(ctx, text+"; RETURN 1", nil)
			stop()
			if err != nil {
				t.Fatal(err)
			}
			named := false
			for _, r := range res {
				if r.Err != nil && (r.Err.Msg == "An internal error occurred" || strings.Contains(r.Err.Msg, "exceeded the timeout")) {
					t.Errorf("%s: %v", text, r.Err)
				}
				named = named || r.Err != nil && r.Err.Msg == passed && errors.Is(r.Err, context.DeadlineExceeded) && r.Err.Detail.Kind == "TimedOut"
			}
			if !named {
				t.Errorf("%s: got %v", text, res)
			}
		}
		ctx, stop := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, errs.Thrown("enough"))
		if res, _ := s.Execute(ctx, "SLEEP 1h", nil); res[0].Err == nil || res[0].Err.Msg != "An error occurred: enough" {
			t.Errorf("with a cause: got %v", res[0].Err)
		}
		stop()
	}
}

func TestDeepRecursionIsAnError(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "DEFINE FUNCTION fn::a($n: int) { RETURN fn::b($n + 1) }; DEFINE FUNCTION fn::b($n: int) { RETURN fn::a($n + 1) }")
	for _, text := range []string{
		"RETURN fn::a(1)",
		"LET $f = |$f| $f($f); RETURN $f($f)",
		"RETURN " + strings.Repeat("(SELECT VALUE $this FROM ", 5) + "1" + strings.Repeat(")", 5) + "; RETURN fn::a(2)",
	} {
		res := run(t, s, text, allowErrors)
		if last := res[len(res)-1]; last.Err == nil || !strings.HasPrefix(last.Err.Msg, "Reached excessive computation depth") {
			t.Errorf("%s: got %v", text, last)
		}
	}
}

// TestGrowthIsBounded: values that double with each turn stop at a limit, not at the end of memory.
func TestGrowthIsBounded(t *testing.T) {
	s := owner(t, openQuiet(t))
	for _, text := range []string{
		"RETURN (<array> 0..100).fold('x', |$a, $b| $a + $a)",
		"RETURN (<array> 0..100).fold([1], |$a, $b| $a + $a)",
		"RETURN <array> 0..1000000000000",
		"RETURN |t:1..1000000000000|",
		"CREATE |t:1000000000000|",
	} {
		if res := run(t, s, text, allowErrors); res[0].Err == nil {
			t.Errorf("%s: %s", text, engineText(res))
		}
	}
}

func engineText(res []engine.Result) string {
	text := res[0].Value.Text()
	if len(text) > 100 {
		return text[:100]
	}
	return text
}

// TestTransactionsEndInTime: a transaction holds what it sees for as long as the limit says, whether anybody asks for it or not.
func TestTransactionsEndInTime(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{Unauthenticated: true, Log: slog.New(slog.DiscardHandler),
		Limits: engine.Limits{TxTimeout: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, e)
	s := owner(t, e)
	run(t, s, "CREATE t:1 SET n = 1")

	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Execute(t.Context(), "UPDATE t:1 SET n = 2", nil); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); e.Stats().Snapshots > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody asks for it, and it stays open")
		}
	}
	if err := tx.Commit(t.Context()); err == nil || err.Error() != "The transaction has run out of time" || !tx.Late() {
		t.Errorf("commit: %v", err)
	}

	if tx, err = s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := tx.Execute(t.Context(), "UPDATE t:1 SET n = 3; SLEEP 1h", nil)
	if err != nil || res[1].Err == nil || res[1].Err.Msg != "The transaction has run out of time" {
		t.Errorf("a statement that takes longer: %v, %v", res, err)
	}
	if _, err := tx.Execute(t.Context(), "RETURN 1", nil); err == nil {
		t.Error("it goes on afterwards")
	}

	for _, text := range []string{"BEGIN; UPDATE t:1 SET n = 4; SLEEP 1h; COMMIT", "UPDATE t:1 SET n = sleep(1h)", "SELECT sleep(1h) FROM t"} {
		failed := ""
		for _, r := range run(t, s, text, allowErrors) {
			if r.Err != nil && strings.Contains(r.Err.Msg, "exceeded the timeout: 50ms") {
				failed = r.Err.Msg
			}
		}
		if failed == "" {
			t.Errorf("%s: it did not end in time", text)
		}
	}
	if got := one(t, s, "RETURN t:1.n"); got != "1" {
		t.Errorf("n is %s", got)
	}
}
