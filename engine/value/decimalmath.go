package value

import "math/bits"

// Arithmetic on decimals: a 96-bit coefficient and a scale up to 28, results rounded half to even
// where they do not fit. Each operation reports false where the result is out of range or undefined.

// Add is d + e with the larger of the two scales.
func (d Decimal) Add(e Decimal) (Decimal, bool) {
	if d.IsZero() || e.IsZero() {
		return d.addZero(e)
	}
	scale := max(d.Scale, e.Scale)
	if sum, ok := d.addSmall(e, scale); ok {
		return sum, true
	}
	a := mul128(pow10u(int(scale-d.Scale)), d.coef())
	b := mul128(pow10u(int(scale-e.Scale)), e.coef())
	neg := d.Neg
	switch {
	case d.Neg == e.Neg:
		a = a.add(b)
	case a.cmp(b) >= 0:
		a = a.sub(b)
	default:
		a, neg = b.sub(a), e.Neg
	}
	return fitDecimal(a, neg, int(scale))
}

// addSmall is Add where both magnitudes stay within 32 bits before and 62 bits after aligning: the
// common case, in plain ints.
func (d Decimal) addSmall(e Decimal, scale uint8) (Decimal, bool) {
	const small = 1 << 32
	if d.Hi|e.Hi != 0 || d.Lo >= small || e.Lo >= small || scale-d.Scale > 9 || scale-e.Scale > 9 {
		return Decimal{}, false
	}
	a, b := int64(d.Lo*pow10[scale-d.Scale]), int64(e.Lo*pow10[scale-e.Scale])
	if d.Neg {
		a = -a
	}
	if e.Neg {
		b = -b
	}
	return Decimal{Lo: magnitude(a + b), Neg: a+b < 0, Scale: scale}, true
}

// addZero adds two decimals when one is zero: the sum is the other, unchanged.
func (d Decimal) addZero(e Decimal) (Decimal, bool) {
	switch {
	case !d.IsZero():
		return d, true
	case !e.IsZero():
		return e, true
	}
	return Decimal{Scale: max(d.Scale, e.Scale), Neg: d.Neg && e.Neg}, true
}

// Sub is d - e.
func (d Decimal) Sub(e Decimal) (Decimal, bool) { return d.Add(e.Negate()) }

// Mul is d · e with the sum of the scales, at most 28. A zero operand gives plain 0.
func (d Decimal) Mul(e Decimal) (Decimal, bool) {
	if d.IsZero() || e.IsZero() {
		return Decimal{}, true
	}
	scale := int(d.Scale) + int(e.Scale)
	return fitDecimal(mul128(d.coef(), e.coef()), d.Neg != e.Neg, scale)
}

// fitDecimal makes a decimal of c·10^-scale, giving up as few digits as it takes.
func fitDecimal(c u192, neg bool, scale int) (Decimal, bool) {
	if c[2]|c[1] == 0 && scale > maxScale+19 { // far below the last place
		return Decimal{}, true
	}
	if !c.fits96() || scale > maxScale {
		full := c
		drop := max(scale-maxScale, excessDigits(c))
		for c = roundedPow10(full, drop); !c.fits96(); drop++ {
			c = roundedPow10(full, drop+1)
		}
		if scale -= drop; scale < 0 {
			return Decimal{}, false
		}
	}
	coef := u128{c[1], c[0]}
	return newDecimal(coef, neg && !coef.isZero(), scale), true
}

// excessDigits is a lower bound of the digits that c has beyond 96 bits.
func excessDigits(c u192) int {
	n := 0
	switch {
	case c[2] != 0:
		n = 128 + bits.Len64(c[2])
	case c[1] != 0:
		n = 64 + bits.Len64(c[1])
	}
	if n <= 97 {
		return 0
	}
	return (n - 97) * 77 / 256 // log10 2 = 0.30103
}

// roundedPow10 is c / 10^n, half to even.
func roundedPow10(c u192, n int) u192 {
	var sticky, digit uint64
	for n > 0 {
		k := min(n-1, 19)
		if k == 0 {
			c, digit = c.divmod64(10)
			break
		}
		var r uint64
		c, r = c.divmod64(pow10[k])
		sticky |= r
		n -= k
	}
	if digit > 5 || digit == 5 && (sticky != 0 || c[0]&1 != 0) {
		c = c.add(u192{1})
	}
	return c
}

// Rem is the remainder of d / e, with the sign of d. It is undefined for e = 0.
func (d Decimal) Rem(e Decimal) (Decimal, bool) {
	if e.IsZero() {
		return Decimal{}, false
	}
	if d.IsZero() {
		return Decimal{}, true
	}
	if d.cmpMagnitude(e) < 0 {
		return d, true
	}
	scale := max(d.Scale, e.Scale)
	a := mul128(pow10u(int(scale-d.Scale)), d.coef())
	b := mul128(pow10u(int(scale-e.Scale)), e.coef()) // ≤ a
	r := a.mod(b)
	return fitDecimal(r, d.Neg, int(scale))
}

// mod is a mod b, for b not zero.
func (a u192) mod(b u192) u192 {
	if a[2] == 0 && b[2] == 0 {
		_, r := u128{a[1], a[0]}.divmod(u128{b[1], b[0]})
		return u192{r.lo, r.hi}
	}
	shift := a.bitLen() - b.bitLen()
	for b = b.shl(shift); shift >= 0; shift-- {
		if a.cmp(b) >= 0 {
			a = a.sub(b)
		}
		b = b.shr1()
	}
	return a
}

func (a u192) bitLen() int {
	switch {
	case a[2] != 0:
		return 128 + bits.Len64(a[2])
	case a[1] != 0:
		return 64 + bits.Len64(a[1])
	}
	return bits.Len64(a[0])
}

func (a u192) shl(n int) u192 {
	for ; n >= 64; n -= 64 {
		a = u192{0, a[0], a[1]}
	}
	for ; n > 0; n-- {
		a = a.add(a)
	}
	return a
}

func (a u192) shr1() u192 {
	return u192{a[0]>>1 | a[1]<<63, a[1]>>1 | a[2]<<63, a[2] >> 1}
}

// Div is d / e to as many digits as fit, rounded half to even. An exact quotient keeps the zeros that
// the reference leaves on it (1/2 is 0.50). It is undefined for e = 0.
func (d Decimal) Div(e Decimal) (Decimal, bool) {
	if e.IsZero() {
		return Decimal{}, false
	}
	if d.IsZero() {
		return Decimal{}, true
	}
	den := e.coef()
	q, r := d.coef().divmod(den)
	scale := int(d.Scale) - int(e.Scale)
	extended := false
	for {
		step := 9
		if r.isZero() {
			if scale >= 0 {
				break
			}
			step = min(step, -scale)
		} else {
			extended = true
			step = quotientRoom(q, scale)
			if step == 0 {
				q = q.roundRemainder(r, den)
				break
			}
		}
		p := pow10[step]
		if !mul128(q, u128{0, p}).fits96() {
			return Decimal{}, false // only an exact quotient that has to grow to scale 0
		}
		scale += step
		more, rest := r.mul64(p).divmod(den)
		q, r = q.mul64(p).add(more), rest
		if q.hi>>32 != 0 {
			break
		}
	}
	return finishQuotient(q, r, den, d.Neg != e.Neg, scale, extended)
}

// finishQuotient brings a quotient that just outgrew 96 bits back, and drops zeros of an extended one.
func finishQuotient(q, r, den u128, neg bool, scale int, extended bool) (Decimal, bool) {
	if scale < 0 {
		return Decimal{}, false
	}
	if q.hi>>32 != 0 {
		c, digit := q.divmod64(10)
		if digit > 5 || digit == 5 && (!r.isZero() || c.lo&1 != 0) {
			c = c.add(u128{0, 1})
		}
		q = c
		if scale--; scale < 0 {
			return Decimal{}, false
		}
	}
	if extended {
		q, scale = dropZeros(q, scale)
	}
	return newDecimal(q, neg && !q.isZero(), scale), true
}

// quotientRoom is by how many digits, at most 9, a quotient can be extended.
func quotientRoom(q u128, scale int) int {
	room := min(9, maxScale-scale)
	for room > 0 && !mul128(q, u128{0, pow10[room]}).fits96() {
		room--
	}
	return room
}

// roundRemainder is q, one more if the remainder is above half of den, or half and q odd.
func (q u128) roundRemainder(r, den u128) u128 {
	switch c := r.shl1().cmp(den); {
	case c > 0, c == 0 && q.lo&1 != 0:
		return q.add(u128{0, 1})
	}
	return q
}

// dropZeros removes trailing zeros in steps of 8 (only while the low 32 bits are clear), 4, 2 and 1:
// the reference's quick tests, which leave some zeros in place.
func dropZeros(q u128, scale int) (u128, int) {
	for scale >= 8 && uint32(q.lo) == 0 {
		c, r := q.divmod64(1e8)
		if r != 0 {
			break
		}
		q, scale = c, scale-8
	}
	for _, step := range [...]struct {
		digits int
		mask   uint64
	}{{4, 15}, {2, 3}, {1, 1}} {
		if scale >= step.digits && q.lo&step.mask == 0 {
			if c, r := q.divmod64(pow10[step.digits]); r == 0 {
				q, scale = c, scale-step.digits
			}
		}
	}
	return q, scale
}
