package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
)

// saidOf is the answers of a text, without their times.
func saidOf(t *testing.T, s *engine.Session, text string) (out []string) {
	t.Helper()
	results, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			out = append(out, r.Verb+" fails: "+r.Err.Msg)
		} else {
			out = append(out, r.Verb+" "+r.Value.Text())
		}
	}
	return out
}

func freshEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.OpenOn(context.Background(), mem.New(), engine.Options{NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

const jointSchema = `DEFINE TABLE a; DEFINE FIELD n ON a TYPE option<int> ASSERT $value = NONE OR $value < 90;
	DEFINE INDEX u ON a FIELDS u UNIQUE; DEFINE INDEX n ON a FIELDS n; DEFINE INDEX total ON a COUNT;
	DEFINE TABLE b; DEFINE EVENT e ON b THEN { IF $after.n = 7 { THROW 'seven' }; UPSERT log:b SET n += 1 };
	DEFINE TABLE v AS SELECT count() AS c, n % 3 AS m FROM b GROUP BY m; DEFINE TABLE likes TYPE RELATION;
	DEFINE ANALYZER w TOKENIZERS blank; DEFINE INDEX words ON b FIELDS t FULLTEXT ANALYZER w BM25;
	DEFINE TABLE f CHANGEFEED 1h`

// jointStatement is a random statement that may share a commit, or that ends those that do. Many of them fail.
func jointStatement(r *rand.Rand) string {
	n := func(of int) int { return r.IntN(of) }
	switch n(14) {
	case 0:
		return fmt.Sprintf("CREATE a:%d SET n = %d, u = %d", n(9), n(100), n(9))
	case 1:
		return fmt.Sprintf("INSERT INTO a [{ id: %d, n: %d, u: %d }, { id: %d, n: %d }] RETURN n", n(9), n(95), n(9), n(9), n(95))
	case 2:
		return fmt.Sprintf("UPDATE a SET n += %d WHERE n > %d RETURN VALUE n", n(20), n(90))
	case 3:
		return fmt.Sprintf("UPSERT b:%d SET n = %d, t = 'one two%d'", n(6), n(10), n(3))
	case 4:
		return fmt.Sprintf("DELETE a:%d RETURN BEFORE", n(9))
	case 5:
		return fmt.Sprintf("DELETE b WHERE n = %d", n(10))
	case 6:
		return fmt.Sprintf("RELATE a:%d->likes:%d->b:%d SET w = %d", n(9), n(9), n(6), n(9))
	case 7:
		return "SELECT id, n, u FROM a ORDER BY id"
	case 8:
		return fmt.Sprintf("LET $x = %d", n(9))
	case 9:
		return fmt.Sprintf("CREATE ONLY a SET id = $x, n = (SELECT VALUE count() FROM ONLY b GROUP ALL LIMIT 1) OR %d", n(9))
	case 10:
		return fmt.Sprintf("CREATE f:%d SET n = %d", n(9), n(9))
	case 11:
		return fmt.Sprintf("UPDATE b:%d SET t = 'two%d', n = (SELECT VALUE c FROM v LIMIT 1)[0] + %d", n(6), n(3), n(4))
	case 12:
		return fmt.Sprintf("UPDATE ONLY a:%d MERGE { n: %d, deep: { x: %d } } RETURN DIFF", n(9), n(99), n(9))
	}
	return fmt.Sprintf("CREATE new%d:%d SET n = sleep(1ns)", n(3), n(9))
}

// TestJointStatementsAnswerAsAlone runs random texts as a whole on one engine, and statement by statement on another:
// all answers, and all that is stored, must be the same.
func TestJointStatementsAnswerAsAlone(t *testing.T) {
	const state = "SELECT * FROM a; SELECT * FROM b; SELECT * FROM v; SELECT * FROM likes; SELECT * FROM log; SELECT * FROM f; " +
		"SELECT VALUE count() FROM a GROUP ALL; SELECT id FROM b WHERE t @@ 'two1'; SELECT id FROM a WHERE n > 40 ORDER BY id; " +
		"SELECT id, ->likes->b AS bs FROM a; INFO FOR DB"
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 17))
		whole, single := owner(t, freshEngine(t)), owner(t, freshEngine(t))
		for _, s := range []*engine.Session{whole, single} {
			run(t, s, jointSchema)
		}
		for range 4 {
			text := make([]string, 1+r.IntN(30))
			for i := range text {
				text[i] = jointStatement(r)
			}
			all := "LET $x = 1; " + strings.Join(text, "; ")
			got := saidOf(t, whole, all)
			want := saidOf(t, single, "LET $x = 1")
			x := "LET $x = 1; "
			for _, one := range text {
				answers := saidOf(t, single, x+one) // one LET and one statement: nothing to share a commit with
				want = append(want, answers[len(answers)-1])
				if strings.HasPrefix(one, "LET") {
					x = one + "; "
				}
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("seed %d: %s\nstatement %d: %s\ntogether %s\nalone    %s", seed, all, i,
						append([]string{"LET"}, text...)[i], got[i], want[i])
				}
			}
			if got, want := fmt.Sprint(saidOf(t, whole, state)), fmt.Sprint(saidOf(t, single, state)); got != want {
				t.Fatalf("seed %d: %s\nthe store has, together\n%s\nalone\n%s", seed, all, got, want)
			}
			const feed = "SHOW CHANGES FOR TABLE f SINCE 0"
			fed, alone := saidOf(t, whole, feed)[0], saidOf(t, single, feed)[0]
			if strings.Count(fed, "versionstamp") != strings.Count(alone, "versionstamp") {
				t.Fatalf("seed %d: %s\nthe feed has, together\n%s\nalone\n%s", seed, all, fed, alone)
			}
		}
	}
}

// TestJointStatementsShareCommits counts commits: fewer than statements where nothing speaks against it, one for each
// where others may tell them apart.
func TestJointStatementsShareCommits(t *testing.T) {
	for _, tc := range []struct {
		name, before, text string
		apart              bool
	}{
		{name: "records", text: "CREATE t"},
		{name: "a change feed", before: "DEFINE TABLE t CHANGEFEED 1h", text: "CREATE t", apart: true},
		{name: "a change feed of the database", before: "DEFINE DATABASE OVERWRITE test CHANGEFEED 1h", text: "CREATE t", apart: true},
		{name: "a live query", before: "DEFINE TABLE t; LIVE SELECT * FROM t", text: "CREATE t", apart: true},
		{name: "a live query of another table", before: "DEFINE TABLE o; LIVE SELECT * FROM o", text: "CREATE t"},
		{name: "asynchronous events", before: "DEFINE EVENT e ON t ASYNC THEN (RETURN 1)", text: "CREATE t", apart: true},
		{name: "a pause", text: "CREATE t SET x = sleep(1ns)", apart: true},
		{name: "a file", before: "DEFINE BUCKET f BACKEND 'memory'", text: `CREATE t SET x = file::put(f"f:/x", 'x')`, apart: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, e, s, _ := contended(t)
			s.Notify(func(*engine.Notification) error { return nil })
			run(t, s, tc.before+"; CREATE warm:1; DEFINE TABLE IF NOT EXISTS t")
			const n = 100
			before := e.Stats().Commits
			run(t, s, strings.Repeat(tc.text+"; ", n))
			if made := e.Stats().Commits - before; tc.apart && made < n || !tc.apart && made >= n {
				t.Errorf("%d statements made %d commits", n, made)
			}
			if got := saidOf(t, s, "RETURN array::len((SELECT VALUE id FROM t))")[0]; got != "return 100" {
				t.Errorf("there are %s records", got)
			}
		})
	}
}

// TestJointStatementsThatMeetARival: statements that lose a conflict run by themselves, and show once.
func TestJointStatementsThatMeetARival(t *testing.T) {
	for _, rivals := range []int64{1, 2, 5} {
		st, _, s, _ := contended(t)
		st.rivals.Store(rivals)
		got := saidOf(t, s, "UPDATE c:1 SET n += 1 RETURN NONE; UPDATE c:1 SET n += 1 RETURN NONE; CREATE c:1; UPDATE c:1 SET n += 1 RETURN NONE")
		want := "[update [] update [] create fails: Database record `c:1` already exists update []]"
		if fmt.Sprint(got) != want {
			t.Errorf("%d rivals: got %v, want %s", rivals, got, want)
		}
		st.rivals.Store(0)
		if got, want := saidOf(t, s, "RETURN c:1.n")[0], fmt.Sprint("return ", 3+10*rivals); got != want {
			t.Errorf("%d rivals: %s, want %s", rivals, got, want)
		}
	}
}

// failingStore refuses commits with an error, as long as there is one.
type failingStore struct {
	kv.Store
	err atomic.Pointer[error]
}

func (s *failingStore) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if err := s.err.Load(); err != nil {
		return 0, *err
	}
	return s.Store.Commit(ctx, b)
}

// TestJointStatementsWhoseCommitFails: every statement that would have changed something says so, and those that failed
// before keep their error.
func TestJointStatementsWhoseCommitFails(t *testing.T) {
	for err, want := range map[error]string{kv.ErrUndetermined: "The outcome of the commit is not known",
		kv.ErrNoSpace: "The store has no space left"} {
		st := &failingStore{Store: mem.New()}
		e, openErr := engine.OpenOn(context.Background(), st, engine.Options{NoDefaults: true,
			Log: slog.New(slog.DiscardHandler)})
		if openErr != nil {
			t.Fatal(openErr)
		}
		s := owner(t, e)
		run(t, s, "CREATE t:0")
		err := errors.Join(err)
		st.err.Store(&err)
		got := saidOf(t, s, "CREATE t:1; CREATE t:0; CREATE t:2; RETURN 5")
		for i, want := range []string{want, "already exists", want, "return 5"} {
			if !strings.Contains(got[i], want) {
				t.Errorf("answer %d is %q, want %q", i, got[i], want)
			}
		}
		st.err.Store(nil)
		if got := saidOf(t, s, "SELECT VALUE id FROM t")[0]; got != "select [t:0]" {
			t.Errorf("there is %s", got)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestJointStatementsAreCommittedBeforeRequests: what is asked over the network while a statement runs sees those before
// it, and is asked once.
func TestJointStatementsAreCommittedBeforeRequests(t *testing.T) {
	for _, in := range []string{"CREATE b:1 SET x = http::get('URL')",
		"DEFINE EVENT e ON b THEN (http::get('URL')); CREATE a:3; CREATE b:1"} {
		_, e, s, _ := contended(t)
		other, asked, missing := owner(t, e), atomic.Int64{}, atomic.Int64{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			if saidOf(t, other, "RETURN a:2.n")[0] != "return 2" {
				missing.Add(1)
			}
		}))
		run(t, s, "CREATE a:1; CREATE a:2 SET n = 2; "+strings.ReplaceAll(in, "URL", server.URL))
		server.Close()
		if asked.Load() != 1 || missing.Load() > 0 {
			t.Errorf("%s: asked %d times, %d of them before the commit", in, asked.Load(), missing.Load())
		}
	}
}

// BenchmarkTextOfInserts is a text of 100 inserts, each a transaction of its own, on a store that syncs.
func BenchmarkTextOfInserts(b *testing.B) {
	e, err := engine.Open(context.Background(), "bolt://"+filepath.Join(b.TempDir(), "store"), engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = e.Close(context.Background()) }()
	s := owner(b, e)
	text := strings.Repeat("INSERT INTO item { a: 1, b: 'two' } RETURN NONE; ", 100)
	b.ReportAllocs()
	for b.Loop() {
		results, err := s.Execute(context.Background(), text, nil)
		if err != nil || len(results) != 100 || results[99].Err != nil {
			b.Fatal(err, results)
		}
	}
}
