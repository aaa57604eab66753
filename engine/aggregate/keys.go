package aggregate

import (
	"hash/maphash"
	"slices"

	"github.com/nacredb/nacre/engine/value"
)

// Keys numbers the distinct keys of groups, from 0 in the order in which they come. It belongs to one goroutine.
type Keys struct {
	seed  maphash.Seed
	first map[uint64]int // the group that came first with this hash
	list  []groupKeys
}

// groupKeys is the keys of a group; next is another group with the same hash, or -1.
type groupKeys struct {
	keys []value.Value
	next int
}

// NewKeys makes an empty list.
func NewKeys() *Keys { return &Keys{seed: maphash.MakeSeed(), first: map[uint64]int{}} }

// Of is the number of the group with keys equal to these, and whether it was known. The keys of a new one are copied.
func (k *Keys) Of(keys []value.Value) (group int, had bool) {
	sum := uint64(0)
	for _, v := range keys {
		sum = mix(sum, k.hash(v))
	}
	at, had := k.first[sum]
	if !had {
		at = -1
	}
	for i := at; i >= 0; i = k.list[i].next {
		if sameKeys(k.list[i].keys, keys) {
			return i, true
		}
	}
	k.list = append(k.list, groupKeys{slices.Clone(keys), at})
	k.first[sum] = len(k.list) - 1
	return len(k.list) - 1, false
}

// At is the keys of a group; read-only.
func (k *Keys) At(group int) []value.Value { return k.list[group].keys }

func sameKeys(a, b []value.Value) bool {
	for i := range a {
		if value.Compare(a[i], b[i]) != 0 {
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
