package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// A checkpoint is written in transactions of a part of its size each: the pages that one has replaced are free for the
// next. The order does not matter to recovery: until the last of
// them says so, the log has all of it too, and replaying it twice is the same as once.
const chunks = 16

// leastChunk keeps checkpoints of few keys from being all syncs.
const leastChunk = 8

func (s *Store) chunkKeys() int {
	return max(min(leastChunk, s.opt.CheckpointKeys), s.opt.CheckpointKeys/chunks)
}
func (s *Store) chunkBytes() int64 { return max(1, s.opt.CheckpointBytes/chunks) }

// checkpointResult is the result of a checkpoint.
type checkpointResult struct {
	version kv.Version
	base    *base // a read transaction that sees it
	err     error
}

// over reports whether the active overlay has reached times its limits.
func (c *committer) over(times int) bool {
	return c.active.Len() >= times*c.s.opt.CheckpointKeys || c.bytes >= int64(times)*c.s.opt.CheckpointBytes
}

// due is how many times the limits of the options start a checkpoint. Keys in random order touch nearly every page of a
// file that is not much larger than they are: twice as many of them are then written in half as many rewrites of it.
func (c *committer) due() int {
	if c.s.count.fileBytes.Load() > c.s.opt.CheckpointBytes {
		return most
	}
	return 1
}

// most is how many times the limits of the options an overlay may hold.
const most = 2

// lagging reports whether commits must wait for the running checkpoint.
func (c *committer) lagging() bool { return c.running && c.over(most) }

// full refuses commits while checkpoints fail and the overlay has no room left; each refusal
// tries the checkpoint again.
func (c *committer) full() error {
	if c.ckptErr == nil || !c.over(most) {
		return nil
	}
	err := c.ckptErr
	c.ckptErr = nil
	c.checkpointIfDue()
	return fmt.Errorf("%w: %w", kv.ErrNoSpace, err)
}

// mayCheckpoint reports whether a checkpoint could begin now.
func (c *committer) mayCheckpoint() bool {
	return !c.running && c.ckptErr == nil && c.s.failed.Load() == nil
}

// mustFreeze reports whether the overlay is to be frozen as soon as nothing is under way.
func (c *committer) mustFreeze() bool {
	return (c.over(c.due()) || c.quiet.now && c.worthWriting()) && c.frozen.Len() == 0 && c.mayCheckpoint()
}

// checkpointIfDue starts a checkpoint when the overlay is large enough and none runs. One that
// failed for want of space is not tried again before the next overlay is full too (see full).
func (c *committer) checkpointIfDue() {
	if !c.mayCheckpoint() {
		return
	}
	if c.frozen.Len() == 0 {
		if c.busy() || !c.mustFreeze() {
			return
		}
		c.freeze()
	}
	frozen, version, size := c.frozen.Tree, c.frozenAt, c.frozenBytes
	c.running = true
	go func() {
		res := c.s.checkpoint(frozen, version, size, func(b *base) {
			c.mu.Lock()
			defer c.unlock()
			c.rebase(b)
		})
		c.mu.Lock()
		defer c.unlock()
		c.finishCheckpoint(res)
		c.watch()
		if !c.busy() {
			c.rest()
		}
		c.after()
	}()
}

// freeze begins a new active overlay; there must be no frozen one, and nothing under way.
func (c *committer) freeze() {
	c.frozen, c.frozenAt, c.frozenBytes = c.active.Snapshot(), c.version, c.bytes
	c.active, c.bytes, c.quiet.now = overlay.Layer{}, 0, false
	c.visible = c.mark()
	c.publish()
}

// checkpoint writes t, the state at version, to data.db; size is what it takes in the log. step is given a reader
// after each part but the last.
func (s *Store) checkpoint(t overlay.Tree, version kv.Version, size int64, step func(*base)) (res checkpointResult) {
	defer asCorrupt(&res.err, debug.SetPanicOnFault(true))
	view, err := s.pager.view()
	if err != nil {
		return checkpointResult{err: fmt.Errorf("checkpoint: %w", err)}
	}
	var cur overlay.Cursor
	in := changes{cur: &cur, more: cur.First(&t, nil)}
	for r := new(rewriter); ; {
		if err := s.checkpointPart(r, view, &in, version, t.Len(), size); err != nil {
			return checkpointResult{err: fmt.Errorf("checkpoint: %w", err)}
		}
		b, err := s.openBase()
		if err == nil {
			s.learnAbsent(b.pages.count)
		}
		if err != nil || !in.more {
			return checkpointResult{version: version, base: b, err: err}
		}
		step(b)
		view = b.pages
	}
}

// checkpointPart writes a part of a checkpoint of n keys and size bytes: the next of its changes. The last one tells
// the version.
func (s *Store) checkpointPart(r *rewriter, view *pages, in *changes, version kv.Version, n int, size int64) error {
	if err := s.roomFor(int64(len(view.data)), n, size); err != nil {
		return err
	}
	in.keys, in.size = s.chunkKeys(), s.chunkBytes()
	return s.pager.update(&r.w, growStep(int64(len(view.data))), func() (uint64, error) {
		data, err := r.rewrite(view, in)
		failpoint.Hit(failpoint.Checkpoint)
		if err != nil {
			return 0, err
		}
		s.absent.add(r.news)
		if in.more {
			return r.rewriteRoot(data)
		}
		return r.rewriteRoot(data, appliedFact(version))
	})
}

// growStep is the extra length by which data.db is extended beyond the need of a part of a checkpoint: each time is a
// sync of its own.
func growStep(size int64) int64 {
	const least, greatest = 1 << 20, 64 << 20
	return min(max(size/16, least), greatest)
}

// roomFor refuses a part of a checkpoint of n keys and size bytes that might not fit into the mapping of a file that
// has used bytes. It cannot be mapped anew: there always is a reader.
func (s *Store) roomFor(used int64, n int, size int64) error {
	pages := int64(min(n, s.chunkKeys())) * 5 / 4 * int64(s.db.Info().PageSize)
	if used+pages+2*size > int64(s.mapSize) {
		return fmt.Errorf("%s is near its greatest size of %d bytes: %w", dataFile, s.mapSize, kv.ErrNoSpace)
	}
	return nil
}

// rebase publishes the state on a base that has a part of the frozen overlay. The content is the same, for what is
// frozen hides what of it is in the base. The pages that the part has replaced are free for the next ones when no
// snapshot holds the base before; else a checkpoint of keys in random order would write the whole file anew beside
// itself.
func (c *committer) rebase(b *base) {
	c.base = b
	c.publish()
}

// finishCheckpoint publishes a state that reads the checkpoint from data.db, and frees the log.
func (c *committer) finishCheckpoint(res checkpointResult) {
	c.running = false
	if res.err != nil {
		if isFull(res.err) {
			c.ckptErr = res.err
		} else {
			c.s.fail(res.err)
		}
		return
	}
	c.ckptErr = nil
	c.frozen = overlay.Layer{}
	c.base = res.base
	c.publish()
	c.s.count.checkpoints.Add(1)
	failpoint.Hit(failpoint.Release)
	if err := c.s.log.Release(res.version); err != nil {
		c.s.fail(err)
	}
}

// isFull reports whether a checkpoint failed for want of space.
func isFull(err error) bool { return wal.IsNoSpace(err) || errors.Is(err, kv.ErrNoSpace) }

// lastCheckpoint writes out everything, so that the next start has nothing to replay. If that
// fails the log still has it.
func (c *committer) lastCheckpoint() {
	c.ckptErr = nil
	for c.ckptErr == nil && c.s.failed.Load() == nil {
		if c.frozen.Len() == 0 {
			if c.active.Len() == 0 {
				return
			}
			c.freeze()
		}
		c.finishCheckpoint(c.s.checkpoint(c.frozen.Tree, c.frozenAt, c.frozenBytes, c.rebase))
	}
	if c.ckptErr != nil {
		if err := c.s.log.Sync(); err != nil {
			c.s.fail(err)
		}
	}
}
