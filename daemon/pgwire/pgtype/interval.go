package pgtype

import (
	"math"
	"slices"
	"strconv"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Span is an interval of SQL: months, days and microseconds, each with a sign of its own. A day need not have 24 hours,
// and a month any number of days.
//
// As a value, a Span of days and less than 24 hours that is not negative is a duration, as columns have them. Any other
// one is a closure whose payload is the Span: the engine neither stores nor reads such a closure. Duration makes a
// duration of it, or refuses.
type Span struct {
	Months, Days int32
	Micros       int64
}

// Parts of intervals and times of day, in microseconds.
const (
	MicrosPerSecond = 1_000_000
	MicrosPerDay    = daySeconds * MicrosPerSecond
	daysPerMonth    = 30 // where months are compared with days
	monthsPerYear   = 12
)

// Text implements value.Closure.
func (s *Span) Text() string { return string(s.append(nil)) }

// Size implements value.Closure.
func (*Span) Size() int { return 48 }

// Value is s as a value of type Interval.
func (s Span) Value() value.Value {
	if s.Months == 0 && s.Days >= 0 && s.Micros >= 0 && s.Micros < MicrosPerDay {
		return value.DurationOf(value.Duration{Secs: uint64(s.Days)*daySeconds + uint64(s.Micros/MicrosPerSecond),
			Nanos: uint32(s.Micros%MicrosPerSecond) * 1000})
	}
	return value.ClosureOf(&s)
}

// asSpan is the Span that is the payload of v; ok is false where v is another kind of value.
func asSpan(v value.Value) (s *Span, ok bool) {
	if v.Kind() != value.KindClosure {
		return nil, false
	}
	s, ok = v.Closure().(*Span)
	return s, ok
}

// IsInterval reports whether v is an interval.
func IsInterval(v value.Value) bool {
	_, ok := asSpan(v)
	return ok || v.Kind() == value.KindDuration
}

// SpanOf is the Span that v is, a value of type Interval or Time. It fails with 22008 for a duration of more days than
// an interval can have.
func SpanOf(v value.Value) (Span, error) {
	if s, ok := asSpan(v); ok {
		return *s, nil
	}
	if v.Kind() != value.KindDuration {
		return Span{}, sqlstate.New(sqlstate.CannotCoerce, "a %s is no interval", v.Kind())
	}
	d := v.Duration()
	if d.Secs/daySeconds > math.MaxInt32 {
		return Span{}, IntervalOverflow()
	}
	return Span{Days: int32(d.Secs / daySeconds),
		Micros: int64(d.Secs%daySeconds)*MicrosPerSecond + int64(d.Nanos/1000)}, nil
}

// compound reports whether v may be, or hold, what the engine does not store.
func compound(v value.Value) bool {
	return v.Kind() == value.KindClosure || v.Kind() == value.KindArray
}

// IntervalOverflow refuses an interval that is too long.
func IntervalOverflow() error {
	return sqlstate.New(sqlstate.DatetimeOverflow, "interval out of range")
}

// StoredDuration is v as the engine has it: an interval becomes the duration that it is. It fails for one of months,
// or less than nothing, and for a time of day with a zone. Other values stay as they are.
func StoredDuration(v value.Value) (value.Value, error) {
	if v.Kind() == value.KindArray && slices.ContainsFunc(v.Elems(), compound) {
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			var err error
			if out[i], err = StoredDuration(e); err != nil {
				return value.None, err
			}
		}
		return value.ArrayOf(out), nil
	}
	if _, ok := ClockOf(v); ok {
		return value.None, sqlstate.New(sqlstate.FeatureNotSupported, "a %s cannot be stored", Format(TimeTZ))
	}
	s, ok := asSpan(v)
	if !ok {
		return v, nil
	}
	if s.Months != 0 {
		return value.None, sqlstate.New(sqlstate.FeatureNotSupported, "a duration has no months or years").
			Hinted("Use days.")
	}
	secs := int64(s.Days)*daySeconds + s.Micros/MicrosPerSecond
	micros := s.Micros % MicrosPerSecond
	if micros < 0 {
		secs, micros = secs-1, micros+MicrosPerSecond
	}
	if secs < 0 {
		return value.None, sqlstate.New(sqlstate.FeatureNotSupported, "a duration cannot be negative")
	}
	return value.DurationOf(value.Duration{Secs: uint64(secs), Nanos: uint32(micros) * 1000}), nil
}

// SpanKey is the place of an interval in the order of intervals: days of 24 hours and what is less than a day, in
// nanoseconds, which is not negative. Intervals with the same place are equal.
func SpanKey(v value.Value) (days, nanos int64) {
	if s, ok := asSpan(v); ok {
		days = int64(s.Months)*daysPerMonth + int64(s.Days) + floorDiv(s.Micros, MicrosPerDay)
		return days, (s.Micros - floorDiv(s.Micros, MicrosPerDay)*MicrosPerDay) * 1000
	}
	d := v.Duration()
	return int64(d.Secs / daySeconds), int64(d.Secs%daySeconds)*1_000_000_000 + int64(d.Nanos)
}

// Negative reports whether an interval is less than nothing.
func Negative(v value.Value) bool {
	days, _ := SpanKey(v)
	return days < 0
}

// Add is s and t, part by part. It fails with 22008 where a part is out of range.
func (s Span) Add(t Span) (Span, error) {
	out := Span{Months: s.Months + t.Months, Days: s.Days + t.Days, Micros: s.Micros + t.Micros}
	if (out.Months > s.Months) != (t.Months > 0) || (out.Days > s.Days) != (t.Days > 0) ||
		(out.Micros > s.Micros) != (t.Micros > 0) {
		return Span{}, IntervalOverflow()
	}
	return out, nil
}

// Negate is the opposite of s. It fails with 22008 for a part that has none.
func (s Span) Negate() (Span, error) {
	if s.Months == math.MinInt32 || s.Days == math.MinInt32 || s.Micros == math.MinInt64 {
		return Span{}, IntervalOverflow()
	}
	return Span{-s.Months, -s.Days, -s.Micros}, nil
}

// Sub is s without t.
func (s Span) Sub(t Span) (Span, error) {
	out := Span{Months: s.Months - t.Months, Days: s.Days - t.Days, Micros: s.Micros - t.Micros}
	if (out.Months < s.Months) != (t.Months > 0) || (out.Days < s.Days) != (t.Days > 0) ||
		(out.Micros < s.Micros) != (t.Micros > 0) {
		return Span{}, IntervalOverflow()
	}
	return out, nil
}

// Scale computes each part by f, which multiplies or divides. What is left of a month goes into days, and what is left
// of a day into its time.
func (s Span) Scale(f func(part float64) float64) (Span, error) {
	months, days, micros := f(float64(s.Months)), f(float64(s.Days)), f(float64(s.Micros))
	whole, ok := int32Of(months)
	wholeDays, fits := int32Of(days)
	if !ok || !fits {
		return Span{}, IntervalOverflow()
	}
	ofMonth := roundMicros((months - float64(whole)) * daysPerMonth)
	secs := roundMicros((days - float64(wholeDays) + ofMonth - math.Trunc(ofMonth)) * daySeconds)
	more := int64(0)
	if math.Abs(secs) >= daySeconds {
		more = int64(secs / daySeconds)
		secs -= float64(more * daySeconds)
	}
	total := int64(wholeDays) + more + int64(ofMonth)
	micros = math.RoundToEven(micros + secs*MicrosPerSecond)
	if total != int64(int32(total)) || !(micros >= math.MinInt64 && micros < math.MaxInt64) {
		return Span{}, IntervalOverflow()
	}
	return Span{whole, int32(total), int64(micros)}, nil
}

// int32Of is f without its fraction; ok is false where it does not fit.
func int32Of(f float64) (int32, bool) {
	if !(f >= math.MinInt32 && f <= math.MaxInt32) {
		return 0, false
	}
	return int32(f), true
}

func roundMicros(f float64) float64 { return math.RoundToEven(f*MicrosPerSecond) / MicrosPerSecond }

// JustifyHours makes days of 24 hours each, and gives days and time one sign.
func (s Span) JustifyHours() (Span, error) {
	days := int64(s.Days) + s.Micros/MicrosPerDay
	s.Micros %= MicrosPerDay
	switch {
	case days > 0 && s.Micros < 0:
		s.Micros, days = s.Micros+MicrosPerDay, days-1
	case days < 0 && s.Micros > 0:
		s.Micros, days = s.Micros-MicrosPerDay, days+1
	}
	return s.with(int64(s.Months), days)
}

// JustifyDays makes months of 30 days each, and gives months and days one sign.
func (s Span) JustifyDays() (Span, error) {
	months, days := int64(s.Months)+int64(s.Days/daysPerMonth), int64(s.Days%daysPerMonth)
	switch {
	case months > 0 && days < 0:
		days, months = days+daysPerMonth, months-1
	case months < 0 && days > 0:
		days, months = days-daysPerMonth, months+1
	}
	return s.with(months, days)
}

// Justify is JustifyHours and JustifyDays, with one sign for all parts.
func (s Span) Justify() (Span, error) {
	days := int64(s.Days) + s.Micros/MicrosPerDay
	s.Micros %= MicrosPerDay
	months := int64(s.Months) + days/daysPerMonth
	days %= daysPerMonth
	switch {
	case months > 0 && (days < 0 || days == 0 && s.Micros < 0):
		days, months = days+daysPerMonth, months-1
	case months < 0 && (days > 0 || days == 0 && s.Micros > 0):
		days, months = days-daysPerMonth, months+1
	}
	switch {
	case days > 0 && s.Micros < 0:
		s.Micros, days = s.Micros+MicrosPerDay, days-1
	case days < 0 && s.Micros > 0:
		s.Micros, days = s.Micros-MicrosPerDay, days+1
	}
	return s.with(months, days)
}

// with is s with other months and days, where they fit.
func (s Span) with(months, days int64) (Span, error) {
	if months != int64(int32(months)) || days != int64(int32(days)) {
		return Span{}, IntervalOverflow()
	}
	s.Months, s.Days = int32(months), int32(days)
	return s, nil
}

// append writes s in the style "postgres": 1 year 2 mons -3 days +04:05:06.789.
func (s *Span) append(dst []byte) []byte {
	start, negative := len(dst), false
	for _, p := range []struct {
		n    int32
		unit string
	}{{s.Months / monthsPerYear, " year"}, {s.Months % monthsPerYear, " mon"}, {s.Days, " day"}} {
		if p.n == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if negative && p.n > 0 {
			dst = append(dst, '+')
		}
		dst = append(strconv.AppendInt(dst, int64(p.n), 10), p.unit...)
		if p.n != 1 {
			dst = append(dst, 's')
		}
		negative = p.n < 0
	}
	if s.Micros == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	micros := uint64(s.Micros)
	switch {
	case s.Micros < 0:
		dst, micros = append(dst, '-'), -micros
	case negative:
		dst = append(dst, '+')
	}
	return appendClock(dst, value.Duration{Secs: micros / MicrosPerSecond,
		Nanos: uint32(micros%MicrosPerSecond) * 1000})
}

// Round rounds the seconds of s to so many digits behind their point.
func (s Span) Round(digits int) Span {
	unit := int64(1)
	for ; digits < 6; digits++ {
		unit *= 10
	}
	half := unit / 2
	if s.Micros < 0 {
		half = -half
	}
	if sum := s.Micros + half; (sum > s.Micros) == (half > 0) {
		s.Micros = sum - sum%unit
	}
	return s
}
