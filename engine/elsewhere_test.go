//go:build linux || windows || cgo

package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// openServers opens engines on one prefix of a cluster, each with its registration.
func openServers(t *testing.T, n int) []*engine.Engine {
	c, prefix := stub.Shared(t)
	all := make([]*engine.Engine, n)
	for i := range all {
		st, err := tikv.Open(context.Background(), tikv.Options{PD: []string{c.PD}, Prefix: prefix,
			Counter: record.MayCount, Steady: catalog.Steady})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = openStore(t, st)
		if _, err := all[i].Join(t.Context(), engine.NodeInfo{Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestElsewhere: what runs on one server is listed by another one, with its server, and ends there when an owner at root
// level says so at a third; everybody else is refused as on one machine.
func TestElsewhere(t *testing.T) {
	all := openServers(t, 3)
	s := testPlace(t, all[1])
	t.Cleanup(s.Close)
	root := all[0].RootSession()
	runAll(t, s, "DEFINE TABLE t PERMISSIONS FULL; DEFINE USER v ON ROOT PASSWORD 'p' ROLES VIEWER;"+
		"DEFINE USER e ON ROOT PASSWORD 'p' ROLES EDITOR; DEFINE USER d ON DATABASE PASSWORD 'p' ROLES OWNER")
	done := make(chan error, 1)
	go func() { _, err := tryDo(s, "sleep(1h)"); done <- err }()
	row := rowOf(t, root, "statements", "sleep")
	nodes, _ := mustDo(t, root, "INFO FOR ROOT STRUCTURE").Object().Get("nodes")
	if node := field(row, "node"); !strings.Contains(nodes.Text(), node) || node == "" {
		t.Errorf("the server %q of the row is not among %s", node, nodes.Text())
	}
	id := field(row, "id")
	if number, _, marked := strings.Cut(id, "@"); !marked {
		t.Errorf("the id %q does not say where the statement runs", id)
	} else if _, err := root.Terminate(t.Context(), number); errs.As(err).Kind != errs.KindNotFound {
		t.Errorf("the number alone: %v", err)
	}
	// Who may not do it here may not do it there.
	signed := func(user string, place ...string) *engine.Session {
		u := all[2].Session()
		ns, db := "", ""
		if len(place) > 0 {
			ns, db = place[0], place[1]
		}
		if err := u.SigninBasic(t.Context(), user, "p", ns, db); err != nil {
			t.Fatal(err)
		}
		return u
	}
	for name, u := range map[string]*engine.Session{"nobody": all[2].Session(), "viewer": signed("v"), "editor": signed("e"),
		"owner of a database": signed("d", "test", "test")} {
		if _, err := u.Terminate(t.Context(), id); errs.As(err).Kind != errs.KindNotAllowed {
			t.Errorf("%s ends a statement of another server: %v", name, err)
		}
		if _, err := u.Processes(t.Context()); (err == nil) != (name == "viewer" || name == "editor") {
			t.Errorf("%s lists what runs: %v", name, err)
		}
	}
	select {
	case err := <-done:
		t.Fatalf("the statement ended: %v", err)
	default:
	}
	if what, err := all[2].RootSession().Terminate(t.Context(), id); what != "statement" || err != nil {
		t.Fatal(what, err)
	}
	if err := <-done; err == nil || !strings.Contains(errs.As(err).Msg, "stopped by an operator") {
		t.Errorf("it ended with %v", err)
	}
	if _, err := root.Terminate(t.Context(), id); errs.As(err).Kind != errs.KindNotFound {
		t.Errorf("a second time: %v", err)
	}

	ended := make(chan struct{})
	s.Notify(func(*engine.Notification) error { return nil })
	s.Show(func() { close(ended) })
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rowOf(t, root, "transactions", tx.ID().String())
	if what, err := root.Terminate(t.Context(), tx.ID().String()); what != "transaction" || err != nil {
		t.Error(what, err)
	}
	rowOf(t, root, "sessions", s.ID().String())
	if what, err := root.Terminate(t.Context(), s.ID().String()); what != "session" || err != nil {
		t.Error(what, err)
	}
	<-ended
	v, err := root.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	totals, _ := v.Object().Get("totals")
	if field(totals.Object(), "nodes") != "3" || field(totals.Object(), "silent") != "0" {
		t.Error(totals.Text())
	}
	for _, list := range []string{"statements", "transactions"} {
		if rows, _ := v.Object().Get(list); rows.Len() > 0 {
			t.Errorf("what has ended is listed: %s", rows.Text())
		}
	}
}

// TestLiveElsewhere: INFO FOR TABLE lists the live queries of other servers, and KILL ends one by the rules of one
// machine.
func TestLiveElsewhere(t *testing.T) {
	all := openServers(t, 2)
	s := testPlace(t, all[1])
	t.Cleanup(s.Close)
	told := make(chan *engine.Notification, 16)
	s.Notify(func(n *engine.Notification) error { told <- n; return nil })
	runAll(t, s, "DEFINE TABLE t PERMISSIONS FULL; DEFINE USER v ON ROOT PASSWORD 'p' ROLES VIEWER;"+
		"DEFINE USER d ON DATABASE PASSWORD 'p' ROLES OWNER; DEFINE DATABASE other; USE DB other;"+
		"DEFINE USER d ON DATABASE PASSWORD 'p' ROLES OWNER; USE DB test")
	id := runAll(t, s, "LIVE SELECT * FROM t")[0].Value.UUID().String()
	here := testPlace(t, all[0])
	for _, e := range all {
		if got := mustDo(t, testPlace(t, e), "(INFO FOR TABLE t).lives").Text(); !strings.Contains(got, id) {
			t.Errorf("INFO FOR TABLE: %s", got)
		}
	}
	kill := "KILL u'" + id + "'"
	for _, u := range []struct{ user, ns, db string }{{}, {user: "v"}, {"d", "test", "other"}} {
		for i, e := range all { // from elsewhere, and where it is
			o := e.Session()
			if u.user != "" {
				if err := o.SigninBasic(t.Context(), u.user, "p", u.ns, u.db); err != nil {
					t.Fatal(err)
				}
			}
			if u.user == "v" {
				mustDo(t, o, "USE NS test DB test")
			}
			if _, err := tryDo(o, kill); err == nil || u.user != "" && !strings.Contains(err.Error(), "Cannot execute KILL") {
				t.Errorf("%+v at server %d: %v", u, i, err)
			}
		}
	}
	if _, err := tryDo(here, "BEGIN; "+kill+"; THROW 'no'; COMMIT"); err == nil {
		t.Error("the transaction went through")
	}
	mustDo(t, here, "CREATE t:1")
	next := func() *engine.Notification {
		select {
		case n := <-told:
			return n
		case <-time.After(20 * time.Second):
			t.Fatal("nothing is told")
			return nil
		}
	}
	if n := next(); n.Action != "CREATE" {
		t.Errorf("it ended: %+v", n)
	}
	mustDo(t, here, kill)
	if n := next(); n.Action != "KILLED" {
		t.Errorf("after KILL: %+v", n)
	}
	if _, err := tryDo(here, kill); err == nil {
		t.Error("a second time")
	}
	if _, err := tryDo(here, "KILL u'0192a0e2-6b77-7000-8000-000000000000'"); err == nil {
		t.Error("no such live query")
	}
	if got := mustDo(t, here, "(INFO FOR TABLE t).lives"); got.Kind() != value.KindObject || got.Object().Len() != 0 {
		t.Errorf("it is listed: %s", got.Text())
	}
}
