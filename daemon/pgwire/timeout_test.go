package pgwire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// cubeOf12 are the elements of the largest CUBE.
const cubeOf12 = "v, v % 2, v % 3, v % 4, v % 5, v % 6, v % 7, v % 8, v % 9, v % 10, v % 11, v % 12"

// endless are statements that do not end by themselves, or not soon.
var endless = []string{"SLEEP 1h", "SELECT pg_sleep(3600)",
	"WITH RECURSIVE q(i) AS (SELECT 1 UNION ALL SELECT 1 FROM q) SELECT count(*) FROM q a, q b",
	"SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
	"SELECT sum(v::float8) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM generate_series(1, 500000) v",
	"SELECT array_agg(v) OVER (ORDER BY v ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM generate_series(1, 500000) v",
	"SELECT stddev(v) OVER w, corr(v, v) OVER w " +
		"FROM generate_series(1, 500000) v WINDOW w AS (ORDER BY v ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
	"SELECT count(r.a) FROM (SELECT jsonb_agg(jsonb_build_object('a', v)) AS j FROM generate_series(1, 1000) v) q, " +
		"generate_series(1, 1000000) x, jsonb_to_recordset(q.j) AS r(a int)",
	"UPDATE item SET (n) = (SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b)",
	"UPDATE item SET n = (SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b)",
	"SELECT min(w) FROM (SELECT count(*) AS w FROM generate_series(1, 1000000) v GROUP BY CUBE(" + cubeOf12 + ")) q",
	"COPY (SELECT a.* FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a.a < 0) TO STDOUT"}

// statement_timeout ends a statement of either language, by itself and in a block, and not the connection.
func TestStatementTimeout(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; CREATE item:1 SET n = 1")
	f := login(t, addr)
	_ = f.conn.SetDeadline(time.Now().Add(2 * time.Minute))
	f.want("SET dialect = 'sql'; SET statement_timeout = '200ms'; SHOW statement_timeout",
		"C(SET) C(SET) T[statement_timeout:25] D[200ms] C(SHOW) ZI")
	for _, text := range endless {
		if got := f.ask(text); !strings.HasSuffix(got, "E!57014 ZI") {
			t.Errorf("%s: %s", text, got)
		}
		f.send(parse("", text), bind("", ""), execute("", 0), sync)
		if got := f.read(1); !strings.HasSuffix(got, "E!57014 ZI") {
			t.Errorf("%s, prepared: %s", text, got)
		}
	}
	f.want("BEGIN; UPDATE item SET n = 2", "C(BEGIN) C(UPDATE 1) ZT")
	if got := f.ask(endless[0]); got != "E!57014 ZE" {
		t.Errorf("in a block: %s", got)
	}
	f.want("SELECT n FROM item", "E!25P02 ZE")
	f.want("ROLLBACK; SELECT n FROM item", "C(ROLLBACK) T[n:20] D[1] C(SELECT 1) ZI")
	f.want("SET statement_timeout = 0; SLEEP 300ms", "C(SET) C(SLEEP) ZI")
	f.want("BEGIN; SET LOCAL statement_timeout = 50; COMMIT; SLEEP 100ms", "C(BEGIN) C(SET) C(COMMIT) C(SLEEP) ZI")
	f.want("SET statement_timeout = 'soon'", "E!22023 ZI")
}

// A client that says nothing in a transaction, or at all, is sent away, and its transaction is undone.
func TestIdleTimeouts(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; CREATE item:1 SET n = 1")
	f := login(t, addr)
	f.want("SET dialect = 'sql'; SET idle_in_transaction_session_timeout = 300", "C(SET) C(SET) ZI")
	f.want("BEGIN; UPDATE item SET n = 2", "C(BEGIN) C(UPDATE 1) ZT")
	if got := f.read(1); got != "F!25P03 EOF" {
		t.Errorf("idle in a transaction: %s", got)
	}
	f = login(t, addr)
	f.want("SET dialect = 'sql'; SELECT n FROM item", "C(SET) T[n:20] D[1] C(SELECT 1) ZI")
	// The time does not run outside of transactions, nor while a statement does.
	f.want("SET idle_in_transaction_session_timeout = 200", "C(SET) ZI")
	time.Sleep(300 * time.Millisecond)
	f.want("BEGIN; SLEEP 400ms; COMMIT", "C(BEGIN) C(SLEEP) C(COMMIT) ZI")
	f.want("SET idle_session_timeout = 200", "C(SET) ZI")
	if got := f.read(1); got != "F!57P05 EOF" {
		t.Errorf("idle: %s", got)
	}
}

// cancelKey starts a session and gives what it can be cancelled by.
func cancelKey(t *testing.T, addr string) (*frames, func()) {
	t.Helper()
	f := dial(t, addr)
	_ = f.conn.SetDeadline(time.Now().Add(2 * time.Minute))
	f.write(startupPacket("user", "root", "database", "test/test", "options", "-c dialect=sql"))
	for {
		m, err := f.f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := m.(*pgproto3.BackendKeyData); ok {
			b, err := (&pgproto3.CancelRequest{ProcessID: k.ProcessID, SecretKey: k.SecretKey}).Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.read(1); got != "ZI" {
				t.Fatal(got)
			}
			return f, func() {
				g := dial(t, addr)
				g.write(string(b))
				if got := g.read(1); got != "EOF" {
					t.Errorf("a cancel request is answered: %s", got)
				}
			}
		}
	}
}

// Every kind of statement can be cancelled, in either flow, in a block, and while the client waits for what it has sent
// ahead.
func TestCancelOfEachKind(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, "DEFINE TABLE item SCHEMAFULL; DEFINE FIELD n ON item TYPE int; CREATE item:1 SET n = 1")
	f, cancel := cancelKey(t, addr)
	running := func() { // waits until the server is at work for the client
		t.Helper()
		g := login(t, addr)
		deadline := time.Now().Add(30 * time.Second)
		for g.ask("SELECT count(*) FROM pg_stat_activity WHERE state = 'active'") != "T[count:20] D[2] C(SELECT 1) ZI" {
			if time.Now().After(deadline) {
				t.Fatal("nothing runs")
			}
			time.Sleep(time.Millisecond)
		}
		_ = g.conn.Close()
	}
	// stopped cancels until n answers are there: a request that comes between two messages finds nothing to cancel.
	stopped := func(n int) string {
		got := make(chan string, 1)
		go func() { got <- f.read(n) }()
		for {
			cancel()
			select {
			case s := <-got:
				return s
			case <-time.After(2 * time.Second):
			}
		}
	}
	var longest time.Duration
	for _, text := range endless {
		f.send(&pgproto3.Query{String: text})
		running()
		begun := time.Now()
		if got := stopped(1); !strings.HasSuffix(got, "E!57014 ZI") {
			t.Errorf("%s: %s", text, got)
		}
		longest = max(longest, time.Since(begun))
		f.send(parse("", text), bind("", ""), execute("", 0), parse("", "SELECT 1"), bind("", ""), execute("", 0), sync,
			&pgproto3.Query{String: "SELECT 2"})
		running()
		if got := stopped(2); !strings.HasSuffix(got, "E!57014 ZI T[?column?:23] D[2] C(SELECT 1) ZI") {
			t.Errorf("%s, prepared: %s", text, got)
		}
	}
	t.Logf("at most %v from the request to the answer", longest)
	f.send(&pgproto3.Query{String: "BEGIN; UPDATE item SET n = 2; SLEEP 1h"})
	running()
	// The request may come while the UPDATE runs.
	if got := stopped(1); got != "C(BEGIN) C(UPDATE 1) E!57014 ZE" && got != "C(BEGIN) E!57014 ZE" {
		t.Errorf("in a block: %s", got)
	}
	f.want("SELECT 1", "E!25P02 ZE")
	f.want("ROLLBACK; SELECT n FROM item", "C(ROLLBACK) T[n:20] D[1] C(SELECT 1) ZI")
	cancel() // nothing runs: nothing happens
	f.want("SELECT 1", "T[?column?:23] D[1] C(SELECT 1) ZI")
}
