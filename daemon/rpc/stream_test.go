package rpc

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

var spent = regexp.MustCompile(`time: '[^']*'`)

// streamed runs a query_stream and gives its frames as texts.
func (c *Conn) streamed(t *testing.T, id value.Value, p string) []string {
	t.Helper()
	var got []string
	c.Stream(t.Context(), &wire.Request{ID: id, Method: "query_stream", Params: params(t, p)},
		func(_ context.Context, r *wire.Response) error {
			if value.Compare(r.ID, id) != 0 {
				t.Errorf("a frame for %s", r.ID)
			}
			if r.Err != nil {
				got = append(got, "ERR "+r.Err.Msg)
				return nil
			}
			got = append(got, spent.ReplaceAllString(r.Result.Text(), "time: T"))
			return nil
		})
	return got
}

// The rows of the table of stream frames.
func TestStreamFrames(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	for _, tc := range []struct {
		name, params string
		want         []string
	}{
		{"one value", `"RETURN 1"`, []string{
			"{ statements: 1, stream: 'begin', version: 1 }",
			"{ index: 0, stream: 'value', value: 1 }",
			"{ index: 0, single: true, stream: 'finished', time: T, type: NULL }",
			"{ results: 1, stream: 'end', time: T }"}},
		{"a list, and variables", `"RETURN [$a, 2]", { a: 1 }`, []string{
			"{ statements: 1, stream: 'begin', version: 1 }",
			"{ index: 0, stream: 'rows', values: [1, 2] }",
			"{ index: 0, single: false, stream: 'finished', time: T, type: NULL }",
			"{ results: 1, stream: 'end', time: T }"}},
		{"an empty list", `"RETURN []"`, []string{
			"{ statements: 1, stream: 'begin', version: 1 }",
			"{ index: 0, single: false, stream: 'finished', time: T, type: NULL }",
			"{ results: 1, stream: 'end', time: T }"}},
		{"a failed statement", `"THROW 'x'; RETURN 2"`, []string{
			"{ statements: 2, stream: 'begin', version: 1 }",
			"{ error: { cause: NONE, code: -32006, kind: 'Thrown', message: 'An error occurred: x' }, index: 0, single: true, stream: 'finished', time: T, type: NULL }",
			"{ index: 1, stream: 'value', value: 2 }",
			"{ index: 1, single: true, stream: 'finished', time: T, type: NULL }",
			"{ results: 2, stream: 'end', time: T }"}},
		{"wrong parameters", `1`, []string{"ERR Expected query to be string"}},
	} {
		if got := c.streamed(t, value.Int(7), tc.params); strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tc.name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
	if got := c.streamed(t, value.Int(7), `"SELEC"`+`, NULL`); len(got) == 0 {
		t.Error("no answer")
	}
	if got := c.streamed(t, value.Int(7), `"SELECT FROM"`); len(got) != 1 ||
		!strings.HasPrefix(got[0], "ERR Parse error") {
		t.Errorf("a text that does not parse: %v", got)
	}
	if got := c.streamed(t, value.None, `"RETURN 1"`); len(got) != 1 || got[0] != "ERR Invalid request" {
		t.Errorf("without an id: %v", got)
	}
}

// The first rows frame holds up to 16 records, each later one up to twice the previous, up to 256.
func TestStreamRowFramesGrow(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	var sizes []string
	c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Method: "query_stream", Params: params(t,
		`"RETURN array::range(0, 1000); CREATE |t:1..1000| RETURN NONE; SELECT * FROM t"`)}, func(_ context.Context, r *wire.Response) error {
		if rows, ok := r.Result.Object().Get("values"); ok {
			sizes = append(sizes, fmt.Sprint(rows.Len()))
		}
		return nil
	})
	if got := strings.Join(sizes, " "); got != "16 32 64 128 256 256 248 16 32 64 128 256 256 247" &&
		got != "16 32 64 128 256 256 248 16 32 64 128 256 256 248" {
		t.Errorf("got %s", got)
	}
}

func TestStreamRefusals(t *testing.T) {
	srv := newServer(t, Limits{Streams: 1})
	c := connect(t, srv, Options{Persistent: true})
	frames := make(chan string, 10)
	go c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Method: "query_stream", Params: params(t, `"SLEEP 1h"`)},
		func(_ context.Context, r *wire.Response) error {
			frames <- spent.ReplaceAllString(r.Result.Text(), "time: T")
			return nil
		})
	running := func() bool {
		c.streams.mu.Lock()
		defer c.streams.mu.Unlock()
		return len(c.streams.cancel) == 1
	}
	for deadline := time.Now().Add(10 * time.Second); !running(); {
		if time.Now().After(deadline) {
			t.Fatal("the stream does not begin")
		}
	}
	if got := c.streamed(t, value.Int(1), `"RETURN 1"`); got[0] != "ERR A streaming query with this request id is already in progress" {
		t.Errorf("the same id: %v", got)
	}
	if got := c.streamed(t, value.Str("1"), `"RETURN 1"`); got[0] != "ERR Too many concurrent streaming queries" {
		t.Errorf("a second one: %v", got)
	}
	if got := said(c.say(t, nil, "query_cancel", `"1"`)); got != "ERR No streaming query with this request id is in progress" {
		t.Errorf("an id of another type: %s", got)
	}
	if got := said(c.say(t, nil, "query_cancel", `1`)); got != "NULL" {
		t.Errorf("cancel: %s", got)
	}
	if got := <-frames; got != "{ statements: 1, stream: 'begin', version: 1 }" {
		t.Errorf("got %s", got)
	}
	want := "{ error: { cause: NONE, code: -32005, details: { kind: 'Cancelled' }, kind: 'Query', message: 'The streaming query was stopped before it completed' }, results: 0, stream: 'end', time: T }"
	if got := <-frames; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	srv.Caps = &auth.Capabilities{RPC: auth.Filter{Allow: auth.Set{All: true}, Deny: auth.NewSet("query")}}
	if got := c.streamed(t, value.Int(2), `"RETURN 1"`); got[0] != "ERR Method not allowed" {
		t.Errorf("denied through query: %v", got)
	}
	srv.Caps = nil
	short := connect(t, srv, Options{Sessions: NewSessions(Limits{})})
	if resp := short.say(t, nil, "query_stream", `"RETURN 1"`); resp.Err == nil ||
		resp.Err.Msg != "Method not found" || !resp.Err.Is(errs.With(errs.KindNotFound, "Method", nil, "")) {
		t.Errorf("without frames: %v", resp.Err)
	}
}

// What is inside a transaction of the text is finished with it; its rows leave before.
func TestStreamOfATransaction(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	const cancelled = "{ error: { cause: NONE, code: -32005, details: { kind: 'Cancelled' }, kind: 'Query', message: 'The query was not executed due to a cancelled transaction' }, index: %d, single: %t, stream: 'finished', time: T, type: NULL }"
	end := func(n int) string { return fmt.Sprintf("{ results: %d, stream: 'end', time: T }", n) }
	none := func(i int) []string {
		return []string{fmt.Sprintf("{ index: %d, stream: 'value', value: NONE }", i),
			fmt.Sprintf("{ index: %d, single: true, stream: 'finished', time: T, type: NULL }", i)}
	}
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"committed", `"DEFINE TABLE IF NOT EXISTS t; BEGIN; CREATE t:1; SELECT * FROM t; COMMIT"`, slices.Concat(
			[]string{"{ statements: 5, stream: 'begin', version: 1 }"}, none(0),
			[]string{"{ index: 3, stream: 'rows', values: [{ id: t:1 }] }"}, none(1),
			[]string{"{ index: 2, stream: 'rows', values: [{ id: t:1 }] }", "{ index: 2, single: false, stream: 'finished', time: T, type: NULL }",
				"{ index: 3, single: false, stream: 'finished', time: T, type: NULL }"}, none(4), []string{end(5)})},
		{"cancelled", `"BEGIN; SELECT * FROM t; CANCEL"`, slices.Concat(
			[]string{"{ statements: 3, stream: 'begin', version: 1 }", "{ index: 1, stream: 'rows', values: [{ id: t:1 }] }"}, none(0),
			[]string{fmt.Sprintf(cancelled, 1, false)}, none(2), []string{end(3)})},
		{"without an end", `"BEGIN; SELECT * FROM t"`, slices.Concat(
			[]string{"{ statements: 2, stream: 'begin', version: 1 }", "{ index: 1, stream: 'rows', values: [{ id: t:1 }] }"}, none(0),
			[]string{"{ error: { cause: NONE, code: -32000, kind: 'Internal', message: 'Missing COMMIT statement' }, index: 1, single: false, stream: 'finished', time: T, type: NULL }", end(2)})},
		{"a row that fails", `"SELECT VALUE 1 + a FROM [{ a: 1 }, { a: 'x' }]"`, []string{
			"{ statements: 1, stream: 'begin', version: 1 }",
			"{ error: { cause: NONE, code: -32000, kind: 'Validation', message: \"Cannot perform addition with '1' and 'x'\" }, index: 0, single: true, stream: 'finished', time: T, type: NULL }", end(1)}},
		{"live and kill", `"LIVE SELECT * FROM t; KILL u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'"`, nil},
	} {
		got := c.streamed(t, value.Int(7), tc.text)
		if tc.want == nil {
			if len(got) != 5 || !strings.HasSuffix(got[2], "type: 'live' }") || !strings.Contains(got[3], "error: ") {
				t.Errorf("%s: %s", tc.name, strings.Join(got, "\n"))
			}
			continue
		}
		if strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tc.name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}

// The first rows leave before the statement has ended, who does not take them holds it up, and query_cancel stops it.
func TestStreamRowsLeaveWhileTheStatementRuns(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	c.say(t, nil, "query", `"CREATE |t:1..3000| RETURN NONE"`)
	var frames []string
	c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Method: "query_stream", Params: params(t,
		`"SELECT VALUE record::id(id) FROM t WHERE record::id(id) < 100 OR sleep(1h)"`)},
		func(ctx context.Context, r *wire.Response) error {
			stream, _ := r.Result.Object().Get("stream")
			frames = append(frames, stream.Str())
			if stream.Str() == "rows" && len(frames) == 3 {
				if got := said(c.say(t, nil, "query_cancel", `1`)); got != "NULL" {
					t.Errorf("cancel: %s", got)
				}
			}
			if stream.Str() == "end" {
				frames = append(frames, spent.ReplaceAllString(r.Result.Text(), "time: T"))
			}
			return nil
		})
	want := "begin rows rows end { error: { cause: NONE, code: -32005, details: { kind: 'Cancelled' }, kind: 'Query', message: 'The streaming query was stopped before it completed' }, results: 0, stream: 'end', time: T }"
	if got := strings.Join(frames, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A frame that the transport can not deliver stops the query; an end frame is tried all the same.
func TestStreamThatCanNotBeDelivered(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	c.say(t, nil, "query", `"CREATE |t:1..3000| RETURN NONE"`)
	var frames []string
	c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Method: "query_stream", Params: params(t,
		`"SELECT * FROM t; CREATE never:1"`)},
		func(ctx context.Context, r *wire.Response) error {
			stream, _ := r.Result.Object().Get("stream")
			frames = append(frames, stream.Str())
			if len(frames) == 4 {
				return errors.New("the client takes nothing")
			}
			return nil
		})
	if got := strings.Join(frames, " "); got != "begin rows rows rows end" {
		t.Errorf("got %s", got)
	}
	if got := said(c.say(t, nil, "query", `"SELECT * FROM never"`)); got != "ERR The table 'never' does not exist" {
		t.Errorf("the rest of the text has run: %s", got)
	}
}

// A limit of time ends the whole stream.
func TestStreamTimeLimit(t *testing.T) {
	c := connect(t, newServer(t, Limits{QueryTimeout: 30 * time.Millisecond}), Options{Persistent: true})
	got := c.streamed(t, value.Int(1), `"RETURN 1; SLEEP 1h; RETURN 2"`)
	want := "{ error: { cause: NONE, code: -32004, details: { details: { duration: 30ms }, kind: 'TimedOut' }, kind: 'Query', message: 'The query was not executed because it exceeded the timeout: 30ms' }, results: 1, stream: 'end', time: T }"
	if len(got) != 4 || got[3] != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// A stream inside an interactive transaction reads and writes in it.
func TestStreamInsideATransaction(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	c.say(t, nil, "query", `"DEFINE TABLE t"`)
	tx := c.say(t, nil, "begin", "").Result.UUID()
	var got []string
	c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Txn: &tx, Method: "query_stream", Params: params(t,
		`"CREATE t:1 RETURN NONE; SELECT * FROM t"`)},
		func(_ context.Context, r *wire.Response) error {
			got = append(got, spent.ReplaceAllString(r.Result.Text(), "time: T"))
			return nil
		})
	if len(got) != 5 || got[2] != "{ index: 1, stream: 'rows', values: [{ id: t:1 }] }" {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
	if got := said(c.say(t, nil, "select", `"table t"`)); got == "[{ id: t:1 }]" {
		t.Error("what the stream wrote is seen outside")
	}
	c.say(t, nil, "commit", `"`+tx.String()+`"`)
	if got := said(c.say(t, nil, "query", `"SELECT * FROM t"`)); got != "[{ id: t:1 }]" {
		t.Errorf("after the commit: %s", got)
	}
}

// A SELECT that calls functions which may write streams too; what it wrote is there when it is finished.
func TestStreamOfASelectThatWrites(t *testing.T) {
	c := connect(t, newServer(t, Limits{}), Options{Persistent: true})
	c.say(t, nil, "query", `"CREATE |t:1..40| RETURN NONE; DEFINE TABLE log; DEFINE FUNCTION fn::note($id: record) { CREATE log SET of = $id RETURN NONE; RETURN 1 }; DEFINE FUNCTION fn::read($id: record) { RETURN 2 }"`)
	for _, tc := range []struct{ fn, want string }{{"fn::note", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"},
		{"fn::read", "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]"}} {
		got := c.streamed(t, value.Int(1), `"SELECT VALUE `+tc.fn+`(id) FROM t LIMIT 20; SELECT VALUE count() FROM log GROUP ALL"`)
		if len(got) != 7 || got[1] != "{ index: 0, stream: 'rows', values: "+tc.want+" }" ||
			got[6] != "{ results: 2, stream: 'end', time: T }" ||
			got[4] != "{ index: 1, stream: 'rows', values: [{ count: 20 }] }" {
			t.Errorf("%s: got %s", tc.fn, strings.Join(got, "\n"))
		}
	}
}
