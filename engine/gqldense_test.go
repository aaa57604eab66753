package engine_test

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// clique is 24 nodes with an edge from each to each other one: it has more paths than anybody can hold.
const clique = "DEFINE TABLE n; DEFINE TABLE e TYPE RELATION; FOR $i IN 0..24 { CREATE type::record('n', $i) };" +
	"FOR $i IN 0..24 { FOR $j IN 0..24 { IF $i != $j { RELATE (type::record('n', $i))->e->(type::record('n', $j)) } } }"

// TestGQLOnADenseGraph: a search over several parts of a path finds no more paths than its prefix, or LIMIT, asks for;
// what asks for all of them ends with an error that names the setting, in bounded memory.
func TestGQLOnADenseGraph(t *testing.T) {
	s := openedGQL(t, engine.Options{Memory: 64 << 20, Limits: engine.Limits{GraphPaths: 5000}})
	runGQLSetup(t, s, clique)
	vars := value.NewObject(value.Field{Name: "a", Value: value.Record("n", value.Int(3))},
		value.Field{Name: "b", Value: value.Record("n", value.Int(17))})
	const way = " (a:n {id: $a})-[:e]->()-[:e]->+(b:n {id: $b}) "
	for _, tc := range []struct{ text, want, err string }{
		{text: "MATCH ANY" + way + "RETURN count(*) AS n", want: "[{ n: 1 }]"},
		{text: "MATCH ANY 3" + way + "RETURN count(*) AS n", want: "[{ n: 3 }]"},
		{text: "MATCH p = ANY SHORTEST" + way + "RETURN PATH_LENGTH(p) AS n", want: "[{ n: 2 }]"},
		{text: "MATCH p = SHORTEST 4" + way + "RETURN PATH_LENGTH(p) AS n", want: "[{ n: 2 }, { n: 2 }, { n: 2 }, { n: 2 }]"},
		{text: "MATCH p = ALL SHORTEST" + way + "RETURN PATH_LENGTH(p) AS n, count(*) AS c GROUP BY n", want: "[{ c: 22, n: 2 }]"},
		{text: "MATCH p = SHORTEST 2 GROUPS" + way + "RETURN PATH_LENGTH(p) AS n, count(*) AS c GROUP BY n ORDER BY n",
			want: "[{ c: 22, n: 2 }, { c: 506, n: 3 }]"},
		{text: "MATCH ANY (a:n)-[:e]->()-[:e]->+(b:n) RETURN a.id AS a LIMIT 2", want: "[{ a: n:0 }, { a: n:0 }]"},
		{text: "MATCH (a:n {id: $a})-[:e]->{1,}(b) RETURN count(*) AS n", err: "SERVICE_GQL_MAX_PATH_ROWS (5000)"},
		{text: "MATCH ALL (a:n {id: $a})-[:e]->()-[:e]->+(b:n) RETURN count(*) AS n", err: "SERVICE_GQL_MAX_PATH_ROWS (5000)"},
	} {
		v, err := runGQL(s, tc.text, vars)
		switch {
		case tc.err != "":
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s\ngot  %v\nwant an error with %s", tc.text, err, tc.err)
			}
		case err != nil:
			t.Errorf("%s: %v", tc.text, err)
		case v.Text() != tc.want:
			t.Errorf("%s\ngot  %s\nwant %s", tc.text, v.Text(), tc.want)
		}
	}
}
