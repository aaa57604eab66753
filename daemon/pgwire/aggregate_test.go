package pgwire_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// Groups and aggregates of whole numbers and of texts are those that are computed here, for columns with and without
// values, for sums that whole numbers of 64 bits do not hold, and for more rows than the engine gives at once.
func TestAggregatesOfStoredColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for _, rows := range []int{0, 1, 15, 40, 700} {
		addr, d := start(t, unauthenticated)
		type row struct {
			n    int64
			name string
			null bool
		}
		var list []row
		var b strings.Builder
		b.WriteString("DEFINE TABLE a SCHEMAFULL; DEFINE FIELD n ON a TYPE option<int>; " +
			"DEFINE FIELD name ON a TYPE option<string>;")
		for i := range rows {
			one := row{n: r.Int64N(100) - 50, name: strings.Repeat("ab", r.IntN(20)) + fmt.Sprint(r.IntN(30)),
				null: r.IntN(5) == 0}
			if rows != 15 && r.IntN(3) == 0 {
				one.n = []int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 0}[r.IntN(4)]
			}
			list = append(list, one)
			if one.null {
				fmt.Fprintf(&b, "CREATE a:%d;", i)
				continue
			}
			fmt.Fprintf(&b, "CREATE a:%d SET n = <int> '%d', name = '%s';", i, one.n, one.name)
		}
		run(t, d, b.String())
		f := login(t, addr)
		f.want("SET dialect = 'sql'", "C(SET) ZI")

		type group struct {
			count, known int
			sum          *big.Int
			least, most  string
		}
		groups := map[string]*group{}
		var order []string
		for _, one := range list {
			key := fmt.Sprint(one.n % 7)
			if one.null {
				key = "-"
			}
			g := groups[key]
			if g == nil {
				g = &group{sum: new(big.Int)}
				groups[key], order = g, append(order, key)
			}
			g.count++
			if one.null {
				continue
			}
			if g.known == 0 || one.name < g.least {
				g.least = one.name
			}
			if g.known == 0 || one.name > g.most {
				g.most = one.name
			}
			g.known++
			g.sum.Add(g.sum, big.NewInt(one.n))
		}
		var want strings.Builder
		for _, key := range order {
			g := groups[key]
			if g.known == 0 {
				fmt.Fprintf(&want, " D[%s|%d|0|-|-|-]", key, g.count)
				continue
			}
			fmt.Fprintf(&want, " D[%s|%d|%d|%s|%s|%s]", key, g.count, g.known, g.sum, g.least, g.most)
		}
		got := f.ask("SELECT n % 7, count(*), count(n), sum(n), min(name), max(name) FROM a GROUP BY 1")
		from, to := strings.Index(got, " D["), strings.LastIndex(got, " C(")
		rowsGot := ""
		if from >= 0 {
			rowsGot = got[from:to]
		}
		if rowsGot != want.String() {
			t.Errorf("%d rows\n got: %s\nwant: %s", rows, got, want.String())
		}
	}
}

// What cannot be computed of whole numbers fails as it does elsewhere, and an empty column has no sum.
func TestArithmeticOfStoredColumns(t *testing.T) {
	addr, d := start(t, unauthenticated)
	run(t, d, `DEFINE TABLE a SCHEMAFULL; DEFINE FIELD n ON a TYPE option<int>; DEFINE FIELD m ON a TYPE option<int>;
		FOR $i IN 0..20 { CREATE a SET m = $i, n = 9223372036854775807 }`)
	f := login(t, addr)
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	for query, want := range map[string]string{
		"SELECT sum(n) FROM a":                                                     "184467440737095516140",
		"SELECT sum(n) - 0.5 FROM a WHERE m < 1":                                   "9223372036854775806.5",
		"SELECT avg(m), sum(m + 1) FROM a":                                         "9.50|210",
		"SELECT sum(m) FROM a WHERE m > 30":                                        "-",
		"SELECT sum(DISTINCT n) FROM a":                                            "9223372036854775807",
		"SELECT sum(n) FILTER (WHERE m = 3) FROM a":                                "9223372036854775807",
		"SELECT sum(m % 4) FROM a":                                                 "30",
		"SELECT count(*) FROM a GROUP BY m % 2 HAVING sum(m) > 90":                 "10",
		"SELECT sum(m) OVER () FROM a WHERE m < 3 LIMIT 1":                         "3",
		"SELECT (SELECT sum(b.m + a.m) FROM a b WHERE b.m < 2) FROM a WHERE m = 3": "7",
		"SELECT (SELECT sum(b.m) FROM a b WHERE b.m < a.m) FROM a WHERE m = 3":     "3",
	} {
		if got := f.ask(query); !strings.Contains(got, " D["+want+"] ") {
			t.Errorf("%s\n got: %s\nwant: %s", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"SELECT sum(n + m) FROM a":              "E!22003",
		"SELECT count(*) FROM a GROUP BY n % m": "E!22012",
		"SELECT sum(m / 0) FROM a":              "E!22012",
	} {
		if got := f.ask(query); !strings.Contains(got, want) {
			t.Errorf("%s\n got: %s\nwant: %s", query, got, want)
		}
	}
}
