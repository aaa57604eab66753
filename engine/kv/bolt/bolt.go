// Package bolt is the durable store: a copy-on-write overlay in memory for what was committed
// lately, a write-ahead log that makes it durable, and a file in the format of bbolt that takes it over in large
// sorted checkpoints.
//
// # How it goes
//
//	commit      → encode → committer, which its callers take turns at: validate and apply to the overlay;
//	              append one group to the log, one sync, publish the overlay, wake the other callers
//	snapshot    → the published state {active overlay, frozen overlay, reader of data.db}:
//	              a key is looked up in this order, a scan merges the three
//	checkpoint  → at CheckpointKeys or CheckpointBytes the active overlay is frozen and a new one
//	              begun; the frozen one goes to data.db in key order, in parts, and after each part a state is
//	              published that reads it from there; then one without the frozen overlay, whose log
//	              segments are used again. In quiet times it comes earlier (see quiet)
//
// There is no goroutine beside those of callers in a commit: one that finds nothing being synced syncs
// its group. Meanwhile the next group is validated and applied; one of its callers is made to sync it before the
// callers of the first are woken, unless these are likely to be in it if it waits (see cohort). When a
// checkpoint takes longer than the next overlay takes to fill up to twice its limit, commits wait.
//
// # What it promises
//
// All of kv.Store; in sync mode "every", a commit that was acknowledged survives kill -9 and
// power loss. A failed write or sync makes the store read-only until it is opened again
// (kv.ErrReadOnly; the group in question is kv.ErrUndetermined). A full device refuses writes
// with kv.ErrNoSpace, and takes them again when there is room. A value or page that was damaged on
// disk is kv.ErrCorrupt, never served.
//
// Slices that a snapshot hands out point into the overlay or into the mapped file: they are
// read-only, and after Release the memory may hold something else or be gone.
//
// # Goroutines
//
// At most one checkpoint (Close waits for it), one that reads the keys of a large data.db into a filter (see absence),
// one that looks how much of it is resident, with syncs at an interval one that does them (stopped and awaited by
// Close), the log's own preparer, and a timer while there is something to write in a quiet time.
//
// # Layout
//
//	path/            a directory, mode 0700
//	  data.db        in bbolt's format, opened and locked by bbolt, written by the pager
//	    bucket "nacre":  "format" u32 BE = 2 · "id" 16 bytes · "applied" u64 BE
//	    bucket "data":   key → value, then CRC-32C (LE) of key and value
//	  wal-NNNN.log   see package wal
//
// "applied" is the version up to which data.db has everything; the log has the rest. A format
// number greater than ours is refused, never rewritten.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// Options describes a store. Only Path is needed.
type Options struct {
	Path            string  // the directory; made when it is absent
	Sync            kv.Sync // when commits become durable; the default is every one
	CheckpointKeys  int     // overlay entries that start a checkpoint, twice as many in a large file; 0 = 300 000
	CheckpointBytes int64   // log bytes that start a checkpoint, likewise; 0 = 96 MiB
	SegmentSize     int64   // of the log's files; 0 = 16 MiB
	MapSize         int     // greatest size of data.db; 0 = 1 TiB (1 GiB on Windows, where it is reserved)
	FS              wal.FS  // of the log; nil = the machine's

	absenceFrom int64         // bytes of data.db; 0 = 32 MiB
	quietAfter  time.Duration // 0 = 2 s; see quiet

	// Log gets what an operator should know: a replay, a disk that is full or fails. nil: no log.
	Log *slog.Logger
}

// Store implements kv.Store.
type Store struct {
	opt     Options
	id      [16]byte
	db      *bbolt.DB
	pager   *pager
	mapSize int  // data.db never outgrows it
	doubt   bool // a meta page of data.db was damaged when it was opened
	log     *wal.Log
	epochs  overlay.Epochs[state]
	window  overlay.Window
	failed  atomic.Pointer[error] // why the store is read-only
	absent  absence
	count   counters
	commits *committer
	turns   chan struct{} // holds one token while the commit turn is free
	stop    chan struct{} // closed by Close
	close   func() error
	keeper  sync.Once // of keepResident, which only a large file needs

	background sync.WaitGroup // of syncLoop, keepResident and makeAbsence; stop ends them
}

// counters are read by Stats.
type counters struct {
	version, commits, conflicts, checkpoints atomic.Uint64
	groups                                   atomic.Uint64 // of commits that were logged together
	overlayBytes, fileBytes                  atomic.Int64
}

var _ kv.Store = (*Store)(nil)

// Open opens or creates the store at opt.Path, and replays its log. Errors: kv.ErrLocked when
// another process has it, kv.ErrFormat when there is something else, kv.ErrCorrupt.
func Open(opt Options) (*Store, error) {
	if opt.CheckpointKeys == 0 {
		opt.CheckpointKeys = int(failpoint.Limit("checkpoint-keys", 300_000))
	}
	if opt.CheckpointBytes == 0 {
		opt.CheckpointBytes = 96 << 20
	}
	if opt.absenceFrom == 0 {
		opt.absenceFrom = failpoint.Limit("absence-from", absenceFrom)
	}
	if opt.quietAfter == 0 {
		opt.quietAfter = quietAfter
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{opt: opt, turns: make(chan struct{}, 1), stop: make(chan struct{})}
	s.turns <- struct{}{}
	s.close = sync.OnceValue(s.shutDown)
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Path, err)
	}
	return s, nil
}

// open opens the files, replays, and starts the goroutines.
func (s *Store) open() error {
	applied, err := s.openData()
	if err != nil {
		return err
	}
	c := &committer{s: s, version: applied, gather: gathering{patience: usual}}
	c.rested, c.cohort.late = sync.NewCond(&c.mu), c.late
	news := newReplayReport(s.opt.Log, s.opt.Path)
	var loader overlay.Loader
	replay := func(f *wal.Frame) error {
		news.count(f)
		loader.Add(f.Keys, f.Sealed)
		c.version = f.Version
		c.bytes += int64(f.Size())
		return nil
	}
	var found wal.Recovery
	s.log, found, err = wal.Open(wal.Options{Dir: s.opt.Path, Store: s.id, FS: s.opt.FS,
		SegmentSize: s.opt.SegmentSize, Deferred: s.opt.Sync == kv.SyncEvery}, applied, replay)
	if err != nil {
		return errors.Join(err, s.db.Close())
	}
	c.active = overlay.LayerOf(loader.Tree())
	news.done(found)
	// A meta page that was torn by a power cut belongs to a checkpoint whose commits are all in the log.
	if s.doubt && found.Frames == 0 {
		err = fmt.Errorf("a meta page of %s is damaged, and what it told may be newer than the other: %w", dataFile, kv.ErrCorrupt)
		return errors.Join(err, s.log.Close(), s.db.Close())
	}
	if c.base, err = s.openBase(); err != nil {
		return errors.Join(err, s.log.Close(), s.db.Close())
	}
	c.visible = c.mark()
	c.publish()
	s.commits = c
	c.watch()
	if s.opt.Sync > 0 {
		s.background.Go(s.syncLoop)
	}
	return nil
}

// Begin implements kv.Store.
func (s *Store) Begin(ctx context.Context) (kv.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ep := s.epochs.Acquire()
	if ep == nil {
		return nil, kv.ErrClosed
	}
	return &snapshot{store: s, epoch: ep}, nil
}

// Commit implements kv.Store.
func (s *Store) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.failed.Load() != nil && !b.Empty() {
		return 0, kv.ErrReadOnly
	}
	// Most of the validation and all of the encoding happen here: the committer does the rest.
	checked, ok := s.window.Check(&b.Reads, b.Snapshot)
	if !ok {
		s.count.conflicts.Add(1)
		return 0, kv.ErrConflict
	}
	frame, err := wal.Encode(b)
	if err != nil {
		return 0, err
	}
	r := newRequest()
	r.reads, r.since, r.frame, r.turn, r.applied = b.Reads, max(checked, b.Snapshot), frame, b.Turn, b.Applied
	err = s.commits.commit(ctx, r)
	return r.frame.Version, err
}

// Exclusive implements kv.Store.
func (s *Store) Exclusive(ctx context.Context) (*kv.Turn, error) {
	select {
	case <-s.turns:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.stop:
		return nil, kv.ErrClosed
	}
	turn := kv.NewTurn(func() {
		s.commits.giveBack()
		s.turns <- struct{}{}
	})
	given, err := s.commits.take(turn)
	if err == nil {
		select {
		case <-given:
			return turn, nil
		case <-s.stop:
			err = kv.ErrClosed
		}
	}
	s.turns <- struct{}{}
	return nil, err
}

// Stats implements kv.Store. Keys is not known here.
func (s *Store) Stats() kv.Stats {
	u := s.epochs.Usage()
	return kv.Stats{
		Kind:       "bolt",
		Version:    kv.Version(s.count.version.Load()),
		Bytes:      s.count.overlayBytes.Load(),
		FileBytes:  s.count.fileBytes.Load() + s.log.Size(),
		Snapshots:  u.Open,
		Commits:    s.count.commits.Load(),
		Conflicts:  s.count.conflicts.Load(),
		Syncs:      s.log.Syncs(),
		Checkpoint: s.count.checkpoints.Load(),
		ReadOnly:   s.failed.Load() != nil,
		Begun:      u.All, Lag: u.Lag, Oldest: u.Since,
		Groups: s.count.groups.Load(), SyncTime: s.log.SyncTime(),
		FreePages: s.pager.freePages.Load(), PinnedPages: s.pager.pinnedPages.Load(),
	}
}

// Close implements kv.Store: it finishes the waiting commits, checkpoints and closes the files.
// Snapshots that are still open are an error; the data file is then closed with the last one.
func (s *Store) Close() error { return s.close() }

func (s *Store) shutDown() error {
	close(s.stop)
	s.commits.end()
	s.background.Wait()
	open, gone := s.epochs.Shut()
	err := s.log.Close()
	if cause := s.failed.Load(); cause != nil {
		err = errors.Join(*cause, err)
	}
	if open > 0 {
		err = errors.Join(err, fmt.Errorf("%d snapshots are still open", open))
	}
	if gone != nil {
		err = errors.Join(err, s.dropBase(gone.State.base))
	}
	return err
}

// fail makes the store read-only.
func (s *Store) fail(err error) {
	if s.failed.CompareAndSwap(nil, &err) {
		s.opt.Log.Error("a write failed: the store is read-only until it is opened again", "err", err)
	}
}

// syncLoop syncs the log at the interval of the options.
func (s *Store) syncLoop() {
	tick := time.NewTicker(time.Duration(s.opt.Sync))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.failed.Load() != nil {
				continue
			}
			if err := s.log.Sync(); err != nil {
				s.fail(err)
			}
		case <-s.stop:
			return
		}
	}
}
