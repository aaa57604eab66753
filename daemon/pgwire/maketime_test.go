package pgwire_test

import (
	"fmt"
	"strings"
	"testing"
)

// timeQueries are answered as PostgreSQL does.
const timeQueries = `
SELECT make_interval(), make_interval(days => 10), make_interval(0, 0, 2, 1, 3, 4, 5.678901), make_interval(hours => 3, secs => 0.5), make_interval(0, 0, weeks => 1)
SELECT make_interval(secs := 1.25, mins := 2), make_interval(days => NULL), make_interval(0, 0, 0, 1, NULL)
SELECT make_interval(days => '7'), make_interval(days => n, hours => n) FROM generate_series(1, 3) n ORDER BY 2
SELECT make_interval(days => 1, 2)
SELECT make_interval(days => 1, days => 2)
SELECT make_interval(nothing => 1)
SELECT make_interval(1, years => 2)
SELECT make_interval(days => 'x')
SELECT make_interval(days => 'x'::text)
SELECT make_interval(days => 1.5)
SELECT make_interval(secs => 'NaN')
SELECT make_interval(0, 0, 0, 0, 0, 0, 0, 0)
SELECT sum(x => 1)
SELECT lower(x => 'A')
SELECT nothing(x => 1)
SELECT make_date(2024, 2, 29), make_date(-44, 3, 15), make_date(year => 2024, month => 1, day => 31), make_date(day => 1, month => 2, year => 3), make_date(NULL, 1, 1)
SELECT make_date(2023, 2, 29)
SELECT make_date(0, 1, 1)
SELECT make_date(2023, 13, 1)
SELECT make_date(2023, 0, 1)
SELECT make_date(2147483647, 1, 1)
SELECT make_date(2023, 1)
SELECT make_date('a'::text, 1, 1)
SELECT make_date(2023, 1, 1.0)
SELECT make_time(8, 15, 23.5), make_time(24, 0, 0), make_time(23, 59, 60), make_time(0, 0, 0), make_time(hour => 1, min => 2, sec => 3)
SELECT make_time(24, 0, 0.1)
SELECT make_time(25, 0, 0)
SELECT make_time(-1, 0, 0)
SELECT make_time(1, 60, 0)
SELECT make_time(1, 0, 60.5)
SELECT make_time(1, 0, -0.1)
SELECT make_time(1, 0, 'NaN')
SELECT make_timestamp(2013, 7, 15, 8, 15, 23.5), make_timestamp(2013, 12, 31, 24, 0, 0), make_timestamp(2013, 1, 1, 23, 59, 60), make_timestamp(-1, 1, 1, 0, 0, 0.000001), make_timestamp(year => 2013, month => 7, mday => 15, hour => 8, min => 15, sec => 23.5)
SELECT make_timestamp(2013, 7, 32, 8, 15, 23.5)
SELECT make_timestamp(2013, 7, 15, 25, 15, 23.5)
SELECT make_timestamptz(2013, 7, 15, 8, 15, 23.5), make_timestamptz(2013, 7, 15, 8, 15, 23.5, 'Europe/Berlin'), make_timestamptz(2013, 1, 15, 8, 15, 23.5, '+02'), make_timestamptz(2013, 7, 15, 8, 15, 23.5, '-05:30'), make_timestamptz(2013, 7, 15, 8, 15, 23, timezone => 'UTC')
SELECT make_timestamptz(2013, 7, 15, 8, 15, 23.5, 'Nowhere/City')
SELECT make_timestamptz(2013, 7, 15, 8, 15, 23.5, '2')
SELECT make_timestamptz(2013, 7, 15, 8, 15, 23.5, NULL)
SELECT pg_typeof(make_interval())::text, pg_typeof(make_date(1, 1, 1))::text, pg_typeof(make_time(1, 1, 1))::text, pg_typeof(make_timestamp(1, 1, 1, 1, 1, 1))::text, pg_typeof(make_timestamptz(1, 1, 1, 1, 1, 1))::text
SELECT justify_hours(interval '2 days 3 hours'), justify_days(interval '29 days'), justify_interval(interval '1 day 2 hours'), justify_hours(NULL), justify_hours('30 hours')
SELECT justify_hours(1)
SELECT date_bin('15 minutes', timestamp '2020-02-11 15:44:17.5', timestamp '2001-01-01'), date_bin('15 minutes', timestamptz '2020-02-11 15:44:17+00', '2001-01-01 00:02:30'), date_bin(interval '1 day', '2020-02-11 15:44:17', '2001-01-01')
SELECT date_bin('2 hours', timestamp '1999-12-31 23:59:59', timestamp '2000-01-01 01:00:00'), date_bin('1 hour', timestamp '1999-12-31 23:00:00', timestamp '2000-01-01'), date_bin('7 days', date '2024-02-29', date '2024-01-01'), date_bin('1 day', timestamp '2024-02-29 12:00', date '2024-01-01')
SELECT date_bin('1 microsecond', timestamp '2000-01-01 00:00:00.123456', timestamp '2001-01-01'), date_bin(NULL, now(), now()), date_bin('1 day', NULL, timestamp '2000-01-01')
SELECT date_bin('0 days', timestamp '2000-01-01', timestamp '2000-01-01')
SELECT date_bin('1 day', 5, timestamp '2000-01-01')
SELECT date_bin('1 day', timestamp '2000-01-01')
SELECT date_bin('x', timestamp '2000-01-01', timestamp '2000-01-01')
SELECT date_bin('10 minutes', t, '2000-01-01'), count(*) FROM x GROUP BY 1 ORDER BY 1
SELECT (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-31', date '2024-03-01'), (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-02-01', date '2024-03-01'), (date '2024-02-01', date '2024-01-01') OVERLAPS (date '2024-01-15', interval '1 day')
SELECT (timestamp '2024-01-01', interval '1 day') OVERLAPS (timestamp '2024-01-01 12:00', interval '1 hour') AS a, ROW (now(), now()) OVERLAPS ROW (now(), now()), NOT (now(), now()) OVERLAPS (now(), interval '1 day') AND true AS b
SELECT (time '10:00', time '12:00') OVERLAPS (time '11:00', time '13:00'), (time '10:00', time '11:00') OVERLAPS (time '11:00', time '13:00'), ('2024-01-01'::date, '2024-01-02') OVERLAPS ('2024-01-01', '2024-01-05')
SELECT a, b, c, d, (a, b) OVERLAPS (c, d) FROM (VALUES (date '2024-01-01'), ('2024-01-03'), (NULL)) p(a), (VALUES (date '2024-01-01'), ('2024-01-02'), (NULL)) q(b), (VALUES (date '2024-01-01'), ('2024-01-02'), (NULL)) r(c), (VALUES (date '2024-01-02'), ('2024-01-04'), (NULL)) s(d) ORDER BY 1, 2, 3, 4
SELECT (time '10:00', interval '2 hours') OVERLAPS (time '11:00', time '13:00'), (time '22:00', interval '4 hours') OVERLAPS (time '01:00', time '03:00'), (time '22:00', interval '1 day 4 hours') OVERLAPS (time '03:00', interval '30 minutes'), (time '23:59:59.6', interval '0.6 seconds') OVERLAPS (time '00:00:00.1', time '00:00:00.3')
SELECT (NULL::time, interval '2 hours') OVERLAPS (time '11:00', interval '1 hour'), (time '11:00', NULL::interval) OVERLAPS (time '11:00', interval '1 hour')
SELECT overlaps(date '2024-01-01', date '2024-02-01', date '2024-01-31', date '2024-03-01')
SELECT (1, 2) OVERLAPS (3, 4)
SELECT (date '2024-01-01', 5) OVERLAPS (date '2024-01-01', 6)
SELECT (date '2024-01-01') OVERLAPS (date '2024-01-01', now())
SELECT (now(), now(), now()) OVERLAPS (now(), now())
SELECT (now(), now()) OVERLAPS (now(), now(), now())
SELECT (now(), now()) OVERLAPS now()
SELECT id FROM x WHERE (t, interval '30 days') OVERLAPS (timestamptz '2024-01-15 00:00:00+00', timestamptz '2024-03-01 00:00:00+00') ORDER BY id
SELECT jsonb_set('{"a": 1}', '{b}', '2', create_if_missing => false) = '{"a": 1}', jsonb_insert('[1]', '{0}', '2', insert_after => true) = '[1, 2]', jsonb_set(replacement => '5', path => '{a}', jsonb_in => '{"a": 1}') = '{"a": 5}'
`

func TestTimesAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	fillBoth(t, pg, func(text string) { run(t, d, text) })
	answerAlike(t, pg, ours, timeQueries)
}

// A column of durations has no months and nothing negative, which are refused; days are its days of 24 hours.
func TestStoredIntervals(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE v SCHEMAFULL; DEFINE FIELD d ON v TYPE option<duration>;
		DEFINE FIELD l ON v TYPE option<array<duration>>`)
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	for _, text := range []string{"'1 mon'", "make_interval(years => 1)", "'-1 day'", "interval '1 day -25:00'",
		"timestamp '2024-01-01' - timestamp '2024-01-02'"} {
		for _, write := range []string{"INSERT INTO v (id, d) VALUES ('v:1', %s)",
			"INSERT INTO v (id, d) SELECT 'v:1', interval %s",
			"INSERT INTO v (id, l) VALUES ('v:1', ARRAY[interval '1 day', %s])"} {
			if strings.HasPrefix(text, "make") || strings.HasPrefix(text, "i") || strings.HasPrefix(text, "t") {
				write = strings.Replace(write, "interval %s", "%s", 1)
			}
			if got := f.ask(fmt.Sprintf(write, text)); got != "E!0A000 ZI" {
				t.Errorf(write+": %s", text, got)
			}
		}
	}
	f.want("INSERT INTO v (id, d, l) VALUES ('v:1', '36:00', ARRAY[interval '1 mon' - interval '1 mon' + '25:00', '-1 day 24:00']) RETURNING d, l",
		"T[d:1186 l:1187] D[1 day 12:00:00|{\"1 day 01:00:00\",00:00:00}] C(INSERT 0 1) ZI")
	f.want("UPDATE v SET d = d - '37:00'", "E!0A000 ZI")
	f.want("UPDATE v SET d = d + '2 days -01:00' RETURNING d, d * 2.5, d - '1 mon', -d, d > '1 mon', extract(hour FROM d)",
		"T[d:1186 ?column?:1186 ?column?:1186 ?column?:1186 ?column?:16 extract:1700] D[3 days 11:00:00|7 days 39:30:00|-1 mons +3 days 11:00:00|-3 days -11:00:00|f|11] C(UPDATE 1) ZI")
	f.want("SELECT count(*) FROM v WHERE d = '83:00' AND d IN ('2 days 35:00', '1 mon') AND d BETWEEN '-1 mon' AND '1 mon'",
		"T[count:20] D[1] C(SELECT 1) ZI")
	if got := f.answer("COPY v (id, d) FROM STDIN <<< 2\t1 mon"); !strings.Contains(got, "Code:0A000") {
		t.Errorf("COPY: %s", got)
	}
	f.want("SELECT count(*) FROM v", "T[count:20] D[1] C(SELECT 1) ZI")
}
