package engine_test

import (
	"runtime"
	"testing"

	"github.com/nacredb/nacre/engine/auth"
)

// TestClosuresAndFunctionsCallEachOther: what a closure keeps of its surroundings must not double with each call. It ended
// the process, long before the depth of calls did.
func TestClosuresAndFunctionsCallEachOther(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, `DEFINE FUNCTION fn::a($n: int) { RETURN fn::b($n + 1) };
		DEFINE FUNCTION fn::b($n: int) { LET $f = |$x| fn::a($x); RETURN $f($n + 1) }`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, text := range []string{"RETURN fn::a(1)", "LET $f = |$g, $n| { LET $h = |$x| $g($g, $x); $h($n + 1) }; RETURN $f($f, 1)"} {
		res := run(t, s, text, allowErrors)
		if last := res[len(res)-1]; last.Err == nil {
			t.Errorf("%s answers %s", text, last.Value.Text())
		}
	}
	runtime.ReadMemStats(&after)
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 32 {
		t.Errorf("%d MiB", grown)
	}
	if got := run(t, s, "LET $a = 1; LET $f = || { LET $a = 2; LET $g = || $a; $g() }; RETURN [$f(), $a]"); got[2].Value.Text() != "[2, 1]" {
		t.Errorf("got %s", got[2].Value.Text())
	}
}

// TestUpsertOfWhatMayNotBeUpdated: an UPSERT of a table that names an existing record in its data updates it, or does
// nothing; it does not make it anew over the one that is there.
func TestUpsertOfWhatMayNotBeUpdated(t *testing.T) {
	e := accessEngine(t)
	root := e.RootSession()
	run(t, root, "USE NS n DB d; DEFINE TABLE t PERMISSIONS FOR select, create FULL, FOR update, delete NONE")
	user := e.SessionAs(someone(auth.RecordUser, 0), "n", "d")
	for _, text := range []string{"UPSERT t CONTENT { id: t:1, c: 'lost' }", "UPSERT t SET id = t:1, c = 'lost'", "UPSERT t MERGE { id: t:1, c: 'lost' }",
		"UPSERT t REPLACE { id: t:1, c: 'lost' }"} {
		run(t, root, "UPSERT t:1 SET c = 'kept'")
		if got := run(t, user, text)[0].Value.Text(); got != "[]" {
			t.Errorf("%s answers %s", text, got)
		}
		if got := run(t, root, "SELECT VALUE c FROM t")[0].Value.Text(); got != "['kept']" {
			t.Errorf("%s leaves %s", text, got)
		}
	}
	if got := run(t, user, "UPSERT t CONTENT { id: t:2, c: 'new' }")[0].Value.Text(); got != "[{ c: 'new', id: t:2 }]" {
		t.Errorf("a new record: %s", got)
	}
}
