package daemon_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

func TestMessageOverTheLimit(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSocketMessage = 1000 })
	k := s.dial("json")
	if got := k.say(`{"id":1,"method":"ping","x":"` + strings.Repeat("x", 900) + `"}`); got != `{"id":1,"result":null}` {
		t.Errorf("under the limit: %s", got)
	}
	k.write(frame(opText, true, []byte(strings.Repeat("x", 1001))))
	if code := k.closeCode(); code != 1009 {
		t.Errorf("closed with %d", code)
	}
	if got := s.dial("json").say(`{"id":1,"method":"ping"}`); got != `{"id":1,"result":null}` {
		t.Errorf("the server answers %s", got)
	}
}

func TestFragments(t *testing.T) {
	s := start(t)
	k := s.dial("json")
	k.write(frame(opText, false, []byte(`{"id":1,`)))
	k.write(frame(opPing, true, []byte("between")))
	k.write(frame(0, true, []byte(`"method":"ping"}`)))
	if op, b, err := k.read(); err != nil || op != opPong || string(b) != "between" {
		t.Errorf("pong: %d %q %v", op, b, err)
	}
	if _, b := k.message(); string(b) != `{"id":1,"result":null}` {
		t.Errorf("got %s", b)
	}
}

func TestWrongFrames(t *testing.T) {
	s := start(t)
	for _, tc := range []struct {
		name string
		in   []byte
	}{
		{"unmasked", []byte{0x81, 2, 'h', 'i'}},
		{"reserved bits", []byte{0xf1, 0x80, 0, 0, 0, 0}},
		{"unknown opcode", []byte{0x83, 0x80, 0, 0, 0, 0}},
		{"long control frame", append([]byte{0x89, 0x80 | 126, 1, 0, 0, 0, 0, 0}, make([]byte, 256)...)},
		{"continuation of nothing", frame(0, true, []byte("x"))},
		{"length of 2^63", binary.BigEndian.AppendUint64([]byte{0x82, 0x80 | 127}, 1<<63)},
	} {
		k := s.dial("json")
		k.write(append(tc.in, make([]byte, 16)...))
		if code := k.closeCode(); code != 0 && code != 1002 && code != 1009 {
			t.Errorf("%s: closed with %d", tc.name, code)
		}
	}
	if got := s.dial("json").say(`{"id":1,"method":"ping"}`); got != `{"id":1,"result":null}` {
		t.Errorf("the server answers %s", got)
	}
}

func TestClosingHandshake(t *testing.T) {
	s := start(t)
	k := s.dial("json")
	k.write(frame(opClose, true, []byte{0x03, 0xe8}))
	if code := k.closeCode(); code != 1000 {
		t.Errorf("closed with %d", code)
	}
}

// A client that reads only when it asks answers no pings; it stays. Its connection counts as open meanwhile, and serves it.
func TestSilentClientIsPingedAndStays(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSocketPing = 20 * time.Millisecond })
	for _, path := range []string{"/rpc", "/sql"} {
		k := s.upgradeAt(path, "json", rootAuth)
		for range 3 {
			if op, b, err := k.read(); err != nil || op != opPing {
				t.Fatalf("%s: got %d %q %v", path, op, b, err)
			}
		}
		ask := map[string]string{"/rpc": `{"id":1,"method":"version"}`, "/sql": "RETURN 1"}[path]
		k.write(frame(opText, true, []byte(ask)))
		op, b, err := k.read()
		for op == opPing && err == nil {
			op, b, err = k.read()
		}
		if err != nil || op != opText || !strings.Contains(string(b), `"result":`) {
			t.Errorf("%s: %d %q %v", path, op, b, err)
		}
	}
}

func TestAnsweringClientStays(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSocketPing = 20 * time.Millisecond })
	k := s.dial("json")
	for range 5 {
		op, b, err := k.read()
		if err != nil || op != opPing {
			t.Fatalf("got %d %v", op, err)
		}
		k.write(frame(opPong, true, b))
	}
}

// A client that sends and never reads is disconnected, and does not hold back others.
func TestClientThatNeverReads(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.Limits.SendTimeout = 200 * time.Millisecond
		c.Limits.WebSocketQueue = 64 << 10
	})
	k := s.dial("json")
	id := strings.Repeat("i", 60<<10)
	msg := frame(opText, true, []byte(`{"id":"`+id+`","method":"ping"}`))
	for range 10_000 {
		if _, err := k.conn.Write(msg); err != nil {
			break // the server has closed
		}
	}
	eventually(t, "the client is closed", func() bool { return strings.Contains(s.logs.String(), "the client does not read") })
	if got := s.dial("json").say(`{"id":1,"method":"ping"}`); got != `{"id":1,"result":null}` {
		t.Errorf("the server answers %s", got)
	}
}

func TestTooManySockets(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.WebSockets = 2 })
	first := s.dial("json")
	s.dial("json")
	if k := s.upgrade("json"); k.resp.StatusCode != 503 {
		t.Errorf("third: %s", k.resp.Status)
	}
	_ = first.conn.Close()
	eventually(t, "the place is free again", func() bool { return s.upgrade("json").resp.StatusCode == 101 })
}

func TestShutdownClosesWithGoingAway(t *testing.T) {
	s := start(t)
	a, b := s.dial("json"), s.dial("cbor")
	done := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		done <- s.Close(ctx)
	}()
	for _, k := range []*socket{a, b} {
		if code := k.closeCode(); code != 1001 {
			t.Errorf("closed with %d", code)
		}
		_ = k.conn.Close()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Requests that are sent without waiting are all answered, and those that change the session in their order.
func TestPipelining(t *testing.T) {
	s := start(t)
	k := s.dial("json")
	var all []byte
	for range 1000 {
		all = append(all, frame(opText, true, []byte(`{"id":1,"method":"ping"}`))...)
		all = append(all, frame(opText, true, []byte(`{"id":2,"method":"info"}`))...)
	}
	go func() { _, _ = k.conn.Write(all) }()
	seen := map[string]int{}
	for range 2000 {
		_, b := k.message()
		seen[string(b)]++
	}
	if seen[`{"id":1,"result":null}`] != 1000 || seen[`{"id":2,"result":null}`] != 1000 {
		t.Errorf("got %v", seen)
	}
}
