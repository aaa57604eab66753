package fn

import (
	"math/bits"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func durationFuncs() []entry {
	return methodsOn(kindSet(value.KindDuration), []entry{
		{sig: "duration::nanos(duration: duration) -> int", impl: durationParts(1e9),
			doc: "The whole duration in nanoseconds."},
		{sig: "duration::micros(duration: duration) -> int", impl: durationParts(1e6),
			doc: "The whole duration in microseconds."},
		{sig: "duration::millis(duration: duration) -> int", impl: durationParts(1e3),
			doc: "The whole duration in milliseconds."},
		{sig: "duration::secs(duration: duration) -> int", impl: durationUnits(1), doc: "The whole duration in seconds."},
		{sig: "duration::mins(duration: duration) -> int", impl: durationUnits(60), doc: "The whole duration in minutes."},
		{sig: "duration::hours(duration: duration) -> int", impl: durationUnits(3600), doc: "The whole duration in hours."},
		{sig: "duration::days(duration: duration) -> int", impl: durationUnits(day), doc: "The whole duration in days."},
		{sig: "duration::weeks(duration: duration) -> int", impl: durationUnits(7 * day),
			doc: "The whole duration in weeks."},
		{sig: "duration::years(duration: duration) -> int", impl: durationUnits(365 * day),
			doc: "The whole duration in years of 365 days."},
		{sig: "duration::from_nanos(n: int) -> duration", impl: durationFromParts(1e9), on: noMethod,
			doc: "n nanoseconds."},
		{sig: "duration::from_micros(n: int) -> duration", impl: durationFromParts(1e6), on: noMethod,
			doc: "n microseconds."},
		{sig: "duration::from_millis(n: int) -> duration", impl: durationFromParts(1e3), on: noMethod,
			doc: "n milliseconds."},
		{sig: "duration::from_secs(n: int) -> duration", impl: durationFromUnits(1), on: noMethod, doc: "n seconds."},
		{sig: "duration::from_mins(n: int) -> duration", impl: durationFromUnits(60), on: noMethod, doc: "n minutes."},
		{sig: "duration::from_hours(n: int) -> duration", impl: durationFromUnits(3600), on: noMethod, doc: "n hours."},
		{sig: "duration::from_days(n: int) -> duration", impl: durationFromUnits(day), on: noMethod, doc: "n days."},
		{sig: "duration::from_weeks(n: int) -> duration", impl: durationFromUnits(7 * day), on: noMethod,
			doc: "n weeks."},
	})
}

const day = 24 * 3600

// durationParts is a duration in parts of a second; beyond 64 bits it wraps around, as in the reference.
func durationParts(perSecond uint64) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		d := args[0].Duration()
		return value.Int(int64(d.Secs*perSecond + uint64(d.Nanos)/(1e9/perSecond))), nil
	}
}

func durationUnits(seconds uint64) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		return value.Int(int64(args[0].Duration().Secs / seconds)), nil
	}
}

// The reference reads a negative count as an unsigned one; so do the two makers here.

func durationFromParts(perSecond uint64) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		n := uint64(args[0].Int())
		return value.DurationOf(value.Duration{Secs: n / perSecond, Nanos: uint32(n % perSecond * (1e9 / perSecond))}),
			nil
	}
}

func durationFromUnits(seconds uint64) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		n := uint64(args[0].Int())
		hi, secs := bits.Mul64(n, seconds)
		if hi != 0 {
			return value.None, errs.Internal("Failed to compute: \"%s(%d)\", as the operation results in an arithmetic overflow.", c.Func.Name, n)
		}
		return value.DurationOf(value.Duration{Secs: secs}), nil
	}
}
