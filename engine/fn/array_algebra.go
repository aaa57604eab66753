package fn

import (
	"sort"

	"github.com/nacredb/nacre/engine/value"
)

// maxProduct bounds the items of results that grow with the product of their inputs.
const maxProduct = 1 << 22

// smallSet is up to how many items a linear search beats an index.
const smallSet = 12

// lookup finds equal values among a fixed list: by search of the list when it is short, else of a sorted index.
type lookup struct {
	items  []value.Value
	sorted []int32 // indexes of items in ascending order, equal ones in order of position; nil when short
}

func newLookup(items []value.Value) lookup {
	l := lookup{items: items}
	if len(items) <= smallSet {
		return l
	}
	l.sorted = make([]int32, len(items))
	for i := range l.sorted {
		l.sorted[i] = int32(i)
	}
	sort.SliceStable(l.sorted, func(a, b int) bool {
		return value.Compare(items[l.sorted[a]], items[l.sorted[b]]) < 0
	})
	return l
}

// first is the position of the first item that equals v, or -1.
func (l *lookup) first(v value.Value) int {
	if l.sorted == nil {
		for i, w := range l.items {
			if value.Compare(v, w) == 0 {
				return i
			}
		}
		return -1
	}
	if at := l.rank(v); at < len(l.sorted) && value.Compare(l.items[l.sorted[at]], v) == 0 {
		return int(l.sorted[at])
	}
	return -1
}

// rank is where v stands in the sorted index: before all equal items.
func (l *lookup) rank(v value.Value) int {
	return sort.Search(len(l.sorted), func(i int) bool { return value.Compare(l.items[l.sorted[i]], v) >= 0 })
}

// partners pairs off equal items of two lists, each item once.
type partners struct {
	lookup
	used []bool
	next map[int]int // rank → how many of the equal run are used; only with an index
}

func newPartners(items []value.Value) *partners {
	p := &partners{lookup: newLookup(items), used: make([]bool, len(items))}
	if p.sorted != nil {
		p.next = make(map[int]int)
	}
	return p
}

// take uses up the first unused item that equals v.
func (p *partners) take(v value.Value) bool {
	if p.sorted == nil {
		for i, w := range p.items {
			if !p.used[i] && value.Compare(v, w) == 0 {
				p.used[i] = true
				return true
			}
		}
		return false
	}
	rank := p.rank(v)
	at := rank + p.next[rank]
	if at >= len(p.sorted) || value.Compare(p.items[p.sorted[at]], v) != 0 {
		return false
	}
	p.next[rank]++
	p.used[p.sorted[at]] = true
	return true
}

// distinct is items less later duplicates, in order.
func distinct(items []value.Value) []value.Value {
	l := newLookup(items)
	out := make([]value.Value, 0, len(items))
	for i, v := range items {
		if l.first(v) == i {
			out = append(out, v)
		}
	}
	return out
}

func arrayDistinct(_ Call, args []value.Value) (value.Value, error) {
	return value.ArrayOf(distinct(args[0].Elems())), nil
}

func arrayGroup(_ Call, args []value.Value) (value.Value, error) {
	return value.ArrayOf(distinct(flattened(args[0].Elems()))), nil
}

func arrayUnion(_ Call, args []value.Value) (value.Value, error) {
	a, b := args[0].Elems(), args[1].Elems()
	both := make([]value.Value, 0, len(a)+len(b))
	return value.ArrayOf(distinct(append(append(both, a...), b...))), nil
}

func arrayAdd(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	add := args[1:2]
	if args[1].Kind() == value.KindArray {
		add = args[1].Elems()
	}
	known, fresh := newLookup(items), newLookup(add)
	out := items[:len(items):len(items)]
	for i, v := range add {
		if known.first(v) < 0 && fresh.first(v) == i {
			out = append(out, v)
		}
	}
	return value.ArrayOf(out), nil
}

func arrayComplement(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	other := newLookup(args[1].Elems())
	out := make([]value.Value, 0, len(items))
	for _, v := range items {
		if other.first(v) < 0 {
			out = append(out, v)
		}
	}
	return value.ArrayOf(out), nil
}

func arrayIntersect(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	other := newPartners(args[1].Elems())
	out := make([]value.Value, 0, min(len(items), args[1].Len()))
	for _, v := range items {
		if other.take(v) {
			out = append(out, v)
		}
	}
	return value.ArrayOf(out), nil
}

func arrayDifference(_ Call, args []value.Value) (value.Value, error) {
	items, others := args[0].Elems(), args[1].Elems()
	other := newPartners(others)
	out := make([]value.Value, 0, len(items)+len(others))
	for _, v := range items {
		if !other.take(v) {
			out = append(out, v)
		}
	}
	for i, v := range others {
		if !other.used[i] {
			out = append(out, v)
		}
	}
	return value.ArrayOf(out), nil
}

func arrayCombine(c Call, args []value.Value) (value.Value, error) {
	a, b := args[0].Elems(), args[1].Elems()
	if len(a) > 0 && len(b) > maxProduct/len(a) {
		return value.None, c.tooLarge()
	}
	cells := make([]value.Value, 0, 2*len(a)*len(b))
	out := make([]value.Value, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			at := len(cells)
			cells = append(cells, x, y)
			out = append(out, value.ArrayOf(cells[at:at+2:at+2]))
		}
	}
	return value.ArrayOf(out), nil
}

func arrayMatches(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	out := make([]value.Value, len(items))
	for i, v := range items {
		out[i] = value.Bool(value.Equal(v, args[1]))
	}
	return value.ArrayOf(out), nil
}
