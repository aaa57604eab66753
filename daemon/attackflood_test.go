package daemon_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/nacredb/nacre/daemon/config"
)

// peak runs f and gives what the heap had grown by, at most, in the meantime.
func peak(f func()) (grown uint64) {
	before := measure().heap
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapAlloc))
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return most.Load() - min(before, most.Load())
}

// patient gives the server more time to answer: long messages take it under the race detector.
func (k *socket) patient() *socket {
	k.t.Helper()
	if err := k.conn.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		k.t.Fatal(err)
	}
	return k
}

// A message of an anonymous client takes little memory, be it long or made of many small values.
func TestMessagesOfNobodyAreSmall(t *testing.T) {
	s := start(t)
	before := measure()
	for _, tc := range []struct {
		name, protocol, head, unit, tail string
		units                            int
	}{
		{"ints in JSON", "json", `{"id":1,"method":"ping","params":[`, "0,", `0]}`, 1_900_000},
		{"objects in JSON", "json", `{"id":1,"method":"ping","params":[`, "{},", `0]}`, 1_300_000},
		{"arrays in JSON", "json", `{"id":1,"method":"ping","params":[`, "[0],", `0]}`, 1_000_000},
		{"fields in JSON", "json", `{"id":1,"method":"ping","params":[{`, `"":0,`, `"":0}]}`, 800_000},
		{"ints in CBOR", "cbor", "\xa3\x62id\x01\x66method\x64ping\x66params\x9f", "\x01", "\xff", 4_000_000},
		{"maps in CBOR", "cbor", "\xa3\x62id\x01\x66method\x64ping\x66params\x9f", "\xa0", "\xff", 4_000_000},
		{"arrays in CBOR", "cbor", "\xa3\x62id\x01\x66method\x64ping\x66params\x9f", "\x80", "\xff", 4_000_000},
		{"records in CBOR", "cbor", "\xa3\x62id\x01\x66method\x64ping\x66params\x9f", "\xc8\x82\x61t\x01", "\xff", 800_000},
		{"points in CBOR", "cbor", "\xa3\x62id\x01\x66method\x64ping\x66params\x81\xd8\x5b\x9f", "\xd8\x58\x82\x01\x01", "\xff", 800_000},
	} {
		k := s.dial(tc.protocol).patient()
		op := byte(opText)
		if tc.protocol == "cbor" {
			op = opBinary
		}
		body := []byte(tc.head + strings.Repeat(tc.unit, tc.units) + tc.tail)
		framed := frame(op, true, body)
		grown := peak(func() {
			k.write(framed)
			if _, b := k.message(); !bytes.Contains(b, []byte("Parse error")) {
				t.Errorf("%s: %.100q", tc.name, b)
			}
		})
		if grown > 96<<20 {
			t.Errorf("%s: %d MiB", tc.name, grown>>20)
		}
		media := "application/" + tc.protocol
		grown = peak(func() {
			if r := s.send("POST", "/rpc", bytes.NewReader(body), "Content-Type: "+media, "Accept: "+media); r.StatusCode != 400 {
				t.Errorf("%s over HTTP: %d %.100q", tc.name, r.StatusCode, r.body)
			}
		})
		if grown > 96<<20 {
			t.Errorf("%s over HTTP: %d MiB", tc.name, grown>>20)
		}
		_ = k.conn.Close()
	}
	k := s.dial("json")
	k.write(frame(opText, true, []byte(`{"id":1,"method":"ping","params":["`+strings.Repeat("x", 5<<20)+`"]}`)))
	if code := k.closeCode(); code != 1009 {
		t.Errorf("a message of 5 MiB of nobody: closed with %d", code)
	}
	s.unharmed(before)
}

// A text of an anonymous client gets a short answer, even with many statements.
func TestAnswersToNobodyAreShort(t *testing.T) {
	s := start(t)
	before := measure()
	for _, unit := range []string{"1;", "$a;", "{};", "RETURN 1;", ";", "'x';"} {
		text := strings.Repeat(unit, 1<<20/len(unit))
		var r reply
		grown := peak(func() { r = s.do("POST", "/sql", text) })
		if len(r.body) > 300<<10 || grown > 32<<20 || !strings.Contains(r.body, "Anonymous access not allowed") {
			t.Errorf("%s: %d, %d KiB, %d MiB: %.100s", unit, r.StatusCode, len(r.body)>>10, grown>>20, r.body)
		}
		k := s.upgradeAt("/sql", "")
		if got := k.say(text); !strings.Contains(got, "Anonymous access not allowed") || len(got) > 300<<10 {
			t.Errorf("%s: %d KiB: %.100s", unit, len(got)>>10, got)
		}
		_ = k.conn.Close()
	}
	if r := s.do("POST", "/sql", "RETURN 1; RETURN 2"); r.StatusCode != 200 || strings.Count(r.body, "Anonymous access not allowed") != 2 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	s.unharmed(before)
}

// Who has an identity may send more, in one message and in values; the wide limits come with the sign-in, also with that of
// an attached session.
func TestMessagesOfSomebodyMayBeLarge(t *testing.T) {
	s := start(t)
	long := `{"id":2,"method":"query","params":["RETURN $x.len()",{"x":[` + strings.Repeat("1,", 3_000_000) + `1]}]}`
	const id = `,"session":"00000000-0000-4000-8000-00000000000a"`
	for name, first := range map[string][]string{
		"signed in":                      {`{"id":1,"method":"signin","params":[{"user":"root","pass":"root"}]}`},
		"an attached session, signed in": {`{"id":1,"method":"attach"` + id + `}`, `{"id":1,"method":"signin","params":[{"user":"root","pass":"root"}]` + id + `}`},
	} {
		k := s.dial("json").patient()
		for _, m := range first {
			k.say(m)
		}
		text := long
		if len(first) > 1 {
			text = long[:len(long)-1] + id + "}"
		}
		if got := k.say(text); !strings.Contains(got, "3000001") {
			t.Errorf("%s: %.200s", name, got)
		}
		over := `{"id":2,"method":"ping","params":[` + strings.Repeat("1,", 4<<20) + `1]}`
		if got := k.say(over); !strings.Contains(got, "-32700") {
			t.Errorf("%s: more than 4 Mi values: %.200s", name, got)
		}
		_ = k.conn.Close()
	}
}

// The variables of a session share one limit, a small one before a sign-in.
func TestVariablesDoNotPileUp(t *testing.T) {
	s := start(t)
	before := measure()
	k := s.dial("json").patient()
	refused := 0
	for i := range 200 {
		if got := k.say(fmt.Sprintf(`{"id":1,"method":"let","params":["v%d","%s"]}`, i, strings.Repeat("x", 10_000))); strings.Contains(got, "take too much memory") {
			refused++
		}
	}
	if refused < 190 {
		t.Errorf("nobody keeps %d texts of 10 kB", 200-refused)
	}
	if got := k.say(`{"id":1,"method":"let","params":["v0","short"]}`); strings.Contains(got, "error") {
		t.Errorf("a smaller one in its place: %s", got)
	}
	k.root()
	full := false
	for i := 0; i < 100 && !full; i++ {
		full = strings.Contains(k.say(fmt.Sprintf(`{"id":1,"method":"let","params":["w%d","%s"]}`, i, strings.Repeat("x", 1<<20))), "take too much memory")
	}
	if !full {
		t.Error("root keeps 100 MiB")
	}
	if got := k.say(`{"id":1,"method":"query","params":["RETURN [$v0, $w1.len()]"]}`); !strings.Contains(got, `["short",1048576]`) {
		t.Errorf("what is kept: %.200s", got)
	}
	_ = k.conn.Close()
	s.unharmed(before)
}

// What may hang on a connection is counted: transactions, attached sessions, streams, live queries.
func TestWhatHangsOnAConnectionIsCounted(t *testing.T) {
	s := start(t)
	setup(t, s, "DEFINE TABLE t")
	before := measure()
	k := s.dial("json", rootAuth, "Service-NS: test", "Service-DB: test")
	count := func(name, refusal string, limit int, call func(i int) string) {
		for i := range limit + 1 {
			got := call(i)
			if refused := strings.Contains(got, refusal); refused != (i >= limit) {
				t.Fatalf("%s %d: %.300s", name, i+1, got)
			}
		}
	}
	count("transaction", "Too many open transactions", 64, func(int) string { return k.say(`{"id":1,"method":"begin"}`) })
	count("attached session", "Too many attached sessions", 256, func(i int) string {
		return k.say(fmt.Sprintf(`{"id":1,"method":"attach","session":"00000000-0000-4000-8000-%012d"}`, i))
	})
	count("live query", "Too many live queries", 1000, func(int) string { return k.say(`{"id":1,"method":"live","params":["t"]}`) })
	fresh := s.dial("json", rootAuth, "Service-NS: test", "Service-DB: test")
	if got := fresh.say(`{"id":1,"method":"query","params":["BEGIN;` + strings.Repeat("LIVE SELECT * FROM t;", 1001) + `COMMIT"]}`); !strings.Contains(got, "Too many live queries") {
		t.Errorf("live queries of one statement: %.300s", got)
	}
	for i := range 33 {
		fresh.write(frame(opText, true, fmt.Appendf(nil, `{"id":%d,"method":"query_stream","params":["SLEEP 20s"]}`, i+10)))
	}
	for refused := false; !refused; {
		_, b := fresh.message()
		refused = strings.Contains(string(b), "Too many concurrent streaming queries")
		if strings.Contains(string(b), `"end"`) {
			t.Fatalf("no stream was refused: %s", b)
		}
	}
	_, _ = k.conn.Close(), fresh.conn.Close()
	eventually(t, "nothing hangs on connections that are gone", func() bool {
		return strings.Contains(s.do("GET", "/metrics", "", rootAuth).body, "surrealdb_live_query_active 0")
	})
	s.unharmed(before)
}

// Anonymous sessions do not keep other clients from attaching theirs over HTTP.
func TestFloodOfAttachedSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("attaches ten thousand sessions")
	}
	s := start(t)
	const mine = "00000000-0000-4000-8000-aaaaaaaaaaaa"
	attach := func(id string) reply {
		return s.do("POST", "/rpc", `{"id":1,"method":"attach","session":"`+id+`"}`, "Content-Type: application/json")
	}
	attach(mine)
	s.do("POST", "/rpc", `{"id":1,"method":"signin","params":[{"user":"root","pass":"root"}],"session":"`+mine+`"}`, "Content-Type: application/json")
	for i := range 10_050 {
		if r := attach(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)); strings.Contains(r.body, "error") {
			t.Fatalf("%d: %s", i, r.body)
		}
	}
	if r := s.do("POST", "/rpc", `{"id":1,"method":"query","params":["RETURN 'kept'"],"session":"`+mine+`"}`, "Content-Type: application/json"); !strings.Contains(r.body, "kept") {
		t.Errorf("a session that somebody has signed in to: %s", r.body)
	}
}

// A small body that unpacks to a large one is cut off at the limit of the route.
func TestCompressedBombs(t *testing.T) {
	s := start(t)
	before := measure()
	zeros := func(w io.WriteCloser) {
		chunk := bytes.Repeat([]byte(" "), 1<<20)
		for range 256 {
			if _, err := w.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var gz, zs, twice bytes.Buffer
	zeros(gzip.NewWriter(&gz))
	enc, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	zeros(enc)
	outer := gzip.NewWriter(&twice)
	if _, err := outer.Write(gz.Bytes()); err != nil || outer.Close() != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		encoding string
		body     []byte
		status   int
	}{{"gzip", gz.Bytes(), 413}, {"zstd", zs.Bytes(), 413}, {"gzip", twice.Bytes(), 400}, {"gzip, gzip", twice.Bytes(), 415}, {"br", gz.Bytes(), 415}, {"gzip", []byte("\x1f\x8b"), 400}} {
		for _, path := range []string{"/sql", "/rpc", "/signin", "/signup", "/key/t", "/export"} {
			if len(tc.body) > 1<<10 && strings.HasPrefix(path, "/sign") && tc.status == 400 {
				continue // over the limit as it is
			}
			grown := peak(func() {
				r := s.send("POST", path, bytes.NewReader(tc.body), at("Content-Encoding: "+tc.encoding, "Content-Type: application/json")...)
				if r.StatusCode != tc.status && !(tc.status == 400 && r.StatusCode == 413) {
					t.Errorf("%s of %s: %d %.200s", path, tc.encoding, r.StatusCode, r.body)
				}
			})
			if grown > 64<<20 {
				t.Errorf("%s of %s: %d MiB", path, tc.encoding, grown>>20)
			}
		}
	}
	s.unharmed(before)
}

// Every cap of the interface document, as it is by default: a byte more is 413.
func TestDefaultBodyCaps(t *testing.T) {
	s := start(t)
	setup(t, s, `DEFINE API "/in" FOR post THEN { { body: 1 } }`)
	for _, tc := range []struct {
		path  string
		limit int
	}{{"/sql", 1 << 20}, {"/rpc", 4 << 20}, {"/key/t", 16 << 10}, {"/key/t/1", 16 << 10}, {"/signin", 1 << 10}, {"/signup", 1 << 10}, {"/api/test/test/in", 4 << 20}} {
		for _, over := range []int{0, 1} {
			body := strings.Repeat(" ", tc.limit+over)
			for _, in := range []io.Reader{strings.NewReader(body), io.MultiReader(strings.NewReader(body))} { // with a length, and in chunks
				r := s.send("POST", tc.path, in, at("Content-Type: application/json")...)
				if (r.StatusCode == 413) != (over == 1) {
					t.Errorf("%s: %d bytes: %d %.100s", tc.path, len(body), r.StatusCode, r.body)
				}
				if r.StatusCode == 413 && r.body != "length limit exceeded" {
					t.Errorf("%s: %q", tc.path, r.body)
				}
			}
		}
	}
	for _, path := range []string{"/import", "/ml/import"} {
		resp, _ := s.raw("POST " + path + " HTTP/1.1\r\nHost: x\r\n" + rootAuth + "\r\nContent-Length: 4294967297\r\n\r\n")
		if resp == nil || resp.StatusCode != 413 && resp.StatusCode != 404 {
			t.Errorf("%s: %v", path, resp)
		}
	}
}

// Clients that stop halfway, or send and do not read, are disconnected; other clients do not notice.
func TestSlowClients(t *testing.T) {
	s := start(t, func(c *config.Config) {
		// So long that a busy machine, which may keep a ready client waiting for some 200 ms, is not a slow client.
		c.Limits.HeaderTimeout, c.Limits.BodyWindow = 2*time.Second, 2*time.Second
		c.Limits.SendTimeout, c.Limits.WebSocketPing = 2*time.Second, 100*time.Millisecond
		c.Limits.WebSocketQueue = 64 << 10
	})
	setup(t, s, "CREATE big SET x = string::repeat('x', 900000)")
	before := measure()
	open := func(text string) net.Conn {
		conn, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	const upgrade = "GET /rpc HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	var conns []net.Conn
	for range 50 {
		conns = append(conns,
			open("GET /status HTTP/1.1\r\nHost: x\r\nX-A: "), // headers that never end
			open(upgrade),        // half a handshake
			open(upgrade+"\r\n"), // a whole one, then silence
			open(upgrade+"\r\n\x81\xfe\x10\x00\x00\x00\x00\x00{"),                          // and half a message
			open("POST /sql HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nRETURN"), // half a body
			open("POST /import HTTP/1.1\r\nHost: x\r\n"+rootAuth+"\r\nService-NS: test\r\nService-DB: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nCREAT"),
			open(strings.Repeat("GET /key/big HTTP/1.1\r\nHost: x\r\n"+rootAuth+"\r\nService-NS: test\r\nService-DB: test\r\n\r\n", 20)), // never reads
		)
	}
	for i := range 50 {
		start := time.Now()
		if r := s.do("POST", "/sql", fmt.Sprintf("RETURN %d", i), at()...); r.StatusCode != 200 || time.Since(start) > 5*time.Second {
			t.Errorf("somebody else: %d after %v", r.StatusCode, time.Since(start))
		}
	}
	closed := func(c net.Conn) bool {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // a closed one says so itself
		for buf := make([]byte, 64<<10); ; {
			if _, err := c.Read(buf); err != nil {
				timeout, ok := err.(net.Error)
				return !ok || !timeout.Timeout()
			}
		}
	}
	for i, c := range conns {
		// The third kind may be silent, the last one is cut off in its time.
		if i%7 != 2 && i%7 != 6 && !closed(c) {
			t.Errorf("connection of kind %d stays open", i%7)
		}
		_ = c.Close()
	}
	s.unharmed(before)
}
