package record

import (
	"math"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// tally is the state of one aggregate over a group. The sums are floats or ints until a decimal comes, decimals from
// then on: amounts stay exact.
type tally struct {
	count        int64
	sum, squares value.Value
}

// add adds a number to the sums of a tally, or takes it out (sign -1). Ints stay exact until they overflow.
func (t *tally) add(v value.Value, sign int64) {
	f := v.AsFloat()
	square := value.Float(f * f)
	if v.Kind() == value.KindDecimal {
		if d, err := value.Mul(v, v); err == nil {
			square = d
		}
	}
	t.sum, t.squares = moved(t.sum, v, sign), moved(t.squares, square, sign)
}

// moved is sum with v added, or taken out: as a float where it fits into nothing better.
func moved(sum, v value.Value, sign int64) value.Value {
	op := value.Add
	if sign < 0 {
		op = value.Sub
	}
	out, err := op(sum, v)
	if err != nil {
		return value.Float(sum.AsFloat() + float64(sign)*v.AsFloat())
	}
	return out
}

// aggregated is the value of one aggregate of a group, of those that are not extremes.
func aggregated(fn aggregateFunc, rows int64, t *tally) value.Value {
	switch fn {
	case aggCount:
		return value.Int(rows)
	case aggCountIf:
		return value.Int(t.count)
	}
	if t.sum.Kind() == value.KindDecimal {
		if d, ok := t.exact(fn); ok {
			return d
		}
	}
	n, sum := float64(t.count), t.sum.AsFloat()
	switch fn {
	case aggSum:
		return value.Float(sum)
	case aggMean:
		return value.Float(sum / n)
	}
	variance := 0.0
	if t.count > 1 {
		mean := sum / n
		variance = max(0, (t.squares.AsFloat()-n*(mean*mean))/(n-1))
	}
	if fn == aggStddev {
		variance = math.Sqrt(variance)
	}
	return value.Float(variance)
}

// exact is a sum, mean, variance or standard deviation in decimals; false where it does not fit them.
func (t *tally) exact(fn aggregateFunc) (value.Value, bool) {
	sum := t.sum.Decimal()
	if fn == aggSum {
		return t.sum, true
	}
	mean, ok := sum.Div(decimal.FromInt(t.count))
	if fn == aggMean || !ok {
		return value.DecimalOf(mean), ok
	}
	if t.count < 2 || t.squares.Kind() != value.KindDecimal {
		return value.None, false
	}
	part, ok1 := sum.Mul(mean)
	over, ok2 := t.squares.Decimal().Sub(part)
	if over.Neg { // of equal numbers only what was rounded is left
		over = decimal.Decimal{}
	}
	d, ok3 := over.Div(decimal.FromInt(t.count - 1))
	if fn == aggStddev && ok3 {
		d, ok3 = d.Sqrt()
	}
	return value.DecimalOf(d), ok1 && ok2 && ok3
}
