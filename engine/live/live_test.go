package live_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/value"
)

// sink collects notifications; a full one refuses.
type sink chan *live.Notification

func (s sink) deliver(n *live.Notification) error {
	select {
	case s <- n:
		return nil
	default:
		return errors.New("full")
	}
}

func subscription(id byte, t live.Table, s sink) *live.Subscription {
	return &live.Subscription{ID: value.UUID{id}, Session: value.UUID{9}, Table: t, Deliver: s.deliver,
		Match: func(_ context.Context, c *live.Change, _ *live.Memo) (*live.Outcome, error) {
			if c.After.IsNone() {
				return nil, nil
			}
			return &live.Outcome{Result: c.After}, nil
		}}
}

func publish(t *testing.T, h *live.Hub, commit uint64, changes ...live.Change) {
	t.Helper()
	if !h.Publish(h.Added(), commit, changes) {
		t.Fatal("a subscription came meanwhile")
	}
}

func TestHubDeliversInOrder(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{NS: 1, DB: 1, TB: 1}
	out := make(sink, 10)
	h.Add(subscription(1, tb, out))
	publish(t, h, 1, live.Change{Table: tb, After: value.Int(1)},
		live.Change{Table: live.Table{TB: 7}, After: value.Int(9)},
		live.Change{Table: tb, Before: value.Int(1), After: value.Int(2)}, live.Change{Table: tb, Before: value.Int(2)})
	publish(t, h, 2, live.Change{Table: tb, After: value.Int(3)})
	for i, want := range []string{"CREATE", "UPDATE", "CREATE"} {
		n := <-out
		if n.Action != want || n.Result.Int() != int64(i+1) {
			t.Errorf("notification %d is %s %s, want %s %d", i, n.Action, n.Result, want, i+1)
		}
	}
}

func TestHubDropsWhoCanNotTakeMore(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	slow, quick := make(sink, 1), make(sink, 10)
	h.Add(subscription(1, tb, slow))
	h.Add(subscription(2, tb, quick))
	publish(t, h, 1, live.Change{Table: tb, After: value.Int(1)}, live.Change{Table: tb, After: value.Int(2)})
	<-quick
	<-quick
	publish(t, h, 2, live.Change{Table: tb, After: value.Int(3)})
	<-quick
	if _, ok := h.Find(value.UUID{1}); ok {
		t.Error("the slow subscriber is still there")
	}
}

func TestKillTellsTheSubscriber(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	out := make(sink, 1)
	h.Add(subscription(1, tb, out))
	if !h.Watched(tb) || len(h.List(tb)) != 1 {
		t.Fatal("the subscription is not there")
	}
	if !h.Kill(value.UUID{1}, value.UUID{7}) || h.Kill(value.UUID{1}, value.UUID{7}) {
		t.Error("a subscription is killed exactly once")
	}
	if n := <-out; n.Action != "KILLED" || !n.Record.IsNone() || n.By != (value.UUID{7}) {
		t.Errorf("got %+v", n)
	}
	h.Add(subscription(2, tb, out))
	h.DropSession(value.UUID{9})
	if h.Watched(tb) {
		t.Error("the session's subscription is still there")
	}
}

func TestEndOfATableOrAllInside(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	out := make(sink, 10)
	for i, tb := range []live.Table{{NS: 1, DB: 1, TB: 1}, {NS: 1, DB: 1, TB: 2}, {NS: 1, DB: 2, TB: 1},
		{NS: 2, DB: 1, TB: 1}} {
		h.Add(subscription(byte(i), tb, out))
	}
	for _, tc := range []struct {
		of   live.Table
		ends int
	}{{live.Table{NS: 1, DB: 1, TB: 2}, 1}, {live.Table{NS: 1, DB: 1}, 1}, {live.Table{NS: 1}, 1}, {live.Table{NS: 3},
		0}} {
		h.End(tc.of)
		for range tc.ends {
			if n := <-out; n.Action != "KILLED" {
				t.Errorf("%v: got %s", tc.of, n.Action)
			}
		}
		if len(out) > 0 {
			t.Errorf("%v: more ended", tc.of)
		}
	}
	if !h.Watched(live.Table{NS: 2, DB: 1, TB: 1}) {
		t.Error("another namespace's subscription has ended")
	}
}

// held is a subscription whose Match waits for a token in go on.
func held(id byte, tb live.Table, out sink, goOn chan struct{}) *live.Subscription {
	s := subscription(id, tb, out)
	match := s.Match
	s.Match = func(ctx context.Context, c *live.Change, m *live.Memo) (*live.Outcome, error) {
		<-goOn
		return match(ctx, c, m)
	}
	return s
}

// A subscription hears nothing of what was published before it, though that may still wait.
func TestRegistrationIsOrderedWithChanges(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	early, late, goOn := make(sink, 10), make(sink, 10), make(chan struct{}, 10)
	h.Add(held(1, tb, early, goOn))
	publish(t, h, 1, live.Change{Table: tb, After: value.Int(1)})
	publish(t, h, 2, live.Change{Table: tb, After: value.Int(2)})
	h.Add(subscription(2, tb, late))
	added := h.Added()
	publish(t, h, 3, live.Change{Table: tb, After: value.Int(3)})
	for range 3 {
		goOn <- struct{}{}
		<-early
	}
	if n := <-late; n.Result.Int() != 3 {
		t.Errorf("the later one hears of %s", n.Result)
	}
	h.Add(subscription(3, tb, late))
	if h.Publish(added, 4, []live.Change{{Table: tb, After: value.Int(4)}}) {
		t.Error("what was asked before a subscription came still counts")
	}
}

// A subscription hears of the changes of its own commit that came after it.
func TestSubscriptionInACommit(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	out := make(sink, 10)
	s := subscription(1, tb, out)
	s.From = 1
	h.AddWith(s, 7)
	publish(t, h, 7, live.Change{Table: tb, After: value.Int(1), Seq: 0},
		live.Change{Table: tb, After: value.Int(2), Seq: 1})
	publish(t, h, 8, live.Change{Table: tb, After: value.Int(3), Seq: 0})
	for _, want := range []int64{2, 3} {
		if n := <-out; n.Result.Int() != want {
			t.Errorf("got %s, want %d", n.Result, want)
		}
	}
}

// What can not wait ends the subscriptions of the tables concerned, behind the changes that were taken before.
func TestOverflowEndsInTurn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		limits live.HubLimits
	}{{"by count", live.HubLimits{Changes: 3}}, {"by bytes", live.HubLimits{Bytes: 30}}} {
		t.Run(tc.name, func(t *testing.T) {
			h := live.NewHub(tc.limits)
			defer h.Close()
			tb, other := live.Table{TB: 1}, live.Table{TB: 2}
			out, elsewhere, goOn := make(sink, 10), make(sink, 10), make(chan struct{})
			h.Add(held(1, tb, out, goOn))
			h.Add(subscription(2, other, elsewhere))
			change := func(n int64) live.Change { return live.Change{Table: tb, After: value.Int(n), Bytes: 10} }
			publish(t, h, 1, change(1))
			goOn <- struct{}{} // the hub works on the first
			if n := <-out; n.Result.Int() != 1 {
				t.Errorf("got %s", n.Result)
			}
			publish(t, h, 2, change(2)) // likewise, and is held
			for h.Waiting() > 0 {
				runtime.Gosched()
			}
			for n := int64(3); n < 7; n++ {
				publish(t, h, uint64(n), change(n))
			}
			if _, ok := h.Find(value.UUID{1}); ok || len(h.List(tb)) > 0 {
				t.Error("the subscription can still be found")
			}
			publish(t, h, 9, live.Change{Table: other, After: value.Int(1)})
			close(goOn)
			if n := <-out; n.Result.Int() != 2 {
				t.Errorf("what was in work is lost: %+v", n)
			}
			if n := <-out; n.Action != "KILLED" || n.By != (value.UUID{}) {
				t.Errorf("got %+v", n)
			}
			if n := <-elsewhere; n.Action != "CREATE" {
				t.Errorf("another table: %+v", n)
			}
			if h.Watched(tb) || !h.Watched(other) {
				t.Error("the wrong ones have ended")
			}
		})
	}
}

// A change that can not be matched ends the subscription, and only that one; the subscriber is told.
func TestMatchErrorEndsTheSubscription(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	bad, good := make(sink, 10), make(sink, 10)
	s := subscription(1, tb, bad)
	match := s.Match
	s.Match = func(ctx context.Context, c *live.Change, m *live.Memo) (*live.Outcome, error) {
		if c.After.Int() == 2 {
			return nil, errors.New("no")
		}
		return match(ctx, c, m)
	}
	h.Add(s)
	h.Add(subscription(2, tb, good))
	publish(t, h, 1, live.Change{Table: tb, After: value.Int(1)}, live.Change{Table: tb, After: value.Int(2)},
		live.Change{Table: tb, After: value.Int(3)})
	for _, want := range []string{"CREATE", "KILLED"} {
		if n := <-bad; n.Action != want {
			t.Errorf("got %s, want %s", n.Action, want)
		}
	}
	for want := range int64(3) {
		if n := <-good; n.Result.Int() != want+1 {
			t.Errorf("got %s, want %d", n.Result, want+1)
		}
	}
	if len(bad) > 0 || len(h.List(tb)) != 1 {
		t.Error("the subscription goes on")
	}
}

// A quiet subscription hears nothing once its session's own Kill has returned; killed by another it hears of the end.
func TestQuietSubscriptions(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	out, goOn := make(sink, 10), make(chan struct{})
	s := held(1, tb, out, goOn)
	s.Quiet = true
	h.Add(s)
	publish(t, h, 1, live.Change{Table: tb, After: value.Int(1)})
	if !h.Kill(s.ID, s.Session) {
		t.Fatal("not there")
	}
	close(goOn)
	last := make(sink, 1)
	h.Add(subscription(2, tb, last))
	publish(t, h, 2, live.Change{Table: tb, After: value.Int(2)})
	<-last // all before it is through
	if len(out) > 0 {
		t.Errorf("heard of %+v after its end", <-out)
	}
	s = subscription(3, tb, out)
	s.Quiet = true
	h.Add(s)
	h.Kill(s.ID, value.UUID{8})
	if n := <-out; n.Action != "KILLED" {
		t.Errorf("got %+v", n)
	}
}

// Subscriptions of one class share a memo for each change, and the encoded form of an outcome.
func TestClassesShare(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	tb := live.Table{TB: 1}
	matched, encoded := 0, 0 // both by the hub's goroutine
	out := make(chan string, 16)
	for i, class := range []string{"a", "a", "b", "", "", "a"} {
		h.Add(&live.Subscription{ID: value.UUID{byte(i)}, Table: tb, Class: class,
			Match: func(_ context.Context, c *live.Change, m *live.Memo) (*live.Outcome, error) {
				if m.Kept == nil {
					matched++
					m.Kept = &live.Outcome{Result: c.After}
				}
				return m.Kept.(*live.Outcome), nil
			},
			Deliver: func(n *live.Notification) error {
				b, err := n.Shared(1, func() ([]byte, error) { encoded++; return []byte(n.Result.Text()), nil })
				out <- string(b)
				return err
			}})
	}
	publish(t, h, 1, live.Change{Table: tb, After: value.Int(1)}, live.Change{Table: tb, After: value.Int(2)})
	for i := range 12 {
		if got, want := <-out, "1"; i < 6 && got != want {
			t.Errorf("got %s", got)
		}
	}
	h.Close()
	if matched != 8 || encoded != 8 {
		t.Errorf("matched %d times and encoded %d times, want 8 each: two changes, four classes", matched, encoded)
	}
}
