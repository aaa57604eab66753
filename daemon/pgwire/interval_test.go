package pgwire_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// intervalQueries are answered as PostgreSQL does.
const intervalQueries = `
SELECT interval '1 year 2 mons', interval '1 year 2 mons -3 days +04:05:06.789', interval '-1 year -2 mons', interval '1 mon', interval '-1 mon', interval '-1 day', interval '-00:00:01', interval '1 day -00:00:01', interval '-1 day 00:00:01', interval '-1 mon 1 day', interval '36:00', interval '0'
SELECT interval '1.5 years', interval '1.5 months', interval '1.7 mons', interval '1.5 weeks', interval '1.5 days', interval '-1.5 days', interval '0.7 months', interval '1.05 years', interval '1.5 decades', interval '1 century', interval '2 millennia', interval '0.001 s', interval '1.5 ms', interval '1500 us', interval '-2.25 hours'
SELECT interval '@ 1 minute ago', interval '1 day 2 hours ago', interval '1 mon -2 days ago', interval '1h30m', interval '2d', interval '90m', interval '36h', interval '1 year, 2 days', interval '3 days 4', interval '4:05.5', interval '1:02:03.4567891', interval '+1 day', interval '- 1 day'
SELECT interval '1-2', interval '-1-2', interval '1-2 3 4:05:06', interval '1-2 -3 -4:05:06', interval '3 4:05:06', interval '100:00:00', interval 'P1Y2M3W4DT5H6M7.5S', interval 'P-1Y', interval 'PT-1.5H', interval 'P1.5M', interval 'PT1M', interval 'P1M', interval '-3 4:05'
SELECT interval '1' month, interval '1' year, interval '2' day, interval '3' hour, interval '4' minute, interval '5' second, interval '1-2' year to month, interval '1 2' day to hour, interval '1 2:03' day to minute, interval '1 2:03:04' day to second, interval '1:02' hour to minute, interval '1:02' minute to second, interval '1:02:03' hour to second, interval '1 year 2 mons 3 days 04:05:06.7' hour, interval '1 year 2 mons 3 days 04:05:06.7' month, interval '1 year 2 mons' year, interval '3 days 04:05:06.7' second
SELECT interval '2 hours 1'
SELECT interval '1 2 hours', interval 'day 1', interval '1 day hour'
SELECT interval 'nothing'
SELECT interval '1 nothing'
SELECT interval ''
SELECT interval '1 day 2 day'
SELECT interval '1 2 day'
SELECT interval '1 day 1:00 2:00'
SELECT interval '1 hour 2:00'
SELECT interval '1:61'
SELECT interval '1:00:61'
SELECT interval '1-13'
SELECT interval '999999999999 years'
SELECT interval '99999999999999999999 days'
SELECT interval '3000000000 days'
SELECT interval '2147483647 days', interval '-2147483648 days', interval '178956970 years', interval '2147483647 mons'
SELECT interval '178956971 years'
SELECT interval '2562047788 hours', interval '2562047788:00:54'
SELECT interval '2562047789 hours'
SELECT interval '1 day 1', interval '1.5', interval '.5 day', interval '5. days'
SELECT interval '1 dayz'
SELECT interval '1e3 days'
SELECT interval 'P'
SELECT interval 'P1'
SELECT interval 'PT'
SELECT interval 'ago'
SELECT interval '1 day ago ago'
SELECT interval '1 w', interval '2 weeks', interval '1 c', interval '1 dec', interval '1 mil', interval '1 y', interval '1 yrs', interval '3 secs', interval '3 msecs', interval '7 usecs', interval '4 hrs', interval '5 mins', interval '6 centuries', interval '1 decades'
SELECT timestamp '2024-01-31' + interval '1 month', timestamp '2024-03-31 10:00' - interval '1 month', timestamp '2023-01-31' + interval '1 mon 1 day', timestamp '2024-02-29' + interval '1 year', timestamp '2024-02-29' - interval '1 year', date '2024-01-31' + interval '1 month', date '2024-01-01' - interval '1 day', timestamp '2024-01-01' + interval '-1 day', timestamp '2024-01-01' - interval '-36:00', timestamptz '2024-01-31 00:00+00' + '1 month', interval '1 month' + timestamp '2024-01-31', interval '1 day' + date '2024-02-28'
SELECT timestamp '2024-01-01' - timestamp '2024-03-01', timestamp '2024-03-01 12:00' - timestamp '2024-01-01 13:00', timestamp '2024-01-01 12:00' - timestamp '2024-03-01 11:00', timestamptz '2024-01-01' - timestamptz '2023-01-01', date '2024-01-01' - timestamp '2023-12-31 12:00', timestamp '2024-01-01 00:00:00.000001' - timestamp '2024-01-01'
SELECT age(timestamp '2001-04-10', timestamp '1957-06-13'), age(timestamp '1957-06-13', timestamp '2001-04-10'), age(timestamp '2024-03-31', timestamp '2024-02-29'), age(timestamp '2024-02-29', timestamp '2024-03-31'), age(timestamp '2024-01-01 10:00', timestamp '2023-12-31 11:00'), age(timestamp '2023-12-31 11:00', timestamp '2024-01-01 10:00'), age(timestamptz '2024-05-31 01:02:03.5', timestamptz '2020-02-29'), age(date '2024-05-31', date '2024-02-29'), age('2024-05-31', '2024-02-29'), age(timestamp '2024-01-31', timestamp '2024-01-31')
SELECT age(now()) = age(current_date::timestamptz, now()), age(timestamp '2020-01-31') = age(current_date::timestamp, timestamp '2020-01-31'), age('1'::xid) IS NOT NULL
SELECT -interval '1 mon 2 days 03:00', - interval '-1 day', interval '1 mon' - interval '2 days', interval '1 hour' - interval '2 hours', interval '1 day' + interval '-24:00', interval '1 year' + '1 mon', interval '1 mon' - '1 day'
SELECT interval '1 mon' * 1.5, interval '1 mon' / 2, interval '1 mon 15 days 12 hours' * 3, 2.5 * interval '1 year 2 mons 3 days', interval '1 day' / 3, interval '1 year' / 7, interval '-1 mon' * 0.3, interval '1 hour' * -1, interval '3 mons' * '2', interval '1 mon -1 hour' * 2.25, interval '1 week' / 1.5, interval '2 mons 17 days 13:14:15.16' * 0.12345, interval '10 days' * 1e0
SELECT interval '1 day' / 0
SELECT interval '2147483647 days' * 2
SELECT interval '1 day' * interval '1 day'
SELECT interval '2147483647 mons' + interval '1 mon'
SELECT interval '1 mon' = interval '30 days', interval '1 day' = interval '24 hours', interval '1 year' > interval '364 days', interval '-1 mon' < interval '0', interval '1 mon' <> interval '29 days 24:00', interval '1 mon' BETWEEN '1 day' AND '31 days', interval '1 mon' IN ('30 days', '1 hour'), interval '-1 day' = -interval '24:00', greatest(interval '1 mon', '29 days'), least(interval '1 mon', '-29 days', '1 hour')
SELECT DISTINCT v FROM (VALUES (interval '1 mon'), ('30 days'), ('720:00')) q(v)
SELECT v, count(*) FROM (VALUES (interval '1 mon'), ('31 days'), ('1 mon'), ('-1 mon'), ('-1 mon')) q(v) GROUP BY v ORDER BY v
SELECT v FROM (VALUES (interval '1 mon'), ('-1 day'), ('1 year'), ('25:00'), ('1 day'), ('-1 mon 40 days'), (NULL)) q(v) ORDER BY v DESC NULLS LAST
SELECT a.v, b.v FROM (VALUES (interval '1 mon'), ('1 day')) a(v) JOIN (VALUES (interval '24:00'), ('30 days')) b(v) ON a.v = b.v ORDER BY 1
SELECT sum(v), avg(v), min(v), max(v), count(DISTINCT v), array_agg(v) FROM (VALUES (interval '1 mon'), ('-1 day'), ('36:00'), ('1 mon')) q(v)
SELECT sum(v) OVER (ORDER BY v ROWS 1 PRECEDING), avg(v) OVER (ORDER BY v ROWS 1 PRECEDING), lag(v) OVER (ORDER BY v) FROM (VALUES (interval '1 mon'), ('-1 day'), ('36:00'), ('2 mons')) q(v) ORDER BY v
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), percentile_disc(0.5) WITHIN GROUP (ORDER BY v), percentile_cont(ARRAY[0.25, 0.9]) WITHIN GROUP (ORDER BY v) FROM (VALUES (interval '1 mon'), ('-1 day'), ('36:00'), ('2 mons 3 days')) q(v)
SELECT justify_hours(interval '36:00'), justify_hours(interval '1 day -01:00'), justify_hours(interval '-1 day 01:00'), justify_days(interval '35 days'), justify_days(interval '1 mon -1 day'), justify_days(interval '-35 days 01:00'), justify_interval(interval '1 mon -1 hour'), justify_interval(interval '-1 mon 40 days 25:00'), justify_interval(interval '30 days 24:00'), justify_interval(interval '-1 mon 1 hour'), justify_interval('-40 days -25:00')
SELECT extract(year FROM interval '25 mons'), extract(month FROM interval '25 mons'), extract(quarter FROM interval '5 mons'), extract(day FROM interval '40 days'), extract(hour FROM interval '36:10'), extract(minute FROM interval '-1:10'), extract(second FROM interval '1:02:03.456'), extract(milliseconds FROM interval '3.456 s'), extract(microseconds FROM interval '1:02:03.456'), extract(decade FROM interval '25 years'), extract(century FROM interval '250 years'), extract(millennium FROM interval '2500 years')
SELECT extract(epoch FROM interval '1 year'), extract(epoch FROM interval '1 mon'), extract(epoch FROM interval '13 mons 2 days 03:04:05.678'), extract(epoch FROM interval '-1 mon'), extract(year FROM interval '-25 mons'), extract(month FROM interval '-25 mons'), extract(quarter FROM interval '-5 mons'), extract(second FROM interval '-3.5 s'), date_part('month', interval '5 mons'), date_part('epoch', interval '1.5 s')
SELECT extract(week FROM interval '1 day')
SELECT extract(dow FROM interval '1 day')
SELECT extract(plethora FROM interval '1 day')
SELECT date_trunc('month', interval '1 year 2 mons 3 days 04:05:06.789'), date_trunc('year', interval '-25 mons'), date_trunc('quarter', interval '5 mons'), date_trunc('hour', interval '3 days 04:05'), date_trunc('second', interval '-1.5 s'), date_trunc('decade', interval '25 years'), date_trunc('day', interval '40 days 25:00'), date_trunc('milliseconds', interval '1.2345678 s'), date_trunc('century', interval '-250 years')
SELECT date_trunc('week', interval '1 mon')
SELECT date_trunc('nothing', interval '1 mon')
SELECT date_trunc('month', timestamp '2024-05-06'), date_trunc('month', date '2024-05-06'), date_trunc('month', timestamptz '2024-05-06 01:00')
SELECT * FROM generate_series(timestamp '2024-01-31', timestamp '2024-06-01', interval '1 month')
SELECT * FROM generate_series(timestamp '2024-01-31', '2023-09-01', '-1 month')
SELECT * FROM generate_series(timestamptz '2024-01-01', '2024-01-02', '6 hours')
SELECT * FROM generate_series('2024-01-01'::date, '2024-03-01'::date, '1 mon')
SELECT count(*) FROM generate_series(timestamp '2024-01-01', '2023-01-01', '1 day')
SELECT * FROM generate_series(timestamp '2024-01-01', '2024-02-01', '0')
SELECT make_interval(years => 1, months => 2), make_interval(1, 2, 3, 4, 5, 6, 7.8), make_interval(days => -1), make_interval(months => -13, secs => -0.5), make_interval(years => 10, months => -121), make_interval(hours => 100000)
SELECT date_bin('1 month', timestamp '2024-01-01', timestamp '2024-01-01')
SELECT date_bin('-1 day', timestamp '2024-01-01', timestamp '2024-01-01')
SELECT interval '1 day'::text, '1 mon'::interval::text, '-1 mon'::interval || 'x', interval '1 mon'::text::interval, (interval '27:00')::time, (interval '-1 hour')::time, (interval '1 day 01:00')::time, time '10:00'::interval, to_json(interval '-1 mon'), jsonb_build_object('a', interval '-1 mon')->>'a', ARRAY[interval '1 mon', '-1 day'], ROW (interval '-1 mon')::text, NULL::interval, pg_typeof(interval '1 mon')::text
SELECT time '23:00' + interval '2 hours', time '01:00' - interval '2 hours', time '01:00' + interval '1 mon 1 day 01:00', time '10:00' - time '11:30', interval '1 hour' + time '10:00', date '2024-01-01' + time '10:00', time '10:00' + date '2024-01-01', timestamp '2024-01-01' + time '01:00', time '01:00' * 2, interval '1 hour' - time '00:30', timestamp '2024-01-01' - time '01:00', - time '01:00'
SELECT time '10:00' + time '11:00'
SELECT interval '1 mon' - timestamp '2024-01-01'
SELECT date '2024-01-01' + 1, 1 + date '2024-01-01', date '2024-01-01' - 1
SELECT date '2024-01-01' * 2
SELECT (timestamp '2024-01-31', interval '1 mon') OVERLAPS (timestamp '2024-02-29', interval '1 day'), (timestamp '2024-01-31', interval '-1 mon') OVERLAPS (timestamp '2024-01-01', interval '1 day'), (time '10:00', interval '1 mon') OVERLAPS (time '10:00', interval '1 hour')
SELECT v, count(*) OVER (ORDER BY v RANGE '1 month' PRECEDING) AS a, count(*) OVER (ORDER BY v RANGE BETWEEN '1 month' FOLLOWING AND '2 mons 1 day' FOLLOWING) AS b, count(*) OVER (ORDER BY v DESC RANGE '1 mon' PRECEDING) AS c FROM (VALUES (timestamp '2024-01-31'), ('2024-02-29'), ('2024-02-28'), ('2024-03-31'), ('2024-03-30'), ('2024-04-30')) q(v) ORDER BY v
SELECT v, count(*) OVER (ORDER BY v RANGE '1 year' PRECEDING) FROM (VALUES (date '2024-02-29'), ('2023-02-28'), ('2025-02-28'), (NULL)) q(v) ORDER BY v
SELECT v, count(*) OVER (ORDER BY v RANGE BETWEEN '1 mon' PRECEDING AND '1 day' FOLLOWING) FROM (VALUES (interval '1 mon'), ('2 mons'), ('31 days'), ('-1 mon'), ('40 days')) q(v) ORDER BY v
SELECT v, count(*) OVER (ORDER BY v RANGE '1 day 01:00' PRECEDING) FROM (VALUES (time '10:00'), ('11:00'), ('09:30'), ('23:30')) q(v) ORDER BY v
SELECT count(*) OVER (ORDER BY v RANGE '-1 mon' PRECEDING) FROM (VALUES (timestamp '2024-01-31')) q(v)
SELECT count(*) OVER (ORDER BY v RANGE '-1 day' PRECEDING) FROM (VALUES (interval '1 day')) q(v)
SELECT count(*) OVER (ORDER BY v RANGE '-1 hour' PRECEDING) FROM (VALUES (time '10:00')) q(v)
SELECT CASE WHEN true THEN interval '1 mon' END, coalesce(NULL, interval '-1 day'), nullif(interval '1 mon', '30 days')
SELECT * FROM jsonb_to_record('{"a": "1 mon", "b": "-1 day"}') AS t(a interval, b interval)
SELECT x + interval '1 mon' * n FROM (VALUES (timestamp '2024-01-31')) q(x), generate_series(-3, 3) n ORDER BY n
SELECT interval '1 mon' IS DISTINCT FROM interval '30 days', interval '1 mon' = ANY (ARRAY[interval '30 days'])
SELECT extract(epoch FROM now() - now()), now() - interval '1 mon' < now(), now() + '1 year' > now()
SELECT interval 'P1'
SELECT interval 'PT'
SELECT interval 'P'
SELECT interval 'P0001-02-03T04:05:06'
SELECT interval 'P1-2'
SELECT interval 'P1-2-3'
SELECT interval 'PT1:2'
SELECT interval 'PT1'
SELECT interval 'P1Y2'
SELECT '1 2'::interval hour
SELECT interval(2) '1.23456 s'
SELECT interval '1.23456' second(2)
SELECT interval '1.23456'::interval(3)
SELECT interval '1-2' day
SELECT interval '1 day' year to month
SELECT interval '1 2' hour to second
SELECT interval '1:2:3' minute to second
SELECT interval '1' month to day
SELECT interval '1:2' minute
SELECT interval '1.5' month
SELECT interval '1.7' day
SELECT interval '1 2' year to month
SELECT interval '10:20' hour to minute
SELECT interval '1 10:20' day to minute
SELECT CAST('1.5 mon' AS interval day)
SELECT interval '1' minute to second
SELECT interval '1 1' day to second
SET TIME ZONE 'America/New_York'
SELECT timestamptz '2024-03-09 12:00' + interval '1 day', timestamptz '2024-03-09 12:00' + interval '24 hours', timestamptz '2024-02-10 12:00' + interval '1 mon', timestamptz '2024-11-03 12:00' - interval '1 day', timestamptz '2024-03-31 12:00' - interval '1 mon 1 day', age(timestamptz '2024-03-11', timestamptz '2024-03-09'), timestamptz '2024-03-11' - timestamptz '2024-03-09'
SELECT * FROM generate_series(timestamptz '2024-03-09', '2024-03-12', '1 day')
SELECT v, count(*) OVER (ORDER BY v RANGE '1 day' PRECEDING) FROM (VALUES (timestamptz '2024-03-10 00:00'), ('2024-03-11 00:00'), ('2024-03-10 01:00')) q(v) ORDER BY v
SELECT date_trunc('month', timestamptz '2024-03-31 12:00'), date_trunc('day', date '2024-03-31'), (timestamptz '2024-03-09 12:00', interval '1 day') OVERLAPS (timestamptz '2024-03-10 11:30', interval '1 mon')
SET TIME ZONE 'UTC'
`

func TestIntervalsAgainstPostgreSQL(t *testing.T) {
	pg, ours, _ := beside(t)
	answerAlike(t, pg, ours, intervalQueries)
}

// TestIntervalsInBinary: intervals have the binary form of PostgreSQL as answers and as parameters.
func TestIntervalsInBinary(t *testing.T) {
	pg, ours, _ := beside(t)
	ask := func(c *pgconn.PgConn, query string, args [][]byte) [][]byte {
		t.Helper()
		res := c.ExecParams(t.Context(), query, args, []uint32{1186}, []int16{1}, []int16{1}).Read()
		if res.Err != nil || len(res.Rows) != 1 {
			t.Fatalf("%s: %d rows, %v", query, len(res.Rows), res.Err)
		}
		return res.Rows[0]
	}
	for _, text := range []string{"1 mon -3 days 04:05:06.789", "-1 year", "36:00", "1 day",
		"-00:00:00.000001", "178956970 years 2147483647 days", "-2147483648 days", "0"} {
		want := ask(pg, "SELECT $1 + interval '"+text+"'", [][]byte{make([]byte, 16)})
		got := ask(ours, "SELECT $1 + interval '"+text+"'", [][]byte{make([]byte, 16)})
		if !bytes.Equal(got[0], want[0]) {
			t.Errorf("%s: got %x, want %x", text, got[0], want[0])
		}
		if again := ask(ours, "SELECT $1 + interval '0'", got); !bytes.Equal(again[0], want[0]) {
			t.Errorf("%s as a parameter: got %x, want %x", text, again[0], want[0])
		}
	}
}

// TestIntervalsInTheLanguage: as a parameter of a statement of the language, an interval is a duration or is refused.
func TestIntervalsInTheLanguage(t *testing.T) {
	_, ours, _ := beside(t)
	if _, err := ours.Exec(t.Context(), "SET dialect = 'surrealql'").ReadAll(); err != nil {
		t.Fatal(err)
	}
	ask := func(oid uint32, text string) string {
		res := ours.ExecParams(t.Context(), "RETURN <string> $1", [][]byte{[]byte(text)}, []uint32{oid}, nil,
			nil).Read()
		if res.Err != nil {
			return stateOf(res.Err)
		}
		return string(res.Rows[0][0])
	}
	for _, tc := range []struct {
		oid        uint32
		text, want string
	}{{1186, "36:00", "1d12h"}, {1186, "1 day 2:00", "1d2h"}, {1186, "1 mon", "0A000"}, {1186, "-1 day", "0A000"},
		{1187, "{36:00,1 day}", "[1d12h, 1d]"}, {1187, "{36:00,1 mon}", "0A000"}} {
		if got := ask(tc.oid, tc.text); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.text, got, tc.want)
		}
	}
}

// TestRandomIntervalsAgainstPostgreSQL reads and computes with random intervals at both servers.
func TestRandomIntervalsAgainstPostgreSQL(t *testing.T) {
	pg, ours, _ := beside(t)
	r := rand.New(rand.NewPCG(seedOr(t, 5), 6))
	number := func() string {
		return pickOf(r, "", "", "-", "+") + pickOf(r, "0", "1", "2", "7", "13", "29", "31", "100", "999", "1.5",
			"0.7", ".25", "3.333", "45.678901", "2.9999999")
	}
	units := strings.Fields("us ms s secs second min minutes h hour hrs d days week w mon months y year decades c " +
		"century mil")
	text := func() string {
		if r.IntN(8) == 0 {
			return pickOf(r, "P", "P-", "p") + pickOf(r, "1Y", "2.5Y", "13M", "0.3M", "") +
				pickOf(r, "3W", "1.7D", "-4D", "") + pickOf(r, "", "T5H", "T-1.5M6S", "T0.0000015S", "T")
		}
		var parts []string
		for range 1 + r.IntN(4) {
			switch r.IntN(6) {
			case 0:
				parts = append(parts, pickOf(r, "", "-", "+")+
					pickOf(r, "1:02", "25:59:59.9999999", "0:00:01.5", "3:04:05", "7:5.25"))
			case 1:
				parts = append(parts, pickOf(r, "1-2", "-3-11", "0-5", number()))
			default:
				parts = append(parts, number()+pickOf(r, " ", "", " ")+units[r.IntN(len(units))])
			}
		}
		if r.IntN(6) == 0 {
			parts = append(parts, "ago")
		}
		return strings.Join(parts, " ")
	}
	fields := []string{"", "", "", " year", " month", " day", " hour", " minute", " second", " year to month",
		" day to hour", " day to second", " hour to minute", " minute to second", " second(2)"}
	stamp := func() string {
		return pickOf(r, "timestamp ", "timestamptz ") + pickOf(r, "'2024-01-31'", "'2024-02-29 23:59:59.5'",
			"'1999-12-31'", "'2023-10-30 01:02:03'")
	}
	valid := 0
	for range 1500 {
		a := "interval '" + text() + "'" + fields[r.IntN(len(fields))]
		b := "interval '" + text() + "'"
		query := "SELECT " + a
		switch r.IntN(8) {
		case 0:
			query += " + " + b + ", " + a + " - " + b
		case 1:
			query += " * " + pickOf(r, "2", "0.1", "-1.75", "1e-3") + ", " + a + " / " + pickOf(r, "3", "-0.7", "7")
		case 2:
			query = "SELECT " + stamp() + " + " + a + ", " + stamp() + " - " + b
		case 3:
			query += " < " + b + ", " + a + " = " + b
		case 4:
			query += fmt.Sprintf(", justify_hours(%s), justify_days(%[1]s), justify_interval(%[1]s), - (%[1]s)", a)
		case 5:
			unit := pickOf(r, "epoch", "year", "month", "quarter", "day", "hour", "minute", "second", "microseconds",
				"decade")
			query = "SELECT extract(" + unit + " FROM " + a + ")"
			if unit != "epoch" {
				query += ", date_trunc('" + unit + "', " + a + ")"
			}
		case 6:
			x, y := stamp(), stamp()
			if strings.HasPrefix(x, "timestamp ") != strings.HasPrefix(y, "timestamp ") {
				y = x
			}
			query = "SELECT age(" + x + " + " + a + ", " + y + "), " + x + " - (" + y + " + " + b + ")"
		}
		want, got := answerOf(t, pg, query), answerOf(t, ours, query)
		if want.code == "" {
			valid++
		}
		if diff := difference(got, want); diff != "" {
			t.Errorf("%s\n%s", query, diff)
		}
	}
	if valid < 500 {
		t.Errorf("only %d queries are valid", valid)
	}
}
