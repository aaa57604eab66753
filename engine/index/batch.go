package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Batch gathers the entries of many records for an index that is being built, and writes them sorted. The transaction
// must not look at the index besides, and must be one of txn.Tx.FirstWins. It belongs to one goroutine.
type Batch struct {
	// Among says that others may have written some of the entries: those that are there are not written again.
	Among bool

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

// Add takes the entries of a record in, whose id has a key as key.AppendRecordKey makes it. It may have them already.
func (b *Batch) Add(id []byte, values []value.Value) error {
	s := b.tb.Scope
	e := entries{ns: s.NS, db: s.DB, tb: b.tb.ID, ix: b.ix, stored: id, unique: b.ix.Unique(), room: b.take,
		f: b.gather}
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

// order is the place of an entry among the others: what its key has behind the part that all keys share.
type order struct {
	head uint64 // the first eight bytes of it
	at   int32
}

// sorted is the order of the entries by their keys. Most are told apart by their heads, and there are no pointers to
// move.
func (b *Batch) sorted() []order {
	if len(b.entries) == 0 {
		return nil
	}
	shared := len(b.entries[0].k)
	for i := range b.entries {
		if first := b.entries[0].k[:shared]; !bytes.HasPrefix(b.entries[i].k, first) {
			shared = sharedPrefix(first, b.entries[i].k)
		}
	}
	out := make([]order, len(b.entries))
	for i := range b.entries {
		out[i] = order{headOf(b.entries[i].k[shared:]), int32(i)}
	}
	out = byHead(out)
	for rest := out; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].head == rest[0].head {
			n++
		}
		if same := rest[:n]; n > 1 {
			slices.SortFunc(same, func(x, y order) int { return bytes.Compare(b.entries[x.at].k, b.entries[y.at].k) })
		}
		rest = rest[n:]
	}
	return out
}

// fewHeads is how many are sorted sooner by comparisons.
const fewHeads = 512

// byHead sorts by heads alone: by one of their bytes after the other, from the last one on, but for those that all have
// in common.
func byHead(in []order) []order {
	differ, rises := uint64(0), true
	for i := 1; i < len(in); i++ {
		differ |= in[i].head ^ in[0].head
		rises = rises && in[i-1].head <= in[i].head
	}
	switch {
	case rises:
		return in
	case len(in) < fewHeads:
		slices.SortFunc(in, func(x, y order) int { return cmp.Compare(x.head, y.head) })
		return in
	}
	out := make([]order, len(in))
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var at [256]int
		for i := range in {
			at[in[i].head>>shift&0xff]++
		}
		sum := 0
		for i, n := range at {
			at[i], sum = sum, sum+n
		}
		for _, o := range in {
			place := &at[o.head>>shift&0xff]
			out[*place] = o
			*place++
		}
		in, out = out, in
	}
	return in
}

// sharedPrefix is how many bytes a and b begin with that are the same.
func sharedPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// headOf is the first eight bytes of k as a number that has their order; what is missing counts as zeros.
func headOf(k []byte) uint64 {
	if len(k) >= 8 {
		return binary.BigEndian.Uint64(k)
	}
	var b [8]byte
	copy(b[:], k)
	return binary.BigEndian.Uint64(b[:])
}

// Write writes what was gathered. It is false where a unique index has no place for a record: nothing was written then,
// and adding the records one by one with Writer.Build tells which.
func (b *Batch) Write() (bool, error) {
	unique := b.ix.Unique()
	order := b.sorted()
	if unique || b.Among {
		if err := b.ahead(order); err != nil {
			return false, err
		}
	}
	writes := make([]kv.Write, 0, len(b.entries))
	var last []byte
	for _, o := range order {
		e := &b.entries[o.at]
		owned := unique && len(bytes.TrimPrefix(e.stored, []byte{elementMark})) > 0
		same := last != nil && bytes.Equal(e.k, last)
		last = e.k
		if same {
			if owned { // of two records, or of one that has a value twice
				return false, nil
			}
			continue
		}
		if owned || b.Among {
			has, err := b.tx.GetUntracked(e.k)
			if err != nil {
				return false, fmt.Errorf("look into index %s: %w", b.ix.Name, err)
			}
			same := has != nil && bytes.Equal(has, e.stored)
			if owned && has != nil && !same {
				return false, nil
			}
			if same { // who changes the record from now on takes it out
				continue
			}
		}
		writes = append(writes, kv.Write{Key: e.k, Value: e.stored})
	}
	b.entries = nil
	return true, b.tx.Append(writes)
}

// atOnce is how many entries are looked up together.
const atOnce = 1024

// ahead looks the entries up together, where the store is elsewhere.
func (b *Batch) ahead(order []order) error {
	if !b.tx.Prefetches() {
		return nil
	}
	keys := make([][]byte, 0, min(atOnce, len(order)))
	for part := range slices.Chunk(order, atOnce) {
		keys = keys[:0]
		for _, o := range part {
			keys = append(keys, b.entries[o.at].k)
		}
		if _, err := b.tx.Prefetch(keys); err != nil {
			return fmt.Errorf("look into index %s: %w", b.ix.Name, err)
		}
	}
	return nil
}
