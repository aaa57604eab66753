package daemon_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// rpcDoor is one way to call methods: a transport and a format.
type rpcDoor struct {
	name   string
	format wire.Format
	socket *socket // nil: HTTP
	server *server
	in     value.Value // the attached session of HTTP
	token  value.Value // of root
}

// doors opens every way into s.
func (s *server) doors() []*rpcDoor {
	return []*rpcDoor{
		{name: "WS CBOR", format: wire.CBOR, socket: s.dial("cbor"), server: s},
		{name: "WS JSON", format: wire.JSON, socket: s.dial("json"), server: s},
		{name: "HTTP CBOR", format: wire.CBOR, server: s, in: value.UUIDOf(value.UUID{0xcb, 6: 0x40, 8: 0x80})},
		{name: "HTTP JSON", format: wire.JSON, server: s, in: value.UUIDOf(value.UUID{0x15, 6: 0x40, 8: 0x80})},
	}
}

// send sends a request; over HTTP the answer is there at once.
func (d *rpcDoor) send(fields ...value.Field) (answer []byte) {
	s := d.server
	s.t.Helper()
	if d.socket == nil && !d.in.IsNone() {
		fields = append(fields, value.Field{Name: "session", Value: d.in})
	}
	b, err := d.format.Append(nil, value.ObjectOf(value.NewObject(fields...)))
	if err != nil {
		s.t.Fatal(err)
	}
	if d.socket == nil {
		r := s.do("POST", "/rpc", string(b), "Content-Type: "+d.format.ContentType(), "Accept: "+d.format.ContentType())
		if r.StatusCode != 200 {
			s.t.Fatalf("%s: %s", r.Status, r.body)
		}
		return []byte(r.body)
	}
	op := byte(opText)
	if d.format == wire.CBOR {
		op = opBinary
	}
	d.socket.write(frame(op, true, b))
	return nil
}

// receive gives the next message of a socket.
func (d *rpcDoor) receive() value.Value {
	d.server.t.Helper()
	_, b := d.socket.message()
	return d.decode(b)
}

func (d *rpcDoor) decode(b []byte) value.Value {
	d.server.t.Helper()
	v, err := d.format.Decode(b, value.DecodeLimits{})
	if err != nil {
		d.server.t.Fatalf("%q: %v", b, err)
	}
	return v
}

// call sends a request and gives the whole answer.
func (d *rpcDoor) call(fields ...value.Field) value.Value {
	d.server.t.Helper()
	b := d.send(append(fields, value.Field{Name: "id", Value: value.Int(7)})...)
	if b == nil {
		return d.receive()
	}
	return d.decode(b)
}

// text is a value in the form in which it is compared: that of the door's format.
func (d *rpcDoor) text(v value.Value) string {
	if d.format == wire.JSON {
		return string(value.AppendJSON(nil, v))
	}
	return v.Text()
}

// said is an answer as a text: the result, the results of the statements of a query, or ERR code kind/details message.
func (d *rpcDoor) said(method string, v value.Value) string {
	if e := field(v, "error"); !e.IsNone() {
		return "ERR " + errorText(e)
	}
	result := field(v, "result")
	if method != "query" {
		return d.text(result)
	}
	var all []string
	for _, s := range result.Elems() {
		text := d.text(field(s, "result"))
		if field(s, "status").Str() == "ERR" {
			text = "ERR " + field(s, "kind").Str() + " " + field(s, "result").Str()
		}
		all = append(all, text)
	}
	return strings.Join(all, " ;; ")
}

// errorText is code, kind, the kinds of details, and message.
func errorText(e value.Value) string {
	kind := field(e, "kind").Str()
	for d := field(e, "details"); d.Kind() == value.KindObject; d = field(d, "details") {
		if k := field(d, "kind"); k.Kind() == value.KindString {
			kind += "/" + k.Str()
		}
	}
	return fmt.Sprintf("%d %s %s", field(e, "code").Int(), kind, field(e, "message").Str())
}

// field is a field of an object, or NONE.
func field(v value.Value, name string) value.Value {
	if v.Kind() != value.KindObject {
		return value.None
	}
	f, _ := v.Object().Get(name)
	return f
}

// step is one call of a row and what it answers.
type step struct {
	method, params string // params in the language's text; {name} stands for what was saved, `table x` for a table
	want           string // a value in the language's text, "ERR code kind message", or "MATCH expression"
	save           string // the result goes under this name
	txn            string // name of a saved transaction that the call runs in
}

// rpcRow is a line of the interface document, by its key.
type rpcRow struct {
	key   string
	only  string // the doors that it is for: a prefix of their names
	setup string // statements before, as root
	steps []step
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// play runs a row through a door, in a place of its own.
func (d *rpcDoor) play(t *testing.T, r *rpcRow, place string) {
	t.Helper()
	d.server.t = t
	if d.socket != nil {
		d.socket.t = t
		if err := d.socket.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	saved := map[string]value.Value{}
	prologue := []step{
		{method: "reset"}, {method: "authenticate", params: d.root()}, {method: "use", params: "'" + place + "', '" + place + "'"},
	}
	if d.socket == nil {
		prologue = append([]step{{method: "detach"}, {method: "attach"}}, prologue[1:]...)
	}
	if r.setup != "" {
		prologue = append(prologue, step{method: "query", params: value.Str(r.setup).Text(), want: "SETUP"})
	}
	saved["place"], saved["root"] = value.Str(place), d.token
	for _, s := range append(prologue, r.steps...) {
		d.step(t, &s, saved)
	}
}

// root is a token of root: checking a password takes its time, so one does for all rows.
func (d *rpcDoor) root() string {
	d.server.t.Helper()
	if d.token.IsNone() {
		in := d.in
		d.in = value.None
		answer := d.call(value.Field{Name: "method", Value: value.Str("signin")}, value.Field{Name: "params", Value: value.Array(value.ObjectOf(value.NewObject(
			value.Field{Name: "user", Value: value.Str("root")}, value.Field{Name: "pass", Value: value.Str("root")})))})
		d.in, d.token = in, field(answer, "result")
	}
	return d.token.Text()
}

func (d *rpcDoor) step(t *testing.T, s *step, saved map[string]value.Value) {
	t.Helper()
	fill := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(m string) string {
			if v, ok := saved[m[1:len(m)-1]]; ok {
				return v.Text()
			}
			return m
		})
	}
	fields := []value.Field{{Name: "method", Value: value.Str(s.method)}}
	if s.params != "" {
		v, err := rpc.Constant("["+fill(s.params)+"]", nil)
		if err != nil {
			t.Fatalf("%s: %v", s.params, err)
		}
		elems := v.Elems()
		for i, e := range elems {
			if name, ok := strings.CutPrefix(e.Text(), "'table "); ok {
				elems[i] = value.TableOf(strings.TrimSuffix(name, "'"))
			}
		}
		fields = append(fields, value.Field{Name: "params", Value: value.ArrayOf(elems)})
	}
	if s.txn != "" {
		fields = append(fields, value.Field{Name: "txn", Value: saved[s.txn]})
	}
	answer := d.call(fields...)
	if s.save != "" {
		saved[s.save] = field(answer, "result")
	}
	got := generatedKey.ReplaceAllString(d.said(s.method, answer), ":generated")
	if want := fill(s.want); !d.matches(t, got, want) {
		t.Errorf("%s [%s]:\ngot  %s\nwant %s", s.method, s.params, got, want)
	}
}

var generatedKey = regexp.MustCompile(`:[a-z0-9]{20}\b`)

// matches compares an answer with what a row wants.
func (d *rpcDoor) matches(t *testing.T, got, want string) bool {
	t.Helper()
	if pattern, ok := strings.CutPrefix(want, "MATCH "); ok {
		return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(got)
	}
	switch {
	case want == "":
		return !strings.HasPrefix(got, "ERR")
	case want == "SETUP":
		return !strings.Contains(got, "ERR")
	case strings.HasPrefix(want, "ERR"):
		return got == want
	}
	if d.format != wire.JSON {
		return got == want
	}
	// What the value is in JSON.
	parts := strings.Split(want, " ;; ")
	for i, p := range parts {
		if strings.HasPrefix(p, "ERR") {
			continue
		}
		v, err := rpc.Constant(p, nil)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		parts[i] = string(value.AppendJSON(nil, v))
	}
	return sameJSON(got, strings.Join(parts, " ;; "))
}

// sameJSON compares texts of JSON values without regard to spaces.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}
