package engine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// rivalStore lets somebody else commit first, as often as rivals says, before each commit that is asked of it, or before
// the commit turn is given for one. The rival's own commits pass.
type rivalStore struct {
	kv.Store
	rivals atomic.Int64
	rival  func()
}

func (s *rivalStore) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if b.Turn == nil {
		s.goFirst()
	}
	return s.Store.Commit(ctx, b)
}

func (s *rivalStore) Exclusive(ctx context.Context) (*kv.Turn, error) {
	s.goFirst()
	return s.Store.Exclusive(ctx)
}

func (s *rivalStore) goFirst() {
	if s.rivals.Add(-1) >= 0 {
		left := s.rivals.Swap(0)
		s.rival()
		s.rivals.Store(left)
	}
}

// retries counts transactions that ran again.
type retries struct{ n atomic.Int64 }

func (m *retries) Count(w *txn.Work) {
	if w.Again {
		m.n.Add(1)
	}
}

// contended is an engine whose rival adds ten to c:1, and a session in it.
func contended(t *testing.T) (*rivalStore, *engine.Engine, *engine.Session, *retries) {
	t.Helper()
	st, counted := &rivalStore{Store: mem.New()}, &retries{}
	caps := auth.DefaultCapabilities()
	caps.Net.Allow, caps.Net.Deny = auth.NewSet("127.0.0.1"), auth.NewSet()
	caps.Experimental.Allow = auth.NewSet("files")
	e, err := engine.OpenOn(context.Background(), st, engine.Options{
		NoDefaults: true, Capabilities: caps, Meter: counted, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	s := owner(t, e)
	run(t, s, "CREATE c:1 SET n = 0; CREATE c:2 SET n = 0")
	other := owner(t, e)
	st.rival = func() { run(t, other, "UPDATE c:1 SET n += 10 RETURN NONE") }
	return st, e, s, counted
}

const bump = "LET $r = SELECT VALUE n FROM ONLY c:1; UPDATE c:1 SET n = $r + 1;"

// TestBlocksRunAgain: what one text holds from BEGIN to COMMIT runs again when somebody else was first, and shows once.
func TestBlocksRunAgain(t *testing.T) {
	for _, tc := range []struct {
		name, before, text, then string
		rivals                   int64
		want                     string // the last answer of text
		state                    string // of then
	}{
		{name: "a counter", text: "BEGIN; " + bump + " COMMIT; RETURN 'x'", rivals: 1, want: "'x'", then: "RETURN c:1.n", state: "11"},
		{name: "it loses until it has the turn", text: "BEGIN; " + bump + " COMMIT", rivals: 3, want: "NONE", then: "RETURN c:1.n", state: "31"},
		{name: "two blocks", text: "BEGIN; " + bump + " COMMIT; BEGIN; " + bump + " COMMIT; RETURN c:1.n", rivals: 2, want: "22", then: "RETURN c:1.n", state: "22"},
		{name: "variables", text: "LET $a = 1; BEGIN; LET $a = $a + 1; LET $b = $b OR []; LET $b = array::push($b, $a); " + bump + " COMMIT; RETURN [$a, $b, $r]",
			rivals: 2, want: "[2, [2], 20]"},
		{name: "what is random is what was stored", text: "BEGIN; " + bump + " CREATE k:1 SET id = k:1, u = rand::uuid(); LET $u = k:1.u; COMMIT; RETURN k:1.u = $u",
			rivals: 1, want: "true"},
		{name: "a record of its own", text: "BEGIN; CREATE k; " + bump + " COMMIT; SELECT count() FROM k GROUP ALL", rivals: 2, want: "[{ count: 1 }]"},
		{name: "events", before: "DEFINE EVENT e ON c WHEN $event = 'UPDATE' AND $after.n % 10 != 0 THEN (CREATE log SET n = $after.n)",
			text: "BEGIN; " + bump + " COMMIT; SELECT VALUE n FROM log", rivals: 2, want: "[21]"},
		{name: "changefeeds", before: "DEFINE TABLE f CHANGEFEED 1h", text: "BEGIN; CREATE f:1 SET n = 1; " + bump + " COMMIT; SHOW CHANGES FOR TABLE f SINCE 0",
			rivals: 2, then: "RETURN array::len((SELECT * FROM f))", state: "1"},
		{name: "sequences give no number twice", before: "DEFINE SEQUENCE q BATCH 1",
			text: "BEGIN; LET $a = sequence::nextval('q'); " + bump + " COMMIT; RETURN [sequence::nextval('q') > $a, c:1.n]", rivals: 1, want: "[true, 11]"},
		{name: "a place", text: "BEGIN; " + bump + " USE DB other; CREATE here:1; COMMIT; RETURN [session::db(), here:1.id]", rivals: 1, want: "['other', here:1]"},
		{name: "a definition", text: "BEGIN; DEFINE TABLE d; DEFINE FIELD n ON d TYPE int; " + bump + " COMMIT; CREATE ONLY d:1 SET n = 5", rivals: 2, want: "{ id: d:1, n: 5 }"},
		{name: "an early RETURN", text: "BEGIN; " + bump + " RETURN $r; THROW 'no'; COMMIT; RETURN c:1.n", rivals: 1, want: "11"},
		{name: "it fails in the run that sees more", text: "BEGIN; " + bump + " IF $r > 0 { THROW 'more' }; COMMIT; RETURN c:1.n", rivals: 1, want: "10"},
		{name: "an OPTION inside", text: "BEGIN; OPTION IMPORT = false; " + bump + " COMMIT; RETURN c:1.n", rivals: 1, want: "11"},
		{name: "nothing read in common", text: "BEGIN; UPDATE c:2 SET n += 1; COMMIT; RETURN [c:1.n, c:2.n]", rivals: 1, want: "[10, 1]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st, e, s, counted := contended(t)
			run(t, s, tc.before)
			st.rivals.Store(tc.rivals)
			out := run(t, s, tc.text, allowErrors)
			if last := out[len(out)-1]; last.Err != nil || tc.want != "" && last.Value.Text() != tc.want {
				t.Errorf("got %s %v, want %s", last.Value.Text(), last.Err, tc.want)
			}
			if n := counted.n.Load(); tc.name != "nothing read in common" && n < tc.rivals {
				t.Errorf("%d retries were counted, want %d", n, tc.rivals)
			}
			if tc.then != "" {
				if got := run(t, owner(t, e), tc.then)[0].Value.Text(); got != tc.state {
					t.Errorf("afterwards %s, want %s", got, tc.state)
				}
			}
		})
	}
}

// TestBlocksTellOnce: the answers, the notifications and the variables of the session are those of one run.
func TestBlocksTellOnce(t *testing.T) {
	st, _, s, _ := contended(t)
	run(t, s, "DEFINE TABLE lv")
	if err := s.Set("mine", value.Int(5)); err != nil {
		t.Fatal(err)
	}
	got := make(chan *engine.Notification, 16)
	s.Notify(func(n *engine.Notification) error { got <- n; return nil })
	run(t, s, "LIVE SELECT * FROM lv")
	st.rivals.Store(2)
	out := run(t, s, "BEGIN; LIVE SELECT * FROM lv WHERE n > 1; LET $mine = $mine + 1; CREATE lv:1 SET n = $mine; "+bump+" COMMIT; CREATE lv:2 SET n = 1; RETURN $mine")
	if len(out) != 9 || out[8].Value.Text() != "6" {
		t.Fatalf("got %d answers, the last is %s", len(out), out[len(out)-1].Value.Text())
	}
	id := out[1].Value.UUID()
	inner := ""
	for range 3 {
		select {
		case n := <-got:
			if n.Live == id {
				inner += n.Action + " " + n.Result.Text()
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a notification did not come")
		}
	}
	if inner != "CREATE { id: lv:1, n: 6 }" || len(got) != 0 {
		t.Errorf("got %q, and %d more", inner, len(got))
	}
	if v := run(t, s, "RETURN $mine")[0].Value.Text(); v != "5" {
		t.Errorf("the variable of the session is %s", v)
	}
}

// TestBlocksThatDidMoreAreNotRepeated: what was done outside of the transaction stays done, so the conflict is the answer.
func TestBlocksThatDidMoreAreNotRepeated(t *testing.T) {
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }))
	defer web.Close()
	for name, text := range map[string]string{
		"http":          "BEGIN; http::get('" + web.URL + "'); " + bump + " COMMIT",
		"http in event": "BEGIN; DEFINE EVENT e ON c THEN http::get('" + web.URL + "'); " + bump + " COMMIT",
		"SLEEP":         "BEGIN; SLEEP 1ms; " + bump + " COMMIT",
		"sleep()":       "BEGIN; " + bump + " sleep(1ms); COMMIT",
		"a file":        "BEGIN; f'b:/x'.put('1'); " + bump + " COMMIT",
	} {
		t.Run(name, func(t *testing.T) {
			st, _, s, counted := contended(t)
			asked.Store(0)
			run(t, s, "DEFINE BUCKET b BACKEND 'memory'")
			st.rivals.Store(1)
			for i, r := range run(t, s, text, allowErrors)[1:] {
				if r.Err == nil || !strings.Contains(r.Err.Msg, "can be retried") {
					t.Errorf("answer %d: %s %v", i+1, r.Value.Text(), r.Err)
				}
			}
			if asked.Load() > 1 || strings.HasPrefix(name, "http") && asked.Load() == 0 {
				t.Errorf("%d requests", asked.Load())
			}
			if counted.n.Load() != 0 {
				t.Error("it ran again")
			}
			if n := run(t, s, "RETURN c:1.n")[0].Value.Text(); n != "10" {
				t.Errorf("the counter is %s", n)
			}
		})
	}
}

// TestOpenBlocksAreNotRepeated: a text without its COMMIT, and a transaction of the client, are as they were.
func TestOpenBlocksAreNotRepeated(t *testing.T) {
	st, _, s, _ := contended(t)
	st.rivals.Store(1)
	if out := run(t, s, "BEGIN; "+bump+" CANCEL; BEGIN; "+bump, allowErrors); len(out) != 7 || out[6].Err == nil {
		t.Errorf("got %d answers", len(out))
	}
	tx, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Execute(context.Background(), bump, nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(context.Background()); err == nil || !strings.Contains(err.Error(), "can be retried") {
		t.Errorf("got %v", err)
	}
}

// gathering is a Sink that keeps what it gets.
type gathering struct {
	pieces int
	ends   []string
}

func (g *gathering) Begin(int) error                      { return nil }
func (g *gathering) Rows(_ int, rows []value.Value) error { g.pieces += len(rows); return nil }
func (g *gathering) Finished(_ int, r *engine.Result, rows bool) error {
	end := "ok"
	if r.Err != nil {
		end = r.Err.Msg
	} else if rows {
		end = "rows"
	}
	g.ends = append(g.ends, end)
	return nil
}

// TestStreamedBlocks run again as long as no rows have left.
func TestStreamedBlocks(t *testing.T) {
	for text, want := range map[string]string{
		"BEGIN; " + bump + " COMMIT":                              "0 ok ok ok ok",
		"BEGIN; " + bump + " SELECT * FROM nothing; COMMIT":       "0 ok ok ok ok ok",
		"BEGIN; " + bump + " SELECT * FROM c ORDER BY n; COMMIT":  "", // whether those leave in pieces is the planner's
		"SELECT * FROM c:2; BEGIN; SELECT * FROM c; COMMIT":       "3 rows ok rows ok",
		"BEGIN; SELECT * FROM c; UPDATE c:2 SET n = 1; COMMIT":    "2 ok ~ ~",
		"SELECT * FROM c:2; BEGIN; UPDATE c:1 SET n += 1; COMMIT": "1 rows ok ok ok",
	} {
		st, _, s, _ := contended(t)
		run(t, s, "DEFINE TABLE nothing")
		st.rivals.Store(1)
		var g gathering
		if err := s.Stream(context.Background(), text, nil, &g); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for i, end := range g.ends {
			if strings.Contains(end, "can be retried") {
				g.ends[i] = "~"
			}
		}
		if got := fmt.Sprint(g.pieces, " ", strings.Join(g.ends, " ")); want != "" && got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestCountersOfBlocks: sixty-four clients on ten counters lose nothing and hear of no conflict.
func TestCountersOfBlocks(t *testing.T) {
	const clients, counters, each = 64, 10, 15
	for _, dsn := range []string{"memory", "bolt://" + filepath.Join(t.TempDir(), "x.db") + "?sync=never"} {
		e, err := engine.Open(context.Background(), dsn, engine.Options{Unauthenticated: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		s := owner(t, e)
		run(t, s, fmt.Sprintf("DEFINE SEQUENCE q BATCH 1; FOR $i IN 0..%d { CREATE type::record('c', $i) SET n = 0, s = [] }", counters))
		var wg sync.WaitGroup
		for w := range clients {
			s := owner(t, e)
			wg.Go(func() {
				for i := range each {
					text := fmt.Sprintf("BEGIN; LET $r = SELECT VALUE n FROM ONLY c:%d; UPDATE c:%[1]d SET n = $r + 1, s += sequence::nextval('q'); COMMIT", (w+i)%counters)
					out, err := s.Execute(context.Background(), text, nil)
					if err != nil {
						t.Error(err)
						return
					}
					for _, r := range out {
						if r.Err != nil {
							t.Errorf("%s: %v", text, r.Err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
		got := run(t, s, "RETURN [math::sum((SELECT VALUE n FROM c)), array::len(array::distinct(array::flatten((SELECT VALUE s FROM c))))]")[0].Value.Text()
		if want := fmt.Sprintf("[%d, %[1]d]", clients*each); got != want {
			t.Errorf("%s: got %s, want %s", dsn, got, want)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
