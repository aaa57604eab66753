package bolt

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
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

// committer is the one goroutine that changes the store. Nobody else touches its fields.
type committer struct {
	s       *Store
	version kv.Version
	active  overlay.Tree
	bytes   int64 // of log frames in active
	base    *base
	turn    *kv.Turn   // who alone may commit, or nil
	parked  []*request // those that wait for the turn to end

	frozen      overlay.Tree // to be checkpointed; empty = none
	frozenAt    kv.Version
	frozenBytes int64
	running     bool  // a checkpoint of frozen is
	ckptErr     error // the last one failed for want of space
	noRoom      bool  // writes are refused for want of space; see noteRoom
	checkpoints chan checkpointResult

	frames   []*wal.Frame // of the present group; kept
	accepted []*request   // likewise
}

// run serves until the store is closed.
func (c *committer) run() {
	defer close(c.s.done)
	for {
		ready := c.s.queue.ready
		if c.lagging() {
			ready = nil // back-pressure
		}
		select {
		case <-ready:
			c.serve(c.s.queue.take())
		case turn := <-c.s.grant:
			if c.turn = turn; turn == nil {
				parked := c.parked
				c.parked = nil
				c.serve(parked)
			}
		case res := <-c.checkpoints:
			c.finishCheckpoint(res)
			c.checkpointIfDue()
		case <-c.s.stop:
			c.end()
			return
		}
	}
}

// serve commits requests in groups of bounded size. Those that have to wait for the turn or for
// a checkpoint are kept in order.
func (c *committer) serve(waiting []*request) {
	for len(waiting) > 0 {
		if c.lagging() {
			c.requeue(waiting)
			return
		}
		n, size := 0, 0
		group := c.accepted[:0]
		for ; n < len(waiting) && size < maxGroup; n++ {
			r := waiting[n]
			if c.turn != nil && r.turn != c.turn {
				c.parked = append(c.parked, r)
				continue
			}
			if r.state.CompareAndSwap(queued, taken) {
				group = append(group, r)
				size += r.frame.Size()
			}
		}
		waiting = waiting[n:]
		c.commit(group)
		clear(group)
		c.accepted = group[:0]
		c.checkpointIfDue()
	}
}

// requeue puts requests back in front of the queue.
func (c *committer) requeue(rs []*request) {
	q := &c.s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(rs[:len(rs):len(rs)], q.waiting...)
	q.wake()
}

// commit validates a group, logs those that pass, and publishes the result.
func (c *committer) commit(group []*request) {
	refused := c.refuses()
	if refused != nil {
		c.noteRoom(refused)
	}
	before, version, size := c.active.Snapshot(), c.version, c.bytes
	accepted := group[:0]
	c.frames = c.frames[:0]
	for _, r := range group {
		err := refused
		if err == nil || r.empty() {
			err = c.admit(r)
		}
		if err != nil {
			r.finish(err)
			continue
		}
		accepted = append(accepted, r)
	}
	if len(c.frames) == 0 {
		acknowledge(accepted)
		return
	}
	err := c.makeDurable()
	c.noteRoom(err)
	if err != nil {
		c.active, c.version, c.bytes = before, version, size
		finishAll(accepted, err)
		return
	}
	oldest, _ := c.s.epochs.Oldest()
	for _, f := range c.frames {
		c.s.window.Add(overlay.Footprint{Version: f.Version, Keys: f.Keys, Bytes: f.Size()}, oldest)
	}
	c.s.count.commits.Add(uint64(len(c.frames)))
	c.s.count.groups.Add(1)
	clear(c.frames)
	failpoint.Hit(failpoint.Publish)
	c.publish()
	failpoint.Hit(failpoint.Acknowledge)
	acknowledge(accepted)
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

// admit validates r against the window and the group before it, and applies it to the overlay.
func (c *committer) admit(r *request) error {
	_, ok := c.s.window.Check(&r.reads, r.since)
	for i := 0; ok && i < len(c.frames); i++ {
		ok = !overlay.Overlaps(&r.reads, c.frames[i].Keys)
	}
	if !ok {
		c.s.count.conflicts.Add(1)
		return kv.ErrConflict
	}
	if r.empty() {
		r.frame.Version = c.version
		return nil
	}
	if err := r.frame.SetCounters(c.value); err != nil {
		return err
	}
	r.frame.Version = c.version + 1
	c.frames = append(c.frames, r.frame)
	return c.apply(r.frame)
}

// apply puts a frame into the overlay; it never fails (the error is for wal.Open).
func (c *committer) apply(f *wal.Frame) error {
	for i, key := range f.Keys {
		c.active.Set(key, f.Sealed[i])
	}
	c.version = f.Version
	c.bytes += int64(f.Size())
	return nil
}

// value reads the newest state, the present group included.
func (c *committer) value(key []byte) ([]byte, error) {
	st := state{active: c.active, frozen: c.frozen}
	if v, known := st.lookup(key); known {
		return v, nil
	}
	v, _, err := c.base.cursor().get(key)
	return v, err
}

// makeDurable logs the frames of the group. Errors: kv.ErrNoSpace, after which all is as before,
// and kv.ErrUndetermined, after which the store is read-only.
func (c *committer) makeDurable() error {
	err := c.s.log.Append(c.frames)
	failpoint.Hit(failpoint.Append)
	if wal.IsNoSpace(err) {
		return fmt.Errorf("%w: %w", kv.ErrNoSpace, err)
	}
	if err == nil && c.s.opt.Sync == kv.SyncEvery {
		err = c.s.log.Sync()
	}
	if err != nil {
		c.s.fail(err)
		return fmt.Errorf("%w: %w", kv.ErrUndetermined, err)
	}
	return nil
}

// publish makes the present state the one that snapshots see.
func (c *committer) publish() {
	c.base.refs.Add(1)
	c.s.count.version.Store(uint64(c.version))
	c.s.count.overlayBytes.Store(c.bytes)
	gone := c.s.epochs.Publish(c.version, state{active: c.active.Snapshot(), frozen: c.frozen, base: c.base})
	if gone != nil {
		if err := c.s.dropBase(gone.State.base); err != nil {
			c.s.fail(err)
		}
	}
}

// end is the committer's part of Close.
func (c *committer) end() {
	c.turn = nil
	c.drain()
	finishAll(takeQueued(c.parked), kv.ErrClosed)
	if c.running {
		c.finishCheckpoint(<-c.checkpoints)
	}
	c.lastCheckpoint()
}

// drain serves what was queued before Close, and waits for checkpoints where it must.
func (c *committer) drain() {
	for rs := c.s.queue.take(); len(rs) > 0; rs = c.s.queue.take() {
		if c.lagging() {
			c.finishCheckpoint(<-c.checkpoints)
		}
		c.serve(rs)
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
