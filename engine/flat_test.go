package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// flatVector is an array of six: mostly of floats, and sometimes with what no copy can round, if odd.
func flatVector(r *rand.Rand, odd bool) string {
	elems := make([]string, 6)
	for i := range elems {
		if elems[i] = fmt.Sprintf("%gf", r.NormFloat64()); r.IntN(60) == 0 {
			elems[i] = fmt.Sprint(r.IntN(7) - 3)
		}
	}
	switch k := r.IntN(100); {
	case k == 0:
		return "'none'"
	case k == 1:
		elems = elems[:5]
	case k == 2:
		elems[3] = "'x'"
	case k < 6 && odd:
		elems[r.IntN(6)] = []string{"NaN", "math::inf", "math::neg_inf", "1.25dec", "1e-40f", "1e200f", "-1e15f"}[r.IntN(7)]
	}
	return "[" + strings.Join(elems, ", ") + "]"
}

// flatTable is statements that fill table t with n records, most of them with a vector.
func flatTable(r *rand.Rand, n int, odd bool) string {
	var b strings.Builder
	last := "[]"
	for i := range n {
		if i%200 == 0 {
			b.WriteString("; INSERT INTO t [")
		}
		v := flatVector(r, odd)
		if r.IntN(15) == 0 {
			v = last // as far as another one
		}
		last = v
		key := fmt.Sprint(i * 7919 % n)
		if i%10 == 0 {
			key = "['k', " + key + "]"
		}
		fmt.Fprintf(&b, "{ id: t:%s, g: %d, o: { v: %s }", key, r.IntN(5), v)
		if r.IntN(50) > 0 {
			b.WriteString(", v: " + v)
		}
		b.WriteString(" }, ")
		if i%200 == 199 || i == n-1 {
			b.WriteString("] RETURN NONE")
		}
	}
	return strings.TrimPrefix(b.String(), "; ")
}

// flatQuery is an exact search: mostly one that a copy answers.
func flatQuery(r *rand.Rand) string {
	metric := []string{"EUCLIDEAN", "COSINE", "EUCLIDEAN", "COSINE", "MANHATTAN", "CHEBYSHEV"}[r.IntN(6)]
	field, rest, from := "v", "", "t"
	switch r.IntN(12) {
	case 0:
		field = "o.v"
	case 1:
		rest = " AND g > 1"
	case 2:
		from = "t:100..900"
	case 3:
		rest = " ORDER BY id"
	}
	query := flatVector(r, r.IntN(4) == 0)
	if r.IntN(5) == 0 {
		query = "(SELECT VALUE v FROM ONLY t:7)"
	}
	return fmt.Sprintf("SELECT id, g, v, vector::distance::knn() AS d FROM %s WHERE %s <|%d,%s|> %s%s", from, field, 1+r.IntN(30), metric,
		query, rest)
}

// TestFlatAnswers: exact searches answer the same from copies of the vectors, as rows are sifted, and where each row is
// read through the gate; for an owner, a viewer, and a user of records who sees some of them.
func TestFlatAnswers(t *testing.T) {
	e := openQuiet(t)
	slow, stop := e.WithRulesOff(plan.Compile, plan.ParallelScan)
	defer stop()
	readers := []auth.Principal{
		{Level: auth.DatabaseUser, Roles: auth.Owner, NS: "n"}, {Level: auth.DatabaseUser, Roles: auth.Viewer, NS: "n"},
		{Level: auth.RecordUser, Access: "acc", Record: value.Record("user", value.Int(1)), NS: "n"},
	}
	copied, none := 0, e.Stats().Memory.Taken
	for seed := range uint64(4) {
		r, db := rand.New(rand.NewPCG(seed, 41)), fmt.Sprint("d", seed)
		root := e.RootSession()
		run(t, root, "DEFINE NAMESPACE IF NOT EXISTS n; USE NS n; DEFINE DATABASE "+db+"; USE DB "+db+"; DEFINE ACCESS acc ON DATABASE TYPE RECORD;"+
			"DEFINE TABLE user; DEFINE TABLE t PERMISSIONS FOR select WHERE g != 2; DEFINE FIELD w ON t PERMISSIONS NONE")
		run(t, root, flatTable(r, 1200, seed%2 == 1))
		for turn := range 3 {
			run(t, root, fmt.Sprintf("CREATE t:%d SET v = %s, g = 0; DELETE t:%d", 5000+turn, flatVector(r, false), r.IntN(1200)))
			for range 60 {
				q := flatQuery(r)
				for _, p := range readers {
					p.DB = db
					want := texts(run(t, slow.SessionAs(p, "n", db), q, allowErrors))
					if got := texts(run(t, e.SessionAs(p, "n", db), q, allowErrors)); got != want {
						t.Fatalf("seed %d, level %d: %s\n got %s\nwant %s", seed, p.Level, q, clip(got, 3000), clip(want, 3000))
					}
				}
			}
			if e.Stats().Memory.Taken > none {
				copied++
			}
		}
		run(t, root, "REMOVE DATABASE "+db)
	}
	if copied < 12 {
		t.Errorf("only %d of 12 turns copied vectors", copied)
	}
}

// TestFlatFollowsCommits: a search sees what was committed before it, while others ask and write.
func TestFlatFollowsCommits(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, flatTable(rand.New(rand.NewPCG(1, 1)), 1100, false))
	run(t, s, "DEFINE TABLE other")
	const find = "SELECT VALUE id FROM t WHERE v <|1,EUCLIDEAN|> [100, 0, 0, 0, 0, 0]"
	var asking, writing sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for range 3 {
		s := owner(t, e)
		asking.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Execute(ctx, find, nil); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Go(func() {
		s := owner(t, e)
		for i := range 40 {
			for range 4 {
				run(t, s, find) // copies what is to change
			}
			run(t, s, fmt.Sprintf("UPSERT t:%d SET v = [%d, 0, 0, 0, 0, 0f]", 9000+i, 10+i))
			for range 4 {
				if got, want := texts(run(t, s, find)), fmt.Sprintf("[t:%d]", 9000+i); got != want {
					t.Errorf("after a commit: got %s, want %s", got, want)
				}
			}
		}
	})
	writing.Wait()
	stop()
	asking.Wait()
	tx, err := s.BeginReading(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Cancel(context.Background()) }()
	run(t, owner(t, e), "DELETE t WHERE v[0] > 9")
	for range 4 { // the transaction does not see that, and others do, in turns
		if res, err := tx.Execute(context.Background(), find, nil); err != nil || texts(res) != "[t:9039]" {
			t.Errorf("in a transaction from before: got %v, %v", res, err)
		}
		if got := texts(run(t, s, find)); strings.HasPrefix(got, "[t:90") {
			t.Errorf("after it was deleted: got %s", got)
		}
	}
}

// TestFlatMemory: copies count against the memory of statements, are dropped where that is scarce and by commits, and
// are not made where an eighth of it is too little for them.
func TestFlatMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory int64
		copies bool
	}{{"enough", 2 << 20, true}, {"scarce", 320 << 10, false}} {
		e, err := engine.OpenOn(context.Background(), mem.New(), engine.Options{NoDefaults: true, Memory: c.memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close(context.Background()) })
		s := owner(t, e)
		const find = "SELECT VALUE id FROM t WHERE v <|1,EUCLIDEAN|> [100, 0, 0, 0, 0, 0]"
		for from := 0; from < 1200; from += 100 {
			run(t, s, fmt.Sprintf("FOR $i IN %d..%d { CREATE type::record('t', $i) SET v = [$i, 1, 2, 3, 4, 5.5] }", from, from+100))
		}
		before := e.Stats().Memory.Taken
		for range 2 {
			run(t, s, find)
		}
		if got := e.Stats().Memory.Taken; got != before {
			t.Errorf("%s: two searches hold %d bytes", c.name, got-before)
		}
		run(t, s, find)
		if got := e.Stats().Memory.Taken - before; (got > 20_000) != c.copies {
			t.Errorf("%s: three searches hold %d bytes", c.name, got)
		}
		if !c.copies {
			continue
		}
		held := e.Hold(int(c.memory) * 5 / 8)
		run(t, s, find)
		held.Release()
		if got := e.Stats().Memory.Taken; got != before {
			t.Errorf("%s: copies hold %d bytes after memory was scarce", c.name, got-before)
		}
		for range 3 {
			run(t, s, find)
		}
		run(t, s, "CREATE other:1")
		run(t, s, find)
		if got := e.Stats().Memory.Taken; got != before {
			t.Errorf("%s: copies hold %d bytes after a commit and a search", c.name, got-before)
		}
	}
}
