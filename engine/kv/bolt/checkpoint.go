package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A checkpoint is written in bbolt transactions of a part of its size each: bbolt holds every page
// that a transaction touches in memory. The order does not matter to recovery: until the last of
// them says so, the log has all of it too, and replaying it twice is the same as once.
const chunks = 16

// leastChunk keeps checkpoints of few keys from being all syncs.
const leastChunk = 8

func (s *Store) chunkKeys() int {
	return max(min(leastChunk, s.opt.CheckpointKeys), s.opt.CheckpointKeys/chunks)
}
func (s *Store) chunkBytes() int64 { return max(1, s.opt.CheckpointBytes/chunks) }

// Fill percents of pages that are split.
const (
	// Higher than bbolt's half, because sorted runs follow each other; not full, because later runs fall in between.
	mixedFill = 0.75
	// Of a run that goes on where keys ended, as those of numbered or dated records do: the next one will go on after
	// it. Such tables take a sixth less room.
	appendFill = 0.95
)

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
	return c.over(c.due()) && c.frozen.Len() == 0 && c.mayCheckpoint()
}

// checkpointIfDue starts a checkpoint when the overlay is large enough and none runs. One that
// failed for want of space is not tried again before the next overlay is full too (see full).
func (c *committer) checkpointIfDue() {
	if !c.mayCheckpoint() {
		return
	}
	if c.frozen.Len() == 0 {
		if c.syncing || !c.mustFreeze() {
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
		if !c.syncing {
			c.rest()
		}
		c.after()
	}()
}

// freeze begins a new active overlay; there must be no frozen one, and nothing under way.
func (c *committer) freeze() {
	c.frozen, c.frozenAt, c.frozenBytes = c.active.Snapshot(), c.version, c.bytes
	c.active, c.bytes = overlay.Layer{}, 0
	c.visible = c.mark()
	c.publish()
}

// checkpoint writes t, the state at version, to bbolt; size is what it takes in the log. step is given a read
// transaction after each part but the last.
func (s *Store) checkpoint(t overlay.Tree, version kv.Version, size int64, step func(*base)) (res checkpointResult) {
	defer asCorrupt(&res.err, debug.SetPanicOnFault(true))
	s.db.AllocSize = growStep(s.count.fileBytes.Load())
	var cur overlay.Cursor
	for more := cur.First(&t, nil); ; {
		err := s.db.Update(func(tx *bbolt.Tx) error {
			if err := s.roomFor(tx, t.Len(), size); err != nil {
				return err
			}
			var err error
			more, err = s.putChunk(tx.Bucket(dataBucket()), &cur, more)
			failpoint.Hit(failpoint.Checkpoint)
			if err != nil || more {
				return err
			}
			return putApplied(tx.Bucket(metaBucket()), version)
		})
		if err != nil {
			return checkpointResult{err: fmt.Errorf("checkpoint: %w", err)}
		}
		s.trimResident()
		b, err := s.openBase()
		if err != nil || !more {
			return checkpointResult{version: version, base: b, err: err}
		}
		step(b)
	}
}

// growStep is the extra length by which data.db is extended beyond the need of a part of a checkpoint: each time is a
// sync of its own.
func growStep(size int64) int {
	const least, greatest = 1 << 20, 64 << 20
	return int(min(max(size/16, least), greatest))
}

// roomFor refuses a chunk of a checkpoint of n keys and size bytes that might not fit into the mapping of the
// file. bbolt would map it anew, and wait for all readers to end; there always is one.
func (s *Store) roomFor(tx *bbolt.Tx, n int, size int64) error {
	pages := int64(min(n, s.chunkKeys())) * 5 / 4 * int64(s.db.Info().PageSize)
	if tx.Size()+pages+2*size > int64(s.mapSize) {
		return fmt.Errorf("%s is near its greatest size of %d bytes: %w", dataFile, s.mapSize, kv.ErrNoSpace)
	}
	return nil
}

// putChunk writes entries from cur on, and reports whether there are more.
func (s *Store) putChunk(data *bbolt.Bucket, cur *overlay.Cursor, more bool) (bool, error) {
	if !more {
		return false, nil
	}
	first, last := cur.Key(), cur.Key()
	prev, next := around(data, first)
	size, gone := int64(0), remover{cur: data.Cursor()}
	for n := 0; more && n < s.chunkKeys() && size < s.chunkBytes(); n++ {
		var err error
		last = cur.Key()
		switch v := cur.Value(); {
		case v == nil:
			err = gone.delete(last)
		default:
			size += int64(len(v))
			err = data.Put(last, v)
		}
		if err != nil {
			return false, err
		}
		more = cur.Next()
	}
	data.FillPercent = fillOf(prev, next, first, last) // it is looked at by the commit
	return more, nil
}

// remover deletes keys from a bucket, in ascending order. Many of those that a checkpoint is to delete are not there:
// those of records that came and went since the last one. What comes and goes together is often one run of keys, as of
// an index that is built anew: one search answers for all of them. The checkpoint changes keys in ascending order, so a
// gap ahead of it stays one.
type remover struct {
	cur   *bbolt.Cursor // one for all: each has room of its own for its way down
	known bool          // the bucket has no key from the one that was looked for up to end
	last  bool          // nor any behind that
	end   []byte
}

// delete deletes a key, which may be absent.
func (r *remover) delete(key []byte) error {
	if r.known && (r.last || bytes.Compare(key, r.end) < 0) {
		return nil
	}
	end, _ := r.cur.Seek(key)
	if r.known = !bytes.Equal(end, key); !r.known {
		return r.cur.Delete()
	}
	r.last, r.end = end == nil, append(r.end[:0], end...)
	return nil
}

// around gives the keys of data before a key, and from it on; nil for none.
func around(data *bbolt.Bucket, key []byte) (prev, next []byte) {
	c := data.Cursor()
	if next, _ = c.Seek(key); next != nil {
		prev, _ = c.Prev()
	} else {
		prev, _ = c.Last()
	}
	return bytes.Clone(prev), bytes.Clone(next) // puts move what they lie in
}

// fillOf is the fill percent for a sorted run from first to last that is put between prev, next and what follows. It
// goes on where keys ended when there are none in its midst, and the one before it is about as like its first as they
// are among themselves: by a byte less, for 0x01ff and 0x0200 follow each other too.
func fillOf(prev, next, first, last []byte) float64 {
	if prev == nil || next != nil && bytes.Compare(next, last) <= 0 || common(prev, first) < common(first, last)-1 {
		return mixedFill
	}
	return appendFill
}

// common is how many bytes two keys begin with in common.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// rebase publishes the state on a base that has a part of the frozen overlay. The content is the same, for what is
// frozen hides what of it is in the base. The pages that the part has replaced are free for the next ones when no
// snapshot holds the base before; else a checkpoint of keys in random order would write the whole file anew beside
// itself.
func (c *committer) rebase(b *base) {
	c.base = b
	c.publish()
}

// finishCheckpoint publishes a state that reads the checkpoint from bbolt, and frees the log.
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

// isFull reports whether a checkpoint failed for want of space. bbolt tells the failure to grow
// its file in text only.
func isFull(err error) bool {
	return wal.IsNoSpace(err) || errors.Is(err, kv.ErrNoSpace) || errors.Is(err, bolterrors.ErrMaxSizeReached) ||
		strings.Contains(err.Error(), "file resize error")
}

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
