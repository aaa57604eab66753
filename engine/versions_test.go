package engine_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

// pastScript makes a past: $t is a time in it. The answers to the rest were asked of the reference engine.
const pastScript = `
CREATE a:1 SET x = 1, l = b:1; CREATE b:1 SET n = 'old'; CREATE a:4 SET x = 4; RELATE a:1->e:1->b:1;
DEFINE TABLE q PERMISSIONS NONE; DEFINE FIELD o ON q; DEFINE PARAM $p VALUE 1; CREATE q:1 SET x = 1;
DEFINE TABLE keep; CREATE t:time SET at = time::now();
UPDATE a:1 SET x = 2; UPDATE a:1 SET x = 3; CREATE a:2 SET x = 2; DELETE a:4; UPDATE b:1 SET n = 'new'; DELETE e:1;
REMOVE PARAM $p; DEFINE FIELD u ON q; DEFINE INDEX i ON a FIELDS x;
REMOVE TABLE q; DEFINE TABLE q; CREATE q:2; DEFINE FIELD z ON a COMPUTED x * 2;
`

var pastCases = []struct{ q, want string }{
	{"SELECT * FROM a", "[{ id: a:1, l: b:1, x: 3, z: 6 }, { id: a:2, x: 2, z: 4 }]"},
	{"SELECT * FROM a VERSION $t", "[{ id: a:1, l: b:1, x: 1, z: 2 }, { id: a:4, x: 4, z: 8 }]"},
	{"SELECT * FROM a ORDER BY id DESC VERSION $t", "[{ id: a:4, x: 4, z: 8 }, { id: a:1, l: b:1, x: 1, z: 2 }]"},
	{"SELECT VALUE x FROM a:1 VERSION $t", "[1]"},
	{"SELECT VALUE x FROM ONLY a:1 VERSION $t", "1"},
	{"SELECT * FROM a:2 VERSION $t", "[]"},
	{"SELECT VALUE x FROM a:2..9 VERSION $t", "[4]"},
	{"SELECT count() FROM a GROUP ALL VERSION $t", "[{ count: 2 }]"},
	{"SELECT VALUE x FROM a WHERE x = 1 VERSION $t", "[1]"},
	{"SELECT VALUE x FROM a WHERE id = a:1 VERSION $t", "[1]"},
	{"SELECT VALUE x FROM a ORDER BY x LIMIT 1 VERSION $t", "[1]"},
	{"RETURN (SELECT * FROM a:1 VERSION d'2024-01-01T00:00:00Z' EXPLAIN).children[0].attributes", `{ record_id: 'a:1', version: "d'2024-01-01T00:00:00Z'" }`},
	// Links, edges and subqueries are of now.
	{"SELECT VALUE l.n FROM a:1 VERSION $t", "['old']"},
	{"SELECT VALUE ->e->b FROM a:1 VERSION $t", "[[b:1]]"},
	{"SELECT VALUE n FROM b VERSION $t", "['old']"},
	{"SELECT id FROM e VERSION $t", "[{ id: e:1 }]"},
	{"SELECT VALUE (SELECT VALUE x FROM ONLY $parent.id) FROM a:1 VERSION $t", "[1]"},
	{"SELECT * FROM (SELECT VALUE x FROM a:1 VERSION $t)", "[1]"},
	{"SELECT VALUE (SELECT VALUE x FROM a LIMIT $parent.x - 2) FROM a:1", "[[3]]"},
	{"SELECT VALUE x FROM a VERSION NONE", "[3, 2]"},
	{"SELECT VALUE x FROM a VERSION d'2024-01-01T00:00:00Z'", "[]"},
	{"SELECT VALUE x FROM a VERSION '2024-01-01T00:00:00Z'", "[]"},
	{"SELECT VALUE x FROM a VERSION d'1960-01-01T00:00:00Z'", "[]"},
	{"SELECT VALUE x FROM a VERSION d'2199-01-01T00:00:00Z'", "[3, 2]"},
	{"SELECT VALUE x FROM [a:1] VERSION $t", "[1]"},
	{"SELECT * FROM a VERSION 1", "Could not cast into `datetime` using input `1`"},
	{"SELECT * FROM a VERSION NULL", "Could not cast into `datetime` using input `NULL`"},
	{"SELECT * FROM (SELECT * FROM a) VERSION $t", "Invalid query: VERSION clause cannot be used with a subquery source. Place the VERSION clause inside the subquery instead."},
	{"SELECT * FROM nowhere VERSION $t", "The table 'nowhere' does not exist"},
	// A table that was removed and defined again.
	{"SELECT * FROM q VERSION $t", "[{ id: q:1, x: 1 }]"},
	{"SELECT * FROM q", "[{ id: q:2 }]"},
	{"RETURN (INFO FOR TABLE q VERSION $t).fields", "{ o: 'DEFINE FIELD o ON q PERMISSIONS FULL' }"},
	{"RETURN (INFO FOR TABLE q).fields", "{  }"},
	{"RETURN (INFO FOR DB VERSION $t).params", "{ p: 'DEFINE PARAM $p VALUE 1 PERMISSIONS FULL' }"},
	{"RETURN object::keys((INFO FOR DB VERSION $t).tables)", "['a', 'b', 'e', 'keep', 'q']"},
	{"RETURN (INFO FOR DB VERSION d'2024-01-01T00:00:00Z').tables", "{  }"},
	{"INFO FOR TABLE nowhere VERSION $t", "{ events: {  }, fields: {  }, indexes: {  }, lives: {  }, tables: {  } }"},
	{"RETURN (INFO FOR TABLE a VERSION $t).indexes", "{  }"},
	{"INFO FOR DB VERSION 5", "Could not cast into `datetime` using input `5`"},
	// CREATE and INSERT parse the clause and do nothing with it.
	{"CREATE a:9 SET x = 9 VERSION d'2024-01-01T00:00:00Z'; SELECT VALUE x FROM a VERSION d'2024-01-02T00:00:00Z'", "[]"},
	{"INSERT INTO a { id: 10 } VERSION 3; DELETE a:9, a:10", "[]"},
	{"BEGIN; UPDATE a:1 SET x = 7; SELECT VALUE x FROM a:1 VERSION time::now(); CANCEL; SELECT VALUE x FROM a:1", "[3]"},
}

func openVersioned(t *testing.T, dsn string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), dsn, engine.Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closeEngine(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// askPast runs the cases on a store that pastScript was run on.
func askPast(t *testing.T, e *engine.Engine) {
	t.Helper()
	s := owner(t, e)
	for _, tc := range pastCases {
		res, err := s.Execute(t.Context(), "LET $t = t:time.at + 0ns; "+tc.q, nil)
		if err != nil {
			t.Errorf("%s: %v", tc.q, err)
			continue
		}
		last := res[len(res)-1]
		got := last.Value.Text()
		if last.Err != nil {
			got = last.Err.Error()
		}
		if strings.ReplaceAll(got, "{}", "{  }") != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.q, got, tc.want)
		}
	}
}

func TestThePastInMemory(t *testing.T) {
	e := openVersioned(t, "mem://?versioned=true")
	defer closeEngine(t, e)
	run(t, owner(t, e), pastScript)
	askPast(t, e)
}

func TestThePastOutlivesARestart(t *testing.T) {
	dir := t.TempDir()
	e := openVersioned(t, "bolt://"+dir+"?versioned=true&sync=never")
	run(t, owner(t, e), pastScript)
	askPast(t, e)
	closeEngine(t, e)
	e = openVersioned(t, "bolt://"+dir+"?sync=never") // it stays versioned
	defer closeEngine(t, e)
	askPast(t, e)
}

// TestAStoreMayBeginToKeepItsPast: what it holds by then is there from the beginning of the keeping on.
func TestAStoreMayBeginToKeepItsPast(t *testing.T) {
	dir := t.TempDir()
	e := openVersioned(t, "bolt://"+dir+"?sync=never")
	run(t, owner(t, e), "CREATE |a:50|; CREATE a:x SET n = 1")
	closeEngine(t, e)
	e = openVersioned(t, "bolt://"+dir+"?sync=never&versioned=true")
	defer closeEngine(t, e)
	s := owner(t, e)
	run(t, s, "CREATE t:time SET at = time::now(); UPDATE a:x SET n = 2; DELETE a WHERE n = NONE")
	got := run(t, s, "LET $t = t:time.at; RETURN [(SELECT VALUE n FROM a:x VERSION $t), (SELECT count() FROM a GROUP ALL VERSION $t)[0].count, count(SELECT * FROM a)]")
	if text := got[len(got)-1].Value.Text(); text != "[[1], 51, 1]" {
		t.Errorf("got %s", text)
	}
}

func TestWithoutHistoryThePastIsEmpty(t *testing.T) {
	e := openVersioned(t, "memory")
	defer closeEngine(t, e)
	s := owner(t, e)
	got := run(t, s, "CREATE a:1; RETURN [(SELECT * FROM a VERSION d'2024-01-01T00:00:00Z'), (SELECT * FROM a:1 VERSION d'2024-01-01T00:00:00Z'), (SELECT VALUE id FROM a VERSION time::now())]")
	if text := got[len(got)-1].Value.Text(); text != "[[], [], [a:1]]" {
		t.Errorf("got %s", text)
	}
}

// TestVersionsAreExported: an import of an export with versions knows the same past, and no more.
func TestVersionsAreExported(t *testing.T) {
	e := openVersioned(t, "mem://?versioned=true")
	defer closeEngine(t, e)
	s := owner(t, e)
	run(t, s, pastScript+"; DELETE b:1; CREATE b:1 SET n = 'third'; RELATE a:1->e:5->b:1; CREATE |many:3|; DELETE many; DEFINE INDEX n ON b FIELDS n UNIQUE")
	opt := engine.DefaultExport()
	opt.Versions = true
	var out bytes.Buffer
	if err := s.Export(t.Context(), &out, opt); err != nil {
		t.Fatal(err)
	}
	e2 := openVersioned(t, "mem://?versioned=true")
	defer closeEngine(t, e2)
	s2 := owner(t, e2)
	res, err := s2.Import(t.Context(), bytes.NewReader(out.Bytes()), engine.ImportOptions{})
	if err != nil || res.Failures > 0 {
		t.Fatalf("%v: %+v", err, res)
	}
	for _, q := range []string{"SELECT * FROM a", "SELECT * FROM b", "SELECT *, ->e->b AS g FROM a", "SELECT * FROM e", "SELECT * FROM many", "SELECT count() FROM b GROUP ALL",
		"SELECT * FROM a VERSION $t", "SELECT * FROM b VERSION $t", "SELECT * FROM e VERSION $t", "SELECT * FROM b WHERE n = 'third'"} {
		want := run(t, s, "LET $t = t:time.at; "+q)[1].Value.Text()
		if got := run(t, s2, "LET $t = t:time.at; "+q)[1].Value.Text(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", q, got, want)
		}
	}
	var again bytes.Buffer
	if err := s2.Export(t.Context(), &again, opt); err != nil {
		t.Fatal(err)
	}
	if again.String() != out.String() {
		t.Errorf("the export of the import differs:\n%s\n---\n%s", out.String(), again.String())
	}
	plain := openVersioned(t, "memory")
	defer closeEngine(t, plain)
	res, err = owner(t, plain).Import(t.Context(), bytes.NewReader(out.Bytes()), engine.ImportOptions{})
	if err != nil || res.Failures == 0 || !strings.Contains(res.Failed[0].Err.Error(), "The store keeps no versions") {
		t.Errorf("a store without history takes versions: %v, %+v", err, res)
	}
}

func TestDeleteOfAVersionIsForImports(t *testing.T) {
	e := openVersioned(t, "mem://?versioned=true")
	defer closeEngine(t, e)
	s := owner(t, e)
	res, err := s.Execute(t.Context(), "CREATE a:1; DELETE a:1 VERSION d'2024-01-01T00:00:00Z'; SELECT VALUE id FROM a", nil)
	if err != nil || res[1].Err == nil || res[2].Value.Text() != "[a:1]" {
		t.Errorf("got %v, %v", res, err)
	}
}

// TestRetention: the sweeper takes away what is older, and is stopped by Close.
func TestRetention(t *testing.T) {
	e := openVersioned(t, "mem://?versioned=true&retention=1ns")
	defer closeEngine(t, e)
	s := owner(t, e)
	run(t, s, "CREATE a:1 SET n = 1; CREATE t:time SET at = time::now(); UPDATE a:1 SET n = 2")
	for deadline := time.Now().Add(30 * time.Second); ; {
		got := run(t, s, "LET $t = t:time.at; SELECT VALUE n FROM a VERSION $t")[1].Value.Text()
		if got == "[]" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the old version is still there: %s", got)
		}
		runtime.Gosched()
	}
	if got := run(t, s, "SELECT VALUE n FROM a")[0].Value.Text(); got != "[2]" {
		t.Errorf("got %s", got)
	}
}
