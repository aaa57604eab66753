package sql

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// spansOf are two intervals.
func spansOf(x, y value.Value) (a, b pgtype.Span, err error) {
	if a, err = pgtype.SpanOf(x); err == nil {
		b, err = pgtype.SpanOf(y)
	}
	return a, b, err
}

// addSpans is the sum of two intervals, or their difference.
func addSpans(x, y value.Value, minus bool) (value.Value, error) {
	a, b, err := spansOf(x, y)
	if err != nil {
		return value.None, err
	}
	if minus {
		a, err = a.Sub(b)
	} else {
		a, err = a.Add(b)
	}
	if err != nil {
		return value.None, err
	}
	return a.Value(), nil
}

// scaled is an interval times f, or a part of it.
func scaled(v value.Value, f float64, divide bool) (value.Value, error) {
	s, err := pgtype.SpanOf(v)
	if err != nil {
		return value.None, err
	}
	by := func(part float64) float64 { return part * f }
	if divide {
		if f == 0 {
			return value.None, sqlstate.New(sqlstate.DivisionByZero, "division by zero")
		}
		by = func(part float64) float64 { return part / f }
	}
	if s, err = s.Scale(by); err != nil {
		return value.None, err
	}
	return s.Value(), nil
}

// earliest is the first second of the calendar of PostgreSQL: 4714-11-24 BC, where its Julian days begin.
const earliest = -210_866_803_200

func timestampRange() error { return sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range") }

// moved is a date or timestamp of type oid by an interval later, or earlier: first by its months, then by its days,
// both of the calendar in the zone of the session, then by its time. The last day of a month stands for those that it
// has not.
func moved(oid pgtype.OID, d value.Datetime, v value.Value, earlier bool, st *pgtype.Style) (value.Datetime, error) {
	by, err := pgtype.SpanOf(v)
	if err != nil {
		return d, err
	}
	if earlier {
		if by, err = by.Negate(); err != nil {
			return d, err
		}
	}
	local := func(change func(d value.Datetime) (value.Datetime, bool)) error {
		if oid == pgtype.Timestamptz {
			d = castTime(d, pgtype.Timestamptz, pgtype.Timestamp, st).Datetime()
		}
		var ok bool
		if d, ok = change(d); !ok {
			return timestampRange()
		}
		if oid == pgtype.Timestamptz {
			d = castTime(d, pgtype.Timestamp, pgtype.Timestamptz, st).Datetime()
		}
		return nil
	}
	if by.Months != 0 {
		err = local(func(d value.Datetime) (value.Datetime, bool) { return monthsLater(d, int64(by.Months)) })
	}
	if by.Days != 0 && err == nil {
		err = local(func(d value.Datetime) (value.Datetime, bool) { return later(d, int64(by.Days)*secondsPerDay, 0) })
	}
	if err != nil {
		return d, err
	}
	d, ok := later(d, by.Micros/microsPerSecond, by.Micros%microsPerSecond)
	if !ok || d.Secs < earliest {
		return d, timestampRange()
	}
	return d, nil
}

// later is d and so many seconds and microseconds; ok is false where that is no time of the calendar.
func later(d value.Datetime, secs, micros int64) (_ value.Datetime, ok bool) {
	nanos := int64(d.Nanos) + micros*1000
	switch {
	case nanos < 0:
		nanos, secs = nanos+1_000_000_000, secs-1
	case nanos >= 1_000_000_000:
		nanos, secs = nanos-1_000_000_000, secs+1
	}
	d.Nanos = uint32(nanos)
	if secs < 0 {
		return d.Sub(value.Duration{Secs: uint64(-secs)})
	}
	return d.Add(value.Duration{Secs: uint64(secs)})
}

// monthsLater is d so many months later.
func monthsLater(d value.Datetime, n int64) (_ value.Datetime, ok bool) {
	c := d.Civil()
	months := int64(c.Year)*12 + int64(c.Month-1) + n
	c.Year, c.Month = int(months/12), int(months%12)+1
	if c.Month < 1 {
		c.Year, c.Month = c.Year-1, c.Month+12
	}
	c.Day = min(c.Day, daysIn(c.Year, c.Month))
	return c.Datetime()
}

// daysIn is how many days a month has.
func daysIn(year, month int) int {
	return time.Date(year, time.Month(month+1), 0, 0, 0, 0, 0, time.UTC).Day()
}

// clockMoved is a time of day by the time of an interval later, or earlier, beyond midnight as well.
func clockMoved(t, v value.Value, earlier bool) (value.Value, error) {
	at, by, err := spansOf(t, v)
	if err != nil {
		return value.None, err
	}
	micros := by.Micros % pgtype.MicrosPerDay
	if earlier {
		micros = -micros
	}
	micros = (at.Micros%pgtype.MicrosPerDay + micros + 2*pgtype.MicrosPerDay) % pgtype.MicrosPerDay
	return pgtype.Span{Micros: micros}.Value(), nil
}

// between is the interval from one timestamp to another, in days of 24 hours.
func fromTo(from, to value.Datetime) (value.Value, error) {
	const most = math.MaxInt64/microsPerSecond - 1
	secs := to.Secs - from.Secs
	if secs > most || secs < -most {
		return value.None, pgtype.IntervalOverflow()
	}
	s, err := pgtype.Span{Micros: secs*microsPerSecond + (int64(to.Nanos/1000) - int64(from.Nanos/1000))}.JustifyHours()
	return s.Value(), err
}

// timeArithmetic is that of times and intervals.
func (b *binder) timeArithmetic(op string, l, r *bound) (*bound, error) {
	var err error
	if l.oid == pgtype.Unknown {
		want := pgtype.Interval
		switch op {
		case "-":
			want = r.oid
		case "*":
			want = pgtype.Float8
		}
		l, err = b.coerce(l, want)
	}
	if err == nil && r.oid == pgtype.Unknown {
		want := pgtype.Interval
		switch {
		case op == "*" || op == "/":
			want = pgtype.Float8
		case op == "-" && isTime(l.oid) && r.lit != nil && !strings.Contains(plain(*r.lit), " day") &&
			strings.Contains(plain(*r.lit), "-"):
			want = l.oid
		}
		r, err = b.coerce(r, want)
	}
	if err != nil {
		return nil, err
	}
	interval := func(x *bound) bool { return x.oid == pgtype.Interval || x.oid == pgtype.Time }
	sums, minus := op == "+" || op == "-", op == "-"
	switch {
	case isTime(l.oid) && interval(r) && sums:
		return b.shift(op, l, r), nil
	case interval(l) && isTime(r.oid) && op == "+":
		return b.shift(op, r, l), nil
	case l.oid == pgtype.Date && r.oid == pgtype.Date && minus:
		return strict(pgtype.Int4, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			return value.Int((x.Datetime().Secs - y.Datetime().Secs) / secondsPerDay), nil
		}), nil
	case l.oid == pgtype.Date && pgtype.IsInt(r.oid) && sums:
		return daysLater(op, l, r), nil
	case pgtype.IsInt(l.oid) && r.oid == pgtype.Date && op == "+":
		return daysLater(op, r, l), nil
	case isTime(l.oid) && isTime(r.oid) && minus:
		if l, r, _, err = b.unify(l, r); err != nil {
			return nil, err
		}
		return strict(pgtype.Interval, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			return fromTo(y.Datetime(), x.Datetime())
		}), nil
	case l.oid == pgtype.Time && r.oid == pgtype.Interval && sums:
		return strict(pgtype.Time, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			return clockMoved(x, y, minus)
		}), nil
	case l.oid == pgtype.Interval && r.oid == pgtype.Time && op == "+":
		return strict(pgtype.Time, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			return clockMoved(y, x, false)
		}), nil
	case l.oid == pgtype.TimeTZ && r.oid == pgtype.Interval && sums:
		return zonedMoved(op, l, r), nil
	case l.oid == pgtype.Interval && r.oid == pgtype.TimeTZ && op == "+":
		return zonedMoved(op, r, l), nil
	case l.oid == pgtype.Date && r.oid == pgtype.TimeTZ && op == "+":
		return zonedOn(op, l, r), nil
	case l.oid == pgtype.TimeTZ && r.oid == pgtype.Date && op == "+":
		return zonedOn(op, r, l), nil
	case l.oid == pgtype.Time && r.oid == pgtype.Time && op == "+":
		return nil, sqlstate.New(sqlstate.AmbiguousFunction, "operator is not unique: %s + %s", pgtype.Format(l.oid),
			pgtype.Format(r.oid))
	case interval(l) && interval(r) && sums:
		return strict(pgtype.Interval, op, l, r, func(_ *scope, x, y value.Value) (value.Value, error) {
			return addSpans(x, y, minus)
		}), nil
	case interval(l) && pgtype.IsNumber(r.oid) && (op == "*" || op == "/"):
		return scale(op, l, r), nil
	case pgtype.IsNumber(l.oid) && interval(r) && op == "*":
		return scale(op, r, l), nil
	}
	return nil, noOperator(op, l, r)
}

// daysLater is a date so many days later, or earlier.
func daysLater(op string, date, days *bound) *bound {
	return strict(pgtype.Date, op, date, days, func(_ *scope, x, y value.Value) (value.Value, error) {
		n := y.Int()
		if op == "-" {
			n = -n
		}
		d, ok := x.Datetime(), n == int64(int32(n))
		if ok {
			d, ok = later(d, n*secondsPerDay, 0)
		}
		if !ok {
			return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "date out of range")
		}
		return value.DatetimeOf(d), nil
	})
}

func (b *binder) shift(op string, at, by *bound) *bound {
	oid := at.oid
	if oid == pgtype.Date {
		oid = pgtype.Timestamp
	}
	return strict(oid, op, at, by, func(s *scope, x, y value.Value) (value.Value, error) {
		d, err := moved(oid, x.Datetime(), y, op == "-", s.rt.env.Style())
		return value.DatetimeOf(d), err
	})
}

func scale(op string, d, by *bound) *bound {
	return strict(pgtype.Interval, op, d, by, func(_ *scope, x, y value.Value) (value.Value, error) {
		return scaled(x, y.AsFloat(), op == "/")
	})
}

// negated is an interval with the opposite signs.
func negatedInterval(e *bound) *bound {
	out := &bound{oid: pgtype.Interval, key: keyed("-", e.key), name: "?column?"}
	out.eval = func(s *scope) (value.Value, error) {
		v, err := e.eval(s)
		if err != nil || v.IsNone() {
			return value.None, err
		}
		by, err := pgtype.SpanOf(v)
		if err == nil {
			by, err = by.Negate()
		}
		if err != nil {
			return value.None, err
		}
		return by.Value(), nil
	}
	return out.uses(e)
}

// timeSeries is generate_series of timestamps.
func timeSeries(c *Call) (value.Value, error) {
	if len(c.Args) < 3 || !pgtype.IsInterval(c.Args[2]) {
		return value.None, sqlstate.New(sqlstate.UndefinedFunction, "a series of times needs a step that is an interval")
	}
	days, nanos := pgtype.SpanKey(c.Args[2])
	if days == 0 && nanos == 0 {
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "step size cannot equal zero")
	}
	end, dir := c.Args[1].Datetime(), 1
	if days < 0 {
		dir = -1
	}
	var out []value.Value
	for at := c.Args[0].Datetime(); at.Cmp(end)*dir <= 0; {
		if len(out) >= longestSeries/10 {
			return value.None, sqlstate.New(sqlstate.TooMuch, "a series cannot have more than %d rows",
				longestSeries/10)
		}
		if len(out)&255 == 0 {
			if err := c.Ctx.Err(); err != nil {
				return value.None, err
			}
		}
		out = append(out, value.DatetimeOf(at))
		next, err := moved(c.OIDs[0], at, c.Args[2], false, c.Env.Style())
		if err != nil {
			return value.None, err
		}
		at = next
	}
	return value.ArrayOf(out), nil
}

// age is how far two timestamps are from one another, in years, months and days of the calendar; that of one is up to
// the beginning of this day.
func age(c *Call) (value.Value, error) {
	if c.Args[0].Kind() == value.KindInt {
		return value.Int(1), nil
	}
	st := c.Env.Style()
	at, oid := c.Args[0], c.OIDs[0]
	var from value.Value
	if len(c.Args) > 1 {
		from = c.Args[1]
	} else {
		today, err := pgtype.Parse(pgtype.Date, "now", st)
		if err != nil {
			return value.None, err
		}
		at, from = castTime(today.Datetime(), pgtype.Date, oid, st), at
	}
	if at.Kind() != value.KindDatetime || from.Kind() != value.KindDatetime {
		return value.None, sqlstate.New(sqlstate.UndefinedFunction, "age needs timestamps")
	}
	a, _ := civil(c, at, oid)
	b, _ := civil(c, from, oid)
	return ageOf(a, b, at.Datetime().Cmp(from.Datetime()) < 0)
}

// ageOf is the interval from b to a. negative: a is the earlier one.
func ageOf(a, b value.Civil, negative bool) (value.Value, error) {
	of := b // whose month lends days
	sign := int64(1)
	if negative {
		a, b, of, sign = b, a, a, -1
	}
	micros := int64(a.Nanos/1000) - int64(b.Nanos/1000) +
		(int64(a.Hour-b.Hour)*3600+int64(a.Minute-b.Minute)*60+int64(a.Second-b.Second))*microsPerSecond
	days, months := a.Day-b.Day, (a.Year-b.Year)*12+a.Month-b.Month
	if micros < 0 {
		micros, days = micros+pgtype.MicrosPerDay, days-1
	}
	for ; days < 0; months-- {
		days += daysIn(of.Year, of.Month)
	}
	out := pgtype.Span{Months: int32(sign) * int32(months), Days: int32(sign) * int32(days), Micros: sign * micros}
	return out.Value(), nil
}

// extractInterval is a part of an interval.
func extractInterval(unit string, v value.Value) (value.Value, error) {
	s, err := pgtype.SpanOf(v)
	if err != nil {
		return value.None, err
	}
	years, seconds := int64(s.Months/12), s.Micros%(60*microsPerSecond)
	whole := map[string]int64{"microseconds": seconds, "minute": s.Micros / (60 * microsPerSecond) % 60,
		"hour": s.Micros / (3600 * microsPerSecond), "day": int64(s.Days), "month": int64(s.Months % 12),
		"quarter": int64(s.Months%12)/3 + 1, "year": years, "decade": years / 10, "century": years / 100,
		"millennium": years / 1000}
	if n, ok := whole[unit]; ok {
		return value.DecimalOf(decimal.FromInt(n)), nil
	}
	parts := decimal.FromInt(microsPerSecond)
	n, more := decimal.FromInt(seconds), decimal.Decimal{}
	switch unit {
	case "second":
	case "milliseconds":
		parts = decimal.FromInt(1000)
	case "epoch":
		n = decimal.FromInt(s.Micros)
		const quarterDay = secondsPerDay / 4
		more = decimal.FromInt((years*1461 + int64(s.Months%12)*120 + int64(s.Days)*4) * quarterDay)
	default:
		return value.None, noUnit(unit, pgtype.Interval)
	}
	n, ok := n.Div(parts)
	if ok {
		n, ok = n.Add(more)
	}
	if !ok {
		return value.None, outOfRange(pgtype.Numeric)
	}
	return value.DecimalOf(n), nil
}

// truncInterval is an interval without what is smaller than a unit.
func truncInterval(unit string, v value.Value) (value.Value, error) {
	s, err := pgtype.SpanOf(v)
	if err != nil {
		return value.None, err
	}
	months := map[string]int32{"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200,
		"millennium": 12000}
	micros := map[string]int64{"microseconds": 1, "milliseconds": 1000, "second": microsPerSecond,
		"minute": 60 * microsPerSecond, "hour": 3600 * microsPerSecond}
	switch per := months[unit]; {
	case per > 0:
		return pgtype.Span{Months: s.Months - s.Months%per}.Value(), nil
	case unit == "day":
		s.Micros = 0
	case micros[unit] > 0:
		s.Micros -= s.Micros % micros[unit]
	default:
		return value.None, noUnit(unit, pgtype.Interval)
	}
	return s.Value(), nil
}

// orderIntervals compares intervals, or times of day with a zone: a month has 30 days there, and a day 24 hours.
func orderIntervals(a, b value.Value) int {
	if c, ok := pgtype.ClockOf(a); ok {
		if d, ok := pgtype.ClockOf(b); ok {
			return c.Compare(d)
		}
	}
	if !pgtype.IsInterval(a) || !pgtype.IsInterval(b) {
		return value.Compare(a, b)
	}
	x, n := pgtype.SpanKey(a)
	y, m := pgtype.SpanKey(b)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(n, m))
}
