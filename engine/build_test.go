package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// fill makes records t:0 … t:n-1 with fields that all kinds of indexes can be over.
func fill(t testing.TB, s *engine.Session, n int) {
	t.Helper()
	run(t, s, "DEFINE ANALYZER IF NOT EXISTS plain TOKENIZERS blank FILTERS lowercase; DEFINE TABLE IF NOT EXISTS t")
	for from := 0; from < n; from += 5000 {
		run(t, s, "FOR $i IN $from..$to { UPSERT type::record('t', $i) SET n = $i, k = $i % 97, tags = [$i % 7, $i % 11 + 100], v = [$i % 13, $i % 17],"+
			" text = string::concat('word', <string> ($i % 50), ' and word', <string> ($i % 31)) RETURN NONE }",
			value.Field{Name: "from", Value: value.Int(int64(from))}, value.Field{Name: "to", Value: value.Int(int64(min(n, from+5000)))})
	}
}

// indexKinds are definitions of an index of every kind over the records of fill, and a question to each.
var indexKinds = []struct{ name, define, ask, plain string }{
	{"ordered", "FIELDS k", "SELECT VALUE id FROM t WHERE k = 5 ORDER BY id", "SELECT VALUE id FROM t WITH NOINDEX WHERE k = 5 ORDER BY id"},
	{"compound", "FIELDS k, n", "SELECT VALUE id FROM t WHERE k = 5 AND n > 100 ORDER BY id", "SELECT VALUE id FROM t WITH NOINDEX WHERE k = 5 AND n > 100 ORDER BY id"},
	{"elements", "FIELDS tags", "SELECT VALUE id FROM t WHERE tags CONTAINS 3 ORDER BY id", "SELECT VALUE id FROM t WITH NOINDEX WHERE tags CONTAINS 3 ORDER BY id"},
	{"unique", "FIELDS n UNIQUE", "SELECT VALUE id FROM t WHERE n > 10 AND n < 90 ORDER BY id", "SELECT VALUE id FROM t WITH NOINDEX WHERE n > 10 AND n < 90 ORDER BY id"},
	{"count", "COUNT", "SELECT count() FROM t GROUP ALL", "SELECT count() FROM t GROUP ALL"},
	{"count-where", "COUNT WHERE k = 5", "SELECT count() FROM t WHERE k = 5 GROUP ALL", "SELECT count() FROM t WITH NOINDEX WHERE k = 5 GROUP ALL"},
	{"text", "FIELDS text FULLTEXT ANALYZER plain BM25", "SELECT VALUE id FROM t WHERE text @@ 'word5' ORDER BY id", "SELECT VALUE id FROM t WITH NOINDEX WHERE text != NONE AND 'word5' IN string::words(text) ORDER BY id"},
	{"vector", "FIELDS v HNSW DIMENSION 2", "RETURN count(SELECT id FROM t WHERE v <|100,100|> [1, 2])", "RETURN math::min([100, count(SELECT id FROM t WHERE v != NONE)])"},
}

// status is the status in INFO FOR INDEX.
func status(t testing.TB, s *engine.Session, name string) (string, value.Value) {
	t.Helper()
	v := run(t, s, "INFO FOR INDEX "+name+" ON t")[0].Value
	b, _ := v.Object().Get("building")
	st, _ := b.Object().Get("status")
	return st.Str(), b
}

// ready waits for the end of the building of an index.
func ready(t testing.TB, s *engine.Session, name string) value.Value {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		switch st, b := status(t, s, name); st {
		case "ready", "error":
			return b
		}
	}
	t.Fatalf("index %s is not ready after a minute", name)
	return value.None
}

// sound runs nacre check over a closed store.
func sound(t testing.TB, path string) {
	t.Helper()
	rep, err := engine.Check(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Findings {
		t.Errorf("check: %s: %s", f.Kind, f.Text)
	}
}

func openAt(t testing.TB, path string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(context.Background(), "bolt://"+path+"?sync=never", engine.Options{NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestIndexesBuiltBesideWriters: every kind of index is filled while records come, change and go, and has in the end what
// a scan finds.
func TestIndexesBuiltBesideWriters(t *testing.T) {
	for _, k := range indexKinds {
		t.Run(k.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			e := openAt(t, path)
			s := owner(t, e)
			const n = 6000
			fill(t, s, n)
			ctx, stop := context.WithCancel(context.Background())
			var writers sync.WaitGroup
			for w := range 3 {
				writers.Go(func() { writeBeside(t, ctx, owner(t, e), uint64(w), n) })
			}
			run(t, s, "DEFINE INDEX i ON t "+k.define+" CONCURRENTLY")
			if b := ready(t, s, "i"); !strings.Contains(b.Text(), "status: 'ready'") {
				t.Errorf("building ended as %s", b.Text())
			}
			stop()
			writers.Wait()
			got, want := run(t, s, k.ask)[0].Value.Text(), run(t, s, k.plain)[0].Value.Text()
			if got != want {
				t.Errorf("by the index: %.200s\nby a scan: %.200s", got, want)
			}
			if err := e.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			sound(t, path)
		})
	}
}

// writeBeside changes records until ctx ends; no two writers give two records the same n.
func writeBeside(t *testing.T, ctx context.Context, s *engine.Session, seed uint64, n int) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	for i := 0; ctx.Err() == nil; i++ {
		id := rnd.IntN(n)
		var text string
		switch fresh := n + 10*i + int(seed); rnd.IntN(4) {
		case 0:
			text = fmt.Sprintf("CREATE t:%d SET n = %[1]d, k = 5, tags = [3], v = [1, 1], text = 'word5 new'", fresh)
		case 1:
			text = fmt.Sprintf("UPDATE t:%d SET k = %d, tags = [%d, 3], v = [%d, 1], text = 'word5 word%d'", id, rnd.IntN(10), rnd.IntN(9), rnd.IntN(9), rnd.IntN(50))
		case 2:
			text = fmt.Sprintf("UPDATE t:%d SET n = %d", id, 1_000_000+fresh)
		case 3:
			text = fmt.Sprintf("DELETE t:%d", id)
		}
		if res := run(t, s, text, allowErrors); res[0].Err != nil && !strings.Contains(res[0].Err.Msg, "conflict") {
			t.Errorf("%s: %v", text, res[0].Err)
		}
	}
}

// TestUniqueIndexBuiltOverDuplicates: the build ends in an error, which says why; writers go on as without the index.
func TestUniqueIndexBuiltOverDuplicates(t *testing.T) {
	s := owner(t, openQuiet(t))
	fill(t, s, 3000)
	run(t, s, "DEFINE INDEX i ON t FIELDS k UNIQUE CONCURRENTLY")
	if b, want := ready(t, s, "i").Text(), "{ error: 'Database index `i` already contains 0, with record `t:0`', status: 'error' }"; b != want {
		t.Errorf("got %s, want %s", b, want)
	}
	run(t, s, "CREATE t:99999 SET k = 1; SELECT * FROM t WHERE k = 1; REMOVE INDEX i ON t; DEFINE INDEX i ON t FIELDS n UNIQUE CONCURRENTLY")
	if b := ready(t, s, "i").Text(); !strings.Contains(b, "ready") {
		t.Error(b)
	}
	if res := run(t, s, "CREATE t SET n = 5", allowErrors); res[0].Err == nil {
		t.Error("a duplicate is accepted")
	}
}

// TestIndexBuiltOverRepeatedValues: a value that a record has twice makes one entry; one that many have is not unique.
func TestIndexBuiltOverRepeatedValues(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "FOR $i IN 0..6000 { CREATE t SET a = [$i, $i, 'some text that is long', 'some text that is long', -1] }")
	run(t, s, "DEFINE INDEX i ON t FIELDS a CONCURRENTLY")
	ready(t, s, "i")
	for _, of := range []string{"-1", "'some text that is long'"} {
		found := run(t, s, "SELECT VALUE count() FROM t WHERE a CONTAINS "+of+" GROUP ALL")[0].Value
		if got := found.Text(); got != "[6000]" {
			t.Errorf("%s is in %s of the records", of, got)
		}
	}
	run(t, s, "DEFINE INDEX same ON t FIELDS a UNIQUE CONCURRENTLY")
	if b := ready(t, s, "same").Text(); !strings.Contains(b, "error") {
		t.Errorf("over a value that many records have, a unique index is %s", b)
	}
}

// TestLargeTablesAreIndexedOutsideOfTheTransaction: a statement alone waits for the build, and leaves nothing where it fails.
func TestLargeTablesAreIndexedOutsideOfTheTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	s := owner(t, e)
	fill(t, s, 25_000)
	run(t, s, "DEFINE INDEX i ON t FIELDS n UNIQUE")
	if b, want := ready(t, s, "i").Text(), "{ initial: 25000, pending: 0, status: 'ready', updated: 0 }"; b != want {
		t.Errorf("got %s, want %s", b, want)
	}
	res := run(t, s, "DEFINE INDEX j ON t FIELDS k UNIQUE", allowErrors)
	if want := "Database index `j` already contains 0, with record `t:0`"; res[0].Err == nil || res[0].Err.Msg != want {
		t.Errorf("got %v, want %s", res[0].Err, want)
	}
	if res := run(t, s, "INFO FOR INDEX j ON t", allowErrors); res[0].Err == nil {
		t.Errorf("an index that could not be built stays: %s", res[0].Value.Text())
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.Execute(ctx, "DEFINE INDEX c ON t FIELDS k", nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if res := run(t, s, "INFO FOR INDEX c ON t", allowErrors); res[0].Err == nil {
		t.Errorf("an index whose definition was cancelled stays: %s", res[0].Value.Text())
	}
	run(t, s, "REBUILD INDEX i ON t; REBUILD INDEX i ON t CONCURRENTLY")
	if b := ready(t, s, "i").Text(); !strings.Contains(b, "initial: 25000") {
		t.Error(b)
	}
	run(t, s, "REMOVE INDEX i ON t")
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestBuildingGoesOnWhenTheStoreIsOpenedAgain stops a build at the start of its way.
func TestBuildingGoesOnWhenTheStoreIsOpenedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	s := owner(t, e)
	fill(t, s, 15_000)
	for _, k := range indexKinds {
		run(t, s, "DEFINE INDEX ⟨"+k.name+"⟩ ON t "+k.define+" CONCURRENTLY")
	}
	for range 3 {
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		sound(t, path)
		e = openAt(t, path)
		s = owner(t, e)
		run(t, s, "UPDATE t:14999 SET k += 1; DELETE t:14998; CREATE t:14998 SET n = 14998")
	}
	for _, k := range indexKinds {
		ready(t, s, "⟨"+k.name+"⟩")
		if got, want := run(t, s, k.ask)[0].Value.Text(), run(t, s, k.plain)[0].Value.Text(); got != want {
			t.Errorf("%s: by the index: %.200s\nby a scan: %.200s", k.name, got, want)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestRemovingEndsTheBuilding: of an index, its table and its database.
func TestRemovingEndsTheBuilding(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	for _, remove := range []string{"REMOVE INDEX i ON t", "REMOVE TABLE t", "REMOVE DATABASE test", "REMOVE NAMESPACE test",
		"DEFINE INDEX OVERWRITE i ON t FIELDS k"} {
		s := owner(t, e)
		fill(t, s, 10_000)
		run(t, s, "DEFINE INDEX i ON t FIELDS text FULLTEXT ANALYZER plain CONCURRENTLY; "+remove)
		s = owner(t, e)
		fill(t, s, 3)
		if res := run(t, s, "INFO FOR INDEX i ON t", allowErrors); (res[0].Err == nil) != strings.HasPrefix(remove, "DEFINE") {
			t.Errorf("after %s: %s, %v", remove, res[0].Value.Text(), res[0].Err)
		}
		run(t, s, "REMOVE TABLE t")
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestRemovingEndsTheWorkOnVectors: nothing is written for a graph that is being linked when its index goes.
func TestRemovingEndsTheWorkOnVectors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	for i, remove := range []string{"REMOVE INDEX i ON t", "REMOVE TABLE t", "REMOVE DATABASE test", "REMOVE NAMESPACE test", "DELETE t; REBUILD INDEX i ON t"} {
		s := owner(t, e)
		fill(t, s, 5000)
		run(t, s, "DEFINE INDEX i ON t FIELDS v HNSW DIMENSION 2; SELECT id FROM t WHERE v <|5,20|> [1, 1]")
		if i%2 == 0 {
			run(t, s, "UPDATE t SET v = [n % 23, n % 29]")
		}
		run(t, s, remove)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestOverwritingAnIndexOfALargeTable: the statement waits while the new one is built beside the old one and beside writers,
// and the old one stays where the new one can not be built.
func TestOverwritingAnIndexOfALargeTable(t *testing.T) {
	const n = 20_100
	for _, k := range indexKinds {
		if k.name == "ordered" || k.name == "elements" || k.name == "count" {
			continue // they are built as others are
		}
		t.Run(k.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			e := openAt(t, path)
			s := owner(t, e)
			fill(t, s, n)
			run(t, s, "DEFINE INDEX i ON t FIELDS tags")
			ctx, stop := context.WithCancel(context.Background())
			var writers sync.WaitGroup
			for w := range 2 {
				writers.Go(func() { writeBeside(t, ctx, owner(t, e), uint64(w), n) })
			}
			run(t, s, "DEFINE INDEX OVERWRITE i ON t "+k.define)
			stop()
			writers.Wait()
			if b := ready(t, s, "i"); !strings.Contains(b.Text(), "status: 'ready'") {
				t.Errorf("building ended as %s", b.Text())
			}
			got, want := run(t, s, k.ask)[0].Value.Text(), run(t, s, k.plain)[0].Value.Text()
			if got != want {
				t.Errorf("by the index: %.200s\nby a scan: %.200s", got, want)
			}
			if got := run(t, s, "RETURN (INFO FOR TABLE t).indexes.keys()")[0].Value.Text(); got != "['i']" {
				t.Errorf("the table has the indexes %s", got)
			}
			if err := e.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			sound(t, path)
		})
	}
}

func TestAnIndexStaysThatCanNotBeReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	s := owner(t, e)
	fill(t, s, 21_000)
	run(t, s, "DEFINE INDEX i ON t FIELDS n UNIQUE")
	before := run(t, s, "INFO FOR TABLE t")[0].Value.Text()
	res := run(t, s, "DEFINE INDEX OVERWRITE i ON t FIELDS k UNIQUE", allowErrors)
	if want := "Database index `i` already contains 0, with record `t:0`"; res[0].Err == nil || res[0].Err.Msg != want {
		t.Errorf("got %v, want %s", res[0].Err, want)
	}
	stays := func(s *engine.Session) {
		t.Helper()
		if after := run(t, s, "INFO FOR TABLE t")[0].Value.Text(); after != before {
			t.Errorf("the table is %s, was %s", after, before)
		}
		if res := run(t, s, "CREATE t SET n = 5", allowErrors); res[0].Err == nil {
			t.Error("the index that was to be replaced does not hold any more")
		}
	}
	stays(s)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.Execute(ctx, "DEFINE INDEX OVERWRITE i ON t FIELDS k", nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stays(s)
	run(t, s, "DEFINE INDEX OVERWRITE i ON t FIELDS k; REMOVE INDEX i ON t; DEFINE INDEX i ON t FIELDS n UNIQUE")
	stays(s)
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestReplacingGoesOnWhenTheStoreIsOpenedAgain closes the store under the statement.
func TestReplacingGoesOnWhenTheStoreIsOpenedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	s := owner(t, e)
	fill(t, s, 60_000)
	run(t, s, "DEFINE INDEX i ON t FIELDS k")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Execute(context.Background(), "DEFINE INDEX OVERWRITE i ON t FIELDS n UNIQUE", nil)
	}()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-done
	e = openAt(t, path)
	s = owner(t, e)
	run(t, s, "UPDATE t:7 SET n = 100000; DELETE t:9; CREATE t:10000000 SET n = 9")
	ready(t, s, "i")
	for _, k := range []string{"k = 5", "n > 99000", "n < 100"} {
		got := run(t, s, "SELECT VALUE id FROM t WHERE "+k+" ORDER BY id")[0].Value.Text()
		if want := run(t, s, "SELECT VALUE id FROM t WITH NOINDEX WHERE "+k+" ORDER BY id")[0].Value.Text(); got != want {
			t.Errorf("%s\nby the index: %.200s\nby a scan: %.200s", k, got, want)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// Inside of a transaction everything about an index is held in memory, and stands in the way of writers.
func TestIndexesOfLargeTablesAreNotFilledInsideOfTransactions(t *testing.T) {
	e, err := engine.Open(context.Background(), "memory", engine.Options{NoDefaults: true, Limits: engine.Limits{IndexInside: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close(context.Background()) }()
	s := owner(t, e)
	fill(t, s, 1001)
	run(t, s, "DEFINE INDEX i ON t FIELDS k")
	const want = "The table 't' has 1001 records, too many to fill an index inside of a transaction: use CONCURRENTLY, or a statement outside of a transaction"
	for _, define := range []string{"DEFINE INDEX j ON t FIELDS n", "DEFINE INDEX OVERWRITE i ON t FIELDS n", "REBUILD INDEX i ON t"} {
		if res := run(t, s, "BEGIN; "+define+"; COMMIT", allowErrors); res[1].Err == nil || res[1].Err.Msg != want {
			t.Errorf("%s: got %v, want %s", define, res[1].Err, want)
		}
		if define[0] == 'D' {
			run(t, s, "BEGIN; "+define+" CONCURRENTLY; COMMIT")
			ready(t, s, "i")
		}
	}
	run(t, s, "DELETE t:1; BEGIN; REBUILD INDEX i ON t; DEFINE INDEX l ON t FIELDS n; COMMIT")
}

// TestCountIndexesBuiltWhileTheirTableIsDefinedAnew: a view that is defined anew begins from nothing, with its counts, while
// an index of it is counted and its rows change.
func TestCountIndexesBuiltWhileTheirTableIsDefinedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	s := owner(t, e)
	const n = 1500
	fill(t, s, n)
	run(t, s, "DEFINE TABLE v AS SELECT count() AS c, k FROM t GROUP BY k")
	for round := range 12 {
		ctx, stop := context.WithCancel(context.Background())
		var others sync.WaitGroup
		for w := range 2 {
			others.Go(func() { writeBeside(t, ctx, owner(t, e), uint64(100_000*round+w), n) })
		}
		others.Go(func() {
			s := owner(t, e)
			for i := 0; ctx.Err() == nil; i++ {
				by := []string{"k", "n"}[i%2]
				text := "DEFINE TABLE OVERWRITE v AS SELECT count() AS c, " + by + " FROM t GROUP BY " + by
				if res := run(t, s, text, allowErrors); res[0].Err != nil && !strings.Contains(res[0].Err.Msg, "conflict") {
					t.Errorf("%s: %v", text, res[0].Err)
				}
			}
		})
		for _, define := range []string{"c ON v COUNT", "w ON v COUNT WHERE c > 1"} {
			run(t, s, "DEFINE INDEX OVERWRITE "+define+" CONCURRENTLY")
		}
		for _, name := range []string{"c", "w"} {
			deadline := time.Now().Add(time.Minute)
			for !strings.Contains(run(t, s, "INFO FOR INDEX "+name+" ON v")[0].Value.Text(), "ready") {
				if time.Now().After(deadline) {
					t.Fatalf("index %s is not ready after a minute", name)
				}
			}
		}
		stop()
		others.Wait()
		for _, ask := range []string{"SELECT VALUE count FROM (SELECT count() FROM v%s GROUP ALL)", "SELECT VALUE count FROM (SELECT count() FROM v%s WHERE c > 1 GROUP ALL)"} {
			got, want := run(t, s, fmt.Sprintf(ask, ""))[0].Value.Text(), run(t, s, fmt.Sprintf(ask, " WITH NOINDEX"))[0].Value.Text()
			if rows := run(t, s, "RETURN [count(SELECT * FROM v)]")[0].Value.Text(); !strings.Contains(ask, "WHERE") && got != rows || got != want {
				t.Errorf("round %d: %s answers %s, without index %s; the table has %s rows", round, ask, got, want, rows)
			}
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestAnIndexServesUntilTheNewOneIsBuilt: readers have an index all the while, and the answers are right.
func TestAnIndexServesUntilTheNewOneIsBuilt(t *testing.T) {
	const n = 8000
	path := filepath.Join(t.TempDir(), "store")
	e := openAt(t, path)
	s := owner(t, e)
	fill(t, s, n)
	run(t, s, "DEFINE INDEX i ON t FIELDS k")
	ctx, stop := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() { writeBeside(t, ctx, owner(t, e), uint64(w), n) })
	}
	for _, text := range []string{"DEFINE INDEX OVERWRITE i ON t FIELDS k, n CONCURRENTLY", "REBUILD INDEX i ON t CONCURRENTLY",
		"DEFINE INDEX OVERWRITE i ON t FIELDS k, tags CONCURRENTLY; DEFINE INDEX OVERWRITE i ON t FIELDS k, text CONCURRENTLY"} {
		run(t, s, text)
		want := "k, n"
		if strings.Contains(text, "tags") {
			want = "k, text"
		}
		if got := run(t, s, "RETURN (INFO FOR TABLE t).indexes")[0].Value.Text(); got != "{ i: 'DEFINE INDEX i ON t FIELDS "+want+"' }" {
			t.Errorf("after %s the indexes are %s", text, got)
		}
		for st := ""; st != "ready"; {
			var b value.Value
			if st, b = status(t, s, "i"); st == "error" {
				t.Fatalf("%s: %s", text, b.Text())
			}
			if got := run(t, s, "EXPLAIN SELECT VALUE id FROM t WHERE k = 5")[0].Value.Text(); !strings.Contains(got, "index: i") {
				t.Fatalf("%s, %s: the plan is %s", text, st, got)
			}
			res := run(t, s, "BEGIN; SELECT VALUE id FROM t WHERE k = 5 ORDER BY id; SELECT VALUE id FROM t WITH NOINDEX WHERE k = 5 ORDER BY id; COMMIT")
			if got, want := res[1].Value.Text(), res[2].Value.Text(); got != want {
				t.Fatalf("%s, %s: by the index: %.200s\nby a scan: %.200s", text, st, got, want)
			}
		}
	}
	stop()
	writers.Wait()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestAnIndexServesWhereTheNewOneCanNotBeBuilt: no statement waits for the build, so INFO FOR INDEX tells why it failed;
// the old index goes on, and the new definition can be built once the records fit it.
func TestAnIndexServesWhereTheNewOneCanNotBeBuilt(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store")
	open := func() (*engine.Engine, *engine.Session) {
		e, err := engine.Open(ctx, "bolt://"+path+"?sync=never&versioned=true", engine.Options{NoDefaults: true})
		if err != nil {
			t.Fatal(err)
		}
		return e, owner(t, e)
	}
	e, s := open()
	fill(t, s, 300)
	run(t, s, "DEFINE INDEX i ON t FIELDS n UNIQUE; DEFINE INDEX OVERWRITE i ON t FIELDS k UNIQUE CONCURRENTLY; ALTER INDEX i ON t COMMENT 'new'")
	for range 2 {
		if got, want := ready(t, s, "i").Text(), "{ error: 'Database index `i` already contains 0, with record `t:0`', status: 'error' }"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := run(t, s, "EXPLAIN SELECT * FROM t WHERE n = 5")[0].Value.Text(); !strings.Contains(got, "index: i") {
			t.Errorf("the plan is %s", got)
		}
		if res := run(t, s, "CREATE t SET n = 5", allowErrors); res[0].Err == nil {
			t.Error("the index that was to be replaced does not hold any more")
		}
		run(t, s, "CREATE t:1000 SET k = 1; DELETE t:1000")
		const want = "{ i: \"DEFINE INDEX i ON t FIELDS k UNIQUE COMMENT 'new'\" }"
		for _, info := range []string{"INFO FOR TABLE t", "INFO FOR TABLE t VERSION time::now()"} {
			v, _ := run(t, s, info)[0].Value.Object().Get("indexes")
			if got := v.Text(); got != want {
				t.Errorf("%s shows %s, want %s", info, got, want)
			}
		}
		var b strings.Builder
		if err := s.Export(ctx, &b, engine.ExportOptions{AllTables: true}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Count(got, "DEFINE INDEX") != 1 || !strings.Contains(got, "FIELDS n UNIQUE") {
			t.Errorf("the export is\n%s", got)
		}
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
		sound(t, path)
		e, s = open()
	}
	if res := run(t, s, "REBUILD INDEX i ON t", allowErrors); res[0].Err == nil {
		t.Error("an index is built that the records do not fit")
	}
	ready(t, s, "i")
	run(t, s, "UPDATE t SET k = n; REBUILD INDEX i ON t")
	if got := run(t, s, "EXPLAIN SELECT * FROM t WHERE k = 5")[0].Value.Text(); !strings.Contains(got, "index: i") {
		t.Errorf("the plan is %s", got)
	}
	run(t, s, "CREATE t SET n = 5, k = 1000; REMOVE INDEX i ON t")
	if got := run(t, s, "RETURN (INFO FOR TABLE t).indexes")[0].Value.Text(); got != "{  }" {
		t.Errorf("after REMOVE the indexes are %s", got)
	}
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	sound(t, path)
}

// TestAnIndexThatIsBuiltStaysRetired: PREPARE REMOVE holds for one that is being filled, and for the one beside it.
func TestAnIndexThatIsBuiltStaysRetired(t *testing.T) {
	s := owner(t, openQuiet(t))
	fill(t, s, 3000)
	for _, before := range []string{"", "DEFINE INDEX OVERWRITE i ON t FIELDS n;"} {
		run(t, s, before+"DEFINE INDEX OVERWRITE i ON t FIELDS k CONCURRENTLY; ALTER INDEX i ON t PREPARE REMOVE")
		ready(t, s, "i")
		if got := run(t, s, "EXPLAIN SELECT * FROM t WHERE k = 5")[0].Value.Text(); strings.Contains(got, "index: i") {
			t.Errorf("after %q the plan is %s", before, got)
		}
	}
}
