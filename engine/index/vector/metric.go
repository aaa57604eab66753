package vector

import (
	"math"

	"github.com/nacredb/nacre/engine/value"
)

// Metric is a way to tell how far two vectors are apart.
type Metric struct {
	name  string  // upper case, as in the language
	order float64 // of MINKOWSKI
}

// NewMetric finds a metric by the name that the parser gives; order belongs to MINKOWSKI.
func NewMetric(name string, order value.Value) (Metric, bool) {
	m := Metric{name: name}
	switch name {
	case "EUCLIDEAN", "COSINE", "CHEBYSHEV", "MANHATTAN", "HAMMING", "JACCARD", "PEARSON":
		return m, true
	case "MINKOWSKI":
		switch order.Kind() {
		case value.KindInt:
			m.order = float64(order.Int())
		case value.KindFloat:
			m.order = order.Float()
		case value.KindDecimal:
			m.order = order.Decimal().Float()
		}
		return m, m.order != 0
	}
	return m, false
}

// number is an element of a vector.
type number interface {
	~float64 | ~float32 | ~int64 | ~int32 | ~int16
}

// navigable reports whether near vectors have near neighbours, which a graph lives on. JACCARD and PEARSON measure
// likeness in the language (the least alike come first, mostly), so there is no such thing.
func (m Metric) navigable() bool { return m.name != "JACCARD" && m.name != "PEARSON" }

// distance is the function of a metric over vectors of the same length. Floats of 32 bits are added up in 32 bits.
func distance[T number](m Metric) func(a, b []T) float64 {
	switch m.name {
	case "EUCLIDEAN":
		return euclidean[T]
	case "COSINE":
		return func(a, b []T) float64 { return 1 - dot(a, b)/(math.Sqrt(dot(a, a))*math.Sqrt(dot(b, b))) }
	case "CHEBYSHEV":
		return chebyshev[T]
	case "MANHATTAN":
		return manhattan[T]
	case "HAMMING":
		return hamming[T]
	case "JACCARD":
		if _, wide := any(*new(T)).(float64); wide {
			return func(a, b []T) float64 { return 1 - jaccard(a, b) }
		}
		return jaccard[T]
	case "PEARSON":
		return pearson[T]
	}
	return func(a, b []T) float64 { return minkowski(a, b, m.order) }
}

// Floats is the distance of two vectors of the same length.
func (m Metric) Floats() func(a, b []float64) float64 { return distance[float64](m) }

func euclidean[T number](a, b []T) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 T
	var wide float64
	if isInteger[T]() {
		for i, x := range a {
			d := float64(x) - float64(b[i])
			wide += d * d
		}
		return math.Sqrt(wide)
	}
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
	}
	for ; i < len(a); i++ {
		d := a[i] - b[i]
		s0 += d * d
	}
	return math.Sqrt(float64(s0 + s1 + s2 + s3))
}

// euclideanBelow is euclidean where that is below bound, else a distance that is not. Parts of a sum of squares are
// never above the whole, also as they are rounded, so a part that is clearly above the square of bound says that the
// whole is. The elements are not NaN. It repeats the loops of euclidean: a look at a bound there would make scans an
// eighth slower.
func euclideanBelow[T number](a, b []T, bound float64) float64 {
	if isInteger[T]() {
		return euclidean(a, b)
	}
	b = b[:len(a)]
	limit := bound * bound * (1 + 1e-9)
	var s0, s1, s2, s3 T
	for len(a) >= belowStep {
		for i := 0; i+4 <= belowStep; i += 4 {
			x, y := a[i:i+4:i+4], b[i:i+4:i+4]
			d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
			s0 += d0 * d0
			s1 += d1 * d1
			s2 += d2 * d2
			s3 += d3 * d3
		}
		if float64(s0+s1+s2+s3) > limit {
			return math.Inf(1)
		}
		a, b = a[belowStep:], b[belowStep:]
	}
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
	}
	for ; i < len(a); i++ {
		d := a[i] - b[i]
		s0 += d * d
	}
	return math.Sqrt(float64(s0 + s1 + s2 + s3))
}

// belowStep is how many elements euclideanBelow adds before it looks at the sum.
const belowStep = 32

// isInteger reports whether elements are integers: their sums and products are made in floats, where they do not wrap.
func isInteger[T number]() bool {
	one, two := T(1), T(2)
	return one/two == 0
}

func dot[T number](a, b []T) float64 {
	b = b[:len(a)]
	if isInteger[T]() {
		sum := 0.0
		for i, x := range a {
			sum += float64(x) * float64(b[i])
		}
		return sum
	}
	var s0, s1, s2, s3 T
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return float64(s0 + s1 + s2 + s3)
}

// gap is |a - b|.
func gap[T number](a, b T) float64 {
	if isInteger[T]() {
		return math.Abs(float64(a) - float64(b))
	}
	return math.Abs(float64(a - b))
}

func chebyshev[T number](a, b []T) float64 {
	most := 0.0
	for i, x := range a {
		most = max(most, gap(x, b[i]))
	}
	return most
}

func manhattan[T number](a, b []T) float64 {
	if isInteger[T]() {
		sum := 0.0
		for i, x := range a {
			sum += gap(x, b[i])
		}
		return sum
	}
	var sum T
	for i, x := range a {
		sum += T(gap(x, b[i]))
	}
	return float64(sum)
}

func hamming[T number](a, b []T) float64 {
	n := 0
	for i, x := range a {
		if x != b[i] {
			n++
		}
	}
	return float64(n)
}

func minkowski[T number](a, b []T, order float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += math.Pow(gap(x, b[i]), order)
	}
	return math.Pow(sum, 1/order)
}

// jaccard is how many of the items of two vectors are in both: the likeness. Indexes of all types but F64 order by it,
// the least alike first, as the language has it; those of F64 by its complement.
func jaccard[T number](a, b []T) float64 {
	union := make(map[T]bool, len(a)+len(b)) // true: seen in b
	for _, x := range a {
		union[x] = false
	}
	both := 0
	for _, x := range b {
		done, there := union[x]
		if there && !done {
			both++
		}
		union[x] = true // of equal items in b the first one counts
	}
	if len(union) == 0 {
		return math.NaN()
	}
	return float64(both) / float64(len(union))
}

// pearson is the correlation: the likeness, not its complement, as the language has it.
func pearson[T number](a, b []T) float64 {
	n := float64(len(a))
	meanA, meanB := 0.0, 0.0
	for i, x := range a {
		meanA += float64(x)
		meanB += float64(b[i])
	}
	meanA, meanB = meanA/n, meanB/n
	var cov, varA, varB float64
	for i, x := range a {
		da, db := float64(x)-meanA, float64(b[i])-meanB
		cov += da * db
		varA += da * da
		varB += db * db
	}
	return (cov / n) / (math.Sqrt(varA/n) * math.Sqrt(varB/n))
}
