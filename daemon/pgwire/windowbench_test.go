package pgwire_test

import "testing"

// BenchmarkWindows computes functions over windows of 100,000 rows, and gives one row.
func BenchmarkWindows(b *testing.B) {
	for _, bm := range []struct{ name, call string }{
		{"row number", "row_number() OVER (ORDER BY v)"},
		{"running sum", "sum(v) OVER (ORDER BY v)"},
		{"running sum of floats", "sum(v::float8) OVER (ORDER BY v ROWS UNBOUNDED PRECEDING)"},
		{"running max", "max(v) OVER (ORDER BY v ROWS UNBOUNDED PRECEDING)"},
		{"sum of 31", "sum(v) OVER (ORDER BY v ROWS BETWEEN 30 PRECEDING AND CURRENT ROW)"},
		{"sum of 20001", "sum(v) OVER (ORDER BY v ROWS BETWEEN 10000 PRECEDING AND 10000 FOLLOWING)"},
		{"sum of the rest", "sum(v) OVER (ORDER BY v ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"},
		{"average of decimals", "avg(v * 0.5) OVER (ORDER BY v ROWS 1000 PRECEDING)"},
		{"average of 31 floats", "avg(v::float8) OVER (ORDER BY v ROWS BETWEEN 30 PRECEDING AND CURRENT ROW)"},
		{"average of 1001 floats", "avg(v::float8) OVER (ORDER BY v ROWS 1000 PRECEDING)"},
		{"max of 20001", "max(v) OVER (ORDER BY v ROWS BETWEEN 10000 PRECEDING AND 10000 FOLLOWING)"},
		{"max but the row", "max(v) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW)"},
		{"range of 1000", "count(*) OVER (ORDER BY v RANGE BETWEEN 500 PRECEDING AND 500 FOLLOWING)"},
		{"last of a range", "last_value(v) OVER (ORDER BY v RANGE BETWEEN CURRENT ROW AND 500 FOLLOWING)"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			text := "SELECT max(w) FROM (SELECT " + bm.call + " AS w FROM generate_series(1, 100000) v) q"
			benchPrepared(b, benchServer(b), text, 1, false, none)
		})
	}
}

// BenchmarkGroupingSets groups 100,000 rows by several sets at once, and takes percentiles of them.
func BenchmarkGroupingSets(b *testing.B) {
	for _, bm := range []struct {
		name, text string
		rows       int
	}{
		{"one", "SELECT v % 10, v % 7, count(*), sum(v) FROM generate_series(1, 100000) v GROUP BY 1, 2", 70},
		{"rollup", "SELECT v % 10, v % 7, count(*), sum(v) FROM generate_series(1, 100000) v GROUP BY ROLLUP(1, 2)", 81},
		{"cube of 4", "SELECT count(*) FROM generate_series(1, 100000) v GROUP BY CUBE(v % 2, v % 3, v % 5, v % 7)", 576},
		{"percentile", "SELECT v % 10, percentile_cont(0.9) WITHIN GROUP (ORDER BY v * 7919 % 99991) " +
			"FROM generate_series(1, 100000) v GROUP BY 1", 10},
		{"mode", "SELECT mode() WITHIN GROUP (ORDER BY v % 100) FROM generate_series(1, 100000) v", 1},
	} {
		b.Run(bm.name, func(b *testing.B) { benchPrepared(b, benchServer(b), bm.text, bm.rows, false, none) })
	}
}
