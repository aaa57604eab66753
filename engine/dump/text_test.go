package dump_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// everything has a definition of each kind, and records of every kind of value.
const everything = `
DEFINE USER ann ON DATABASE PASSHASH '$argon2id$v=19$m=19456,t=2,p=1$tjeingbFDhO+agO/D422ag$i2eXoxfa64wEuZt8NvjETCBr9xTd3sOXflxatbbQPRM' ROLES OWNER;
DEFINE PARAM $p VALUE { a: [1, 2.5], b: 'it\'s' };
DEFINE FUNCTION fn::area::of($x: number, $y: option<number>) { RETURN $x * ($y ?? 1) };
DEFINE ANALYZER simple TOKENIZERS blank,class FILTERS lowercase,snowball(english);
DEFINE SEQUENCE orders BATCH 10 START 5;
DEFINE TABLE zebra SCHEMAFULL;
DEFINE FIELD tags ON zebra TYPE array<string>;
DEFINE FIELD o ON zebra TYPE option<object> FLEXIBLE;
DEFINE FIELD n ON zebra TYPE int DEFAULT 3 ASSERT $value > 0;
DEFINE INDEX by_n ON zebra FIELDS n;
DEFINE EVENT log ON zebra WHEN $event = 'DELETE' THEN (CREATE log SET what = $before.id);
DEFINE TABLE counts AS SELECT n, count() AS c FROM zebra GROUP BY n;
DEFINE TABLE likes TYPE RELATION IN zebra OUT zebra ENFORCED;
CREATE zebra:1 SET tags = ['a', 'it\'s', "q\"'"], n = 3;
CREATE zebra:⟨b c⟩ SET tags = [], n = 4, o = { x: NONE, y: NULL, z: {} };
CREATE zebra:[1, 'x', 1.5] SET tags = ['\u{8}\n\t\\'];
RELATE zebra:1->likes:7->zebra:⟨b c⟩ SET since = 1999;
CREATE odd:1 SET f = 1.5e300, nan = NaN, inf = -Infinity, d = 1.50dec, dt = d'2024-01-01T00:00:00.123456789Z', du = 1y2w3ns,
	u = u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab', b = b"00FF", pt = (1.5, -2), r = 1>..=3, s = {3, 1}, sr = <set>[odd:9, odd:8], st = <set>[type::table('x')], e = {,}, rec = odd:{ k: [1] },
	line = { type: 'LineString', coordinates: [[1, 2], [3, 4]] }, t = [type::table('a b')], keyed = odd:[type::table('z')], neg = -9223372036854775808, f0 = -0f,
	in = odd:1, out = odd:2;
`

func open(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), "memory", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return e
}

func session(e *engine.Engine) *engine.Session { return e.SessionAs(auth.RootOwner(), "n", "d") }

func export(t *testing.T, e *engine.Engine) string {
	t.Helper()
	var out bytes.Buffer
	if err := session(e).Export(t.Context(), &out, engine.DefaultExport()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExportImportExportIsAFixedPoint(t *testing.T) {
	e := open(t)
	s := session(e)
	res, err := s.Execute(t.Context(), "USE NS n DB d;"+everything, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res {
		if r.Err != nil {
			t.Fatalf("statement %d: %v", i, r.Err)
		}
	}
	first := export(t, e)
	for _, want := range []string{"OPTION IMPORT;", "DEFINE USER ann", "DEFINE FUNCTION fn::area::of",
		"INSERT RELATION [ { id: likes:7"} {
		if !strings.Contains(first, want) {
			t.Errorf("the export lacks %q", want)
		}
	}
	if strings.Contains(first, "INSERT RELATION [ { b:") {
		t.Error("a record with fields in and out is taken for an edge")
	}
	if strings.Index(first, "DEFINE TABLE counts") < strings.Index(first, "DEFINE TABLE zebra") {
		t.Error("a view stands before its source")
	}

	other := open(t)
	into := session(other)
	ns, db := "n", "d"
	if err := into.Use(t.Context(), &ns, &db); err != nil {
		t.Fatal(err)
	}
	done, err := into.Import(t.Context(), strings.NewReader(first), engine.ImportOptions{})
	if err != nil || done.Failures > 0 {
		t.Fatalf("import: %v, %+v", err, done)
	}
	if second := export(t, other); second != first {
		t.Errorf("export → import → export differs:\n%s",
			cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")))
	}
}

// TestSequencesGoOnAfterAnImport: no number is given again.
func TestSequencesGoOnAfterAnImport(t *testing.T) {
	e := open(t)
	run := func(e *engine.Engine, text string) string {
		t.Helper()
		res, err := session(e).Execute(t.Context(), "USE NS n DB d;"+text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return res[len(res)-1].Value.Text()
	}
	run(e, "DEFINE SEQUENCE a BATCH 10 START 5 TIMEOUT 1s; DEFINE SEQUENCE b BATCH 3 START -7; DEFINE SEQUENCE unused START 4")
	if got := run(e, "RETURN [sequence::nextval('a'), sequence::nextval('a'), sequence::nextval('b')]"); got != "[5, 6, -7]" {
		t.Fatalf("got %s", got)
	}
	text := export(t, e)
	for _, want := range []string{"DEFINE SEQUENCE a BATCH 10 START 15 TIMEOUT 1s;",
		"DEFINE SEQUENCE b BATCH 3 START -4;", "DEFINE SEQUENCE unused BATCH 1000 START 4;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the export lacks %q:\n%s", want, text)
		}
	}
	other := open(t)
	run(other, "RETURN 1")
	into := session(other)
	ns, db := "n", "d"
	if err := into.Use(t.Context(), &ns, &db); err != nil {
		t.Fatal(err)
	}
	done, err := into.Import(t.Context(), strings.NewReader(text), engine.ImportOptions{})
	if err != nil || done.Failures > 0 {
		t.Fatalf("import: %v, %+v", err, done)
	}
	if got := run(other, "RETURN [sequence::nextval('a'), sequence::nextval('b'), sequence::nextval('unused')]"); got != "[15, -4, 4]" {
		t.Errorf("after the import: got %s", got)
	}
}

func TestExportKeepsSecretsFromNonOwners(t *testing.T) {
	e := open(t)
	if _, err := session(e).Execute(t.Context(), "USE NS n DB d;"+everything, nil); err != nil {
		t.Fatal(err)
	}
	viewer := e.SessionAs(auth.Principal{Level: auth.DatabaseUser, NS: "n", DB: "d", Roles: auth.Viewer}, "n", "d")
	var out bytes.Buffer
	if err := viewer.Export(t.Context(), &out, engine.DefaultExport()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "argon2id") || !strings.Contains(out.String(), "zebra:1") {
		t.Error("a viewer exports data, not secrets")
	}
	guest := e.SessionAs(auth.Principal{}, "n", "d")
	if err := guest.Export(t.Context(), &out, engine.DefaultExport()); err == nil {
		t.Error("a guest exports")
	}
}

func TestImportCountsFailuresAndGoesOn(t *testing.T) {
	s := session(open(t))
	text := "USE NS n DB d; CREATE a:1; CREATE a:1; CREATE a:2; BEGIN; CREATE a:3; CREATE a:3; COMMIT; CREATE a:4; SELEC nonsense; CREATE a:5"
	res, err := s.Import(t.Context(), strings.NewReader(text), engine.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Failures < 3 || len(res.Failed) != int(res.Failures) {
		t.Errorf("%+v", res)
	}
	got, err := s.Execute(t.Context(), "SELECT VALUE id FROM a", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := got[0].Value.Text(); text != "[a:1, a:2, a:4]" {
		t.Errorf("applied: %s", text)
	}
}
