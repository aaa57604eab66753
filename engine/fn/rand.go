package fn

import (
	"crypto/rand"
	"math"
	random "math/rand/v2"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

func randFuncs() []entry {
	return []entry{
		{sig: "volatile rand() -> float", impl: randUnit, doc: "A float from 0 to below 1."},
		{sig: "volatile rand::bool() -> bool", impl: randBool, doc: "true or false."},
		{sig: "volatile rand::duration(a: duration, b: duration) -> duration", impl: randDuration,
			doc: "A duration between two durations."},
		{sig: "volatile rand::enum(...choices: any) -> any", impl: randEnum,
			doc: "One of the arguments, or of the items of a single array; NONE when there are none."},
		{sig: "volatile rand::float(a?: float, b?: float) -> float", impl: randFloat,
			doc: "A float from 0 to below 1, or between two bounds."},
		{sig: "volatile rand::id(length?: int, most?: int) -> string", impl: randText(idAlphabet, 20, 64),
			doc: "Random lower-case letters and digits: 20, a length, or from a length to another."},
		{sig: "volatile rand::int(a?: int, b?: int) -> int", impl: randInt,
			doc: "Any int, or one from a to b."},
		{sig: "volatile rand::string(length?: int, most?: int) -> string", impl: randText(textAlphabet, 32, 65536),
			doc: "Random letters and digits: 32, a length, or from a length to another."},
		{sig: "volatile rand::time(a?: any, b?: any) -> datetime", impl: randTime,
			doc: "A datetime of the years 0 to 9999, or one between two datetimes or numbers of seconds since 1970."},
		{sig: "volatile rand::ulid(at?: datetime) -> string", impl: randULID, doc: "A ULID of now or of a time."},
		{sig: "volatile rand::uuid(at?: datetime) -> uuid", impl: randUUID7, doc: "A UUID of version 7 of now or of a time."},
		{sig: "volatile rand::uuid::v4() -> uuid", impl: randUUID4, doc: "A UUID of version 4."},
		{sig: "volatile rand::uuid::v7(at?: datetime) -> uuid", impl: randUUID7, doc: "A UUID of version 7 of now or of a time."},
	}
}

const (
	idAlphabet   = "0123456789abcdefghijklmnopqrstuvwxyz"
	textAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

func randUnit(Call, []value.Value) (value.Value, error) { return value.Float(random.Float64()), nil }

func randBool(Call, []value.Value) (value.Value, error) {
	return value.Bool(random.Uint64()&1 == 1), nil
}

// pair reports whether there are two arguments; one alone is an error.
func (c Call) pair(args []value.Value) (bool, error) {
	if len(args) == 1 {
		return false, c.incorrect("Expected 0 or 2 arguments")
	}
	return len(args) == 2, nil
}

// between is an int from a to b, in either order.
func between(a, b int64) int64 {
	if a > b {
		a, b = b, a
	}
	span := uint64(b) - uint64(a)
	if span == math.MaxUint64 {
		return int64(random.Uint64())
	}
	return int64(uint64(a) + random.Uint64N(span+1))
}

func randInt(c Call, args []value.Value) (value.Value, error) {
	bounded, err := c.pair(args)
	if err != nil || !bounded {
		return value.Int(int64(random.Uint64())), err
	}
	return value.Int(between(args[0].Int(), args[1].Int())), nil
}

func randFloat(c Call, args []value.Value) (value.Value, error) {
	bounded, err := c.pair(args)
	if err != nil || !bounded {
		return value.Float(random.Float64()), err
	}
	a, b := min(args[0].Float(), args[1].Float()), max(args[0].Float(), args[1].Float())
	// Weighted halves: b-a may overflow. NaN and infinite bounds give what arithmetic gives.
	t := random.Float64()
	return value.Float(max(a, min(b, a*(1-t)+b*t))), nil
}

func randDuration(_ Call, args []value.Value) (value.Value, error) {
	a, b := args[0].Duration(), args[1].Duration()
	if a.Secs > b.Secs || a.Secs == b.Secs && a.Nanos > b.Nanos {
		a, b = b, a
	}
	secs := a.Secs
	if span := b.Secs - a.Secs; span == math.MaxUint64 {
		secs = random.Uint64()
	} else {
		secs += random.Uint64N(span + 1)
	}
	low, high := uint32(0), uint32(1e9-1)
	if secs == a.Secs {
		low = a.Nanos
	}
	if secs == b.Secs {
		high = b.Nanos
	}
	return value.DurationOf(value.Duration{Secs: secs, Nanos: low + random.Uint32N(high-low+1)}), nil
}

func randEnum(_ Call, args []value.Value) (value.Value, error) {
	if len(args) == 1 && args[0].Kind() == value.KindArray {
		args = args[0].Elems()
	}
	if len(args) == 0 {
		return value.None, nil
	}
	return args[random.IntN(len(args))], nil
}

// randText makes rand::id and rand::string. Their texts may serve as secrets: they come from the system's generator.
func randText(alphabet string, length, most int64) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		low, high := length, length
		switch len(args) {
		case 1:
			low, high = args[0].Int(), args[0].Int()
		case 2:
			low, high = args[0].Int(), args[1].Int()
		}
		if low < 0 || low > most || high < 0 || high > most {
			return value.None, c.incorrect("To generate a string of X characters in length, the argument must be a positive number and no higher than %d.", most)
		}
		if low > high {
			return value.None, c.incorrect("Lowerbound of number of characters must be less then the upperbound.")
		}
		return value.Str(secretText(alphabet, int(between(low, high)))), nil
	}
}

// secretText is n random characters of an alphabet of at most 64.
func secretText(alphabet string, n int) string {
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		rand.Read(buf[:]) // never fails: it stops the program instead
		for _, b := range buf[:min(len(buf), 2*(n-len(out))+8)] {
			if i := int(b & 63); i < len(alphabet) && len(out) < n {
				out = append(out, alphabet[i])
			}
		}
	}
	return string(out)
}

// rand::time without bounds gives the years that every client can show: 0 to 9999.
const (
	yearZero  = -62167219200 // seconds since 1970
	endOf9999 = 253402300799
)

func randTime(c Call, args []value.Value) (value.Value, error) {
	bounded, err := c.pair(args)
	if err != nil {
		return value.None, err
	}
	bounds := [2]int64{yearZero, endOf9999}
	if bounded {
		for i, v := range args {
			switch v.Kind() {
			case value.KindInt:
				bounds[i] = v.Int()
			case value.KindDatetime:
				bounds[i] = v.Datetime().Secs
			default:
				return value.None, c.incorrect("Expected two arguments of type datetime or int")
			}
			if !inTime(bounds[i]) {
				return value.None, c.incorrect("To generate a random time, the 2 arguments must be numbers between %d and %d seconds from the UNIX epoch or a 'datetime' within the range d'-262143-01-01T00:00:00Z' and +262142-12-31T23:59:59Z'.", minTime, maxTime)
			}
		}
	}
	return value.DatetimeOf(value.Datetime{Secs: between(bounds[0], bounds[1])}), nil
}

// instant is the time argument, or the present.
func instant(args []value.Value) value.Datetime {
	if len(args) > 0 {
		return args[0].Datetime()
	}
	now := time.Now()
	return value.Datetime{Secs: now.Unix(), Nanos: uint32(now.Nanosecond())}
}

func randULID(_ Call, args []value.Value) (value.Value, error) {
	return value.Str(value.ULID(instant(args))), nil
}

func randUUID7(_ Call, args []value.Value) (value.Value, error) {
	return value.UUIDOf(value.UUIDv7(instant(args))), nil
}

func randUUID4(Call, []value.Value) (value.Value, error) {
	return value.UUIDOf(value.UUIDv4()), nil
}
