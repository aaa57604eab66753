package real

import (
	"math"
	"math/big"
	"sync"
)

// π/2 in three parts, for angles up to maxQuick.
const (
	halfPi1  = 0x1.921fb54442d18p+0
	halfPi2  = 0x1.1a62633145c07p-54
	halfPi3  = -0x1.f1976b7ed8fbcp-110
	maxQuick = 1 << 26
)

// The coefficients of the series of sin and cos in x²: ±1/n!.
var (
	sines   = alternating(1)
	cosines = alternating(0)
)

// alternating is a series with the coefficients 1/first!, -1/(first+2)!, …
func alternating(first int) series {
	return coefficients(11, func(i int) pair {
		c := inverseFactorial(first + 2*i)
		if i%2 == 1 {
			return c.negate()
		}
		return c
	})
}

// reduced is x less quarter times π/2, in ±π/4.
func reduced(x float64) (quarter int, r pair) {
	if math.Abs(x) <= math.Pi/4 {
		return 0, pair{x, 0}
	}
	if math.Abs(x) > maxQuick {
		return reducedFar(x)
	}
	k := math.Round(x / halfPi1)
	r = pair{x, 0}.sub(product(k, halfPi1)).sub(product(k, halfPi2)).sub(product(k, halfPi3))
	return int(k) & 3, r
}

// reducedFar is reduced for angles of any size.
func reducedFar(x float64) (quarter int, r pair) {
	halfPi := longHalfPi()
	angle := new(big.Float).SetPrec(halfPi.Prec()).SetFloat64(x)
	q := new(big.Float).Quo(angle, halfPi)
	half := big.NewFloat(math.Copysign(0.5, x))
	k, _ := new(big.Float).Add(q, half).Int(nil) // towards zero
	rest := new(big.Float).SetPrec(halfPi.Prec()).SetInt(k)
	rest.Sub(angle, rest.Mul(rest, halfPi))
	high, _ := rest.Float64()
	low, _ := rest.Sub(rest, big.NewFloat(high)).Float64()
	return int(new(big.Int).And(k, big.NewInt(3)).Int64()), pair{high, low}
}

// longHalfPi is π/2 with enough digits for the largest floats, by Machin's formula.
var longHalfPi = sync.OnceValue(func() *big.Float {
	const bits = 1300
	arctan := func(n int64) *big.Int { // of 1/n
		term := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(n))
		total, square := new(big.Int).Set(term), big.NewInt(n*n)
		for k := int64(3); term.Sign() != 0; k += 2 {
			term.Div(term, square)
			part := new(big.Int).Div(term, big.NewInt(k))
			if k&2 != 0 {
				part.Neg(part)
			}
			total.Add(total, part)
		}
		return total
	}
	quarter := new(big.Int).Sub(new(big.Int).Lsh(arctan(5), 2), arctan(239))
	pi := new(big.Float).SetPrec(bits).SetInt(quarter.Lsh(quarter, 1)) // π/2·2^bits
	return pi.SetMantExp(pi, -bits)
})

// ofQuarter is the sine of r + quarter·π/2, with r in ±π/4 and z = r².
func ofQuarter(quarter int, r, z pair) pair {
	var v pair
	if quarter&1 == 0 {
		v = r.mul(sines.at(z, 3))
	} else {
		v = cosines.at(z, 4)
	}
	if quarter&2 != 0 {
		return v.negate()
	}
	return v
}

// ofAngle are the sine and cosine of a finite angle.
func ofAngle(x float64) (sin, cos pair) {
	quarter, r := reduced(x)
	z := r.mul(r)
	return ofQuarter(quarter, r, z), ofQuarter(quarter+1, r, z)
}

// tiny are angles below which sine, tangent and their inverses are the angle itself.
const tiny = 0x1p-28

// Sin is the sine of an angle in radians.
func Sin(x float64) float64 {
	if !isFinite(x) || math.Abs(x) < tiny {
		return math.Sin(x)
	}
	quarter, r := reduced(x)
	return ofQuarter(quarter, r, r.mul(r)).hi
}

// Cos is the cosine of an angle in radians.
func Cos(x float64) float64 {
	if !isFinite(x) {
		return math.Cos(x)
	}
	quarter, r := reduced(x)
	return ofQuarter(quarter+1, r, r.mul(r)).hi
}

// Tan is the tangent of an angle in radians.
func Tan(x float64) float64 {
	if !isFinite(x) || math.Abs(x) < tiny {
		return math.Tan(x)
	}
	sin, cos := ofAngle(x)
	return sin.div(cos).hi
}

// improved is an angle that is close to that of the point (x, y), by one step of Newton's method. The point is at
// the distance 1.
func improved(near float64, x, y pair) float64 {
	sin, cos := ofAngle(near)
	return near + y.mul(cos).sub(x.mul(sin)).hi
}

// Asin is the arc sine in radians.
func Asin(x float64) float64 {
	if !(math.Abs(x) <= 1) || math.Abs(x) < tiny {
		return math.Asin(x)
	}
	return improved(math.Asin(x), opposite(x), pair{x, 0})
}

// Acos is the arc cosine in radians.
func Acos(x float64) float64 {
	if !(math.Abs(x) <= 1) {
		return math.Acos(x)
	}
	return improved(math.Acos(x), pair{x, 0}, opposite(x))
}

// opposite is √(1 - x²).
func opposite(x float64) pair { return sum(1, -x).mul(sum(1, x)).sqrt() }

// Atan is the arc tangent in radians.
func Atan(x float64) float64 { return Atan2(x, 1) }

// Atan2 is the angle of the point (x, y) in radians.
func Atan2(y, x float64) float64 {
	near := math.Atan2(y, x)
	if x == 0 || y == 0 || !isFinite(x) || !isFinite(y) {
		return near
	}
	_, ex := math.Frexp(x)
	_, ey := math.Frexp(y)
	if e := ey - ex; e < -28 && x > 0 || e > 80 || e < -80 {
		return near // the quotient itself, or a multiple of π/2
	}
	x, y = math.Ldexp(x, -max(ex, ey)), math.Ldexp(y, -max(ex, ey))
	length := product(x, x).add(product(y, y)).sqrt()
	return improved(near, pair{x, 0}.div(length), pair{y, 0}.div(length))
}
