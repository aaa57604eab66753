package sql

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

func numberFunctions() map[string]*Function {
	float := func(f func(float64) float64) *Function {
		return Returns(pgtype.Float8, 1, 1, func(c *Call) (value.Value, error) {
			return value.Float(f(c.Args[0].AsFloat())), nil
		}, pgtype.Float8)
	}
	rounding := func(f func(float64) float64, d func(decimal.Decimal) decimal.Decimal) *Function {
		return &Function{Min: 1, Max: 1, Type: func(oids []pgtype.OID) pgtype.OID {
			if pgtype.IsInt(oids[0]) {
				return pgtype.Float8
			}
			return oids[0]
		}, Args: []pgtype.OID{pgtype.Float8}, Keep: true, Eval: func(c *Call) (value.Value, error) {
			if c.OIDs[0] == pgtype.Numeric {
				return value.DecimalOf(positiveZero(d(decimalOf(c.Args[0])))), nil
			}
			return value.Float(f(c.Args[0].AsFloat())), nil
		}}
	}
	one := decimal.FromInt(1)
	floor := func(d decimal.Decimal) decimal.Decimal {
		t := d.Trunc()
		if d.Cmp(t) < 0 {
			t, _ = t.Sub(one)
		}
		return t
	}
	fns := map[string]*Function{
		"floor":   rounding(math.Floor, floor),
		"ceil":    rounding(math.Ceil, func(d decimal.Decimal) decimal.Decimal { return floor(d.Negate()).Negate() }),
		"ceiling": rounding(math.Ceil, func(d decimal.Decimal) decimal.Decimal { return floor(d.Negate()).Negate() }),
		"trunc":   rounding(math.Trunc, decimal.Decimal.Trunc),
		"round": {Min: 1, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID {
			if len(oids) > 1 || oids[0] == pgtype.Numeric {
				return pgtype.Numeric
			}
			return pgtype.Float8
		}, Eval: round},
		"abs": {Min: 1, Max: 1, Type: firstType, Args: []pgtype.OID{pgtype.Float8}, Keep: true,
			Eval: func(c *Call) (value.Value,
				error) {
				switch v := c.Args[0]; v.Kind() {
				case value.KindInt:
					if v.Int() < 0 {
						return calculate("-", c.OIDs[0], value.Int(0), v)
					}
					return v, nil
				case value.KindDecimal:
					return value.DecimalOf(v.Decimal().Abs()), nil
				default:
					return value.Float(math.Abs(v.AsFloat())), nil
				}
			}},
		"mod": {Min: 2, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID { return common(oids[0], oids[1]) },
			Eval: func(c *Call) (value.Value, error) {
				return calculate("%", common(c.OIDs[0], c.OIDs[1]), c.Args[0], c.Args[1])
			}},
		"sqrt": Returns(pgtype.Float8, 1, 1, func(c *Call) (value.Value, error) {
			if c.Args[0].AsFloat() < 0 {
				return value.None, sqlstate.New("2201F", "cannot take square root of a negative number")
			}
			return value.Float(math.Sqrt(c.Args[0].AsFloat())), nil
		}, pgtype.Float8),
		"div": Returns(pgtype.Numeric, 2, 2, func(c *Call) (value.Value, error) {
			v, err := calculateDecimal("/", c.Args[0], c.Args[1])
			if err != nil {
				return value.None, err
			}
			return value.DecimalOf(positiveZero(v.Decimal().Trunc())), nil
		}, pgtype.Numeric),
		"pi": Returns(pgtype.Float8, 0, 0, func(*Call) (value.Value, error) { return value.Float(math.Pi), nil }),
		"to_hex": text(1, 1, func(c *Call) string {
			if c.OIDs[0] == pgtype.Int8 {
				return strconv.FormatUint(uint64(c.Int(0)), 16)
			}
			return strconv.FormatUint(uint64(uint32(c.Int(0))), 16)
		}, pgtype.Int4),
		"pg_typeof": {Min: 1, Max: 1, Type: always2(pgtype.RegType), Nulls: true,
			Eval: func(c *Call) (value.Value, error) { return value.Int(int64(c.OIDs[0])), nil }},
		"random": {Type: always2(pgtype.Float8), Varies: true, Eval: func(*Call) (value.Value, error) {
			return value.Float(rand.Float64()), nil
		}},
		"gen_random_uuid": {Type: always2(pgtype.UUID), Varies: true, Eval: func(*Call) (value.Value, error) {
			return value.UUIDOf(value.UUIDv4()), nil
		}},
		"exp": float(math.Exp), "ln": float(math.Log), "log": float(math.Log10), "sin": float(math.Sin),
		"cos": float(math.Cos), "tan": float(math.Tan),
		"power": Returns(pgtype.Float8, 2, 2, func(c *Call) (value.Value, error) {
			return calculateFloat("^", c.Args[0].AsFloat(), c.Args[1].AsFloat())
		}, pgtype.Float8),
		"sign": Returns(pgtype.Float8, 1, 1, func(c *Call) (value.Value, error) {
			f := c.Args[0].AsFloat()
			switch {
			case f > 0:
				return value.Float(1), nil
			case f < 0:
				return value.Float(-1), nil
			}
			return value.Float(0), nil
		}, pgtype.Float8),
		"generate_series": {Min: 2, Max: 3, Type: func(oids []pgtype.OID) pgtype.OID {
			return common(oids[0], oids[1])
		}, Resolve: func(oids []pgtype.OID) []pgtype.OID {
			if !slices.ContainsFunc(oids, isTime) {
				return nil
			}
			oid := timestampOf(oids)
			return []pgtype.OID{oid, oid, pgtype.Interval}
		}, Set: true, Eval: generateSeries},
		"generate_subscripts": {Min: 2, Max: 3, Type: always2(pgtype.Int4), Set: true, Eval: generateSubscripts},
	}
	fns["pow"] = fns["power"]
	return fns
}

// positiveZero is d, without the sign of a zero.
func positiveZero(d decimal.Decimal) decimal.Decimal {
	if d.IsZero() {
		return d.Abs()
	}
	return d
}

func round(c *Call) (value.Value, error) {
	if len(c.Args) == 1 && c.OIDs[0] != pgtype.Numeric {
		return value.Float(math.RoundToEven(c.Args[0].AsFloat())), nil
	}
	places := int64(0)
	if len(c.Args) > 1 {
		places = c.Int(1)
	}
	if places < -30 || places > 30 {
		return value.None, sqlstate.New(sqlstate.OutOfRange, "cannot round to %d places", places)
	}
	d := decimalOf(c.Args[0])
	scale := decimal.FromInt(1)
	ten := decimal.FromInt(10)
	for range max(places, -places) {
		scale, _ = scale.Mul(ten)
	}
	if places < 0 {
		scale, _ = decimal.FromInt(1).Div(scale)
	}
	half, _ := decimal.Parse("0.5")
	if d.Sign() < 0 {
		half = half.Negate()
	}
	scaled, ok := d.Mul(scale)
	if ok {
		scaled, ok = scaled.Add(half)
	}
	if !ok {
		return value.None, outOfRange(pgtype.Numeric)
	}
	out, ok := positiveZero(scaled.Trunc()).Div(scale)
	if !ok {
		return value.None, outOfRange(pgtype.Numeric)
	}
	s := out.String()
	if places > 0 {
		_, frac, _ := strings.Cut(s, ".")
		if frac == "" {
			s += "."
		}
		s += strings.Repeat("0", max(0, int(places)-len(frac)))
	}
	return pgtype.Parse(pgtype.Numeric, s, nil)
}

// longestSeries is how many rows generate_series may give.
const longestSeries = 10_000_000

func generateSeries(c *Call) (value.Value, error) {
	if c.Args[0].Kind() == value.KindDatetime {
		return timeSeries(c)
	}
	from, to, step := c.Int(0), c.Int(1), int64(1)
	if len(c.Args) > 2 {
		step = c.Int(2)
	}
	if step == 0 {
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "step size cannot equal zero")
	}
	n, ok := seriesLength(from, to, step)
	if !ok {
		return value.None, sqlstate.New(sqlstate.TooMuch, "a series cannot have more than %d rows", longestSeries)
	}
	if err := c.Env.Charge(24 * n); err != nil {
		return value.None, err
	}
	out := make([]value.Value, n)
	for i := range out {
		out[i] = value.Int(from + int64(i)*step)
	}
	return value.ArrayOf(out), nil
}

// seriesLength is how many numbers a series has; ok is false where they are too many.
func seriesLength(from, to, step int64) (n int, ok bool) {
	var gaps uint64 // without overflow: a difference of two numbers of 64 bits is one of 64 bits without a sign
	switch {
	case step > 0 && from <= to:
		gaps = (uint64(to) - uint64(from)) / uint64(step)
	case step < 0 && from >= to:
		gaps = (uint64(from) - uint64(to)) / -uint64(step)
	default:
		return 0, true
	}
	return int(gaps) + 1, gaps < longestSeries
}
