// Package physical saves, restores, checks, repairs and compacts whole stores, below the language:
// it sees keys and values, and of definitions only what says how they hang together.
//
// It promises: a backup is one snapshot of the store, taken while others write; Restore writes
// nothing before all of the backup has been verified, and a store appears under its name only when
// it is whole and durable; Check changes nothing; Repair and Compact write new files, never the
// ones they read.
//
// # Bytes of a backup
//
// A backup is a header and blocks. Integers are little endian, checksums CRC-32C.
//
//	header, 32 bytes
//	 0  8  "nacrebak"
//	 8  4  format (2; 1 is read too, and has no revoked tokens)
//	12  4  checksum of bytes 0..12 and 16..32
//	16 16  id of the backup
//
//	block, 32 bytes and its payload; the blocks follow each other without a gap
//	 0  1  kind: 'D' data, 'M' manifest (the last block)
//	 1  1  codec of the payload: 0 as it is, 1 zstd
//	 2  2  zero
//	 4  4  stored length of the payload
//	 8  8  number of the block, from 0
//	16  4  number of entries in it
//	20  4  length of the payload, decoded
//	24  4  checksum of the payload as stored
//	28  4  checksum of the backup's id and bytes 0..28
//	32  …  payload
//
//	entry of a data block; keys ascend through the whole backup
//	uvarint n · uvarint key length - n · uvarint value length · rest of the key · value
//
// n is how many bytes the key has in common with the key before it in the same block (0 for the
// first). The payload of the manifest is JSON (Manifest). Each byte is under a checksum, and the
// id and the numbers keep blocks of another backup, or in another order, from passing.
package physical

import (
	"hash/crc32"
	"time"

	"github.com/nacredb/nacre/engine/key"
)

const (
	magic        = "nacrebak"
	format       = 2 // programs that know 1 alone would let in the revoked tokens that a backup holds
	oldestFormat = 1
	headerSize   = 32
	blockHeader  = 32
	blockSize    = 1 << 20 // a block is closed when its payload reaches this
	maxPayload   = 1 << 30 // no block is larger: one entry may be nearly that
	kindData     = 'D'
	kindManifest = 'M'
	codecPlain   = 0
	codecZstd    = 1
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func checksum(parts ...[]byte) uint32 {
	sum := uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli(), p)
	}
	return sum
}

// Manifest says what a backup holds. It is the last block: its counts are known only then.
type Manifest struct {
	Format  int              `json:"format"`
	ID      string           `json:"id"`
	Created time.Time        `json:"created"`
	Product string           `json:"product,omitempty"` // who wrote it
	Store   string           `json:"store"`             // kind of the store: "bolt", "memory", …
	Version uint64           `json:"version"`           // commit counter of the snapshot
	Keys    uint64           `json:"keys"`
	Bytes   uint64           `json:"bytes"`  // of keys and values
	Blocks  uint64           `json:"blocks"` // of data
	Classes map[string]Count `json:"classes"`
}

// Count is how much there is of one class of keys.
type Count struct {
	Keys  uint64 `json:"keys"`
	Bytes uint64 `json:"bytes"`
}

// Progress is told now and then, and at the end, how far a run is: keys and bytes done, and of
// how many bytes (0 = not known).
type Progress func(stage string, keys, bytes, total uint64)

func (p Progress) tell(stage string, keys, bytes, total uint64) {
	if p != nil {
		p(stage, keys, bytes, total)
	}
}

// className names the class of a key for counts and findings.
func className(c key.Class) string {
	switch c {
	case key.ClassMeta:
		return "meta"
	case key.ClassRootDef, key.ClassNSDef, key.ClassDBDef, key.ClassTableDef:
		return "definition"
	case key.ClassNode, key.ClassProcess:
		return "node"
	case key.ClassSequence:
		return "sequence"
	case key.ClassRecord:
		return "record"
	case key.ClassEdge:
		return "edge"
	case key.ClassReference:
		return "reference"
	case key.ClassHistory, key.ClassPastDef:
		return "history"
	case key.ClassIndex:
		return "index"
	case key.ClassIndexData:
		return "index data"
	case key.ClassCounter:
		return "counter"
	case key.ClassChange:
		return "change"
	case key.ClassLive:
		return "live query"
	case key.ClassBlob:
		return "model"
	}
	return "unknown"
}
