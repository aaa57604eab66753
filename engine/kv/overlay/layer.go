package overlay

import "github.com/nacredb/nacre/engine/kv/bloom"

// Layer is a tree over something larger. Most keys that are looked for in it are not there, and once it has many it
// mostly says so by a filter, without a search. It is used as a Tree is. The zero Layer is empty and ready.
type Layer struct {
	Tree
	known *bloom.Filter // all keys of Tree, maybe others; nil while it has few
}

// LayerOf is a layer with the keys of t, which it takes over.
func LayerOf(t Tree) Layer {
	l := Layer{Tree: t}
	if t.Len() >= filterFrom {
		l.gather()
	}
	return l
}

const (
	filterFrom = 4096    // keys are worth a filter
	filterRoom = 1 << 24 // bits of one, enough for the 600,000 keys of a full overlay
)

// gather makes the filter.
func (l *Layer) gather() {
	l.known = bloom.New(filterRoom)
	var c Cursor
	for ok := c.First(&l.Tree, nil); ok; ok = c.Next() {
		l.known.Add(c.Key())
	}
}

// Snapshot is that of Tree. What l gets later may be in the filter of the copy, which does no harm.
func (l *Layer) Snapshot() Layer { return Layer{Tree: l.Tree.Snapshot(), known: l.known} }

// Get is that of Tree.
func (l *Layer) Get(key []byte) ([]byte, bool) {
	if l.known != nil && !l.known.MayHave(key) {
		return nil, false
	}
	return l.Tree.Get(key)
}

// Set is that of Tree.
func (l *Layer) Set(key, val []byte) (old []byte, replaced bool) {
	switch {
	case l.known != nil: // before it is in the tree, which readers get later
		l.known.Add(key)
	case l.Len() >= filterFrom:
		l.gather()
		l.known.Add(key)
	}
	return l.Tree.Set(key, val)
}

// SetRun is that of Tree.
func (l *Layer) SetRun(keys, vals [][]byte) {
	if l.known == nil && l.Len()+len(keys) > filterFrom {
		l.gather()
	}
	if l.known != nil {
		l.known.AddAll(keys)
	}
	l.Tree.SetRun(keys, vals)
}
