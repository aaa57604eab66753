package rpc

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// newServer opens a memory engine with the given limits.
func newServer(t testing.TB, limits Limits) *Server {
	t.Helper()
	eng, err := engine.Open(t.Context(), "memory", engine.Options{Capabilities: auth.AllCapabilities()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return &Server{Engine: eng, Limits: limits, Log: slog.New(slog.DiscardHandler), DefaultNamespace: "main",
		DefaultDatabase: "main"}
}

// connect makes a connection of the root owner in test/test.
func connect(t testing.TB, srv *Server, opt Options) *Conn {
	t.Helper()
	c := srv.NewConn(srv.Engine.RootSession(), opt)
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	place := value.Str("test")
	if resp := c.Call(t.Context(), &wire.Request{Method: "use", Params: []value.Value{place, place}}); resp.Err != nil {
		t.Fatal(resp.Err)
	}
	return c
}

// params reads parameters in the language's own text.
func params(t testing.TB, text string) []value.Value {
	t.Helper()
	v, err := Constant("["+text+"]", nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v.Elems()
}

// table stands for a table value, which has no literal.
func withTables(vs []value.Value) []value.Value {
	out := make([]value.Value, len(vs))
	for i, v := range vs {
		if v.Kind() == value.KindString {
			if name, ok := strings.CutPrefix(v.Str(), "table "); ok {
				v = value.TableOf(name)
			}
		}
		out[i] = v
	}
	return out
}

var generated = regexp.MustCompile(`:[a-z0-9]{20}\b`)

// packed is rows in the wire form as text.
func packed(rows *value.Packed) string {
	b, err := rows.AppendTo(nil)
	if err != nil {
		return err.Error()
	}
	v, err := value.DecodeCBORValue(b, value.DecodeLimits{})
	if err != nil {
		return err.Error()
	}
	return v.Text()
}

// said is the answer as text: the result, or ERR with the error.
func said(resp wire.Response) string {
	switch {
	case resp.Err != nil:
		return "ERR " + resp.Err.Msg
	case resp.IsQuery:
		var all []string
		for _, s := range resp.Statements {
			switch {
			case s.Err != nil:
				all = append(all, "ERR "+s.Err.Msg)
			case s.Rows != nil:
				all = append(all, packed(s.Rows))
			default:
				all = append(all, s.Value.Text())
			}
		}
		return strings.Join(all, "; ")
	case resp.Rows != nil:
		return generated.ReplaceAllString(packed(resp.Rows), ":generated")
	}
	return generated.ReplaceAllString(resp.Result.Text(), ":generated")
}

// Every answer was recorded from the reference engine. The rows build on one another.
func TestDataMethods(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	for _, tc := range []struct{ method, params, want string }{
		{"query", `"DEFINE TABLE person; DEFINE TABLE knows TYPE RELATION"`, "NONE; NONE"},
		{"query", `"RETURN 1; RETURN $a", { a: 3 }`, "1; 3"},
		{"query", `"RETURN 1", NULL`, "1"},
		{"create", `person:1, { a: 1 }`, "{ a: 1, id: person:1 }"},
		{"create", `"table person", { id: 2, a: 1 }`, "[{ a: 1, id: person:2 }]"},
		{"create", `"person", { a: 1, id: 4 }`, "{ a: 1, id: person:4 }"},
		{"create", `"person"`, "{ id: person:generated }"},
		{"create", `person:1, { a: 1 }`, "ERR Database record `person:1` already exists"},
		{"create", `"person", 'x'`, "ERR Cannot use 'x' in a CONTENT clause"},
		{"create", `"person", [1]`, "ERR Cannot use [1] in a CONTENT clause"},
		{"delete", `"person"`, "[{ a: 1, id: person:1 }, { a: 1, id: person:2 }, { a: 1, id: person:4 }, { id: person:generated }]"},
		{"create", `person:1, { a: 1 }`, "{ a: 1, id: person:1 }"},
		{"create", `person:2, { a: 1 }`, "{ a: 1, id: person:2 }"},
		{"select", `person:1`, "{ a: 1, id: person:1 }"},
		{"select", `person:9`, "NONE"},
		{"select", `nope:9`, "ERR The table 'nope' does not exist"},
		{"select", `"nope"`, "ERR The table 'nope' does not exist"},
		{"select", `"person:1"`, "ERR The table 'person:1' does not exist"},
		{"select", `"bad table"`, "ERR The table 'bad table' does not exist"},
		{"select", `"table person"`, "[{ a: 1, id: person:1 }, { a: 1, id: person:2 }]"},
		{"select", `[person:1, person:2]`, "[{ a: 1, id: person:1 }, { a: 1, id: person:2 }]"},
		{"select", `[]`, "[]"},
		{"select", `1`, "[1]"},
		{"select", `NULL`, "[]"},
		{"update", `person:1, { b: 1 }`, "{ b: 1, id: person:1 }"},
		{"update", `person:1`, "{ b: 1, id: person:1 }"},
		{"update", `person:99, { b: 1 }`, "NONE"},
		{"update", `"person", 3`, "ERR Cannot use 3 in a CONTENT clause"},
		{"update", `1`, "ERR Cannot execute UPDATE statement using value: 1"},
		{"upsert", `person:3, { b: 1 }`, "{ b: 1, id: person:3 }"},
		{"merge", `person:3, { c: 1 }`, "{ b: 1, c: 1, id: person:3 }"},
		{"merge", `"table person", { d: 2 }`, "[{ b: 1, d: 2, id: person:1 }, { a: 1, d: 2, id: person:2 }, { b: 1, c: 1, d: 2, id: person:3 }]"},
		{"merge", `"person", 3`, "ERR Cannot use 3 in a MERGE clause"},
		{"merge", `person:2`, "{ a: 1, d: 2, id: person:2 }"},
		{"patch", `person:2, [{ op: 'add', path: '/e', value: 1 }]`, "{ a: 1, d: 2, e: 1, id: person:2 }"},
		{"patch", `person:2, [{ op: 'add', path: '/f', value: 1 }], true`, "[{ op: 'add', path: '/f', value: 1 }]"},
		{"patch", `"person", 3`, "ERR The JSON Patch contains invalid operations. Failed to parse JSON patch structure: Patch operations should be an array of objects"},
		{"delete", `person:3`, "{ b: 1, c: 1, d: 2, id: person:3 }"},
		{"delete", `person:3`, "NONE"},
		{"delete", `nope:3`, "ERR The table 'nope' does not exist"},
		{"insert", `"person", [{ id: 5 }, { id: 6 }]`, "[{ id: person:5 }, { id: person:6 }]"},
		{"insert", `NONE, { id: person:7 }`, "[{ id: person:7 }]"},
		{"insert", `NULL, [{ id: person:8 }]`, "[{ id: person:8 }]"},
		{"insert", `"person", { x: 1 }`, "[{ id: person:generated, x: 1 }]"},
		{"insert", `NULL, { id: 7 }`, "ERR Cannot execute INSERT statement where property 'id' is: 7"},
		{"insert", `"person", 3`, "ERR Cannot execute INSERT statement using value: 3"},
		{"insert", `"person", NULL`, "ERR Cannot execute INSERT statement using value: NULL"},
		{"insert", `1, {}`, "ERR Cannot execute INSERT statement using value: 1"},
		{"insert", `person:11, { a: 1 }`, "ERR Cannot execute INSERT statement using value: person:11"},
		{"insert_relation", `"table knows", { in: person:1, out: person:2 }`, "[{ id: knows:generated, in: person:1, out: person:2 }]"},
		{"insert_relation", `NONE, { id: knows:1, in: person:1, out: person:2 }`, "[{ id: knows:1, in: person:1, out: person:2 }]"},
		{"insert_relation", `"knows", { in: 1 }`, "ERR Cannot execute INSERT statement where property 'in' is: 1"},
		{"relate", `person:1, "knows", person:2`, "{ id: knows:generated, in: person:1, out: person:2 }"},
		{"relate", `person:1, knows:5, person:2, { x: 1 }`, "{ id: knows:5, in: person:1, out: person:2, x: 1 }"},
		{"relate", `[person:1, person:2], "knows", person:2, { x: 1 }`,
			"[{ id: knows:generated, in: person:1, out: person:2, x: 1 }, { id: knows:generated, in: person:2, out: person:2, x: 1 }]"},
		{"relate", `"person:1", "knows", "person:2"`, "ERR Cannot execute RELATE statement where property 'in' is: 'person:1'"},
		{"run", `"math::max", NULL, [[1, 2]]`, "2"},
		{"run", `"math::max", "1", [[1]]`, "1"},
		{"run", `"fn::x"`, "ERR Function 'fn::x' not found: The function 'fn::x' does not exist"},
		{"let", `"a", 5`, "NULL"},
		{"query", `"RETURN $a"`, "5"},
		{"query", `"RETURN $a", { a: 6 }`, "6"},
		{"unset", `"a"`, "NULL"},
		{"query", `"RETURN $a"`, "NONE"},
		{"let", `"auth", 1`, "ERR 'auth' is a protected variable and cannot be set"},
		{"info", ``, "NONE"},
		{"ping", `1, 2`, "NONE"},
		{"sessions", ``, "[]"},
	} {
		req := &wire.Request{Method: tc.method, Params: withTables(params(t, tc.params)), Format: wire.CBOR}
		if got := said(c.Call(t.Context(), req)); got != tc.want {
			t.Errorf("%s [%s]:\ngot  %s\nwant %s", tc.method, tc.params, got, tc.want)
		}
	}
}

// The combinations of the use table.
func TestUse(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	for _, tc := range []struct{ params, want string }{
		{`NONE, NONE`, "{ database: 'test', namespace: 'test' }"},
		{`'a', NONE`, "{ database: 'test', namespace: 'a' }"},
		{`NONE, 'b'`, "{ database: 'b', namespace: 'a' }"},
		{`'c', 'd'`, "{ database: 'd', namespace: 'c' }"},
		{`NONE, NULL`, "{ database: NONE, namespace: 'c' }"},
		{`'t2', NULL`, "{ database: NONE, namespace: 't2' }"},
		{`NULL, NULL`, "{ database: NONE, namespace: NONE }"},
		{`NULL, NONE`, "ERR Specify a namespace to use"},
		{`NONE, 'x'`, "ERR Specify a namespace to use"},
		{`NULL, 'x'`, "ERR Specify a namespace to use"},
		{`true, 'x'`, "ERR Expected ns to be string, got Bool(true)"},
		{`'x', ['a']`, `ERR Expected db to be string, got Array(Array([String("a")]))`},
		{`'x', { a: 1 }`, `ERR Expected db to be string, got Object(Object({"a": Number(Int(1))}))`},
		{`NONE, NONE`, "{ database: 'main', namespace: 'main' }"},
	} {
		if got := said(c.Call(t.Context(), &wire.Request{Method: "use", Params: params(t, tc.params),
			Format: wire.CBOR})); got != tc.want {
			t.Errorf("use [%s]: got %s, want %s", tc.params, got, tc.want)
		}
	}
	if got := said(c.Call(t.Context(), &wire.Request{Method: "use", Params: params(t, `NONE, NONE`),
		Format: wire.JSON})); got != "NULL" {
		t.Errorf("in JSON: %s", got)
	}
}

// Where JSON can only mean a record, text that spells one is one.
func TestRecordsInJSON(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	for _, tc := range []struct{ method, params, want string }{
		{"create", `'person:1', { a: 'person:2' }`, "{ a: 'person:2', id: person:1 }"},
		{"create", `'person:2', {}`, "{ id: person:2 }"},
		{"select", `'person:1'`, "{ a: 'person:2', id: person:1 }"},
		{"select", `'person'`, "[{ a: 'person:2', id: person:1 }, { id: person:2 }]"},
		{"relate", `'person:1', 'knows', 'person:2'`, "{ id: knows:generated, in: person:1, out: person:2 }"},
		{"insert_relation", `'likes', { in: 'person:1', out: 'person:2', id: 'likes:1' }`, "[{ id: likes:1, in: person:1, out: person:2 }]"},
		{"insert", `NULL, { id: 'person:3', at: '2024-01-01T00:00:00Z' }`, "[{ at: '2024-01-01T00:00:00Z', id: person:3 }]"},
		{"query", `'RETURN $x', { x: 'person:1' }`, "'person:1'"},
	} {
		if got := said(c.Call(t.Context(), &wire.Request{Method: tc.method, Params: params(t, tc.params),
			Format: wire.JSON})); got != tc.want {
			t.Errorf("%s [%s]:\ngot  %s\nwant %s", tc.method, tc.params, got, tc.want)
		}
	}
}

// The optional vars of the data methods: for one call, over a session variable, never over what the method binds.
func TestVariablesOfACall(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	said := func(method, p string) string {
		return said(c.Call(t.Context(), &wire.Request{Method: method, Params: params(t, p), Format: wire.CBOR}))
	}
	said("query", `"DEFINE TABLE t; DEFINE FIELD v ON t VALUE $mine; LET $mine = 1"`)
	said("let", `"mine", 1`)
	for _, tc := range []struct{ method, params, want string }{
		{"create", `t:1, {}, { mine: 2, _what: t:9, _data: { x: 1 } }`, "{ id: t:1, v: 2 }"},
		{"create", `t:2, {}`, "{ id: t:2, v: 1 }"},
		{"select", `t:1, { mine: 2 }`, "{ id: t:1, v: 2 }"},
		{"select", `t:1, 2`, "ERR Expected (what:Value)"},
		{"insert", `"t", { id: 3 }, { mine: 3 }`, "[{ id: t:3, v: 3 }]"},
	} {
		if got := said(tc.method, tc.params); got != tc.want {
			t.Errorf("%s [%s]: got %s, want %s", tc.method, tc.params, got, tc.want)
		}
	}
}

func (c *Conn) say(t *testing.T, txn *value.UUID, method, p string) wire.Response {
	t.Helper()
	return c.Call(t.Context(), &wire.Request{Method: method, Params: params(t, p), Txn: txn, Format: wire.CBOR})
}

func TestTransactions(t *testing.T) {
	c := connect(t, newServer(t, Limits{Transactions: 2}), Options{Persistent: true})
	c.say(t, nil, "query", `"DEFINE TABLE t"`)
	open := func() value.UUID {
		t.Helper()
		resp := c.say(t, nil, "begin", "")
		if resp.Err != nil {
			t.Fatal(resp.Err)
		}
		return resp.Result.UUID()
	}
	tx := open()
	if got := said(c.say(t, &tx, "create", `t:1, { a: 1 }`)); got != "{ a: 1, id: t:1 }" {
		t.Error(got)
	}
	if got := said(c.say(t, nil, "select", `t:1`)); got != "NONE" {
		t.Errorf("uncommitted work is seen outside: %s", got)
	}
	if got := said(c.say(t, &tx, "query", `"SELECT VALUE a FROM t"`)); got != "[1]" {
		t.Errorf("own work: %s", got)
	}
	if got := said(c.say(t, &tx, "run", `"math::max", NONE, [[1, 3]]`)); got != "3" {
		t.Errorf("run inside: %s", got)
	}
	if got := said(c.say(t, nil, "commit", `u'`+tx.String()+`'`)); got != "NONE" {
		t.Error(got)
	}
	if got := said(c.say(t, nil, "select", `t:1`)); got != "{ a: 1, id: t:1 }" {
		t.Errorf("committed work: %s", got)
	}
	for _, again := range []string{"commit", "cancel"} {
		if got := said(c.say(t, nil, again, `"`+tx.String()+`"`)); got != "ERR Transaction not found" {
			t.Errorf("%s again: %s", again, got)
		}
	}
	if got := said(c.say(t, &tx, "select", `t:1`)); got != "ERR Transaction not found" {
		t.Errorf("a finished transaction: %s", got)
	}

	first, second := open(), open()
	if got := said(c.say(t, nil, "begin", "")); got != "ERR Too many open transactions" {
		t.Errorf("third of two: %s", got)
	}
	c.say(t, &first, "delete", `t:1`)
	if got := said(c.say(t, nil, "cancel", `"`+first.String()+`"`)); got != "NONE" {
		t.Error(got)
	}
	if got := said(c.say(t, nil, "select", `t:1`)); got != "{ a: 1, id: t:1 }" {
		t.Errorf("cancelled work: %s", got)
	}
	open()
	c.say(t, nil, "reset", "")
	if got := said(c.say(t, &second, "ping", "")); got != "NONE" {
		t.Errorf("ping needs no transaction: %s", got)
	}
	if got := said(c.say(t, nil, "commit", `"`+second.String()+`"`)); got != "ERR Transaction not found" {
		t.Errorf("reset keeps transactions: %s", got)
	}
}

// TestInvalidateEndsTransactions: a transaction cannot outlive the identity that opened it.
func TestInvalidateEndsTransactions(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	tx := c.say(t, nil, "begin", "").Result.UUID()
	if got := said(c.say(t, nil, "invalidate", "")); got != "NONE" {
		t.Error(got)
	}
	if got := said(c.say(t, nil, "commit", `u'`+tx.String()+`'`)); got != "ERR Transaction not found" {
		t.Errorf("commit: %s", got)
	}
}

func TestTransactionsStayInTheirConnection(t *testing.T) {
	srv := newServer(t, Limits{})
	a, b := connect(t, srv, Options{Persistent: true}), connect(t, srv, Options{Persistent: true})
	tx := a.say(t, nil, "begin", "").Result.UUID()
	if got := said(b.say(t, nil, "commit", `"`+tx.String()+`"`)); got != "ERR Transaction not found" {
		t.Errorf("got %s", got)
	}
	if got := said(b.say(t, &tx, "query", `"RETURN 1"`)); got != "ERR Transaction not found" {
		t.Errorf("got %s", got)
	}
}

func TestShortLivedConnectionsHoldNothing(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Sessions: NewSessions(Limits{})})
	for _, method := range []string{"begin", "commit", "cancel", "live", "kill"} {
		resp := c.say(t, nil, method, "")
		if resp.Err == nil || resp.Err.Msg != "Method not allowed" || wire.Code(resp.Err) != wire.CodeNotAllowed {
			t.Errorf("%s: %v", method, resp.Err)
		}
	}
}

func TestDeniedMethods(t *testing.T) {
	srv := newServer(t, Limits{})
	c := connect(t, srv, Options{Persistent: true})
	srv.Caps = &auth.Capabilities{RPC: auth.Filter{Allow: auth.NewSet("ping")}}
	if resp := c.say(t, nil, "query", `"RETURN 1"`); resp.Err == nil || resp.Err.Msg != "Method not allowed" {
		t.Errorf("got %v", resp.Err)
	}
	if resp := c.say(t, nil, "ping", ""); resp.Err != nil {
		t.Error(resp.Err)
	}
}

func TestAttachedSessionsAreApart(t *testing.T) {
	srv := newServer(t, Limits{AttachedSessions: 2})
	c := connect(t, srv, Options{Persistent: true})
	id := value.UUID{1}
	call := func(method, p string) string {
		return said(c.Call(t.Context(), &wire.Request{Method: method, Params: params(t, p), Session: &id,
			Format: wire.CBOR}))
	}
	if got := call("attach", ""); got != "NONE" {
		t.Fatal(got)
	}
	c.say(t, nil, "let", `"x", 1`)
	if got := call("use", `NONE, NULL`); got != "{ database: NONE, namespace: NONE }" {
		t.Errorf("a new session has a place: %s", got)
	}
	if got := said(c.say(t, nil, "query", `"RETURN $x"`)); got != "1" {
		t.Errorf("the connection's own session: %s", got)
	}
	for i := range 2 {
		id = value.UUID{2, byte(i)}
		want := "NONE"
		if i == 1 {
			want = "ERR Too many attached sessions"
		}
		if got := call("attach", ""); got != want {
			t.Errorf("session %d: %s", i, got)
		}
	}
}

func TestLentSessionsOutliveTheirConnectionAndAreNotListed(t *testing.T) {
	srv := newServer(t, Limits{})
	lent := NewSessions(Limits{})
	id := value.UUID{1}
	a := srv.NewConn(srv.Engine.Session(), Options{Sessions: lent})
	if resp := a.Call(t.Context(), &wire.Request{Method: "attach", Session: &id}); resp.Err != nil {
		t.Fatal(resp.Err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := srv.NewConn(srv.Engine.Session(), Options{Sessions: lent})
	if resp := b.Call(t.Context(), &wire.Request{Method: "reset", Session: &id}); resp.Err != nil {
		t.Errorf("the session is gone: %v", resp.Err)
	}
	if got := said(b.Call(t.Context(), &wire.Request{Method: "sessions"})); got != "[]" {
		t.Errorf("ids of others are listed: %s", got)
	}
	if err := lent.Sweep(t.Context(), time.Now().Add(25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if resp := b.Call(t.Context(), &wire.Request{Method: "reset", Session: &id}); resp.Err == nil {
		t.Error("an idle session is not swept")
	}
}

func TestWallClockLimit(t *testing.T) {
	c := connect(t, newServer(t, Limits{QueryTimeout: 20 * time.Millisecond}), Options{Persistent: true})
	resp := c.say(t, nil, "query", `"SLEEP 1h"`)
	got := said(resp)
	if got != "ERR The query was not executed because it exceeded the timeout: 20ms" {
		t.Errorf("got %s", got)
	}
}

// guess is a limiter that lets through so many failures.
type guess struct{ left int }

func (g *guess) Try(string, []string, func() bool) (func(bool), time.Duration) {
	if g.left == 0 {
		return nil, 90 * time.Second
	}
	g.left--
	return func(ok bool) {
		if ok {
			g.left++
		}
	}, 0
}

func TestGuessingIsLimited(t *testing.T) {
	srv := newServer(t, Limits{})
	srv.Auth = &guess{left: 2}
	c := srv.NewConn(srv.Session("", ""), Options{Persistent: true})
	for i := range 4 {
		resp := c.say(t, nil, "signin", `{ user: 'x', pass: 'y' }`)
		want := errs.InvalidAuth().Msg
		if i >= 2 {
			want = "Too many authentication attempts, try again in 90 seconds"
		}
		if resp.Err == nil || resp.Err.Msg != want {
			t.Errorf("attempt %d: %v", i, resp.Err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	c := connect(b, newServer(b, Limits{}), Options{Persistent: true})
	for _, bc := range []struct{ method, params string }{
		{"ping", ""}, {"query", `"RETURN 1"`}, {"create", `"t", { a: 1 }`}, {"select", `t:1`},
	} {
		p := params(b, bc.params)
		b.Run(bc.method, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp := c.Call(b.Context(), &wire.Request{Method: bc.method, Params: p, Format: wire.CBOR})
				if resp.Err != nil {
					b.Fatal(resp.Err)
				}
			}
		})
	}
}

// refresh consumes a refresh token; revoke ends one.
func TestRefreshTokens(t *testing.T) {
	srv := newServer(t, Limits{})
	owner := connect(t, srv, Options{Persistent: true})
	if got := said(owner.say(t, nil, "query", `"DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNUP (CREATE user SET n = $n) WITH REFRESH"`)); got != "NONE" {
		t.Fatal(got)
	}
	c := srv.NewConn(srv.Engine.Session(), Options{Persistent: true})
	defer func() { _ = c.Close(t.Context()) }()
	pair := func(resp wire.Response) string {
		t.Helper()
		if resp.Err != nil || resp.Result.Kind() != value.KindObject {
			t.Fatalf("%v %s", resp.Err, said(resp))
		}
		return resp.Result.Text()
	}
	const invalid = "ERR There was a problem with authentication"
	first := pair(c.say(t, nil, "signup", `{ NS: 'test', DB: 'test', AC: 'acc', n: 1 }`))
	second := pair(c.say(t, nil, "refresh", first))
	if got := said(c.say(t, nil, "refresh", first)); got != invalid {
		t.Errorf("used twice: %s", got)
	}
	if got := said(c.say(t, nil, "revoke", second)); got != "NONE" {
		t.Errorf("revoke: %s", got)
	}
	if got := said(c.say(t, nil, "refresh", second)); got != invalid {
		t.Errorf("revoked: %s", got)
	}
	for _, tc := range []struct{ method, params, want string }{
		{"refresh", `"x"`, "ERR Incorrect arguments for function refresh(). Token is an access token, cannot refresh"},
		{"revoke", `"x"`, "ERR Incorrect arguments for function refresh(). Token is an access token, cannot revoke refresh token"},
		{"refresh", `{ access: 'x' }`, "ERR Expected (token:Token)"},
		{"refresh", `1`, "ERR Expected (token:Token)"},
		{"refresh", `{ access: 'x', refresh: 'y' }`, invalid},
		{"signin", `{}`, "ERR Username or Password was not provided"},
		{"signup", `{}`, "ERR There was a problem with signing up"},
	} {
		if got := said(c.say(t, nil, tc.method, tc.params)); got != tc.want {
			t.Errorf("%s [%s]: %s", tc.method, tc.params, got)
		}
	}
}
