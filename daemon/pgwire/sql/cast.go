package sql

import (
	"context"
	"math"
	"strconv"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

func itoa(n int) string { return strconv.Itoa(n) }

// rank orders the types of numbers: the common type of two is the higher one.
func rank(oid pgtype.OID) int {
	switch oid {
	case pgtype.Int2:
		return 1
	case pgtype.Int4:
		return 2
	case pgtype.Int8:
		return 3
	case pgtype.Numeric:
		return 4
	case pgtype.Float4:
		return 5
	case pgtype.Float8:
		return 6
	}
	return 0
}

// common is the type that values of two types are compared in; 0: there is none.
func common(a, b pgtype.OID) pgtype.OID {
	switch {
	case a == b, b == 0, b == pgtype.Unknown && a != 0:
		return a
	case a == 0 || a == pgtype.Unknown:
		return b
	case rank(a) > 0 && rank(b) > 0:
		if rank(a) > rank(b) {
			return a
		}
		return b
	case pgtype.IsInt(a) && pgtype.IsInt(b):
		if a == pgtype.Int8 || b == pgtype.Int8 {
			return pgtype.Int8
		}
		if pgtype.IsReg(a) && !pgtype.IsReg(b) {
			return b
		}
		if pgtype.IsReg(a) {
			return pgtype.Oid
		}
		if rank(a) > 0 {
			return b
		}
		return a
	case pgtype.IsText(a) && pgtype.IsText(b):
		return pgtype.Text
	case isClock(a) && isClock(b):
		return pgtype.TimeTZ
	case isTime(a) && isTime(b):
		if a == pgtype.Timestamptz || b == pgtype.Timestamptz {
			return pgtype.Timestamptz
		}
		return pgtype.Timestamp
	case pgtype.IsArray(a) && pgtype.IsArray(b):
		if a == pgtype.AnyArray {
			return b
		}
		if e := common(pgtype.ElemOf(a), pgtype.ElemOf(b)); e != 0 {
			return arrayType(e)
		}
	case a == pgtype.JSON && b == pgtype.JSONB, a == pgtype.JSONB && b == pgtype.JSON:
		return pgtype.JSONB
	}
	return 0
}

// isClock reports whether a type is a time of day.
func isClock(oid pgtype.OID) bool { return oid == pgtype.Time || oid == pgtype.TimeTZ }

func isTime(oid pgtype.OID) bool {
	return oid == pgtype.Date || oid == pgtype.Timestamp || oid == pgtype.Timestamptz
}

// castable reports whether there is a cast.
func castable(from, to pgtype.OID) bool {
	switch {
	case from == to, pgtype.IsText(from), pgtype.IsText(to), common(from, to) != 0:
		return true
	case pgtype.IsNumber(from) && pgtype.IsNumber(to):
		return true
	case from == pgtype.Bool:
		return to == pgtype.Int4 || to == pgtype.JSONB
	case to == pgtype.Bool:
		return from == pgtype.Int4 || from == pgtype.JSONB
	case to == pgtype.JSON, to == pgtype.JSONB, from == pgtype.JSONB && pgtype.IsNumber(to):
		return true
	case isTime(from) && to == pgtype.Time, from == pgtype.Time && to == pgtype.Interval,
		from == pgtype.Interval && to == pgtype.Time, from == pgtype.Timestamptz && to == pgtype.TimeTZ:
		return true
	case from == pgtype.Void:
		return true
	case pgtype.IsArray(from) && pgtype.IsArray(to):
		return castable(pgtype.ElemOf(from), pgtype.ElemOf(to))
	}
	return false
}

// castValue makes v, which is of type from, one of type to.
func castValue(ctx context.Context, env Env, v value.Value, from, to pgtype.OID) (value.Value, error) {
	if v.IsNone() || from == to {
		return v, nil
	}
	switch {
	case to == pgtype.JSON || to == pgtype.JSONB:
		if pgtype.IsText(from) {
			return pgtype.Parse(to, plain(v), env.Style())
		}
		return v, nil
	case to == pgtype.Name || to == pgtype.Char:
		return pgtype.Parse(to, textOf(env, v, from), env.Style())
	case pgtype.IsText(to):
		return value.Str(textOf(env, v, from)), nil
	case pgtype.IsReg(to) && pgtype.IsText(from):
		if n, err := pgtype.Parse(pgtype.Oid, v.Str(), nil); err == nil {
			return n, nil
		}
		id, err := env.Object(to, v.Str())
		return value.Int(id), err
	case pgtype.IsText(from):
		return pgtype.Parse(to, plain(v), env.Style())
	case pgtype.IsNumber(to):
		return castNumber(v, to)
	case pgtype.IsArray(to) && pgtype.IsArray(from):
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			var err error
			if e.Kind() == value.KindArray { // of an array with more dimensions
				if out[i], err = castValue(ctx, env, e, from, to); err != nil {
					return value.None, err
				}
				continue
			}
			if out[i], err = castValue(ctx, env, e, pgtype.ElemOf(from), pgtype.ElemOf(to)); err != nil {
				return value.None, err
			}
		}
		return value.ArrayOf(out), nil
	case to == pgtype.Bool && v.Kind() == value.KindInt:
		return value.Bool(v.Int() != 0), nil
	case isTime(to) && v.Kind() == value.KindDatetime:
		return castTime(v.Datetime(), from, to, env.Style()), nil
	case isClock(from) && isClock(to), from == pgtype.Timestamptz && to == pgtype.TimeTZ:
		return castClock(v, from, to, env.Style())
	case from == pgtype.Interval && to == pgtype.Time:
		return clockMoved(value.DurationOf(value.Duration{}), v, false)
	case to == pgtype.Time && v.Kind() == value.KindDatetime:
		d := castTime(v.Datetime(), from, pgtype.Timestamp, env.Style()).Datetime()
		day := int64(86400)
		return value.DurationOf(value.Duration{Secs: uint64(((d.Secs % day) + day) % day), Nanos: d.Nanos}), nil
	}
	return v, nil
}

// plain is a text without quotes, and the form of the language of anything else.
func plain(v value.Value) string {
	if v.Kind() == value.KindString {
		return v.Str()
	}
	return v.Text()
}

// textOf is v as a text; a bool is a whole word.
func textOf(env Env, v value.Value, oid pgtype.OID) string {
	switch {
	case v.Kind() == value.KindString:
		return v.Str()
	case v.Kind() == value.KindBool && oid == pgtype.Bool:
		return strconv.FormatBool(v.Bool())
	case pgtype.IsReg(oid):
		return env.ObjectName(oid, v.Int())
	}
	return string(pgtype.AppendText(nil, oid, v, env.Style()))
}

var intRange = map[pgtype.OID][2]int64{pgtype.Int2: {math.MinInt16, math.MaxInt16}, pgtype.Int4: {math.MinInt32,
	math.MaxInt32},
	pgtype.Int8: {math.MinInt64, math.MaxInt64}, pgtype.Oid: {0, math.MaxUint32}}

func outOfRange(oid pgtype.OID) error {
	return sqlstate.New(sqlstate.OutOfRange, "%s out of range", pgtype.Format(oid))
}

func castNumber(v value.Value, to pgtype.OID) (value.Value, error) {
	switch v.Kind() {
	case value.KindBool:
		if v.Bool() {
			return value.Int(1), nil
		}
		return value.Int(0), nil
	case value.KindInt, value.KindFloat, value.KindDecimal:
	default:
		return value.None, sqlstate.New(sqlstate.CannotCoerce, "cannot cast %s to %s", v.Kind(), pgtype.Format(to))
	}
	switch to {
	case pgtype.Float4, pgtype.Float8:
		return value.Float(v.AsFloat()), nil
	case pgtype.Numeric:
		if v.Kind() == value.KindInt {
			return value.DecimalOf(decimal.FromInt(v.Int())), nil
		}
		if v.Kind() == value.KindFloat {
			return pgtype.Parse(pgtype.Numeric, strconv.FormatFloat(v.Float(), 'g', 15, 64), nil)
		}
		return v, nil
	}
	n, ok := wholeOf(v)
	limits, known := intRange[to]
	if !known {
		limits = intRange[pgtype.Oid]
	}
	if !ok || n < limits[0] || n > limits[1] {
		return value.None, outOfRange(to)
	}
	return value.Int(n), nil
}

// wholeOf is a number rounded: floats to the even one, decimals away from zero.
func wholeOf(v value.Value) (int64, bool) {
	switch v.Kind() {
	case value.KindInt:
		return v.Int(), true
	case value.KindFloat:
		f := math.RoundToEven(v.Float())
		return int64(f), !math.IsNaN(f) && f >= math.MinInt64 && f < math.MaxInt64
	}
	d := v.Decimal()
	half, _ := decimal.Parse("0.5")
	if d.Sign() < 0 {
		half = half.Negate()
	}
	if r, ok := d.Add(half); ok {
		return r.Trunc().Int()
	}
	return 0, false
}

// castTime makes a date of a timestamp, and takes the zone of the session off or puts it on.
func castTime(d value.Datetime, from, to pgtype.OID, st *pgtype.Style) value.Value {
	offset := func(local bool) int64 {
		if st == nil || st.Zone == nil {
			return 0
		}
		t := d.Civil()
		if local {
			return zoneSeconds(st.Zone, t)
		}
		return zoneSecondsAt(st.Zone, d.Secs)
	}
	switch {
	case from == pgtype.Timestamptz && to != pgtype.Timestamptz:
		d.Secs += offset(false)
	case from != pgtype.Timestamptz && to == pgtype.Timestamptz:
		d.Secs -= offset(true)
	}
	if to == pgtype.Date {
		day := int64(86400)
		d = value.Datetime{Secs: d.Secs - ((d.Secs%day)+day)%day}
	}
	return value.DatetimeOf(d)
}

func asInt(v value.Value) int64 {
	n, _ := wholeOfAny(v)
	return n
}

func wholeOfAny(v value.Value) (int64, bool) {
	switch v.Kind() {
	case value.KindInt, value.KindFloat, value.KindDecimal:
		return wholeOf(v)
	}
	return 0, false
}

// order compares two values of a type; NULL does not come.
func order(oid pgtype.OID, a, b value.Value) int {
	switch {
	case a.Kind() == value.KindInt && b.Kind() == value.KindInt:
		x, y := a.Int(), b.Int()
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	case a.Kind() == value.KindFloat || b.Kind() == value.KindFloat:
		x, y := a.AsFloat(), b.AsFloat()
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	case a.Kind() == value.KindArray && b.Kind() == value.KindArray:
		x, y := a.Elems(), b.Elems()
		for i := 0; i < len(x) && i < len(y); i++ {
			switch {
			case x[i].IsNone() && y[i].IsNone():
				continue
			case x[i].IsNone():
				return 1
			case y[i].IsNone():
				return -1
			}
			if c := order(0, x[i], y[i]); c != 0 {
				return c
			}
		}
		return len(x) - len(y)
	case a.Kind() == value.KindClosure || b.Kind() == value.KindClosure:
		return orderIntervals(a, b)
	}
	return value.Compare(a, b)
}

// appendKey appends what tells v from other values: numbers that are equal are the same.
func appendKey(k []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindNone:
		return append(k, 0)
	case value.KindInt:
		return strconv.AppendInt(append(k, 'n'), v.Int(), 10)
	case value.KindFloat:
		if f := v.Float(); f == math.Trunc(f) && math.Abs(f) < 1e15 {
			return strconv.AppendInt(append(k, 'n'), int64(f), 10)
		}
		return strconv.AppendFloat(append(k, 'n'), v.Float(), 'g', -1, 64)
	case value.KindDecimal:
		return append(append(k, 'n'), v.Decimal().Normalize().String()...)
	case value.KindDuration, value.KindClosure:
		if c, ok := pgtype.ClockOf(v); ok {
			return c.Key(k)
		}
		if days, nanos := pgtype.SpanKey(v); pgtype.IsInterval(v) {
			k = strconv.AppendInt(append(k, 'i'), days, 10)
			return strconv.AppendInt(append(k, ':'), nanos, 10)
		}
	case value.KindArray:
		k = append(k, '[')
		for _, e := range v.Elems() {
			k = append(appendKey(k, e), 1)
		}
		return append(k, ']')
	}
	text := v.Text()
	k = strconv.AppendInt(append(k, byte('A'+v.Kind())), int64(len(text)), 10)
	return append(append(k, ':'), text...)
}

func rowKey(row []value.Value) string {
	var k []byte
	for _, v := range row {
		k = append(appendKey(k, v), 2)
	}
	return string(k)
}
