package wal

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/failpoint"
)

// Recovery tells what Open has found.
type Recovery struct {
	Frames  int        // replayed
	Bytes   int64      // of those
	Last    kv.Version // of the newest one; the store's applied version when there was none
	Dropped int        // segments with frames that no commit was acknowledged for
}

// Open opens the log in opt.Dir, or starts one. Frames newer than applied are handed to replay
// in order; their memory stays theirs. It returns when all of them are durable and the log is
// ready for the version after the last. Errors: kv.ErrCorrupt, kv.ErrFormat, those of replay.
func Open(opt Options, applied kv.Version, replay func(*Frame) error) (*Log, Recovery, error) {
	if opt.FS == nil {
		opt.FS = OS{}
	}
	if opt.SegmentSize == 0 {
		opt.SegmentSize = failpoint.Limit("segment", defaultSegment)
	}
	l := &Log{opt: opt, fs: opt.FS, next: 1, last: applied, released: applied}
	rec, err := l.recover(applied, replay)
	if err == nil {
		err = l.begin()
	}
	if err != nil {
		l.closeFiles()
		return nil, rec, fmt.Errorf("open log: %w", err)
	}
	return l, rec, nil
}

// begin readies the segment that is written to. On a full disk without a free one that is the newest of those that were
// replayed, or none at all: the store can be read then, and Append refuses until there is room.
func (l *Log) begin() error {
	l.appended = l.last
	l.raise(l.last)
	err := l.beginFresh()
	if !IsNoSpace(err) {
		return err
	}
	if n := len(l.sealed); n > 0 {
		err = l.resume(n - 1)
	}
	if IsNoSpace(err) { // also one that has to copy what is overwritten
		return nil
	}
	return err
}

// beginFresh readies a segment without frames.
func (l *Log) beginFresh() error {
	size := int64(firstSegment)
	l.mu.Lock()
	s := l.takeFree()
	l.mu.Unlock()
	if s != nil {
		size = s.size
	}
	cur, err := l.ready(s, min(size, l.opt.SegmentSize))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.cur = cur
	} else if s != nil {
		l.free = append(l.free, s) // to be tried again, or closed
	}
	return err
}

// resume goes on behind the frames of sealed segment i. What a torn frame has left there goes first.
func (l *Log) resume(i int) error {
	s := l.sealed[i]
	err := s.wipe(s.end, s.size)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return err
	}
	l.cur, l.sealed = s, slices.Delete(l.sealed, i, i+1)
	return nil
}

// recover reads all segments, replays what is newer than applied, and sorts the segments into
// those that are still needed and those that are free.
func (l *Log) recover(applied kv.Version, replay func(*Frame) error) (Recovery, error) {
	rec := Recovery{Last: applied}
	segments, err := l.list()
	if err != nil {
		return rec, err
	}
	r := reader{want: applied + 1, applied: applied, replay: replay, rec: &rec}
	for i, s := range segments {
		if err := l.readSegment(&r, s); err != nil {
			l.free = append(l.free, segments[i:]...) // to be closed
			return rec, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	l.last = r.want - 1
	rec.Last = l.last
	return rec, nil
}

// readSegment replays one segment and files it.
func (l *Log) readSegment(r *reader, s *segment) error {
	if s.seq == 0 {
		l.free = append(l.free, s)
		return nil
	}
	p, err := s.read()
	if err != nil {
		return err
	}
	found, err := r.segment(s, p)
	if err != nil {
		return err
	}
	return l.settle(s, found)
}

// list opens all segments, in the order in which they were written.
func (l *Log) list() ([]*segment, error) {
	names, err := l.fs.List(l.opt.Dir)
	if err != nil {
		return nil, err
	}
	var out []*segment
	for _, name := range names {
		var slot int
		if n, _ := fmt.Sscanf(filepath.Base(name), "wal-%d.log", &slot); n == 1 {
			l.slots = max(l.slots, slot)
		}
		s, err := l.openSegment(name)
		if s != nil {
			out = append(out, s)
			l.next = max(l.next, s.seq+1)
		}
		if err != nil {
			l.free = append(l.free, out...)
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.SortFunc(out, func(a, b *segment) int { return cmp.Compare(a.seq, b.seq) })
	return out, nil
}

func (l *Log) openSegment(name string) (*segment, error) {
	f, err := l.fs.Open(name)
	if err != nil {
		return nil, err
	}
	s := &segment{name: name, file: f}
	if s.size, err = f.Size(); err != nil {
		return s, err
	}
	p := make([]byte, min(s.size, firstFrame))
	if n, err := f.ReadAt(p, 0); n < len(p) {
		return s, err
	}
	return s, s.readHeader(p, l.opt.Store)
}

// settle files a segment that was read. What is kept is synced: it may have been read from a
// cache that a power cut would lose, and later commits build on it. Frames that do not belong to
// the chain are wiped out: their versions will be given again.
func (l *Log) settle(s *segment, found finding) error {
	var err error
	switch {
	case found.kept && found.junk > s.end:
		err = s.wipe(s.end, found.junk)
	case !found.kept && found.junk > 0:
		err = s.clearHeader()
	}
	if err == nil && (found.kept || found.junk > 0) {
		err = s.file.Sync()
	}
	if err != nil {
		return err
	}
	if found.kept {
		l.sealed = append(l.sealed, s)
	} else {
		l.free = append(l.free, s)
	}
	return nil
}

// reader follows the chain of versions through the segments.
type reader struct {
	want    kv.Version // the version that comes next
	applied kv.Version
	replay  func(*Frame) error
	rec     *Recovery
}

// finding is the result of reading a segment.
type finding struct {
	kept bool  // it has frames that were replayed
	junk int64 // the end of the last whole frame that does not belong to the chain; 0 = none
}

// segment replays those frames of s that come next in the chain. Damaged frames are passed over:
// if one of them is missing in the chain, then either a later frame proves that it had been
// synced, which is an error, or the commit was never acknowledged.
func (r *reader) segment(s *segment, p []byte) (found finding, err error) {
	s.end = firstFrame
	for at := firstFrame; at+frameHeader <= len(p); {
		if binary.LittleEndian.Uint32(p[at:]) != s.mark {
			at += frameAlign
			continue
		}
		f, durable, ok := decode(p[at:], s.mark)
		if !ok {
			at += frameAlign
			continue
		}
		at += align(frameHeader + f.payload)
		switch {
		case f.Version == r.want:
			if err := r.replay(f); err != nil {
				return found, err
			}
			r.want++
			r.rec.Frames++
			r.rec.Bytes += int64(f.Size())
			found.kept = true
		case f.Version > r.want && durable >= r.want:
			return found, fmt.Errorf("version %d is missing before offset %d: %w", r.want, at, kv.ErrCorrupt)
		case f.Version > r.applied:
			found.junk = int64(at)
			continue
		}
		s.end, s.last = int64(at), max(s.last, f.Version)
	}
	if found.junk > s.end {
		r.rec.Dropped++
	}
	return found, nil
}
