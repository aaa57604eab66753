package decimal

import "github.com/nacredb/nacre/internal/wide"

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
	a := wide.Mul(wide.From10(int(scale-d.Scale)), d.coef())
	b := wide.Mul(wide.From10(int(scale-e.Scale)), e.coef())
	neg := d.Neg
	switch {
	case d.Neg == e.Neg:
		a, _ = a.Add(b) // both are below 2^189
	case a.Cmp(b) >= 0:
		a = a.Sub(b)
	default:
		a, neg = b.Sub(a), e.Neg
	}
	return fit(a, neg, int(scale))
}

// addSmall is Add where both magnitudes stay within 32 bits before and 62 bits after aligning: the
// common case, in plain ints.
func (d Decimal) addSmall(e Decimal, scale uint8) (Decimal, bool) {
	const small = 1 << 32
	if d.Hi|e.Hi != 0 || d.Lo >= small || e.Lo >= small || scale-d.Scale > 9 || scale-e.Scale > 9 {
		return Decimal{}, false
	}
	a, b := int64(d.Lo*wide.Pow10(int(scale-d.Scale))), int64(e.Lo*wide.Pow10(int(scale-e.Scale)))
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
	return fit(wide.Mul(d.coef(), e.coef()), d.Neg != e.Neg, scale)
}

// fit makes a decimal of c·10^-scale, giving up as few digits as it takes.
func fit(c wide.U192, neg bool, scale int) (Decimal, bool) {
	if c[2]|c[1] == 0 && scale > maxScale+19 { // far below the last place
		return Decimal{}, true
	}
	if !fits(c) || scale > maxScale {
		full := c
		drop := max(scale-maxScale, excessDigits(c))
		for c = roundedPow10(full, drop); !fits(c); drop++ {
			c = roundedPow10(full, drop+1)
		}
		if scale -= drop; scale < 0 {
			return Decimal{}, false
		}
	}
	coef := c.Low()
	return compose(coef, neg && !coef.IsZero(), scale), true
}

// excessDigits is a lower bound of the digits that c has beyond 96 bits.
func excessDigits(c wide.U192) int {
	n := c.BitLen()
	if n <= 97 {
		return 0
	}
	return (n - 97) * 77 / 256 // log10 2 = 0.30103
}

// roundedPow10 is c / 10^n, half to even.
func roundedPow10(c wide.U192, n int) wide.U192 {
	var sticky, digit uint64
	for n > 0 {
		k := min(n-1, 19)
		if k == 0 {
			c, digit = c.DivWord(10)
			break
		}
		var r uint64
		c, r = c.DivWord(wide.Pow10(k))
		sticky |= r
		n -= k
	}
	if digit > 5 || digit == 5 && (sticky != 0 || c[0]&1 != 0) {
		c, _ = c.Add(wide.U192{1})
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
	a := wide.Mul(wide.From10(int(scale-d.Scale)), d.coef())
	b := wide.Mul(wide.From10(int(scale-e.Scale)), e.coef()) // ≤ a
	r := a.Mod(b)
	return fit(r, d.Neg, int(scale))
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
	q, r := d.coef().Div(den)
	scale := int(d.Scale) - int(e.Scale)
	extended := false
	for {
		step := 9
		if r.IsZero() {
			if scale >= 0 {
				break
			}
			step = min(step, -scale)
		} else {
			extended = true
			step = quotientRoom(q, scale)
			if step == 0 {
				q = roundRemainder(q, r, den)
				break
			}
		}
		p := wide.Pow10(step)
		if !fits(wide.Mul(q, wide.From(p))) {
			return Decimal{}, false // only an exact quotient that has to grow to scale 0
		}
		scale += step
		more, rest := r.MulWord(p).Div(den)
		q, r = q.MulWord(p).Add(more), rest
		if q.Hi>>32 != 0 {
			break
		}
	}
	return finishQuotient(q, r, den, d.Neg != e.Neg, scale, extended)
}

// finishQuotient brings a quotient that just outgrew 96 bits back, and drops zeros of an extended one.
func finishQuotient(q, r, den wide.U128, neg bool, scale int, extended bool) (Decimal, bool) {
	if scale < 0 {
		return Decimal{}, false
	}
	if q.Hi>>32 != 0 {
		c, digit := q.DivWord(10)
		if digit > 5 || digit == 5 && (!r.IsZero() || c.Lo&1 != 0) {
			c = c.Add(wide.From(1))
		}
		q = c
		if scale--; scale < 0 {
			return Decimal{}, false
		}
	}
	if extended {
		q, scale = dropZeros(q, scale)
	}
	return compose(q, neg && !q.IsZero(), scale), true
}

// quotientRoom is by how many digits, at most 9, a quotient can be extended.
func quotientRoom(q wide.U128, scale int) int {
	room := min(9, maxScale-scale)
	for room > 0 && !fits(wide.Mul(q, wide.From(wide.Pow10(room)))) {
		room--
	}
	return room
}

// roundRemainder is q, one more if the remainder is above half of den, or half and q odd.
func roundRemainder(q, r, den wide.U128) wide.U128 {
	switch c := r.Double().Cmp(den); {
	case c > 0, c == 0 && q.Lo&1 != 0:
		return q.Add(wide.From(1))
	}
	return q
}

// dropZeros removes trailing zeros in steps of 8 (only while the low 32 bits are clear), 4, 2 and 1:
// the reference's quick tests, which leave some zeros in place.
func dropZeros(q wide.U128, scale int) (wide.U128, int) {
	for scale >= 8 && uint32(q.Lo) == 0 {
		c, r := q.DivWord(1e8)
		if r != 0 {
			break
		}
		q, scale = c, scale-8
	}
	for _, step := range [...]struct {
		digits int
		mask   uint64
	}{{4, 15}, {2, 3}, {1, 1}} {
		if scale >= step.digits && q.Lo&step.mask == 0 {
			if c, r := q.DivWord(wide.Pow10(step.digits)); r == 0 {
				q, scale = c, scale-step.digits
			}
		}
	}
	return q, scale
}

// fits reports whether c is a valid coefficient: below 2^96.
func fits(c wide.U192) bool { return c[2] == 0 && c[1]>>32 == 0 }

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}
