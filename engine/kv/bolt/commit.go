package bolt

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	err     error            // set before the end is told
	told    chan news        // what its caller is told: at most one lead, and the end
}

// news is what the caller of a request is told.
type news bool

const (
	ended news = false // the outcome is known
	leads news = true  // the caller is to log and sync the open group, in which its request is
)

func newRequest() *request { return &request{told: make(chan news, 2)} }

// empty reports whether r asks only to be validated.
func (r *request) empty() bool { return len(r.frame.Keys) == 0 }

func (r *request) finish(err error) {
	r.err = err
	if err != nil {
		r.frame.Version = 0
	}
	r.told <- ended
}

// committer is what changes the store: the callers of commits take turns at it. It needs no goroutine of its own, and a
// caller that is alone waits for none.
type committer struct {
	s *Store

	mu      sync.Mutex // guards what follows; not held while a group is synced
	shut    bool
	waiting []*request // first come, first served; each is a caller that waits, so there is no other limit
	version kv.Version
	active  overlay.Layer // the newest state, what is not logged yet included
	bytes   int64         // of log frames in active
	base    *base
	turn    *kv.Turn   // who alone may commit, or nil
	wanted  *grant     // a turn to be given when nothing is under way, or nil
	parked  []*request // those that wait for the turn to end

	open    group     // admitted, not logged yet
	flight  group     // logged, being synced
	syncing bool      // flight is
	led     bool      // a caller was told to lead the open group
	gather  gathering // of the caller that leads
	cohort  cohort    // that the open group may wait for
	logged  mark      // the newest state that is in the log
	visible mark      // the newest state that snapshots see

	frozen      overlay.Layer // to be checkpointed; empty = none
	frozenAt    kv.Version
	frozenBytes int64
	running     bool // a checkpoint of frozen is
	quiet       quiet
	ckptErr     error      // the last one failed for want of space
	noRoom      bool       // writes are refused for want of space; see noteRoom
	taken       int        // groups since the last one that was refused
	rested      *sync.Cond // nothing waits and nothing is under way; of mu
}

// grant asks that from now on only one turn commits.
type grant struct {
	turn  *kv.Turn
	given chan struct{} // closed when it is so
}

// unlock gives up mu. What a panic leaves behind is half done, and the caller whose goroutine it is may recover: the
// process ends instead, as it does where a goroutine of the store panics.
func (c *committer) unlock() {
	if p := recover(); p != nil {
		text := fmt.Sprintf("commit: %v\n%s", p, debug.Stack())
		go panic(text)
		select {}
	}
	c.mu.Unlock()
}

// commit takes r through the committer and waits for its outcome.
func (c *committer) commit(ctx context.Context, r *request) error {
	lead, err := c.enter(r)
	if err != nil {
		return err
	}
	return c.await(ctx, r, lead)
}

// enter queues r, and does with it what can be done at once. lead: the caller is to sync the group of r.
func (c *committer) enter(r *request) (lead bool, err error) {
	c.mu.Lock()
	defer c.unlock()
	if c.shut {
		return false, kv.ErrClosed
	}
	c.waiting = append(c.waiting, r)
	c.serve()
	return c.appoint(r), nil
}

// await waits for the outcome of r, and leads the open group where lead, or a later word, says so.
func (c *committer) await(ctx context.Context, r *request, lead bool) error {
	if lead {
		c.lead()
	}
	// Most requests are taken by now and cannot be abandoned: the contexts of statements are dear to wait for.
	if r.state.Load() == queued {
		select {
		case word := <-r.told:
			r.told <- word
		case <-ctx.Done():
			if r.state.CompareAndSwap(queued, abandoned) {
				return ctx.Err()
			}
		}
	}
	for <-r.told == leads {
		c.lead()
	}
	return r.err
}

// busy reports whether a caller is to log or sync a group, now or when its cohort is there.
func (c *committer) busy() bool { return c.syncing || c.led || c.cohort.waits() }

// appoint finds a caller to lead the open group, where none does yet, none syncs and it need not wait for its cohort:
// that of own, if it is in the group.
func (c *committer) appoint(own *request) (lead bool) {
	if c.syncing || c.led || len(c.open.frames) == 0 {
		return false
	}
	if c.hurried() {
		c.cohort.leave()
	} else if c.cohort.holds(len(c.open.frames)) {
		return false
	}
	c.led = true
	if own != nil && slices.Contains(c.open.requests, own) {
		return true
	}
	c.open.requests[0].told <- leads
	return false
}

// hurried reports whether something waits for the open group to be synced.
func (c *committer) hurried() bool {
	return c.shut || c.turn != nil || c.wanted != nil || len(c.waiting) > 0 || c.open.size >= maxGroup || c.mustFreeze()
}

// late is called when the open group may have waited long enough for its cohort.
func (c *committer) late() {
	c.mu.Lock()
	defer c.unlock()
	if c.cohort.missed() {
		c.appoint(nil)
	}
}

// lead logs and syncs the open group, and has the caller of another request go on with what came meanwhile.
func (c *committer) lead() {
	c.gather.wait()
	if !c.begin() {
		return
	}
	began := time.Now()
	err := c.s.log.Sync()
	c.mu.Lock()
	defer c.unlock()
	c.land(err, time.Since(began))
	c.after()
}

// begin logs the open group; ok: it is to be synced.
func (c *committer) begin() (ok bool) {
	c.mu.Lock()
	defer c.unlock()
	c.led = false
	g := c.open
	c.gather.led(len(g.frames))
	c.open = c.flight // it is empty
	c.send(&g)
	if !c.syncing { // it was refused
		c.rest()
		c.after()
	}
	return c.syncing
}

// after goes on with what waited for something that has come to its end.
func (c *committer) after() {
	if len(c.waiting) > 0 {
		c.serve()
	}
	c.appoint(nil)
	if c.resting() {
		c.rested.Broadcast()
	}
}

// resting reports whether nothing waits, and nothing is under way.
func (c *committer) resting() bool { return len(c.waiting) == 0 && !c.busy() && !c.running }

// blocked reports whether requests must wait: for a checkpoint that lags, for a full group to be synced, or for nothing
// to be under way.
func (c *committer) blocked() bool {
	return c.lagging() || c.open.size >= maxGroup || c.busy() && (c.wanted != nil || c.mustFreeze())
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

// take asks for the turn, which is given when all that was admitted is published.
func (c *committer) take(turn *kv.Turn) (given chan struct{}, err error) {
	c.mu.Lock()
	defer c.unlock()
	if c.shut {
		return nil, kv.ErrClosed
	}
	g := &grant{turn: turn, given: make(chan struct{})}
	c.wanted = g
	if !c.busy() {
		c.rest()
	}
	c.appoint(nil) // of a group that waits for its cohort
	return g.given, nil
}

// giveBack ends the turn: those that waited for its end go before those that came later.
func (c *committer) giveBack() {
	c.mu.Lock()
	defer c.unlock()
	if c.shut {
		return
	}
	c.turn = nil
	c.waiting = slices.Concat(c.parked, c.waiting)
	c.parked = nil
	c.after()
}

// serve admits requests. Those that have to wait are kept in order.
func (c *committer) serve() {
	refused := c.refuses()
	if refused != nil {
		c.noteRoom(refused)
	}
	left := len(c.waiting)
	for i, r := range c.waiting {
		if c.open.size >= maxGroup {
			c.advance()
		}
		if refused == nil && c.blocked() {
			left = i
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
	c.waiting = slices.Delete(c.waiting, 0, left)
	c.advance()
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
	if c.changed(&r.reads, r.since) {
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
	c.s.window.Announce(r.frame.Keys, r.frame.Version)
	c.open.add(r)
	c.apply(r.frame)
	return nil
}

// changed reports whether something that was read has been changed after since, by what is not visible yet included.
func (c *committer) changed(reads *kv.ReadSet, since kv.Version) bool {
	if c.s.window.Untouched(reads, since) {
		return false
	}
	_, ok := c.s.window.Check(reads, since)
	return !ok || c.flight.changes(reads) || c.open.changes(reads)
}

// apply puts a frame into the overlay.
func (c *committer) apply(f *wal.Frame) {
	c.active.SetRun(f.Keys, f.Sealed)
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

// end is the committer's part of Close: it waits for what was queued before. The last checkpoint is not made under mu:
// those who come late are told at once that the store is closed, and give up their snapshots meanwhile. Nothing else
// changes the store by then.
func (c *committer) end() {
	c.shutDown()
	c.lastCheckpoint()
}

func (c *committer) shutDown() {
	c.mu.Lock()
	defer c.unlock()
	c.shut, c.turn, c.wanted = true, nil, nil
	c.after()
	for !c.resting() {
		c.rested.Wait()
	}
	finishAll(takeQueued(c.parked), kv.ErrClosed)
	c.parked = nil
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
