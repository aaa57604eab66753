package pgtype

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Clock is a time of day with a time zone. As a value it is a closure whose payload it is, as a Span is: nothing stores
// it.
type Clock struct {
	Micros int64 // since midnight, in the zone
	Offset int   // of the zone from UTC, in seconds to the east
}

// Text implements value.Closure.
func (c *Clock) Text() string { return string(c.append(nil)) }

// Size implements value.Closure.
func (*Clock) Size() int { return 24 }

// Value is c as a value of type TimeTZ.
func (c Clock) Value() value.Value { return value.ClosureOf(&c) }

// ClockOf is the Clock that is the payload of v; ok is false where v is another kind of value.
func ClockOf(v value.Value) (c Clock, ok bool) {
	if v.Kind() != value.KindClosure {
		return c, false
	}
	p, ok := v.Closure().(*Clock)
	if ok {
		c = *p
	}
	return c, ok
}

// Compare is the order of such times: by the moment of the day in UTC, of those that are the same by the zone.
func (c Clock) Compare(d Clock) int {
	utc := func(c Clock) int64 { return c.Micros - int64(c.Offset)*MicrosPerSecond }
	return cmp.Or(cmp.Compare(utc(c), utc(d)), cmp.Compare(d.Offset, c.Offset))
}

// Key appends what tells c from other times.
func (c Clock) Key(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, 'z'), c.Micros, 10)
	return strconv.AppendInt(append(dst, ':'), int64(c.Offset), 10)
}

// In is c in a zone of another offset.
func (c Clock) In(offset int) Clock {
	micros := (c.Micros + int64(offset-c.Offset)*MicrosPerSecond) % MicrosPerDay
	if micros < 0 {
		micros += MicrosPerDay
	}
	return Clock{micros, offset}
}

// OffsetNow is the offset of the zone of a session when its transaction began.
func OffsetNow(st *Style) int {
	if st == nil || st.Zone == nil {
		return 0
	}
	at := st.Began
	if at.IsZero() {
		at = time.Now()
	}
	_, offset := at.In(st.Zone).Zone()
	return offset
}

func (c *Clock) append(dst []byte) []byte {
	dst = appendClock(dst, value.Duration{Secs: uint64(c.Micros / MicrosPerSecond),
		Nanos: uint32(c.Micros%MicrosPerSecond) * 1000})
	return appendOffset(dst, c.Offset)
}

// parseTimeTZ reads a time of day, with a date before it and a zone behind it where they are there.
func parseTimeTZ(s string, st *Style) (value.Value, error) {
	bad := badText(sqlstate.InvalidDatetime, TimeTZ, s)
	t := strings.TrimSpace(s)
	var c value.Civil
	dated := false
	switch {
	case strings.EqualFold(t, "now"):
		at := present(Time, st)
		c = at.Civil()
		return Clock{clockMicros(c), OffsetNow(st)}.Value(), nil
	case strings.EqualFold(t, "allballs"):
		return Clock{}.Value(), nil
	}
	if rest, ok := readDate(t, &c); ok {
		if _, ok := c.Datetime(); !ok {
			return value.None, bad
		}
		t, dated = rest, true
	}
	rest, ok := readTime(t, &c)
	if !ok {
		return value.None, badClock(TimeTZ, s, t)
	}
	offset := OffsetNow(st)
	switch rest = strings.TrimSpace(rest); {
	case rest != "":
		named := rest[0] != '+' && rest[0] != '-'
		if offset, ok = readZone(rest, c); !ok || named && !dated && offset != 0 {
			if !named && strings.Trim(rest, "+-:0123456789") == "" {
				bad = sqlstate.New("22009", "time zone displacement out of range: %q", s)
			}
			return value.None, bad
		}
	case dated && st != nil && st.Zone != nil:
		offset = zoneOffset(st.Zone, c)
	}
	return Clock{clockMicros(c), offset}.Value(), nil
}

// badClock refuses the text s of a time of day: t is the part of it that has the time.
func badClock(oid OID, s, t string) error {
	if _, rest, ok := number(t); ok && strings.HasPrefix(rest, ":") {
		if _, _, ok := number(rest[1:]); ok && len(s) <= 128 {
			return sqlstate.New(sqlstate.DatetimeOverflow, "date/time field value out of range: %q", s)
		}
	}
	return badText(sqlstate.InvalidDatetime, oid, s)
}

// clockMicros is the time of day of c in microseconds.
func clockMicros(c value.Civil) int64 {
	return int64(c.Hour*3600+c.Minute*60+c.Second)*MicrosPerSecond + int64(c.Nanos/1000)
}
