package value

import "slices"

// The assignments += -= and +?= of SET are lenient: what does not fit is left as it was. cur is the
// field's value, NONE where it is missing.

// AddAssign is cur += v: numbers and durations add up (a duration at most to its largest), arrays grow
// by v or its elements. A missing field becomes v, wrapped in an array unless it is a number, duration
// or array. An int that overflows is an error.
func AddAssign(cur, v Value) (Value, error) {
	switch {
	case cur.IsNone():
		if v.kind.IsNumber() || v.kind == KindDuration {
			return v, nil
		}
		return asArray(v), nil
	case cur.kind.IsNumber() && v.kind.IsNumber():
		return Add(cur, v)
	case cur.kind == KindDuration && v.kind == KindDuration:
		d, ok := cur.Duration().Add(v.Duration())
		if !ok {
			d = MaxDuration
		}
		return DurationOf(d), nil
	case cur.kind == KindArray:
		return joinArrays(cur, asArray(v)), nil
	}
	return cur, nil
}

// SubAssign is cur -= v: numbers and durations are subtracted, from an array v or its elements are
// removed wherever they stand. A missing field becomes a negated number, or stays missing (NONE).
func SubAssign(cur, v Value) (Value, error) {
	switch {
	case cur.IsNone():
		if v.kind.IsNumber() {
			return Neg(v)
		}
	case cur.kind.IsNumber() && v.kind.IsNumber(), cur.kind == KindDuration && v.kind == KindDuration:
		return Sub(cur, v)
	case cur.kind == KindArray:
		gone := newFinder(asArray(v).Elems(), cur.Len())
		out := make([]Value, 0, cur.Len())
		for _, e := range cur.Elems() {
			if !gone.equal(e) {
				out = append(out, e)
			}
		}
		return ArrayOf(out), nil
	}
	return cur, nil
}

// ExtendAssign is cur +?= v: the union of an array with v, or the elements of v, each element once. A
// missing field becomes v, wrapped in an array unless it is one.
func ExtendAssign(cur, v Value) Value {
	if cur.IsNone() {
		return asArray(v)
	}
	if cur.kind != KindArray {
		return cur
	}
	return ArrayOf(firsts(slices.Concat(cur.Elems(), asArray(v).Elems())))
}

// MaxDuration is the longest span.
var MaxDuration = Duration{Secs: 1<<64 - 1, Nanos: nanosPerSecond - 1}

func asArray(v Value) Value {
	if v.kind == KindArray {
		return v
	}
	return Array(v)
}

func containsEqual(elems []Value, v Value) bool {
	for _, e := range elems {
		if Equal(e, v) {
			return true
		}
	}
	return false
}
