package sql

import (
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

// clockFunctions tell the time: that of the transaction, the same for all of its rows and statements, that of the
// statement, or that of the clock.
func clockFunctions() map[string]*Function {
	transaction := func(st *pgtype.Style) time.Time { return st.Began }
	statement := func(st *pgtype.Style) time.Time { return st.Asked }
	clock := tells(0, pgtype.Timestamptz, func(*pgtype.Style) time.Time { return time.Now() })
	clock.Varies = true
	return map[string]*Function{
		"now":                   tells(0, pgtype.Timestamptz, transaction),
		"transaction_timestamp": tells(0, pgtype.Timestamptz, transaction),
		"current_timestamp":     tells(1, pgtype.Timestamptz, transaction),
		"current_date":          tells(0, pgtype.Date, transaction),
		"current_time":          tells(1, pgtype.TimeTZ, transaction),
		"localtimestamp":        tells(1, pgtype.Timestamp, transaction),
		"localtime":             tells(1, pgtype.Time, transaction),
		"statement_timestamp":   tells(0, pgtype.Timestamptz, statement),
		"clock_timestamp":       clock,
	}
}

// tells is a function that gives a time as a value of a type. An argument is how many digits its seconds have.
func tells(most int, oid pgtype.OID, at func(*pgtype.Style) time.Time) *Function {
	return Returns(oid, 0, most, func(c *Call) (value.Value, error) {
		unit := time.Microsecond
		if len(c.Args) > 0 {
			for digits := c.Int(0); digits < 6; digits++ {
				unit *= 10
			}
		}
		t := at(c.Env.Style()).Truncate(time.Microsecond)
		t = t.Add(unit / 2).Truncate(unit)
		d := value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())})
		return castValue(c.Ctx, c.Env, d, pgtype.Timestamptz, oid)
	}, pgtype.Int4)
}
