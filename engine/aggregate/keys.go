package aggregate

import (
	"hash/maphash"
	"unsafe"

	"github.com/nacredb/nacre/engine/value"
)

// Keys numbers the distinct keys of groups, from 0 in the order in which they come. All are of as many values. It
// belongs to one goroutine.
type Keys struct {
	seed  maphash.Seed
	table []place // open addressing: a group is at its hash, or at the first free place behind it; a power of 2 long
	all   []value.Value
	width int // values of the keys of a group, side by side in all
	count int
	text  []byte // the block that strings go to: keys are compared often, and rows are far apart in memory
}

// place is a place of the table.
type place struct {
	sum   uint32 // of the hash of the keys
	group uint32 // its number plus 1; 0: the place is free
}

// NewKeys makes an empty list.
func NewKeys() *Keys { return &Keys{seed: maphash.MakeSeed(), table: make([]place, 16)} }

// Of is the number of the group with keys equal to these, and whether it was known. The keys of a new one are copied.
func (k *Keys) Of(keys []value.Value) (group int, had bool) {
	sum := uint64(0)
	for i := range keys {
		sum = mix(sum, k.hash(keys[i]))
	}
	half := fold(sum)
	mask := uint32(len(k.table) - 1)
	for i := half & mask; ; i = (i + 1) & mask {
		p := &k.table[i]
		switch {
		case p.group == 0:
			return k.add(p, half, keys), false
		case p.sum == half && sameKeys(k.At(int(p.group-1)), keys):
			return int(p.group - 1), true
		}
	}
}

// fold is half of a hash of mix, which leaves the low bits weak, where the table looks.
func fold(sum uint64) uint32 { return uint32(sum ^ sum>>32) }

// Len is how many keys have numbers.
func (k *Keys) Len() int { return k.count }

// add puts a new group at a free place.
func (k *Keys) add(p *place, sum uint32, keys []value.Value) int {
	k.width = len(keys)
	for _, v := range keys {
		k.all = append(k.all, k.keep(v))
	}
	k.count++
	*p = place{sum, uint32(k.count)}
	if 2*k.count > len(k.table) {
		k.grow()
	}
	return k.count - 1
}

// The size of the blocks for strings: the first is small, for few groups. Longer strings stay where they are.
const (
	firstText = 256
	mostText  = 16 << 10
	longText  = 64
)

// keep copies a string next to the others.
func (k *Keys) keep(v value.Value) value.Value {
	if v.Kind() != value.KindString || len(v.Str()) > longText {
		return v
	}
	s := v.Str()
	if len(s) > cap(k.text)-len(k.text) {
		k.text = make([]byte, 0, min(max(2*cap(k.text), firstText), mostText))
	}
	at := len(k.text)
	k.text = append(k.text, s...)
	return value.Str(unsafe.String(unsafe.SliceData(k.text[at:]), len(s)))
}

// grow doubles the table.
func (k *Keys) grow() {
	old := k.table
	k.table = make([]place, 2*len(old))
	mask := uint32(len(k.table) - 1)
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
func (k *Keys) At(group int) []value.Value {
	from := group * k.width
	return k.all[from : from+k.width : from+k.width]
}

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
