package overlay

import (
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// Epochs holds the newest published state of a store and the older ones that snapshots still
// look at. Acquire never waits for a writer. It is safe for concurrent use.
type Epochs[S any] struct {
	mu   sync.Mutex // guards all below and the refs and links of every Epoch; a leaf lock
	cur  *Epoch[S]
	head *Epoch[S] // the oldest in use; the list ends at cur
	open int64
	all  uint64 // snapshots ever opened
	shut bool
}

// Epoch is one published state.
type Epoch[S any] struct {
	Version    kv.Version
	State      S
	refs       int64
	since      time.Time // when the first snapshot of those that hold it was opened
	prev, next *Epoch[S]
}

// Publish makes s the newest state. It gives the state before when no snapshot holds it any more
// (the caller frees what only that one used).
func (e *Epochs[S]) Publish(v kv.Version, s S) (gone *Epoch[S]) {
	n := &Epoch[S]{Version: v, State: s}
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.cur
	e.cur = n
	if old == nil {
		e.head = n
		return nil
	}
	old.next, n.prev = n, old
	if old.refs == 0 {
		e.unlink(old)
		return old
	}
	return nil
}

// Acquire opens a snapshot: the newest state, kept until Release. It gives nil after Shut.
func (e *Epochs[S]) Acquire() *Epoch[S] {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shut {
		return nil
	}
	if e.cur.refs == 0 {
		e.cur.since = time.Now()
	}
	e.cur.refs++
	e.open++
	e.all++
	return e.cur
}

// Release closes a snapshot. It reports whether ep is out of use from now on.
func (e *Epochs[S]) Release(ep *Epoch[S]) (gone bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open--
	if ep.refs--; ep.refs > 0 {
		return false
	}
	if ep == e.cur {
		return e.shut
	}
	e.unlink(ep)
	return true
}

// unlink takes ep, which is not the newest, out of the list; e.mu is held.
func (e *Epochs[S]) unlink(ep *Epoch[S]) {
	ep.next.prev = ep.prev
	if ep.prev != nil {
		ep.prev.next = ep.next
	} else {
		e.head = ep.next
	}
	ep.prev, ep.next = nil, nil
}

// Newest is the newest state; only the writer may rely on its staying so.
func (e *Epochs[S]) Newest() *Epoch[S] {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cur
}

// Oldest is the version of the oldest state in use, and the number of open snapshots.
func (e *Epochs[S]) Oldest() (v kv.Version, open int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.head.Version, e.open
}

// Usage says how snapshots use the states.
type Usage struct {
	Open  int64         // snapshots that are open
	All   uint64        // snapshots ever opened
	Lag   uint64        // versions between the oldest state that one reads and the newest
	Since time.Duration // for how long that oldest state has been in use without a break; 0 where none is
}

// Usage is how the states are used now.
func (e *Epochs[S]) Usage() Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := Usage{Open: e.open, All: e.all, Lag: uint64(e.cur.Version - e.head.Version)}
	if e.head.refs > 0 {
		u.Since = time.Since(e.head.since)
	}
	return u
}

// Shut makes every later Acquire give nil, and tells how many snapshots are open. It gives the
// newest state when no snapshot holds it; else the last Release of it reports that.
func (e *Epochs[S]) Shut() (open int64, gone *Epoch[S]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shut = true
	if e.cur.refs == 0 {
		gone = e.cur
	}
	return e.open, gone
}
