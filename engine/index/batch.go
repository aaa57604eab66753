package index

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Batch gathers the entries of many records for an index that is being built, and writes them sorted. The transaction must
// not look at the index besides. It belongs to one goroutine.
type Batch struct {
	tx      *txn.Tx
	tb      *catalog.Table
	ix      *catalog.Index
	entries []gathered
	room    []byte // where keys and values go; its length is what is taken
}

type gathered struct{ k, stored []byte }

// batchRoom is the size of the blocks that keys and values go into.
const batchRoom = 64 << 10

// NewBatch makes an empty batch for an index that is Kept, with room for the entries of about so many records.
func NewBatch(tx *txn.Tx, tb *catalog.Table, ix *catalog.Index, records int) *Batch {
	return &Batch{tx: tx, tb: tb, ix: ix, entries: make([]gathered, 0, records)}
}

// Add takes the entries of a record in. It may have them already.
func (b *Batch) Add(id *value.RecordID, values []value.Value) error {
	s := b.tb.Scope
	e := entries{ns: s.NS, db: s.DB, tb: b.tb.ID, ix: b.ix.ID, id: id.Key, unique: b.ix.Unique(), room: b.take, f: b.gather}
	return e.all(values)
}

// take gives room for one key or value: append to it.
func (b *Batch) take() []byte {
	if cap(b.room)-len(b.room) < 256 {
		b.room = make([]byte, 0, batchRoom)
	}
	return b.room[len(b.room):]
}

func (b *Batch) gather(k, stored []byte) error {
	b.entries = append(b.entries, gathered{b.keep(k), b.keep(stored)})
	return nil
}

// keep takes what was made in the room of take, or elsewhere.
func (b *Batch) keep(p []byte) []byte {
	at := len(b.room)
	if len(p) == 0 {
		return []byte{} // not nil: that deletes
	}
	if cap(p) != cap(b.room)-at {
		return p // there was no room
	}
	b.room = b.room[:at+len(p)]
	return p[:len(p):len(p)]
}

// Write writes what was gathered. It is false where a unique index has no place for a record: nothing was written then, and
// adding the records one by one with Writer.Build tells which.
func (b *Batch) Write() (bool, error) {
	slices.SortFunc(b.entries, func(x, y gathered) int { return bytes.Compare(x.k, y.k) })
	unique := b.ix.Unique()
	writes := make([]kv.Write, 0, len(b.entries))
	for i, e := range b.entries {
		owned := unique && len(bytes.TrimPrefix(e.stored, []byte{elementMark})) > 0
		if i > 0 && bytes.Equal(e.k, b.entries[i-1].k) {
			if owned { // of two records, or of one that has a value twice
				return false, nil
			}
			continue
		}
		if owned {
			has, err := b.tx.Get(e.k)
			if err != nil {
				return false, fmt.Errorf("look into index %s: %w", b.ix.Name, err)
			}
			if has != nil {
				if !bytes.Equal(has, e.stored) {
					return false, nil
				}
				continue
			}
		}
		writes = append(writes, kv.Write{Key: e.k, Value: e.stored})
	}
	b.entries = nil
	return true, b.tx.Append(writes)
}
