package pgwire_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Parameters in frames, percentiles and grouping sets have the types that PostgreSQL gives them, and are of use there.
func TestParametersOfWindowsAndSets(t *testing.T) {
	pg, ours, _ := beside(t)
	ask := func(c *pgconn.PgConn, text string, args []string) string {
		d, err := c.Prepare(t.Context(), "", text, nil)
		if err != nil {
			return stateOf(err)
		}
		out := fmt.Sprint(d.ParamOIDs)
		var vals [][]byte
		for _, a := range args {
			vals = append(vals, []byte(a))
		}
		res := c.ExecPrepared(t.Context(), "", vals, nil, nil).Read()
		if res.Err != nil {
			return out + " " + stateOf(res.Err)
		}
		for _, row := range res.Rows {
			out += fmt.Sprintf(" %s", row)
		}
		return out
	}
	const from = " FROM generate_series(1, 6) v"
	for _, tc := range []struct {
		text string
		args []string
	}{
		{"SELECT sum(v) OVER (ORDER BY v ROWS $1 PRECEDING)" + from + " ORDER BY v", []string{"2"}},
		{"SELECT sum(v) OVER (ORDER BY v ROWS $1 PRECEDING)" + from + " ORDER BY v", []string{"-2"}},
		{"SELECT sum(v) OVER (ORDER BY v GROUPS BETWEEN $1 PRECEDING AND $2 FOLLOWING)" + from, []string{"1", "0"}},
		{"SELECT sum(v) OVER (ORDER BY v::int8 RANGE $1 PRECEDING)" + from + " ORDER BY v", []string{"2"}},
		{"SELECT count(*) OVER (ORDER BY v::float8 RANGE $1 PRECEDING)" + from + " ORDER BY v", []string{"1.5"}},
		{"SELECT count(*) OVER (ORDER BY date '2024-01-01' + v RANGE $1 PRECEDING)" + from, []string{"1 day"}},
		{"SELECT nth_value(v, $1) OVER (ORDER BY v)" + from + " ORDER BY v", []string{"2"}},
		{"SELECT lag(v, $1, $2) OVER (ORDER BY v)" + from + " ORDER BY v", []string{"2", "9"}},
		{"SELECT ntile($1) OVER (ORDER BY v)" + from + " ORDER BY v", []string{"2"}},
		{"SELECT percentile_cont($1) WITHIN GROUP (ORDER BY v)" + from, []string{"0.25"}},
		{"SELECT percentile_disc($1) WITHIN GROUP (ORDER BY v)" + from, []string{"0.25"}},
		{"SELECT percentile_disc($1::float8[]) WITHIN GROUP (ORDER BY v)" + from, []string{"{0.25,1}"}},
		{"SELECT percentile_disc($1) WITHIN GROUP (ORDER BY v::text)" + from, []string{"0.25"}},
		{"SELECT rank($1) WITHIN GROUP (ORDER BY v)" + from, []string{"3"}},
		{"SELECT v % 2, count(*)" + from + " WHERE v > $1 GROUP BY ROLLUP(v % 2) ORDER BY 1", []string{"2"}},
	} {
		if got, want := ask(ours, tc.text, tc.args), ask(pg, tc.text, tc.args); got != want {
			t.Errorf("%s %v\n got %s\nwant %s", tc.text, tc.args, got, want)
		}
	}
}
