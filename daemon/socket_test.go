package daemon_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/nacredb/nacre/daemon/config"
)

// socket is a WebSocket client of bare frames, so that a test can also send wrong ones.
type socket struct {
	t    testing.TB
	conn net.Conn
	br   *bufio.Reader
	resp *http.Response
}

const (
	opText, opBinary, opClose, opPing, opPong = 1, 2, 8, 9, 10
)

// dial upgrades; protocol "" offers none.
func (s *server) dial(protocol string, headers ...string) *socket {
	s.t.Helper()
	k := s.upgrade(protocol, headers...)
	if k.resp.StatusCode != http.StatusSwitchingProtocols {
		s.t.Fatalf("upgrade: %s", k.resp.Status)
	}
	return k
}

func (s *server) upgrade(protocol string, headers ...string) *socket {
	s.t.Helper()
	return s.upgradeAt("/rpc", protocol, headers...)
}

func (s *server) upgradeAt(path, protocol string, headers ...string) *socket {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	h := []string{"GET " + path + " HTTP/1.1", "Host: " + s.Addr().String(), "Upgrade: websocket", "Connection: Upgrade",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	if protocol != "" {
		h = append(h, "Sec-WebSocket-Protocol: "+protocol)
	}
	if _, err := io.WriteString(conn, strings.Join(append(h, headers...), "\r\n")+"\r\n\r\n"); err != nil {
		s.t.Fatal(err)
	}
	k := &socket{t: s.t, conn: conn, br: bufio.NewReader(conn)}
	if k.resp, err = http.ReadResponse(k.br, nil); err != nil {
		s.t.Fatal(err)
	}
	return k
}

func frame(op byte, fin bool, payload []byte) []byte {
	if fin {
		op |= 0x80
	}
	b := []byte{op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...) // a mask of zeros
}

func (k *socket) write(b []byte) {
	k.t.Helper()
	if _, err := k.conn.Write(b); err != nil {
		k.t.Fatal(err)
	}
}

// read gives the next frame.
func (k *socket) read() (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(k.br, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	switch n {
	case 126:
		var b [2]byte
		if _, err := io.ReadFull(k.br, b[:]); err != nil {
			return 0, nil, err
		}
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		if _, err := io.ReadFull(k.br, b[:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(b[:])
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(k.br, payload)
	return head[0] & 0x0f, payload, err
}

// message gives the next message, answering pings on the way.
func (k *socket) message() (byte, []byte) {
	k.t.Helper()
	for {
		op, b, err := k.read()
		if err != nil {
			k.t.Fatal(err)
		}
		if op != opPing {
			return op, b
		}
		k.write(frame(opPong, true, b))
	}
}

// say sends a text message and gives the answer's text.
func (k *socket) say(text string) string {
	k.t.Helper()
	k.write(frame(opText, true, []byte(text)))
	op, b := k.message()
	if op != opText {
		k.t.Fatalf("answer to %.80s has opcode %d: %q", text, op, b)
	}
	return string(b)
}

// closeCode reads until the close frame and gives its code, or 0 where the connection just ended.
func (k *socket) closeCode() int {
	k.t.Helper()
	for {
		op, b, err := k.read()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				k.t.Fatal("the server did not close")
			}
			return 0
		}
		if op == opClose && len(b) >= 2 {
			return int(binary.BigEndian.Uint16(b))
		}
	}
}

func TestSubprotocols(t *testing.T) {
	s := start(t)
	for _, tc := range []struct {
		offer, chosen string
		op            byte
	}{
		{"cbor", "cbor", opBinary}, {"json", "json", opText}, {"", "", opText}, {"flatbuffers", "", opText}, {"json, cbor", "cbor", opBinary},
	} {
		k := s.dial(tc.offer)
		if got := k.resp.Header.Get("Sec-WebSocket-Protocol"); got != tc.chosen {
			t.Errorf("offer %q: got %q", tc.offer, got)
		}
		msg := []byte(`{"id":"1","method":"ping"}`)
		if tc.chosen == "cbor" {
			msg = []byte("\xa2\x62id\x611\x66method\x64ping")
		}
		k.write(frame(opText, true, msg)) // text or binary is taken for either format
		if op, b := k.message(); op != tc.op {
			t.Errorf("offer %q: answer with opcode %d: %q", tc.offer, op, b)
		}
	}
}

func TestExactBytesOverCBOR(t *testing.T) {
	s := start(t)
	k := s.dial("cbor")
	for _, tc := range []struct{ name, in, want string }{
		{"ping", "\xa2\x62id\x611\x66method\x64ping", "\xa2\x62id\x611\x66result\xc6\xf6"},
		{"version is a bare number", "\xa2\x62id\x611\x66method\x67version", "\xa2\x62id\x611\x66result\x653.3.1"},
		{"text ids come back as text", "\xa2\x62id\x61a\x66method\x64ping", "\xa2\x62id\x61a\x66result\xc6\xf6"},
		{"integer ids as integers", "\xa2\x62id\x18\x2a\x66method\x64ping", "\xa2\x62id\x18\x2a\x66result\xc6\xf6"},
		{"no id", "\xa1\x66method\x64ping", "\xa1\x66result\xc6\xf6"},
		{"sessions", "\xa1\x66method\x68sessions", "\xa1\x66result\x80"},
	} {
		k.write(frame(opBinary, true, []byte(tc.in)))
		if _, got := k.message(); string(got) != tc.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// Every row of the method table's column "message on bad params".
func TestParameterRules(t *testing.T) {
	s := start(t)
	k := s.dial("json")
	for _, tc := range []struct{ method, params, want string }{
		{"use", `["a"]`, "Expected (ns, db)"},
		{"use", `["a","b","c"]`, "Expected (ns, db)"},
		{"use", `[1,"b"]`, "Expected ns to be string, got Number(Int(1))"},
		{"signin", `[]`, "Expected (params:object)"},
		{"signin", `["x"]`, "Expected (params:object)"},
		{"signup", `[1]`, "Expected (params:object)"},
		{"authenticate", `[]`, "Expected (token:string)"},
		{"authenticate", `[1]`, "Expected (token:string)"},
		{"let", `[]`, "Expected (key:string, value:Value)"},
		{"let", `[1,2]`, "Expected (key:string, value:Value)"},
		{"set", `["a",1,2]`, "Expected (key:string, value:Value)"},
		{"unset", `[]`, "Expected (key)"},
		{"query", `[]`, "Expected (query:string, vars:object)"},
		{"query", `["RETURN 1",{},1]`, "Expected (query:string, vars:object)"},
		{"query", `[1]`, "Expected query to be string"},
		{"query", `["RETURN 1",1]`, "Expected vars to be object, got Some(Number(Int(1)))"},
		{"live", `[]`, "Expected (what, diff)"},
		{"kill", `[]`, "Expected (id)"},
		{"select", `[]`, "Expected (what:Value)"},
		{"select", `["a",1]`, "Expected (what:Value)"},
		{"delete", `[]`, "Expected (what:Value)"},
		{"create", `[]`, "Expected (what:Value, data:Value)"},
		{"upsert", `[]`, "Expected (what:Value, data:Value)"},
		{"merge", `[]`, "Expected (what:Value, data:Value)"},
		{"update", `[]`, "Expected (what, data)"},
		{"insert", `["a"]`, "Expected (what:Value, data:Value)"},
		{"insert_relation", `["a"]`, "Expected (what, data)"},
		{"patch", `[]`, "Expected (what:Value, data:Value, diff:Value)"},
		{"relate", `["a","b"]`, "Expected (from:Value, kind:Value, with:Value, data:Value)"},
		{"run", `[]`, "Expected (name:string, version:string, args:array)"},
		{"run", `[1]`, "Expected name to be string, got Number(Int(1))"},
		{"run", `["math::max",1]`, "Expected version to be string, got Some(Number(Int(1)))"},
		{"run", `["math::max",null,1]`, "Expected args to be array, got Some(Number(Int(1)))"},
		{"run", `["ml::x"]`, "Expected version to be set for model function"},
		{"version", `[1]`, "Expected 0 arguments"},
		{"commit", `[]`, "Expected transaction UUID"},
		{"cancel", `["x"]`, "Expected transaction UUID"},
		{"attach", `[]`, "Expected a session ID"},
		{"detach", `[]`, "Expected a session ID"},
	} {
		var got struct {
			Error struct {
				Code          int
				Kind, Message string
				Details       struct{ Kind string }
			}
		}
		answer := k.say(`{"id":1,"method":"` + tc.method + `","params":` + tc.params + `}`)
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatal(err)
		}
		e := got.Error
		if e.Message != tc.want || e.Code != -32603 || e.Kind != "Validation" || e.Details.Kind != "InvalidParams" {
			t.Errorf("%s %s: got %s", tc.method, tc.params, answer)
		}
	}
}

func TestEnvelopeErrors(t *testing.T) {
	s := start(t)
	k := s.dial("json")
	for _, tc := range []struct{ name, in, want string }{
		{"unparsable", `{`, `{"error":{"cause":null,"code":-32700,"details":{"kind":"Parse"},"kind":"Validation","message":"Parse error"}}`},
		{"broken UTF-8", "{\"id\":1,\"method\":\"pi\xffng\"}", `{"error":{"cause":null,"code":-32700,"details":{"kind":"Parse"},"kind":"Validation","message":"Parse error"}}`},
		{"wrong envelope", `{"id":7}`, `{"error":{"cause":null,"code":-32600,"details":{"kind":"InvalidRequest"},"kind":"Validation","message":"Invalid request"},"id":7}`},
		{"unknown method", `{"id":7,"method":"Ping"}`,
			`{"error":{"cause":null,"code":-32601,"details":{"details":{"name":"unknown"},"kind":"Method"},"kind":"NotFound","message":"Method not found"},"id":7}`},
		{"unknown session", `{"id":7,"method":"use","params":["a","b"],"session":"00000000-0000-4000-8000-000000000001"}`,
			`{"error":{"cause":null,"code":-32000,"details":{"details":{"id":"00000000-0000-4000-8000-000000000001"},"kind":"Session"},"kind":"NotFound","message":"Session not found: 00000000-0000-4000-8000-000000000001"},"id":7,"session":"00000000-0000-4000-8000-000000000001"}`},
		{"unknown transaction", `{"id":7,"method":"commit","params":["00000000-0000-4000-8000-000000000001"]}`,
			`{"error":{"cause":null,"code":-32000,"details":{"kind":"Transaction"},"kind":"NotFound","message":"Transaction not found"},"id":7}`},
		{"deep nesting", `{"id":1,"method":"query","params":` + strings.Repeat("[", 100000), `{"error":{"cause":null,"code":-32700,"details":{"kind":"Parse"},"kind":"Validation","message":"Parse error"}}`},
	} {
		if got := k.say(tc.in); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestBombsOverCBOR(t *testing.T) {
	s := start(t)
	k := s.dial("cbor")
	for _, tc := range []struct{ name, in string }{
		{"declared length of 2^63", "\xa1\x66method\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"},
		{"declared text of 2^60", "\x7b\x10\x00\x00\x00\x00\x00\x00\x00"},
		{"nested arrays", strings.Repeat("\x81", 1<<20)},
		{"nested maps", strings.Repeat("\xa1\x61a", 1<<18)},
		{"nested tags", strings.Repeat("\xc6", 1<<20)},
		{"nested indefinite arrays", strings.Repeat("\x9f", 1<<20)},
		{"truncated", "\xa2\x62id\x611\x66meth"},
		{"text frame of JSON", `{"id":1,"method":"ping"}`},
		{"broken UTF-8 in a key", "\xa1\x62\xff\xfe\x01"},
	} {
		k.write(frame(opBinary, true, []byte(tc.in)))
		_, b := k.message()
		var m struct {
			Error struct {
				Code int `cbor:"code"`
			} `cbor:"error"`
		}
		if err := cbor.Unmarshal(b, &m); err != nil || m.Error.Code != -32700 {
			t.Errorf("%s: got %q, %v", tc.name, b, err)
		}
	}
}

func TestAttachedSessions(t *testing.T) {
	s := start(t)
	k := s.dial("json")
	const id = `"session":"00000000-0000-4000-8000-00000000000a"`
	for _, tc := range []struct{ in, want string }{
		{`{"id":1,"method":"attach",` + id + `}`, `{"id":1,"result":null,` + id + `}`},
		{`{"id":2,"method":"sessions"}`, `{"id":2,"result":["00000000-0000-4000-8000-00000000000a"]}`},
		{`{"id":3,"method":"attach",` + id + `}`,
			`{"error":{"cause":null,"code":-32000,"details":{"details":{"id":"00000000-0000-4000-8000-00000000000a"},"kind":"Session"},"kind":"AlreadyExists","message":"Session already exists: 00000000-0000-4000-8000-00000000000a"},"id":3,` + id + `}`},
		{`{"id":4,"method":"detach",` + id + `}`, `{"id":4,"result":null,` + id + `}`},
		{`{"id":5,"method":"detach",` + id + `}`, `{"id":5,"result":null,` + id + `}`},
		{`{"id":6,"method":"sessions"}`, `{"id":6,"result":[]}`},
	} {
		if got := k.say(tc.in); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
	other := s.dial("json")
	if got := other.say(`{"id":1,"method":"sessions"}`); got != `{"id":1,"result":[]}` {
		t.Errorf("another connection sees %s", got)
	}
}

func TestUnusableConnectionID(t *testing.T) {
	s := start(t)
	for _, h := range []string{"Surreal-Id: nope", "X-Request-Id: nope"} {
		if k := s.upgrade("json", h); k.resp.StatusCode != 400 {
			t.Errorf("%s: %d", h, k.resp.StatusCode)
		}
	}
	s.dial("json", "Surreal-Id: 00000000-0000-4000-8000-00000000000a", "X-Request-Id: nope")
}

// Connection id: surreal-id, else x-request-id, is a UUID that no other open connection has; $session shows it.
func TestConnectionID(t *testing.T) {
	s := start(t)
	const id, other = "01a1ff8e-6163-7761-a50f-13f3db900459", "01a1ff8e-6163-7761-a50f-13f3db900460"
	k := s.dial("json", "surreal-id: "+id, rootAuth)
	if got := k.say(`{"id":1,"method":"query","params":["RETURN [session::id(), $session.id]"]}`); strings.Count(got, id) != 2 {
		t.Errorf("the id is not shown: %s", got)
	}
	for _, tc := range []struct {
		name, header string
		status       int
	}{
		{"in use", "service-id: " + id, 400},
		{"in use, in capitals", "surreal-id: " + strings.ToUpper(id), 400},
		{"in use, as request id", "x-request-id: " + id, 400},
		{"no uuid", "surreal-id: me", 400},
		{"another", "surreal-id: " + other, 101},
	} {
		if got := s.upgrade("json", tc.header, rootAuth); got.resp.StatusCode != tc.status {
			t.Errorf("%s: %s", tc.name, got.resp.Status)
		}
	}
	web := s.dial("json", "Origin: https://app.example", rootAuth)
	web.say(`{"id":1,"method":"attach","session":"` + other + `"}`)
	web.say(`{"id":2,"method":"signin","params":[{"user":"root","pass":"root"}],"session":"` + other + `"}`)
	for _, session := range []string{`null`, `"` + other + `"`} {
		got := web.say(`{"id":3,"method":"query","params":["RETURN [session::ip(), session::origin()]"],"session":` + session + `}`)
		if !strings.Contains(got, `["127.0.0.1","https://app.example"]`) {
			t.Errorf("session %s: %s", session, got)
		}
	}
	_ = k.conn.Close()
	eventually(t, "the id is free again", func() bool { return s.upgrade("json", "surreal-id: "+id).resp.StatusCode == 101 })
}

// Where authentication is off, leaving an identity leads back to root.
func TestUnauthenticatedStaysRoot(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Unauthenticated = true })
	k := s.dial("json")
	for _, m := range []string{"invalidate", "reset"} {
		k.say(`{"id":1,"method":"` + m + `"}`)
		if got := k.say(`{"id":2,"method":"query","params":["INFO FOR ROOT"]}`); !strings.Contains(got, `"status":"OK"`) {
			t.Errorf("after %s: %s", m, got)
		}
	}
}
