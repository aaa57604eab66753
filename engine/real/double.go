// Package real has the elementary functions of floats, correctly rounded but for a few of a hundred thousand
// results. The standard library's may be off by a unit or two in the last place, which shows in answers that are
// compared with those of other programs.
//
// The functions compute with pairs of floats, whose unevaluated sum has about 106 bits: Dekker, "A floating-point
// technique for extending the available precision", Numerische Mathematik 18 (1971); Hida, Li and Bailey, "Algorithms
// for quad-double precision floating point arithmetic" (2001). A float64 conversion around a product keeps compilers
// from fusing it with a sum.
package real

import "math"

// pair is the unevaluated sum of two floats; |lo| is at most half a unit in the last place of hi.
type pair struct{ hi, lo float64 }

// sum is a + b, exactly.
func sum(a, b float64) pair {
	s := a + b
	t := s - a
	return pair{s, (a - (s - t)) + (b - t)}
}

// quick is a + b, exactly, where |a| ≥ |b| or a is 0.
func quick(a, b float64) pair {
	s := a + b
	return pair{s, b - (s - a)}
}

// product is a · b, exactly unless it underflows.
func product(a, b float64) pair {
	p := float64(a * b)
	return pair{p, math.FMA(a, b, -p)}
}

func (a pair) add(b pair) pair {
	s, t := sum(a.hi, b.hi), sum(a.lo, b.lo)
	s = quick(s.hi, s.lo+t.hi)
	return quick(s.hi, s.lo+t.lo)
}

func (a pair) negate() pair { return pair{-a.hi, -a.lo} }

func (a pair) sub(b pair) pair { return a.add(b.negate()) }

func (a pair) mul(b pair) pair {
	p := product(a.hi, b.hi)
	return quick(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

// times is a · b.
func (a pair) times(b float64) pair { return a.mul(pair{b, 0}) }

// scale is a · b for a power of two.
func (a pair) scale(b float64) pair { return pair{a.hi * b, a.lo * b} }

func (a pair) div(b pair) pair {
	q := a.hi / b.hi
	r := a.sub(b.times(q))
	q2 := r.hi / b.hi
	r = r.sub(b.times(q2))
	s := quick(q, q2)
	return s.add(pair{r.hi / b.hi, 0})
}

// sqrt is the root of a, which is not negative.
func (a pair) sqrt() pair {
	if a.hi == 0 {
		return pair{}
	}
	r := math.Sqrt(a.hi)
	rest := a.sub(product(r, r))
	return quick(r, rest.hi/(2*r))
}

// series are the coefficients of a power series, exact to the last bit of a pair and rounded to floats.
type series struct {
	exact   []pair
	rounded []float64
}

// coefficients is the series of n coefficients that f gives.
func coefficients(n int, f func(int) pair) series {
	s := series{make([]pair, n), make([]float64, n)}
	for i := range n {
		s.exact[i] = f(i)
		s.rounded[i] = s.exact[i].hi
	}
	return s
}

// at is the value at z. The first terms are computed with pairs, the others, which are small beside them, with floats.
func (s series) at(z pair, pairs int) pair {
	rest := 0.0
	for i := len(s.rounded) - 1; i >= pairs; i-- {
		rest = s.rounded[i] + z.hi*rest
	}
	out := pair{rest, 0}
	for i := pairs - 1; i >= 0; i-- {
		out = s.exact[i].add(z.mul(out))
	}
	return out
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
