package value

import (
	"math"
	"math/bits"
)

// maxScale is the most digits after the point.
const maxScale = 28

// NewDecimal makes ±coef·10^-scale. The coefficient must be below 2^96 and the scale at most 28.
func newDecimal(coef u128, neg bool, scale int) Decimal {
	return Decimal{Hi: uint32(coef.hi), Lo: coef.lo, Neg: neg, Scale: uint8(scale)}
}

func (d Decimal) coef() u128 { return u128{uint64(d.Hi), d.Lo} }

// IsZero reports whether d is zero, of either sign.
func (d Decimal) IsZero() bool { return d.Hi == 0 && d.Lo == 0 }

// Sign is -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.IsZero():
		return 0
	case d.Neg:
		return -1
	}
	return 1
}

// Negate flips the sign, that of zero too.
func (d Decimal) Negate() Decimal {
	d.Neg = !d.Neg
	return d
}

// Abs drops the sign.
func (d Decimal) Abs() Decimal {
	d.Neg = false
	return d
}

// parts splits the magnitude at the point: whole, and the digits after it as a number.
func (d Decimal) parts() (whole, frac u128) {
	if d.Scale == 0 {
		return d.coef(), u128{}
	}
	return d.coef().divmod(pow10u(int(d.Scale)))
}

// Cmp orders decimals by value; the scale does not count.
func (d Decimal) Cmp(e Decimal) int {
	if d.Sign() != e.Sign() {
		return d.Sign() - e.Sign()
	}
	c := d.cmpMagnitude(e)
	if d.Neg {
		return -c
	}
	return c
}

func (d Decimal) cmpMagnitude(e Decimal) int {
	if d.Scale == e.Scale {
		return d.coef().cmp(e.coef())
	}
	if d.Scale > e.Scale {
		return -e.cmpMagnitude(d)
	}
	return mul128(pow10u(int(e.Scale-d.Scale)), d.coef()).cmp(u192{e.Lo, uint64(e.Hi)})
}

// Normalize drops trailing zeros after the point. A zero becomes plain 0 with its sign.
func (d Decimal) Normalize() Decimal {
	if d.IsZero() {
		return Decimal{Neg: d.Neg}
	}
	c, s := d.coef(), int(d.Scale)
	for s > 0 {
		q, r := c.divmod64(10)
		if r != 0 {
			break
		}
		c, s = q, s-1
	}
	return newDecimal(c, d.Neg, s)
}

// DecimalFromInt is i, exactly.
func DecimalFromInt(i int64) Decimal {
	if i < 0 {
		return Decimal{Lo: -uint64(i), Neg: true}
	}
	return Decimal{Lo: uint64(i)}
}

// Int is d as an int, when it is whole and fits.
func (d Decimal) Int() (int64, bool) {
	whole, frac := d.parts()
	if !frac.isZero() || whole.hi != 0 {
		return 0, false
	}
	if d.Neg {
		return -int64(whole.lo), whole.lo <= 1<<63
	}
	return int64(whole.lo), whole.lo < 1<<63
}

// IsWhole reports whether nothing but zeros stands after the point.
func (d Decimal) IsWhole() bool {
	_, frac := d.parts()
	return frac.isZero()
}

// Trunc drops what stands after the point.
func (d Decimal) Trunc() Decimal {
	whole, _ := d.parts()
	return newDecimal(whole, d.Neg, 0)
}

// Float is a float near d: whole part and fraction are added as floats and the sum rounded to d's
// scale, as the reference does it. It is not always the nearest float in the last place.
func (d Decimal) Float() float64 {
	sign := 1.0
	if d.Neg {
		sign = -1
	}
	whole, frac := d.parts()
	w := whole.float()
	if frac.isZero() {
		return sign * w
	}
	v := w + frac.float()/pow10u(int(d.Scale)).float()
	p := floatPow10(int(d.Scale))
	return sign * (math.Round(v*p) / p)
}

// float is the nearest float.
func (a u128) float() float64 {
	if a.hi == 0 {
		return float64(a.lo)
	}
	// Keep 64 leading bits and a sticky one; the conversion then rounds correctly.
	s := uint(bits.LeadingZeros64(a.hi))
	top := a.hi<<s | a.lo>>(64-s)
	if a.lo<<s != 0 {
		top |= 1
	}
	return math.Ldexp(float64(top), 64-int(s))
}

// floatPow10 is 10^n by repeated squaring in floats.
func floatPow10(n int) float64 {
	r, a := 1.0, 10.0
	for {
		if n&1 != 0 {
			r *= a
		}
		if n >>= 1; n == 0 {
			return r
		}
		a *= a
	}
}

// wholeToU128 converts a whole float, 0 ≤ f < 2^128.
func wholeToU128(f float64) u128 {
	if f < 1<<64 {
		return u128{0, uint64(f)}
	}
	hi := math.Floor(f / (1 << 64))
	return u128{uint64(hi), uint64(f - hi*(1<<64))}
}

// floatDigits is the bound of a coefficient made from the fraction of a float: 52 bits, 15 to 16
// digits, all that a float warrants.
const floatDigits = 1 << 52

// DecimalFromFloat is f rounded to the 15–16 digits that a float warrants (whole numbers are exact).
// It fails for NaN, infinities and what is beyond 2^96.
func DecimalFromFloat(f float64) (Decimal, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Decimal{}, false
	}
	neg := math.Signbit(f)
	frac, exp := math.Frexp(math.Abs(f))
	if frac == 0 {
		return Decimal{Neg: neg}, true
	}
	c := u128{0, uint64(frac * (1 << 53))}
	c, exp10 := binaryToDecimal(c, exp-53)
	for ; exp10 > 0; exp10-- {
		if c.cmp(u128{(1<<32 - 1) / 10, math.MaxUint64}) > 0 {
			return Decimal{}, false
		}
		if c = c.mul64(10); c.hi>>32 != 0 {
			return Decimal{}, false
		}
	}
	for ; exp10 < -maxScale; exp10++ {
		if c = roundTen(c); c.isZero() {
			return Decimal{Neg: neg}, true
		}
	}
	for ; exp10 < 0 && (c.hi != 0 || c.lo >= floatDigits); exp10++ {
		c = roundTen(c)
	}
	return newDecimal(c, neg, -exp10).Normalize(), true
}

// binaryToDecimal turns c·2^exp into coefficient and power of ten, trading factors 2 for 5 within 96
// bits; low bits that do not fit are lost.
func binaryToDecimal(c u128, exp int) (u128, int) {
	exp10 := exp
	for five := -exp; five > 0; five-- {
		if c.lo&1 == 0 {
			c, exp10 = c.shr1(), exp10+1
			continue
		}
		if m := c.mul64(5); m.hi>>32 == 0 {
			c = m
		} else {
			c, exp10 = c.shr1(), exp10+1
		}
	}
	for five := -exp; five < 0; five++ {
		if c.hi>>31 == 0 {
			c, exp10 = c.shl1(), exp10-1
		} else {
			c, _ = c.divmod64(5)
		}
	}
	return c, exp10
}

// roundTen is c/10, half up.
func roundTen(c u128) u128 {
	q, r := c.divmod64(10)
	if r >= 5 {
		q = q.add(u128{0, 1})
	}
	return q
}

// String is d in plain digits: no exponent, every digit of the scale.
func (d Decimal) String() string { return string(d.append(nil)) }

// append writes d as String does.
func (d Decimal) append(dst []byte) []byte {
	if d.Neg {
		dst = append(dst, '-')
	}
	var buf [40]byte
	digits := d.coef().append(buf[:0])
	scale := int(d.Scale)
	if scale == 0 {
		return append(dst, digits...)
	}
	if len(digits) <= scale {
		dst = append(dst, "0."...)
		for range scale - len(digits) {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}
