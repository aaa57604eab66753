package fn

import (
	"math"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/real"
	"github.com/nacredb/nacre/engine/value"
)

func vectorFuncs() []entry {
	entries := []entry{
		{sig: "vector::add(a: array<number>, b: array<number>) -> array<number>", impl: elementwise(adding()),
			doc: "The sums, item by item."},
		{sig: "vector::angle(a: array<number>, b: array<number>) -> float", impl: vectorAngle,
			doc: "The angle in radians; an error with a vector of length 0."},
		{sig: "vector::cross(a: array<number>, b: array<number>) -> array<number>", impl: vectorCross,
			doc: "The cross product in three dimensions."},
		{sig: "vector::divide(a: array<number>, b: array<number>) -> array<number>", impl: vectorDivide,
			doc: "The quotients, item by item; an error for a division by zero."},
		{sig: "vector::dot(a: array<number>, b: array<number>) -> number", impl: vectorDot, doc: "The dot product."},
		{sig: "vector::magnitude(v: array<number>) -> float", impl: vectorMagnitude,
			doc: "The length; 0 of the empty vector."},
		{sig: "vector::multiply(a: array<number>, b: array<number>) -> array<number>", impl: elementwise(multiplying()),
			doc: "The products, item by item."},
		{sig: "vector::normalize(v: array<number>) -> array<number>", impl: vectorNormalize,
			doc: "The vector of length 1 in the same direction; an error of a vector of length 0."},
		{sig: "vector::project(a: array<number>, b: array<number>) -> array<number>", impl: vectorProject,
			doc: "The projection of the first vector onto the second; an error where the second has the length 0."},
		{sig: "vector::scale(v: array<number>, factor: number) -> array<number>", impl: vectorScale,
			doc: "The items times a number."},
		{sig: "vector::subtract(a: array<number>, b: array<number>) -> array<number>", impl: elementwise(subtracting()),
			doc: "The differences, item by item."},
		{sig: "vector::distance::chebyshev(a: array<number>, b: array<number>) -> float", impl: onVectors(chebyshev),
			doc: "The greatest difference of two items; 0 of empty vectors."},
		{sig: "vector::distance::euclidean(a: array<number>, b: array<number>) -> float", impl: onVectors(euclidean),
			doc: "The length of the difference."},
		{sig: "vector::distance::hamming(a: array<number>, b: array<number>) -> int", impl: vectorHamming,
			doc: "The number of positions that differ."},
		{sig: "volatile vector::distance::knn(...ref: any) -> float", impl: vectorKNN, on: noMethod,
			doc: "The distance that the KNN operator of the query found for the row."},
		{sig: "vector::distance::mahalanobis(a: array<number>, b: array<number>, covariance?: array<array<number>>) -> float",
			impl: vectorMahalanobis,
			doc:  "The distance in units of a covariance matrix, √((a−b)ᵀ·S⁻¹·(a−b)); without a matrix that of uncorrelated items of variance 1."},
		{sig: "vector::distance::manhattan(a: array<number>, b: array<number>) -> number", impl: vectorManhattan,
			doc: "The sum of the differences."},
		{sig: "vector::distance::minkowski(a: array<number>, b: array<number>, order: number) -> float", impl: vectorMinkowski,
			doc: "The Minkowski distance of an order."},
		{sig: "vector::similarity::cosine(a: array<number>, b: array<number>) -> float", impl: vectorCosine,
			doc: "The cosine of the angle; NaN with a zero vector."},
		{sig: "vector::similarity::jaccard(a: array<number>, b: array<number>) -> float", impl: vectorJaccard,
			doc: "The common items as a share of all items; 1 of empty vectors."},
		{sig: "vector::similarity::pearson(a: array<number>, b: array<number>) -> float", impl: vectorPearson,
			doc: "The correlation; an error for constant vectors and those of less than two items."},
		{sig: "vector::similarity::spearman(a: array<number>, b: array<number>) -> float", impl: vectorSpearman,
			doc: "The correlation of the ranks, equal items sharing the mean of theirs; an error for constant vectors and those of less than two items."},
		{sig: "vector::sum(vectors: array<array<number>>) -> array<number>", impl: vectorSum,
			doc: "The sum of vectors of the same dimension, item by item; NONE of no vector. Sums the vectors of the rows under GROUP."},
	}
	for i := range entries {
		entries[i].as = "vector_" + methodName(entries[i].sig)
	}
	return methodsOn(kindSet(value.KindArray), entries)
}

func (c Call) sameDimension(a, b value.Value) error {
	if a.Len() != b.Len() {
		return c.incorrect("The two vectors must be of the same dimension.")
	}
	return nil
}

// stackVector is up to how many floats of a vector are kept off the heap.
const stackVector = 512

// floats puts the items of v into buf, or into a new slice when they are more.
func floats(buf []float64, v value.Value) []float64 {
	elems := v.Elems()
	if len(elems) > len(buf) {
		buf = make([]float64, len(elems))
	}
	buf = buf[:len(elems)]
	for i := range elems {
		if elems[i].Kind() == value.KindFloat {
			buf[i] = elems[i].Float()
		} else {
			buf[i] = elems[i].AsFloat()
		}
	}
	return buf
}

// onVectors makes an Impl of a function of two vectors of the same dimension.
func onVectors(f func(a, b []float64) float64) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		if err := c.sameDimension(args[0], args[1]); err != nil {
			return value.None, err
		}
		var bufA, bufB [stackVector]float64
		a, b := floats(bufA[:], args[0]), floats(bufB[:], args[1])
		return value.Float(f(a, b)), nil
	}
}

func dot(a, b []float64) float64 {
	b = b[:len(a)]
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

func length(a []float64) float64 { return math.Sqrt(dot(a, a)) }

func cosine(a, b []float64) float64 { return dot(a, b) / (length(a) * length(b)) }

func vectorAngle(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	var bufA, bufB [stackVector]float64
	a, b := floats(bufA[:], args[0]), floats(bufB[:], args[1])
	if length(a) == 0 || length(b) == 0 {
		return value.None, c.incorrect("Both vectors must have a length above 0.")
	}
	// Rounding may carry the cosine of parallel vectors past 1.
	return value.Float(real.Acos(max(-1, min(1, cosine(a, b))))), nil
}

func euclidean(a, b []float64) float64 {
	if len(a) == 0 {
		return math.Copysign(0, -1)
	}
	sum := 0.0
	for i, x := range a {
		d := x - b[i]
		sum += d * d
	}
	return math.Sqrt(sum)
}

func chebyshev(a, b []float64) float64 {
	most := 0.0
	for i, x := range a {
		most = max(most, math.Abs(x-b[i]))
	}
	return most
}

func vectorPearson(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	var bufA, bufB [stackVector]float64
	return c.correlation(floats(bufA[:], args[0]), floats(bufB[:], args[1]))
}

// correlation refuses vectors that have none: those of less than two items, and those whose items are all the same.
func (c Call) correlation(a, b []float64) (value.Value, error) {
	if len(a) < 2 {
		return value.None, c.incorrect("The two vectors must have a dimension of at least 2.")
	}
	if constant(a) || constant(b) {
		return value.None, c.incorrect("The items of a vector must not all be the same.")
	}
	return value.Float(pearson(a, b)), nil
}

func constant(a []float64) bool {
	for _, x := range a[1:] {
		if x != a[0] {
			return false
		}
	}
	return true
}

func pearson(a, b []float64) float64 {
	n := float64(len(a))
	meanA, meanB := 0.0, 0.0
	for i, x := range a {
		meanA += x
		meanB += b[i]
	}
	meanA, meanB = meanA/n, meanB/n
	var cov, varA, varB float64
	for i, x := range a {
		da, db := x-meanA, b[i]-meanB
		cov += da * db
		varA += da * da
		varB += db * db
	}
	return (cov / n) / (math.Sqrt(varA/n) * math.Sqrt(varB/n))
}

func elementwise(op arith) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		if err := c.sameDimension(args[0], args[1]); err != nil {
			return value.None, err
		}
		a, b := args[0].Elems(), args[1].Elems()
		out := make([]value.Value, len(a))
		for i := range a {
			var err error
			if out[i], err = op.do(c, a[i], b[i]); err != nil {
				return value.None, err
			}
		}
		return value.ArrayOf(out), nil
	}
}

func vectorDivide(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	a, b := args[0].Elems(), args[1].Elems()
	out := make([]value.Value, len(a))
	for i := range a {
		if b[i].AsFloat() == 0 {
			return value.None, c.incorrect("The second vector must not contain 0.")
		}
		out[i] = value.Div(a[i], b[i])
	}
	return value.ArrayOf(out), nil
}

func vectorScale(c Call, args []value.Value) (value.Value, error) {
	a, op := args[0].Elems(), multiplying()
	out := make([]value.Value, len(a))
	for i := range a {
		var err error
		if out[i], err = op.do(c, a[i], args[1]); err != nil {
			return value.None, err
		}
	}
	return value.ArrayOf(out), nil
}

func vectorDot(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	return c.dot(args[0].Elems(), args[1].Elems())
}

// dot is the dot product in the kind of the items.
func (c Call) dot(a, b []value.Value) (value.Value, error) {
	sum, plus, times := value.Int(0), adding(), multiplying()
	for i := range a {
		if a[i].Kind() == value.KindFloat && b[i].Kind() == value.KindFloat && sum.Kind() == value.KindFloat {
			sum = value.Float(sum.Float() + a[i].Float()*b[i].Float())
			continue
		}
		p, err := times.do(c, a[i], b[i])
		if err != nil {
			return value.None, err
		}
		if sum, err = plus.do(c, sum, p); err != nil {
			return value.None, err
		}
	}
	return sum, nil
}

func vectorCross(c Call, args []value.Value) (value.Value, error) {
	a, b := args[0].Elems(), args[1].Elems()
	if len(a) != 3 || len(b) != 3 {
		return value.None, c.incorrect("Both vectors must have a dimension of 3.")
	}
	times, minus := multiplying(), subtracting()
	out := make([]value.Value, 3)
	for i := range out {
		j, k := (i+1)%3, (i+2)%3
		p, err := times.do(c, a[j], b[k])
		if err != nil {
			return value.None, err
		}
		q, err := times.do(c, a[k], b[j])
		if err != nil {
			return value.None, err
		}
		if out[i], err = minus.do(c, p, q); err != nil {
			return value.None, err
		}
	}
	return value.ArrayOf(out), nil
}

func vectorMagnitude(_ Call, args []value.Value) (value.Value, error) {
	var buf [stackVector]float64
	return value.Float(length(floats(buf[:], args[0]))), nil
}

func vectorNormalize(c Call, args []value.Value) (value.Value, error) {
	var buf [stackVector]float64
	mag := length(floats(buf[:], args[0]))
	if mag == 0 {
		return value.None, c.incorrect("The vector must have a length above 0.")
	}
	items := args[0].Elems()
	out := make([]value.Value, len(items))
	for i, v := range items {
		out[i] = value.Div(v, value.Float(mag))
	}
	return value.ArrayOf(out), nil
}

func vectorProject(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	product, err := c.dot(args[0].Elems(), args[1].Elems())
	if err != nil {
		return value.None, err
	}
	var buf [stackVector]float64
	onto := floats(buf[:], args[1])
	square := dot(onto, onto)
	if square == 0 {
		return value.None, c.incorrect("The second vector must have a length above 0.")
	}
	factor := value.Div(product, value.Float(square))
	if factor.Kind() == value.KindFloat { // also where the square is too large for a decimal
		factor = value.Float(product.AsFloat() / square)
	}
	return vectorScale(c, []value.Value{args[1], factor})
}

// vectorCosine is a decimal when the dot product is.
func vectorCosine(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	var bufA, bufB [stackVector]float64
	a, b := floats(bufA[:], args[0]), floats(bufB[:], args[1])
	lengths := length(a) * length(b)
	if hasDecimal(args[0].Elems()) || hasDecimal(args[1].Elems()) {
		product, err := c.dot(args[0].Elems(), args[1].Elems())
		if err != nil {
			return value.None, err
		}
		if product.Kind() == value.KindDecimal && lengths != 0 {
			return value.Div(product, value.Float(lengths)), nil
		}
	}
	return value.Float(dot(a, b) / lengths), nil
}

func vectorHamming(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	n := int64(0)
	b := args[1].Elems()
	for i, v := range args[0].Elems() {
		if value.Compare(v, b[i]) != 0 {
			n++
		}
	}
	return value.Int(n), nil
}

func vectorManhattan(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	sum, plus, minus := value.Int(0), adding(), subtracting()
	b := args[1].Elems()
	for i, v := range args[0].Elems() {
		d, err := minus.do(c, v, b[i])
		if err != nil {
			return value.None, err
		}
		if sum, err = plus.do(c, sum, absolute(d)); err != nil {
			return value.None, err
		}
	}
	return sum, nil
}

// absolute value of a number; the least int stays as it is.
func absolute(v value.Value) value.Value {
	switch v.Kind() {
	case value.KindInt:
		return value.Int(max(v.Int(), -v.Int()))
	case value.KindFloat:
		return value.Float(math.Abs(v.Float()))
	}
	return value.DecimalOf(v.Decimal().Abs())
}

func vectorMinkowski(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	order, sum := args[2].AsFloat(), 0.0
	b := args[1].Elems()
	for i, v := range args[0].Elems() {
		sum += real.Pow(math.Abs(v.AsFloat()-b[i].AsFloat()), order)
	}
	return value.Float(real.Pow(sum, 1/order)), nil
}

func vectorJaccard(_ Call, args []value.Value) (value.Value, error) {
	a, b := newLookup(args[0].Elems()), newLookup(args[1].Elems())
	both, either := 0, 0
	for i := range b.items {
		if b.isFirst(i) {
			either++
		}
	}
	for i, v := range a.items {
		switch {
		case !a.isFirst(i):
		case b.first(v) >= 0:
			both++
		default:
			either++
		}
	}
	if either == 0 {
		return value.Float(1), nil
	}
	return value.Float(float64(both) / float64(either)), nil
}

func vectorKNN(c Call, args []value.Value) (value.Value, error) {
	h, ok := c.Host.(SearchHost)
	if !ok {
		return value.None, errs.Internal("Invalid query: Index function 'vector::distance::knn': no KNN operator found in WHERE condition")
	}
	return h.KNNDistance(args)
}
