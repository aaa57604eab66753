package overlay

import (
	"bytes"
	"sync"
)

// Loader makes a tree of many batches at once: of a log that is replayed. Setting the keys one by one would look for
// the place of each in a tree that no cache holds; runs of sorted keys are merged from front to back. The zero Loader
// is empty.
type Loader struct {
	items []item
	ends  []int // where the batches end in items
}

// Add adds a batch: keys in ascending order, each once, and the value of each. They are kept as given and must not
// change.
func (l *Loader) Add(keys, vals [][]byte) {
	for i := range keys {
		l.items = append(l.items, itemOf(0, keys[i], vals[i])) // build sets the heads
	}
	l.ends = append(l.ends, len(l.items))
}

// Tree returns the tree after all batches, set one after the other. The loader is empty then.
func (l *Loader) Tree() Tree {
	items, ends := l.items, l.ends
	*l = Loader{}
	if len(items) == 0 {
		return Tree{}
	}
	return build(mergeRuns(ends, 0, items, make([]item, len(items)), false))
}

// sharedMerge is how many items are worth a goroutine of their own.
const sharedMerge = 100_000

// mergeRuns merges the runs of a, which ends names, counted from base; of equal keys the later wins. It uses b, which
// is as long, and leaves the result at the front of b or of a.
func mergeRuns(ends []int, base int, a, b []item, inB bool) []item {
	if len(ends) == 1 {
		if inB {
			return b[:copy(b, a)]
		}
		return a
	}
	half := len(ends) / 2
	mid := ends[half-1] - base
	var older, newer []item
	mergeOlder := func() { older = mergeRuns(ends[:half], base, a[:mid], b[:mid], !inB) }
	var beside sync.WaitGroup
	if len(a) >= sharedMerge {
		beside.Go(mergeOlder)
	} else {
		mergeOlder()
	}
	newer = mergeRuns(ends[half:], base+mid, a[mid:], b[mid:], !inB)
	beside.Wait()
	if inB {
		return merge(b[:0], older, newer)
	}
	return merge(a[:0], older, newer)
}

// merge appends two sorted lists to out, which has room for them; where both have a key, newer wins.
func merge(out, older, newer []item) []item {
	for len(older) > 0 && len(newer) > 0 {
		switch c := bytes.Compare(older[0].key(), newer[0].key()); {
		case c < 0:
			out = append(out, older[0])
			older = older[1:]
		case c == 0:
			older = older[1:]
		default:
			out = append(out, newer[0])
			newer = newer[1:]
		}
	}
	return append(append(out, older...), newer...)
}

// filled is how many items or children the nodes of a built tree have: more will come in between.
const filled = fanout * 3 / 4

// build makes a tree of sorted items, which its leaves are parts of.
func build(items []item) Tree {
	t := Tree{n: len(items)}
	level := make([]child, 0, len(items)/filled+1)
	for len(items) > 0 {
		n := min(filled, len(items))
		leaf := &node{items: items[:n:n]}
		leaf.refit()
		level = append(level, leaf.child())
		items = items[n:]
	}
	for len(level) > 1 {
		above := make([]child, 0, len(level)/filled+1)
		for len(level) > 0 {
			n := min(filled, len(level))
			branch := newBranch(nil)
			branch.adopt(level[:n])
			branch.refit()
			above = append(above, child{level[0].bound, branch})
			level = level[n:]
		}
		level = above
	}
	t.root = level[0].node
	return t
}
