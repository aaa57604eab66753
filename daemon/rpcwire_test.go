package daemon_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// sockets gives the two formats of a socket, each as root in a place of its own.
func (s *server) socketDoors(t *testing.T, setup string) []*rpcDoor {
	t.Helper()
	doors := s.doors()[:2]
	for i, d := range doors {
		d.play(t, &rpcRow{setup: setup}, fmt.Sprintf("w%d_%d", time.Now().UnixNano(), i))
	}
	return doors
}

func call(method string, params ...value.Value) []value.Field {
	return []value.Field{{Name: "method", Value: value.Str(method)}, {Name: "params", Value: value.ArrayOf(params)}}
}

// with adds a field to a request.
func with(fields []value.Field, name string, v value.Value) []value.Field {
	return append(fields, value.Field{Name: name, Value: v})
}

// fieldNames are the fields of an object.
func fieldNames(v value.Value) string {
	if v.Kind() != value.KindObject {
		return v.Kind().String()
	}
	var all []string
	for _, f := range v.Object().Fields() {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

// The rows of "Request envelope", "Response envelope", "Error object" and "Statement result".
func TestRPCEnvelopeRows(t *testing.T) {
	s := start(t)
	for _, d := range s.socketDoors(t, "DEFINE TABLE t") {
		ask := func(t *testing.T, fields []value.Field) value.Value {
			t.Helper()
			d.server.t, d.socket.t = t, t
			d.send(fields...)
			return d.receive()
		}
		row := func(key string, f func(t *testing.T)) { t.Run(key+"/"+d.name, f) }
		row("Request envelope/id, integer", func(t *testing.T) {
			if v := field(ask(t, with(call("ping"), "id", value.Int(-5))), "id"); v.Kind() != value.KindInt || v.Int() != -5 {
				t.Errorf("got %s", v.Text())
			}
		})
		row("Request envelope/id, string", func(t *testing.T) {
			if v := field(ask(t, with(call("ping"), "id", value.Str("a b"))), "id"); v.Kind() != value.KindString || v.Str() != "a b" {
				t.Errorf("got %s", v.Text())
			}
		})
		row("Request envelope/id, none", func(t *testing.T) {
			if got := fieldNames(ask(t, call("ping"))); got != "result" {
				t.Errorf("got %s", got)
			}
		})
		row("Request envelope/id, another type", func(t *testing.T) {
			if got := d.said("", ask(t, with(call("ping"), "id", value.Array(value.Int(1))))); got != "ERR -32600 Validation/InvalidRequest Invalid request" {
				t.Errorf("got %s", got)
			}
		})
		row("Request envelope/id, required for query_stream", func(t *testing.T) {
			if got := d.said("", ask(t, call("query_stream", value.Str("RETURN 1")))); got != "ERR -32600 Validation/InvalidRequest Invalid request" {
				t.Errorf("got %s", got)
			}
		})
		row("Request envelope/method", func(t *testing.T) {
			if got := d.said("", ask(t, []value.Field{{Name: "id", Value: value.Int(1)}})); got != "ERR -32600 Validation/InvalidRequest Invalid request" {
				t.Errorf("got %s", got)
			}
		})
		row("Request envelope/params, positional", func(t *testing.T) {
			if got := d.said("query", ask(t, call("query", value.Str("RETURN $a"), value.ObjectOf(value.NewObject(value.Field{Name: "a", Value: value.Int(3)}))))); got != "3" {
				t.Errorf("got %s", got)
			}
		})
		row("Request envelope/txn", func(t *testing.T) {
			tx := field(ask(t, call("begin")), "result")
			ask(t, with(call("query", value.Str("CREATE t:1")), "txn", tx))
			if got := d.said("query", ask(t, call("query", value.Str("SELECT * FROM t")))); got != "[]" {
				t.Errorf("outside: %s", got)
			}
			if got := d.said("", ask(t, call("cancel", tx))); strings.HasPrefix(got, "ERR") {
				t.Error(got)
			}
			if got := d.said("", ask(t, with(call("query", value.Str("RETURN 1")), "txn", tx))); got != "ERR -32000 NotFound/Transaction Transaction not found" {
				t.Errorf("finished: %s", got)
			}
			if got := d.said("", ask(t, with(call("query", value.Str("RETURN 1")), "txn", value.Str("no uuid")))); got != "ERR -32600 Validation/InvalidRequest Invalid request" {
				t.Errorf("no uuid: %s", got)
			}
			if got := d.said("query", ask(t, with(call("query", value.Str("RETURN 1")), "txn", value.Null))); got != "1" {
				t.Errorf("null: %s", got)
			}
		})
		row("Response envelope/success", func(t *testing.T) {
			if got := fieldNames(ask(t, with(call("ping"), "id", value.Int(1)))); got != "id result" {
				t.Errorf("got %s", got)
			}
		})
		row("Response envelope/failure", func(t *testing.T) {
			if got := fieldNames(ask(t, with(call("nothing"), "id", value.Int(1)))); got != "error id" {
				t.Errorf("got %s", got)
			}
		})
		row("Error object", func(t *testing.T) {
			e := field(ask(t, call("let")), "error")
			if got := fieldNames(e); got != "cause code details kind message" {
				t.Errorf("fields: %s", got)
			}
			if field(e, "code").Kind() != value.KindInt || field(e, "kind").Str() != "Validation" || field(field(e, "details"), "kind").Str() != "InvalidParams" || !field(e, "cause").IsNullish() {
				t.Errorf("got %s", e.Text())
			}
		})
		row("Statement result", func(t *testing.T) {
			all := field(ask(t, call("query", value.Str("RETURN 1; THROW 2; LIVE SELECT * FROM t; KILL u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'"))), "result").Elems()
			if len(all) != 4 || fieldNames(all[0]) != "result status time type" || field(all[0], "status").Str() != "OK" || field(all[0], "result").Int() != 1 || !field(all[0], "type").IsNullish() ||
				!regexp.MustCompile(`^[0-9.]+(ns|µs|ms|s)$`).MatchString(field(all[0], "time").Str()) {
				t.Errorf("OK: %v", all)
			}
			if field(all[1], "status").Str() != "ERR" || fieldNames(all[1]) != "kind result status time type" || field(all[1], "kind").Str() != "Thrown" || field(all[1], "result").Str() != "An error occurred: 2" {
				t.Errorf("ERR: %s", all[1].Text())
			}
			if field(all[2], "type").Str() != "live" {
				t.Errorf("live: %s", all[2].Text())
			}
		})
	}
}

// The rows of "Live notification" and of the live queries' states.
func TestRPCLiveRows(t *testing.T) {
	s := start(t)
	for i, d := range s.socketDoors(t, "DEFINE TABLE t; DEFINE TABLE u") {
		d.server.t, d.socket.t = t, t
		place := field(d.call(call("query", value.Str("RETURN session::ns()"))...), "result").Elems()
		ns := field(place[0], "result")
		boss := s.doors()[i]
		boss.play(t, &rpcRow{}, ns.Str())
		write := func(text string) {
			t.Helper()
			if got := boss.said("query", boss.call(call("query", value.Str(text))...)); strings.Contains(got, "ERR") {
				t.Fatal(got)
			}
		}
		live := func(params ...value.Value) value.Value { return field(d.call(call("live", params...)...), "result") }
		note := func(t *testing.T, id value.Value, action, result string) {
			t.Helper()
			v := d.receive()
			n := field(v, "result")
			got := fieldNames(v) + ", " + fieldNames(n) + ", " + field(n, "action").Str() + ", " + d.text(field(n, "result"))
			if want := "result, action id record result session, " + action + ", " + result; got != want || value.Compare(field(n, "id"), id) != 0 {
				t.Errorf("got %s of %s\nwant %s of %s", got, field(n, "id").Text(), want, id.Text())
			}
		}
		form := func(cbor, json string) string {
			if d.format == wire.JSON {
				return json
			}
			return cbor
		}
		quiet := func(t *testing.T) { // notifications under way arrive before these answers
			t.Helper()
			for range 5 {
				if v := d.call(call("query", value.Str("RETURN 1"))...); fieldNames(v) != "id result" {
					t.Fatalf("got %s", v.Text())
				}
			}
		}
		id := live(value.TableOf("t"))
		t.Run("Live notification/CREATE/"+d.name, func(t *testing.T) {
			write("CREATE t:1 SET a = 1")
			note(t, id, "CREATE", form("{ a: 1, id: t:1 }", `{"a":1,"id":"t:1"}`))
		})
		t.Run("Live notification/UPDATE/"+d.name, func(t *testing.T) {
			write("UPDATE t:1 SET a = 2")
			note(t, id, "UPDATE", form("{ a: 2, id: t:1 }", `{"a":2,"id":"t:1"}`))
		})
		t.Run("Live notification/DELETE/"+d.name, func(t *testing.T) {
			write("DELETE t:1")
			note(t, id, "DELETE", form("{ a: 2, id: t:1 }", `{"a":2,"id":"t:1"}`))
		})
		t.Run("Live query: Active, kill, Killed/"+d.name, func(t *testing.T) {
			d.call(call("kill", id)...)
			write("CREATE t:2")
			quiet(t)
		})
		t.Run("Live notification/diff/"+d.name, func(t *testing.T) {
			id := live(value.TableOf("u"), value.Bool(true))
			write("CREATE u:1 SET a = 1; UPDATE u:1 SET a = 2; DELETE u:1")
			note(t, id, "CREATE", form("[{ op: 'replace', path: '', value: { a: 1, id: u:1 } }]", `[{"op":"replace","path":"","value":{"a":1,"id":"u:1"}}]`))
			note(t, id, "UPDATE", form("[{ op: 'replace', path: '/a', value: 2 }]", `[{"op":"replace","path":"/a","value":2}]`))
			note(t, id, "DELETE", form("[{ op: 'replace', path: '', value: NONE }]", `[{"op":"replace","path":"","value":null}]`))
		})
		t.Run("Live query: none, live statement via query, Active/"+d.name, func(t *testing.T) {
			res := field(d.call(call("query", value.Str("LIVE SELECT VALUE a FROM t"))...), "result").Elems()
			write("CREATE t:3 SET a = 7")
			note(t, field(res[0], "result"), "CREATE", "7")
		})
		t.Run("Live query: Active, reset, Aborted/"+d.name, func(t *testing.T) {
			d.call(call("reset")...)
			write("CREATE t:4; CREATE u:4")
			for range 5 {
				if v := d.call(call("ping")...); fieldNames(v) != "id result" {
					t.Fatalf("got %s", v.Text())
				}
			}
		})
	}
}

// frames runs a streaming query and gives its frames as texts, up to the end frame or an ordinary answer.
func (d *rpcDoor) frames(id value.Value, text string, txn value.Value) (all []string) {
	d.server.t.Helper()
	d.send(append(call("query_stream", value.Str(text)), value.Field{Name: "id", Value: id}, value.Field{Name: "txn", Value: txn})...)
	for {
		v := d.receive()
		if e := field(v, "error"); !e.IsNone() {
			return append(all, "ERR "+errorText(e))
		}
		r := field(v, "result")
		stream := field(r, "stream").Str()
		text := stream
		for _, name := range strings.Fields(map[string]string{"begin": "statements version", "rows": "index values", "value": "index value",
			"finished": "index type single", "end": "results"}[stream]) {
			text += " " + d.text(field(r, name))
		}
		if e := field(r, "error"); !e.IsNone() {
			text += " ERR " + errorText(e)
		}
		if time := field(r, "time"); (stream == "finished" || stream == "end") && time.Kind() != value.KindString {
			text += " without a time"
		}
		all = append(all, text)
		if stream == "end" {
			return all
		}
	}
}

// The rows of "Stream frames", "query_stream rules" and "Streaming query" among the states.
func TestRPCStreamRows(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.Streams = 2 })
	for _, d := range s.socketDoors(t, "DEFINE TABLE t; CREATE |t:1..40| SET n = 1; DELETE t:40") {
		check := func(key, text string, want ...string) {
			t.Run(key+"/"+d.name, func(t *testing.T) {
				d.server.t, d.socket.t = t, t
				if got := strings.Join(d.frames(value.Str("s"), text, value.None), "\n"); got != strings.Join(want, "\n") {
					t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
				}
			})
		}
		null, q := "NULL", "'"
		if d.format == wire.JSON {
			null, q = "null", `"`
		}
		finished := func(i int, single bool) string { return fmt.Sprintf("finished %d %s %t", i, null, single) }
		check("Stream frames/begin, statements and version", "RETURN 1; RETURN 2", "begin 2 1", "value 0 1", finished(0, true), "value 1 2", finished(1, true), "end 2")
		check("Stream frames/value, a non-list statement", "RETURN 'x'", "begin 1 1", "value 0 "+q+"x"+q, finished(0, true), "end 1")
		t.Run("Stream frames/rows, 16 first, then up to twice the previous/"+d.name, func(t *testing.T) {
			d.server.t, d.socket.t = t, t
			got := d.frames(value.Str("s"), "SELECT VALUE 1 FROM t", value.None)
			sizes := ""
			for _, f := range got {
				if strings.HasPrefix(f, "rows 0 ") {
					sizes += fmt.Sprint(strings.Count(strings.TrimPrefix(f, "rows 0 "), "1"), " ")
				}
			}
			if sizes != "16 23 " && sizes != "16 24 " || got[len(got)-1] != "end 1" {
				t.Errorf("got %s: %v", sizes, got)
			}
		})
		check("Stream frames/finished, single", "RETURN [1]", "begin 1 1", "rows 0 [1]", finished(0, false), "end 1")
		check("Stream frames/finished, error retracts the statement", "RETURN 1; THROW 'no'; RETURN 3", "begin 3 1", "value 0 1", finished(0, true),
			finished(1, true)+" ERR -32006 Thrown An error occurred: no", "value 2 3", finished(2, true), "end 3")
		t.Run("Stream frames/finished, type live or kill/"+d.name, func(t *testing.T) {
			d.server.t, d.socket.t = t, t
			got := d.frames(value.Str("s"), "LIVE SELECT * FROM t", value.None)
			if len(got) != 4 || got[2] != "finished 0 "+q+"live"+q+" true" {
				t.Errorf("got %v", got)
			}
			id := regexp.MustCompile(`[0-9a-f-]{36}`).FindString(got[1])
			if got := d.frames(value.Str("s"), "KILL u'"+id+"'", value.None); len(got) != 4 || got[2] != "finished 0 "+q+"kill"+q+" true" {
				t.Errorf("got %v", got)
			}
		})
		check("Stream frames/end, results counts finished frames", "", "begin 0 1", "end 0")
		check("query_stream rules/a failure before execution: parse error", "SELECT FROM", "ERR -32000 Validation "+parseErrorText)
		t.Run("query_stream rules/a request with txn runs in that transaction/"+d.name, func(t *testing.T) {
			d.server.t, d.socket.t = t, t
			tx := field(d.call(call("begin")...), "result")
			if got := d.frames(value.Int(1), "CREATE t:99 RETURN VALUE n", tx); got[len(got)-1] != "end 1" {
				t.Error(got)
			}
			if got := d.said("query", d.call(call("query", value.Str("RETURN (SELECT VALUE id FROM t:99)"))...)); got != "[]" {
				t.Errorf("seen outside: %s", got)
			}
			d.call(call("commit", tx)...)
			if got := d.said("query", d.call(call("query", value.Str("RETURN array::len(SELECT VALUE id FROM t:99)"))...)); got != "1" {
				t.Errorf("after the commit: %s", got)
			}
			if got := d.frames(value.Int(1), "RETURN 1", tx); got[0] != "ERR -32000 NotFound/Transaction Transaction not found" {
				t.Error(got)
			}
		})
		t.Run("Streaming, query_cancel, Ended with error/"+d.name, func(t *testing.T) { d.cancelled(t) })
	}
}

// parseErrorText is what a text without an end is answered with.
const parseErrorText = "Parse error: Unexpected end of file, expected FROM\n --> [1:11]\n  |\n1 | SELECT FROM\n  |           ^\n"

// cancelled plays the refusals of streams and the end of one by query_cancel.
func (d *rpcDoor) cancelled(t *testing.T) {
	d.server.t, d.socket.t = t, t
	begin := func(id value.Value) {
		t.Helper()
		d.send(append(call("query_stream", value.Str("SLEEP 1h")), value.Field{Name: "id", Value: id})...)
		if v := d.receive(); field(field(v, "result"), "stream").Str() != "begin" {
			t.Fatalf("got %s", v.Text())
		}
	}
	begin(value.Str("1"))
	if got := d.frames(value.Str("1"), "RETURN 1", value.None); got[0] != "ERR -32000 Validation A streaming query with this request id is already in progress" {
		t.Errorf("the same id: %v", got)
	}
	begin(value.Int(1)) // an id of another type is another id
	if got := d.frames(value.Str("2"), "RETURN 1", value.None); got[0] != "ERR -32000 Internal Too many concurrent streaming queries" {
		t.Errorf("one too many: %v", got)
	}
	if got := d.said("", d.call(call("query_cancel", value.Str("nobody"))...)); got != "ERR -32000 Validation No streaming query with this request id is in progress" {
		t.Errorf("an unknown id: %s", got)
	}
	for _, id := range []value.Value{value.Str("1"), value.Int(1)} {
		d.send(append(call("query_cancel", id), value.Field{Name: "id", Value: value.Str("c")})...)
		answered, ended := false, false
		for !answered || !ended {
			v := d.receive()
			if value.Compare(field(v, "id"), value.Str("c")) == 0 {
				answered = field(v, "result").IsNull() && field(v, "error").IsNone()
				continue
			}
			r := field(v, "result")
			ended = field(r, "stream").Str() == "end" && value.Compare(field(v, "id"), id) == 0 &&
				errorText(field(r, "error")) == "-32005 Query/Cancelled The streaming query was stopped before it completed" && field(r, "results").Int() == 0
			if !ended {
				t.Fatalf("got %s", v.Text())
			}
		}
	}
}

// The rows of "Errors" and "Limits" that need a server of their own.
func TestRPCLimitRows(t *testing.T) {
	t.Run("Limits/defaults", func(t *testing.T) {
		l := config.Default().Limits
		if l.WebSocketMessage != 128<<20 || l.RPCBody != 4<<20 || l.Transactions != 64 || l.Streams != 32 || l.SendTimeout != 30*time.Second {
			t.Errorf("got %+v", l)
		}
	})
	t.Run("Errors/begin over the per-connection limit", func(t *testing.T) {
		s := start(t, func(c *config.Config) { c.Limits.Transactions = 2 })
		for _, d := range s.socketDoors(t, "") {
			first := field(d.call(call("begin")...), "result")
			d.call(call("begin")...)
			if got := d.said("", d.call(call("begin")...)); got != "ERR -32000 Internal Too many open transactions" {
				t.Errorf("%s: %s", d.name, got)
			}
			d.call(call("cancel", first)...)
			if got := d.said("", d.call(call("begin")...)); strings.HasPrefix(got, "ERR") {
				t.Errorf("%s: the place of a finished one is not free: %s", d.name, got)
			}
		}
	})
	t.Run("Errors/timeout with --query-timeout", func(t *testing.T) {
		const text = "The query was not executed because it exceeded the timeout: 50ms"
		s := start(t, func(c *config.Config) { c.QueryTimeout = 50 * time.Millisecond })
		for _, d := range s.socketDoors(t, "") {
			if got := d.said("", d.call(call("query", value.Str("SLEEP 1h"))...)); got != "ERR -32004 Query/TimedOut "+text {
				t.Errorf("%s: %s", d.name, got)
			}
			if got := d.frames(value.Int(1), "SLEEP 1h", value.None); got[len(got)-1] != "end 0 ERR -32004 Query/TimedOut "+text {
				t.Errorf("%s: %v", d.name, got)
			}
		}
		k := s.upgradeAt("/sql", "", append(at(), "Accept: application/json")...)
		if got := k.say("SLEEP 1h"); got != text {
			t.Errorf("/sql: %s", got)
		}
	})
	t.Run("Errors/message over the WebSocket limit", func(t *testing.T) {
		s := start(t, func(c *config.Config) { c.Limits.WebSocketMessage = 1000 })
		for _, parts := range []int{1, 4} {
			k := s.dial("json")
			for i := range parts {
				op := byte(0)
				if i == 0 {
					op = opText
				}
				k.write(frame(op, i == parts-1, []byte(strings.Repeat("x", 1200/parts))))
			}
			for {
				op, b, err := k.read()
				if err != nil {
					t.Fatal(err)
				}
				if op == opClose {
					if got := fmt.Sprintf("%d %s", int(b[0])<<8|int(b[1]), b[2:]); got != "1009 Message too long" {
						t.Errorf("in %d frames: closed with %s", parts, got)
					}
					break
				}
			}
		}
	})
	t.Run("Errors/denying the query method denies streaming", func(t *testing.T) {
		for _, name := range []string{"query", "query_stream"} {
			s := start(t, func(c *config.Config) { c.DenyRPC = config.ParseNames(name) })
			d := s.doors()[1]
			if got := d.frames(value.Int(1), "RETURN 1", value.None); got[0] != "ERR -32602 NotAllowed/Method Method not allowed" {
				t.Errorf("without %s: %v", name, got)
			}
		}
	})
}
