package sql

import (
	"math"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

const (
	secondsPerDay   = 86400
	microsPerSecond = 1_000_000
)

// makeFunctions make times and intervals of numbers.
func makeFunctions() map[string]*Function {
	whole, float := pgtype.Int4, pgtype.Float8
	makes := func(oid pgtype.OID, least int, eval func(c *Call) (value.Value, error), names []string,
		args ...pgtype.OID) *Function {
		fn := Returns(oid, least, len(args), eval, args...)
		fn.Names, fn.Typed = names, true
		return fn
	}
	interval := func(eval func(c *Call) (value.Value, error)) *Function {
		return makes(pgtype.Interval, 1, eval, nil, pgtype.Interval)
	}
	stamp := []string{"year", "month", "mday", "hour", "min", "sec"}
	return map[string]*Function{
		"make_interval": makes(pgtype.Interval, 0, makeInterval,
			[]string{"years", "months", "weeks", "days", "hours", "mins", "secs"},
			whole, whole, whole, whole, whole, whole, float),
		"make_date":      makes(pgtype.Date, 3, makeDate, []string{"year", "month", "day"}, whole, whole, whole),
		"make_time":      makes(pgtype.Time, 3, makeTime, []string{"hour", "min", "sec"}, whole, whole, float),
		"make_timestamp": makes(pgtype.Timestamp, 6, makeTimestamp, stamp, whole, whole, whole, whole, whole, float),
		"make_timestamptz": makes(pgtype.Timestamptz, 6, makeTimestamptz, append(stamp[:6:6], "timezone"),
			whole, whole, whole, whole, whole, float, pgtype.Text),
		"justify_hours":    interval(justified(pgtype.Span.JustifyHours)),
		"justify_days":     interval(justified(pgtype.Span.JustifyDays)),
		"justify_interval": interval(justified(pgtype.Span.Justify)),
	}
}

// justified computes an interval by f.
func justified(f func(pgtype.Span) (pgtype.Span, error)) func(c *Call) (value.Value, error) {
	return func(c *Call) (value.Value, error) {
		s, err := pgtype.SpanOf(c.Args[0])
		if err == nil {
			s, err = f(s)
		}
		if err != nil {
			return value.None, err
		}
		return s.Value(), nil
	}
}

func makeInterval(c *Call) (value.Value, error) {
	var n [6]int64
	for i := range min(len(n), len(c.Args)) {
		if n[i] = c.Int(i); n[i] != int64(int32(n[i])) {
			return value.None, outOfRange(pgtype.Int4)
		}
	}
	micros := 0.0
	if len(c.Args) > len(n) {
		micros = math.RoundToEven(c.Args[len(n)].AsFloat() * microsPerSecond)
	}
	months, days := n[0]*12+n[1], n[2]*7+n[3]
	most := float64(math.MaxInt64 / 2) // hours and minutes take less than that
	if months != int64(int32(months)) || days != int64(int32(days)) || !(math.Abs(micros) < most) {
		return value.None, pgtype.IntervalOverflow()
	}
	total := (n[4]*3600+n[5]*60)*microsPerSecond + int64(micros)
	return pgtype.Span{Months: int32(months), Days: int32(days), Micros: total}.Value(), nil
}

// carried is a number of seconds and one of microseconds, with less than a second of those.
func carried(secs, micros int64) (_, _ int64) {
	secs += micros / microsPerSecond
	if micros %= microsPerSecond; micros < 0 {
		micros += microsPerSecond
		secs--
	}
	return secs, micros
}

// dateOf is the date of the first three arguments. A year below zero is one before Christ.
func dateOf(c *Call) (value.Datetime, error) {
	year, month, day := c.Int(0), c.Int(1), c.Int(2)
	bad := sqlstate.New(sqlstate.DatetimeOverflow, "date field value out of range: %d-%02d-%02d", year, month, day)
	const most = 1 << 20
	if year == 0 || max(year, -year, month, day) > most || min(month, day) < 1 {
		return value.Datetime{}, bad
	}
	if year < 0 {
		year++
	}
	d, ok := value.Civil{Year: int(year), Month: int(month), Day: int(day)}.Datetime()
	if !ok {
		return d, bad
	}
	return d, nil
}

// clockOf is the time of day of three arguments from i on, in seconds and microseconds.
func clockOf(c *Call, i int) (secs, micros int64, err error) {
	hour, minute, sec := c.Int(i), c.Int(i+1), c.Args[i+2].AsFloat()
	bad := sqlstate.New(sqlstate.DatetimeOverflow, "time field value out of range: %d:%02d:%02g", hour, minute, sec)
	if hour < 0 || hour > 24 || minute < 0 || minute > 59 || math.IsNaN(sec) || math.Abs(sec) > 61 {
		return 0, 0, bad
	}
	micros = int64(math.RoundToEven(sec * microsPerSecond))
	if micros < 0 || micros > 60*microsPerSecond {
		return 0, 0, bad
	}
	secs, micros = carried(hour*3600+minute*60, micros)
	if secs > secondsPerDay || secs == secondsPerDay && micros > 0 {
		return 0, 0, bad
	}
	return secs, micros, nil
}

func makeDate(c *Call) (value.Value, error) {
	d, err := dateOf(c)
	if err != nil {
		return value.None, err
	}
	return value.DatetimeOf(d), nil
}

func makeTime(c *Call) (value.Value, error) {
	secs, micros, err := clockOf(c, 0)
	if err != nil {
		return value.None, err
	}
	return value.DurationOf(value.Duration{Secs: uint64(secs), Nanos: uint32(micros) * 1000}), nil
}

func makeTimestamp(c *Call) (value.Value, error) {
	d, err := dateOf(c)
	if err != nil {
		return value.None, err
	}
	secs, micros, err := clockOf(c, 3)
	if err != nil {
		return value.None, err
	}
	d.Secs += secs
	d.Nanos = uint32(micros) * 1000
	return value.DatetimeOf(d), nil
}

func makeTimestamptz(c *Call) (value.Value, error) {
	v, err := makeTimestamp(c)
	if err != nil {
		return value.None, err
	}
	st := c.Env.Style()
	if len(c.Args) > 6 {
		name := c.Str(6)
		if name != "" && name[0] >= '0' && name[0] <= '9' {
			return value.None, sqlstate.New(sqlstate.InvalidParameter,
				"invalid input syntax for type numeric time zone: %q", name).
				Hinted(`Numeric time zones must have "-" or "+" as first character.`)
		}
		zone, err := pgtype.LoadZone(name)
		if err != nil {
			return value.None, sqlstate.New(sqlstate.InvalidParameter, "time zone %q not recognized", name)
		}
		st = &pgtype.Style{Zone: zone}
	}
	return castTime(v.Datetime(), pgtype.Timestamp, pgtype.Timestamptz, st), nil
}

// dateBin binds date_bin: the start of the stretch of time that a time lies in.
func (b *binder) dateBin(c *call, ns *names) (*bound, error) {
	args, oids, err := b.args(c, &Function{Args: []pgtype.OID{pgtype.Interval, pgtype.Unknown}}, ns)
	if err != nil {
		return nil, err
	}
	none := noFunction(c, oids)
	if len(args) != 3 || oids[0] != pgtype.Interval {
		return nil, none
	}
	oid := common(oids[1], oids[2])
	if oid == pgtype.Unknown || oid == pgtype.Date {
		oid = pgtype.Timestamptz
	}
	if !isTime(oid) {
		return nil, none
	}
	for i := 1; i < 3; i++ {
		if args[i], err = b.coerce(args[i], oid); err != nil {
			return nil, err
		}
	}
	out := &bound{oid: oid, name: c.name, key: keyOf(c, args)}
	out.eval = func(s *scope) (value.Value, error) {
		vs, err := evalAll(args, s)
		if err != nil || vs[0].IsNone() || vs[1].IsNone() || vs[2].IsNone() {
			return value.None, err
		}
		stride, err := pgtype.SpanOf(vs[0])
		if err != nil {
			return value.None, err
		}
		return binned(stride, vs[1].Datetime(), vs[2].Datetime())
	}
	return out.uses(args...), nil
}

// binned is the start of the stretch that at lies in, where one of them starts at origin.
func binned(stride pgtype.Span, at, origin value.Datetime) (value.Value, error) {
	if stride.Months != 0 {
		return value.None, sqlstate.New(sqlstate.FeatureNotSupported,
			"timestamps cannot be binned into intervals containing months or years")
	}
	const longest = math.MaxInt64 / 2 // the difference of two remainders fits as well
	if whole := float64(stride.Days)*pgtype.MicrosPerDay + float64(stride.Micros); math.Abs(whole) >= longest {
		return value.None, pgtype.IntervalOverflow()
	}
	step := int64(stride.Days)*pgtype.MicrosPerDay + stride.Micros
	if step <= 0 {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "stride must be greater than zero")
	}
	micros := func(d value.Datetime) int64 { return d.Secs*microsPerSecond + int64(d.Nanos/1000) }
	off := (micros(at)%step - micros(origin)%step) % step
	if off < 0 {
		off += step
	}
	secs, rest := carried(at.Secs-off/microsPerSecond, int64(at.Nanos/1000)-off%microsPerSecond)
	d := value.Datetime{Secs: secs, Nanos: uint32(rest) * 1000}
	if _, ok := d.Civil().Datetime(); !ok {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")
	}
	return value.DatetimeOf(d), nil
}
