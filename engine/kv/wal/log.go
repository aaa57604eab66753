package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
)

// Options describes a log.
type Options struct {
	Dir         string
	Store       [16]byte // id of the store that it belongs to
	FS          FS       // nil = OS
	SegmentSize int64    // bytes of a segment that is allocated ahead; 0 = 16 MiB
	// Deferred: what is appended may stay in memory until the next Sync: no one is told of it before.
	Deferred bool
}

const (
	defaultSegment = 16 << 20
	firstSegment   = 256 << 10 // of a new log: small, so that the store is ready at once
	maxFree        = 6         // segments kept for later use
	joinLimit      = 1 << 20   // groups up to this size are one write
)

// Log is an open log. Append and Release are for one goroutine, Sync for any.
type Log struct {
	opt  Options
	fs   FS
	next uint64     // sequence number of the next segment to prepare; the preparer's while it runs
	last kv.Version // of the newest frame appended
	// released is the newest version that is durable elsewhere.
	released kv.Version
	cur      *segment // nil: the disk was too full for one when the log was opened
	// durable is the newest version that is known to be synced.
	durable atomic.Uint64
	group   []byte // joins the frames of a group; kept
	blocks  blocks // of cur, where Deferred; syncMu guards it then

	mu       sync.Mutex // guards all below; a leaf lock, never held over I/O
	appended kv.Version // as last, for Sync
	unsynced []*segment // written since the last Sync, cur included
	sealed   []*segment // older than cur, with frames that are still needed
	free     []*segment // to be used again
	spare    *segment   // prepared: the next cur
	busy     bool       // a preparer runs
	slots    int        // number of the next new file

	preparers sync.WaitGroup
	syncs     atomic.Uint64
	syncTime  atomic.Int64 // nanoseconds
	syncMu    sync.Mutex   // one Sync at a time, and no Append beside it where Deferred; taken before mu
}

// Syncs counts the syncs of the data of commits.
func (l *Log) Syncs() uint64 { return l.syncs.Load() }

// SyncTime is how long they took together.
func (l *Log) SyncTime() time.Duration { return time.Duration(l.syncTime.Load()) }

// Size is the number of bytes of all files.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(0)
	for _, s := range l.segments() {
		n += s.size
	}
	return n
}

// segments gives all segments. mu must be held.
func (l *Log) segments() []*segment {
	all := slices.Concat(l.sealed, l.free, []*segment{l.cur, l.spare})
	return slices.DeleteFunc(all, func(s *segment) bool { return s == nil })
}

// Append writes frames, whose versions follow on each other and on the last one appended. They
// are durable after the next Sync. After an error for which IsNoSpace holds nothing of them is
// in the log, and Append may be tried again; after any other the log must not be used.
func (l *Log) Append(frames []*Frame) error {
	if l.opt.Deferred {
		l.syncMu.Lock()
		defer l.syncMu.Unlock()
	}
	if l.cur == nil {
		if err := l.beginFresh(); err != nil {
			return err
		}
	}
	total := 0
	for _, f := range frames {
		total += f.Size()
	}
	l.rotate(int64(total))
	s, at := l.cur, l.cur.end
	durable := kv.Version(l.durable.Load())
	for _, f := range frames {
		if f.Version != l.last+1 {
			return fmt.Errorf("append version %d after %d", f.Version, l.last)
		}
		l.last++
		f.finish(s.mark, durable)
	}
	before := l.last - kv.Version(len(frames))
	if err := l.write(s, frames, total); err != nil {
		l.last = before
		if IsNoSpace(err) {
			return l.undo(s, at, at+int64(total), err)
		}
		return fmt.Errorf("append to the log: %w", err)
	}
	s.end, s.last = at+int64(total), l.last
	l.wrote(s)
	if s.end > s.size/2 {
		l.prepare()
	}
	return nil
}

// write puts frames at the end of s: in one write unless they are large, or into blocks for Sync to write.
func (l *Log) write(s *segment, frames []*Frame, total int) error {
	if l.opt.Deferred && s.takesBlocks(total) {
		return l.blocks.take(s, frames, total)
	}
	if err := l.blocks.write(); err != nil { // of an Append without a Sync after it
		return err
	}
	s.cached = true
	if len(frames) == 1 || total > joinLimit {
		at := s.end
		for _, f := range frames {
			if _, err := s.file.WriteAt(f.buf, at); err != nil {
				return err
			}
			at += int64(len(f.buf))
		}
		return nil
	}
	l.group = l.group[:0]
	for _, f := range frames {
		l.group = append(l.group, f.buf...)
	}
	_, err := s.file.WriteAt(l.group, s.end)
	return err
}

// undo removes what a failed write has left in [from, to), durably: the frames in it have been
// refused, and must not come back.
func (l *Log) undo(s *segment, from, to int64, cause error) error {
	err := s.wipe(from, min(to, s.size))
	if err == nil {
		err = s.file.Truncate(s.size)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		// Not wrapped: whether there is space does not matter any more.
		return fmt.Errorf("remove a half-written frame: %v, after: %v", err, cause)
	}
	return fmt.Errorf("append to the log: %w", cause)
}

// rotate goes on to the prepared segment when the present one has no room for n bytes. Without a
// prepared one the present one grows.
func (l *Log) rotate(n int64) {
	if l.cur.end+n <= l.cur.size || l.cur.end == firstFrame {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare != nil {
		l.sealed = append(l.sealed, l.cur)
		l.cur, l.spare = l.spare, nil
	}
}

// wrote notes that s has grown and has to be synced. That is after the write: a Sync in the middle of it must not be
// taken for one of all of it.
func (l *Log) wrote(s *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.size = max(s.size, s.end)
	l.appended = l.last
	if !slices.Contains(l.unsynced, s) {
		l.unsynced = append(l.unsynced, s)
	}
}

// Sync makes all that was appended before durable. After an error the log must not be used.
func (l *Log) Sync() error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.mu.Lock()
	dirty, upTo := l.unsynced, l.appended
	l.unsynced = nil
	l.mu.Unlock()
	for _, s := range dirty {
		began := time.Now()
		if err := l.harden(s); err != nil {
			return fmt.Errorf("sync the log: %w", err)
		}
		l.syncTime.Add(int64(time.Since(began)))
		l.syncs.Add(1)
	}
	l.raise(upTo)
	return nil
}

// harden makes durable what s has. Frames of its blocks come after those in the cache.
func (l *Log) harden(s *segment) error {
	if !l.opt.Deferred {
		return s.file.Sync() // Append may be at work: what it writes meanwhile is for the next one
	}
	if s.cached {
		if err := s.file.Sync(); err != nil {
			return err
		}
		s.cached = false
	}
	if l.blocks.of != s {
		return nil
	}
	return l.blocks.write()
}

// raise sets durable to at least v.
func (l *Log) raise(v kv.Version) {
	for {
		old := l.durable.Load()
		if uint64(v) <= old || l.durable.CompareAndSwap(old, uint64(v)) {
			return
		}
	}
}

// Release says that the versions up to upTo are durable elsewhere: segments that hold nothing
// newer are used again. They lose their headers, so that the next Open need not read them; that
// write is not synced, as nothing depends on it.
func (l *Log) Release(upTo kv.Version) error {
	l.syncMu.Lock() // no Sync may be at work on a file that is closed here
	defer l.syncMu.Unlock()
	l.raise(upTo)
	l.released = max(l.released, upTo)
	l.mu.Lock()
	var freed, surplus []*segment
	l.sealed = slices.DeleteFunc(l.sealed, func(s *segment) bool {
		if s.last > upTo {
			return false
		}
		l.unsynced = slices.DeleteFunc(l.unsynced, func(u *segment) bool { return u == s })
		if len(l.free)+len(freed) < maxFree {
			freed = append(freed, s)
		} else {
			surplus = append(surplus, s)
		}
		return true
	})
	l.mu.Unlock()
	var errList []error
	for _, s := range freed {
		errList = append(errList, s.clearHeader())
	}
	l.mu.Lock()
	l.free = append(l.free, freed...)
	l.mu.Unlock()
	for _, s := range surplus {
		errList = append(errList, s.file.Close(), l.fs.Remove(s.name))
	}
	return errors.Join(errList...)
}

// prepare starts making the next segment ready, unless that runs or is done.
func (l *Log) prepare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare != nil || l.busy {
		return
	}
	l.busy = true
	s := l.takeFree()
	l.preparers.Go(func() { l.prepareSpare(s) })
}

// takeFree takes a segment that is to be used again; nil: there is none. mu must be held.
func (l *Log) takeFree() *segment {
	n := len(l.free)
	if n == 0 {
		return nil
	}
	s := l.free[n-1]
	l.free = l.free[:n-1]
	return s
}

// prepareSpare readies s, or a new file. If that fails the log goes on in its present segment,
// and a later Append tries again.
func (l *Log) prepareSpare(s *segment) {
	ready, err := l.ready(s, l.opt.SegmentSize)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if err == nil {
		l.spare = ready
	} else if s != nil {
		l.free = append(l.free, s)
	}
}

// ready makes a segment of size bytes with the next sequence number, from s or a new file.
func (l *Log) ready(s *segment, size int64) (*segment, error) {
	created := s == nil
	if created {
		var err error
		if s, err = l.create(); err != nil {
			return nil, err
		}
	}
	err := l.format(s, size)
	if err == nil && created {
		err = l.fs.SyncDir(l.opt.Dir)
	}
	if err != nil && created {
		return nil, errors.Join(err, s.file.Close(), l.fs.Remove(s.name))
	}
	return s, err
}

func (l *Log) format(s *segment, size int64) error {
	if s.size > 2*size {
		if err := s.file.Truncate(size); err != nil {
			return err
		}
		s.size = size
	}
	if err := s.writeHeader(l.opt.Store, l.next); err != nil {
		return err
	}
	l.next++
	failpoint.Hit(failpoint.Recycle)
	if err := s.allocate(size); err != nil {
		return err
	}
	return s.file.Sync()
}

// create opens a new file.
func (l *Log) create() (*segment, error) {
	l.mu.Lock()
	l.slots++
	name := filepath.Join(l.opt.Dir, fmt.Sprintf("wal-%04d.log", l.slots))
	l.mu.Unlock()
	f, err := l.fs.Open(name)
	if err != nil {
		return nil, fmt.Errorf("create log segment: %w", err)
	}
	return &segment{name: name, file: f}, nil
}

// Close closes the files; it does not sync. When everything was released, the next Open has nothing to read, and one
// segment is left for it.
func (l *Log) Close() error {
	l.preparers.Wait()
	var err error
	if l.released == l.last && l.last > 0 {
		err = l.empty()
	}
	return errors.Join(err, l.closeFiles())
}

// empty removes all segments but the present one, and what makes that one be read.
func (l *Log) empty() error {
	l.mu.Lock()
	rest := slices.DeleteFunc(l.segments(), func(s *segment) bool { return s == l.cur })
	l.sealed, l.free, l.spare = nil, nil, nil
	l.mu.Unlock()
	var errList []error
	for _, s := range rest {
		errList = append(errList, s.file.Close(), l.fs.Remove(s.name))
	}
	if s := l.cur; s != nil {
		errList = append(errList, s.clearHeader())
		if s.size > l.opt.SegmentSize {
			errList = append(errList, s.file.Truncate(l.opt.SegmentSize))
		}
	}
	return errors.Join(errList...)
}

func (l *Log) closeFiles() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errList []error
	for _, s := range l.segments() {
		errList = append(errList, s.file.Close())
	}
	return errors.Join(errList...)
}
