package engine_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// openEval opens an engine whose sessions of the given classes may use eval::surql.
func openEval(t *testing.T, classes ...string) *engine.Engine {
	caps := auth.AllCapabilities()
	caps.Eval.Allow = auth.NewSet(classes...)
	e, err := engine.Open(context.Background(), "memory", engine.Options{NoDefaults: true, Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// evaluated runs a text and gives its answers as one text.
func evaluated(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	res, err := s.Execute(t.Context(), text, nil)
	if err != nil {
		return "ERR " + err.Error()
	}
	return texts(res)
}

func TestEvaluatedTexts(t *testing.T) {
	s := owner(t, openEval(t, "system"))
	const one = "ERR Incorrect arguments for function eval::surql(). Expected one statement that is not about sessions and transactions."
	for _, tc := range []struct{ text, want string }{
		{"RETURN eval::surql('RETURN 1 + 1')", "2"},
		{"RETURN eval::surql('1 + $n', { n: 41 })", "42"},
		{"RETURN eval::gql('RETURN 1 + $n AS two', { n: 1 })", "{ two: 2 }"},
		{"RETURN eval::gql('FOR x IN [1, 2] RETURN x')", "[{ x: 1 }, { x: 2 }]"},
		{"RETURN eval::gql('FOR x IN [] RETURN x')", "[]"},
		{"LET $x = 5; RETURN eval::gql('RETURN $x AS x')", "NONE ;; { x: NULL }"},
		{"BEGIN; eval::gql('INSERT (:made {n: 1})'); COMMIT; SELECT VALUE n FROM made; REMOVE TABLE made", "NONE ;; NONE ;; NONE ;; [1] ;; NONE"},
		{"BEGIN; eval::gql('INSERT (:made {n: 1})'); CANCEL; SELECT VALUE n FROM made",
			"NONE ;; ERR The query was not executed due to a cancelled transaction ;; NONE ;; ERR The table 'made' does not exist"},
		{"eval::surql('CREATE t:1 SET n = $n', { n: 1 }); SELECT * FROM t", "[{ id: t:1, n: 1 }] ;; [{ id: t:1, n: 1 }]"},
		// Its own parameters, not those of the caller.
		{"LET $x = 5; RETURN eval::surql('RETURN $x')", "NONE ;; NONE"},
		{"LET $x = 5; RETURN eval::surql('RETURN $x', { x: 6 })", "NONE ;; 6"},
		{"eval::surql('LET $y = 1'); RETURN $y", "NONE ;; NONE"},
		{"SELECT VALUE eval::surql('RETURN $this') FROM t:1", "[NONE]"},
		{"RETURN eval::surql('RETURN $auth', { auth: t:1 })", "ERR Incorrect arguments for function eval::surql(). 'auth' is a protected variable and cannot be set"},
		// In the caller's transaction.
		{"BEGIN; CREATE t:2; eval::surql('CREATE t:3'); CREATE t:8 SET seen = eval::surql('count(SELECT * FROM t)'); COMMIT; DELETE t WHERE seen = NONE AND n = NONE; DELETE t:8 RETURN BEFORE",
			"NONE ;; [{ id: t:2 }] ;; [{ id: t:3 }] ;; [{ id: t:8, seen: 3 }] ;; NONE ;; [] ;; [{ id: t:8, seen: 3 }]"},
		{"BEGIN; eval::surql('CREATE t:3'); CANCEL; RETURN count(SELECT * FROM t)", "NONE ;; ERR The query was not executed due to a cancelled transaction ;; NONE ;; 1"},
		{"RETURN { CREATE t:4; eval::surql('THROW \"no\"') }; RETURN record::exists(t:4)", "ERR An error occurred: no ;; false"},
		{"SELECT VALUE eval::surql('RETURN $n * 2', { n: n }) FROM t", "[2]"},
		{"SELECT count() AS c, eval::surql('(SELECT count() AS c FROM t GROUP ALL)[0].c') AS d FROM t GROUP ALL", "[{ c: 1, d: [1] }]"},
		// One statement, no more, and none that outlives its place.
		{"RETURN eval::surql('RETURN 1; RETURN 2')", one}, {"RETURN eval::surql('')", one}, {"RETURN eval::surql('BEGIN')", one}, {"RETURN eval::surql('USE DB other')", one},
		{"RETURN eval::surql('LIVE SELECT * FROM t')", one}, {"RETURN eval::surql('OPTION IMPORT')", one},
		{"RETURN eval::surql('BREAK')", "ERR Invalid control flow statement, break or continue statement found outside of loop."},
		{"RETURN eval::surql(1)", "ERR Incorrect arguments for function eval::surql(). Argument 1 was the wrong type. Expected `string` but found `1`"},
		{"DEFINE FUNCTION fn::again($n: int) { eval::surql('RETURN fn::again($n)', { n: $n }) }; RETURN fn::again(1)",
			"NONE ;; ERR Reached excessive computation depth due to functions, subqueries, or computed values"},
	} {
		if got := evaluated(t, s, tc.text); got != tc.want {
			t.Errorf("%s\n got  %s\n want %s", tc.text, got, tc.want)
		}
	}
	if got := evaluated(t, s, "RETURN eval::surql('SELECT')"); !strings.HasPrefix(got, "ERR Parse error: ") {
		t.Errorf("a text that does not parse: %s", got)
	}
}

// Permissions hold inside, and writing stays out of what may only read.
func TestEvaluatedTextsHaveTheRightsOfTheCaller(t *testing.T) {
	e := openEval(t, "system", "record")
	root := owner(t, e)
	run(t, root, `DEFINE TABLE open PERMISSIONS FULL; DEFINE TABLE closed PERMISSIONS NONE; CREATE open:1; CREATE closed:1; CREATE user:1;
		DEFINE TABLE odd PERMISSIONS FOR select WHERE eval::surql('CREATE open:9') != NONE; CREATE odd:1`)
	s := e.SessionAs(auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "a", Record: run(t, root, "RETURN user:1")[0].Value}, "test", "test")
	for text, want := range map[string]string{
		"RETURN eval::surql('SELECT VALUE id FROM open')":   "[open:1]",
		"RETURN eval::surql('SELECT VALUE id FROM closed')": "[]",
		"RETURN eval::surql('RETURN $auth')":                "user:1",
		"RETURN eval::surql('CREATE closed:2')":             "[]",
	} {
		if got := evaluated(t, s, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := evaluated(t, s, "SELECT * FROM odd"); got != "[]" {
		t.Errorf("a permission that writes: %s", got)
	}
	if got := evaluated(t, root, "RETURN record::exists(open:9)"); got != "false" {
		t.Errorf("a permission wrote: %s", got)
	}
}

func TestWhoMayEvaluate(t *testing.T) {
	const text = "RETURN eval::surql('RETURN 1')"
	for _, tc := range []struct {
		allow   []string
		system  bool
		record  bool
		queries string // denied class of statements
	}{
		{nil, false, false, ""}, {[]string{"system"}, true, false, ""}, {[]string{"record"}, false, true, ""}, {[]string{"system", "record"}, true, true, ""},
		{[]string{"system", "record"}, true, false, "record"},
	} {
		caps := auth.AllCapabilities()
		caps.Eval.Allow = auth.NewSet(tc.allow...)
		if tc.queries != "" {
			caps.Query.Deny = auth.NewSet(tc.queries)
		}
		e, err := engine.Open(context.Background(), "memory", engine.Options{NoDefaults: true, Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		root := owner(t, e)
		// A definition does not lend what it is made of.
		run(t, root, "DEFINE FUNCTION fn::it() { eval::surql('RETURN 1') }; CREATE user:1")
		s := e.SessionAs(auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: "a", Record: run(t, root, "RETURN user:1")[0].Value}, "test", "test")
		for _, query := range []string{text, "RETURN fn::it()"} {
			for who, want := range map[*engine.Session]bool{root: tc.system, s: tc.record} {
				if got := evaluated(t, who, query); (got == "1") != want || !want && !strings.Contains(got, "not allowed for") {
					t.Errorf("allowed to %v, %s: %s", tc.allow, query, got)
				}
			}
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := evaluated(t, owner(t, openQuiet(t)), text); got != "ERR Evaluating statements is not allowed for system sessions" {
		t.Errorf("by default: %s", got)
	}
}

func TestVectorsOfAGroup(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "CREATE t:1 SET k = 1, v = [1, 2]; CREATE t:2 SET k = 1, v = [10, 20.5]; CREATE t:3 SET k = 2, v = [7, 8]; CREATE t:4 SET k = 2; CREATE t:5 SET k = 3")
	for _, tc := range []struct{ text, want string }{
		{"SELECT k, vector::sum(v) AS s FROM t GROUP BY k", "[{ k: 1, s: [11, 22.5f] }, { k: 2, s: [7, 8] }, { k: 3, s: NONE }]"},
		{"SELECT VALUE vector::scale(vector::sum(v), 2) FROM t:1, t:2 GROUP ALL", "[[22, 45f]]"},
		{"RETURN vector::sum(SELECT VALUE v FROM t:1, t:2)", "[11, 22.5f]"},
		{"CREATE t:6 SET k = 4, v = [1]; CREATE t:7 SET k = 4, v = [1, 2]; SELECT vector::sum(v) FROM t WHERE k = 4 GROUP ALL", "[{ id: t:6, k: 4, v: [1] }] ;; [{ id: t:7, k: 4, v: [1, 2] }] ;; " +
			`[{ "vector::sum": NULL }]`},
	} {
		if got := evaluated(t, s, tc.text); got != tc.want {
			t.Errorf("%s\n got  %s\n want %s", tc.text, got, tc.want)
		}
	}
	if got := run(t, s, "SELECT VALUE v FROM t:1")[0].Value.Text(); got != "[[1, 2]]" {
		t.Errorf("the stored vector became %s", got)
	}
}
