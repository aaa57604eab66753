package value

import "slices"

// The assignments += -= and +?= of SET. cur is the field's value, NONE where it is missing.

// AddAssign is cur += v. An array grows by v, or by the elements of an array or set; a set likewise. Everything else is
// Add; a duration grows at most to its largest. A missing field becomes v, wrapped in an array unless it is a number, a
// duration, an array or a set. It is an error where there is no sum.
func AddAssign(cur, v Value) (Value, error) {
	switch {
	case cur.IsNone():
		if v.Kind().IsNumber() || v.Kind() == KindDuration || v.Kind() == KindSet {
			return v, nil
		}
		return asArray(v), nil
	case cur.Kind() == KindDuration && v.Kind() == KindDuration:
		d, ok := cur.Duration().Add(v.Duration())
		if !ok {
			d = MaxDuration
		}
		return DurationOf(d), nil
	case cur.Kind() == KindArray:
		return joinArrays(cur, asList(v)), nil
	case cur.Kind() == KindSet:
		return SetOf(slices.Concat(cur.Elems(), asList(v).Elems())), nil
	}
	return Add(cur, v)
}

// SubAssign is cur -= v. From an array or set it removes v, or the elements of an array or set, wherever they stand.
// Everything else is Sub. A missing field becomes a negated number, or stays missing (NONE). It is an error where there
// is no difference.
func SubAssign(cur, v Value) (Value, error) {
	switch {
	case cur.IsNone():
		if v.Kind().IsNumber() {
			return Neg(v)
		}
		return cur, nil
	case isList(cur):
		return without(cur, asList(v).Elems()), nil
	}
	return Sub(cur, v)
}

// ExtendAssign is cur +?= v: the union of an array with v, or the elements of v, each element once. A
// missing field becomes v, wrapped in an array unless it is one.
func ExtendAssign(cur, v Value) Value {
	if cur.IsNone() {
		return asArray(v)
	}
	if cur.Kind() != KindArray {
		return cur
	}
	return ArrayOf(firsts(slices.Concat(cur.Elems(), asArray(v).Elems())))
}

// MaxDuration is the longest span.
var MaxDuration = Duration{Secs: 1<<64 - 1, Nanos: nanosPerSecond - 1}

func asArray(v Value) Value {
	if v.Kind() == KindArray {
		return v
	}
	return Array(v)
}

// asList is v where it is an array or set, else an array of v alone.
func asList(v Value) Value {
	if isList(v) {
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
