package overlay

import (
	"bytes"
	"slices"
	"sort"
)

// shortRun is how many keys are set one by one: so few seldom share a leaf, and near finds those that follow each
// other.
const shortRun = 16

// SetRun puts many keys in, in ascending order, each once, with the value of each. It does what a Set of each does but
// goes down the tree once for all that come below a node: each leaf is merged with what comes into it.
func (t *Tree) SetRun(keys, vals [][]byte) {
	if len(keys) < shortRun {
		for i, key := range keys {
			t.Set(key, vals[i])
		}
		return
	}
	t.near = near{}
	if t.root == nil {
		t.plant()
	}
	t.own()
	r := runner{t: t}
	r.put(t.root, keys, vals)
	for len(r.kids) > 1 {
		r.branches(nil, 0)
	}
	t.root = r.kids[0].node
	t.n += r.added
}

// runner is a SetRun under way.
type runner struct {
	t     *Tree
	added int     // keys that were not there
	kids  []child // a stack: what each level has made so far of the children of its nodes
	items []item  // of a leaf that is too large
}

// put sets keys below n and pushes what stands in its place. The key of the first of these is left unset.
func (r *runner) put(n *node, keys, vals [][]byte) {
	if n.kids == nil {
		r.leaf(n, keys, vals)
		return
	}
	base := len(r.kids)
	left := n.kids
	for len(keys) > 0 {
		i := placeOf(left, keys)
		r.kids = append(r.kids, left[:i]...)
		part := len(keys)
		if i+1 < len(left) {
			part = countBelow(keys, left[i+1].key.bytes())
		}
		at := len(r.kids)
		r.put(left[i].node, keys[:part], vals[:part])
		r.kids[at].key = left[i].key
		left, keys, vals = left[i+1:], keys[part:], vals[part:]
	}
	r.kids = append(r.kids, left...)
	r.branches(n, base)
}

// placeOf is the index of the child that the first of keys belongs to; it belongs to no child before these.
func placeOf(kids []child, keys [][]byte) int {
	if len(kids) > 4*len(keys) {
		return sort.Search(len(kids)-1, func(i int) bool { return bytes.Compare(kids[i+1].key.bytes(), keys[0]) > 0 })
	}
	i := 0
	for i+1 < len(kids) && bytes.Compare(kids[i+1].key.bytes(), keys[0]) <= 0 {
		i++
	}
	return i
}

// countBelow is how many of keys, the first at least, are less than bound. It looks near the front first.
func countBelow(keys [][]byte, bound []byte) int {
	lo, hi := 1, 1
	for hi < len(keys) && bytes.Compare(keys[hi], bound) < 0 {
		lo, hi = hi+1, 2*hi+1
	}
	hi = min(hi, len(keys))
	return lo + sort.Search(hi-lo, func(i int) bool { return bytes.Compare(keys[lo+i], bound) >= 0 })
}

// branches makes what is on the stack from base on the children of one node or several, which take its place there. The
// first is n itself if that is ours.
func (r *runner) branches(n *node, base int) {
	kids := r.kids[base:]
	r.kids = r.kids[:base]
	if n != nil && n.owner == r.t.owner && len(kids) <= min(fanout, cap(n.kids)) {
		n.kids = append(n.kids[:0], kids...)
		r.kids = append(r.kids, child{node: n})
		return
	}
	for size := share(len(kids)); len(kids) > 0; { // a node is pushed over children that it has taken
		part := kids[:min(size, len(kids))]
		kids = kids[len(part):]
		room := make([]child, 0, min(fanout, len(part)+spare))
		r.kids = append(r.kids, child{key: part[0].key, node: &node{owner: r.t.owner, kids: append(room, part...)}})
	}
}

// share is how many of n items or children go to each of the nodes that they need.
func share(n int) int {
	if n <= fanout {
		return n
	}
	nodes := (n + filled - 1) / filled
	return (n + nodes - 1) / nodes
}

// leaf is put for a leaf.
func (r *runner) leaf(n *node, keys, vals [][]byte) {
	total, before := len(n.items)+len(keys), len(n.items)
	switch {
	case total > fanout:
		r.split(n, keys, vals)
		return
	case n.owner == r.t.owner:
		for i, key := range keys {
			r.t.setLeaf(n, key, vals[i])
		}
	default:
		room := make([]item, 0, min(fanout, total+spare))
		n = &node{owner: r.t.owner, items: merged(room, n.items, keys, vals), last: n.last}
	}
	r.added += len(n.items) - before
	r.kids = append(r.kids, child{node: n})
}

// split is leaf for one that cannot hold what comes into it.
func (r *runner) split(n *node, keys, vals [][]byte) {
	if len(n.items) == 0 || bytes.Compare(n.items[len(n.items)-1].key.bytes(), keys[0]) < 0 {
		r.extend(n, keys, vals)
		return
	}
	r.items = merged(slices.Grow(r.items[:0], len(n.items)+len(keys)), n.items, keys, vals)
	all := r.items
	r.added += len(all) - len(n.items)
	for size := share(len(all)); len(all) > 0; {
		part := all[:min(size, len(all))]
		all = all[len(part):]
		r.push(append(make([]item, 0, min(fanout, len(part)+spare)), part...))
	}
}

// extend is split where all keys follow those of the leaf: like other keys that arrive in order they leave full leaves
// behind.
func (r *runner) extend(n *node, keys, vals [][]byte) {
	r.added += len(keys)
	for items := n.items; len(keys) > 0; items = nil {
		items = append(make([]item, 0, min(fanout, len(items)+len(keys)+spare)), items...)
		part := min(fanout-len(items), len(keys))
		for i, key := range keys[:part] {
			items = append(items, item{spanOf(key), spanOf(vals[i])})
		}
		keys, vals = keys[part:], vals[part:]
		r.push(items)
	}
}

// push pushes a new leaf.
func (r *runner) push(items []item) {
	leaf := &node{owner: r.t.owner, items: items, last: len(items) - 1}
	r.kids = append(r.kids, child{key: items[0].key, node: leaf})
}

// merged appends items with keys and vals set in them.
func merged(dst, items []item, keys, vals [][]byte) []item {
	for k, key := range keys {
		i, found := seek(items, key, len(keys)-k)
		dst = append(dst, items[:i]...)
		items = items[i:]
		if found {
			dst = append(dst, item{items[0].key, spanOf(vals[k])})
			items = items[1:]
			continue
		}
		dst = append(dst, item{spanOf(key), spanOf(vals[k])})
	}
	return append(dst, items...)
}

// seek is the index of the first of items whose key is >= key, the first of so many keys that are looked for in turn.
func seek(items []item, key []byte, keys int) (i int, found bool) {
	if len(items) > 4*keys {
		i = sort.Search(len(items), func(i int) bool { return bytes.Compare(items[i].key.bytes(), key) >= 0 })
		return i, i < len(items) && bytes.Equal(items[i].key.bytes(), key)
	}
	for ; i < len(items); i++ {
		if c := bytes.Compare(items[i].key.bytes(), key); c >= 0 {
			return i, c == 0
		}
	}
	return i, false
}
