package bolt

import (
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// group is requests that are logged, synced and told of together.
type group struct {
	requests []*request
	frames   []*wal.Frame // of those that write something
	size     int          // of frames in the log
	after    mark         // the state with it; set when it is logged
}

// mark is a state of the active overlay.
type mark struct {
	tree    overlay.Layer // a snapshot
	version kv.Version
	bytes   int64
}

// add takes a request that writes.
func (g *group) add(r *request) {
	g.requests = append(g.requests, r)
	g.frames = append(g.frames, r.frame)
	g.size += r.frame.Size()
}

// changes reports whether g writes something that was read.
func (g *group) changes(reads *kv.ReadSet) bool {
	for _, f := range g.frames {
		if overlay.Overlaps(reads, f.Keys) {
			return true
		}
	}
	return false
}

// emptied is g without anything, to be used again.
func (g *group) emptied() group {
	clear(g.requests)
	clear(g.frames)
	return group{requests: g.requests[:0], frames: g.frames[:0]}
}

// mark notes the present state, which is in the log, as that.
func (c *committer) mark() mark {
	c.logged = mark{tree: c.active.Snapshot(), version: c.version, bytes: c.bytes}
	return c.logged
}

// goBack makes m the present state.
func (c *committer) goBack(m mark) {
	c.active, c.version, c.bytes, c.logged = m.tree, m.version, m.bytes, m
}

// advance goes on with the open group where no caller has to sync anything for it: its requests write nothing, or are
// not synced. Else it stays open until a caller that was told to lead it does: what comes meanwhile joins it.
func (c *committer) advance() {
	if c.busy() || len(c.open.frames) > 0 && c.s.opt.Sync == kv.SyncEvery {
		return
	}
	if g := c.open; len(g.requests) > 0 {
		c.open = c.flight // it is empty
		c.send(&g)
	}
	if !c.busy() {
		c.rest()
	}
}

// send logs a group; nothing is being synced. Where that fails all is as before it.
func (c *committer) send(g *group) {
	if len(g.frames) == 0 {
		acknowledge(g.requests)
		c.flight = g.emptied()
		return
	}
	err := c.log(g.frames)
	c.noteRoom(err)
	if err != nil {
		c.goBack(c.logged)
		finishAll(g.requests, err)
		c.flight = g.emptied()
		return
	}
	g.after = c.mark()
	if c.s.opt.Sync != kv.SyncEvery {
		c.tell(g)
		c.flight = g.emptied()
		return
	}
	c.flight, c.syncing = *g, true
}

// log appends frames to the log. Errors: kv.ErrReadOnly and kv.ErrNoSpace, after which nothing of them is there, and
// kv.ErrUndetermined, after which the store is read-only.
func (c *committer) log(frames []*wal.Frame) error {
	if c.s.failed.Load() != nil { // since they were admitted
		return kv.ErrReadOnly
	}
	err := c.s.log.Append(frames)
	failpoint.Hit(failpoint.Append)
	if wal.IsNoSpace(err) {
		return fmt.Errorf("%w: %w", kv.ErrNoSpace, err)
	}
	if err != nil {
		c.s.fail(err)
		return fmt.Errorf("%w: %w", kv.ErrUndetermined, err)
	}
	return nil
}

// land takes the outcome of the sync of flight, which took so long. A caller of the next group is told to lead it
// before those of this one are told, unless it is to wait for them.
func (c *committer) land(err error, took time.Duration) {
	g := c.flight
	c.syncing, c.flight = false, group{}
	if err != nil {
		next := c.open
		c.open = group{}
		c.lose(&g, &next, err)
		return
	}
	c.cohort.told(len(g.frames), len(c.open.frames), took)
	c.appoint(nil)
	c.tell(&g)
	c.flight = g.emptied()
	c.advance()
}

// lose refuses a group whose sync failed, and the one that was admitted on top of it. The store is read-only.
func (c *committer) lose(g, next *group, err error) {
	c.s.fail(err)
	c.goBack(c.visible)
	finishAll(g.requests, fmt.Errorf("%w: %w", kv.ErrUndetermined, err))
	finishAll(next.requests, kv.ErrReadOnly)
	c.rest()
}

// tell publishes the state with g, and tells its callers.
func (c *committer) tell(g *group) {
	oldest, _ := c.s.epochs.Oldest()
	for _, f := range g.frames {
		c.s.window.Add(overlay.Footprint{Version: f.Version, Keys: f.Keys, Bytes: f.Size()}, oldest)
	}
	c.s.count.commits.Add(uint64(len(g.frames)))
	c.s.count.groups.Add(1)
	c.visible = g.after
	failpoint.Hit(failpoint.Publish)
	c.publish()
	failpoint.Hit(failpoint.Acknowledge)
	acknowledge(g.requests)
	c.watch()
}

// publish makes the visible state the one that snapshots see.
func (c *committer) publish() {
	m := &c.visible
	c.base.refs.Add(1)
	c.s.count.version.Store(uint64(m.version))
	c.s.count.overlayBytes.Store(m.bytes)
	gone := c.s.epochs.Publish(m.version, state{active: m.tree, frozen: c.frozen, base: c.base})
	if gone != nil {
		if err := c.s.dropBase(gone.State.base); err != nil {
			c.s.fail(err)
		}
	}
}
