package bolt

import (
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// maxGroup bounds the bytes that are synced together, and with them the wait of the first.
const maxGroup = 8 << 20

// The states of a request.
const (
	queued    = iota // may still be abandoned
	taken            // the committer works on it
	abandoned        // its caller has gone
)

// request is one batch on its way through the committer.
type request struct {
	reads kv.ReadSet
	since kv.Version // reads are valid up to here
	frame *wal.Frame
	turn  *kv.Turn
	state atomic.Int32

	applied func(kv.Version) // see kv.Batch; may be nil
	err     error            // set before done is closed
	done    chan struct{}    // closed when the outcome is known
}

// empty reports whether r asks only to be validated.
func (r *request) empty() bool { return len(r.frame.Keys) == 0 }

func (r *request) finish(err error) {
	r.err = err
	if err != nil {
		r.frame.Version = 0
	}
	close(r.done)
}

// queue holds the requests that wait, first come first served. It has no limit of its own: each
// entry is a caller that waits.
type queue struct {
	mu      sync.Mutex // guards waiting and shut; a leaf lock
	waiting []*request
	shut    bool
	ready   chan struct{} // holds a token when there may be something waiting
}

func newQueue() queue { return queue{ready: make(chan struct{}, 1)} }

// push adds r; it reports false after close.
func (q *queue) push(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.wake()
	return true
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take gives all that wait.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.waiting
	q.waiting = nil
	return w
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
}

// committer is the one goroutine that changes the store. Only it touches its fields.
type committer struct {
	s       *Store
	version kv.Version
	active  overlay.Tree // the newest state, what is not logged yet included
	bytes   int64        // of log frames in active
	base    *base
	turn    *kv.Turn   // who alone may commit, or nil
	wanted  *grant     // a turn to be given when nothing is under way, or nil
	parked  []*request // those that wait for the turn to end

	open    group      // admitted while flight is being synced; else empty
	flight  group      // logged, being synced
	syncing bool       // flight is
	logged  mark       // the newest state that is in the log
	visible mark       // the newest state that snapshots see
	synced  chan error // the outcomes of syncs

	frozen      overlay.Tree // to be checkpointed; empty = none
	frozenAt    kv.Version
	frozenBytes int64
	running     bool  // a checkpoint of frozen is
	ckptErr     error // the last one failed for want of space
	noRoom      bool  // writes are refused for want of space; see noteRoom
	taken       int   // groups since the last one that was refused
	checkpoints chan checkpointResult
}

// grant asks that from now on only one turn commits; nil: that all do.
type grant struct {
	turn  *kv.Turn
	given chan struct{} // closed when it is so; nil without a waiter
}

// run serves until the store is closed.
func (c *committer) run() {
	defer close(c.s.done)
	defer close(c.s.dirty)
	for {
		ready := c.s.queue.ready
		if c.blocked() {
			ready = nil
		}
		select {
		case <-ready:
			c.serve(c.s.queue.take())
		case err := <-c.synced:
			c.land(err)
		case g := <-c.s.grants:
			c.pass(g)
		case res := <-c.checkpoints:
			c.finishCheckpoint(res)
			if !c.syncing {
				c.rest()
			}
		case <-c.s.stop:
			c.end()
			return
		}
	}
}

// blocked reports whether requests must wait in the queue: for a checkpoint that lags, for a full group to be synced,
// or for nothing to be under way.
func (c *committer) blocked() bool {
	return c.lagging() || c.syncing && (c.open.size >= maxGroup || c.wanted != nil || c.mustFreeze())
}

// rest does what waits for nothing to be under way.
func (c *committer) rest() {
	c.checkpointIfDue()
	if c.wanted != nil {
		c.turn = c.wanted.turn
		close(c.wanted.given)
		c.wanted = nil
	}
}

// pass lets the turn go to somebody, or back to all.
func (c *committer) pass(g *grant) {
	if g.turn != nil {
		c.wanted = g
		if !c.syncing {
			c.rest()
		}
		return
	}
	c.turn = nil
	parked := c.parked
	c.parked = nil
	c.serve(parked)
}

// serve admits requests. Those that have to wait for the turn or in the queue are kept in order.
func (c *committer) serve(waiting []*request) {
	refused := c.refuses()
	if refused != nil {
		c.noteRoom(refused)
	}
	for i, r := range waiting {
		if c.open.size >= maxGroup {
			c.advance()
		}
		if refused == nil && c.blocked() {
			c.requeue(waiting[i:])
			break
		}
		if c.turn != nil && r.turn != c.turn {
			c.parked = append(c.parked, r)
			continue
		}
		if !r.state.CompareAndSwap(queued, taken) {
			continue
		}
		err := refused
		if err == nil || r.empty() {
			err = c.admit(r)
		}
		if err != nil {
			r.finish(err)
		}
	}
	c.advance()
}

// requeue puts requests back in front of the queue.
func (c *committer) requeue(rs []*request) {
	q := &c.s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(rs[:len(rs):len(rs)], q.waiting...)
	q.wake()
}

// refuses is why nothing can be written now, or nil.
func (c *committer) refuses() error {
	if c.s.failed.Load() != nil {
		return kv.ErrReadOnly
	}
	return c.full()
}

// acknowledge tells, in their order, that requests went through.
func acknowledge(rs []*request) {
	for _, r := range rs {
		if r.applied != nil {
			r.applied(r.frame.Version)
		}
		r.finish(nil)
	}
}

func finishAll(rs []*request, err error) {
	for _, r := range rs {
		r.finish(err)
	}
}

// admit validates r against all that was admitted before, takes it into the open group and applies it to the overlay.
func (c *committer) admit(r *request) error {
	_, ok := c.s.window.Check(&r.reads, r.since)
	if !ok || c.flight.changes(&r.reads) || c.open.changes(&r.reads) {
		c.s.count.conflicts.Add(1)
		return kv.ErrConflict
	}
	if r.empty() {
		r.frame.Version = c.version
		c.open.requests = append(c.open.requests, r)
		return nil
	}
	if err := r.frame.SetCounters(c.value); err != nil {
		return err
	}
	r.frame.Version = c.version + 1
	c.open.add(r)
	c.apply(r.frame)
	return nil
}

// apply puts a frame into the overlay.
func (c *committer) apply(f *wal.Frame) {
	for i, key := range f.Keys {
		c.active.Set(key, f.Sealed[i])
	}
	c.version = f.Version
	c.bytes += int64(f.Size())
}

// value reads the newest state, the open group included.
func (c *committer) value(key []byte) ([]byte, error) {
	st := state{active: c.active, frozen: c.frozen}
	if v, known := st.lookup(key); known {
		return v, nil
	}
	at := c.base.cursor()
	v, _, err := at.get(key)
	return v, err
}

// end is the committer's part of Close.
func (c *committer) end() {
	c.turn, c.wanted = nil, nil
	c.drain()
	finishAll(takeQueued(c.parked), kv.ErrClosed)
	if c.running {
		c.finishCheckpoint(<-c.checkpoints)
	}
	c.lastCheckpoint()
}

// drain serves what was queued before Close, and waits for syncs and checkpoints where it must.
func (c *committer) drain() {
	for {
		rs := c.s.queue.take()
		if len(rs) == 0 && !c.syncing {
			return
		}
		if c.lagging() {
			c.finishCheckpoint(<-c.checkpoints)
		}
		c.serve(rs)
		if c.syncing {
			c.land(<-c.synced)
		}
	}
}

// takeQueued gives those of rs whose callers still wait.
func takeQueued(rs []*request) []*request {
	var out []*request
	for _, r := range rs {
		if r.state.CompareAndSwap(queued, taken) {
			out = append(out, r)
		}
	}
	return out
}
