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
		r.branches(nil, 0, false)
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
	if n.branch == nil {
		r.leaf(n, keys, vals)
		return
	}
	base, from := len(r.kids), 0
	fit := true // what is on the stack from base on has the prefix of n
	for len(keys) > 0 {
		i := n.childFrom(from, keys[0])
		r.pass(n, from, i)
		part := len(keys)
		if i+1 < len(n.bounds) {
			part = n.countBelow(keys, i+1)
		}
		at := len(r.kids)
		r.put(n.kids[i], keys[:part], vals[:part])
		r.kids[at].bound = n.bounds[i]
		for j := at + 1; j < len(r.kids); j++ {
			c := &r.kids[j]
			out, head := n.place(c.key())
			c.head, fit = head, fit && out == 0
		}
		from, keys, vals = i+1, keys[part:], vals[part:]
	}
	r.pass(n, from, len(n.bounds))
	r.branches(n, base, fit)
}

// pass pushes children of n as they are.
func (r *runner) pass(n *node, from, to int) {
	for i := from; i < to; i++ {
		r.kids = append(r.kids, child{n.bounds[i], n.kids[i]})
	}
}

// countBelow is how many of keys, the first at least, are less than the key of the i-th child. It looks near the front
// first.
func (n *node) countBelow(keys [][]byte, i int) int {
	bound := &n.bounds[i]
	below := func(key []byte) bool {
		c, head := n.place(key)
		return c < 0 || c == 0 && bound.after(key, head)
	}
	lo, hi := 1, 1
	for hi < len(keys) && below(keys[hi]) {
		lo, hi = hi+1, 2*hi+1
	}
	hi = min(hi, len(keys))
	return lo + sort.Search(hi-lo, func(i int) bool { return !below(keys[lo+i]) })
}

// branches makes what is on the stack from base on the children of one node or several, which take its place there. fit
// says that they have the prefix of n and their heads in it.
func (r *runner) branches(n *node, base int, fit bool) {
	kids := r.kids[base:]
	r.kids = r.kids[:base]
	if n != nil && len(kids) == len(n.bounds) { // none was split
		n = r.t.mutable(n)
		for i := range kids {
			n.kids[i] = kids[i].node
		}
		r.kids = append(r.kids, child{node: n})
		return
	}
	for size := share(len(kids)); len(kids) > 0; { // a node is pushed over children that it has taken
		part := kids[:min(size, len(kids))]
		kids = kids[len(part):]
		branch := newBranch(r.t.owner)
		branch.adopt(part)
		if fit {
			branch.prefix = n.prefix
			branch.sharpen()
		} else {
			branch.refit()
		}
		r.kids = append(r.kids, child{branch.bounds[0], branch})
	}
}

// adopt gives kids to a branch that has none.
func (n *node) adopt(kids []child) {
	n.bounds = make([]bound, len(kids), min(fanout, len(kids)+spare))
	for i := range kids {
		n.bounds[i], n.kids[i] = kids[i].bound, kids[i].node
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
		n = &node{owner: r.t.owner, prefix: n.prefix, items: n.merged(room, keys, vals), last: n.last}
		n.fitRun(keys)
	}
	r.added += len(n.items) - before
	r.kids = append(r.kids, child{node: n})
}

// split is leaf for one that cannot hold what comes into it.
func (r *runner) split(n *node, keys, vals [][]byte) {
	if len(n.items) == 0 || bytes.Compare(n.items[len(n.items)-1].key(), keys[0]) < 0 {
		r.extend(n, keys, vals)
		return
	}
	r.items = n.merged(slices.Grow(r.items[:0], len(n.items)+len(keys)), keys, vals)
	all := r.items
	r.added += len(all) - len(n.items)
	fit := n.has(keys[0]) && n.has(keys[len(keys)-1]) // and all in between
	for size := share(len(all)); len(all) > 0; {
		part := all[:min(size, len(all))]
		all = all[len(part):]
		leaf := r.push(append(make([]item, 0, min(fanout, len(part)+spare)), part...))
		if leaf.prefix = n.prefix; fit {
			leaf.sharpen()
		} else {
			leaf.refit()
		}
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
			items = append(items, itemOf(0, key, vals[i])) // refit sets the heads
		}
		keys, vals = keys[part:], vals[part:]
		r.push(items).refit()
	}
}

// push pushes a new leaf, whose prefix is still to be set.
func (r *runner) push(items []item) *node {
	leaf := &node{owner: r.t.owner, items: items, last: len(items) - 1}
	r.kids = append(r.kids, leaf.child())
	return leaf
}

// fitRun makes the prefix of n one of a run of keys too, which are in it already: with the first and the last of them
// all that are in between have it.
func (n *node) fitRun(keys [][]byte) {
	was := n.prefix.n
	if n.share(keys[0]); len(keys) > 1 {
		n.share(keys[len(keys)-1])
	}
	if len(n.items) == len(keys) && was == 0 { // it was empty
		n.refit()
	}
}

// merged appends the items of a leaf with keys and vals set in them. The heads are those in its prefix.
func (n *node) merged(dst []item, keys, vals [][]byte) []item {
	items := n.items
	for k, key := range keys {
		c, head := n.place(key)
		i, found := len(items), false
		if c < 0 {
			i = 0
		} else if c == 0 {
			i, found = seek(items, key, head, len(keys)-k)
		}
		dst = append(dst, items[:i]...)
		it := itemOf(head, key, vals[k])
		if items = items[i:]; found {
			it.k, it.kn = items[0].k, items[0].kn
			items = items[1:]
		}
		dst = append(dst, it)
	}
	return append(dst, items...)
}

// seek is the index of the first of items whose key is >= key, the first of so many keys that are looked for in turn.
func seek(items []item, key []byte, head uint64, keys int) (i int, found bool) {
	if len(items) > 4*keys {
		return findIn(items, key, head)
	}
	for ; i < len(items); i++ {
		if c := items[i].compare(key, head); c >= 0 {
			return i, c == 0
		}
	}
	return i, false
}
