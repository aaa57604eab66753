package live_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/value"
)

// slow makes the Match of s say that it took d, where that is within the limit, and else that it is too slow.
func slow(s *live.Subscription, d time.Duration) *live.Subscription {
	match := s.Match
	s.Match = func(ctx context.Context, c *live.Change, m *live.Memo) (*live.Outcome, error) {
		m.Spent += d
		if d > m.Limit {
			return nil, live.ErrSlow
		}
		return match(ctx, c, m)
	}
	return s
}

// of gives s to a session.
func of(session byte, s *live.Subscription) *live.Subscription {
	s.Session = value.UUID{session}
	return s
}

// While one session is stuck others hear of their changes, and its own wait in their order.
func TestSlowSessionsHoldUpThemselves(t *testing.T) {
	h := live.NewHub(live.HubLimits{})
	defer h.Close()
	tb := live.Table{TB: 1}
	stuck, quick, goOn := make(sink, 10), make(sink, 10), make(chan struct{})
	h.Add(of(1, held(1, tb, stuck, goOn)))
	h.Add(of(2, subscription(2, tb, quick)))
	for n := range int64(5) {
		publish(t, h, uint64(n), live.Change{Table: tb, After: value.Int(n)})
	}
	for n := range int64(5) {
		if got := <-quick; got.Result.Int() != n {
			t.Errorf("quick: got %s, want %d", got.Result, n)
		}
	}
	if !h.Kill(value.UUID{1}, value.UUID{7}) {
		t.Error("the stuck one is gone")
	}
	close(goOn)
	for n := range int64(5) {
		if got := <-stuck; got.Result.Int() != n {
			t.Errorf("stuck: got %+v, want %d", got, n)
		}
	}
	if got := <-stuck; got.Action != "KILLED" || !got.Result.IsNone() {
		t.Errorf("the end, behind the changes: %+v", got)
	}
}

// A session that takes more than it may for one change, by one live query or by all of them, loses all of them.
func TestSessionsOverTheirTimeEnd(t *testing.T) {
	for _, tc := range []struct {
		name    string
		each    time.Duration
		queries int
		changes int // until it ends; 0: it goes on
	}{
		{"one that takes too long", time.Second, 1, 1},
		{"many that take too long together", 20 * time.Millisecond, 6, 2},
		{"too much in a while", 80 * time.Millisecond, 1, 13},
		{"a little", 4 * time.Millisecond, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := live.NewHub(live.HubLimits{})
			defer h.Close()
			tb := live.Table{TB: 1}
			out, other := make(sink, 1000), make(sink, 1000)
			for i := range tc.queries {
				h.Add(of(1, slow(subscription(byte(i), tb, out), tc.each)))
			}
			h.Add(of(2, subscription(100, tb, other)))
			for n := range 50 {
				publish(t, h, uint64(n+1), live.Change{Table: tb, After: value.Int(int64(n))})
				<-other
			}
			h.End(tb) // behind all changes; what has ended before is told nothing more
			told := 0
			for range tc.queries {
				got := <-out
				for ; got.Action != "KILLED"; got = <-out {
					told++
				}
				if early := !got.Result.IsNone(); early != (tc.changes > 0) {
					t.Errorf("ended by the hub: %v", early)
				}
			}
			if most := max(tc.changes, 50*(1-min(tc.changes, 1))) * tc.queries; told > most {
				t.Errorf("%d notifications, want %d at most", told, most)
			}
		})
	}
}

// What is slow and what is quick, in turns, and from both lanes, keeps its order; sessions come and go meanwhile.
func TestOrderIsKeptAcrossLanes(t *testing.T) {
	h := live.NewHub(live.HubLimits{Inline: time.Nanosecond * 2, Change: time.Hour, Budget: time.Hour, Workers: 3})
	defer h.Close()
	tb := live.Table{TB: 1}
	const changes, subs = 300, 20
	outs := make([]sink, subs)
	for i := range outs {
		outs[i] = make(sink, changes)
		s := of(byte(i/2), subscription(byte(i), tb, outs[i]))
		s.Class = fmt.Sprint(i % 5)
		match := s.Match
		s.Match = func(ctx context.Context, c *live.Change, m *live.Memo) (*live.Outcome, error) {
			m.Spent += 1
			if c.After.Int()%int64(i+3) == 0 {
				m.Spent += 5
				if m.Limit < time.Second {
					return nil, live.ErrSlow
				}
			}
			return match(ctx, c, m)
		}
		h.Add(s)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			h.Add(of(200, subscription(200, tb, make(sink, 1))))
			if i%3 == 0 {
				h.Kill(value.UUID{200}, value.UUID{})
			}
			h.DropSession(value.UUID{200})
		}
	})
	for n := range int64(changes) {
		for !h.Publish(h.Added(), uint64(n), []live.Change{{Table: tb, After: value.Int(n)}}) {
		}
	}
	for i, out := range outs {
		for n := range int64(changes) {
			if got := <-out; got.Action != "CREATE" || got.Result.Int() != n {
				t.Fatalf("subscription %d: got %s %s, want %d", i, got.Action, got.Result, n)
			}
		}
	}
	wg.Wait()
}

// What waits in a lane is bounded: its live queries end in their turn.
func TestLanesOverflow(t *testing.T) {
	h := live.NewHub(live.HubLimits{Changes: 3})
	defer h.Close()
	tb := live.Table{TB: 1}
	stuck, quick, goOn := make(sink, 10), make(sink, 10), make(chan struct{})
	h.Add(of(1, held(1, tb, stuck, goOn)))
	h.Add(of(2, subscription(2, tb, quick)))
	for n := range int64(8) {
		publish(t, h, uint64(n), live.Change{Table: tb, After: value.Int(n)})
		<-quick
	}
	if _, ok := h.Find(value.UUID{1}); ok {
		t.Error("the one that waits can still be found")
	}
	close(goOn)
	last := ""
	for last != "KILLED" {
		n := <-stuck
		if last = n.Action; last == "KILLED" && n.Result.IsNone() {
			t.Error("the subscriber is not told why")
		}
	}
}
