package value

import (
	"math"
	"math/bits"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/wide"
)

// Add is d + e; false where it is too long.
func (d Duration) Add(e Duration) (Duration, bool) {
	n := d.Nanos + e.Nanos
	var carry uint64
	if n >= nanosPerSecond {
		n, carry = n-nanosPerSecond, 1
	}
	secs, over := bits.Add64(d.Secs, e.Secs, carry)
	return Duration{Secs: secs, Nanos: n}, over == 0
}

// Sub is d - e; false where it is negative.
func (d Duration) Sub(e Duration) (Duration, bool) {
	var borrow uint64
	n := d.Nanos
	if n < e.Nanos {
		n, borrow = n+nanosPerSecond, 1
	}
	secs, under := bits.Sub64(d.Secs, e.Secs, borrow)
	return Duration{Secs: secs, Nanos: n - e.Nanos}, under == 0
}

// Since is d - e; false where e is later.
func (d Datetime) Since(e Datetime) (Duration, bool) {
	if d.Cmp(e) < 0 {
		return Duration{}, false
	}
	secs, n := uint64(d.Secs)-uint64(e.Secs), d.Nanos
	if n < e.Nanos {
		secs, n = secs-1, n+nanosPerSecond
	}
	return Duration{Secs: secs, Nanos: n - e.Nanos}, true
}

// Add is d later by e; false beyond the calendar.
func (d Datetime) Add(e Duration) (Datetime, bool) {
	if e.Secs > maxDatetimeSecs-minDatetimeSecs {
		return Datetime{}, false
	}
	out := Datetime{Secs: d.Secs + int64(e.Secs), Nanos: d.Nanos + e.Nanos}
	if out.Nanos >= nanosPerSecond {
		out.Secs, out.Nanos = out.Secs+1, out.Nanos-nanosPerSecond
	}
	return out, out.inCalendar()
}

// Sub is d earlier by e; false beyond the calendar.
func (d Datetime) Sub(e Duration) (Datetime, bool) {
	if e.Secs > maxDatetimeSecs-minDatetimeSecs {
		return Datetime{}, false
	}
	out := Datetime{Secs: d.Secs - int64(e.Secs), Nanos: d.Nanos}
	if out.Nanos < e.Nanos {
		out.Secs, out.Nanos = out.Secs-1, out.Nanos+nanosPerSecond
	}
	out.Nanos -= e.Nanos
	return out, out.inCalendar()
}

// shiftDatetime moves a datetime by a duration. The error names the duration first, for either
// order was.
func shiftDatetime(at, by Value, op byte) (Value, error) {
	if op == '+' {
		if d, ok := at.Datetime().Add(by.Duration()); ok {
			return DatetimeOf(d), nil
		}
		return None, errOverflow(by, op, at)
	}
	if d, ok := at.Datetime().Sub(by.Duration()); ok {
		return DatetimeOf(d), nil
	}
	return None, errNegative(by, op, at)
}

// Seconds is d as a float.
func (d Duration) Seconds() float64 { return float64(d.Secs) + float64(d.Nanos)/nanosPerSecond }

// DurationFromSeconds is s seconds to the nearest nanosecond; false where s is negative, not finite or
// too large.
func DurationFromSeconds(s float64) (Duration, bool) {
	if !(s >= 0 && s < 1<<64) {
		return Duration{}, false
	}
	secs := math.Floor(s)
	d := Duration{Secs: uint64(secs)}
	frac := s - secs // exact
	p := frac * nanosPerSecond
	lost := math.FMA(frac, nanosPerSecond, -p) // what rounding the product lost
	whole := math.Floor(p)
	d.Nanos = uint32(whole)
	if over := (p - whole - 0.5) + lost; over > 0 || over == 0 && d.Nanos&1 != 0 {
		d.Nanos++
	}
	if d.Nanos == nanosPerSecond {
		return d.Add(Duration{})
	}
	return d, true
}

// scaleDuration is a duration times a number.
func scaleDuration(a, b Value) (Value, error) {
	d := a.Duration()
	switch b.Kind() {
	case KindInt:
		n := b.Int()
		if n < 0 {
			return None, errs.Internal("Cannot multiply a duration with a negative number")
		}
		if n > math.MaxUint32 {
			return None, errs.Internal("out of range integral type conversion attempted")
		}
		hi, lo := bits.Mul64(d.Secs, uint64(n))
		nanos := uint64(d.Nanos) * uint64(n)
		secs, carry := bits.Add64(lo, nanos/nanosPerSecond, 0)
		if hi+carry == 0 {
			return DurationOf(Duration{Secs: secs, Nanos: uint32(nanos % nanosPerSecond)}), nil
		}
	case KindFloat:
		f := b.Float()
		if f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
			return None, errs.Internal("Cannot multiply a duration with a non-finite or negative number")
		}
		if r, ok := DurationFromSeconds(f * d.Seconds()); ok {
			return DurationOf(r), nil
		}
	default:
		n := b.Decimal()
		if n.Sign() < 0 {
			return None, errs.Internal("Cannot multiply a duration with a negative number")
		}
		if p, ok := d.decimalNanos().Mul(n); ok {
			if r, ok := durationFromDecimal(p); ok {
				return DurationOf(r), nil
			}
		}
	}
	return None, errOverflow(a, '*', b)
}

// divideDuration is d / n; false where n is not positive or the result too long.
func divideDuration(d Duration, b Value) (Duration, bool) {
	switch b.Kind() {
	case KindInt:
		n := b.Int()
		if n <= 0 || n > math.MaxUint32 {
			return Duration{}, false
		}
		rest := d.Secs%uint64(n)*nanosPerSecond + uint64(d.Nanos)
		return Duration{Secs: d.Secs/uint64(n) + rest/uint64(n)/nanosPerSecond,
			Nanos: uint32(rest / uint64(n) % nanosPerSecond)}, true
	case KindFloat:
		if f := b.Float(); f > 0 && !math.IsInf(f, 0) {
			return DurationFromSeconds(d.Seconds() / f)
		}
		return Duration{}, false
	}
	n := b.Decimal()
	if n.Sign() <= 0 {
		return Duration{}, false
	}
	q, ok := d.decimalNanos().Div(n)
	if !ok {
		return Duration{}, false
	}
	return durationFromDecimal(q)
}

func (d Duration) decimalNanos() decimal.Decimal {
	hi, lo := bits.Mul64(d.Secs, nanosPerSecond)
	lo, carry := bits.Add64(lo, uint64(d.Nanos), 0)
	return decimal.Decimal{Hi: uint32(hi + carry), Lo: lo}
}

// durationFromDecimal is n nanoseconds; false where that is too long.
func durationFromDecimal(n decimal.Decimal) (Duration, bool) {
	n = n.Trunc()
	secs, nanos := wide.U128{Hi: uint64(n.Hi), Lo: n.Lo}.DivWord(nanosPerSecond)
	return Duration{Secs: secs.Lo, Nanos: uint32(nanos)}, secs.Hi == 0
}
