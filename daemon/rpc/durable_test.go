package rpc

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// door is a server of a store, as clients over HTTP see it.
type door struct {
	*Server
	lent *Sessions
	id   value.UUID
}

func (d *door) call(t testing.TB, method string, params ...string) string {
	t.Helper()
	c := d.NewConn(d.Engine.Session(), Options{Sessions: d.lent})
	defer func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	req := &wire.Request{Method: method, Session: &d.id}
	for _, p := range params {
		req.Params = append(req.Params, value.Str(p))
	}
	return said(c.Call(t.Context(), req))
}

// signIn makes the session that of the user ada.
func (d *door) signIn(t testing.TB) {
	t.Helper()
	user := value.ObjectOf(value.NewObject(value.Field{Name: "user", Value: value.Str("ada")},
		value.Field{Name: "pass", Value: value.Str("x")}))
	c := d.NewConn(d.Engine.Session(), Options{Sessions: d.lent})
	resp := c.Call(t.Context(), &wire.Request{Method: "signin", Session: &d.id, Params: []value.Value{user}})
	if resp.Err != nil {
		t.Fatal(resp.Err)
	}
}

// signedIn attaches the session and signs in.
func (d *door) signedIn(t testing.TB) {
	t.Helper()
	if got := d.call(t, "attach"); got != "NONE" {
		t.Fatal(got)
	}
	d.signIn(t)
}

// doors are two servers of one store.
func doors(t *testing.T, limits Limits) (a, b *door) {
	srv := newServer(t, Limits{})
	_, err := srv.Engine.RootSession().Execute(t.Context(), "DEFINE USER ada ON ROOT PASSWORD 'x' ROLES OWNER", nil)
	if err != nil {
		t.Fatal(err)
	}
	id := value.UUID{9, 1, 7}
	return &door{srv, NewDurableSessions(limits, time.Hour), id}, &door{srv, NewDurableSessions(limits, time.Hour), id}
}

// What one server changes in a session counts at the other, by the next call.
func TestASessionIsOneAtAllServers(t *testing.T) {
	a, b := doors(t, Limits{})
	if got := a.call(t, "attach"); got != "NONE" {
		t.Fatal(got)
	}
	b.signIn(t)
	steps := []struct {
		at     *door
		method string
		params []string
		want   string
	}{
		{a, "use", []string{"test", "test"}, ""},
		{b, "let", []string{"x", "1"}, ""},
		{a, "query", []string{"RETURN [$x, session::ns()]"}, "['1', 'test']"},
		{a, "let", []string{"x", "2"}, ""},
		{b, "query", []string{"RETURN $x"}, "'2'"},
		{b, "invalidate", nil, ""},
		{a, "query", []string{"INFO FOR ROOT"}, "ERR"},
		{a, "detach", nil, ""},
		{b, "query", []string{"RETURN 1"}, "Session not found"},
		{a, "query", []string{"RETURN 1"}, "Session not found"},
	}
	for _, s := range steps {
		if got := s.at.call(t, s.method, s.params...); !strings.Contains(got, s.want) ||
			s.want == "" && strings.HasPrefix(got, "ERR") {
			t.Fatalf("%s %q: %s, want %s", s.method, s.params, got, s.want)
		}
	}
	if a.lent.Len()+b.lent.Len() != 0 {
		t.Error("a session that ended takes memory")
	}
}

// The id of a session that was detached at one server is free at all of them.
func TestDetachedIDsAreFree(t *testing.T) {
	a, b := doors(t, Limits{})
	for n := range 4 {
		first, second := a, b // the first one still has it in memory when it attaches again
		if n/2 == 1 {
			first, second = b, a
		}
		for i, at := range []*door{first, second, first, second} {
			method, params := []string{"attach", "let", "let", "detach"}[i], []string{"x", "1"}
			if method != "let" {
				params = nil
			}
			if got := at.call(t, method, params...); strings.HasPrefix(got, "ERR") {
				t.Fatalf("round %d, %s: %s", n, method, got)
			}
		}
	}
	if a.lent.Len()+b.lent.Len() > 1 {
		t.Error("sessions that were detached take memory")
	}
}

// Many calls at once at two servers: a change that was acknowledged is never lost, and none is made up.
func TestConcurrentChangesOfASession(t *testing.T) {
	a, b := doors(t, Limits{})
	a.signedIn(t)
	if got := b.call(t, "use", "test", "test"); strings.HasPrefix(got, "ERR") {
		t.Fatal(got)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	set := map[string]bool{}
	for i := range 8 {
		at := []*door{a, b}[i%2]
		wg.Go(func() {
			for j := range 20 {
				name := fmt.Sprintf("v%d_%d", i, j)
				got := at.call(t, "let", name, name)
				mu.Lock()
				set[name] = !strings.HasPrefix(got, "ERR")
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	kept := 0
	for name, ok := range set {
		if !ok {
			continue
		}
		kept++
		for _, at := range []*door{a, b} {
			if got := at.call(t, "query", "RETURN $"+name); got != "'"+name+"'" {
				t.Fatalf("%s was acknowledged and is %s", name, got)
			}
		}
	}
	if kept == 0 {
		t.Error("nothing was set")
	}
}

// A session lasts as long as it is used, and is forgotten afterwards.
func TestDurableSessionsEnd(t *testing.T) {
	a, b := doors(t, Limits{})
	a.lent.life, b.lent.life = time.Second, time.Second
	a.signedIn(t)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := a.Engine.ForgetSessions(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := b.call(t, "query", "RETURN 1")
		if strings.Contains(got, "Session not found") {
			break
		}
		b.lent = NewDurableSessions(Limits{}, time.Second) // another server, which moves the end no further
		if time.Now().After(deadline) {
			t.Fatal(got)
		}
		time.Sleep(2 * time.Second)
	}
}

// A session that has ended is forgotten, and one that waits leaves memory for others.
func TestDurableSessionsMakeRoom(t *testing.T) {
	a, _ := doors(t, Limits{AttachedSessions: 2})
	other := *a
	other.lent = NewDurableSessions(Limits{}, time.Hour)
	for i := range 4 {
		other.id[15] = byte(i)
		other.signedIn(t)
	}
	for i := range 4 { // more than a has room for
		a.id[15] = byte(i)
		if got := a.call(t, "use", "test", "test"); strings.HasPrefix(got, "ERR") {
			t.Errorf("session %d: %s", i, got)
		}
		if a.lent.Len() > 2 {
			t.Errorf("%d in memory", a.lent.Len())
		}
	}
	if err := a.Engine.ForgetSessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.id[15] = 0
	if got := a.call(t, "info"); strings.Contains(got, "not found") {
		t.Errorf("forgotten though it lives: %s", got)
	}
}
