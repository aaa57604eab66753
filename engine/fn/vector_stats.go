package fn

import (
	"cmp"
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/value"
)

// vectorSpearman is Spearman's rank correlation: Pearson's over the ranks (C. Spearman, 1904), with the mean rank for
// ties. Vectors with NaN have no ranks, so the result is NaN.
func vectorSpearman(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	s := c.scratch()
	defer c.done(s)
	n := args[0].Len()
	all := room(&s.floats, 3*n)
	a, b, items, order := all[:n], all[n:2*n], all[2*n:], room(&s.ints, n)
	if !ranks(a, floats(items, args[0]), order) || !ranks(b, floats(items, args[1]), order) {
		return nan(), nil
	}
	return c.correlation(a, b)
}

// ranks puts the places of the items in ascending order from 1 on into out, equal items sharing the mean of theirs;
// false with NaN. order is memory to work in.
func ranks(out, items []float64, order []int) bool {
	for i, x := range items {
		if math.IsNaN(x) {
			return false
		}
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(items[i], items[j]) })
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && items[order[to]] == items[order[from]] {
			to++
		}
		for _, at := range order[from:to] {
			out[at] = float64(from+1+to) / 2
		}
		from = to
	}
	return true
}

// vectorMahalanobis is the distance of P. C. Mahalanobis (1936). The covariance matrix has to be one: symmetric and
// positive definite. Left out it is the identity.
func vectorMahalanobis(c Call, args []value.Value) (value.Value, error) {
	if err := c.sameDimension(args[0], args[1]); err != nil {
		return value.None, err
	}
	var bufA, bufB [stackVector]float64
	a, b := floats(bufA[:], args[0]), floats(bufB[:], args[1])
	if len(a) == 0 {
		return value.None, c.incorrect("The two vectors must not be empty.")
	}
	if len(args) < 3 {
		return value.Float(euclidean(a, b)), nil
	}
	for i := range a {
		a[i] -= b[i]
	}
	lower, err := c.cholesky(args[2].Elems(), len(a))
	if err != nil {
		return value.None, err
	}
	// With S = L·Lᵀ, dᵀ·S⁻¹·d is the square of the y of L·y = d.
	sum := 0.0
	for i, row := range lower {
		a[i] = (a[i] - dot(a[:i], row)) / row[i]
		sum += a[i] * a[i]
	}
	return value.Float(math.Sqrt(sum)), nil
}

// cholesky is the lower triangle L, row by row, of a symmetric positive definite matrix L·Lᵀ of n rows.
func (c Call) cholesky(rows []value.Value, n int) ([][]float64, error) {
	if len(rows) != n {
		return nil, c.incorrect("The covariance matrix must have the dimension of the vectors.")
	}
	lower := make([][]float64, n)
	for i, row := range rows {
		if row.Len() != n {
			return nil, c.incorrect("The covariance matrix must have the dimension of the vectors.")
		}
		if err := c.Host.Context().Err(); err != nil {
			return nil, err
		}
		full, out := row.Elems(), make([]float64, i+1)
		for j := range out {
			x := full[j].AsFloat()
			if x != rows[j].Elems()[i].AsFloat() {
				return nil, c.incorrect("The covariance matrix must be symmetric and positive definite.")
			}
			if j < i {
				out[j] = (x - dot(out[:j], lower[j])) / lower[j][j]
				continue
			}
			square := x - dot(out[:i], out)
			if !(square > 0) || math.IsInf(square, 1) {
				return nil, c.incorrect("The covariance matrix must be symmetric and positive definite.")
			}
			out[i] = math.Sqrt(square)
		}
		lower[i] = out
	}
	return lower, nil
}

// vectorSum of no vectors is the empty vector.
func vectorSum(c Call, args []value.Value) (value.Value, error) {
	vectors := args[0].Elems()
	if len(vectors) == 0 {
		return value.None, nil
	}
	out := append(make([]value.Value, 0, vectors[0].Len()), vectors[0].Elems()...)
	plus := adding()
	for _, v := range vectors[1:] {
		if err := c.sameDimension(vectors[0], v); err != nil {
			return value.None, err
		}
		for i, x := range v.Elems() {
			var err error
			if out[i], err = plus.do(c, out[i], x); err != nil {
				return value.None, err
			}
		}
	}
	return value.ArrayOf(out), nil
}
