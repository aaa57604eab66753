package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

// castClock makes a time of day with a zone of one without it or of a timestamp, or takes the zone off.
func castClock(v value.Value, from, to pgtype.OID, st *pgtype.Style) (value.Value, error) {
	if to == pgtype.Time {
		c, _ := pgtype.ClockOf(v)
		return clockValue(c.Micros), nil
	}
	if from == pgtype.Time {
		s, err := pgtype.SpanOf(v)
		c := pgtype.Clock{Micros: int64(s.Days)*pgtype.MicrosPerDay + s.Micros, Offset: pgtype.OffsetNow(st)}
		return c.Value(), err
	}
	d := v.Datetime()
	local := castTime(d, from, pgtype.Timestamp, st).Datetime()
	t := local.Civil()
	micros := int64(t.Hour*3600+t.Minute*60+t.Second)*microsPerSecond + int64(t.Nanos/1000)
	return pgtype.Clock{Micros: micros, Offset: int(local.Secs - d.Secs)}.Value(), nil
}

// clockValue is a time of day.
func clockValue(micros int64) value.Value {
	return value.DurationOf(value.Duration{Secs: uint64(micros / microsPerSecond),
		Nanos: uint32(micros%microsPerSecond) * 1000})
}

// zonedMoved is a time of day with a zone by the time of an interval later, or earlier.
func zonedMoved(op string, at, by *bound) *bound {
	return strict(pgtype.TimeTZ, op, at, by, func(_ *scope, x, y value.Value) (value.Value, error) {
		c, _ := pgtype.ClockOf(x)
		t, err := clockMoved(clockValue(c.Micros), y, op == "-")
		if err != nil {
			return value.None, err
		}
		s, err := pgtype.SpanOf(t)
		return pgtype.Clock{Micros: s.Micros, Offset: c.Offset}.Value(), err
	})
}

// zonedOn is a time of day with a zone on a date.
func zonedOn(op string, date, at *bound) *bound {
	return strict(pgtype.Timestamptz, op, date, at, func(_ *scope, x, y value.Value) (value.Value, error) {
		c, _ := pgtype.ClockOf(y)
		d, ok := later(x.Datetime(), c.Micros/microsPerSecond-int64(c.Offset), c.Micros%microsPerSecond)
		if !ok {
			return value.None, timestampRange()
		}
		return value.DatetimeOf(d), nil
	})
}

// extractClock is a part of a time of day.
func extractClock(unit string, v value.Value, oid pgtype.OID) (value.Value, error) {
	c, zoned := pgtype.ClockOf(v)
	if !zoned {
		s, err := pgtype.SpanOf(v)
		if err != nil {
			return value.None, err
		}
		c.Micros = int64(s.Days)*pgtype.MicrosPerDay + s.Micros
	}
	n, parts := int64(0), int64(1)
	switch second := c.Micros % (60 * microsPerSecond); {
	case unit == "microseconds":
		n = second
	case unit == "milliseconds":
		n, parts = second, 1000
	case unit == "second":
		n, parts = second, microsPerSecond
	case unit == "minute":
		n = c.Micros / (60 * microsPerSecond) % 60
	case unit == "hour":
		n = c.Micros / (3600 * microsPerSecond)
	case unit == "epoch":
		n, parts = c.Micros-int64(c.Offset)*microsPerSecond, microsPerSecond
	case unit == "timezone" && zoned:
		n = int64(c.Offset)
	case unit == "timezone_hour" && zoned:
		n = int64(c.Offset / 3600)
	case unit == "timezone_minute" && zoned:
		n = int64(c.Offset / 60 % 60)
	default:
		return value.None, noUnit(unit, oid)
	}
	d, ok := decimal.FromInt(n).Div(decimal.FromInt(parts))
	if !ok {
		return value.None, outOfRange(pgtype.Numeric)
	}
	return value.DecimalOf(d), nil
}

// noUnit refuses a unit that a type does not have: others know it, or none does.
func noUnit(unit string, oid pgtype.OID) error {
	switch unit {
	case "day", "week", "month", "quarter", "year", "decade", "century", "millennium", "dow", "isodow", "doy",
		"isoyear", "julian", "timezone", "timezone_hour", "timezone_minute":
		return sqlstate.New(sqlstate.FeatureNotSupported, "unit %q not supported for type %s", unit, pgtype.Format(oid))
	}
	return sqlstate.New(sqlstate.InvalidParameter, "unit %q not recognized for type %s", unit, pgtype.Format(oid))
}
