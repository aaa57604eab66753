package wal

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/nacredb/nacre/engine/kv"
)

// segment is one file of the log.
type segment struct {
	name string
	file File
	seq  uint64
	mark uint32
	size int64      // allocated
	end  int64      // where the next frame goes
	last kv.Version // of its newest frame; 0 = none

	cached bool // frames were written that only a sync of the file makes durable; where Options.Deferred
}

// takesBlocks reports whether n bytes of frames can be written as whole blocks at the end of s: in space that is
// allocated, and not too many to be kept in memory.
func (s *segment) takesBlocks(n int) bool {
	return n <= joinLimit && int64(nextBlock(int(s.end)+n)) <= s.size && s.file.Blocks()
}

// writeHeader gives the segment the sequence number seq; the caller syncs.
func (s *segment) writeHeader(store [16]byte, seq uint64) error {
	var page [firstFrame]byte
	h := page[:segmentHeader]
	copy(h, segmentMagic)
	binary.LittleEndian.PutUint32(h[8:], segmentFormat)
	copy(h[16:], store[:])
	binary.LittleEndian.PutUint64(h[32:], seq)
	rand.Read(h[40:48]) // never fails
	binary.LittleEndian.PutUint32(h[12:], checksum(h[16:]))
	copy(page[headerCopy:], h)
	if _, err := s.file.WriteAt(page[:], 0); err != nil {
		return fmt.Errorf("write header of log segment: %w", err)
	}
	s.seq, s.mark, s.end, s.last = seq, markOf(h), firstFrame, 0
	s.size = max(s.size, firstFrame)
	return nil
}

// clearHeader makes the segment one without a header; the caller syncs.
func (s *segment) clearHeader() error {
	if _, err := s.file.WriteAt(make([]byte, firstFrame), 0); err != nil {
		return fmt.Errorf("clear log segment: %w", err)
	}
	s.seq = 0
	return nil
}

// readHeader finds the sequence number and the mark in the first bytes of a segment: 0 when it
// has no header. Errors: kv.ErrCorrupt when both copies are damaged, kv.ErrFormat when it is of
// another store or a newer format.
func (s *segment) readHeader(p []byte, store [16]byte) error {
	if len(p) < headerCopy+segmentHeader || len(bytes.TrimLeft(p, "\x00")) == 0 {
		return nil
	}
	for _, at := range []int{0, headerCopy} {
		h := p[at : at+segmentHeader]
		if string(h[:8]) != segmentMagic || binary.LittleEndian.Uint32(h[12:]) != checksum(h[16:]) {
			continue
		}
		if f := binary.LittleEndian.Uint32(h[8:]); f != segmentFormat {
			return fmt.Errorf("log segment has format %d, this program knows up to %d: %w", f, segmentFormat, kv.ErrNewer)
		}
		if !bytes.Equal(h[16:32], store[:]) {
			return fmt.Errorf("log segment belongs to another store: %w", kv.ErrFormat)
		}
		s.seq, s.mark = binary.LittleEndian.Uint64(h[32:]), markOf(h)
		return nil
	}
	return fmt.Errorf("header of log segment: %w", kv.ErrCorrupt)
}

// wipe overwrites [from, to) with zeros; the caller syncs.
func (s *segment) wipe(from, to int64) error {
	if from >= to {
		return nil
	}
	if _, err := s.file.WriteAt(make([]byte, to-from), from); err != nil {
		return fmt.Errorf("wipe frames: %w", err)
	}
	return nil
}

// allocate writes zeros up to size, so that later writes change no metadata.
func (s *segment) allocate(size int64) error {
	zeros := make([]byte, 256<<10)
	for s.size < size {
		n := min(int64(len(zeros)), size-s.size)
		if _, err := s.file.WriteAt(zeros[:n], s.size); err != nil {
			return fmt.Errorf("allocate log segment: %w", err)
		}
		s.size += n
	}
	return nil
}

// read gives the whole contents.
func (s *segment) read() ([]byte, error) {
	p := make([]byte, s.size)
	if n, err := s.file.ReadAt(p, 0); int64(n) < s.size {
		return nil, fmt.Errorf("read log segment: %w", err)
	}
	return p, nil
}
