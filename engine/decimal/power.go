package decimal

import "github.com/nacredb/nacre/internal/wide"

// Pow is d to the power e. Whole exponents are exact up to the rounding of each product; others go
// through the logarithm, to about 8 digits as in the reference. It is undefined where the result is
// out of range, 0 is raised to a negative power, or a whole exponent has more than 32 bits.
func (d Decimal) Pow(e Decimal) (Decimal, bool) {
	switch one := FromInt(1); {
	case e.IsZero(), d.Cmp(one) == 0:
		return one, true
	case d.IsZero() && !e.Neg:
		return Decimal{}, true
	case e.Cmp(one) == 0:
		return d, true
	}
	if e = e.Normalize(); e.Scale == 0 {
		if e.Hi != 0 || e.Lo>>32 != 0 {
			return Decimal{}, false
		}
		return d.PowInt(e.Lo, e.Neg)
	}
	ln, ok := d.Abs().ln()
	if !ok {
		return Decimal{}, false
	}
	if ln, ok = ln.Mul(e); !ok {
		return Decimal{}, false
	}
	r, ok := ln.exp()
	r.Neg = d.Neg && ok
	return r, ok
}

// PowInt is d to the power n, or -n with reciprocal.
func (d Decimal) PowInt(n uint64, reciprocal bool) (Decimal, bool) {
	r, ok := d.powUint(n)
	if !ok || !reciprocal {
		return r, ok
	}
	return FromInt(1).Div(r)
}

func (d Decimal) powUint(n uint64) (Decimal, bool) {
	switch n {
	case 0:
		return FromInt(1), true
	case 1:
		return d, true
	case 2:
		return d.Mul(d)
	}
	r, base := FromInt(1), d
	for ok := true; ; {
		if n&1 != 0 {
			if r, ok = r.Mul(base); !ok {
				return Decimal{}, false
			}
		}
		if n >>= 1; n == 0 {
			return r.Normalize(), true
		}
		if base, ok = base.Mul(base); !ok {
			return Decimal{}, false
		}
	}
}

// e and 1/e to 28 places.
var (
	decimalE        = compose(wide.U128{Hi: 1473583531, Lo: 17000207014870838618}, false, 28)
	decimalEInverse = compose(wide.U128{Hi: 199427844, Lo: 12274750254969641798}, false, 28)
)

// ln is the natural logarithm of d > 0 by the series of ln(1+x) around 1.
func (d Decimal) ln() (Decimal, bool) {
	one := FromInt(1)
	if d.Sign() <= 0 {
		return Decimal{}, false
	}
	count, ok := int64(0), true
	for ; d.Cmp(one) >= 0; count++ {
		if d, ok = d.Mul(decimalEInverse); !ok {
			return Decimal{}, false
		}
	}
	for ; d.Cmp(decimalEInverse) <= 0; count-- {
		if d, ok = d.Mul(decimalE); !ok || d.IsZero() {
			return Decimal{}, false
		}
	}
	x, _ := d.Sub(one)
	x.Neg = !x.Neg
	sum, last, y := Decimal{}, one, one
	for i := int64(1); i <= 100 && last.Cmp(sum) != 0; i++ {
		last = sum
		y, _ = y.Mul(x)
		term, _ := y.Div(FromInt(i))
		if sum, ok = sum.Add(term); !ok {
			return Decimal{}, false
		}
	}
	return FromInt(count).Sub(sum)
}

// exp is e^d by its series, stopped at a term of 2e-7.
func (d Decimal) exp() (Decimal, bool) {
	one := FromInt(1)
	if d.Neg && !d.IsZero() {
		r, ok := d.Abs().exp()
		if !ok {
			return Decimal{}, false
		}
		return one.Div(r)
	}
	tolerance := Decimal{Lo: 2, Scale: 7}
	sum, ok := d.Add(one)
	term := d
	for i := int64(2); ok; i++ {
		term, _ = term.Div(FromInt(i))
		if term, ok = term.Mul(d); !ok {
			break
		}
		if sum, ok = sum.Add(term); term.Cmp(tolerance) <= 0 {
			break
		}
	}
	return sum, ok
}

// Sqrt is the square root of d by Newton's rule, with the digits that the division leaves; false for negative d.
func (d Decimal) Sqrt() (Decimal, bool) {
	if d.IsZero() {
		return Decimal{}, true
	}
	if d.Neg {
		return d, false
	}
	two := FromInt(2)
	x, _ := d.Div(two)
	if x.IsZero() {
		x = d
	}
	// Converges quadratically from any start; halving a start that is 10^28 off takes less than 100 turns more.
	for range 200 {
		last := x
		q, ok1 := d.Div(x)
		sum, ok2 := x.Add(q)
		half, ok3 := sum.Div(two)
		if !ok1 || !ok2 || !ok3 {
			return d, false
		}
		x = half
		if x.Cmp(last) == 0 {
			break
		}
	}
	return x, true
}
