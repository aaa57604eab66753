package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

// TestLiveAgainstHistory runs writers, and subscribers that come and go, at random against a store. Each transaction takes a
// number, so the committed history is known in its order; what every subscription heard must be a piece of it without
// gap, repetition or exchange, which begins and ends where it began and ended.
func TestLiveAgainstHistory(t *testing.T) {
	for _, store := range []string{"memory", "bolt"} {
		t.Run(store, func(t *testing.T) {
			dsn := store
			if store == "bolt" {
				dsn = "bolt://" + t.TempDir() + "/x.db?sync=never"
			}
			e, err := engine.Open(context.Background(), dsn, engine.Options{NoDefaults: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := e.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			seed := uint64(time.Now().UnixNano())
			t.Log("seed", seed)
			newLiveModel(t, e).play(seed)
		})
	}
}

// told is one change of the history, or one notification.
type told struct {
	n    int64 // the number of the transaction
	what string
}

type liveModel struct {
	t *testing.T
	e *engine.Engine

	mu      sync.Mutex // guards history and last
	history []told
	last    int64 // the greatest number that was acknowledged

	heard atomic.Int64 // notifications
}

func newLiveModel(t *testing.T, e *engine.Engine) *liveModel {
	run(t, owner(t, e), "DEFINE TABLE ev; DEFINE TABLE seq; CREATE seq:1 SET n = 0")
	return &liveModel{t: t, e: e}
}

const (
	modelWriters     = 4
	modelSubscribers = 4
	modelRounds      = 60
	modelMostRounds  = 50 * modelRounds // of writers that are not heard: on a busy machine subscribers come late
)

func (m *liveModel) play(seed uint64) {
	var writers, subscribers sync.WaitGroup
	stop := make(chan struct{})
	var all []*subscriber
	for i := range modelSubscribers {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		subscribers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := m.subscribe(rnd)
				m.mu.Lock()
				all = append(all, s)
				m.mu.Unlock()
				m.heard.Add(int64(len(s.heard)))
			}
		})
	}
	for i := range modelWriters {
		rnd := rand.New(rand.NewPCG(seed, uint64(100+i)))
		writers.Go(func() {
			s := owner(m.t, m.e)
			for r := 0; r < modelRounds || m.heard.Load() == 0 && r < modelMostRounds; r++ {
				m.write(s, rnd, fmt.Sprintf("%d_%d", i, r))
			}
		})
	}
	writers.Wait()
	close(stop)
	subscribers.Wait()
	slices.SortStableFunc(m.history, func(a, b told) int { return int(a.n - b.n) })
	for _, s := range all {
		s.check(m)
	}
	m.t.Logf("%d changes, %d subscriptions, %d notifications", len(m.history), len(all), m.heard.Load())
	if m.heard.Load() == 0 {
		m.t.Error("nobody heard anything")
	}
}

// write runs one transaction: mostly one that commits.
func (m *liveModel) write(s *engine.Session, rnd *rand.Rand, name string) {
	kind := rnd.IntN(10)
	text := `LET $n = (UPDATE ONLY seq:1 SET n += 1).n;
		LET $a = (CREATE ONLY ev SET n = $n, name = $name, i = 0).id;
		CREATE ev SET n = $n, name = $name, i = 1;`
	want := []string{"CREATE 0", "CREATE 1"}
	if kind < 4 {
		text += "UPDATE $a SET n = $n, i = 2; DELETE $a;"
		want = append(want, "UPDATE 2", "DELETE 2")
	}
	arg := value.Field{Name: "name", Value: value.Str(name)}
	switch {
	case kind == 9: // undone by the client
		m.undone(s, "BEGIN; "+text+" CANCEL", arg)
		return
	case kind == 8: // undone by an error
		m.undone(s, "{ "+text+" THROW 'no' }", arg)
		return
	case kind == 7: // in an interactive transaction, which may meet a conflict
		m.interactive(s, text, name, want, arg)
		return
	}
	// One statement: tried again inside until it goes through.
	for {
		res, err := s.Execute(context.Background(), "{ "+text+" RETURN $n }", value.NewObject(arg))
		if err != nil {
			m.t.Error(err)
			return
		}
		if res[0].Err == nil {
			m.committed(res[0].Value.Int(), name, want)
			return
		}
		if !strings.Contains(res[0].Err.Msg, "retried") && !strings.Contains(res[0].Err.Msg, "conflict") {
			m.t.Error(res[0].Err)
			return
		}
	}
}

func (m *liveModel) undone(s *engine.Session, text string, arg value.Field) {
	if _, err := s.Execute(context.Background(), text, value.NewObject(arg)); err != nil {
		m.t.Error(err)
	}
}

func (m *liveModel) interactive(s *engine.Session, text, name string, want []string, arg value.Field) {
	ctx := context.Background()
	tx, err := s.Begin(ctx)
	if err != nil {
		m.t.Error(err)
		return
	}
	res, err := tx.Execute(ctx, "{ "+text+" RETURN $n }", value.NewObject(arg))
	if err != nil || res[0].Err != nil {
		m.t.Error(err, res)
	}
	n := res[0].Value.Int()
	if tx.Commit(ctx) == nil {
		m.committed(n, name, want)
	}
}

func (m *liveModel) committed(n int64, name string, want []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range want {
		m.history = append(m.history, told{n, name + " " + w})
	}
	m.last = max(m.last, n)
}

func (m *liveModel) acknowledged() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// subscriber is one subscription and what it heard.
type subscriber struct {
	where   string
	quiet   bool
	after   int64 // acknowledged before it began: it hears of nothing up to here
	from    int64 // committed when it had begun: it hears of all that is greater …
	exact   bool  // … and of nothing else
	upTo    int64 // acknowledged before it was ended: it hears of all up to here
	snap    int64 // exact: the number that its transaction saw
	mu      sync.Mutex
	heard   []told
	ended   bool // KILLED came
	closed  bool // nothing may come any more
	trouble []string
}

func (s *subscriber) take(n *engine.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.closed {
		s.trouble = append(s.trouble, "heard of "+n.Action+" after its end")
	}
	if n.Action == "KILLED" {
		s.ended = true
		return nil
	}
	field := func(name string) value.Value { v, _ := n.Result.Object().Get(name); return v }
	s.heard = append(s.heard, told{field("n").Int(), fmt.Sprintf("%s %s %d", field("name").Str(), n.Action, field("i").Int())})
	return nil
}

// subscribe begins a subscription, waits until some transactions went by, and ends it in one way or another.
func (m *liveModel) subscribe(rnd *rand.Rand) *subscriber {
	s := &subscriber{quiet: rnd.IntN(2) == 0, exact: rnd.IntN(2) == 0, where: []string{"", " WHERE i = 0", " WHERE i != 1"}[rnd.IntN(3)]}
	sess := owner(m.t, m.e)
	if s.quiet {
		sess.NotifyQuietly(s.take)
	} else {
		sess.Notify(s.take)
	}
	live := "LIVE SELECT * FROM ev" + s.where
	s.after = m.acknowledged()
	var id value.Value
	if s.exact {
		id, s.snap = m.liveAndSelect(sess, live)
	} else {
		id = run(m.t, sess, live)[0].Value
	}
	s.from = run(m.t, sess, "SELECT VALUE n FROM ONLY seq:1")[0].Value.Int()
	for end := s.from + rnd.Int64N(20); m.acknowledged() < end && m.acknowledged() < modelWriters*modelRounds/2; {
		time.Sleep(time.Millisecond)
	}
	s.upTo = m.acknowledged()
	switch how := rnd.IntN(3); {
	case how == 0 && s.quiet:
		sess.Reset()
	case how == 1 && s.quiet:
		sess.Close()
	case how == 2 || s.quiet:
		run(m.t, sess, "KILL $id", value.Field{Name: "id", Value: id})
	default:
		run(m.t, owner(m.t, m.e), "KILL $id", value.Field{Name: "id", Value: id})
	}
	if s.quiet {
		s.mu.Lock()
		s.closed, s.upTo = true, 0 // what was still on its way is not asked for
		s.mu.Unlock()
		return s
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return s
		}
		if time.Now().After(deadline) {
			m.t.Error("a killed subscription hears of no end")
			return s
		}
	}
}

// liveAndSelect begins a live query and reads the table in one transaction.
func (m *liveModel) liveAndSelect(sess *engine.Session, live string) (id value.Value, n int64) {
	for {
		res := run(m.t, sess, "BEGIN; SELECT VALUE n FROM ONLY seq:1; "+live+"; COMMIT", allowErrors)
		if res[1].Err == nil && res[2].Err == nil {
			return res[2].Value, res[1].Value.Int()
		}
	}
}

// check compares what s heard with the history.
func (s *subscriber) check(m *liveModel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range s.trouble {
		m.t.Error(text)
	}
	var want []told
	for _, h := range m.history {
		if s.concerns(h) {
			want = append(want, h)
		}
	}
	if len(s.heard) == 0 {
		for _, h := range want {
			if h.n > s.from && h.n <= s.upTo {
				m.t.Errorf("heard nothing, though %v fell in its time (%d, %d]", h, s.from, s.upTo)
				return
			}
		}
		return
	}
	first := slices.Index(want, s.heard[0])
	if first < 0 {
		m.t.Errorf("heard of %v, which was never committed", s.heard[0])
		return
	}
	got, rest := s.heard, want[first:]
	if len(got) > len(rest) || !slices.Equal(got, rest[:len(got)]) {
		m.t.Errorf("subscription%s (quiet %v) heard\n%v\nhistory\n%v", s.where, s.quiet, got, rest[:min(len(got)+3, len(rest))])
		return
	}
	if got[0].n <= s.after || s.exact && got[0].n <= s.snap {
		m.t.Errorf("heard of %v, from before it began (after %d, snapshot %d)", got[0], s.after, s.snap)
	}
	from := s.from
	if s.exact {
		from = s.snap
	}
	if first > 0 && want[first-1].n > from {
		m.t.Errorf("did not hear of %v though it began at %d", want[first-1], from)
	}
	if next := first + len(got); next < len(want) && want[next].n <= s.upTo {
		m.t.Errorf("did not hear of %v though it lasted until %d", want[next], s.upTo)
	}
}

// concerns is the WHERE of the subscription.
func (s *subscriber) concerns(h told) bool {
	i := h.what[len(h.what)-1]
	return s.where == "" || s.where == " WHERE i = 0" && i == '0' || s.where == " WHERE i != 1" && i != '1'
}

// next waits for a notification.
func next(t *testing.T, c <-chan *engine.Notification) *engine.Notification {
	t.Helper()
	select {
	case n := <-c:
		return n
	case <-time.After(20 * time.Second):
		t.Fatal("no notification comes")
		return nil
	}
}

// watcher is a session whose notifications come on a channel.
func watcher(s *engine.Session) (*engine.Session, <-chan *engine.Notification) {
	c := make(chan *engine.Notification, 1024)
	s.Notify(func(n *engine.Notification) error {
		select {
		case c <- n:
			return nil
		default:
			return errors.New("full")
		}
	})
	return s, c
}

// The changes of the transaction that began a live query: those after it are told, those before it are not.
func TestLiveInsideATransaction(t *testing.T) {
	e := openQuiet(t)
	s, heard := watcher(owner(t, e))
	run(t, s, "DEFINE TABLE lv")
	run(t, s, "BEGIN; CREATE lv:1; LIVE SELECT * FROM lv; CREATE lv:2; COMMIT")
	run(t, s, "BEGIN; LIVE SELECT VALUE 'never' FROM lv; CANCEL", allowErrors)
	run(t, s, "CREATE lv:3")
	for _, want := range []string{"lv:2", "lv:3"} {
		if n := next(t, heard); n.Record.Text() != want {
			t.Errorf("got %s of %s, want %s", n.Action, n.Record, want)
		}
	}
	id := run(t, s, "LIVE SELECT VALUE 'kept' FROM lv")[0].Value
	if _, err := s.Execute(t.Context(), "BEGIN; KILL $id; CANCEL", value.NewObject(value.Field{Name: "id", Value: id})); err != nil {
		t.Fatal(err)
	}
	run(t, s, "CREATE lv:4")
	for range 2 {
		if n := next(t, heard); n.Action != "CREATE" || n.Record.Text() != "lv:4" {
			t.Errorf("after a KILL that was undone: %s of %s", n.Action, n.Record)
		}
	}
}

// A change that takes the right to watch away ends the live query before the next event, and its subscriber is told.
func TestLiveEndsWithItsRights(t *testing.T) {
	const soon = 1 // stands for two seconds after the subtest begins
	for _, tc := range []struct {
		name  string
		who   auth.Principal
		setup string
		end   string
	}{
		{"its user is removed", auth.Principal{Level: auth.DatabaseUser, NS: "test", DB: "test", Name: "u", Roles: auth.Viewer},
			"DEFINE USER u ON DATABASE PASSWORD 'p' ROLES VIEWER", "REMOVE USER u ON DATABASE"},
		{"its access method is removed", auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "acc", Record: value.Record("user", value.Int(1))},
			"DEFINE ACCESS acc ON DATABASE TYPE RECORD; CREATE user:1", "REMOVE ACCESS acc ON DATABASE"},
		{"its session expires", auth.Principal{Level: auth.RootUser, Roles: auth.Owner, Expiry: soon}, "", ""},
		{"its table is removed", auth.RootOwner(), "", "REMOVE TABLE lv"},
		{"its database is removed", auth.RootOwner(), "", "REMOVE DATABASE test"},
		{"its namespace is removed", auth.RootOwner(), "", "REMOVE NAMESPACE test"},
		{"it fails on a change", auth.RootOwner(), "CREATE other:1 SET bad = 1", "CREATE lv SET x = 'a'"},
		{"it is killed by another", auth.RootOwner(), "", "KILL $id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := openQuiet(t)
			boss := owner(t, e)
			run(t, boss, "DEFINE TABLE lv PERMISSIONS FULL; DEFINE TABLE user; DEFINE TABLE other; "+tc.setup)
			if tc.who.Expiry == soon {
				tc.who.Expiry = time.Now().Add(2 * time.Second).Unix()
			}
			s, heard := watcher(e.SessionAs(tc.who, "test", "test"))
			id := run(t, s, "LIVE SELECT VALUE x + 1 FROM lv")[0].Value
			run(t, boss, "CREATE lv:1 SET x = 1")
			if n := next(t, heard); n.Action != "CREATE" || n.Result.Int() != 2 {
				t.Fatalf("got %s %s", n.Action, n.Result)
			}
			if tc.end != "" {
				run(t, boss, tc.end, value.Field{Name: "id", Value: id})
			}
			deadline := time.After(20 * time.Second)
			for ended := false; !ended; {
				run(t, boss, "USE NS test DB test; CREATE lv SET x = 1")
				select {
				case n := <-heard:
					ended = n.Action == "KILLED"
					if !ended && tc.end != "" {
						t.Fatalf("heard of %s", n.Action)
					}
				case <-deadline:
					t.Fatal("it does not end")
				}
			}
			run(t, boss, "CREATE lv SET x = 1")
			last, end := watcher(owner(t, e))
			run(t, last, "LIVE SELECT * FROM lv")
			run(t, boss, "CREATE lv SET x = 1")
			next(t, end) // all before it is through
			if len(heard) > 0 {
				t.Errorf("heard of %s after the end", (<-heard).Action)
			}
		})
	}
}

// Rights are looked at when a change is told: permissions and roles that change meanwhile count.
func TestLiveLooksAtPresentRights(t *testing.T) {
	e := openQuiet(t)
	boss := owner(t, e)
	run(t, boss, `DEFINE TABLE lv PERMISSIONS FOR select WHERE open; DEFINE TABLE user; CREATE user:1;
		DEFINE ACCESS acc ON DATABASE TYPE RECORD; DEFINE FIELD secret ON lv PERMISSIONS NONE`)
	s, heard := watcher(e.SessionAs(auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "acc", Record: value.Record("user", value.Int(1))}, "test", "test"))
	run(t, s, "LIVE SELECT * FROM lv; LIVE SELECT * FROM lv WHERE secret = 1")
	run(t, boss, "CREATE lv:1 SET open = false; CREATE lv:2 SET open = true, secret = 1")
	if n := next(t, heard); n.Result.Text() != "{ id: lv:2, open: true }" {
		t.Errorf("got %s", n.Result)
	}
	last, through := watcher(owner(t, e))
	run(t, boss, "DEFINE TABLE OVERWRITE lv PERMISSIONS NONE")
	run(t, last, "LIVE SELECT * FROM lv")
	run(t, boss, "CREATE lv:3 SET open = true")
	next(t, through) // earlier subscribers have been told
	run(t, boss, "DEFINE TABLE OVERWRITE lv PERMISSIONS FULL; CREATE lv:4; DELETE lv:1")
	for _, want := range []string{"{ id: lv:4 }", "{ id: lv:1, open: false }"} {
		if n := next(t, heard); n.Result.Text() != want {
			t.Errorf("got %s, want %s", n.Result, want)
		}
	}
}

// Subscribers of equal rights share the work on a change; what depends on the session does not get mixed up.
func TestLiveSharesNothingPersonal(t *testing.T) {
	e := openQuiet(t)
	boss := owner(t, e)
	run(t, boss, "DEFINE TABLE lv")
	const n = 5
	var heard [n]<-chan *engine.Notification
	var want [n]string
	for i := range n {
		s, c := watcher(owner(t, e))
		heard[i], want[i] = c, value.UUIDOf(s.ID()).Text()
		if err := s.Set("mine", value.Int(int64(i))); err != nil {
			t.Fatal(err)
		}
		run(t, s, "LIVE SELECT VALUE [session::id(), $mine, $own] FROM lv WHERE $session.id != NONE", value.Field{Name: "own", Value: value.Int(int64(10 * i))})
		if err := s.Set("mine", value.Int(99)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, boss, "CREATE lv")
	for i := range n {
		if got, want := next(t, heard[i]).Result.Text(), fmt.Sprintf("[%s, %d, %d]", want[i], i, 10*i); got != want {
			t.Errorf("session %d is told %s, want %s", i, got, want)
		}
	}
}

// A session that leaves its identity hears nothing more.
func TestLiveEndsWithInvalidate(t *testing.T) {
	e := openQuiet(t)
	boss := owner(t, e)
	run(t, boss, "DEFINE TABLE lv PERMISSIONS FULL")
	s, heard := watcher(owner(t, e))
	run(t, s, "LIVE SELECT * FROM lv")
	s.Invalidate()
	last, end := watcher(owner(t, e))
	run(t, last, "LIVE SELECT * FROM lv")
	run(t, boss, "CREATE lv")
	next(t, end)
	if len(heard) > 0 {
		t.Error("heard after invalidate")
	}
}
