package pgwire_test

import (
	"bytes"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// zonedQueries are answered as PostgreSQL does.
const zonedQueries = `
SELECT timetz '10:00+02', '10:00:00.5-03:30'::timetz, time with time zone '23:59:59.999999 +05:45:30', timetz '10:00Z', timetz '10:00', timetz '24:00+01', CAST('1:2:3' AS time with time zone), timetz '10:00 UTC', timetz '2024-06-01 10:00+02', timetz 'allballs'
SELECT timetz 'nothing'
SELECT timetz '25:00+01'
SELECT time '25:00'
SELECT ARRAY[timetz '10:00+02', '09:00+00']
SELECT '{10:00+02,09:00+00}'::timetz[]
SELECT timetz '10:00+17'
SELECT timetz '10:00:61+01'
SELECT timetz '10:00 America/New_York'
SELECT timetz '2024-06-01 10:00 America/New_York', timetz '2024-12-01 10:00 America/New_York'
SELECT timetz '10:00+02' < timetz '10:00+01', timetz '10:00+02' = timetz '09:00+01', timetz '10:00+02' < timetz '09:00+01', timetz '10:00+00' = time '10:00', timetz '10:00+02' BETWEEN '07:00+00' AND '09:00+00', timetz '10:00+02' = '10:00+02', greatest(timetz '10:00+02', '09:00+00')
SELECT v FROM (VALUES (timetz '10:00+02'), ('09:00+01'), ('10:00-02'), ('08:00+00'), (NULL)) q(v) ORDER BY v
SELECT v, count(*) FROM (VALUES (timetz '10:00+02'), ('09:00+01'), ('10:00+02')) q(v) GROUP BY v ORDER BY v
SELECT min(v), max(v), count(DISTINCT v), array_agg(v::text) FROM (VALUES (timetz '10:00+02'), ('09:00+01'), ('10:00-02')) q(v)
SELECT extract(hour FROM timetz '10:20:30.5+02'), extract(minute FROM timetz '10:20:30.5+02'), extract(second FROM timetz '10:20:30.5+02'), extract(milliseconds FROM timetz '10:20:30.5+02'), extract(microseconds FROM timetz '10:20:30.5+02'), extract(epoch FROM timetz '10:20:30.5+02'), extract(timezone FROM timetz '10:20-03:30'), extract(timezone_hour FROM timetz '10:20-03:30'), extract(timezone_minute FROM timetz '10:20-03:30'), date_part('hour', timetz '10:20+02')
SELECT extract(hour FROM time '10:20:30.5'), extract(second FROM time '10:20:30.5'), extract(epoch FROM time '10:20:30.5'), extract(microseconds FROM time '10:20:30.5')
SELECT extract(day FROM timetz '10:00+02')
SELECT extract(timezone FROM time '10:00')
SELECT extract(day FROM time '10:00')
SELECT extract(plethora FROM timetz '10:00+02')
SELECT (timetz '10:00+02')::time, (time '10:00')::timetz, (timestamptz '2024-06-01 10:00+00')::timetz, (timetz '10:00+02')::text, '10:00+02'::text::timetz, to_json(timetz '10:00+02'), jsonb_build_object('a', timetz '10:00+02')->>'a', ROW (timetz '10:00+02')::text, pg_typeof(timetz '10:00+02')::text
SELECT (timetz '10:00+02')::interval
SELECT (timestamp '2024-01-01')::timetz
SELECT timetz '10:00+02' + interval '3 hours', timetz '10:00+02' - interval '11 hours', interval '1 mon 1 day 01:00' + timetz '23:30-01', date '2024-01-01' + timetz '10:00+02', timetz '10:00+02' + date '2024-01-01'
SELECT timetz '10:00+02' - timetz '09:00+02'
SELECT timetz '10:00+02' AT TIME ZONE 'UTC', timetz '01:00+02' AT TIME ZONE '-03:30', timestamptz '2024-01-01 00:00+00' AT TIME ZONE '-03:30', timestamptz '2024-01-01 00:00+00' AT TIME ZONE '+02', timestamp '2024-01-01 00:00' AT TIME ZONE '05', timetz '10:00+02' AT TIME ZONE 'Asia/Kolkata'
SELECT current_time::time = localtime, current_time = current_timestamp::timetz, current_time(0) IS NOT NULL, pg_typeof(current_time)::text, extract(timezone FROM current_time)
SELECT current_time IS NULL AS x, v IS NULL FROM (SELECT current_time) q(v)
SELECT count(*) OVER (ORDER BY v RANGE '1 hour' PRECEDING) FROM (VALUES ('x'::text)) q(v)
SELECT coalesce(NULL, timetz '10:00+02'), CASE WHEN true THEN timetz '10:00+02' ELSE time '10:00' END, NULL::timetz
SET TIME ZONE 'Asia/Kolkata'
SELECT timetz '10:00', (time '10:00')::timetz, (timestamptz '2024-06-01 10:00+00')::timetz, timetz '10:00' = time '10:00', current_time::time = localtime, extract(timezone FROM current_time), date '2024-01-01' + timetz '10:00+02'
SET TIME ZONE 'UTC'
`

func TestZonedTimesAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	answerAlike(t, pg, ours, zonedQueries)
	run(t, d, "DEFINE TABLE v SCHEMAFULL; DEFINE FIELD s ON v TYPE option<string>; DEFINE FIELD a ON v TYPE option<object> FLEXIBLE")
	f := answerOf(t, ours, "INSERT INTO v (id, s) VALUES ('v:1', timetz '10:00+02') RETURNING s")
	if f.code != "" || len(f.rows) != 1 || f.rows[0][0] != "10:00:00+02" {
		t.Errorf("as a text: %+v", f)
	}
	if f = answerOf(t, ours, "UPDATE v SET a = timetz '10:00+02'"); f.code != "0A000" {
		t.Errorf("as JSON: %+v", f)
	}
}

// TestZonedTimesInBinary: they have the binary form of PostgreSQL.
func TestZonedTimesInBinary(t *testing.T) {
	pg, ours, _ := beside(t)
	ask := func(c *pgconn.PgConn, arg []byte, format int16) []byte {
		t.Helper()
		res := c.ExecParams(t.Context(), "SELECT $1 + interval '0'", [][]byte{arg}, []uint32{1266}, []int16{format},
			[]int16{1}).Read()
		if res.Err != nil || len(res.Rows) != 1 {
			t.Fatalf("%s: %d rows, %v", arg, len(res.Rows), res.Err)
		}
		return res.Rows[0][0]
	}
	for _, text := range []string{"10:00+02", "23:59:59.999999-03:30", "00:00Z", "12:34:56.5+05:45:30"} {
		want, got := ask(pg, []byte(text), 0), ask(ours, []byte(text), 0)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", text, got, want)
		}
		if again := ask(ours, got, 1); !bytes.Equal(again, want) {
			t.Errorf("%s as a parameter: got %x, want %x", text, again, want)
		}
	}
}
