// Package overlay holds what the memory store and the logged store share: a copy-on-write
// ordered map (Tree), the window of recent commits that read sets are validated against
// (Window), and the published states that snapshots hold (Epochs).
//
// It promises that the tree of a reader never changes and that no reader waits for a
// writer. It knows nothing about files. Locks: Window.mu and Epochs.mu are leaves, never held
// across each other or a callback that blocks.
package overlay

import (
	"bytes"
	"cmp"
	"unsafe"
)

// spare is the room of a new or copied node beyond what it holds. Most trees are those of small transactions, and most
// copies are made for one commit: more would be waste, and append makes more when it is needed.
const spare = 4

// fanout is the greatest number of items in a leaf and of children in a branch. Each commit
// copies one node per level, so a wide node makes small commits dear and a narrow one makes
// searches deep.
const fanout = 32

// Tree is an ordered map from keys to values (a B+ tree). Snapshot is O(1); nodes are shared
// between snapshots and copied when one side changes them. Keys and values are kept as given and
// must not be changed afterwards. The zero Tree is empty and ready. A Tree that is being changed
// belongs to one goroutine; any number may read one that is not.
type Tree struct {
	root  *node
	owner *token // nodes that carry it are ours alone; nil right after a Snapshot
	n     int
	near  near
}

// near is the leaf that a Set has put its key into, while it is ours alone: keys that come in runs belong to the same
// one, and need no search from the root.
type near struct {
	leaf     *node
	from, to span // the keys that belong to it: from <= key < to; without data there is no such bound
}

// holds reports whether key belongs to the leaf in the tree of an owner.
func (n *near) holds(owner *token, key []byte) bool {
	return n.leaf != nil && owner != nil && n.leaf.owner == owner &&
		(n.from.data == nil || bytes.Compare(n.from.bytes(), key) <= 0) &&
		(n.to.data == nil || bytes.Compare(key, n.to.bytes()) < 0)
}

// token is an identity; its size keeps two of them from sharing an address.
type token struct{ _ byte }

type node struct {
	owner   *token
	prefix  span   // of all keys here, but for that of the first child
	items   []item // of a leaf
	last    int    // of a leaf: where the last new item went
	*branch        // nil in a leaf
}

// branch is what a branch has. Its copy shares the bounds: most copies are made to put another node in the place of
// one child, and the children alone are a quarter of the whole.
type branch struct {
	bounds []bound       // one for each child
	lent   bool          // another node may have the same bounds: they are copied before they change
	kids   [fanout]*node // as many as bounds
}

// bound is what the keys of a child are not less than. That of a first child is not looked at.
type bound struct {
	head uint64 // of the key, see node.place
	k    *byte
	kn   uint32
}

func (b *bound) key() []byte { return unsafe.Slice(b.k, int(b.kn)) }

// newBranch gives a branch without children, in one piece.
func newBranch(owner *token) *node {
	n := new(struct {
		node
		rest branch
	})
	n.node = node{owner: owner, branch: &n.rest}
	return &n.node
}

// item is a key and its value. Neither is as long as 4 GiB: a batch is not.
type item struct {
	head uint64 // of the key, see node.place
	k, v *byte
	kn   uint32
	vn   uint32
}

func (it *item) key() []byte { return unsafe.Slice(it.k, int(it.kn)) }
func (it *item) val() []byte { return unsafe.Slice(it.v, int(it.vn)) }

func itemOf(head uint64, key, val []byte) item {
	it := item{head: head, k: unsafe.SliceData(key), kn: uint32(len(key))}
	it.set(val)
	return it
}

func (it *item) set(val []byte) { it.v, it.vn = unsafe.SliceData(val), uint32(len(val)) }

// child is a child of a branch, with its bound.
type child struct {
	bound
	node *node
}

// span is a slice without a capacity: commits in random key order do little else than copy nodes.
type span struct {
	data *byte
	n    int
}

func spanOf(b []byte) span { return span{unsafe.SliceData(b), len(b)} }

// bytes gives the slice, which is nil when it was.
func (s span) bytes() []byte { return unsafe.Slice(s.data, s.n) }

// Len is the number of keys.
func (t *Tree) Len() int { return t.n }

// Snapshot gives a copy that later changes of t do not touch, and the other way round.
func (t *Tree) Snapshot() Tree {
	t.owner = nil
	return *t
}

// Get gives the value of key, and whether key is there.
func (t *Tree) Get(key []byte) ([]byte, bool) {
	n := t.root
	if n == nil {
		return nil, false
	}
	if t.near.holds(t.owner, key) {
		n = t.near.leaf
	}
	for n.branch != nil {
		n = n.kids[n.childOf(key)]
	}
	i, found := n.find(key)
	if !found {
		return nil, false
	}
	return n.items[i].val(), true
}

// Set puts val at key and gives what was there before. The key that is there already is kept.
func (t *Tree) Set(key, val []byte) (old []byte, replaced bool) {
	if near := &t.near; near.holds(t.owner, key) && len(near.leaf.items) < fanout {
		if old, replaced, _ = t.setLeaf(near.leaf, key, val); !replaced {
			t.n++
		}
		return old, replaced
	}
	t.near = near{}
	if t.root == nil {
		t.plant()
	} else {
		t.own()
		t.root = t.mutable(t.root)
	}
	old, replaced, right := t.set(t.root, key, val)
	if right.node != nil {
		t.near = near{}
		root := newBranch(t.owner)
		root.insertChild(0, child{node: t.root})
		right.head = root.admit(right.key())
		root.insertChild(1, right)
		t.root = root
	}
	if !replaced {
		t.n++
	}
	return old, replaced
}

// Delete removes key and gives what was there.
func (t *Tree) Delete(key []byte) (old []byte, found bool) {
	if _, found = t.Get(key); !found {
		return nil, false
	}
	t.own()
	t.near = near{}
	t.root = t.mutable(t.root)
	old = t.delete(t.root, key)
	t.n--
	for t.root.branch != nil && len(t.root.bounds) == 1 {
		t.root = t.root.kids[0]
	}
	if t.n == 0 {
		t.root = nil
	}
	return old, true
}

// plant gives an empty tree its first leaf. Most trees are those of a small transaction: they need no more than this
// one allocation.
func (t *Tree) plant() {
	first := new(struct {
		node
		owner token
		room  [spare]item
	})
	if t.owner == nil {
		t.owner = &first.owner
	}
	first.node = node{owner: t.owner, items: first.room[:0]}
	t.root = &first.node
}

func (t *Tree) own() {
	if t.owner == nil {
		t.owner = new(token)
	}
}

// mutable gives n itself when it is ours, else a copy that is.
func (t *Tree) mutable(n *node) *node {
	if n.owner == t.owner {
		return n
	}
	if n.branch != nil {
		c := newBranch(t.owner)
		c.prefix, c.bounds, c.lent, c.kids = n.prefix, n.bounds, true, n.kids
		return c
	}
	items := append(make([]item, 0, min(fanout, len(n.items)+spare)), n.items...)
	return &node{owner: t.owner, prefix: n.prefix, items: items, last: n.last}
}

// childOf is the index of the child that key belongs to.
func (n *node) childOf(key []byte) int { return n.childFrom(0, key) }

// childFrom is childOf for a key that belongs to no child before the i-th.
func (n *node) childFrom(i int, key []byte) int {
	c, head := n.place(key)
	switch {
	case c < 0:
		return i
	case c > 0:
		return len(n.bounds) - 1
	}
	lo, hi := i+1, len(n.bounds)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if n.bounds[m].after(key, head) {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo - 1
}

// after reports whether the key of b is greater than key, which has that head in its node.
func (b *bound) after(key []byte, head uint64) bool {
	if b.head != head {
		return b.head > head
	}
	return bytes.Compare(b.key(), key) > 0
}

// find is the index of the first item whose key is >= key.
func (n *node) find(key []byte) (int, bool) {
	c, head := n.place(key)
	switch {
	case c < 0:
		return 0, false
	case c > 0:
		return len(n.items), false
	}
	return findIn(n.items, key, head)
}

// findIn is find for items of a node, in which key has a head.
func findIn(items []item, key []byte, head uint64) (int, bool) {
	lo, hi := 0, len(items)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		switch c := items[m].compare(key, head); {
		case c == 0:
			return m, true
		case c < 0:
			lo = m + 1
		default:
			hi = m
		}
	}
	return lo, false
}

// compare is bytes.Compare of the key of an item and key, which has that head in its node.
func (it *item) compare(key []byte, head uint64) int {
	if it.head != head {
		return cmp.Compare(it.head, head)
	}
	return bytes.Compare(it.key(), key)
}

// set inserts below n, which is ours; right is the new sibling when n was split.
func (t *Tree) set(n *node, key, val []byte) (old []byte, replaced bool, right child) {
	if n.branch == nil {
		t.near.leaf = n
		return t.setLeaf(n, key, val)
	}
	i := n.childOf(key)
	if i > 0 {
		t.near.from = spanOf(n.bounds[i].key())
	}
	if i+1 < len(n.bounds) {
		t.near.to = spanOf(n.bounds[i+1].key())
	}
	c := t.mutable(n.kids[i])
	n.kids[i] = c
	old, replaced, split := t.set(c, key, val)
	if split.node == nil {
		return old, replaced, child{}
	}
	t.near = near{} // some of the keys are in another leaf now
	split.head = n.admit(split.key())
	if len(n.bounds) < fanout {
		n.insertChild(i+1, split)
		return old, replaced, child{}
	}
	return old, replaced, t.splitBranch(n, i+1, split)
}

func (t *Tree) setLeaf(n *node, key, val []byte) (old []byte, replaced bool, right child) {
	i, found := n.find(key)
	if found {
		old = n.items[i].val()
		n.items[i].set(val)
		return old, true, child{}
	}
	it := itemOf(n.admit(key), key, val)
	if len(n.items) < fanout {
		n.insert(i, it)
		return nil, false, child{}
	}
	// Keys that arrive in order leave full nodes behind, also where others follow them.
	mid := fanout / 2
	if i == fanout || i == n.last+1 {
		mid = i
	}
	r := &node{owner: t.owner, prefix: n.prefix, items: append(make([]item, 0, fanout), n.items[mid:]...)}
	clear(n.items[mid:])
	n.items = n.items[:mid]
	if i <= mid && mid < fanout {
		n.insert(i, it)
	} else {
		r.insert(i-mid, it)
	}
	n.sharpen()
	r.sharpen()
	return nil, false, r.child()
}

// child is a leaf as that of a branch, where its head is still to be set.
func (n *node) child() child {
	first := &n.items[0]
	return child{bound{k: first.k, kn: first.kn}, n}
}

func (n *node) insert(i int, it item) {
	if size := len(n.items); size == cap(n.items) { // append would go beyond what a leaf can hold
		n.items = append(make([]item, 0, min(fanout, 2*size+spare)), n.items...)
	}
	n.items = append(n.items, item{})
	copy(n.items[i+1:], n.items[i:])
	n.items[i] = it
	n.last = i
}

// ownBounds sees to it that the bounds of n are its alone.
func (n *node) ownBounds() {
	if n.lent {
		n.roomier(len(n.bounds) + spare)
	}
}

// roomier gives n bounds of its own with room for size in all, or for as many as a branch can have.
func (n *node) roomier(size int) {
	n.bounds = append(make([]bound, 0, min(fanout, size)), n.bounds...)
	n.lent = false
}

// insertChild puts c at position i of n, which has less than fanout children.
func (n *node) insertChild(i int, c child) {
	size := len(n.bounds)
	if n.lent || size == cap(n.bounds) { // append would go beyond what a branch can hold
		n.roomier(size + size/2 + spare)
	}
	n.bounds = append(n.bounds, bound{})
	copy(n.bounds[i+1:], n.bounds[i:])
	n.bounds[i] = c.bound
	copy(n.kids[i+1:], n.kids[i:size])
	n.kids[i] = c.node
}

// splitBranch puts c at position i of the full branch n and gives the new right half.
func (t *Tree) splitBranch(n *node, i int, c child) child {
	mid := fanout / 2
	if i == fanout {
		mid = fanout
	}
	r := newBranch(t.owner)
	r.prefix, r.bounds = n.prefix, append(make([]bound, 0, fanout), n.bounds[mid:]...)
	copy(r.kids[:], n.kids[mid:])
	n.cut(mid)
	if i > mid || mid == fanout {
		r.insertChild(i-mid, c)
	} else {
		n.insertChild(i, c)
	}
	n.sharpen()
	r.sharpen()
	return child{r.bounds[0], r}
}

// cut drops the children of n from the i-th on.
func (n *node) cut(i int) {
	if !n.lent {
		clear(n.bounds[i:])
	}
	n.bounds = n.bounds[:i]
	clear(n.kids[i:])
}

// delete removes key, which is there, below n, which is ours.
func (t *Tree) delete(n *node, key []byte) []byte {
	if n.branch == nil {
		i, _ := n.find(key)
		old := n.items[i].val()
		copy(n.items[i:], n.items[i+1:])
		n.items[len(n.items)-1] = item{}
		n.items = n.items[:len(n.items)-1]
		return old
	}
	i := n.childOf(key)
	c := t.mutable(n.kids[i])
	n.kids[i] = c
	old := t.delete(c, key)
	switch size := c.size(); {
	case size == 0:
		n.removeChild(i)
	case size < fanout/4 && i+1 < len(n.bounds) && size+n.kids[i+1].size() <= fanout:
		t.merge(n, i)
	case size < fanout/4 && i > 0 && size+n.kids[i-1].size() <= fanout:
		t.merge(n, i-1)
	}
	return old
}

// size is the number of items or children.
func (n *node) size() int {
	if n.branch != nil {
		return len(n.bounds)
	}
	return len(n.items)
}

func (n *node) removeChild(i int) {
	n.ownBounds()
	size := len(n.bounds)
	copy(n.bounds[i:], n.bounds[i+1:])
	copy(n.kids[i:], n.kids[i+1:size])
	n.cut(size - 1)
}

// merge moves all of child i+1 into child i.
func (t *Tree) merge(n *node, i int) {
	left, right := t.mutable(n.kids[i]), n.kids[i+1]
	n.kids[i] = left
	if left.branch == nil {
		left.items = append(left.items, right.items...)
	} else {
		left.ownBounds()
		size := len(left.bounds)
		left.bounds = append(left.bounds, right.bounds...)
		left.bounds[size] = n.bounds[i+1] // its own may be unset: it was a first child
		copy(left.kids[size:], right.kids[:len(right.bounds)])
	}
	left.refit()
	n.removeChild(i + 1)
}
