package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// rowOf waits until a list of Processes has a row whose text or id contains want.
func rowOf(t *testing.T, s *engine.Session, list, want string) *value.Object {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		v, err := s.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := v.Object().Get(list)
		for _, r := range rows.Elems() {
			if strings.Contains(r.Text(), want) {
				return r.Object()
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %q among the %s: %s", want, list, v.Text())
		}
	}
}

// testPlace is a session of the root owner in a database that it makes.
func testPlace(t *testing.T, e *engine.Engine) *engine.Session {
	t.Helper()
	s, name := e.RootSession(), "test"
	if err := s.Use(t.Context(), &name, &name); err != nil {
		t.Fatal(err)
	}
	return s
}

func field(o *value.Object, name string) string {
	v, _ := o.Get(name)
	return value.ToString(v)
}

// TestStatementsCanBeStopped: a statement of every interface is listed while it runs, and Terminate ends it.
func TestStatementsCanBeStopped(t *testing.T) {
	e := openQuiet(t)
	s := testPlace(t, e)
	root := e.RootSession()
	runAll(t, s, "DEFINE TABLE t; DEFINE FUNCTION fn::wait() { sleep(1h) }")
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fails := func(res []engine.Result, err error) error {
		if err == nil && len(res) > 0 && res[0].Err != nil {
			return res[0].Err
		}
		return err
	}
	for name, run := range map[string]func(ctx context.Context) error{
		"query":    func(ctx context.Context) error { return fails(s.Execute(ctx, "sleep(1h); CREATE t:late", nil)) },
		"function": func(ctx context.Context) error { _, err := s.Call(ctx, "fn::wait", nil); return err },
		"import": func(ctx context.Context) error {
			_, err := s.Import(ctx, strings.NewReader("sleep(1h);"), engine.ImportOptions{})
			return err
		},
		"transaction": func(ctx context.Context) error { return fails(tx.Execute(ctx, "sleep(1h)", nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() { done <- run(context.Background()) }()
			kind := name
			if kind == "transaction" {
				kind = "query"
			}
			row := rowOf(t, root, "statements", "kind: '"+kind+"'")
			if what, err := root.Terminate(t.Context(), field(row, "id")); what != "statement" || err != nil {
				t.Fatal(what, err)
			}
			err := <-done
			if err == nil || !strings.Contains(errs.As(err).Msg, "stopped by an operator") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	if res := runAll(t, s, "SELECT * FROM ONLY t:late")[0].Value; !res.IsNone() {
		t.Errorf("the text went on after its stop: %s", res.Text())
	}
	if err := tx.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if v, _ := root.Processes(t.Context()); !strings.Contains(v.Text(), "statements: []") {
		t.Errorf("what has ended is listed: %s", v.Text())
	}
}

// TestSessionsCanBeEnded: with their statements, transactions and live queries, and for good.
func TestSessionsCanBeEnded(t *testing.T) {
	e := openQuiet(t)
	root := e.RootSession()
	s := testPlace(t, e)
	t.Cleanup(s.Close)
	ended := make(chan struct{})
	s.Notify(func(*engine.Notification) error { return nil })
	s.Show(func() { close(ended) })
	runAll(t, s, "DEFINE TABLE t")
	runAll(t, s, "LIVE SELECT * FROM t WHERE name = 'hush'")
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		res, err := tx.Execute(context.Background(), "sleep(1h)", nil)
		if err == nil {
			err = res[0].Err
		}
		done <- err
	}()
	id := s.ID().String()
	rowOf(t, root, "statements", "sleep")
	if row := rowOf(t, root, "sessions", id); field(row, "live") != "1" || field(row, "transactions") != "1" || field(row, "statements") != "1" {
		t.Errorf("the session: %v", row)
	}
	if row := rowOf(t, root, "live", id); strings.Contains(field(row, "text"), "hush") || field(row, "database") != "test" {
		t.Errorf("the live query: %v", row)
	}
	rowOf(t, root, "transactions", tx.ID().String())
	if what, err := root.Terminate(t.Context(), id); what != "session" || err != nil {
		t.Fatal(what, err)
	}
	<-ended
	if err := <-done; err == nil {
		t.Error("the statement ended well")
	}
	if err := tx.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), "ended by an operator") {
		t.Errorf("the transaction: %v", err)
	}
	if _, err := s.Execute(t.Context(), "RETURN 1", nil); err == nil || !strings.Contains(err.Error(), "ended by an operator") {
		t.Errorf("the session goes on: %v", err)
	}
	if n := e.Stats().LiveQueries; n != 0 {
		t.Errorf("%d live queries are left", n)
	}
	if _, err := root.Terminate(t.Context(), tx.ID().String()); errs.As(err).Kind != errs.KindNotFound {
		t.Errorf("the transaction a second time: %v", err)
	}
}

// TestTheListIsSafe looks at queries while they come and go; run it with -race.
func TestTheListIsSafe(t *testing.T) {
	e := openQuiet(t)
	root := e.RootSession()
	testPlace(t, e)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s := e.SessionAs(root.Principal(), "test", "test")
			for range 100 {
				if res, err := s.Execute(context.Background(), "CREATE t SET n = 1; SELECT * FROM t LIMIT 10", nil); err != nil || res[1].Err != nil {
					t.Error(err, res)
				}
			}
		})
	}
	stop := make(chan struct{})
	go func() { all.Wait(); close(stop) }()
	for {
		if _, err := root.Processes(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}
