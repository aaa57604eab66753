package pgtype

import (
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// parseTimestamp reads a date, with a time of day and a zone where they are there. A timestamp without a zone is of the
// zone of the session.
func parseTimestamp(s string, oid OID, st *Style) (value.Value, error) {
	bad := badText(sqlstate.InvalidDatetime, oid, s)
	t := strings.TrimSpace(s)
	switch strings.ToLower(t) {
	case "now":
		return value.DatetimeOf(present(oid, st)), nil
	case "epoch":
		return value.DatetimeOf(value.Datetime{}), nil
	case "infinity", "-infinity":
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "a datetime cannot be %s", t)
	}
	bc := false
	if len(t) > 3 && strings.EqualFold(t[len(t)-3:], " bc") {
		t, bc = t[:len(t)-3], true
	}
	var c value.Civil
	rest, ok := readDate(t, &c)
	if !ok {
		return value.None, bad
	}
	if bc {
		c.Year = 1 - c.Year
	}
	offset, zoned := 0, false
	if rest != "" {
		if rest, ok = readTime(rest, &c); !ok {
			return value.None, bad
		}
		if rest = strings.TrimSpace(rest); rest != "" {
			if offset, zoned = readZone(rest, c); !zoned {
				return value.None, bad
			}
		}
	}
	if oid == Date {
		c.Hour, c.Minute, c.Second, c.Nanos, offset, zoned = 0, 0, 0, 0, 0, true
	}
	carry := c.Hour == 24
	if carry {
		c.Hour = 0
	}
	d, ok := c.Datetime()
	if !ok {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "date/time field value out of range: %q", s)
	}
	if carry {
		d.Secs += daySeconds
	}
	if !zoned && oid == Timestamptz && st != nil && st.Zone != nil {
		offset = zoneOffset(st.Zone, c)
	}
	if oid == Timestamptz {
		d.Secs -= int64(offset)
	}
	return value.DatetimeOf(d), nil
}

// present is when the transaction began, or where there is none the time of the clock.
func present(oid OID, st *Style) value.Datetime {
	now := time.Now()
	if st != nil && !st.Began.IsZero() {
		now = st.Began
	}
	d := datetime(now)
	if oid != Timestamptz && st != nil && st.Zone != nil {
		_, offset := now.In(st.Zone).Zone()
		d.Secs += int64(offset)
	}
	if oid == Date {
		d = value.Datetime{Secs: d.Secs - d.Secs%daySeconds}
	}
	return d
}

// zoneOffset is the offset from UTC, in seconds, of a place at its local time c.
func zoneOffset(zone *time.Location, c value.Civil) int {
	_, offset := time.Date(c.Year, time.Month(c.Month), c.Day, c.Hour, c.Minute, c.Second, 0, zone).Zone()
	return offset
}

func datetime(t time.Time) value.Datetime {
	return value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())}
}

// number reads digits at the start of s.
func number(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i > 0
}

func readDate(s string, c *value.Civil) (rest string, ok bool) {
	if c.Year, rest, ok = number(s); !ok || !strings.HasPrefix(rest, "-") || len(s)-len(rest) < 3 {
		return "", false
	}
	if c.Month, rest, ok = number(rest[1:]); !ok || !strings.HasPrefix(rest, "-") {
		return "", false
	}
	if c.Day, rest, ok = number(rest[1:]); !ok {
		return "", false
	}
	if c.Month < 1 || c.Month > 12 || c.Day < 1 || c.Day > 31 {
		return "", false
	}
	return strings.TrimLeft(rest, " Tt"), true
}

func readTime(s string, c *value.Civil) (rest string, ok bool) {
	if c.Hour, rest, ok = number(s); !ok || !strings.HasPrefix(rest, ":") {
		return "", false
	}
	if c.Minute, rest, ok = number(rest[1:]); !ok {
		return "", false
	}
	if strings.HasPrefix(rest, ":") {
		if c.Second, rest, ok = number(rest[1:]); !ok {
			return "", false
		}
	}
	c.Nanos, rest = fraction(rest)
	end := c.Hour == 24 && c.Minute == 0 && c.Second == 0 && c.Nanos == 0
	return rest, (c.Hour < 24 || end) && c.Minute < 60 && c.Second < 61
}

// fraction reads a point and digits as nanoseconds; further digits are dropped.
func fraction(s string) (nanos uint32, rest string) {
	if !strings.HasPrefix(s, ".") {
		return 0, s
	}
	i, unit := 1, uint32(100_000_000)
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		nanos += uint32(s[i]-'0') * unit
		unit /= 10
	}
	return nanos, s[i:]
}

// readZone reads Z, an offset or the name of a zone.
func readZone(s string, c value.Civil) (offset int, ok bool) {
	switch {
	case strings.EqualFold(s, "z"), strings.EqualFold(s, "utc"), strings.EqualFold(s, "gmt"):
		return 0, true
	case s[0] == '+' || s[0] == '-':
		return readOffset(s)
	}
	zone, err := LoadZone(s)
	if err != nil {
		return 0, false
	}
	return zoneOffset(zone, c), true
}

// readOffset reads +HH, +HHMM, +HH:MM or +HH:MM:SS.
func readOffset(s string) (seconds int, ok bool) {
	digits := strings.ReplaceAll(s[1:], ":", "")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0, false
	}
	switch len(digits) {
	case 1, 2:
		seconds = n * 3600
	case 3, 4:
		seconds = n/100*3600 + n%100*60
	case 6:
		seconds = n/10000*3600 + n/100%100*60 + n%100
	default:
		return 0, false
	}
	if seconds >= 16*3600 {
		return 0, false
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// LoadZone finds a time zone by the name or offset that a client gave. The sign of a bare offset counts to the east,
// as in ISO 8601.
func LoadZone(name string) (*time.Location, error) {
	name = strings.Trim(strings.TrimSpace(name), "'")
	switch {
	case name == "" || len(name) > 64 || strings.EqualFold(name, "local"):
		return nil, sqlstate.New(sqlstate.InvalidParameter, "invalid value for parameter \"TimeZone\": %q", name)
	case strings.EqualFold(name, "utc"), strings.EqualFold(name, "gmt"), strings.EqualFold(name, "z"),
		strings.EqualFold(name, "default"):
		return time.UTC, nil
	case name[0] == '+' || name[0] == '-':
		if seconds, ok := readOffset(name); ok {
			return time.FixedZone(name, seconds), nil
		}
	case name[0] >= '0' && name[0] <= '9':
		if seconds, ok := readOffset("+" + name); ok {
			return time.FixedZone(name, seconds), nil
		}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, sqlstate.New(sqlstate.InvalidParameter, "invalid value for parameter \"TimeZone\": %q", name)
	}
	return zone, nil
}

// parseClock reads HH:MM[:SS[.f]].
func parseClock(s string) (d value.Duration, ok bool) {
	h, rest, ok := number(s)
	if !ok || !strings.HasPrefix(rest, ":") {
		return d, false
	}
	m, rest, ok := number(rest[1:])
	if !ok || m > 59 {
		return d, false
	}
	sec := 0
	if strings.HasPrefix(rest, ":") {
		if sec, rest, ok = number(rest[1:]); !ok || sec > 60 {
			return d, false
		}
	}
	d.Nanos, rest = fraction(rest)
	d.Secs = uint64(h)*3600 + uint64(m)*60 + uint64(sec)
	return d, rest == ""
}
