package value

import (
	"cmp"
	"slices"
)

// finder looks values up in a list. One that is asked often has the list sorted: two lists of a million are compared in
// a second, where trying each against each would take days.
type finder struct {
	elems   []Value
	sorted  []Value // elems; nil: they are few, or asked for seldom
	regexes []Value // those among elems, when sorted
}

// fewTries are so many comparisons that sorting is not worth it.
const fewTries = 1 << 10

// newFinder is for a list that is asked times times.
func newFinder(elems []Value, times int) *finder {
	f := &finder{elems: elems}
	if times <= 1 || len(elems) <= fewTries/times {
		return f
	}
	f.sorted = slices.Clone(elems)
	SortValues(f.sorted)
	for _, e := range elems {
		if e.Kind() == KindRegex {
			f.regexes = append(f.regexes, e)
		}
	}
	return f
}

// equal reports whether an element equals v.
func (f *finder) equal(v Value) bool {
	if f.sorted == nil {
		return containsEqual(f.elems, v)
	}
	_, ok := slices.BinarySearchFunc(f.sorted, v, Compare)
	return ok
}

// loose reports whether an element equals v, or one of both is a regex that finds something in the other.
func (f *finder) loose(v Value) bool {
	if f.sorted == nil || v.Kind() == KindRegex {
		return anyLoose(f.elems, v)
	}
	return f.equal(v) || v.Kind() == KindString && anyLoose(f.regexes, v)
}

// firsts are the elements without an equal one before them, in their order.
func firsts(elems []Value) []Value {
	out := make([]Value, 0, len(elems))
	if len(elems)*len(elems) <= fewTries {
		for _, e := range elems {
			if !containsEqual(out, e) {
				out = append(out, e)
			}
		}
		return out
	}
	order := make([]int, len(elems))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if c := Compare(elems[i], elems[j]); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
	again := make([]bool, len(elems))
	for k := 1; k < len(order); k++ {
		again[order[k]] = Equal(elems[order[k-1]], elems[order[k]])
	}
	for i, e := range elems {
		if !again[i] {
			out = append(out, e)
		}
	}
	return out
}
