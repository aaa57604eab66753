package vector

import (
	"math"

	"github.com/nacredb/nacre/engine/value"
)

// Packed measures vectors from one that stays the same, without making floats of them first. The vectors are arrays of
// floats as value.Fields.Packed gives them, with as many elements. It is exactly what Floats gives for them; ok is
// false for an array with other elements. nil: there is no such function for the metric.
func (m Metric) Packed(query []float64) func(packed []byte) (far float64, ok bool) {
	switch m.name {
	case "EUCLIDEAN":
		return func(packed []byte) (float64, bool) { return packedEuclidean(packed, query) }
	case "COSINE":
		own := math.Sqrt(dot(query, query))
		return func(packed []byte) (float64, bool) {
			both, square, ok := packedDot(packed, query)
			return 1 - both/(math.Sqrt(square)*own), ok
		}
	}
	return nil
}

// packedEuclidean is euclidean, with the same sums in the same order.
func packedEuclidean(packed []byte, query []float64) (float64, bool) {
	var s0, s1, s2, s3 float64
	var other byte
	i := 0
	for ; i+4 <= len(query); i += 4 {
		y := query[i : i+4 : i+4]
		x := value.FourFloatsAt(packed, i)
		d0, d1, d2, d3 := x.At(0)-y[0], x.At(1)-y[1], x.At(2)-y[2], x.At(3)-y[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		other |= x.Other()
	}
	for ; i < len(query); i++ {
		x, o := value.FloatAt(packed, i)
		d := x - query[i]
		s0 += d * d
		other |= o
	}
	return math.Sqrt(s0 + s1 + s2 + s3), other == 0
}

// packedDot is dot of the vector and the query, and of the vector and itself.
func packedDot(packed []byte, query []float64) (both, square float64, ok bool) {
	var s0, s1, s2, s3, q0, q1, q2, q3 float64
	var other byte
	i := 0
	for ; i+4 <= len(query); i += 4 {
		y := query[i : i+4 : i+4]
		x := value.FourFloatsAt(packed, i)
		x0, x1, x2, x3 := x.At(0), x.At(1), x.At(2), x.At(3)
		s0 += x0 * y[0]
		s1 += x1 * y[1]
		s2 += x2 * y[2]
		s3 += x3 * y[3]
		q0 += x0 * x0
		q1 += x1 * x1
		q2 += x2 * x2
		q3 += x3 * x3
		other |= x.Other()
	}
	for ; i < len(query); i++ {
		x, o := value.FloatAt(packed, i)
		s0 += x * query[i]
		q0 += x * x
		other |= o
	}
	return s0 + s1 + s2 + s3, q0 + q1 + q2 + q3, other == 0
}
