package fn

import (
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// toDecimal is a number as a decimal; false when it does not fit (NaN, infinite or too large).
func toDecimal(v value.Value) (decimal.Decimal, bool) {
	switch v.Kind() {
	case value.KindInt:
		return decimal.FromInt(v.Int()), true
	case value.KindFloat:
		return decimal.FromFloat(v.Float())
	}
	return v.Decimal(), true
}

// arith is one of the operators over numbers, in the three number kinds. Ints wrap around.
type arith struct {
	ints     func(a, b int64) int64
	floats   func(a, b float64) float64
	decimals func(a, b decimal.Decimal) (decimal.Decimal, bool)
}

func adding() arith {
	return arith{
		func(a, b int64) int64 { return a + b },
		func(a, b float64) float64 { return a + b },
		decimal.Decimal.Add,
	}
}

func subtracting() arith {
	return arith{
		func(a, b int64) int64 { return a - b },
		func(a, b float64) float64 { return a - b },
		decimal.Decimal.Sub,
	}
}

func multiplying() arith {
	return arith{
		func(a, b int64) int64 { return a * b },
		func(a, b float64) float64 { return a * b },
		decimal.Decimal.Mul,
	}
}

// do promotes a and b to the wider kind and combines them. A decimal that overflows is an error.
func (o *arith) do(c Call, a, b value.Value) (value.Value, error) {
	ka, kb := a.Kind(), b.Kind()
	switch {
	case ka == value.KindInt && kb == value.KindInt:
		return value.Int(o.ints(a.Int(), b.Int())), nil
	case ka == value.KindFloat && kb == value.KindFloat:
		return value.Float(o.floats(a.Float(), b.Float())), nil
	case ka != value.KindDecimal && kb != value.KindDecimal:
		return value.Float(o.floats(a.AsFloat(), b.AsFloat())), nil
	}
	x, ok := toDecimal(a)
	y, ok2 := toDecimal(b)
	if ok && ok2 {
		if d, ok := o.decimals(x, y); ok {
			return value.DecimalOf(d), nil
		}
		return value.None, c.overflow()
	}
	return value.Float(o.floats(a.AsFloat(), b.AsFloat())), nil
}

// overflow is the error of a result that its kind cannot hold. The arguments are left out of the text: they may be
// secret.
func (c Call) overflow() error {
	return errs.Internal("Failed to compute: \"%s\", as the operation results in an arithmetic overflow.", c.Func.Name)
}

// roundDecimal rounds d to places digits after the point, halves to the even digit.
func roundDecimal(d decimal.Decimal, places int) decimal.Decimal {
	if int(d.Scale) <= places {
		return d
	}
	return shiftDecimal(d, int(d.Scale)-places, halfEven)
}

// halfEven, downward and upward say whether a magnitude cut to q goes up by one: cmp compares what was cut off with a
// half.
func halfEven(_ bool, odd bool, half int) bool { return half > 0 || half == 0 && odd }

func downward(neg, _ bool, _ int) bool { return neg }

func upward(neg, _ bool, _ int) bool { return !neg }

// shiftDecimal drops n digits of d's coefficient; up decides about the rest when it is not zero.
func shiftDecimal(d decimal.Decimal, n int, up func(neg, odd bool, half int) bool) decimal.Decimal {
	lo, hi := d.Lo, uint64(d.Hi)
	var top uint64      // the last digit that was cut off
	var below, any bool // something is left below it, or at all
	for range n {
		below = below || top != 0
		hi, lo, top = divTen(hi, lo)
		any = any || top != 0
	}
	d.Scale -= uint8(n)
	half := -1
	if top == 5 && !below {
		half = 0
	} else if top >= 5 {
		half = 1
	}
	if any && up(d.Neg, lo&1 == 1, half) {
		if lo++; lo == 0 {
			hi++
		}
	}
	d.Lo, d.Hi = lo, uint32(hi)
	if lo == 0 && hi == 0 {
		d.Neg = false
	}
	return d
}

func divTen(hi, lo uint64) (qhi, qlo, r uint64) {
	qhi, r = hi/10, hi%10
	qlo, r = div64(r, lo)
	return qhi, qlo, r
}
