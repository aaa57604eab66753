package fn_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
)

// The range of datetimes in seconds since 1970.
const firstSecond, lastSecond = -8334601228800, 8210266876799

func someTime() *rapid.Generator[value.Datetime] {
	near := rapid.Int64Range(-4e9, 4e9)
	return rapid.Custom(func(t *rapid.T) value.Datetime {
		secs := rapid.OneOf(near, rapid.Int64Range(firstSecond, lastSecond), rapid.SampledFrom([]int64{
			time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC).Unix(), time.Date(1900, 2, 28, 0, 0, 0, 0, time.UTC).Unix(),
			time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC).Unix(), time.Date(-4, 2, 29, 0, 0, 0, 0, time.UTC).Unix(),
			firstSecond, lastSecond,
		})).Draw(t, "secs")
		return value.Datetime{Secs: secs, Nanos: rapid.Uint32Range(0, 999_999_999).Draw(t, "nanos")}
	})
}

func TestTimePartsOverLeapYears(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		d := someTime().Draw(t, "time")
		at := value.DatetimeOf(d)
		std := time.Unix(d.Secs, int64(d.Nanos)).UTC()
		_, week := std.ISOWeek()
		for name, want := range map[string]int{"year": std.Year(), "month": int(std.Month()), "day": std.Day(),
			"yday": std.YearDay(),
			"hour": std.Hour(), "minute": std.Minute(), "second": std.Second(), "week": week,
			"wday": (int(std.Weekday())+6)%7 + 1} {
			if got := l.call("time::"+name, at); got.Int() != int64(want) {
				t.Fatalf("%s of %s: got %s, want %d", name, at, got, want)
			}
		}
		for _, unit := range []string{"year", "month", "day", "hour", "minute", "second"} {
			start := l.call("time::group", at, value.Str(unit))
			if value.Compare(start, at) > 0 ||
				value.Compare(l.call("time::group", start, value.Str(unit)), start) != 0 {
				t.Fatalf("start of the %s of %s: %s", unit, at, start)
			}
		}
		// Setting a part to what it is changes nothing.
		for _, name := range []string{"year", "month", "day", "hour", "minute", "second"} {
			if got := l.call("time::set_"+name, at, l.call("time::"+name, at)); value.Compare(got, at) != 0 {
				t.Fatalf("set_%s of %s to itself: %s", name, at, got)
			}
		}
		if year := std.Year(); year >= 0 && year <= 9999 {
			format := value.Str("%Y-%m-%dT%H:%M:%S%.f")
			text := l.call("time::format", at, format)
			if !l.call("string::is_datetime", text, format).Bool() {
				t.Fatalf("%s does not fit the format that wrote it", text)
			}
			if want := std.Format("2006-01-02T15:04:05"); text.Str()[:19] != want {
				t.Fatalf("format of %s: %s", at, text)
			}
		}
	})
}

func TestTimeAndNumbersAreInverse(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		secs := rapid.Int64Range(-9e9, 9e9).Draw(t, "secs")
		for name, n := range map[string]int64{"unix": secs, "millis": secs*1000 + 1, "micros": secs*1e6 + 1,
			"nano": secs*1e9 + 1} {
			from := "time::from_" + name
			if name == "nano" {
				from = "time::from_nanos"
			}
			if got := l.call("time::"+name, l.call(from, value.Int(n))); got.Int() != n {
				t.Fatalf("%s(%s(%d)) = %s", name, from, n, got)
			}
		}
		n := rapid.Int64Range(0, 1<<40).Draw(t, "n")
		for _, unit := range []string{"nanos", "micros", "millis", "secs", "mins", "hours", "days", "weeks"} {
			if got := l.call("duration::"+unit, l.call("duration::from_"+unit, value.Int(n))); n < 1<<20 &&
				got.Int() != n {
				t.Fatalf("%s of %d: %s", unit, n, got)
			}
		}
	})
}

func TestTimeRounding(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		at := value.DatetimeOf(value.Datetime{Secs: rapid.Int64Range(-4e9, 4e9).Draw(t, "secs"),
			Nanos: rapid.Uint32Range(0, 999_999_999).Draw(t, "nanos")})
		step := value.DurationOf(value.Duration{Secs: rapid.Uint64Range(0, 1e8).Draw(t, "step"),
			Nanos: rapid.Uint32Range(0, 999_999_999).Draw(t, "part")})
		low, high, near := l.call("time::floor", at, step), l.call("time::ceil", at, step),
			l.call("time::round", at, step)
		if value.Compare(low, at) > 0 || value.Compare(high, at) < 0 || value.Compare(near, low) != 0 &&
			value.Compare(near, high) != 0 {
			t.Fatalf("%s in steps of %s: floor %s, ceil %s, round %s", at, step, low, high, near)
		}
		if again := l.call("time::floor", low, step); value.Compare(again, low) != 0 {
			t.Fatalf("floor of %s: %s", low, again)
		}
	})
}

func TestIdentifiersCarryTheirTime(t *testing.T) {
	l := newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<45).Draw(t, "ms")
		at := l.call("time::from_millis", value.Int(ms))
		if got := l.call("time::from_uuid", l.call("rand::uuid", at)); value.Compare(got, at) != 0 {
			t.Fatalf("uuid of %s: %s", at, got)
		}
		id := l.call("rand::ulid", at)
		if got := l.call("time::from_ulid", id); value.Compare(got, at) != 0 || !l.call("string::is_ulid", id).Bool() {
			t.Fatalf("ulid of %s: %s from %s", at, got, id)
		}
	})
}

func TestTimeFormats(t *testing.T) {
	l := newLibrary(t)
	at := value.DatetimeOf(value.Datetime{Secs: 1714979289, Nanos: 123_000_000}) // 2024-05-06T07:08:09.123Z
	for format, want := range map[string]string{
		"%A %B %e %j": "Monday May  6 127", "%+": "2024-05-06T07:08:09.123+00:00",
		"%f|%.f|%.3f|%3f|%6f|%9f": "123000000|.123|.123|123|123000|123000000",
		"%u %w %U %W %V %G %g":    "1 1 18 19 19 2024 24", "%-d %_d %-H %_m %0e": "6  6 7  5 06",
		"%k|%l|%P|%q": " 7| 7|am|2",
		"%c":          "Mon May  6 07:08:09 2024", "%:::z%%": "+00%",
	} {
		if got := l.call("time::format", at, value.Str(format)).Str(); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
	for _, bad := range []string{"%Q", "%", "%E", "%#z", "%L", "%.4f", "%::::z", "%-f"} {
		if v, err := l.try("time::format", at, value.Str(bad)); err == nil {
			t.Errorf("%s is a format: %s", bad, v)
		}
	}
}
