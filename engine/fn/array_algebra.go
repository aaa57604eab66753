package fn

import (
	"github.com/nacredb/nacre/engine/value"
)

// maxProduct bounds the items of results that grow with the product of their inputs.
const maxProduct = 1 << 20

// distinct is items less later duplicates, in order.
func distinct(items []value.Value) []value.Value {
	l := newLookup(items)
	out := make([]value.Value, 0, len(items))
	for i := range items {
		if l.isFirst(i) {
			out = append(out, items[i])
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
		if known.first(v) < 0 && fresh.isFirst(i) {
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
