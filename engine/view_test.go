package engine_test

import (
	"bytes"
	"testing"

	"github.com/nacredb/nacre/engine"
)

// TestViewsGoOnAfterAnImport: a view that came with an export must know the groups that its rows stand for.
func TestViewsGoOnAfterAnImport(t *testing.T) {
	one, two := owner(t, openQuiet(t)), owner(t, openQuiet(t))
	run(t, one, `DEFINE TABLE z; DEFINE FIELD n ON z TYPE int VALUE $value + 1;
		DEFINE TABLE a AS SELECT g, count() AS k, math::sum(n) AS s, math::min(n) AS lo, math::max(n) AS hi FROM z GROUP BY g;
		CREATE z:1 SET g = 1, n = 5; CREATE z:2 SET g = 1, n = 7; CREATE z:3 SET g = 2, n = 1`)
	var text bytes.Buffer
	if err := one.Export(t.Context(), &text, engine.DefaultExport()); err != nil {
		t.Fatal(err)
	}
	res, err := two.Import(t.Context(), &text, engine.ImportOptions{})
	if err != nil || res.Failures != 0 {
		t.Fatalf("import: %v, %+v", err, res)
	}
	for _, s := range []*engine.Session{one, two} {
		run(t, s, "DELETE z:2; CREATE z:4 SET g = 2, n = 10; DELETE z:3")
	}
	const all = "SELECT * FROM a; SELECT * FROM z"
	want, got := run(t, one, all), run(t, two, all)
	for i := range want {
		if got[i].Value.Text() != want[i].Value.Text() {
			t.Errorf("got %s, want %s", got[i].Value.Text(), want[i].Value.Text())
		}
	}
}

// TestImportIsForThoseWhoMayWriteEverything: OPTION IMPORT must not let a record user past ASSERT and field permissions,
// not even where the option is set in a block of its own.
func TestImportIsForThoseWhoMayWriteEverything(t *testing.T) {
	e := accessEngine(t)
	s := e.Session()
	if _, err := s.Signup(t.Context(), credentials("NS", "n", "DB", "d", "AC", "acc", "email", "a@b", "pass", "pw")); err != nil {
		t.Fatal(err)
	}
	root := e.RootSession()
	run(t, root, `USE NS n DB d; DEFINE TABLE open PERMISSIONS FULL; DEFINE FIELD n ON open TYPE int ASSERT $value > 0;
		DEFINE FIELD role ON open TYPE option<string> PERMISSIONS FOR create NONE, FOR update NONE, FOR select FULL`)
	res, err := s.Execute(t.Context(), "{ OPTION IMPORT }; CREATE open:1 SET n = -1; CREATE open:2 SET n = 1, role = 'admin'", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res[1].Err == nil {
		t.Errorf("the assertion was not asked: %s", res[1].Value.Text())
	}
	if got := run(t, root, "SELECT VALUE role FROM open:2")[0].Value.Text(); got != "[NONE]" {
		t.Errorf("role is %s", got)
	}
}

// TestGroupsOfViewsAreOfEqualValues: 1 and 1f are one group with one row, whichever of its records comes and goes.
func TestGroupsOfViewsAreOfEqualValues(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "DEFINE TABLE t; DEFINE TABLE v AS SELECT count() AS c, math::sum(n) AS s, a FROM t GROUP BY a;"+
		"CREATE t:1 SET a = 1f, n = 3; CREATE t:2 SET a = 1, n = 5")
	for _, step := range []struct{ text, want string }{
		{"SELECT * FROM v", "[{ a: 1f, c: 2, id: v:[1f], s: 8f }]"},
		{"DELETE t:1; SELECT * FROM v", "[{ a: 1f, c: 1, id: v:[1f], s: 5f }]"},
		{"DELETE t:2; SELECT * FROM v", "[]"},
		{"CREATE t:3 SET a = 1, n = 1; SELECT * FROM v", "[{ a: 1, c: 1, id: v:[1], s: 1f }]"},
	} {
		res := run(t, s, step.text)
		if got := res[len(res)-1].Value.Text(); got != step.want {
			t.Errorf("%s: got %s, want %s", step.text, got, step.want)
		}
	}
}
