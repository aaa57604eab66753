package live

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// HubLimits bounds what a hub keeps. Zero fields mean the defaults.
type HubLimits struct {
	Changes int // that wait to be matched; 65536
	Bytes   int // of them, about; 64 MiB

	// What the live queries of one session may take of time together. A session that takes more than Inline for one
	// change is matched beside the others from then on, not among them. Live queries of one that takes more than Change
	// for one, or more than Budget in Window for those that take more than Inline, end.
	Inline, Change, Budget, Window time.Duration // 5 ms; 100 ms; 1 s; 10 s
	Workers                        int           // goroutines for sessions beside the others; 8
}

func (l HubLimits) withDefaults() HubLimits {
	if l.Changes <= 0 {
		l.Changes = 1 << 16
	}
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{{&l.Inline, 5 * time.Millisecond}, {&l.Change, 100 * time.Millisecond}, {&l.Budget, time.Second},
		{&l.Window, 10 * time.Second}} {
		if *d.p <= 0 {
			*d.p = d.v
		}
	}
	if l.Workers <= 0 {
		l.Workers = 8
	}
	return l
}

// Hub has the live queries of an engine. It owns a goroutine, and workers for slow sessions; Close stops them.
type Hub struct {
	limits   HubLimits
	ctx      context.Context
	stop     context.CancelFunc
	done     chan struct{}
	added    atomic.Uint64 // how many subscriptions were ever added; changed under mu
	told     atomic.Uint64 // notifications of changes that were delivered
	orphaned atomic.Uint64 // subscriptions that ended with their sessions

	workers workers

	mu     sync.Mutex // guards what follows; never held while matching or delivering
	wake   *sync.Cond // queue or closed have changed
	closed bool
	queue  []item
	bytes  int    // of the changes in queue
	batch  uint64 // counts what was published
	byID   map[value.UUID]*Subscription
	// Those whose turn to end is still to come are in sight of changes, but not in byID.
	byTable   map[Table][]class // slices are replaced, never changed
	bySession map[value.UUID][]*Subscription
	lanes     map[value.UUID]*lane // of sessions, until DropSession
}

// class is subscriptions of one table with the same Class, in the order in which they came.
type class struct {
	name  string
	subs  []*Subscription
	state *classState
}

// item is a change, or the end of a subscription, in the order of their happening.
type item struct {
	change        Change
	batch, commit uint64 // of the change
	end           *Subscription
	by            value.UUID // the session that ends it
	why           string     // what the subscriber is told of it, or ""
}

func (it *item) moment() moment { return moment{it.batch, it.change.Seq} }

// NewHub starts a hub.
func NewHub(limits HubLimits) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{limits: limits.withDefaults(), ctx: ctx, stop: stop, done: make(chan struct{}),
		byID: map[value.UUID]*Subscription{}, byTable: map[Table][]class{}, bySession: map[value.UUID][]*Subscription{},
		lanes: map[value.UUID]*lane{}}
	h.workers.most = h.limits.Workers
	h.wake = sync.NewCond(&h.mu)
	go h.run()
	return h
}

// Close drops all subscriptions without a word and waits for the hub's goroutines.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.stop()
	h.wake.Broadcast()
	<-h.done
	h.workers.all.Wait()
}

// Add registers a subscription: it hears of what is published from now on.
func (h *Hub) Add(s *Subscription) { h.AddWith(s, 0) }

// AddWith registers a subscription that was made in a commit (not 0) whose own changes are still to be published: it
// hears of those from s.From on, and of all that is published later.
func (h *Hub) AddWith(s *Subscription, commit uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.since, s.commit = h.batch, commit
	h.byID[s.ID] = s
	h.bySession[s.Session] = append(h.bySession[s.Session], s)
	if h.lanes[s.Session] == nil {
		h.lanes[s.Session] = newLane(s.Session, &h.limits)
	}
	s.lane = h.lanes[s.Session]
	classes := slices.Clone(h.byTable[s.Table])
	i := slices.IndexFunc(classes, func(c class) bool { return c.name == s.Class && c.name != "" })
	if i < 0 {
		i = len(classes)
		classes = append(classes, class{name: s.Class, state: &classState{}})
	}
	s.class = classes[i].state
	// Readers do not look beyond the length that they know, so the slice may grow in place.
	classes[i].subs = append(classes[i].subs, s)
	h.byTable[s.Table] = classes
	h.added.Add(1)
}

// remove takes a subscription out; h.mu is held.
func (h *Hub) remove(s *Subscription) {
	if !s.gone && s.Ended != nil {
		s.Ended()
	}
	s.gone = true
	if h.byID[s.ID] == s {
		delete(h.byID, s.ID)
	}
	if others := slices.DeleteFunc(h.bySession[s.Session],
		func(o *Subscription) bool { return o == s }); len(others) > 0 {
		h.bySession[s.Session] = others
	} else {
		delete(h.bySession, s.Session)
	}
	classes := slices.Clone(h.byTable[s.Table])
	for i := range classes {
		at := slices.Index(classes[i].subs, s)
		if at < 0 {
			continue
		}
		subs := make([]*Subscription, 0, len(classes[i].subs))
		classes[i].subs = append(append(subs, classes[i].subs[:at]...), classes[i].subs[at+1:]...)
		if len(classes[i].subs) == 0 {
			classes = slices.Delete(classes, i, i+1)
		}
		break
	}
	if len(classes) == 0 {
		delete(h.byTable, s.Table)
		return
	}
	h.byTable[s.Table] = classes
}

// Find gives a subscription that is still open.
func (h *Hub) Find(id value.UUID) (*Subscription, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.byID[id]
	return s, ok
}

// Kill ends a subscription on behalf of the session by; false where there is none. Its subscriber hears of all changes
// that were published before, and then of the end; a quiet one that ends itself hears nothing more once Kill returns.
func (h *Hub) Kill(id, by value.UUID) bool {
	h.mu.Lock()
	s, ok := h.byID[id]
	silent := ok && s.Quiet && s.Session == by
	switch {
	case silent:
		h.remove(s)
	case ok:
		h.endLater(s, by, "")
	}
	h.mu.Unlock()
	if silent {
		s.finish()
	}
	h.wake.Signal()
	return ok
}

// endLater queues the end of s behind the changes before it; h.mu is held.
func (h *Hub) endLater(s *Subscription, by value.UUID, why string) {
	delete(h.byID, s.ID)
	h.queue = append(h.queue, item{end: s, by: by, why: why})
}

// End ends the subscriptions of a table, or where its TB (and DB) is 0 of a whole database or namespace. Their
// subscribers hear of all changes that were published before, and then of the end.
func (h *Hub) End(of Table) {
	h.mu.Lock()
	for _, s := range h.byID {
		if of.holds(s.Table) {
			h.endLater(s, value.UUID{}, "")
		}
	}
	h.mu.Unlock()
	h.wake.Signal()
}

// EndAll ends all subscriptions, as End does. why is what their subscribers are told of it.
func (h *Hub) EndAll(why string) {
	h.mu.Lock()
	for _, s := range h.byID {
		h.endLater(s, value.UUID{}, why)
	}
	h.mu.Unlock()
	h.wake.Signal()
}

// DropSession ends the subscriptions of a session without a word. When it returns nothing more is delivered to them.
func (h *Hub) DropSession(session value.UUID) {
	h.mu.Lock()
	gone := slices.Clone(h.bySession[session])
	for _, s := range gone {
		h.remove(s)
	}
	delete(h.lanes, session)
	h.mu.Unlock()
	h.orphaned.Add(uint64(len(gone)))
	for _, s := range gone {
		s.finish()
	}
}

// Open gives up to limit open subscriptions, in no order, and how many there are.
func (h *Hub) Open(limit int) (some []*Subscription, all int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.byID {
		if len(some) == limit {
			break
		}
		some = append(some, s)
	}
	return some, len(h.byID)
}

// Of is how many subscriptions a session has.
func (h *Hub) Of(session value.UUID) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.bySession[session])
}

// Stats gives the number of subscriptions, of notifications of changes that were delivered, and of subscriptions that
// ended with their sessions.
func (h *Hub) Stats() (subscriptions int, delivered, orphaned uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byID), h.told.Load(), h.orphaned.Load()
}

// Watched reports whether anybody watches a table. It is cheap: writers ask it for each change.
func (h *Hub) Watched(t Table) bool {
	if h.added.Load() == 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byTable[t]) > 0
}

// List gives the open subscriptions of a table, in the order of their ids.
func (h *Hub) List(t Table) []*Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*Subscription
	for _, c := range h.byTable[t] {
		for _, s := range c.subs {
			if h.byID[s.ID] == s {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Subscription) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return out
}
