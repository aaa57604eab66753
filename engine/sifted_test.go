package engine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

var (
	siftSeed    = flag.Uint64("sift.seed", 1, "seed of the first table of TestSiftedAnswers; each has the next one")
	siftTables  = flag.Int("sift.tables", 12, "random tables of TestSiftedAnswers")
	siftQueries = flag.Int("sift.queries", 60, "random queries for each of them")
)

// siftFields are the types that a field of a random table may be given. Fields without one hold anything.
var siftFields = []string{"", "", "option<int>", "option<number>", "option<string>", "any", "option<int> | none | string"}

// siftRules are what a field, or a table, may hide.
var siftRules = []string{"", "", " PERMISSIONS NONE", " PERMISSIONS FOR select WHERE $value != 3", " PERMISSIONS FULL"}

// siftValue is a random value as a text.
func siftValue(r *rand.Rand) string {
	switch r.IntN(14) {
	case 0:
		return "NONE"
	case 1:
		return "NULL"
	case 2:
		return fmt.Sprintf("%d.5", r.IntN(5))
	case 3:
		return fmt.Sprintf("%ddec", r.IntN(5))
	case 4:
		return fmt.Sprintf("'text %d'", r.IntN(4))
	case 5:
		return fmt.Sprintf("u:%d", r.IntN(3))
	case 6:
		return fmt.Sprintf("{ x: %d, y: { z: 'text %d' } }", r.IntN(4), r.IntN(3))
	case 7:
		return fmt.Sprintf("[%d, 2.5]", r.IntN(4))
	case 8:
		return "NaN"
	case 9:
		return "true"
	case 10:
		return "9223372036854775807"
	case 11:
		return "/text [12]/"
	}
	return fmt.Sprint(r.IntN(6))
}

// siftTable is the definition and the records of a random table. Some fields are the same in nearly all records, as in the
// tables of people.
func siftTable(r *rand.Rand) string {
	var b strings.Builder
	rule := []string{"", " PERMISSIONS FULL", " PERMISSIONS NONE", " PERMISSIONS FOR select WHERE a != 2", " PERMISSIONS FOR select WHERE o.x > 0"}[r.IntN(5)]
	fmt.Fprintf(&b, "DEFINE TABLE user; DEFINE ACCESS acc ON DATABASE TYPE RECORD; DEFINE TABLE u PERMISSIONS FULL; CREATE u:0 SET x = 1, y = { z: 'text 1' };"+
		"CREATE u:1 SET x = 'text 1'; DEFINE TABLE t SCHEMALESS%s;", rule)
	for _, name := range []string{"a", "b", "c"} {
		kind, hidden := siftFields[r.IntN(len(siftFields))], siftRules[r.IntN(len(siftRules))]
		if kind != "" {
			kind = " TYPE " + kind
		}
		if kind+hidden != "" {
			fmt.Fprintf(&b, "DEFINE FIELD %s ON t%s%s;", name, kind, hidden)
		}
	}
	if r.IntN(3) == 0 {
		b.WriteString("DEFINE FIELD d ON t COMPUTED a;")
	}
	even := r.IntN(2) == 0
	for i := range 30 + r.IntN(300) {
		fmt.Fprintf(&b, "CREATE t:%d SET n = %d, v = [%d, %d.5, 1]", i, r.IntN(50), r.IntN(9), r.IntN(9))
		for _, name := range []string{"a", "b", "c", "o"} {
			switch {
			case even && name == "o":
				fmt.Fprintf(&b, ", o = { x: %d, y: { z: 'text %d' } }", r.IntN(5), r.IntN(3))
			case even && r.IntN(40) > 0:
				fmt.Fprintf(&b, ", %s = %d", name, r.IntN(5))
			case r.IntN(5) > 0:
				fmt.Fprintf(&b, ", %s = %s", name, siftValue(r))
			}
		}
		if r.IntN(30) == 0 {
			b.WriteString(", v = 'none'")
		}
		b.WriteString(";")
	}
	return b.String()
}

// siftCondition is a random WHERE.
func siftCondition(r *rand.Rand, depth int) string {
	if depth > 0 && r.IntN(2) == 0 {
		return "(" + siftCondition(r, depth-1) + []string{" AND ", " OR ", " ?? ", " ?: "}[r.IntN(4)] + siftCondition(r, depth-1) + ")"
	}
	if depth > 0 && r.IntN(6) == 0 {
		return "!" + siftCondition(r, depth-1)
	}
	x := siftPath(r)
	op := []string{"=", "==", "!=", "<", "<=", ">", ">=", "CONTAINS", "IN", "INSIDE", "CONTAINSANY", "+", "*", "?="}[r.IntN(14)]
	if r.IntN(8) == 0 {
		return "(" + siftValue(r) + " " + op + " " + x + ")"
	}
	return "(" + x + " " + op + " " + siftValue(r) + ")"
}

func siftPath(r *rand.Rand) string {
	return []string{"a", "b", "c", "n", "o.x", "o.y.z", "a.x", "b.y.z", "d", "missing", "missing.x"}[r.IntN(11)]
}

// siftQuery is a random query that reads all of the table.
func siftQuery(r *rand.Rand) string {
	where := ""
	if r.IntN(3) > 0 {
		where = " WHERE " + siftCondition(r, 2)
	}
	total := func() string {
		return fmt.Sprintf("%s(%s)", []string{"count", "math::sum", "math::mean", "math::min", "math::max", "math::stddev", "array::group",
			"array::distinct", "time::min", "math::median", "vector::sum"}[r.IntN(11)], siftPath(r))
	}
	switch r.IntN(9) {
	case 7:
		return fmt.Sprintf("SELECT * FROM t LIMIT %d START %d", r.IntN(400), r.IntN(400))
	case 8:
		return fmt.Sprintf("SELECT VALUE id FROM t ORDER BY id%s START %d", []string{"", " DESC"}[r.IntN(2)], r.IntN(400))
	case 0:
		return "SELECT count() FROM t" + where + " GROUP ALL"
	case 1:
		return fmt.Sprintf("SELECT count() AS n, %s AS p, %s AS q FROM t%s GROUP ALL", total(), total(), where)
	case 2:
		return fmt.Sprintf("SELECT %s AS k, count() AS n, %s AS p, %s AS q FROM t%s GROUP BY k", siftPath(r), total(), total(), where)
	case 3:
		return fmt.Sprintf("SELECT %s AS k, %s AS l, %s + 1 AS p FROM t%s GROUP BY k, l", siftPath(r), siftPath(r), total(), where)
	case 4:
		return fmt.Sprintf("SELECT * FROM t%s ORDER BY %s%s, %s LIMIT %d START %d", where, siftPath(r), []string{"", " DESC"}[r.IntN(2)], siftPath(r),
			r.IntN(30), r.IntN(5))
	case 5:
		k := []string{"EUCLIDEAN", "COSINE", "CHEBYSHEV", "MANHATTAN", "PEARSON"}[r.IntN(5)]
		text := fmt.Sprintf("SELECT id, vector::distance::knn() AS d FROM t WHERE v <|%d,%s|> [1, 2.5, 3]", 1+r.IntN(20), k)
		if where != "" {
			text += " AND (" + siftCondition(r, 1) + ")"
		}
		return text
	}
	return "SELECT * FROM t" + where
}

// siftTotal is an aggregate that is a column by itself.
var siftTotal = regexp.MustCompile(`(count|math::\w+|array::\w+|time::\w+|vector::\w+)\([^)]*\) AS`)

// inParens is a query with its aggregates in parentheses: then each row of a group is evaluated as an expression.
func inParens(q string) string {
	return siftTotal.ReplaceAllStringFunc(q, func(total string) string {
		return "(" + strings.TrimSuffix(total, " AS") + ") AS"
	})
}

// TestSiftedAnswers asks random queries of random tables, for an owner, a viewer and a user of records: with rows sifted as
// they are stored, on one processor and on several, and with every row read through the gate and evaluated as it is written.
// All answers, errors among them, are the same. -sift.seed N -sift.tables 1 runs a table again.
func TestSiftedAnswers(t *testing.T) {
	e := openQuiet(t)
	shared, stop := e.SharedEarly()
	t.Cleanup(stop)
	slow, stopSlow := e.WithRulesOff(plan.Compile, plan.ParallelScan)
	t.Cleanup(stopSlow)
	readers := []auth.Principal{
		{Level: auth.DatabaseUser, Roles: auth.Owner}, {Level: auth.DatabaseUser, Roles: auth.Viewer},
		{Level: auth.RecordUser, Access: "acc", Record: value.Record("user", value.Int(1))},
	}
	asked, answered, failed := 0, 0, 0
	for i := range uint64(*siftTables) {
		seed := *siftSeed + i
		r, place := rand.New(rand.NewPCG(seed, 25)), fmt.Sprintf("d%d", seed)
		setup := siftTable(r)
		root := e.RootSession()
		run(t, root, fmt.Sprintf("DEFINE NAMESPACE IF NOT EXISTS n; USE NS n; DEFINE DATABASE %s; USE DB %s", place, place))
		run(t, root, setup, allowErrors)
		for range *siftQueries {
			q := siftQuery(r)
			for _, p := range readers {
				p.NS, p.DB = "n", place
				want := texts(run(t, slow.SessionAs(p, "n", place), inParens(q), allowErrors))
				for name, way := range map[string]*engine.Engine{"sifted": e, "sifted by workers": shared} {
					if got := texts(run(t, way.SessionAs(p, "n", place), q, allowErrors)); got != want {
						t.Fatalf("seed %d, %s, level %d: %s\n got %s\nwant %s", seed, name, p.Level, q, clip(got, 2000), clip(want, 2000))
					}
				}
				asked++
				switch {
				case strings.Contains(want, "ERR "):
					failed++
				case want != "[]":
					answered++
				}
			}
		}
		run(t, root, "REMOVE DATABASE "+place)
	}
	if answered == 0 || failed == 0 {
		t.Errorf("%d queries: %d had rows, %d failed", asked, answered, failed)
	}
	t.Logf("%d queries: %d had rows, %d failed in every way", asked, answered, failed)
}
