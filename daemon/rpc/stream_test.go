package rpc

import (
	"fmt"
	"regexp"
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
	c.Stream(t.Context(), &wire.Request{ID: id, Method: "query_stream", Params: params(t, p)}, func(r *wire.Response) {
		if value.Compare(r.ID, id) != 0 {
			t.Errorf("a frame for %s", r.ID)
		}
		if r.Err != nil {
			got = append(got, "ERR "+r.Err.Msg)
			return
		}
		got = append(got, spent.ReplaceAllString(r.Result.Text(), "time: T"))
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
	if got := c.streamed(t, value.Int(7), `"SELECT FROM"`); len(got) != 1 || !strings.HasPrefix(got[0], "ERR Parse error") {
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
	c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Method: "query_stream", Params: params(t, `"RETURN array::range(0, 1000)"`)}, func(r *wire.Response) {
		if rows, ok := r.Result.Object().Get("values"); ok {
			sizes = append(sizes, fmt.Sprint(rows.Len()))
		}
	})
	if got := strings.Join(sizes, " "); got != "16 32 64 128 256 256 248" {
		t.Errorf("got %s", got)
	}
}

func TestStreamRefusals(t *testing.T) {
	srv := newServer(t, Limits{Streams: 1})
	c := connect(t, srv, Options{Persistent: true})
	frames := make(chan string, 10)
	go c.Stream(t.Context(), &wire.Request{ID: value.Int(1), Method: "query_stream", Params: params(t, `"SLEEP 1h"`)}, func(r *wire.Response) {
		frames <- spent.ReplaceAllString(r.Result.Text(), "time: T")
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
	if got := <-frames; got != "{ statements: 0, stream: 'begin', version: 1 }" && got != "{ statements: 1, stream: 'begin', version: 1 }" {
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
	if resp := short.say(t, nil, "query_stream", `"RETURN 1"`); resp.Err == nil || resp.Err.Msg != "Method not found" || !resp.Err.Is(errs.With(errs.KindNotFound, "Method", nil, "")) {
		t.Errorf("without frames: %v", resp.Err)
	}
}
