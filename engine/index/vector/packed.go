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

// fourFloats is the size of four elements, which are read in one turn.
const fourFloats = 4 * value.PackedFloat

// packedEuclidean is euclidean, with the same sums in the same order.
func packedEuclidean(packed []byte, query []float64) (float64, bool) {
	turns := min(len(query)/4, len(packed)/fourFloats)
	var s [4]float64
	var other uint64
	if hasPackedSums && turns > 0 {
		other = squaresAVX2(&s, &packed[0], &query[0], turns)
	} else {
		other = squares(&s, packed, query)
	}
	packed, query = packed[turns*fourFloats:], query[turns*4:]
	for i, y := range query {
		x, o := value.FloatAt(packed, i)
		d := x - y
		s[0] += d * d
		other |= uint64(o)
	}
	return math.Sqrt(s[0] + s[1] + s[2] + s[3]), other == 0
}

// squares sets sums to those of euclidean over all whole turns of four elements. other is 0 if they are floats. Slices
// that are cut from the front need few looks at their bounds.
func squares(sums *[4]float64, packed []byte, query []float64) (other uint64) {
	var s0, s1, s2, s3 float64
	var o byte
	for len(query) >= 4 && len(packed) >= fourFloats {
		x0, o0 := value.FloatAt(packed, 0)
		x1, o1 := value.FloatAt(packed, 1)
		x2, o2 := value.FloatAt(packed, 2)
		x3, o3 := value.FloatAt(packed, 3)
		d0, d1, d2, d3 := x0-query[0], x1-query[1], x2-query[2], x3-query[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
		o |= o0 | o1 | o2 | o3
		packed, query = packed[fourFloats:], query[4:]
	}
	*sums = [4]float64{s0, s1, s2, s3}
	return uint64(o)
}

// packedDot is dot of the vector and the query, and of the vector and itself.
func packedDot(packed []byte, query []float64) (both, square float64, ok bool) {
	turns := min(len(query)/4, len(packed)/fourFloats)
	var s, q [4]float64
	var other uint64
	if hasPackedSums && turns > 0 {
		other = productsAVX2(&s, &q, &packed[0], &query[0], turns)
	} else {
		other = products(&s, &q, packed, query)
	}
	packed, query = packed[turns*fourFloats:], query[turns*4:]
	for i, y := range query {
		x, o := value.FloatAt(packed, i)
		s[0] += x * y
		q[0] += x * x
		other |= uint64(o)
	}
	return s[0] + s[1] + s[2] + s[3], q[0] + q[1] + q[2] + q[3], other == 0
}

// products sets both and own to the sums of dot over all whole turns of four elements: of the vector and the query, and
// of the vector and itself. other is 0 if they are floats.
func products(both, own *[4]float64, packed []byte, query []float64) (other uint64) {
	var s0, s1, s2, s3, q0, q1, q2, q3 float64
	var o byte
	for len(query) >= 4 && len(packed) >= fourFloats {
		x0, o0 := value.FloatAt(packed, 0)
		x1, o1 := value.FloatAt(packed, 1)
		x2, o2 := value.FloatAt(packed, 2)
		x3, o3 := value.FloatAt(packed, 3)
		s0 += x0 * query[0]
		s1 += x1 * query[1]
		s2 += x2 * query[2]
		s3 += x3 * query[3]
		q0 += x0 * x0
		q1 += x1 * x1
		q2 += x2 * x2
		q3 += x3 * x3
		o |= o0 | o1 | o2 | o3
		packed, query = packed[fourFloats:], query[4:]
	}
	*both, *own = [4]float64{s0, s1, s2, s3}, [4]float64{q0, q1, q2, q3}
	return uint64(o)
}
