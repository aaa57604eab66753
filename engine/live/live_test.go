package live_test

import (
	"context"
	"errors"
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
		Match: func(_ context.Context, c *live.Change) (value.Value, bool, error) {
			return c.After, !c.After.IsNone(), nil
		}}
}

func TestHubDeliversInOrder(t *testing.T) {
	h := live.NewHub()
	defer h.Close()
	tb := live.Table{NS: 1, DB: 1, TB: 1}
	out := make(sink, 10)
	h.Add(subscription(1, tb, out))
	h.Publish([]live.Change{{Table: tb, After: value.Int(1)}, {Table: live.Table{TB: 7}, After: value.Int(9)},
		{Table: tb, Before: value.Int(1), After: value.Int(2)}, {Table: tb, Before: value.Int(2)}})
	h.Publish([]live.Change{{Table: tb, After: value.Int(3)}})
	for i, want := range []string{"CREATE", "UPDATE", "CREATE"} {
		n := <-out
		if n.Action != want || n.Result.Int() != int64(i+1) {
			t.Errorf("notification %d is %s %s, want %s %d", i, n.Action, n.Result, want, i+1)
		}
	}
}

func TestHubDropsWhoCanNotTakeMore(t *testing.T) {
	h := live.NewHub()
	defer h.Close()
	tb := live.Table{TB: 1}
	slow, quick := make(sink, 1), make(sink, 10)
	h.Add(subscription(1, tb, slow))
	h.Add(subscription(2, tb, quick))
	h.Publish([]live.Change{{Table: tb, After: value.Int(1)}, {Table: tb, After: value.Int(2)}})
	<-quick
	<-quick
	h.Publish([]live.Change{{Table: tb, After: value.Int(3)}})
	<-quick
	if _, ok := h.Find(value.UUID{1}); ok {
		t.Error("the slow subscriber is still there")
	}
}

func TestKillTellsTheSubscriber(t *testing.T) {
	h := live.NewHub()
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
	h := live.NewHub()
	defer h.Close()
	out := make(sink, 10)
	for i, tb := range []live.Table{{NS: 1, DB: 1, TB: 1}, {NS: 1, DB: 1, TB: 2}, {NS: 1, DB: 2, TB: 1}, {NS: 2, DB: 1, TB: 1}} {
		h.Add(subscription(byte(i), tb, out))
	}
	for _, tc := range []struct {
		of   live.Table
		ends int
	}{{live.Table{NS: 1, DB: 1, TB: 2}, 1}, {live.Table{NS: 1, DB: 1}, 1}, {live.Table{NS: 1}, 1}, {live.Table{NS: 3}, 0}} {
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
