package value

import (
	"slices"
	"strings"
)

// Contains is the CONTAINS operator (and INSIDE with its sides changed): an element of an array or
// set, a part of a string or of the text of a UUID, a key of an object, a value within a range, a
// geometry within another.
func Contains(a, b Value) bool { return (*Relation)(nil).Contains(a, b) }

// Contains is the CONTAINS operator, see the function.
func (rel *Relation) Contains(a, b Value) bool {
	switch a.Kind() {
	case KindArray:
		return anyLoose(a.Elems(), b)
	case KindSet:
		return SetHas(a, b)
	case KindString:
		return b.Kind() == KindString && strings.Contains(a.Str(), b.Str())
	case KindUUID:
		return b.Kind() == KindString && strings.Contains(a.UUID().String(), b.Str())
	case KindObject:
		if b.Kind() != KindString {
			return false
		}
		_, ok := a.Object().Get(b.Str())
		return ok
	case KindRange:
		return a.Range().Contains(b)
	case KindGeometry:
		return b.Kind() == KindGeometry && !apart(a, b) && rel.contains(a.Geometry(), b.Geometry())
	}
	return false
}

// ContainsAll is CONTAINSALL (and ALLINSIDE with its sides changed): every element of the array or set
// b is in a. Of strings, b is a part of a. An empty array is in everything.
func ContainsAll(a, b Value) bool { return (*Relation)(nil).ContainsAll(a, b) }

// ContainsAll is the CONTAINSALL operator, see the function.
func (rel *Relation) ContainsAll(a, b Value) bool {
	if a.Kind() == KindString && b.Kind() == KindString {
		return strings.Contains(a.Str(), b.Str())
	}
	if b.Kind() != KindArray && b.Kind() != KindSet {
		return false
	}
	return all(b.Elems(), rel.holding(a, b.Len()))
}

// ContainsAny is CONTAINSANY (and ANYINSIDE with its sides changed); CONTAINSNONE is its negation.
// A string is asked for strings only: a list with anything else finds nothing in it.
func ContainsAny(a, b Value) bool { return (*Relation)(nil).ContainsAny(a, b) }

// ContainsAny is the CONTAINSANY operator, see the function.
func (rel *Relation) ContainsAny(a, b Value) bool {
	if a.Kind() == KindString && b.Kind() == KindString {
		return strings.Contains(a.Str(), b.Str())
	}
	if b.Kind() != KindArray && b.Kind() != KindSet {
		return false
	}
	if a.Kind() == KindString && !all(b.Elems(), func(e Value) bool { return e.Kind() == KindString }) {
		return false
	}
	return slices.ContainsFunc(b.Elems(), rel.holding(a, b.Len()))
}

// holding is Contains as the ALL and ANY forms see it, to be asked so many times: no keys of objects, no ranges, and a
// set is searched with loose equality.
func (rel *Relation) holding(a Value, times int) func(Value) bool {
	switch a.Kind() {
	case KindArray, KindSet:
		return newFinder(a.Elems(), times).loose
	case KindString, KindGeometry:
		return func(e Value) bool { return rel.Contains(a, e) }
	}
	return func(Value) bool { return false }
}

func anyLoose(elems []Value, v Value) bool {
	for _, e := range elems {
		if LooseEqual(e, v) {
			return true
		}
	}
	return false
}

// AnyEqual is ?=: an element of the array or set a equals b; anything else is compared itself.
func AnyEqual(a, b Value) bool {
	if a.Kind() == KindArray || a.Kind() == KindSet {
		return anyLoose(a.Elems(), b)
	}
	return LooseEqual(a, b)
}

// AllEqual is *=: every element of the array or set a equals b; anything else is compared itself.
func AllEqual(a, b Value) bool {
	if a.Kind() == KindArray || a.Kind() == KindSet {
		return all(a.Elems(), func(e Value) bool { return LooseEqual(e, b) })
	}
	return LooseEqual(a, b)
}

// Intersects is INTERSECTS: two geometries that share a point. OUTSIDE is its negation.
func Intersects(a, b Value) bool { return (*Relation)(nil).Intersects(a, b) }

// Intersects is the INTERSECTS operator, see the function.
func (rel *Relation) Intersects(a, b Value) bool {
	return a.Kind() == KindGeometry && b.Kind() == KindGeometry && !apart(a, b) &&
		rel.intersects(a.Geometry(), b.Geometry())
}

// Contains reports whether v lies between the bounds in the total order of values.
func (r *Range) Contains(v Value) bool {
	switch r.Start.Kind {
	case Included:
		if Compare(v, r.Start.Value) < 0 {
			return false
		}
	case Excluded:
		if Compare(v, r.Start.Value) <= 0 {
			return false
		}
	}
	switch r.End.Kind {
	case Included:
		return Compare(v, r.End.Value) <= 0
	case Excluded:
		return Compare(v, r.End.Value) < 0
	}
	return true
}
