package fn

import (
	"math"
	"strconv"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// The range of datetimes in seconds since 1970: the years -262143 to 262142.
const (
	minTime = -8334601228800
	maxTime = 8210266876799
)

func timeFuncs() []entry {
	part := func(name, doc string, f func(value.Datetime) int64) entry {
		return entry{sig: "steady time::" + name + "(at?: datetime) -> int", impl: timePart(f), doc: doc}
	}
	set := func(name, doc string, impl Impl) entry {
		return entry{sig: "time::set_" + name + "(at: datetime, " + name + ": number) -> datetime", impl: impl,
			doc: doc}
	}
	from := func(name, unit string, perSecond int64) entry {
		return entry{sig: "time::from_" + name + "(n: int) -> datetime", impl: timeFrom(unit, perSecond), on: noMethod,
			doc: "The datetime n " + unit + " after the start of 1970."}
	}
	return methodsOn(kindSet(value.KindDatetime), []entry{
		{sig: "time::ceil(at: datetime, step: duration) -> datetime", impl: timeRounding(timeUp),
			doc: "The next multiple of a duration since 1970, or the datetime itself."},
		{sig: "time::floor(at: datetime, step: duration) -> datetime", impl: timeRounding(timeDown),
			doc: "The last multiple of a duration since 1970, or the datetime itself."},
		{sig: "time::round(at: datetime, step: duration) -> datetime", impl: timeRounding(timeNearest),
			doc: "The nearest multiple of a duration since 1970, halves up."},
		{sig: "time::format(at: datetime, format: string) -> string", impl: timeFormat,
			doc: "The datetime in a format with % specifiers, in UTC."},
		{sig: "time::group(at: datetime, unit: string) -> datetime", impl: timeGroup,
			on:  kindSet(value.KindDatetime),
			doc: "The start of the year, month, day, hour, minute or second."},
		{sig: "time::max(times: array<datetime>) -> option<datetime>", impl: arrayMax, on: noMethod, doc: "The latest, or NONE."},
		{sig: "time::min(times: array<datetime>) -> option<datetime>", impl: arrayMin, on: noMethod, doc: "The earliest, or NONE."},
		{sig: "steady time::now() -> datetime", impl: timeNow, on: noMethod, doc: "The present time."},
		{sig: "steady time::timezone() -> string", impl: timeZone, on: noMethod,
			doc: "The offset of local time from UTC."},
		{sig: "steady time::is_leap_year(at?: datetime) -> bool", impl: timeIsLeapYear, doc: "Whether the year has 366 days."},
		part("day", "The day of the month.", func(d value.Datetime) int64 { return int64(calendar(d).Day()) }),
		part("hour", "The hour.", func(d value.Datetime) int64 { return int64(calendar(d).Hour()) }),
		part("micros", "Microseconds since 1970.",
			func(d value.Datetime) int64 { return d.Secs*1e6 + int64(d.Nanos)/1e3 }),
		part("millis", "Milliseconds since 1970.",
			func(d value.Datetime) int64 { return d.Secs*1e3 + int64(d.Nanos)/1e6 }),
		part("minute", "The minute.", func(d value.Datetime) int64 { return int64(calendar(d).Minute()) }),
		part("month", "The month.", func(d value.Datetime) int64 { return int64(calendar(d).Month()) }),
		{sig: "steady time::nano(at?: datetime) -> int", impl: timeNano,
			doc: "Nanoseconds since 1970; an error where they do not fit into an int."},
		part("second", "The second.", func(d value.Datetime) int64 { return int64(calendar(d).Second()) }),
		part("unix", "Whole seconds since 1970.", func(d value.Datetime) int64 { return d.Secs }),
		part("wday", "The day of the week from 1 for Monday.",
			func(d value.Datetime) int64 { return isoWeekday(calendar(d)) }),
		part("week", "The ISO week of the year.",
			func(d value.Datetime) int64 { _, w := calendar(d).ISOWeek(); return int64(w) }),
		part("yday", "The day of the year.", func(d value.Datetime) int64 { return int64(calendar(d).YearDay()) }),
		part("year", "The year.", func(d value.Datetime) int64 { return int64(calendar(d).Year()) }),
		from("nanos", "nanoseconds", 1e9),
		from("micros", "microseconds", 1e6),
		from("millis", "milliseconds", 1e3),
		from("secs", "seconds", 1),
		from("unix", "seconds", 1),
		{sig: "time::from_ulid(ulid: string) -> datetime", impl: timeFromULID, on: noMethod,
			doc: "The time inside a ULID."},
		{sig: "time::from_uuid(uuid: uuid) -> datetime", impl: timeFromUUID, on: noMethod,
			doc: "The time inside a UUID of version 1, 6 or 7."},
		set("year", "With another year.", timeSet(setYear)),
		set("month", "With another month.", timeSet(setMonth)),
		set("day", "With another day of the month.", timeSet(setDay)),
		set("hour", "With another hour.", timeSet(setHour)),
		set("minute", "With another minute.", timeSet(setMinute)),
		set("second", "With another second.", timeSet(setSecond)),
		set("nanosecond", "With another fraction of a second.", timeSet(setNanosecond)),
	})
}

// calendar is d for the standard library, which knows the same calendar.
func calendar(d value.Datetime) time.Time { return time.Unix(d.Secs, int64(d.Nanos)).UTC() }

func datetimeOf(t time.Time) value.Datetime {
	return value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())}
}

func inTime(secs int64) bool { return secs >= minTime && secs <= maxTime }

// unixNanos is d in nanoseconds since 1970; false and 0 where 64 bits do not hold them.
func unixNanos(d value.Datetime) (int64, bool) {
	const most = math.MaxInt64 / 1000000000
	if d.Secs > most || d.Secs < -most-1 {
		return 0, false
	}
	if d.Secs < 0 {
		// Counted from the next second up, so that the least int64 does not overflow on the way.
		n := (d.Secs + 1) * 1e9
		rest := int64(d.Nanos) - 1e9
		if n < math.MinInt64-rest {
			return 0, false
		}
		return n + rest, true
	}
	n := d.Secs * 1e9
	if n > math.MaxInt64-int64(d.Nanos) {
		return 0, false
	}
	return n + int64(d.Nanos), true
}

func fromUnixNanos(n int64) value.Datetime {
	secs, nanos := n/1e9, n%1e9
	if nanos < 0 {
		secs, nanos = secs-1, nanos+1e9
	}
	return value.Datetime{Secs: secs, Nanos: uint32(nanos)}
}

// at is the datetime argument, or now.
func (c Call) at(args []value.Value) value.Datetime {
	if len(args) > 0 {
		return args[0].Datetime()
	}
	return datetimeOf(c.Host.Now())
}

func timePart(f func(value.Datetime) int64) Impl {
	return func(c Call, args []value.Value) (value.Value, error) { return value.Int(f(c.at(args))), nil }
}

func timeNano(c Call, args []value.Value) (value.Value, error) {
	n, ok := unixNanos(c.at(args))
	if !ok {
		return value.None, c.incorrect("The datetime must be between 1677-09-21T00:12:43.145224192Z and 2262-04-11T23:47:16.854775807Z.")
	}
	return value.Int(n), nil
}

func isoWeekday(t time.Time) int64 {
	if w := t.Weekday(); w != time.Sunday {
		return int64(w)
	}
	return 7
}

func isLeap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func timeIsLeapYear(c Call, args []value.Value) (value.Value, error) {
	return value.Bool(isLeap(calendar(c.at(args)).Year())), nil
}

func timeNow(c Call, _ []value.Value) (value.Value, error) {
	return value.DatetimeOf(datetimeOf(c.Host.Now())), nil
}

func timeZone(c Call, _ []value.Value) (value.Value, error) {
	return value.Str(c.Host.Now().Local().Format("-07:00")), nil
}

// timeRounding makes ceil, floor and round. pick chooses of a time in nanoseconds what to do with its rest to the
// multiple of step below.
func timeRounding(pick func(below, rest, step int64) (int64, bool)) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		step := args[1].Duration()
		if step == (value.Duration{}) {
			return args[0], nil
		}
		at, ok := unixNanos(args[0].Datetime())
		if !ok || step.Secs > math.MaxInt64/1000000000-1 {
			return value.None, c.notNanos()
		}
		n := int64(step.Secs)*1e9 + int64(step.Nanos)
		rest := at % n
		if rest < 0 {
			rest += n
		}
		if rest == 0 {
			return args[0], nil
		}
		if at < math.MinInt64+rest {
			return value.None, c.notNanos()
		}
		out, ok := pick(at-rest, rest, n)
		if !ok {
			return value.None, c.notNanos()
		}
		return value.DatetimeOf(fromUnixNanos(out)), nil
	}
}

func (c Call) notNanos() error {
	return c.incorrect("The second argument must be a duration, and must be able to be represented as nanoseconds.")
}

func timeDown(below, _, _ int64) (int64, bool) { return below, true }

func timeUp(below, _, step int64) (int64, bool) { return below + step, below <= math.MaxInt64-step }

func timeNearest(below, rest, step int64) (int64, bool) {
	if rest >= step-rest {
		return timeUp(below, rest, step)
	}
	return below, true
}

func timeGroup(c Call, args []value.Value) (value.Value, error) {
	t := calendar(args[0].Datetime())
	year, month, dom := t.Date()
	hour, minute, second := t.Clock()
	switch args[1].Str() {
	case "year":
		month, dom, hour, minute, second = 1, 1, 0, 0, 0
	case "month":
		dom, hour, minute, second = 1, 0, 0, 0
	case "day":
		hour, minute, second = 0, 0, 0
	case "hour":
		minute, second = 0, 0
	case "minute":
		second = 0
	case "second":
	default:
		return value.None, c.incorrect("The second argument must be a string, and can be one of 'year', 'month', 'day', 'hour', 'minute', or 'second'.")
	}
	return value.DatetimeOf(datetimeOf(time.Date(year, month, dom, hour, minute, second, 0, time.UTC))), nil
}

func timeFrom(unit string, perSecond int64) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		n := args[0].Int()
		secs, rest := n/perSecond, n%perSecond
		if rest < 0 {
			secs, rest = secs-1, rest+perSecond
		}
		if !inTime(secs) {
			return value.None, c.incorrect("The argument must be a number of %s relative to January 1, 1970 0:00:00 UTC that produces a datetime between -262143-01-01T00:00:00Z and +262142-12-31T23:59:59Z.", unit)
		}
		return value.DatetimeOf(value.Datetime{Secs: secs, Nanos: uint32(rest * (1e9 / perSecond))}), nil
	}
}

func timeFromULID(c Call, args []value.Value) (value.Value, error) {
	u, ok := parseULID(args[0].Str())
	if !ok {
		return value.None, c.incorrect("The first argument must be a string, containing a valid ULID.")
	}
	ms := u.Time()
	return value.DatetimeOf(value.Datetime{Secs: int64(ms / 1000), Nanos: uint32(ms%1000) * 1e6}), nil
}

// timeFromUUID reads versions 1 and 6, which count 100 ns from 1582-10-15, and 7, which counts milliseconds from 1970.
func timeFromUUID(c Call, args []value.Value) (value.Value, error) {
	u := args[0].UUID()
	const to1970 = 0x01B21DD213814000
	var ticks uint64
	switch u[6] >> 4 {
	case 1:
		ticks = uint64(u[6]&15)<<56 | uint64(u[7])<<48 | uint64(u[4])<<40 | uint64(u[5])<<32 |
			uint64(u[0])<<24 | uint64(u[1])<<16 | uint64(u[2])<<8 | uint64(u[3])
	case 6:
		for _, b := range u[:6] {
			ticks = ticks<<8 | uint64(b)
		}
		ticks = ticks<<12 | uint64(u[6]&15)<<8 | uint64(u[7])
	case 7:
		var ms uint64
		for _, b := range u[:6] {
			ms = ms<<8 | uint64(b)
		}
		return value.DatetimeOf(value.Datetime{Secs: int64(ms / 1000), Nanos: uint32(ms%1000) * 1e6}), nil
	default:
		return value.None, c.incorrect("The first argument must be a v1, v6 or v7 UUID.")
	}
	ticks -= to1970
	return value.DatetimeOf(value.Datetime{Secs: int64(ticks / 1e7), Nanos: uint32(ticks%1e7) * 100}), nil
}

// timeSet makes a set_ function. set gives the changed time and whether there is one, and what to call the number when
// not.
func timeSet(set func(t time.Time, n int64) (time.Time, bool, string)) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		n, whole := integral(args[1])
		whole = whole && args[1].Kind() != value.KindDecimal // not even 3dec, as in the reference
		signed := c.Func.Name == "time::set_year"
		if whole && (n > math.MaxUint32 || n < 0 && !signed || signed && (n > math.MaxInt32 || n < math.MinInt32)) {
			return value.None, errs.Internal("out of range integral type conversion attempted")
		}
		t, ok, unit := set(calendar(args[0].Datetime()), n)
		if !ok || !whole || !inTime(t.Unix()) {
			return value.None, errs.Internal("Unable to set datetime to "+unit, numberText(args[1]))
		}
		return value.DatetimeOf(datetimeOf(t)), nil
	}
}

// numberText is a number without a suffix for its kind.
func numberText(v value.Value) string {
	if v.Kind() == value.KindFloat {
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return value.ToString(v)
}

// withDate is t on another day, if there is such a day.
func withDate(t time.Time, year int, month time.Month, dom int) (time.Time, bool) {
	out := time.Date(year, month, dom, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	y, m, d := out.Date()
	return out, y == year && m == month && d == dom
}

func setYear(t time.Time, n int64) (time.Time, bool, string) {
	out, ok := withDate(t, int(n), t.Month(), t.Day())
	return out, ok, "year %s"
}

func setMonth(t time.Time, n int64) (time.Time, bool, string) {
	out, ok := withDate(t, t.Year(), time.Month(n), t.Day())
	return out, ok, "month %s"
}

func setDay(t time.Time, n int64) (time.Time, bool, string) {
	out, ok := withDate(t, t.Year(), t.Month(), int(n))
	return out, ok, "day %s"
}

func setHour(t time.Time, n int64) (time.Time, bool, string) {
	return t.Add(time.Duration(n-int64(t.Hour())) * time.Hour), n < 24, "hour %s"
}

func setMinute(t time.Time, n int64) (time.Time, bool, string) {
	return t.Add(time.Duration(n-int64(t.Minute())) * time.Minute), n < 60, "%s minutes"
}

func setSecond(t time.Time, n int64) (time.Time, bool, string) {
	return t.Add(time.Duration(n-int64(t.Second())) * time.Second), n < 60, "%s seconds"
}

// setNanosecond takes up to two seconds' worth: what is beyond one goes into the seconds.
func setNanosecond(t time.Time, n int64) (time.Time, bool, string) {
	return t.Add(time.Duration(n - int64(t.Nanosecond()))), n < 2e9, "%s nanoseconds"
}
