package index

import (
	"bytes"
	"cmp"
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
	blocks  [][]byte // keys, each with its value behind it
	size    int64    // of them
}

// gathered is an entry: where its key starts in which block, and how long key and value are. The garbage collector
// finds no pointers in a list of them.
type gathered struct{ block, at, key, stored uint32 }

// batchRoom is the size of the blocks that keys and values go into.
const batchRoom = 64 << 10

// NewBatch makes an empty batch for an index that is Kept.
func NewBatch(tx *txn.Tx, tb *catalog.Table, ix *catalog.Index) *Batch {
	return &Batch{tx: tx, tb: tb, ix: ix}
}

// Size is how many bytes the keys and values take that were gathered.
func (b *Batch) Size() int64 { return b.size }

// Add takes the entries of a record in, whose id has a key as key.AppendRecordKey makes it. It may have them already.
func (b *Batch) Add(id []byte, values []value.Value) error {
	s := b.tb.Scope
	e := entries{ns: s.NS, db: s.DB, tb: b.tb.ID, ix: b.ix, stored: id, unique: b.ix.Unique(), room: b.take,
		f: b.gather}
	return e.all(values)
}

// take gives room for one key: append to it.
func (b *Batch) take() []byte {
	if len(b.blocks) == 0 {
		b.blocks = append(b.blocks, make([]byte, 0, batchRoom))
	}
	last := b.blocks[len(b.blocks)-1]
	return last[len(last):]
}

// gather takes an entry in, whose key was made in the room of take, or elsewhere where that was too small.
func (b *Batch) gather(k, stored []byte) error {
	n := len(k) + len(stored)
	if len(b.blocks) == 0 || n > cap(b.take()) {
		b.blocks = append(b.blocks, make([]byte, 0, max(n, batchRoom)))
	}
	block := &b.blocks[len(b.blocks)-1]
	if len(b.entries) == cap(b.entries) { // append would copy many of them five times
		b.entries = slices.Grow(b.entries, max(len(b.entries), fewHeads))
	}
	b.entries = append(b.entries,
		gathered{uint32(len(b.blocks) - 1), uint32(len(*block)), uint32(len(k)), uint32(len(stored))})
	*block = append(append(*block, k...), stored...) // a key that is there already is copied onto itself
	b.size += int64(n)
	return nil
}

// keyOf is the key of the i-th entry.
func (b *Batch) keyOf(i int) []byte {
	e := &b.entries[i]
	end := e.at + e.key
	return b.blocks[e.block][e.at:end:end]
}

// storedOf is the value of the i-th entry; never nil, which deletes.
func (b *Batch) storedOf(i int) []byte {
	e := &b.entries[i]
	end := e.at + e.key + e.stored
	return b.blocks[e.block][e.at+e.key : end : end]
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
	first := b.keyOf(0)
	for i := range b.entries {
		if k := b.keyOf(i); !bytes.HasPrefix(k, first) {
			first = first[:kv.SharedPrefix(first, k)]
		}
	}
	out := make([]order, len(b.entries))
	for i := range b.entries {
		out[i] = order{kv.Head(b.keyOf(i)[len(first):]), int32(i)}
	}
	out = byHead(out)
	for rest := out; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].head == rest[0].head {
			n++
		}
		if same := rest[:n]; n > 1 {
			slices.SortFunc(same, func(x, y order) int { return bytes.Compare(b.keyOf(int(x.at)), b.keyOf(int(y.at))) })
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
	writes := make([]kv.Write, 0, len(b.entries)+txn.SpareWrites)
	var last []byte
	for i, o := range order {
		k, stored := b.keyOf(int(o.at)), b.storedOf(int(o.at))
		owned := unique && len(bytes.TrimPrefix(stored, []byte{elementMark})) > 0
		same := i > 0 && o.head == order[i-1].head && bytes.Equal(k, last) // a look at the key waits for its memory
		last = k
		if same {
			if owned { // of two records, or of one that has a value twice
				return false, nil
			}
			continue
		}
		if owned || b.Among {
			has, err := b.tx.GetUntracked(k)
			if err != nil {
				return false, fmt.Errorf("look into index %s: %w", b.ix.Name, err)
			}
			same := has != nil && bytes.Equal(has, stored)
			if owned && has != nil && !same {
				return false, nil
			}
			if same { // who changes the record from now on takes it out
				continue
			}
		}
		writes = append(writes, kv.Write{Key: k, Value: stored})
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
			keys = append(keys, b.keyOf(int(o.at)))
		}
		if _, err := b.tx.Prefetch(keys); err != nil {
			return fmt.Errorf("look into index %s: %w", b.ix.Name, err)
		}
	}
	return nil
}
