package engine_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

func TestScriptsAreOffByDefault(t *testing.T) {
	e := openVersioned(t, "memory")
	defer closeEngine(t, e)
	res, err := owner(t, e).Execute(t.Context(), "RETURN function() { return 1 }", nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "Problem with embedded script function. Embedded functions are not enabled."
	if res[0].Err == nil || res[0].Err.Error() != want {
		t.Errorf("got %v, want %s", res[0].Err, want)
	}
}

func TestScriptsInStatements(t *testing.T) {
	caps := auth.DefaultCapabilities()
	caps.Scripting = true
	e, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: caps, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	s := owner(t, e)
	for _, tc := range []struct{ q, want string }{
		{"RETURN function(1, [2]) { return arguments[0] + arguments[1][0] }", "3"},
		{"CREATE p:1 SET n = 2, tags = ['b', 'a']; UPDATE p:1 SET tags = function() { return [...this.tags].sort() }; SELECT VALUE function($this.n) { return arguments[0] * this.n } FROM p", "[4]"},
		{"DEFINE FUNCTION fn::js($x: int) { RETURN function($x) { return arguments[0] + 1 } }; RETURN fn::js(4)", "5"},
		{"DEFINE FIELD up ON q VALUE function($value) { return arguments[0]?.toUpperCase() }; CREATE ONLY q:1 SET up = 'ab'; RETURN q:1.up", "'AB'"},
		{"LET $r = function() { return [new Record('p', 1)] }; SELECT VALUE n FROM $r", "[2]"},
		{"RETURN function() { throw new Error('no') }", "Problem with embedded script function. An exception occurred: Error: no"},
		{"SELECT VALUE function() { for (;;) {} } FROM p TIMEOUT 50ms", "The query was not executed because it exceeded the timeout: 50ms"},
	} {
		res, err := s.Execute(t.Context(), tc.q, nil)
		if err != nil {
			t.Errorf("%s: %v", tc.q, err)
			continue
		}
		last := res[len(res)-1]
		got := last.Value.Text()
		if last.Err != nil {
			got = last.Err.Error()
		}
		if got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.q, got, tc.want)
		}
	}
}
