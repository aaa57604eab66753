package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/value"
)

// richStore makes a store at path with something of everything that hangs together.
func richStore(t testing.TB, path string) {
	t.Helper()
	ctx := context.Background()
	e, err := engine.Open(ctx, path+"?sync=never", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	s := e.RootSession()
	ns, db := "shop", "main"
	if err := s.Use(ctx, &ns, &db); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, `
		DEFINE TABLE person SCHEMALESS;
		DEFINE INDEX byName ON person FIELDS name UNIQUE;
		DEFINE INDEX byAge ON person FIELDS age;
		DEFINE INDEX byTags ON person FIELDS tags, age;
		DEFINE INDEX byLower ON person FIELDS name.to_string();
		DEFINE INDEX adults ON person COUNT WHERE age >= 18;
		DEFINE TABLE knows TYPE RELATION;
		DEFINE TABLE book SCHEMALESS;
		DEFINE FIELD author ON book TYPE option<record<person>> REFERENCE ON DELETE UNSET;
		DEFINE TABLE order SCHEMALESS;
		DEFINE INDEX byNumber ON order FIELDS number UNIQUE;
		DEFINE ANALYZER simple TOKENIZERS blank, class FILTERS lowercase;
DEFINE INDEX inTitle ON book FIELDS title FULLTEXT ANALYZER simple BM25 HIGHLIGHTS;
DEFINE TABLE byAuthor AS SELECT author, count() AS n FROM book GROUP BY author;
DEFINE TABLE watched CHANGEFEED 1h;
DEFINE INDEX near ON point FIELDS at HNSW DIMENSION 3;
DEFINE INDEX close ON book FIELDS at HNSW DIMENSION 2 TYPE F64;
DEFINE EVENT copy ON order WHEN $event = 'CREATE' THEN (CREATE watched SET of = $after.number);
		DEFINE PARAM $limit VALUE 10;
		DEFINE FUNCTION fn::twice($n: int) { RETURN $n * 2 };
		DEFINE USER ada ON DATABASE PASSWORD 'secret' ROLES OWNER;
	`)
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "CREATE person:%d SET name = 'Name%d', age = %d, tags = ['t%d', 'u%d', 't%d'];\n", i, i, i%90, i%7, i%5, i%7)
		fmt.Fprintf(&b, "CREATE book:[%d, 'b'] SET author = person:%d, title = 'Title %d';\n", i, i%50, i)
		fmt.Fprintf(&b, "CREATE order SET number = %d; CREATE point:%d SET at = [%d, %d, 1];\n", i, i, i%31, i%17)
	}
	for i := range 150 {
		fmt.Fprintf(&b, "RELATE person:%d->knows->person:%d SET since = %d;\n", i, (i*7)%200, i)
		fmt.Fprintf(&b, "RELATE person:%d->bought->book:[%d, 'b'];\n", i, i)
	}
	b.WriteString("DELETE person:3; DELETE person:20..30; UPDATE person:100..150 SET age += 1, tags = ['x']; DELETE knows WHERE since > 140;")
	b.WriteString("UPDATE person:5 SET name = NONE, tags = []; DELETE order WHERE number % 10 = 3; DELETE point:7..20; UPDATE point:3 SET at = NONE; UPDATE point:4 SET at = [9, 9, 9];")
	mustRun(t, s, b.String())
}

func mustRun(t testing.TB, s *engine.Session, text string) []engine.Result {
	t.Helper()
	out, err := s.Execute(context.Background(), text, value.NewObject())
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range out {
		if r.Err != nil {
			t.Fatalf("statement %d: %v", i, r.Err)
		}
	}
	return out
}

func TestCheckOfASoundStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	richStore(t, path)
	rep, err := engine.Check(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Findings {
		t.Errorf("%s: %s", f.Kind, f.Text)
	}
	for _, s := range rep.Skipped {
		t.Errorf("skipped %s", s)
	}
	if rep.Tables < 5 || rep.Indexes != 9 || rep.Records < 600 || rep.Edges < 400 || rep.Entries < 1200 {
		t.Errorf("it saw too little: %+v", rep)
	}
}

// answers are what a client sees of richStore.
func answers(t testing.TB, path string) string {
	t.Helper()
	ctx := context.Background()
	e, err := engine.Open(ctx, path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	s := e.RootSession()
	ns, db := "shop", "main"
	if err := s.Use(ctx, &ns, &db); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range mustRun(t, s, `SELECT * FROM person; SELECT * FROM person WHERE name = 'Name7'; SELECT id FROM person WHERE tags CONTAINS 't1' ORDER BY id;
		SELECT count() FROM person GROUP ALL; SELECT id, ->knows->person AS k, <-knows<-person AS l FROM person; SELECT ->bought->book FROM person;
		SELECT id FROM order WHERE number = 17; SELECT VALUE <~book FROM person; INFO FOR DB; SELECT id FROM point WHERE at <|7,40|> [3, 3, 1]; SELECT id FROM book WHERE title @@ 'title' LIMIT 5; SELECT * FROM byAuthor LIMIT 3; RETURN fn::twice(4);`) {
		out.WriteString(r.Value.Text())
		out.WriteByte('\n')
	}
	return out.String()
}

func TestRepairOfASoundStoreIsTheSameStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	richStore(t, path)
	want := answers(t, path)
	target := filepath.Join(t.TempDir(), "y.db")
	done, err := engine.Repair(context.Background(), path, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range done.After.Findings {
		t.Errorf("%s: %s", f.Kind, f.Text)
	}
	if done.Dropped != 0 || done.Rebuilt < 1500 || len(done.Recovered) != 0 {
		t.Errorf("%+v", done)
	}
	if got := answers(t, target); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := engine.Repair(context.Background(), path, target, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("onto a store: got %v", err)
	}
}

func TestCompactKeepsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	richStore(t, path)
	want := answers(t, path)
	sizes, err := physical.Compact(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sizes.After >= sizes.Before {
		t.Errorf("it grew: %+v", sizes)
	}
	if got := answers(t, path); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rep, err := engine.Check(context.Background(), path, nil)
	if err != nil || !rep.Clean() {
		t.Errorf("%+v %v", rep, err)
	}
}

// TestCheckNamesWhatIsDamaged: an operator is told which record it is, not only its key.
func TestCheckNamesWhatIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	richStore(t, path)
	file := filepath.Join(path, "data.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(data), "Title 77")
	if at < 0 {
		t.Fatal("the record is not in the file")
	}
	data[at] ^= 0x20
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	told, pages := false, uint64(0)
	rep, err := engine.Check(context.Background(), path, func(stage string, _, bytes, _ uint64) {
		if stage == "pages" {
			pages = max(pages, bytes)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Findings {
		told = told || f.Kind == physical.FindPage && strings.HasPrefix(f.Text, "record book:[77, 'b'] of shop/main, value of key ")
	}
	if !told || pages == 0 {
		t.Errorf("%d bytes of pages, findings %v", pages, rep.Findings)
	}
	fixed := filepath.Join(t.TempDir(), "fixed.db")
	if done, err := engine.Repair(context.Background(), path, fixed, nil); err != nil || done.LostKeys != 1 || done.LostPages != 0 || done.LostLog != "" || !done.After.Clean() {
		t.Errorf("repair: %+v, %v", done, err)
	}
}

// TestRepairKnowsTablesByTheirRecords: a lost definition of a table is made again from the ids of its records, which lie in
// the mapped file of the old store.
func TestRepairKnowsTablesByTheirRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	ctx := context.Background()
	e, err := engine.Open(ctx, path, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := e.RootSession()
	ns, db := "shop", "main"
	if err := s.Use(ctx, &ns, &db); err != nil {
		t.Fatal(err)
	}
	mustRun(t, s, `DEFINE TABLE precious COMMENT 'the definition of a table that gets lost'; CREATE |precious:300|; CREATE |other:300|`)
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path, "data.db")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// the file may hold older copies of the page
	text := []byte("table that gets lost")
	for at := 0; ; {
		i := bytes.Index(data[at:], text)
		if i < 0 {
			if at == 0 {
				t.Fatal("the definition is not in the file")
			}
			break
		}
		at += i + len(text)
		data[at-1] ^= 0x20
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "fixed.db")
	done, err := engine.Repair(ctx, path, target, nil)
	if err != nil || !slices.Equal(done.Recovered, []string{"precious"}) {
		t.Fatalf("%+v, %v", done, err)
	}
	if e, err = engine.Open(ctx, target, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	if s = e.RootSession(); s.Use(ctx, &ns, &db) != nil {
		t.Fatal("use")
	}
	if got := mustRun(t, s, "RETURN count(SELECT * FROM precious)")[0].Value.Text(); got != "300" {
		t.Errorf("got %s records", got)
	}
}
