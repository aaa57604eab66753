package overlay

import (
	"bytes"

	"github.com/nacredb/nacre/engine/kv"
)

// A search that looks at keys waits for the memory of each of them: they lie where a batch has put them. So a node has
// the head of each key beside it: the eight bytes behind the prefix that all keys of the node begin with. Only keys
// with equal heads are compared themselves.

// place is where key stands beside the keys of n that begin with its prefix, which are all but the first of a branch:
// below 0, before them, above 0, behind them, or 0, where head says.
func (n *node) place(key []byte) (c int, head uint64) {
	if !n.has(key) {
		return bytes.Compare(key, n.prefix.bytes()), 0
	}
	return 0, kv.Head(key[n.prefix.n:])
}

// has reports whether key begins with the prefix of n.
func (n *node) has(key []byte) bool { return bytes.HasPrefix(key, n.prefix.bytes()) }

// admit gives the head of a key that comes into n, whose prefix is one of that, too, from then on.
func (n *node) admit(key []byte) uint64 {
	if size := n.size(); size == 0 || size == 1 && n.branch != nil {
		n.prefix = spanOf(key)
	}
	n.share(key)
	return kv.Head(key[n.prefix.n:])
}

// share makes the prefix of n one of key too.
func (n *node) share(key []byte) {
	if !n.has(key) {
		prefix := n.prefix.bytes()
		n.prefix = clonedSpan(prefix[:kv.SharedPrefix(prefix, key)])
		n.setHeads()
	}
}

// setHeads sets all heads.
func (n *node) setHeads() {
	p := n.prefix.n
	for i := range n.items {
		it := &n.items[i]
		it.head = kv.Head(it.key()[p:])
	}
	if n.branch == nil {
		return
	}
	n.ownBounds()
	for i := 1; i < len(n.bounds); i++ {
		b := &n.bounds[i]
		b.head = kv.Head(b.key()[p:])
	}
}

// refit finds the longest prefix of n anew.
func (n *node) refit() {
	var first, last []byte
	if size := len(n.items); size > 0 {
		first, last = n.items[0].key(), n.items[size-1].key()
	} else if n.branch != nil && len(n.bounds) > 1 {
		first, last = n.bounds[1].key(), n.bounds[len(n.bounds)-1].key()
	}
	n.prefix = clonedSpan(first[:kv.SharedPrefix(first, last)])
	n.setHeads()
}

// sharpen does so where half of each head or more tells nothing apart: some of the keys went elsewhere.
func (n *node) sharpen() {
	var first, last uint64
	if size := len(n.items); size > 1 {
		first, last = n.items[0].head, n.items[size-1].head
	} else if n.branch != nil && len(n.bounds) > 2 {
		first, last = n.bounds[1].head, n.bounds[len(n.bounds)-1].head
	} else {
		return
	}
	if (first^last)>>32 == 0 {
		n.refit()
	}
}

// clonedSpan is a copy of b: a key that is gone is not to be kept for its first bytes.
func clonedSpan(b []byte) span {
	if len(b) == 0 {
		return span{}
	}
	return spanOf(bytes.Clone(b))
}
