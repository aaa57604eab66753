package fn

import "math"

// The standard library loses digits close to multiples of π/2, where what is left of the angle is small. So the angle
// is first reduced with a π/2 of twice the precision.

const (
	halfPiHigh = 1.5707963267948966192313216916397514
	halfPiLow  = 6.123233995736766035868820147291983e-17 // π/2 - halfPiHigh
	maxReduced = 1 << 26
)

// reduce is x less quarter times π/2, in ±π/4, as a sum of two floats; false for angles that are left to the library.
func reduce(x float64) (quarter int, r, rest float64, ok bool) {
	if !(math.Abs(x) <= maxReduced) {
		return 0, 0, 0, false
	}
	k := math.Round(x / halfPiHigh)
	a := math.FMA(-k, halfPiHigh, x)
	r = math.FMA(-k, halfPiLow, a)
	rest = math.FMA(-k, halfPiLow, a-r)
	return int(k) & 3, r, rest, true
}

func sine(x float64) float64 {
	quarter, r, rest, ok := reduce(x)
	if !ok || math.Abs(x) <= math.Pi/4 {
		return math.Sin(x)
	}
	return quarterSine(quarter, r, rest)
}

func cosineOf(x float64) float64 {
	quarter, r, rest, ok := reduce(x)
	if !ok {
		return math.Cos(x)
	}
	return quarterSine((quarter+1)&3, r, rest)
}

// quarterSine is the sine of r + rest + quarter·π/2.
func quarterSine(quarter int, r, rest float64) float64 {
	var v float64
	if quarter&1 == 0 {
		v = math.Sin(r) + rest*math.Cos(r)
	} else {
		v = math.Cos(r) - rest*math.Sin(r)
	}
	if quarter >= 2 {
		return -v
	}
	return v
}

func tangent(x float64) float64 {
	quarter, r, rest, ok := reduce(x)
	if !ok || math.Abs(x) <= math.Pi/4 {
		return math.Tan(x)
	}
	t := math.Tan(r)
	t += rest * (1 + t*t)
	if quarter&1 == 1 {
		return -1 / t
	}
	return t
}

// arctan keeps the digits that π/2 has beyond a float.
func arctan(x float64) float64 {
	if !(math.Abs(x) > 1) {
		return math.Atan(x)
	}
	a := halfPiHigh - (math.Atan(1/math.Abs(x)) - halfPiLow)
	return math.Copysign(a, x)
}
