// Package decimal has decimal numbers of 96 bits and up to 28 places, the model of the reference's decimals: rounding,
// overflow and texts agree with it.
package decimal

import (
	"math"

	"github.com/nacredb/nacre/internal/wide"
)

// maxScale is the most digits after the point.
const maxScale = 28

// Decimal is a number ±coef·10^-Scale with a coefficient of 96 bits and 0 ≤ Scale ≤ 28.
type Decimal struct {
	Hi    uint32 // coefficient bits 64–95
	Lo    uint64 // coefficient bits 0–63
	Neg   bool
	Scale uint8
}

// compose makes ±coef·10^-scale. The coefficient must be below 2^96 and the scale at most 28.
func compose(coef wide.U128, neg bool, scale int) Decimal {
	return Decimal{Hi: uint32(coef.Hi), Lo: coef.Lo, Neg: neg, Scale: uint8(scale)}
}

func (d Decimal) coef() wide.U128 { return wide.U128{Hi: uint64(d.Hi), Lo: d.Lo} }

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
func (d Decimal) parts() (whole, frac wide.U128) {
	if d.Scale == 0 {
		return d.coef(), wide.U128{}
	}
	return d.coef().Div(wide.From10(int(d.Scale)))
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
		return d.coef().Cmp(e.coef())
	}
	if d.Scale > e.Scale {
		return -e.cmpMagnitude(d)
	}
	return wide.Mul(wide.From10(int(e.Scale-d.Scale)), d.coef()).Cmp(wide.U192{e.Lo, uint64(e.Hi)})
}

// Normalize drops trailing zeros after the point. A zero becomes plain 0 with its sign.
func (d Decimal) Normalize() Decimal {
	if d.IsZero() {
		return Decimal{Neg: d.Neg}
	}
	c, s := d.coef(), int(d.Scale)
	for s > 0 {
		q, r := c.DivWord(10)
		if r != 0 {
			break
		}
		c, s = q, s-1
	}
	return compose(c, d.Neg, s)
}

// FromInt is i, exactly.
func FromInt(i int64) Decimal {
	if i < 0 {
		return Decimal{Lo: -uint64(i), Neg: true}
	}
	return Decimal{Lo: uint64(i)}
}

// Int is d as an int, when it is whole and fits.
func (d Decimal) Int() (int64, bool) {
	whole, frac := d.parts()
	if !frac.IsZero() || whole.Hi != 0 {
		return 0, false
	}
	if d.Neg {
		return -int64(whole.Lo), whole.Lo <= 1<<63
	}
	return int64(whole.Lo), whole.Lo < 1<<63
}

// IsWhole reports whether nothing but zeros stands after the point.
func (d Decimal) IsWhole() bool {
	_, frac := d.parts()
	return frac.IsZero()
}

// Trunc drops what stands after the point.
func (d Decimal) Trunc() Decimal {
	whole, _ := d.parts()
	return compose(whole, d.Neg, 0)
}

// Float is a float near d: whole part and fraction are added as floats and the sum rounded to d's
// scale, as the reference does it. It is not always the nearest float in the last place.
func (d Decimal) Float() float64 {
	sign := 1.0
	if d.Neg {
		sign = -1
	}
	whole, frac := d.parts()
	w := whole.Float()
	if frac.IsZero() {
		return sign * w
	}
	v := w + frac.Float()/wide.From10(int(d.Scale)).Float()
	p := floatPow10(int(d.Scale))
	return sign * (math.Round(v*p) / p)
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

// floatDigits is the bound of a coefficient made from the fraction of a float: 52 bits, 15 to 16
// digits, all that a float warrants.
const floatDigits = 1 << 52

// FromFloat is f rounded to the 15–16 digits that a float warrants (whole numbers are exact).
// It fails for NaN, infinities and what is beyond 2^96.
func FromFloat(f float64) (Decimal, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Decimal{}, false
	}
	neg := math.Signbit(f)
	frac, exp := math.Frexp(math.Abs(f))
	if frac == 0 {
		return Decimal{Neg: neg}, true
	}
	c := wide.From(uint64(frac * (1 << 53)))
	c, exp10 := binaryToDecimal(c, exp-53)
	for ; exp10 > 0; exp10-- {
		if c.Cmp(wide.U128{Hi: (1<<32 - 1) / 10, Lo: math.MaxUint64}) > 0 {
			return Decimal{}, false
		}
		if c = c.MulWord(10); c.Hi>>32 != 0 {
			return Decimal{}, false
		}
	}
	for ; exp10 < -maxScale; exp10++ {
		if c = roundTen(c); c.IsZero() {
			return Decimal{Neg: neg}, true
		}
	}
	for ; exp10 < 0 && (c.Hi != 0 || c.Lo >= floatDigits); exp10++ {
		c = roundTen(c)
	}
	return compose(c, neg, -exp10).Normalize(), true
}

// binaryToDecimal turns c·2^exp into coefficient and power of ten, trading factors 2 for 5 within 96
// bits; low bits that do not fit are lost.
func binaryToDecimal(c wide.U128, exp int) (wide.U128, int) {
	exp10 := exp
	for five := -exp; five > 0; five-- {
		if c.Lo&1 == 0 {
			c, exp10 = c.Half(), exp10+1
			continue
		}
		if m := c.MulWord(5); m.Hi>>32 == 0 {
			c = m
		} else {
			c, exp10 = c.Half(), exp10+1
		}
	}
	for five := -exp; five < 0; five++ {
		if c.Hi>>31 == 0 {
			c, exp10 = c.Double(), exp10-1
		} else {
			c, _ = c.DivWord(5)
		}
	}
	return c, exp10
}

// roundTen is c/10, half up.
func roundTen(c wide.U128) wide.U128 {
	q, r := c.DivWord(10)
	if r >= 5 {
		q = q.Add(wide.From(1))
	}
	return q
}

// String is d in plain digits: no exponent, every digit of the scale.
func (d Decimal) String() string { return string(d.Append(nil)) }

// Append writes d as String does.
func (d Decimal) Append(dst []byte) []byte {
	if d.Neg {
		dst = append(dst, '-')
	}
	var buf [40]byte
	digits := d.coef().Append(buf[:0])
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
