package sql

import (
	"math"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// limit is a place in an order by one key.
type limit struct {
	v      value.Value
	beyond int // -1: before all values in the order of their type, 1: behind them, 0: v
}

// compare is where v is to the limit, in the order of the type: -1 before it, 1 behind it.
func (l *limit) compare(oid pgtype.OID, v value.Value) int {
	if l.beyond != 0 {
		return -l.beyond
	}
	return order(oid, v, l.v)
}

// badSize refuses an offset of RANGE that is negative or not a number.
func badSize(v value.Value) error {
	bad := false
	switch v.Kind() {
	case value.KindDuration, value.KindClosure:
		bad = pgtype.Negative(v)
	case value.KindInt:
		bad = v.Int() < 0
	case value.KindFloat:
		bad = v.Float() < 0 || math.IsNaN(v.Float())
	case value.KindDecimal:
		bad = v.Decimal().Sign() < 0
	}
	if bad {
		return sqlstate.New(sqlstate.InvalidFrameSize, "invalid preceding or following size in window function")
	}
	return nil
}

// limitOf is the limit at a distance of by from base, which is of type oid: above it where up is set, else below.
// Where the distance from one infinity to the other leaves it open, end says which: 1 the greatest value, -1 the
// least.
func limitOf(st *pgtype.Style, oid pgtype.OID, base, by value.Value, up bool, end int) (l limit, err error) {
	op, beyond := "-", -1
	if up {
		op, beyond = "+", 1
	}
	ok := true
	switch {
	case pgtype.IsInt(oid):
		l.v, err = calculate(op, pgtype.Int8, base, by)
		ok = err == nil
	case oid == pgtype.Numeric:
		l.v, err = calculateDecimal(op, base, by)
		ok = err == nil
	case oid == pgtype.Float8 || oid == pgtype.Float4:
		f := by.AsFloat()
		if !up {
			f = -f
		}
		if f += base.AsFloat(); math.IsNaN(f) && !math.IsNaN(base.AsFloat()) {
			f = math.Inf(end)
		}
		l.v = value.Float(f)
	case oid == pgtype.Time: // the days of the offset do not count, and no time of day is beyond midnight
		var a, b pgtype.Span
		if a, b, err = spansOf(base, by); err != nil {
			return l, err
		}
		if b = (pgtype.Span{Micros: b.Micros}); b.Micros < 0 {
			return l, badSize(value.Int(-1))
		}
		l.v, err = addSpans(a.Value(), b.Value(), !up)
		ok = err == nil
	case oid == pgtype.Interval:
		l.v, err = addSpans(base, by, !up)
		ok = err == nil
	default:
		var d value.Datetime
		d, err = moved(oid, base.Datetime(), by, !up, st)
		l.v, ok = value.DatetimeOf(d), err == nil
	}
	if !ok {
		l = limit{beyond: beyond}
	}
	return l, nil
}
