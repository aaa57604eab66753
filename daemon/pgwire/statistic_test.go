package pgwire_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// deviationSets are numbers of one type, as lists of VALUES.
var deviationSets = map[string][]string{
	"int2": {"1, 2, 3", "7", "5, 5, 5", "-32768, 32767, 0, 12", "NULL, 1", "1, 100, 10000"},
	"int4": {"1, 2, 3, 4", "2147483647, -2147483648", "123456, 123457, 123459", "99, 101, 10000, 10001"},
	"int8": {"1, 2, 4", "92233720368547, -92233720368547, 1", "9223372036854775807, 9223372036854775806",
		"0, 0, 1", "NULL, NULL", "3000000000, 3000000001"},
	"numeric": {"1.5, 2.25, 3", "0.001, 0.002, 0.00301", "1.10, 1.1, 1", "123456789012345.678, 0.5",
		"123456789012345.12, 1", "0.0000000001, 0.0000000003, 0.0000000002", "7.00, 7.0", "100, 200.000, 1e3",
		"NULL, 1.25", "-2.25, 10, 0.001, 1.5, 0", "'NaN', 1", "99999999, 10000.5"},
	"float4": {"1, 2, 4", "0.5, 0.25, 0.75", "NULL, 2.5"},
	"float8": {"1, 2, 4", "0.1, 0.2, 0.7", "1e20, 1, -1e20, 3", "'NaN', 1", "'Infinity', 1", "1, '-Infinity', 2",
		"NULL, NULL", "3.5", "'Infinity'"},
}

// exactAnswer is what a server answers to a query, without the leniency of answerOf about digits.
func exactAnswer(t *testing.T, c *pgconn.PgConn, text string) string {
	t.Helper()
	res, err := c.Exec(t.Context(), text).ReadAll()
	if err != nil {
		return "E" + stateOf(err)
	}
	var b strings.Builder
	for _, f := range res[0].FieldDescriptions {
		fmt.Fprintf(&b, "%s:%d|", f.Name, f.DataTypeOID)
	}
	for _, row := range res[0].Rows {
		for _, v := range row {
			if v == nil {
				v = []byte("NULL")
			}
			fmt.Fprintf(&b, "%s|", v)
		}
	}
	return b.String()
}

// The variances and deviations of every type have the digits that PostgreSQL gives them, as far as a decimal holds
// them.
func TestDeviationsAgainstPostgreSQL(t *testing.T) {
	pg, ours, _ := beside(t)
	check := func(text string) {
		t.Helper()
		if got, want := exactAnswer(t, ours, text), exactAnswer(t, pg, text); !sameDigits(got, want) {
			t.Errorf("%s\n got: %s\nwant: %s", text, got, want)
		}
	}
	const six = "stddev(v), stddev_samp(v), stddev_pop(v), variance(v), var_samp(v), var_pop(v)"
	for oid, sets := range deviationSets {
		for _, set := range sets {
			rows := "(" + strings.ReplaceAll(set, ", ", "), (") + ")"
			from := " FROM (SELECT x::" + oid + " FROM (VALUES " + rows + ") p(x)) q(v)"
			check("SELECT " + six + from)
			check("SELECT stddev(DISTINCT v), var_pop(v) FILTER (WHERE v > 1)" + from)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var rows []string
		for range 1 + r.IntN(6) {
			digits := fmt.Sprint(r.Int64N([]int64{10, 1000, 1e6, 1e12}[r.IntN(4)]))
			if places := r.IntN(5); places > 0 {
				digits += "." + strings.Repeat("0", r.IntN(3)) + fmt.Sprint(1+2*r.IntN(500)) // without zeros at its end
			}
			rows = append(rows, "("+digits+"::numeric)")
		}
		check("SELECT " + six + " FROM (VALUES " + strings.Join(rows, ", ") + ") q(v)")
	}
}

// sameDigits reports whether got is want, but for numbers that a decimal has rounded, which holds 28 digits or places.
func sameDigits(got, want string) bool {
	g, w := strings.Split(got, "|"), strings.Split(want, "|")
	if len(g) != len(w) {
		return false
	}
	for i := range g {
		if g[i] == w[i] {
			continue
		}
		_, places, _ := strings.Cut(g[i], ".")
		digits := strings.ReplaceAll(g[i], ".", "")
		a, okA := new(big.Rat).SetString(g[i])
		b, okB := new(big.Rat).SetString(w[i])
		if !okA || !okB || len(places) < 28 && len(digits) < 28 {
			return false
		}
		if a.FloatString(len(places)) != b.FloatString(len(places)) {
			return false
		}
	}
	return true
}

// statisticQueries are answered as PostgreSQL does.
const statisticQueries = `
SELECT corr(y, x), covar_pop(y, x), covar_samp(y, x), regr_count(y, x), regr_avgx(y, x), regr_avgy(y, x) FROM (VALUES (1, 2), (2, 4.5), (3, 5), (NULL, 1), (9, NULL)) q(y, x)
SELECT regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x) FROM (VALUES (1, 2), (2, 4.5), (3, 5), (NULL, 1), (9, NULL)) q(y, x)
SELECT corr(y, x), covar_samp(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), regr_count(y, x) FROM (VALUES (1, 2)) q(y, x)
SELECT corr(y, x), regr_r2(y, x), regr_slope(y, x) FROM (VALUES (1, 2), (1, 3)) q(y, x)
SELECT corr(y, x), covar_pop(y, x), regr_count(y, x), regr_avgx(y, x) FROM (VALUES (1, 2)) q(y, x) WHERE false
SELECT corr(y, x), covar_pop(y, x), regr_sxx(y, x), regr_syy(y, x) FROM (VALUES (1, 'NaN'::float8), (2, 3)) q(y, x)
SELECT corr(y, x), covar_pop(y, x), regr_sxx(y, x), regr_syy(y, x), regr_avgy(y, x) FROM (VALUES (1, 3), ('Infinity'::float8, 2), (5, 5)) q(y, x)
SELECT regr_sxx(y, x) FROM (VALUES (1, 1e200::float8), (2, 3)) q(y, x)
SELECT var_pop(x) FROM (VALUES (1e200::float8), (3)) q(x)
SELECT var_pop(x) FROM (VALUES (1e308::float8), (1e308)) q(x)
SELECT regr_count(DISTINCT y, x), corr(DISTINCT y, x), covar_pop(y, x) FILTER (WHERE x > 1) FROM (VALUES (1, 2), (1, 2), (3, 4)) q(y, x)
SELECT corr(1, 2, 3)
SELECT corr(1)
SELECT corr('a'::text, 1)
SELECT corr('1', '2'), stddev(NULL), variance('7')
SELECT stddev(v), stddev_pop(v) FROM (VALUES (9223372036854775807), (-9223372036854775808), (1)) q(v)
SELECT stddev(v) FROM (VALUES ('a'::text)) q(v)
SELECT stddev(v) FROM (VALUES (interval '1 day')) q(v)
SELECT stddev(v) FROM (VALUES (true)) q(v)
SELECT stddev(*) FROM (VALUES (1)) q(v)
SELECT stddev(v, v) FROM (VALUES (1)) q(v)
SELECT stddev(stddev(v)) FROM (VALUES (1)) q(v)
SELECT v FROM (VALUES (1)) q(v) WHERE stddev(v) > 1
SELECT stddev(DISTINCT v) OVER () FROM (VALUES (1)) q(v)
SELECT stddev(v ORDER BY v), variance(DISTINCT v) FROM (VALUES (1), (2), (2)) q(v)
SELECT v % 2, stddev(v), count(*) FROM generate_series(1, 9) v GROUP BY 1 HAVING stddev(v) > 1 ORDER BY 1
SELECT v, stddev(v) OVER (ORDER BY v), var_pop(v) OVER (ORDER BY v ROWS 1 PRECEDING), stddev_pop(v::float8) OVER (ORDER BY v ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM generate_series(1, 6) v ORDER BY v
SELECT v, variance(v) FILTER (WHERE v % 2 = 0) OVER (ORDER BY v), stddev(v / 2) OVER (ORDER BY v ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM generate_series(1, 6) v ORDER BY v
SELECT v, corr(v, v * v) OVER (ORDER BY v ROWS 2 PRECEDING), regr_count(v, nullif(v, 2)) OVER (ORDER BY v), regr_slope(v, 7 - v) OVER () FROM generate_series(1, 6) v ORDER BY v
SELECT GROUPING(a), a, stddev(v) FROM (VALUES (1, 2), (1, 5), (2, 7)) q(a, v) GROUP BY ROLLUP (a) ORDER BY 1, 2
SELECT stddev(n), var_pop(n), corr(n, k), stddev(k::float8) FROM x
SELECT k, stddev(d), variance(d), regr_r2(n, k) FROM x GROUP BY k ORDER BY k
`

func TestStatisticsAgainstPostgreSQL(t *testing.T) {
	pg, ours, d := beside(t)
	fillBoth(t, pg, func(text string) { run(t, d, text) })
	answerAlike(t, pg, ours, statisticQueries)
}
