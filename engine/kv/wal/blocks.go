package wal

import (
	"fmt"
	"unsafe"
)

// blockSize is the unit of writes past the cache of the system. The sectors of disks are not larger.
const blockSize = 4096

// blocks are the last frames of a segment as whole blocks, the last one filled up with zeros. Where frames wait for the
// next Sync anyway they are written past the cache of the system and made durable by one call: a write into the cache
// and a sync of it do more, and a disk that can force single writes to its medium need not empty its own cache.
type blocks struct {
	of    *segment // whose they are; nil: none was written
	from  int64    // place of data in the file, a multiple of blockSize
	data  []byte   // up to the end of the segment; in aligned memory
	fresh bool     // some of it is not written yet
}

// take appends frames, n bytes in all, to segment s, in memory.
func (b *blocks) take(s *segment, frames []*Frame, n int) error {
	if b.of != s || len(b.data)+n > joinLimit {
		if err := b.write(); err != nil { // of an Append without a Sync after it
			return err
		}
	}
	if b.of != s || b.from+int64(len(b.data)) != s.end {
		if err := b.load(s); err != nil {
			return err
		}
	}
	b.grow(len(b.data) + n)
	for _, f := range frames {
		b.data = append(b.data, f.buf...)
	}
	b.fresh = true
	return nil
}

// load reads what the block has in which s ends.
func (b *blocks) load(s *segment) error {
	b.of, b.from, b.data = s, wholeBlocks(s.end), b.data[:0]
	n := int(s.end - b.from)
	b.grow(n)
	if n == 0 {
		return nil
	}
	b.data = b.data[:n]
	if got, err := s.file.ReadAt(b.data, b.from); got < n {
		b.of = nil
		return fmt.Errorf("read the last block: %w", err)
	}
	return nil
}

// write writes what is fresh. Afterwards b has the block in which the segment ends, if there is something in it.
func (b *blocks) write() error {
	if !b.fresh {
		return nil
	}
	n := len(b.data)
	padded := b.data[:nextBlock(n)]
	clear(padded[n:])
	if err := b.of.file.WriteBlocks(padded, b.from); err != nil {
		return err
	}
	whole := int(wholeBlocks(int64(n)))
	b.data = b.data[:copy(b.data, b.data[whole:])]
	b.from += int64(whole)
	b.fresh = false
	return nil
}

// grow gives data room for n bytes, filled up to whole blocks.
func (b *blocks) grow(n int) {
	if n = nextBlock(n); n <= cap(b.data) {
		return
	}
	b.data = append(aligned(max(n, 2*cap(b.data), 16*blockSize)), b.data...)
}

// aligned gives no bytes with room for n, at an address that is a multiple of blockSize.
func aligned(n int) []byte {
	p := make([]byte, n+blockSize)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(p))) & (blockSize - 1)
	return p[skip : skip : int(skip)+n]
}

// wholeBlocks is n without the part that does not fill a block, nextBlock n filled up to one.
func wholeBlocks(n int64) int64 { return n &^ (blockSize - 1) }
func nextBlock(n int) int       { return (n + blockSize - 1) &^ (blockSize - 1) }
