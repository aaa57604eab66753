package pgwire_test

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// Lists that grow with each row of a window, and the groups of many grouping sets, count for the memory of statements.
func TestMemoryOfWindowsAndSets(t *testing.T) {
	addr, _ := start(t, unauthenticated, func(c *config.Config) { c.QueryMemory = 64 << 20 })
	f := login(t, addr)
	f.ask("SET dialect = 'sql'")
	for _, text := range []string{
		"SELECT count(w) FROM (SELECT array_agg(v) OVER (ORDER BY v) AS w FROM generate_series(1, 20000) v) q",
		"SELECT count(w) FROM (SELECT string_agg(repeat('x', 100), '') " +
			"OVER (ORDER BY v ROWS BETWEEN 1000 PRECEDING AND 1 FOLLOWING) AS w FROM generate_series(1, 20000) v) q",
		"SELECT count(*) FROM (SELECT 1 FROM generate_series(1, 20000) v GROUP BY CUBE(" + cubeOf12 + ")) q",
	} {
		if got := f.ask(text); !strings.Contains(got, "E!53200") {
			t.Errorf("%s: %.200s", text, got)
		}
	}
	f.want("SELECT max(length(w)) FROM (SELECT string_agg('x', '') OVER (ORDER BY v ROWS 9 PRECEDING) AS w "+
		"FROM generate_series(1, 20000) v) q", "T[max:23] D[10] C(SELECT 1) ZI")
	deep := strings.Repeat("SELECT (", 60) + "SELECT 1" + strings.Repeat(") FROM (VALUES (1)) v(x) GROUP BY x", 60)
	f.want(deep, "T[?column?:23] D[1] C(SELECT 1) ZI")
}
