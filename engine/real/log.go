package real

import "math"

// The natural logarithm of 2 and the reciprocals that logarithms to other bases are multiplied by.
var (
	ln2    = pair{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	perLn2 = pair{1, 0}.div(ln2)
	// log10(2) in two parts, the first with zeros at its end, and 1/ln 10.
	log10of2High = 0x1.34413509f6p-2
	log10of2Low  = 0x1.9fef311f12b36p-42
	perLn10      = 0x1.bcb7b1526e50ep-2
)

// atanh has the coefficients of the series of atanh: 1/(2k+1).
var atanh = coefficients(18, func(k int) pair { return pair{1, 0}.div(pair{float64(2*k + 1), 0}) })

// logarithm is ln x of a finite x above 0: x = m·2^k with m close to 1, ln m = 2·atanh((m-1)/(m+1)). The first
// terms of the series are pairs.
func logarithm(x float64, pairs int) pair {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	f := sum(m, -1).div(sum(m, 1))
	z := f.mul(f)
	l := f.mul(atanh.at(z, pairs)).scale(2)
	if k == 0 {
		return l
	}
	return ln2.times(float64(k)).add(l)
}

// Log is the natural logarithm.
func Log(x float64) float64 {
	if !(x > 0) || !isFinite(x) || x == 1 {
		return math.Log(x)
	}
	return logarithm(x, 3).hi
}

// Log2 is the logarithm to base 2.
func Log2(x float64) float64 {
	if !(x > 0) || !isFinite(x) {
		return math.Log2(x)
	}
	if m, k := math.Frexp(x); m == 0.5 {
		return float64(k - 1)
	}
	return logarithm(x, 3).mul(perLn2).hi
}

// Log10 is the logarithm to base 10, from that of x less its power of two. This is how most C libraries do it: it is
// exact for powers of ten, and not always correctly rounded.
func Log10(x float64) float64 {
	if !(x > 0) || !isFinite(x) {
		return math.Log10(x)
	}
	m, k := math.Frexp(x)
	m, k = 2*m, k-1
	if k < 0 {
		m, k = m/2, k+1
	}
	y := float64(k)
	z := float64(y*log10of2Low) + float64(perLn10*Log(m))
	return z + float64(y*log10of2High)
}

// exponential has the coefficients of the series of exp: 1/n!.
var exponential = coefficients(13, inverseFactorial)

// inverseFactorial is 1/n!.
func inverseFactorial(n int) pair {
	f := pair{1, 0}
	for i := 2; i <= n; i++ {
		f = f.div(pair{float64(i), 0})
	}
	return f
}

// halvings is how often exp halves its argument, and squares the result.
const halvings = 4

// power is e^a = m·2^k, for |a| below 2^20.
func power(a pair) (m pair, k int) {
	n := math.Round(a.hi / ln2.hi)
	r := a.sub(ln2.times(n)).scale(1.0 / (1 << halvings))
	m = exponential.at(r, 4)
	for range halvings {
		m = m.mul(m)
	}
	return m, int(n)
}

// The arguments between which the results of exp are normal floats.
const (
	leastExp    = -708
	greatestExp = 709.7
)

// Exp is e to a power.
func Exp(x float64) float64 {
	if !(x > leastExp && x < greatestExp) {
		return math.Exp(x)
	}
	m, k := power(pair{x, 0})
	return math.Ldexp(m.hi, k)
}

// Pow is x to the power of y; the special cases are those of math.Pow.
func Pow(x, y float64) float64 {
	whole := y == math.Trunc(y)
	if x == 0 || y == 0 || y == 1 || x == 1 || !isFinite(x) || !isFinite(y) || x < 0 && !whole {
		return math.Pow(x, y)
	}
	if math.Abs(y) > 1<<62 {
		return math.Pow(x, y)
	}
	p := logarithm(math.Abs(x), 5).times(y)
	if !(p.hi > leastExp && p.hi < greatestExp) {
		return math.Pow(x, y)
	}
	m, k := power(p)
	f := math.Ldexp(m.hi, k)
	if x < 0 && math.Mod(y, 2) != 0 {
		return -f
	}
	return f
}
