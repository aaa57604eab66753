// Package wal is the write-ahead log of a store: batches in frames, in files ("segments") that
// are allocated ahead and used again.
//
// It promises: after Sync returns nil, every frame appended before is found by the next Open, in
// order and whole; a frame that was cut short by a crash is dropped with all after it; damage to
// a frame that had been synced is ErrCorrupt, never a silent loss (the newest synced group is
// the one exception: nothing later vouches for it). It knows versions, keys and values, and
// nothing of what they mean.
//
// # Bytes on disk
//
// A segment is a file wal-NNNN.log; N says nothing about the order, the sequence number in the
// header does. All integers are little endian, all checksums CRC-32C.
//
//	segment header, 64 bytes, at offset 0 and again at 2048
//	 0  8  "nacrewal"
//	 8  4  format (1)
//	12  4  checksum of bytes 16..64
//	16 16  store id
//	32  8  sequence number: segments are read in this order
//	40  8  nonce, new whenever the segment is prepared
//	48 16  zero
//
//	frames, from offset 4096 on, each at a multiple of 8
//	 0  4  mark: checksum of bytes 16..48 of the segment header (frames of a former use differ)
//	 4  4  checksum of bytes 8..40
//	 8  4  payload length
//	12  4  checksum of the payload
//	16  8  version: one more than that of the frame before
//	24  8  durable: the newest version that was synced when this frame was written
//	32  4  number of entries
//	36  4  zero
//	40  …  payload, then zeros up to a multiple of 8
//
//	entry of a payload; entries are sorted by key
//	uvarint key length · uvarint 0 (deleted) or 1 + value length · key · value · 4 checksum
//
// The last two fields together are the value's sealed form (Seal); a deletion has neither. The
// checksum covers key and value, and stays with the value wherever it goes.
package wal

import (
	"encoding/binary"
	"hash/crc32"
)

const (
	segmentMagic  = "nacrewal"
	segmentFormat = 1
	segmentHeader = 64
	headerCopy    = 2048
	firstFrame    = 4096
	frameHeader   = 40
	frameAlign    = 8
)

// castagnoli is the polynomial with hardware support. It never changes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// SealSize is the number of bytes that sealing adds to a value.
const SealSize = 4

// sealSum is the checksum of a key and its value.
func sealSum(key, value []byte) uint32 {
	return crc32.Update(checksum(key), castagnoli, value)
}

// Seal appends the sealed form of value: value, then the checksum of key and value.
func Seal(dst, key, value []byte) []byte {
	dst = append(dst, value...)
	return binary.LittleEndian.AppendUint32(dst, sealSum(key, value))
}

// Unseal gives the value in a sealed one, without looking at the checksum.
func Unseal(sealed []byte) []byte { return sealed[: len(sealed)-SealSize : len(sealed)-SealSize] }

// Verify reports whether sealed is a sealed value of key that is undamaged.
func Verify(key, sealed []byte) bool {
	n := len(sealed) - SealSize
	return n >= 0 && binary.LittleEndian.Uint32(sealed[n:]) == sealSum(key, sealed[:n])
}

// markOf is the mark of the frames of the segment with that header.
func markOf(header []byte) uint32 { return checksum(header[16:48]) }

func align(n int) int { return (n + frameAlign - 1) &^ (frameAlign - 1) }
