package engine_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
)

const world = `
DEFINE PARAM $p VALUE { a: 5 } COMMENT "it's"; -- never; mind
DEFINE FUNCTION fn::f($a: int) { LET $x = 'a;b'; RETURN $a + $x };
DEFINE ANALYZER an TOKENIZERS blank FILTERS lowercase;
DEFINE SEQUENCE sq;
DEFINE BUCKET files BACKEND 'memory';
DEFINE API "/a/:id<int>" FOR any MIDDLEWARE api::timeout(1s) FOR get, post PERMISSIONS WHERE $auth THEN { { status: 201, body: fn::f($request.params.id) } };
DEFINE CONFIG API MIDDLEWARE api::timeout(2s) PERMISSIONS FULL;
DEFINE CONFIG GRAPHQL TABLES INCLUDE person FUNCTIONS NONE;
DEFINE USER ed ON DATABASE PASSWORD 'x' ROLES EDITOR;
DEFINE TABLE person SCHEMAFULL PERMISSIONS FOR select WHERE name = /a;b/;
DEFINE FIELD name ON person TYPE string;
DEFINE INDEX byName ON person FIELDS name UNIQUE;
DEFINE EVENT e ON person THEN { CREATE audit };
CREATE person:1 SET name = 'a;b'; CREATE person:2 SET name = "b\n\"q'x"; CREATE person:` + "`a b`" + ` SET name = '⟨ü⟩';
CREATE t:[1, 'x'] SET v = 1.5, d = 1.10dec, dt = d'2024-01-01T00:00:00.5Z', s = {1, 2}, o = { a: NULL, "b c": {} }, b = b"00FF", g = (1, 2),
	u = u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab', r = person:1, dur = 1h30m, rg = 1..=3, e = [], z = -0f, n = NaN, i = -Infinity, re = /a\/b/;
CREATE t:-5, t:{ k: [1] }, t:u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab', t:⟨10⟩;
RELATE person:1->knows:1->person:2 SET since = 2020; CREATE knows:2 SET in = person:1, out = person:2;
DEFINE TABLE rel TYPE RELATION IN person OUT person;
DEFINE TABLE ` + "`odd name;--`" + `; CREATE ` + "`odd name;--`" + `:1 SET ` + "`k;'`" + ` = 1;
DEFINE TABLE many AS SELECT count() FROM person GROUP ALL;
`

func export(t *testing.T, s *engine.Session) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Export(context.Background(), &out, engine.DefaultExport()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func importInto(t *testing.T, text string) (*engine.Session, *engine.ImportResult) {
	t.Helper()
	s := owner(t, openQuiet(t))
	res, err := s.Import(context.Background(), strings.NewReader(text), engine.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s, res
}

// TestExportComesBack: an import of an export makes a database whose export is the same.
func TestExportComesBack(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, world)
	first := export(t, s)
	again, res := importInto(t, first)
	for _, f := range res.Failed {
		t.Errorf("import: %v", f.Err)
	}
	if second := export(t, again); second != first {
		t.Errorf("the second export differs\n--- first\n%s\n--- second\n%s", first, second)
	}
	for _, q := range []string{"RETURN person:1->knows", "RETURN record::is_edge(knows:2)", "SELECT VALUE id FROM person WHERE name = 'a;b'",
		"SELECT VALUE id FROM t", "SELECT VALUE id FROM audit"} {
		want, got := run(t, s, q, allowErrors)[0], run(t, again, q, allowErrors)[0]
		if want.Value.Text() != got.Value.Text() {
			t.Errorf("%s: got %s, want %s", q, got.Value.Text(), want.Value.Text())
		}
	}
}

// TestImportFailsAlone: a statement that fails leaves nothing behind and does not touch its neighbours.
func TestImportFailsAlone(t *testing.T) {
	s, res := importInto(t, "CREATE a:1; INSERT [{ id: a:2 }, { id: a:1 }]; CREATE a:3; THROW 'x'; BEGIN; CREATE a:4; COMMIT; LET $x = 5; CREATE a SET id = $x;")
	if res.Failures != 2 || len(res.Failed) != 2 {
		t.Errorf("%d failures, want 2: %v", res.Failures, res.Failed)
	}
	if got := run(t, s, "SELECT VALUE id FROM a")[0].Value.Text(); got != "[a:1, a:3, a:4, a:5]" {
		t.Errorf("the table holds %s", got)
	}
	if res.Statements != 9 {
		t.Errorf("%d statements, want 9", res.Statements)
	}
}

func TestImportStopsAtAParseError(t *testing.T) {
	s := owner(t, openQuiet(t))
	res, err := s.Import(context.Background(), strings.NewReader("CREATE a:1; CREATE CREATE; CREATE a:2"), engine.ImportOptions{})
	if err != nil || res.Failures != 1 || !strings.HasPrefix(res.Failed[0].Err.Msg, "Parse error") {
		t.Errorf("the result is %+v, %v", res, err)
	}
	if got := run(t, s, "SELECT VALUE id FROM a")[0].Value.Text(); got != "[a:1]" || res.Statements != 2 {
		t.Errorf("the table holds %s after %d statements", got, res.Statements)
	}
}
