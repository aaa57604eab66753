package aggregate

import (
	"hash/maphash"
	"slices"

	"github.com/nacredb/nacre/engine/value"
)

// Keys numbers the distinct keys of groups, from 0 in the order in which they come. It belongs to one goroutine, except
// for Hash.
type Keys struct {
	seed  maphash.Seed
	table []place // open addressing: a group is at its hash, or at the first free place behind it; a power of 2 long
	list  [][]value.Value
}

// place is a place of the table.
type place struct {
	sum   uint64 // the hash of the keys
	group uint32 // its number plus 1; 0: the place is free
}

// NewKeys makes an empty list.
func NewKeys() *Keys { return &Keys{seed: maphash.MakeSeed(), table: make([]place, 16)} }

// Hash is the hash of keys, for Hashed. Any goroutine may ask.
func (k *Keys) Hash(keys []value.Value) uint64 {
	sum := uint64(0)
	for i := range keys {
		sum = mix(sum, k.hash(keys[i]))
	}
	return sum ^ sum>>32 // mix leaves the low bits weak, where the table looks
}

// Of is the number of the group with keys equal to these, and whether it was known. The keys of a new one are copied.
func (k *Keys) Of(keys []value.Value) (group int, had bool) { return k.Hashed(k.Hash(keys), keys) }

// Hashed is Of for keys whose Hash is at hand.
func (k *Keys) Hashed(sum uint64, keys []value.Value) (group int, had bool) {
	mask := uint64(len(k.table) - 1)
	for i := sum & mask; ; i = (i + 1) & mask {
		p := &k.table[i]
		if p.group == 0 {
			return k.add(p, sum, keys), false
		}
		if p.sum == sum && sameKeys(k.list[p.group-1], keys) {
			return int(p.group - 1), true
		}
	}
}

// add puts a new group at a free place.
func (k *Keys) add(p *place, sum uint64, keys []value.Value) int {
	k.list = append(k.list, slices.Clone(keys))
	*p = place{sum, uint32(len(k.list))}
	if 2*len(k.list) > len(k.table) {
		k.grow()
	}
	return len(k.list) - 1
}

// grow doubles the table.
func (k *Keys) grow() {
	old := k.table
	k.table = make([]place, 2*len(old))
	mask := uint64(len(k.table) - 1)
	for _, p := range old {
		if p.group == 0 {
			continue
		}
		i := p.sum & mask
		for k.table[i].group != 0 {
			i = (i + 1) & mask
		}
		k.table[i] = p
	}
}

// At is the keys of a group; read-only.
func (k *Keys) At(group int) []value.Value { return k.list[group] }

func sameKeys(a, b []value.Value) bool {
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Kind() == value.KindString && y.Kind() == value.KindString {
			if x.Str() != y.Str() {
				return false
			}
		} else if value.Compare(*x, *y) != 0 {
			return false
		}
	}
	return true
}

// hash hashes equal values alike, also 1, 1f and 1dec.
func (k *Keys) hash(v value.Value) uint64 {
	switch v.Kind() {
	case value.KindInt, value.KindFloat, value.KindDecimal:
		f := v.AsFloat() + 0 // -0 + 0 is 0
		if f != f {
			return 1 // NaN equals NaN, but hashes at random
		}
		return maphash.Comparable(k.seed, f)
	case value.KindString:
		return maphash.String(k.seed, v.Str())
	case value.KindArray, value.KindSet:
		h := uint64(v.Kind())
		for _, e := range v.Elems() {
			h = mix(h, k.hash(e))
		}
		return h
	case value.KindObject:
		h := uint64(v.Kind())
		for _, f := range v.Object().Fields() {
			h = mix(mix(h, maphash.String(k.seed, f.Name)), k.hash(f.Value))
		}
		return h
	}
	return mix(uint64(v.Kind()), maphash.Bytes(k.seed, v.AppendText(nil)))
}

// mix joins two hashes, in this order.
func mix(a, b uint64) uint64 { return (a ^ b) * 0x9e3779b97f4a7c15 }
