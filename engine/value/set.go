package value

import "slices"

// SortValues sorts vs in place, ascending and stable.
func SortValues(vs []Value) { slices.SortStableFunc(vs, Compare) }

// SetOf makes a set of elems, which it takes over and reorders. Of equal elements the first stays
// (1 before 1.0 if it came first).
func SetOf(elems []Value) Value {
	if !slices.IsSortedFunc(elems, Compare) {
		SortValues(elems)
	}
	return setOfSorted(slices.CompactFunc(elems, Equal))
}

// Set makes a set of its arguments, which it does not touch.
func Set(elems ...Value) Value { return SetOf(slices.Clone(elems)) }

// SetHas reports whether a set holds v, by binary search.
func SetHas(set, v Value) bool {
	_, ok := slices.BinarySearchFunc(set.Elems(), v, Compare)
	return ok
}
