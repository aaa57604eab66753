package sql

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

func timeFunctions() map[string]*Function {
	fns := map[string]*Function{
		"date_trunc": {Min: 2, Max: 3, Type: func(oids []pgtype.OID) pgtype.OID {
			if oids[1] == pgtype.Timestamp || oids[1] == pgtype.Interval {
				return oids[1]
			}
			return pgtype.Timestamptz
		}, Args: []pgtype.OID{pgtype.Text, pgtype.Timestamptz, pgtype.Text}, Keep: true, Eval: dateTrunc},
		"age": {Min: 1, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID {
			if len(oids) == 1 && pgtype.IsInt(oids[0]) {
				return pgtype.Int4
			}
			return pgtype.Interval
		}, Resolve: func(oids []pgtype.OID) []pgtype.OID {
			if pgtype.IsInt(oids[0]) {
				return nil
			}
			oid := timestampOf(oids)
			return []pgtype.OID{oid, oid}
		}, Eval: age},
		"extract":   {Min: 2, Max: 2, Type: always2(pgtype.Numeric), Args: []pgtype.OID{pgtype.Text, 0}, Eval: extract},
		"date_part": {Min: 2, Max: 2, Type: always2(pgtype.Float8), Args: []pgtype.OID{pgtype.Text, 0}, Eval: extract},
		"timezone": {Min: 2, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID {
			switch oids[1] {
			case pgtype.Timestamptz:
				return pgtype.Timestamp
			case pgtype.Time, pgtype.TimeTZ:
				return pgtype.TimeTZ
			}
			return pgtype.Timestamptz
		}, Args: []pgtype.OID{pgtype.Text, 0}, Eval: func(c *Call) (value.Value, error) {
			zone, err := pgtype.LoadZone(posixZone(c.Str(0)))
			if err != nil {
				return value.None, err
			}
			if isClock(c.OIDs[1]) {
				v, err := castValue(c.Ctx, c.Env, c.Args[1], c.OIDs[1], pgtype.TimeTZ)
				clock, _ := pgtype.ClockOf(v)
				return clock.In(pgtype.OffsetNow(&pgtype.Style{Zone: zone, Began: c.Env.Style().Began})).Value(), err
			}
			to := pgtype.Timestamp
			if c.OIDs[1] != pgtype.Timestamptz {
				to = pgtype.Timestamptz
			}
			if c.Args[1].Kind() != value.KindDatetime {
				return value.None, sqlstate.New(sqlstate.UndefinedFunction, "AT TIME ZONE needs a timestamp")
			}
			return castTime(c.Args[1].Datetime(), c.OIDs[1], to, &pgtype.Style{Zone: zone}), nil
		}},
		"to_timestamp": Returns(pgtype.Timestamptz, 1, 1, func(c *Call) (value.Value, error) {
			f := c.Args[0].AsFloat()
			if math.IsNaN(f) || math.Abs(f) > 1e11 {
				return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range: %g", f)
			}
			secs := math.Floor(f)
			micros := math.Round((f - secs) * 1e6)
			return value.DatetimeOf(value.Datetime{Secs: int64(secs) + int64(micros)/1e6,
				Nanos: uint32(int64(micros)%1e6) * 1000}), nil
		}, pgtype.Float8),
		"to_char": Returns(pgtype.Text, 2, 2, toChar, 0, pgtype.Text),
	}
	maps.Copy(fns, clockFunctions())
	maps.Copy(fns, makeFunctions())
	return fns
}

// posixZone is the name of a zone for AT TIME ZONE, where a bare offset counts to the west.
func posixZone(name string) string {
	switch {
	case name == "":
	case name[0] == '-':
		return "+" + name[1:]
	case name[0] == '+':
		return "-" + name[1:]
	case name[0] >= '0' && name[0] <= '9':
		return "-" + name
	}
	return name
}

// civil takes a time apart in the zone of the session.
func civil(c *Call, v value.Value, oid pgtype.OID) (value.Civil, value.Datetime) {
	d := v.Datetime()
	if oid == pgtype.Timestamptz {
		d = castTime(d, pgtype.Timestamptz, pgtype.Timestamp, c.Env.Style()).Datetime()
	}
	return d.Civil(), d
}

func dateTrunc(c *Call) (value.Value, error) {
	if c.OIDs[1] == pgtype.Interval {
		return truncInterval(strings.ToLower(c.Str(0)), c.Args[1])
	}
	if c.Args[1].Kind() != value.KindDatetime {
		return value.None, sqlstate.New(sqlstate.UndefinedFunction, "date_trunc needs a timestamp")
	}
	t, local := civil(c, c.Args[1], c.OIDs[1])
	day := func() { t.Hour, t.Minute, t.Second, t.Nanos = 0, 0, 0, 0 }
	switch strings.ToLower(c.Str(0)) {
	case "microseconds":
		t.Nanos = t.Nanos / 1000 * 1000
	case "milliseconds":
		t.Nanos = t.Nanos / 1_000_000 * 1_000_000
	case "second":
		t.Nanos = 0
	case "minute":
		t.Nanos, t.Second = 0, 0
	case "hour":
		t.Nanos, t.Second, t.Minute = 0, 0, 0
	case "day":
		day()
	case "week":
		day()
		back := int64(weekday(local)+6) % 7
		d, _ := t.Datetime()
		d.Secs -= back * 86400
		t = d.Civil()
	case "month":
		day()
		t.Day = 1
	case "quarter":
		day()
		t.Day, t.Month = 1, (t.Month-1)/3*3+1
	case "year":
		day()
		t.Day, t.Month = 1, 1
	case "decade":
		day()
		t.Day, t.Month, t.Year = 1, 1, t.Year/10*10
	case "century":
		day()
		t.Day, t.Month, t.Year = 1, 1, (t.Year-1)/100*100+1
	default:
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "unit %q not recognized", c.Str(0))
	}
	d, ok := t.Datetime()
	if !ok {
		return value.None, sqlstate.New(sqlstate.DatetimeOverflow, "timestamp out of range")
	}
	if c.OIDs[1] != pgtype.Timestamp {
		return castTime(d, pgtype.Timestamp, pgtype.Timestamptz, c.Env.Style()), nil
	}
	return value.DatetimeOf(d), nil
}

// timestampOf is the type of timestamps that arguments are taken for.
func timestampOf(oids []pgtype.OID) pgtype.OID {
	if slices.Contains(oids, pgtype.Timestamp) && !slices.Contains(oids, pgtype.Timestamptz) {
		return pgtype.Timestamp
	}
	return pgtype.Timestamptz
}

// weekday counts from Sunday, 0.
func weekday(d value.Datetime) int {
	days := d.Secs / 86400
	if d.Secs%86400 < 0 {
		days--
	}
	return int(((days+4)%7 + 7) % 7)
}

func extract(c *Call) (value.Value, error) {
	unit := strings.ToLower(c.Str(0))
	switch {
	case c.OIDs[1] == pgtype.Interval:
		return extractInterval(unit, c.Args[1])
	case isClock(c.OIDs[1]):
		return extractClock(unit, c.Args[1], c.OIDs[1])
	}
	var n float64
	switch c.Args[1].Kind() {
	case value.KindDatetime:
		var err error
		if n, err = extractTime(c, unit); err != nil {
			return value.None, err
		}
	default:
		return value.None, sqlstate.New(sqlstate.UndefinedFunction, "EXTRACT needs a time")
	}
	return pgtype.Parse(pgtype.Numeric, strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', -1, 64), nil)
}

func extractTime(c *Call, unit string) (float64, error) {
	t, local := civil(c, c.Args[1], c.OIDs[1])
	d := c.Args[1].Datetime()
	switch unit {
	case "epoch":
		return float64(d.Secs) + float64(d.Nanos)/1e9, nil
	case "year":
		return float64(t.Year), nil
	case "month":
		return float64(t.Month), nil
	case "day":
		return float64(t.Day), nil
	case "hour":
		return float64(t.Hour), nil
	case "minute":
		return float64(t.Minute), nil
	case "second":
		return float64(t.Second) + float64(t.Nanos)/1e9, nil
	case "milliseconds":
		return float64(t.Second)*1e3 + float64(t.Nanos)/1e6, nil
	case "microseconds":
		return float64(t.Second)*1e6 + float64(t.Nanos)/1e3, nil
	case "quarter":
		return float64((t.Month-1)/3 + 1), nil
	case "dow":
		return float64(weekday(local)), nil
	case "isodow":
		return float64((weekday(local)+6)%7 + 1), nil
	case "doy":
		return float64(time.Date(t.Year, time.Month(t.Month), t.Day, 0, 0, 0, 0, time.UTC).YearDay()), nil
	case "week":
		_, w := time.Date(t.Year, time.Month(t.Month), t.Day, 0, 0, 0, 0, time.UTC).ISOWeek()
		return float64(w), nil
	case "timezone":
		return float64(local.Secs - d.Secs), nil
	}
	return 0, sqlstate.New(sqlstate.InvalidParameter, "unit %q not recognized for type %s", unit,
		pgtype.Format(c.OIDs[1]))
}

// toChar writes a time by the commonest patterns, or a number without padding.
func toChar(c *Call) (value.Value, error) {
	switch {
	case c.OIDs[0] == pgtype.Interval:
		return value.None, sqlstate.New(sqlstate.FeatureNotSupported, "to_char of an interval is not supported")
	case c.Args[0].Kind() != value.KindDatetime:
		return value.Str(c.Str(0)), nil
	}
	t, local := civil(c, c.Args[0], c.OIDs[0])
	at := time.Unix(local.Secs, int64(local.Nanos)).UTC()
	return value.Str(strings.NewReplacer(
		"YYYY", fmt.Sprintf("%04d", t.Year), "YY", fmt.Sprintf("%02d", t.Year%100), "MM", fmt.Sprintf("%02d", t.Month),
		"DD", fmt.Sprintf("%02d", t.Day), "HH24", fmt.Sprintf("%02d", t.Hour), "HH12", fmt.Sprintf("%02d",
			(t.Hour+11)%12+1),
		"HH", fmt.Sprintf("%02d", (t.Hour+11)%12+1), "MI", fmt.Sprintf("%02d", t.Minute), "SS", fmt.Sprintf("%02d",
			t.Second),
		"MS", fmt.Sprintf("%03d", t.Nanos/1_000_000), "US", fmt.Sprintf("%06d", t.Nanos/1000),
		"Month", fmt.Sprintf("%-9s", at.Month()), "Mon", at.Format("Jan"), "Day", fmt.Sprintf("%-9s", at.Weekday()),
		"Dy", at.Format("Mon"),
	).Replace(c.Str(1))), nil
}
