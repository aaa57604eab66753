package fn

import (
	"hash/maphash"
	"math"
	"strconv"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// smallSet is up to how many items a linear search beats a hash table.
const smallSet = 12

// lookup finds equal values among a fixed list: by search of the list when it is short, else by a hash table.
type lookup struct {
	items []value.Value
	seed  maphash.Seed
	slots []int32 // open addressing: place of the first of equal items, +1; nil when short
	next  []int32 // place of the next equal item, or -1
	later []bool  // an equal item stands before
}

func newLookup(items []value.Value) lookup {
	l := lookup{items: items}
	if len(items) <= smallSet {
		return l
	}
	size := 1
	for size < 2*len(items) {
		size *= 2
	}
	l.seed = maphash.MakeSeed()
	l.slots, l.next, l.later = make([]int32, size), make([]int32, len(items)), make([]bool, len(items))
	tails := make([]int32, len(items))
	for i := range items {
		l.next[i], tails[i] = -1, int32(i)
		slot := l.find(items[i])
		if l.slots[slot] == 0 {
			l.slots[slot] = int32(i) + 1
			continue
		}
		head := l.slots[slot] - 1
		l.later[i] = true
		l.next[tails[head]], tails[head] = int32(i), int32(i)
	}
	return l
}

// find is the slot of v: where it is, or where it would be.
func (l *lookup) find(v value.Value) int {
	mask := len(l.slots) - 1
	for slot := int(hashValue(l.seed, v)) & mask; ; slot = (slot + 1) & mask {
		if at := l.slots[slot]; at == 0 || value.Compare(l.items[at-1], v) == 0 {
			return slot
		}
	}
}

// first is the position of the first item that equals v, or -1.
func (l *lookup) first(v value.Value) int {
	if l.slots != nil {
		return int(l.slots[l.find(v)]) - 1
	}
	for i := range l.items {
		if value.Compare(v, l.items[i]) == 0 {
			return i
		}
	}
	return -1
}

// isFirst reports whether no item before items[i] equals it.
func (l *lookup) isFirst(i int) bool {
	if l.slots != nil {
		return !l.later[i]
	}
	return l.first(l.items[i]) == i
}

// partners pairs off equal items of two lists, each item once.
type partners struct {
	lookup
	used []bool
	head []int32 // place of the next unused one of the equal items that begin here, or -1; nil when short
}

func newPartners(items []value.Value) *partners {
	p := &partners{lookup: newLookup(items), used: make([]bool, len(items))}
	if p.slots != nil {
		p.head = make([]int32, len(items))
		for i := range p.head {
			p.head[i] = int32(i)
		}
	}
	return p
}

// take uses up the first unused item that equals v.
func (p *partners) take(v value.Value) bool {
	if p.slots == nil {
		for i := range p.items {
			if !p.used[i] && value.Compare(v, p.items[i]) == 0 {
				p.used[i] = true
				return true
			}
		}
		return false
	}
	first := p.first(v)
	if first < 0 || p.head[first] < 0 {
		return false
	}
	at := p.head[first]
	p.used[at] = true
	p.head[first] = p.next[at]
	return true
}

// hashValue is the same for values that compare as equal, also across kinds of numbers.
func hashValue(seed maphash.Seed, v value.Value) uint64 {
	switch k := v.Kind(); k {
	case value.KindString:
		return maphash.String(seed, v.Str())
	case value.KindTable:
		return maphash.String(seed, v.Str()) + 1
	case value.KindBytes:
		return maphash.Bytes(seed, v.Bytes())
	case value.KindInt:
		return maphash.Comparable(seed, float64(v.Int()))
	case value.KindFloat:
		return hashFloat(seed, v.Float())
	case value.KindDecimal:
		return hashFloat(seed, nearestFloat(v.Decimal()))
	case value.KindDatetime:
		return maphash.Comparable(seed, v.Datetime())
	case value.KindDuration:
		return maphash.Comparable(seed, v.Duration())
	case value.KindUUID:
		return maphash.Comparable(seed, v.UUID())
	case value.KindArray, value.KindSet:
		h := uint64(k)
		for _, e := range v.Elems() {
			h = h*31 + hashValue(seed, e)
		}
		return h
	case value.KindObject:
		h := uint64(k)
		for _, f := range v.Object().Fields() {
			h = (h*31+maphash.String(seed, f.Name))*31 + hashValue(seed, f.Value)
		}
		return h
	case value.KindRecord:
		r := v.Record()
		return maphash.String(seed, r.Table)*31 + hashValue(seed, r.Key)
	case value.KindFile:
		return maphash.Comparable(seed, *v.File())
	case value.KindRegex:
		return maphash.String(seed, v.Regex().Source)
	case value.KindRange:
		r := v.Range()
		return hashValue(seed, r.Start.Value)*31 + hashValue(seed, r.End.Value)
	case value.KindGeometry:
		h := uint64(k)
		eachPoint(v.Geometry(), func(p value.Point) { h = h*31 + hashFloat(seed, p.X)*31 + hashFloat(seed, p.Y) })
		return h
	case value.KindBool:
		return maphash.Comparable(seed, v.Bool())
	default:
		// NONE, NULL, and closures: equality decides among them.
		return uint64(k)
	}
}

func hashFloat(seed maphash.Seed, f float64) uint64 {
	switch {
	case math.IsNaN(f):
		return 1
	case f == 0:
		f = 0 // -0 equals 0
	}
	return maphash.Comparable(seed, f)
}

// nearestFloat is the float that prints as d does, if one does.
func nearestFloat(d decimal.Decimal) float64 {
	if i, ok := d.Int(); ok {
		return float64(i)
	}
	f, err := strconv.ParseFloat(d.String(), 64)
	if err != nil {
		return 0 // decimals are always in range: never reached, and right anyway as long as it is one value
	}
	return f
}
