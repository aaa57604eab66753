package value

import (
	"math"
	"math/bits"
	"slices"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/real"
)

// Add is a + b: numbers, strings, durations, a datetime and a duration, arrays (joined), an array and a set (an array),
// a set and another or an array (their union), objects (merged, b wins).
func Add(a, b Value) (Value, error) {
	if a.Kind() == KindInt && b.Kind() == KindInt {
		if sum := a.Int() + b.Int(); (sum > a.Int()) == (b.Int() > 0) {
			return Int(sum), nil
		}
		return None, errCannot("addition", a, b)
	}
	switch {
	case a.Kind().IsNumber() && b.Kind().IsNumber():
		return addNumbers(a, b)
	case a.Kind() == KindString && b.Kind() == KindString:
		return Str(a.Str() + b.Str()), nil
	case a.Kind() == KindDuration && b.Kind() == KindDuration:
		if d, ok := a.Duration().Add(b.Duration()); ok {
			return DurationOf(d), nil
		}
		return None, errOverflow(a, '+', b)
	case a.Kind() == KindDatetime && b.Kind() == KindDuration:
		return shiftDatetime(a, b, '+')
	case a.Kind() == KindDuration && b.Kind() == KindDatetime:
		return shiftDatetime(b, a, '+')
	case a.Kind() == KindArray && b.Kind() == KindArray:
		return joinArrays(a, b), nil
	case a.Kind() == KindArray && b.Kind() == KindSet:
		return joinArrays(a, b), nil
	case a.Kind() == KindSet && isList(b):
		return SetOf(slices.Concat(a.Elems(), b.Elems())), nil
	case a.Kind() == KindObject && b.Kind() == KindObject:
		return ObjectOf(mergeObjects(a.Object(), b.Object())), nil
	}
	return None, errCannot("addition", a, b)
}

// Sub is a - b: numbers, durations, datetimes, arrays and sets (a without the elements of b). duration - datetime is
// the datetime less the duration.
func Sub(a, b Value) (Value, error) {
	if a.Kind() == KindInt && b.Kind() == KindInt {
		if diff := a.Int() - b.Int(); (diff < a.Int()) == (b.Int() > 0) {
			return Int(diff), nil
		}
		return None, errCannot("subtraction", a, b)
	}
	switch {
	case a.Kind().IsNumber() && b.Kind().IsNumber():
		return subNumbers(a, b)
	case a.Kind() == KindDuration && b.Kind() == KindDuration:
		if d, ok := a.Duration().Sub(b.Duration()); ok {
			return DurationOf(d), nil
		}
		return None, errNegative(a, '-', b)
	case a.Kind() == KindDatetime && b.Kind() == KindDuration:
		return shiftDatetime(a, b, '-')
	case a.Kind() == KindDuration && b.Kind() == KindDatetime:
		return shiftDatetime(b, a, '-')
	case a.Kind() == KindDatetime && b.Kind() == KindDatetime:
		if d, ok := a.Datetime().Since(b.Datetime()); ok {
			return DurationOf(d), nil
		}
		return None, errNegative(a, '-', b)
	case isList(a) && isList(b):
		return without(a, b.Elems()), nil
	}
	return None, errCannot("subtraction", a, b)
}

// Mul is a · b: numbers, or a duration times a number that is not negative.
func Mul(a, b Value) (Value, error) {
	switch {
	case a.Kind() == KindInt && b.Kind() == KindInt:
		if p, ok := mulInts(a.Int(), b.Int()); ok {
			return Int(p), nil
		}
	case a.Kind().IsNumber() && b.Kind().IsNumber():
		return mulNumbers(a, b)
	case a.Kind() == KindDuration && b.Kind().IsNumber():
		return scaleDuration(a, b)
	}
	return None, errCannot("multiplication", a, b)
}

// Div is a / b. It never fails: a division by zero of ints or decimals, and one of anything that is
// not a number (or a duration by a number), is NaN.
func Div(a, b Value) Value {
	nan := Float(math.NaN())
	switch {
	case a.Kind() == KindInt && b.Kind() == KindInt:
		x, y := a.Int(), b.Int()
		if y == 0 || x == math.MinInt64 && y == -1 {
			return nan
		}
		return Int(x / y)
	case a.Kind().IsNumber() && b.Kind().IsNumber():
		if a.Kind() != KindDecimal && b.Kind() != KindDecimal {
			return Float(a.AsFloat() / b.AsFloat())
		}
		if q, ok := toDecimal(a).Div(toDecimal(b)); ok {
			return DecimalOf(q)
		}
	case a.Kind() == KindDuration && b.Kind().IsNumber():
		if d, ok := divideDuration(a.Duration(), b); ok {
			return DurationOf(d)
		}
	}
	return nan
}

// Rem is a % b with the sign of a. For ints and decimals b must not be zero.
func Rem(a, b Value) (Value, error) {
	switch {
	case a.Kind() == KindInt && b.Kind() == KindInt:
		x, y := a.Int(), b.Int()
		if y != 0 && (x != math.MinInt64 || y != -1) {
			return Int(x % y), nil
		}
	case a.Kind() == KindDecimal || b.Kind() == KindDecimal:
		if a.Kind().IsNumber() && b.Kind().IsNumber() {
			if r, ok := toDecimal(a).Rem(toDecimal(b)); ok {
				return DecimalOf(r), nil
			}
			return None, errNumbers("Cannot perform remainder with '%s' and '%s'", a, b)
		}
	case a.Kind().IsNumber() && b.Kind().IsNumber():
		return Float(math.Mod(a.AsFloat(), b.AsFloat())), nil
	}
	return None, errCannot("remainder", a, b)
}

// Pow is a ** b. Ints stay ints (and fail where they would not), a decimal stays one; else floats.
func Pow(a, b Value) (Value, error) {
	switch {
	case !a.Kind().IsNumber() || !b.Kind().IsNumber():
		return None, errs.Validation("Cannot raise the value '%s' with '%s'", operandText(a), operandText(b))
	case a.Kind() == KindInt && b.Kind() == KindInt:
		if p, ok := powInts(a.Int(), b.Int()); ok {
			return Int(p), nil
		}
	case a.Kind() == KindDecimal && b.Kind() == KindInt:
		if p, ok := a.Decimal().PowInt(magnitude(b.Int()), b.Int() < 0); ok {
			return DecimalOf(p), nil
		}
	case a.Kind() == KindDecimal:
		if e, ok := exactDecimal(b); ok {
			if p, ok := a.Decimal().Pow(e); ok {
				return DecimalOf(p), nil
			}
		}
	default:
		return Float(real.Pow(a.AsFloat(), b.AsFloat())), nil
	}
	return None, errs.Validation("Cannot raise the value '%s' with '%s'", bareNumber(a), bareNumber(b))
}

// Neg is -v of a number.
func Neg(v Value) (Value, error) {
	switch v.Kind() {
	case KindInt:
		if v.Int() != math.MinInt64 {
			return Int(-v.Int()), nil
		}
	case KindFloat:
		return Float(-v.Float()), nil
	case KindDecimal:
		return DecimalOf(v.Decimal().Negate()), nil
	}
	return None, errs.Validation("Cannot negate the value '%s'", v.Brief())
}

func addNumbers(a, b Value) (Value, error) {
	if a.Kind() != KindDecimal && b.Kind() != KindDecimal {
		return Float(a.AsFloat() + b.AsFloat()), nil
	}
	if sum, ok := toDecimal(a).Add(toDecimal(b)); ok {
		return DecimalOf(sum), nil
	}
	return None, errNumbers("Cannot perform addition with '%s' and '%s'", a, b)
}

func subNumbers(a, b Value) (Value, error) {
	if a.Kind() != KindDecimal && b.Kind() != KindDecimal {
		return Float(a.AsFloat() - b.AsFloat()), nil
	}
	if diff, ok := toDecimal(a).Sub(toDecimal(b)); ok {
		return DecimalOf(diff), nil
	}
	return None, errNumbers("Cannot perform subtraction with '%s' and '%s'", a, b)
}

func mulNumbers(a, b Value) (Value, error) {
	if a.Kind() != KindDecimal && b.Kind() != KindDecimal {
		return Float(a.AsFloat() * b.AsFloat()), nil
	}
	if p, ok := toDecimal(a).Mul(toDecimal(b)); ok {
		return DecimalOf(p), nil
	}
	return None, errNumbers("Cannot perform multiplication with '%s' and '%s'", a, b)
}

func mulInts(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	neg := (a < 0) != (b < 0)
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !neg {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

func powInts(a, n int64) (int64, bool) {
	switch {
	case n == 0 || a == 1:
		return 1, true
	case a == -1:
		return 1 - 2*(n&1), true
	case n < 0:
		return 0, false
	case a == 0:
		return 0, true
	}
	r, ok := int64(1), true
	for ; ok && n > 0; n-- { // |a| ≥ 2: at most 64 turns
		r, ok = mulInts(r, a)
	}
	return r, ok
}

// AsFloat is a number as a float, rounded where a float cannot hold it; 0 for what is no number.
func (v Value) AsFloat() float64 {
	switch v.Kind() {
	case KindInt:
		return float64(v.Int())
	case KindFloat:
		return v.Float()
	case KindDecimal:
		return v.Decimal().Float()
	}
	return 0
}

// toDecimal is a number as a decimal; a float that is none counts as 0, as in the reference.
func toDecimal(v Value) decimal.Decimal {
	d, _ := exactDecimal(v)
	return d
}

func exactDecimal(v Value) (decimal.Decimal, bool) {
	switch v.Kind() {
	case KindInt:
		return decimal.FromInt(v.Int()), true
	case KindFloat:
		return decimal.FromFloat(v.Float())
	}
	return v.Decimal(), true
}

// isList reports whether v is an array or a set.
func isList(v Value) bool { return v.Kind() == KindArray || v.Kind() == KindSet }

// without is the array or set v without the elements that equal one of gone.
func without(v Value, gone []Value) Value {
	find := newFinder(gone, v.Len())
	out := make([]Value, 0, v.Len())
	for _, e := range v.Elems() {
		if !find.equal(e) {
			out = append(out, e)
		}
	}
	if v.Kind() == KindSet {
		return setOfSorted(out)
	}
	return ArrayOf(out)
}

// joinArrays is the array of the elements of two arrays or sets.
func joinArrays(a, b Value) Value {
	switch {
	case b.Len() == 0 && a.Kind() == KindArray:
		return a
	case a.Len() == 0 && b.Kind() == KindArray:
		return b
	}
	out := make([]Value, 0, a.Len()+b.Len())
	return ArrayOf(append(append(out, a.Elems()...), b.Elems()...))
}

// mergeObjects has the fields of both; those of b win.
func mergeObjects(a, b *Object) *Object {
	x, y := a.Fields(), b.Fields()
	switch {
	case len(y) == 0:
		return a
	case len(x) == 0:
		return b
	}
	out := make([]Field, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].Name < y[0].Name:
			out, x = append(out, x[0]), x[1:]
		case x[0].Name > y[0].Name:
			out, y = append(out, y[0]), y[1:]
		default:
			out, x, y = append(out, y[0]), x[1:], y[1:]
		}
	}
	return ObjectOfSorted(append(append(out, x...), y...))
}

// errCannot is the text of an operation on kinds that do not fit it.
func errCannot(operation string, a, b Value) error {
	return errs.Validation("Cannot perform "+operation+" with '%s' and '%s'", operandText(a), operandText(b))
}

// errNumbers is the same for two numbers whose result does not fit. Two decimals are shown bare.
func errNumbers(format string, a, b Value) error {
	if a.Kind() == KindDecimal && b.Kind() == KindDecimal {
		return errs.Validation(format, a.Decimal(), b.Decimal())
	}
	return errs.Validation(format, a.Brief(), b.Brief())
}

// bareNumber is a number without the suffix of its kind.
func bareNumber(v Value) string {
	if v.Kind() == KindFloat && math.IsInf(v.Float(), 0) {
		return map[bool]string{true: "inf", false: "-inf"}[v.Float() > 0]
	}
	if v.Kind() == KindFloat {
		s := v.Text()
		if s[len(s)-1] == 'f' {
			s = s[:len(s)-1]
		}
		return s
	}
	return ToString(v)
}

func errOverflow(a Value, op byte, b Value) error {
	return errs.Internal("Failed to compute: \"%s %c %s\", as the operation results in an arithmetic overflow.", bareNumber(a), op, bareNumber(b))
}

func errNegative(a Value, op byte, b Value) error {
	return errs.Internal("Failed to compute: \"%s %c %s\", as the operation results in a negative value.", bareNumber(a), op, bareNumber(b))
}
