package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/errs"
)

// TestRemoveOfMuch: a large table, database or namespace is gone at once and stays gone, also when the store is closed
// before its data is; its name may be used again at once. The data goes in the background.
func TestRemoveOfMuch(t *testing.T) {
	for _, tc := range []struct{ remove, again, left string }{
		{"REMOVE TABLE big", "DEFINE TABLE big; DEFINE INDEX n ON big FIELDS n; CREATE big:1 SET n = 7", "keep"},
		{"REMOVE DATABASE d", "DEFINE DATABASE d; USE DB d; CREATE big:1 SET n = 7", ""},
		{"REMOVE NAMESPACE n", "DEFINE NAMESPACE n; USE NS n; DEFINE DATABASE d; USE DB d; CREATE big:1 SET n = 7", ""},
	} {
		t.Run(tc.remove, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			e := openBig(t, path)
			s := e.RootSession()
			n, d := "n", "d"
			if err := s.Use(t.Context(), &n, &d); err != nil {
				t.Fatal(err)
			}
			run(t, s, `DEFINE TABLE keep; DEFINE TABLE big; DEFINE INDEX n ON big FIELDS n; CREATE keep:1 SET name = 'stays';
				DEFINE TABLE knows TYPE RELATION; FOR $i IN 0..25000 { CREATE type::record('big', $i) SET n = $i };
				RELATE keep:1->knows->keep:1`)
			if got := one(t, s, "RETURN count(SELECT VALUE id FROM big)"); got != "25000" {
				t.Fatalf("made %s records", got)
			}
			before := keys(t, e)
			run(t, s, "BEGIN; "+tc.remove+"; CANCEL", allowErrors)
			if got := one(t, s, "RETURN count(SELECT VALUE id FROM big WHERE n = 5)"); got != "1" {
				t.Errorf("after a cancelled removal: got %s records", got)
			}
			run(t, s, tc.remove)
			run(t, s, tc.again)
			look := func(s *engine.Session) {
				t.Helper()
				if got := one(t, s, "RETURN [(SELECT VALUE n FROM big), (SELECT VALUE id FROM big WHERE n = 5), (SELECT VALUE id FROM big WHERE n = 7)]"); got != "[[7], [], [big:1]]" {
					t.Errorf("got %s", got)
				}
				if tc.left != "" {
					if got := one(t, s, "RETURN keep:1.name"); got != "'stays'" {
						t.Errorf("the other table has %s", got)
					}
				}
			}
			look(s)
			shut(t, e)
			goesInTheEnd(t, path, before, func(e *engine.Engine) {
				s := e.RootSession()
				if err := s.Use(t.Context(), &n, &d); err != nil {
					t.Fatal(err)
				}
				look(s)
			})
		})
	}
}

// TestRemoveOfMuchThatIsTied: of a large table that is removed, what its edges and references have left at other
// tables is not seen from then on, goes in the background, also when the store is closed meanwhile, and is not mixed up
// with that of a table of the same name.
func TestRemoveOfMuchThatIsTied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	e := openBig(t, path)
	s := owner(t, e)
	run(t, s, `CREATE a:1, b:1; DEFINE TABLE e TYPE RELATION;
		DEFINE TABLE r; DEFINE FIELD links ON r TYPE array<record<a>> REFERENCE ON DELETE REJECT;
		DEFINE FIELD to ON r TYPE option<record<b>> REFERENCE ON DELETE REJECT;
		FOR $i IN 0..21000 {
			LET $edge = type::record('e', $i);
			RELATE a:1->$edge->b:1 RETURN NONE;
			CREATE type::record('r', $i) SET links = [a:1, a:2], to = b:1 RETURN NONE
		}`)
	const ties = "RETURN [a:1->e.len(), b:1<-e.len(), a:1->?.len(), a:1<~r.len(), b:1<~r.len(), a:2<~r.len()]"
	if got := one(t, s, ties); got != "[21000, 21000, 21000, 21000, 21000, 21000]" {
		t.Fatalf("before: %s", got)
	}
	run(t, s, `REMOVE TABLE e; REMOVE TABLE r; DEFINE TABLE e TYPE RELATION; RELATE a:1->e:7->b:1;
		DEFINE TABLE r; DEFINE FIELD links ON r TYPE array<record<a>> REFERENCE; CREATE r:7 SET links = [a:1]`)
	const after = "[1, 1, 1, 1, 0, 0]"
	if got := one(t, s, ties); got != after {
		t.Errorf("after: %s", got)
	}
	run(t, s, "CREATE a:2; DELETE a:2") // no reference rejects it
	before := keys(t, e)
	shut(t, e)
	goesInTheEnd(t, path, before, func(e *engine.Engine) {
		if got := one(t, owner(t, e), ties); got != after {
			t.Errorf("at the end: %s", got)
		}
	})
}

// goesInTheEnd opens a store that was closed while much was removed, and a repaired copy of it, waits until hardly any
// of its keys are left, and looks at what is. The store is sound before and after.
func goesInTheEnd(t *testing.T, path string, before uint64, look func(*engine.Engine)) {
	t.Helper()
	checksClean(t, path)
	repaired := path + ".repaired"
	if _, err := engine.Repair(t.Context(), path, repaired, nil); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{repaired, path} {
		e := openBig(t, p)
		for end := time.Now().Add(time.Minute); keys(t, e) > 1000; {
			if time.Now().After(end) {
				t.Fatalf("%d keys of %d are left", keys(t, e), before)
			}
		}
		look(e)
		shut(t, e)
		checksClean(t, p)
	}
}

// TestRemoveOfAnIndexWithManyEntries: few records may have many entries, which are not held in one transaction. What is left
// when the store is closed goes when it is opened.
func TestRemoveOfAnIndexWithManyEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	open := func() (*engine.Engine, *engine.Session) {
		e, err := engine.Open(t.Context(), "bolt://"+path+"?sync=never", engine.Options{NoDefaults: true, Limits: engine.Limits{TxBytes: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		return e, owner(t, e)
	}
	e, s := open()
	run(t, s, "DEFINE TABLE t; FOR $i IN 0..300 { CREATE type::record('t', $i) SET tags = array::range($i, $i + 100) RETURN NONE }")
	bare := keys(t, e)
	for _, remove := range []string{"REMOVE INDEX i ON t", "DEFINE INDEX OVERWRITE i ON t FIELDS n; REMOVE INDEX i ON t"} {
		run(t, s, "DEFINE INDEX i ON t FIELDS tags CONCURRENTLY")
		if b := ready(t, s, "i"); !strings.Contains(b.Text(), "'ready'") {
			t.Fatal(b.Text())
		}
		if n := keys(t, e); n < bare+30_000 {
			t.Fatalf("the store has %d keys, without the index %d", n, bare)
		}
		run(t, s, remove)
		shut(t, e)
		checksClean(t, path)
		e, s = open()
		for end := time.Now().Add(time.Minute); keys(t, e) > bare+100; {
			if time.Now().After(end) {
				t.Fatalf("%d keys are left, %d are of the records", keys(t, e), bare)
			}
		}
	}
	shut(t, e)
	checksClean(t, path)
}

// one is the text of the last answer.
func one(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	res := run(t, s, text)
	return res[len(res)-1].Value.Text()
}

func openBig(t *testing.T, path string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), "bolt://"+path+"?sync=never", engine.Options{Unauthenticated: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func shut(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// keys is the number of keys in the store.
func keys(t *testing.T, e *engine.Engine) uint64 {
	t.Helper()
	m, err := e.Backup(t.Context(), io.Discard, physical.BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Keys
}

// checksClean holds that a check of a closed store finds nothing.
func checksClean(t *testing.T, path string) {
	t.Helper()
	rep, err := engine.Check(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !rep.Clean() {
		t.Errorf("the check finds %d: %v", rep.Found, rep.Findings)
	}
}

// TestWritersInRemovedTable: who began before a table was removed, large or not, can not leave anything in it.
func TestWritersInRemovedTable(t *testing.T) {
	for _, records := range []int{1, 25_000} {
		for _, text := range []string{"CREATE t:new", "UPDATE t:1 SET n = 2", "DELETE t:1", "UPSERT t:1 SET n = 3", "RELATE t:1->e->u:1", "INSERT INTO t { n: 1 }",
			"UPDATE u:1 SET link = t:1"} {
			path := filepath.Join(t.TempDir(), "store")
			e := openBig(t, path)
			s := owner(t, e)
			run(t, s, fmt.Sprintf(`DEFINE TABLE t; DEFINE INDEX n ON t FIELDS n; DEFINE TABLE e TYPE RELATION; CREATE u:1;
				DEFINE FIELD link ON u TYPE option<record<t>> REFERENCE;
				FOR $i IN 0..%d { CREATE type::record('t', $i + 1) SET n = $i RETURN NONE }`, records))
			tx, err := s.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Execute(t.Context(), text, nil); err != nil {
				t.Fatal(err)
			}
			run(t, s, "REMOVE TABLE t")
			if err := tx.Commit(t.Context()); !errors.Is(err, errs.Conflict()) {
				t.Errorf("%s in a table of %d that was removed: got %v, want a conflict", text, records, err)
			}
			for end := time.Now().Add(time.Minute); keys(t, e) > 100; {
				if time.Now().After(end) {
					t.Fatalf("%d keys are left", keys(t, e))
				}
			}
			shut(t, e)
			checksClean(t, path)
		}
	}
}

// TestEdgesOfRemovedNodes: edges whose nodes' table was removed, and perhaps made again, stay records with their ends; deleted
// ones leave nothing at the nodes that are left. The answers are the reference's.
func TestEdgesOfRemovedNodes(t *testing.T) {
	for _, kind := range []string{"", "DEFINE TABLE e TYPE RELATION;"} {
		for _, tc := range []struct{ then, ask, want string }{
			{"REMOVE TABLE a", "[b:1<-e, b:1<-e<-a, b:1<-e<-?, a:1->e]", "[[e:1], [a:1], [a:1], []]"},
			{"REMOVE TABLE a; DEFINE TABLE a; CREATE a:1", "[b:1<-e<-a, a:1->e]", "[[a:1], []]"},
			{"REMOVE TABLE a; DELETE e:1", "[b:1<-e, (SELECT VALUE id FROM e)]", "[[], [e:2]]"},
			{"REMOVE TABLE a; DEFINE TABLE a; CREATE a:1; DELETE e:1", "[b:1<-e, (SELECT VALUE id FROM e)]", "[[], [e:2]]"},
			{"REMOVE TABLE a; DELETE b:1", "[(SELECT VALUE id FROM e)]", "[[e:2]]"},
			{"REMOVE TABLE a; REMOVE TABLE b; CREATE a:1; CREATE b:1", "[(SELECT VALUE id FROM e), a:1->e, b:1<-e]", "[[e:1, e:2], [], []]"},
			{"REMOVE TABLE b; DEFINE TABLE b; RELATE a:1->e:3->b:1; DELETE e:3; DELETE e:2", "[a:1->e, a:2->e, a:1->e->b]", "[[e:1], [], [b:1]]"},
		} {
			path := filepath.Join(t.TempDir(), "store")
			e := openBig(t, path)
			s := e.RootSession()
			n, d := "n", "d"
			if err := s.Use(t.Context(), &n, &d); err != nil {
				t.Fatal(err)
			}
			run(t, s, kind+"CREATE a:1, a:2, b:1, b:2; RELATE a:1->e:1->b:1; RELATE a:2->e:2->b:2;"+tc.then)
			if got := one(t, s, "RETURN "+tc.ask); got != tc.want {
				t.Errorf("%s %s: %s gives %s, want %s", kind, tc.then, tc.ask, got, tc.want)
			}
			shut(t, e)
			checksClean(t, path)
		}
	}
}
