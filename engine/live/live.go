// Package live keeps live queries and brings them what commits have changed.
//
// A Hub promises: changes of one commit arrive in their order; a writer never waits (Publish only
// appends to a bounded queue); a subscriber that can not take a notification is dropped. What a
// change means to a subscription is decided by the Match that came with it, in the hub's own
// goroutine, after the commit. The hub knows nothing of the language, of permissions or of
// connections.
package live

import (
	"context"
	"sort"
	"sync"

	"github.com/nacredb/nacre/engine/value"
)

// Table says where a table is: ids of its namespace, database and itself.
type Table struct{ NS, DB, TB uint32 }

// Change is one record that a commit changed; Before or After is NONE. Its values hold no borrowed memory.
type Change struct {
	Table         Table
	Name          string // of the table
	ID            value.Value
	Before, After value.Value
}

// Action is CREATE, UPDATE or DELETE.
func (c *Change) Action() string {
	switch {
	case c.Before.IsNone():
		return "CREATE"
	case c.After.IsNone():
		return "DELETE"
	}
	return "UPDATE"
}

// Notification is one message to a subscriber.
type Notification struct {
	Live    value.UUID
	Session value.UUID
	Action  string      // CREATE, UPDATE, DELETE or KILLED
	Record  value.Value // the record's id; NONE with KILLED
	Result  value.Value
	By      value.UUID // with KILLED: the session that ended it; zero where the engine did
}

// Subscription is one live query.
type Subscription struct {
	ID      value.UUID
	Session value.UUID
	Table   Table
	Text    string // the statement, as INFO shows it
	// Match says what a change means to the subscription: its result, or false for nothing. An
	// error drops the change.
	Match func(ctx context.Context, c *Change) (value.Value, bool, error)
	// Deliver takes a notification without waiting. An error drops the subscription.
	Deliver func(*Notification) error
}

// queueLimit is how many changes may wait. Beyond it all subscriptions are dropped, with a KILLED
// notification each: a client that hears it reads anew.
const queueLimit = 1 << 16

// Hub has the live queries of an engine. It owns one goroutine, which Close stops.
type Hub struct {
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex // guards what follows; never held while matching or delivering
	wake    *sync.Cond // queue or closed have changed
	closed  bool
	queue   []item
	byID    map[value.UUID]*Subscription
	byTable map[Table]map[value.UUID]*Subscription
}

// item is a change, or the end of a subscription, in the order of their happening.
type item struct {
	change Change
	end    *Subscription
	by     value.UUID // the session that ends it
}

// NewHub starts a hub.
func NewHub() *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{ctx: ctx, stop: stop, done: make(chan struct{}),
		byID: map[value.UUID]*Subscription{}, byTable: map[Table]map[value.UUID]*Subscription{}}
	h.wake = sync.NewCond(&h.mu)
	go h.run()
	return h
}

// Close drops all subscriptions without a word and waits for the hub's goroutine.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.wake.Broadcast()
	<-h.done
}

// Add registers a subscription.
func (h *Hub) Add(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byID[s.ID] = s
	if h.byTable[s.Table] == nil {
		h.byTable[s.Table] = map[value.UUID]*Subscription{}
	}
	h.byTable[s.Table][s.ID] = s
}

// remove takes a subscription out; h.mu is held.
func (h *Hub) remove(s *Subscription) {
	delete(h.byID, s.ID)
	delete(h.byTable[s.Table], s.ID)
	if len(h.byTable[s.Table]) == 0 {
		delete(h.byTable, s.Table)
	}
}

// Find gives a subscription of a session.
func (h *Hub) Find(id value.UUID) (*Subscription, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.byID[id]
	return s, ok
}

// Kill ends a subscription on behalf of the session by; false where there is none. Its subscriber hears of all changes that
// were published before, and then of the end.
func (h *Hub) Kill(id, by value.UUID) bool {
	h.mu.Lock()
	s, ok := h.byID[id]
	if ok {
		delete(h.byID, id)
		h.queue = append(h.queue, item{end: s, by: by})
	}
	h.mu.Unlock()
	h.wake.Signal()
	return ok
}

// End ends the subscriptions of a table, or where its TB (and DB) is 0 of a whole database or namespace. Their
// subscribers hear of all changes that were published before, and then of the end.
func (h *Hub) End(of Table) {
	h.mu.Lock()
	for id, s := range h.byID {
		t := s.Table
		if t.NS == of.NS && (of.DB == 0 || t.DB == of.DB) && (of.TB == 0 || t.TB == of.TB) {
			delete(h.byID, id)
			h.queue = append(h.queue, item{end: s})
		}
	}
	h.mu.Unlock()
	h.wake.Signal()
}

func killed(s *Subscription, by value.UUID) *Notification {
	return &Notification{Live: s.ID, Session: s.Session, Action: "KILLED", By: by}
}

// DropSession ends the subscriptions of a session without a word.
func (h *Hub) DropSession(session value.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subs := range h.byTable {
		for _, s := range subs {
			if s.Session == session {
				h.remove(s)
			}
		}
	}
}

// Watched reports whether anybody watches a table. It is cheap: writers ask it for each change.
func (h *Hub) Watched(t Table) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byTable[t]) > 0
}

// List gives the subscriptions of a table in the order of their ids.
func (h *Hub) List(t Table) []*Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*Subscription, 0, len(h.byTable[t]))
	for _, s := range h.byTable[t] {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return string(out[i].ID[:]) < string(out[j].ID[:]) })
	return out
}

// Publish hands over what a commit has changed. It never waits.
func (h *Hub) Publish(changes []Change) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	var lost []*Subscription
	if len(h.queue)+len(changes) > queueLimit {
		for _, s := range h.byID {
			lost = append(lost, s)
			h.remove(s)
		}
		h.queue = nil
	} else {
		for i := range changes {
			h.queue = append(h.queue, item{change: changes[i]})
		}
	}
	h.mu.Unlock()
	h.wake.Signal()
	for _, s := range lost {
		_ = s.Deliver(killed(s, value.UUID{}))
	}
}

// run takes changes from the queue until Close.
func (h *Hub) run() {
	defer close(h.done)
	for {
		h.mu.Lock()
		for len(h.queue) == 0 && !h.closed {
			h.wake.Wait()
		}
		if h.closed {
			h.mu.Unlock()
			return
		}
		items := h.queue
		h.queue = nil
		h.mu.Unlock()
		for i := range items {
			h.work(&items[i])
		}
	}
}

func (h *Hub) work(it *item) {
	if s := it.end; s != nil {
		h.mu.Lock()
		h.remove(s)
		h.mu.Unlock()
		_ = s.Deliver(killed(s, it.by)) // it is gone either way
		return
	}
	for _, s := range h.List(it.change.Table) {
		h.offer(s, &it.change)
	}
}

// offer tries one change on one subscription.
func (h *Hub) offer(s *Subscription, c *Change) {
	result, ok, err := s.Match(h.ctx, c)
	if err != nil || !ok {
		return
	}
	n := &Notification{Live: s.ID, Session: s.Session, Action: c.Action(), Record: c.ID, Result: result}
	if s.Deliver(n) != nil {
		h.mu.Lock()
		h.remove(s)
		h.mu.Unlock()
	}
}
