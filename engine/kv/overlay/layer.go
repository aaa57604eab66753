package overlay

import (
	"hash/maphash"
	"sync/atomic"
)

// Layer is a tree over something larger. Most keys that are looked for in it are not there, and once it has many it
// mostly says so by a filter, without a search. It is used as a Tree is. The zero Layer is empty and ready.
type Layer struct {
	Tree
	known *filter // all keys of Tree, maybe others; nil while it has few
}

// LayerOf is a layer with the keys of t, which it takes over.
func LayerOf(t Tree) Layer {
	l := Layer{Tree: t}
	if t.Len() >= filterFrom {
		l.gather()
	}
	return l
}

// filterFrom is how many keys are worth a filter.
const filterFrom = 4096

// gather makes the filter.
func (l *Layer) gather() {
	l.known = new(filter)
	var c Cursor
	for ok := c.First(&l.Tree, nil); ok; ok = c.Next() {
		l.known.add(c.Key())
	}
}

// Snapshot is that of Tree. What l gets later may be in the filter of the copy, which does no harm.
func (l *Layer) Snapshot() Layer { return Layer{Tree: l.Tree.Snapshot(), known: l.known} }

// Get is that of Tree.
func (l *Layer) Get(key []byte) ([]byte, bool) {
	if l.known != nil && !l.known.mayHave(key) {
		return nil, false
	}
	return l.Tree.Get(key)
}

// Set is that of Tree.
func (l *Layer) Set(key, val []byte) (old []byte, replaced bool) {
	switch {
	case l.known != nil: // before it is in the tree, which readers get later
		l.known.add(key)
	case l.Len() >= filterFrom:
		l.gather()
		l.known.add(key)
	}
	return l.Tree.Set(key, val)
}

// SetRun is that of Tree.
func (l *Layer) SetRun(keys, vals [][]byte) {
	if l.known == nil && l.Len()+len(keys) > filterFrom {
		l.gather()
	}
	if l.known != nil {
		l.known.addAll(keys)
	}
	l.Tree.SetRun(keys, vals)
}

// filter is a Bloom filter whose bits of a key are in one word, so that asking it reads one cache line (Putze, Sanders,
// Singler: Cache-, Hash- and Space-Efficient Bloom Filters, JEA 2009). With 600,000 keys it is wrong about less
// than one absent key in 500. One goroutine adds to it while others ask.
type filter [filterWords]atomic.Uint64

const (
	filterWords = 1 << 18 // 2 MiB
	filterBits  = 4       // of a key
)

// filterSeed is another one in each process, so that no client can choose keys that share their bits.
var filterSeed = maphash.MakeSeed()

// place is the word of a key, and its bits there.
func place(key []byte) (word, bits uint64) {
	h := maphash.Bytes(filterSeed, key)
	for i := range filterBits {
		bits |= 1 << (h >> (6 * i) & 63)
	}
	return h >> 46, bits
}

func (f *filter) add(key []byte) {
	word, bits := place(key)
	if w := &f[word]; w.Load()&bits != bits {
		w.Or(bits)
	}
}

// addAll adds many keys. The words of several are read before any is written: a write waits for its word, and what
// follows waits for the write, but reads go side by side.
func (f *filter) addAll(keys [][]byte) {
	var words, bits, have [32]uint64
	for len(keys) > 0 {
		n := min(len(words), len(keys))
		for i, key := range keys[:n] {
			words[i], bits[i] = place(key)
		}
		for i, word := range words[:n] {
			have[i] = f[word].Load()
		}
		for i, word := range words[:n] {
			if have[i]&bits[i] != bits[i] {
				f[word].Or(bits[i])
			}
		}
		keys = keys[n:]
	}
}

func (f *filter) mayHave(key []byte) bool {
	word, bits := place(key)
	return f[word].Load()&bits == bits
}
