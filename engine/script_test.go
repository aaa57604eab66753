package engine_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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
		{"RETURN function() { throw new Error('no') }", "Problem with embedded script function. An exception occurred: no\n"},
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

// TestScriptsReachTheirStatement: what a script does by surrealdb, console and fetch is done with the rights and in the transaction of
// the statement that calls it.
func TestScriptsReachTheirStatement(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, `{"method":%q,"type":%q,"body":%q}`, r.Method, r.Header.Get("Content-Type"), body)
	}))
	defer web.Close()
	var log bytes.Buffer
	caps := auth.DefaultCapabilities()
	caps.Scripting = true
	caps.Net = auth.Filter{Allow: auth.Set{All: true}}
	e, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: caps, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	s := owner(t, e)
	const failed = "Problem with embedded script function. An exception occurred: "
	for _, tc := range []struct{ q, want string }{
		{"RETURN function() { return await surrealdb.query('CREATE ONLY p:1 SET n = $n', { n: 2 }) }", "{ id: p:1, n: 2 }"},
		{"RETURN function() { const q = new surrealdb.Query('RETURN $a + $b', { a: 1 }); q.bind('b', 2); return await surrealdb.query(q) }", "3"},
		{"LET $x = 5; RETURN function() { return [await surrealdb.value('$x'), await surrealdb.value('math::floor(1.5)'), await surrealdb.query('RETURN $x')] }", "[5, 1, 5]"},
		{"RETURN function() { return Promise.all([1, 2].map((n) => surrealdb.query(`RETURN ${n}`))) }", "[1, 2]"},
		{"CREATE p:2; RETURN function() { try { await surrealdb.query('{ CREATE p:3; THROW 1 }') } catch (e) { return e.message } }", "'An error occurred: 1'"},
		{"RETURN [p:3.exists(), function() { return surrealdb.functions.record.exists(new Record('p', 2)) }]", "[false, true]"},
		{"RETURN function() { return [surrealdb.functions.string.len('abc'), typeof surrealdb.functions.rand(), surrealdb.functions.rand.uuid.v4() instanceof Uuid] }", "[3, 'number', true]"},
		{"RETURN function() { return surrealdb.functions.string.len() }", failed + "Incorrect arguments for function string::len(). Expected 1 argument\n"},
		{"RETURN function() { await surrealdb.query('BEGIN') }", failed + "A script runs one statement at a time that is not about sessions and transactions\n"},
		{"RETURN function() { await surrealdb.query('RETURN 1', { auth: 1 }) }", failed + "Incorrect arguments for function surrealdb.query(). 'auth' is a protected variable and cannot be set\n"},
		{"RETURN function() { return [{ type: 'Point', coordinates: [4, 5] }, { type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1]]] }] }",
			"[(4, 5), { type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]]] }]"},
		{"RETURN function() { throw 'bad' }", failed + "bad\n"},
		{"RETURN function() { console.log('said', { a: 1 }) }", "NONE"},
		{"RETURN function() { const r = await fetch('" + web.URL + "', { method: 'POST', body: 'hi' }); return [r.status, r.ok, r.headers.get('content-type'), await r.json()] }",
			"[418, false, 'application/json', { body: 'hi', method: 'POST', type: 'text/plain;charset=UTF-8' }]"},
		{"RETURN function() { const u = new URL('/b?x=1&y=%20', 'http://h:81/a'); const f = new FormData(); f.append('k', new Blob(['é'])); return [u.href, u.searchParams.get('y'), new URLSearchParams({ a: 'b c' }).toString(), await f.get('k').text()] }",
			"['http://h:81/b?x=1&y=%20', ' ', 'a=b+c', 'é']"},
		{"RETURN function() { return surrealdb.query('RETURN 9223372036854775807') }", "9223372036854775807"},
		{"DEFINE FUNCTION fn::deep() { RETURN function() { return await surrealdb.query('RETURN fn::deep()') } }; RETURN fn::deep()", ""},
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
		if strings.Contains(tc.q, "fn::deep") {
			if !strings.HasPrefix(got, failed+failed) { // once for each level; the end is cut
				t.Errorf("%s: %s", tc.q, got)
			}
			continue
		}
		if got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.q, got, tc.want)
		}
	}
	if got := log.String(); !strings.Contains(got, "said") {
		t.Errorf("the console says nothing: %s", got)
	}
}
