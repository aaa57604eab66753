package pgwire_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Frames over some hundred rows, with ties, NULLs and numbers of all sizes, are those of PostgreSQL. The tables of the
// random queries have few rows. NACRE_DIFFERENTIAL_SEED names others.
func TestFramesOfManyRows(t *testing.T) {
	pg, ours, d := beside(t)
	fillBoth(t, pg, func(text string) { run(t, d, text) })
	seed := seedOr(t, 0)
	for i := range 200 {
		g := &queries{r: rand.New(rand.NewPCG(uint64(i), 1000+seed))}
		m := g.one("7", "50", "1000000")
		rows := fmt.Sprintf("(SELECT 'r' || v AS id, nullif(v * 7919 %% %s, 3)::int8 AS n, (v %% 3 = 0) AS b, "+
			"'k' || v * 31 %% %s AS s, "+
			"v * 7919 %% 1000 * CASE v %% 4 WHEN 0 THEN 0.001 WHEN 1 THEN 1000 WHEN 2 THEN 0.1 END AS d, "+
			"(v * 7919 %% 1000)::float8 * CASE v %% 3 WHEN 0 THEN 0.1 WHEN 1 THEN 1e17 ELSE -1e17 END AS f, "+
			"'2024-01-01 00:00:00+00'::timestamptz + v * 7919 %% %s * interval '7 hours' AS t "+
			"FROM generate_series(1, %d) v) q", m, m, m, 1+g.r.IntN(400))
		fields := []field{{"q.id", "text"}, {"q.n", "int"}, {"q.b", "bool"}, {"q.s", "text"}, {"q.d", "numeric"},
			{"q.f", "float"}, {"q.t", "time"}}
		text := "SELECT id, " + g.framed(g.one("int", "text", "bool", "float", "numeric", "time"), fields) + " FROM " +
			rows + " ORDER BY 1, 2"
		want, got := answerOf(t, pg, text), answerOf(t, ours, text)
		if want.code != "" && want.code != "22003" && want.code != "42804" {
			t.Errorf("query %d: %s: %s", i, text, want.msg)
		}
		if diff := difference(got, want); diff != "" {
			t.Errorf("query %d: %s\n%.400s", i, text, diff)
		}
	}
}
