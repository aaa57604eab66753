package fn

import (
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

func mathStatsFuncs() []entry {
	return []entry{
		{sig: "math::bottom(items: array<number>, count: int) -> array<number>", impl: mathBottom,
			doc: "The count least numbers, in no particular order."},
		{sig: "math::interquartile(items: array<number>) -> float",
			impl: quartiles(func(q1, _, q3 float64) float64 { return q3 - q1 }),
			doc:  "The span from the first to the third quartile."},
		{sig: "math::max(items: array<number>) -> number", impl: mathMax,
			doc: "The greatest number; -Infinity for none."},
		{sig: "math::mean(items: array<number>) -> number", impl: mathMean, doc: "The mean; NaN for none."},
		{sig: "math::median(items: array<number>) -> option<float>", impl: mathMedian,
			doc: "The middle number; NONE for none."},
		{sig: "math::midhinge(items: array<number>) -> float",
			impl: quartiles(func(q1, _, q3 float64) float64 { return (q1 + q3) / 2 }),
			doc:  "The middle between the first and the third quartile."},
		{sig: "math::min(items: array<number>) -> number", impl: mathMin,
			doc: "The least number; Infinity for none."},
		{sig: "math::mode(items: array<number>) -> number", impl: mathMode,
			doc: "The most frequent number, the greatest of several; NaN for none."},
		{sig: "math::nearestrank(items: array<number>, percent: number) -> number", impl: mathNearestRank,
			doc: "The item at a percentage of the sorted numbers; NaN out of 0 to 100."},
		{sig: "math::percentile(items: array<number>, percent: number) -> float", impl: mathPercentile,
			doc: "The number at a percentage of the sorted numbers, interpolated; NaN out of 0 to 100."},
		{sig: "math::product(items: array<number>) -> number", impl: mathProduct, doc: "The product; 1 for none."},
		{sig: "math::spread(items: array<number>) -> number", impl: mathSpread,
			doc: "The greatest number less the least; NaN for none."},
		{sig: "math::stddev(items: array<number>) -> number", impl: mathStddev,
			doc: "The standard deviation of a sample; NaN for none."},
		{sig: "math::sum(items: array<number>) -> number", impl: mathSum, doc: "The sum; 0 for none."},
		{sig: "math::top(items: array<number>, count: int) -> array<number>", impl: mathTop,
			doc: "The count greatest numbers, in no particular order."},
		{sig: "math::trimean(items: array<number>) -> float",
			impl: quartiles(func(q1, q2, q3 float64) float64 { return ((q1+q3)/2 + q2) / 2 }),
			doc:  "The mean of the quartiles, the second counted twice."},
		{sig: "math::variance(items: array<number>) -> number", impl: mathVariance,
			doc: "The variance of a sample; NaN for none."},
	}
}

func nan() value.Value { return value.Float(math.NaN()) }

func mathMax(c Call, args []value.Value) (value.Value, error) {
	if args[0].Len() == 0 {
		return value.Float(math.Inf(-1)), nil
	}
	return arrayMax(c, args)
}

func mathMin(c Call, args []value.Value) (value.Value, error) {
	if args[0].Len() == 0 {
		return value.Float(math.Inf(1)), nil
	}
	return arrayMin(c, args)
}

func mathSpread(c Call, args []value.Value) (value.Value, error) {
	if args[0].Len() == 0 {
		return nan(), nil
	}
	high, _ := arrayMax(c, args)
	low, _ := arrayMin(c, args)
	op := subtracting()
	return op.do(c, high, low)
}

func (c Call) reduce(op arith, acc value.Value, items []value.Value) (value.Value, error) {
	for _, v := range items {
		var err error
		if acc, err = op.do(c, acc, v); err != nil {
			return value.None, err
		}
	}
	return acc, nil
}

func mathSum(c Call, args []value.Value) (value.Value, error) {
	return c.reduce(adding(), value.Int(0), args[0].Elems())
}

func mathProduct(c Call, args []value.Value) (value.Value, error) {
	return c.reduce(multiplying(), value.Int(1), args[0].Elems())
}

func hasDecimal(items []value.Value) bool {
	for i := range items {
		if items[i].Kind() == value.KindDecimal {
			return true
		}
	}
	return false
}

// decimalItems are items as decimals if one of them is a decimal and all fit.
func decimalItems(items []value.Value) ([]decimal.Decimal, bool) {
	if !hasDecimal(items) {
		return nil, false
	}
	out := make([]decimal.Decimal, len(items))
	for i, v := range items {
		d, ok := toDecimal(v)
		if !ok {
			return nil, false
		}
		out[i] = d
	}
	return out, true
}

// decimalMean is the mean; false on overflow.
func decimalMean(items []decimal.Decimal) (decimal.Decimal, bool) {
	var sum decimal.Decimal
	ok := true
	for _, d := range items {
		if sum, ok = sum.Add(d); !ok {
			return sum, false
		}
	}
	return sum.Div(decimal.FromInt(int64(len(items))))
}

func floatMean(items []value.Value) float64 {
	sum := 0.0
	for _, v := range items {
		sum += v.AsFloat()
	}
	return sum / float64(len(items))
}

func mathMean(c Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	if ds, ok := decimalItems(items); ok {
		d, ok := decimalMean(ds)
		if !ok {
			return value.None, c.overflow()
		}
		return value.DecimalOf(d), nil
	}
	return value.Float(floatMean(items)), nil
}

// variance of a sample, as a float or a decimal.
func variance(c Call, items []value.Value) (value.Value, error) {
	switch len(items) {
	case 0:
		return nan(), nil
	case 1:
		return value.Float(0), nil
	}
	if ds, ok := decimalItems(items); ok {
		d, ok := decimalVariance(ds)
		if !ok {
			return value.None, c.overflow()
		}
		return value.DecimalOf(d), nil
	}
	mean, sum := floatMean(items), 0.0
	for _, v := range items {
		d := v.AsFloat() - mean
		sum += d * d
	}
	return value.Float(sum / float64(len(items)-1)), nil
}

func decimalVariance(items []decimal.Decimal) (decimal.Decimal, bool) {
	mean, ok := decimalMean(items)
	if !ok {
		return mean, false
	}
	var sum decimal.Decimal
	for _, v := range items {
		d, ok1 := v.Sub(mean)
		square, ok2 := d.Mul(d)
		if sum, ok = sum.Add(square); !ok || !ok1 || !ok2 {
			return sum, false
		}
	}
	return sum.Div(decimal.FromInt(int64(len(items) - 1)))
}

func mathVariance(c Call, args []value.Value) (value.Value, error) {
	return variance(c, args[0].Elems())
}

func mathStddev(c Call, args []value.Value) (value.Value, error) {
	v, err := variance(c, args[0].Elems())
	if err != nil {
		return value.None, err
	}
	return mathSqrt(c, []value.Value{v})
}

// sorted puts items into the memory of s, in ascending order.
func sorted(s *scratch, items []value.Value) []value.Value {
	out := room(&s.values, len(items))
	copy(out, items)
	value.SortValues(out)
	return out
}

func mathMode(c Call, args []value.Value) (value.Value, error) {
	s := c.scratch()
	defer c.done(s)
	items := sorted(s, args[0].Elems())
	best, most := nan(), 0
	for i := 0; i < len(items); {
		run := i + 1
		for run < len(items) && value.Compare(items[i], items[run]) == 0 {
			run++
		}
		if run-i >= most {
			best, most = items[i], run-i
		}
		i = run
	}
	return best, nil
}

// sortedFloats puts items into the memory of s as floats in ascending order, NaN last.
func sortedFloats(s *scratch, items []value.Value) []float64 {
	out := room(&s.floats, len(items))
	for i, v := range items {
		out[i] = v.AsFloat()
	}
	slices.SortFunc(out, func(a, b float64) int {
		switch {
		case a < b || b != b && a == a:
			return -1
		case a > b || a != a && b == b:
			return 1
		}
		return 0
	})
	return out
}

// percentile of sorted floats, interpolated; p is from 0 to 100.
func percentile(fs []float64, p float64) float64 {
	if len(fs) == 0 || !(p >= 0 && p <= 100) {
		return math.NaN()
	}
	rank := float64(float64(len(fs)-1)*p) * 0.01 // as the reference: a division by 100 rounds otherwise
	low := math.Floor(rank)
	a, b := fs[int(low)], fs[int(math.Ceil(rank))]
	return a + float64((b-a)*(rank-low))
}

func mathPercentile(c Call, args []value.Value) (value.Value, error) {
	s := c.scratch()
	defer c.done(s)
	return value.Float(percentile(sortedFloats(s, args[0].Elems()), args[1].AsFloat())), nil
}

func mathMedian(c Call, args []value.Value) (value.Value, error) {
	if args[0].Len() == 0 {
		return value.None, nil
	}
	s := c.scratch()
	defer c.done(s)
	return value.Float(median(sortedFloats(s, args[0].Elems()))), nil
}

// median of one or more sorted floats.
func median(fs []float64) float64 {
	n := len(fs)
	if n%2 == 1 {
		return fs[n/2]
	}
	return (fs[n/2-1] + fs[n/2]) / 2
}

// quartiles makes an Impl of a function of the three quartiles.
func quartiles(f func(q1, q2, q3 float64) float64) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		s := c.scratch()
		defer c.done(s)
		fs := sortedFloats(s, args[0].Elems())
		if len(fs) == 0 {
			return nan(), nil
		}
		return value.Float(f(percentile(fs, 25), median(fs), percentile(fs, 75))), nil
	}
}

func mathNearestRank(c Call, args []value.Value) (value.Value, error) {
	items, p := args[0].Elems(), args[1].AsFloat()
	if len(items) == 0 || !(p >= 0 && p <= 100) {
		return nan(), nil
	}
	rank := int(p / 100 * float64(len(items)))
	s := c.scratch()
	defer c.done(s)
	return sorted(s, items)[min(rank, len(items)-1)], nil
}

func (c Call) countOf(v value.Value) (int, error) {
	if n := v.Int(); n >= 1 {
		return int(n), nil
	}
	return 0, c.incorrect("The second argument must be an integer greater than 0.")
}

func mathTop(c Call, args []value.Value) (value.Value, error) {
	return extremes(c, args, func(a, b value.Value) bool { return value.Compare(a, b) >= 0 })
}

func mathBottom(c Call, args []value.Value) (value.Value, error) {
	return extremes(c, args, func(a, b value.Value) bool { return value.Compare(a, b) <= 0 })
}

// extremes keeps the count items that come last in the order "a goes below b", in the order of the heap that finds
// them.
func extremes(c Call, args []value.Value, below func(a, b value.Value) bool) (value.Value, error) {
	n, err := c.countOf(args[1])
	if err != nil {
		return value.None, err
	}
	items := args[0].Elems()
	h := heap{below: below, items: make([]value.Value, 0, min(n, len(items))+1)}
	for _, v := range items {
		h.push(v)
		if len(h.items) > n {
			h.pop()
		}
	}
	return value.ArrayOf(h.items), nil
}

// heap is a binary heap whose first item goes below no other. Its layout is part of the answers of math::top and
// math::bottom, so it moves items just as the reference does: a removed root is refilled from the bottom up.
type heap struct {
	items []value.Value
	below func(a, b value.Value) bool // a does not rise above b
}

func (h *heap) push(v value.Value) {
	h.items = append(h.items, v)
	h.up(len(h.items) - 1)
}

func (h *heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if h.below(h.items[i], h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *heap) pop() {
	last := len(h.items) - 1
	v := h.items[last]
	h.items = h.items[:last]
	if last == 0 {
		return
	}
	h.items[0] = v
	i := 0
	for child := 1; child < last; child = 2*i + 1 {
		if child+1 < last && h.below(h.items[child], h.items[child+1]) {
			child++
		}
		h.items[i], h.items[child] = h.items[child], h.items[i]
		i = child
	}
	h.up(i)
}
