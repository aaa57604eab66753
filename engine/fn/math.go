package fn

import (
	"math"
	"math/bits"
	"strconv"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/real"
	"github.com/nacredb/nacre/engine/value"
)

func div64(hi, lo uint64) (q, r uint64) { return bits.Div64(hi, lo, 10) }

func mathFuncs() []entry {
	numbers := kindSet(value.KindInt, value.KindFloat, value.KindDecimal)
	return methodsOn(numbers, []entry{
		{sig: "math::abs(n: number) -> number", impl: mathAbs, doc: "The absolute value, in the same kind."},
		{sig: "math::acos(n: number) -> float", impl: onFloat(real.Acos), doc: "The arc cosine in radians."},
		{sig: "math::acot(n: number) -> float", impl: onFloat(acot), doc: "The arc cotangent in radians."},
		{sig: "math::asin(n: number) -> float", impl: onFloat(real.Asin), doc: "The arc sine in radians."},
		{sig: "math::atan(n: number) -> float", impl: onFloat(real.Atan), doc: "The arc tangent in radians."},
		{sig: "math::ceil(n: number) -> number", impl: rounding(math.Ceil, upward),
			doc: "The next whole number above, in the same kind."},
		{sig: "math::clamp(n: number, min: number, max: number) -> number", impl: mathClamp, on: noMethod,
			doc: "n moved into min..max."},
		{sig: "math::cos(n: number) -> float", impl: onFloat(real.Cos), doc: "The cosine of an angle in radians."},
		{sig: "math::cot(n: number) -> float", impl: onFloat(func(x float64) float64 { return 1 / real.Tan(x) }),
			doc: "The cotangent of an angle in radians."},
		{sig: "math::deg2rad(degrees: number) -> float",
			impl: onFloat(func(x float64) float64 { return x * (math.Pi / 180) }),
			doc:  "Degrees to radians."},
		{sig: "math::fixed(n: number, places: int) -> number", impl: mathFixed, on: noMethod,
			doc: "n rounded to at least one place after the point, in the same kind."},
		{sig: "math::floor(n: number) -> number", impl: rounding(math.Floor, downward),
			doc: "The next whole number below, in the same kind."},
		{sig: "math::lerp(a: number, b: number, t: number) -> number", impl: mathLerp, on: noMethod,
			doc: "The point t of the way from a to b."},
		{sig: "math::lerpangle(a: number, b: number, t: number) -> number", impl: mathLerpAngle, on: noMethod,
			doc: "a plus t of the shortest arc between two angles in degrees."},
		{sig: "math::ln(n: number) -> float", impl: onFloat(real.Log), doc: "The natural logarithm."},
		{sig: "math::log(n: number, base: number) -> float", impl: mathLog, doc: "The logarithm to a base."},
		{sig: "math::log10(n: number) -> float", impl: onFloat(real.Log10), doc: "The logarithm to base 10."},
		{sig: "math::log2(n: number) -> float", impl: onFloat(real.Log2), doc: "The logarithm to base 2."},
		{sig: "math::pow(n: number, exponent: number) -> number", impl: mathPow, on: noMethod,
			doc: "n to a power; whole when both are."},
		{sig: "math::rad2deg(radians: number) -> float", impl: onFloat(rad2deg),
			doc: "Radians to degrees."},
		{sig: "math::round(n: number) -> number", impl: rounding(math.Round, halfEven),
			doc: "The nearest whole number, in the same kind; halves away from zero, for decimals to even."},
		{sig: "math::sign(n: number) -> number", impl: mathSign, doc: "-1, 0 or 1, in the same kind."},
		{sig: "math::sin(n: number) -> float", impl: onFloat(real.Sin), doc: "The sine of an angle in radians."},
		{sig: "math::sqrt(n: number) -> number", impl: mathSqrt, on: noMethod,
			doc: "The square root; NaN for negative numbers."},
		{sig: "math::tan(n: number) -> float", impl: onFloat(real.Tan), doc: "The tangent of an angle in radians."},
	})
}

// onFloat makes an Impl of a function of floats.
func onFloat(f func(float64) float64) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		return value.Float(f(args[0].AsFloat())), nil
	}
}

func acot(x float64) float64 { return math.Pi/2 - real.Atan(x) }

func rad2deg(x float64) float64 { return x * (180 / math.Pi) }

func mathAbs(c Call, args []value.Value) (value.Value, error) {
	switch v := args[0]; v.Kind() {
	case value.KindInt:
		if v.Int() == math.MinInt64 {
			return value.None, errs.Internal("Failed to compute: \"%s(%d)\", as the operation results in an arithmetic overflow.",
				c.Func.Name, v.Int())
		}
		return value.Int(max(v.Int(), -v.Int())), nil
	case value.KindFloat:
		return value.Float(math.Abs(v.Float())), nil
	default:
		return value.DecimalOf(v.Decimal().Abs()), nil
	}
}

// rounding makes ceil, floor and round: ints stay, floats and decimals are rounded in their kind.
func rounding(floats func(float64) float64, decimals func(neg, odd bool, half int) bool) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		switch v := args[0]; v.Kind() {
		case value.KindFloat:
			return value.Float(floats(v.Float())), nil
		case value.KindDecimal:
			d := v.Decimal()
			return value.DecimalOf(shiftDecimal(d, int(d.Scale), decimals)), nil
		default:
			return v, nil
		}
	}
}

func mathClamp(c Call, args []value.Value) (value.Value, error) {
	n, low, high := args[0], args[1], args[2]
	var ok bool
	switch {
	case n.Kind() == value.KindDecimal:
		if low, ok = decimalValue(low); ok {
			high, ok = decimalValue(high)
		}
		if !ok {
			return value.None, c.overflow()
		}
	case n.Kind() != value.KindInt || low.Kind() != value.KindInt || high.Kind() != value.KindInt:
		n, low, high = value.Float(n.AsFloat()), value.Float(low.AsFloat()), value.Float(high.AsFloat())
		if math.IsNaN(low.Float()) || math.IsNaN(high.Float()) {
			return value.None, c.incorrect("Lowerbound for clamp must be smaller than the upperbound")
		}
		if math.IsNaN(n.Float()) {
			return n, nil
		}
	}
	if value.Compare(low, high) > 0 {
		return value.None, c.incorrect("Lowerbound for clamp must be smaller than the upperbound")
	}
	switch {
	case value.Compare(n, low) < 0:
		return low, nil
	case value.Compare(n, high) > 0:
		return high, nil
	}
	return n, nil
}

func decimalValue(v value.Value) (value.Value, bool) {
	d, ok := toDecimal(v)
	return value.DecimalOf(d), ok
}

func mathFixed(c Call, args []value.Value) (value.Value, error) {
	places := args[1].Int()
	if places < 1 {
		return value.None, c.incorrect("The second argument must be an integer greater than 0.")
	}
	switch v := args[0]; v.Kind() {
	case value.KindFloat:
		// No float has a digit further behind the point than this.
		if places > 1074 || math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return v, nil
		}
		f, err := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'f', int(places), 64), 64)
		if err != nil {
			return value.None, errs.Internal("Failed to round a number: %s", err)
		}
		return value.Float(f), nil
	case value.KindDecimal:
		return value.DecimalOf(roundDecimal(v.Decimal(), int(min(places, 28)))), nil
	default:
		return v, nil
	}
}

// decimals3 are three numbers as decimals, when the one that decides is a decimal and all fit.
func decimals3(args []value.Value, decides value.Value) (a, b, t decimal.Decimal, ok bool) {
	if decides.Kind() != value.KindDecimal {
		return a, b, t, false
	}
	a, okA := toDecimal(args[0])
	b, okB := toDecimal(args[1])
	t, okT := toDecimal(args[2])
	return a, b, t, okA && okB && okT
}

func mathLerp(c Call, args []value.Value) (value.Value, error) {
	if a, b, t, ok := decimals3(args, args[2]); ok {
		delta, ok1 := b.Sub(a)
		step, ok2 := delta.Mul(t)
		d, ok3 := a.Add(step)
		if !ok1 || !ok2 || !ok3 {
			return value.None, c.overflow()
		}
		return value.DecimalOf(d), nil
	}
	a, b, t := args[0].AsFloat(), args[1].AsFloat(), args[2].AsFloat()
	return value.Float(a + (b-a)*t), nil
}

// The arc is never negative, as in the reference: from 10 to 350 degrees goes up by part of 20.
func mathLerpAngle(c Call, args []value.Value) (value.Value, error) {
	if a, b, t, ok := decimals3(args, args[2]); ok {
		full := decimal.FromInt(360)
		delta, ok1 := b.Sub(a)
		arc, ok2 := delta.Abs().Rem(full)
		if arc.Cmp(decimal.FromInt(180)) > 0 {
			arc, _ = full.Sub(arc)
		}
		step, ok3 := arc.Mul(t)
		d, ok4 := a.Add(step)
		if !ok1 || !ok2 || !ok3 || !ok4 {
			return value.None, c.overflow()
		}
		return value.DecimalOf(d), nil
	}
	a, b, t := args[0].AsFloat(), args[1].AsFloat(), args[2].AsFloat()
	arc := math.Mod(math.Abs(b-a), 360)
	if arc > 180 {
		arc = 360 - arc
	}
	return value.Float(a + arc*t), nil
}

func mathLog(_ Call, args []value.Value) (value.Value, error) {
	x, base := args[0].AsFloat(), args[1].AsFloat()
	return value.Float(real.Log(x) / real.Log(base)), nil
}

func mathPow(_ Call, args []value.Value) (value.Value, error) { return value.Pow(args[0], args[1]) }

func mathSign(_ Call, args []value.Value) (value.Value, error) {
	switch v := args[0]; v.Kind() {
	case value.KindInt:
		return value.Int(int64(cmpZero(v.Int()))), nil
	case value.KindFloat:
		if math.IsNaN(v.Float()) {
			return v, nil
		}
		return value.Float(math.Copysign(1, v.Float())), nil
	default:
		return value.DecimalOf(decimal.FromInt(int64(v.Decimal().Sign()))), nil
	}
}

func cmpZero(i int64) int {
	switch {
	case i < 0:
		return -1
	case i > 0:
		return 1
	}
	return 0
}

func mathSqrt(_ Call, args []value.Value) (value.Value, error) {
	if args[0].Kind() == value.KindDecimal {
		d, ok := args[0].Decimal().Sqrt()
		if !ok {
			return value.Float(math.NaN()), nil
		}
		return value.DecimalOf(d), nil
	}
	return value.Float(math.Sqrt(args[0].AsFloat())), nil
}
