package h2_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/nacredb/nacre/daemon/h2"
)

// raw speaks HTTP/2 by hand, as no client would.
type raw struct {
	*http2.Framer
	t    testing.TB
	conn net.Conn
	head bytes.Buffer
	enc  *hpack.Encoder
}

func (s *served) raw(t testing.TB, greet bool) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	k := &raw{Framer: http2.NewFramer(conn, conn), t: t, conn: conn}
	k.AllowIllegalWrites = true
	k.enc = hpack.NewEncoder(&k.head)
	_, _ = io.WriteString(conn, http2.ClientPreface)
	if greet {
		_ = k.WriteSettings()
	}
	return k
}

func (k *raw) block(fields ...string) []byte {
	k.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = k.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return k.head.Bytes()
}

// ask begins a request; an error of writing shows when the answer is read.
func (k *raw) ask(id uint32, path string, end bool, more ...string) {
	fields := append([]string{":method", "POST", ":scheme", "http", ":authority", "x", ":path", path}, more...)
	_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: id,
		BlockFragment: k.block(fields...), EndStream: end, EndHeaders: true})
}

// outcome reads until a stream or the connection ends, and says how: "200", "RST CODE", "GOAWAY CODE" or "closed".
func (k *raw) outcome(id uint32) string {
	status := ""
	dec := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":status" {
			status = f.Value
		}
	})
	for {
		f, err := k.ReadFrame()
		if err != nil {
			return "closed"
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			_, _ = dec.Write(f.HeaderBlockFragment())
			if f.StreamID == id && f.StreamEnded() {
				return status
			}
		case *http2.DataFrame:
			if f.StreamID == id && f.StreamEnded() {
				return status
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				return "RST " + f.ErrCode.String()
			}
		case *http2.GoAwayFrame:
			return "GOAWAY " + f.ErrCode.String()
		}
	}
}

// small is a server whose handler answers at once, waits for the whole body, or waits until its client gives up.
func small(t testing.TB, limits h2.Limits) *served {
	return serve(t, false, limits, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/wait":
			<-r.Context().Done()
		case "/read":
			_, _ = io.Copy(io.Discard, r.Body)
		case "/much":
			_, _ = io.Copy(w, io.LimitReader(&zeros{}, 32<<20))
		}
	})
}

// Frames that break the rules end their stream or their connection, with the code that the rules name.
func TestViolations(t *testing.T) {
	s := small(t, h2.Limits{Streams: 4, Head: 2000, Window: 1 << 17})
	for _, tc := range []struct {
		name, want string
		play       func(k *raw)
	}{
		{"an even stream", "GOAWAY PROTOCOL_ERROR", func(k *raw) { k.ask(2, "/", true) }},
		{"a stream that goes back", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			k.ask(3, "/wait", true)
			k.ask(1, "/", false)
		}},
		{"data of no stream", "GOAWAY PROTOCOL_ERROR", func(k *raw) { _ = k.WriteData(1, true, []byte("x")) }},
		{"a reset of no stream", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			_ = k.WriteRSTStream(1, http2.ErrCodeCancel)
		}},
		{"a window of no stream", "GOAWAY PROTOCOL_ERROR", func(k *raw) { _ = k.WriteWindowUpdate(1, 1) }},
		{"a window that runs over", "GOAWAY FLOW_CONTROL_ERROR", func(k *raw) {
			_ = k.WriteWindowUpdate(0, 1<<31-1)
		}},
		{"a window of a stream that runs over", "RST FLOW_CONTROL_ERROR", func(k *raw) {
			k.ask(1, "/read", false)
			_ = k.WriteWindowUpdate(1, 1<<31-1)
		}},
		{"a window of nothing", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			_ = k.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4))
		}},
		{"initial windows that run over", "GOAWAY FLOW_CONTROL_ERROR", func(k *raw) {
			k.ask(1, "/wait", false)
			_ = k.WriteWindowUpdate(1, 1<<30)
			_ = k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
		}},
		{"settings of nonsense", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			_ = k.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 7})
		}},
		{"a push", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			k.ask(1, "/wait", false)
			_ = k.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2,
				BlockFragment: k.block("a", "b"), EndHeaders: true})
		}},
		{"a frame that is too large", "GOAWAY FRAME_SIZE_ERROR", func(k *raw) {
			_, _ = k.conn.Write([]byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1})
		}},
		{"a broken head", "GOAWAY COMPRESSION_ERROR", func(k *raw) {
			_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
				BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
		}},
		{"a head that does not go on", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: k.block("a", "b")})
			_ = k.WriteData(1, true, nil)
		}},
		{"a head without an end", "GOAWAY PROTOCOL_ERROR", func(k *raw) {
			_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: k.block(":method", "GET")})
			for range 1000 {
				_ = k.WriteContinuation(1, false, k.block("x", strings.Repeat("y", 1000)))
			}
		}},
		{"a head that is too large", "431", func(k *raw) { k.ask(1, "/", true, "x", strings.Repeat("y", 2000)) }},
		{"upper case", "RST PROTOCOL_ERROR", func(k *raw) { k.ask(1, "/", true, "X-Upper", "1") }},
		{"a field of the connection", "RST PROTOCOL_ERROR", func(k *raw) {
			k.ask(1, "/", true, "connection", "close")
		}},
		{"te", "RST PROTOCOL_ERROR", func(k *raw) { k.ask(1, "/", true, "te", "gzip") }},
		{"a line break in a field", "RST PROTOCOL_ERROR", func(k *raw) { k.ask(1, "/", true, "a", "b\r\nc: d") }},
		{"no path", "RST PROTOCOL_ERROR", func(k *raw) { k.ask(1, "", true) }},
		{"a path that is none", "RST PROTOCOL_ERROR", func(k *raw) { k.ask(1, "x y", true) }},
		{"a user in the authority", "RST PROTOCOL_ERROR", func(k *raw) {
			_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true,
				BlockFragment: k.block(":method", "GET", ":scheme", "http", ":authority", "a@b", ":path", "/")})
		}},
		{"a length that is none", "RST PROTOCOL_ERROR", func(k *raw) { k.ask(1, "/", true, "content-length", "-1") }},
		{"a longer body than announced", "RST PROTOCOL_ERROR", func(k *raw) {
			k.ask(1, "/read", false, "content-length", "2")
			_ = k.WriteData(1, true, []byte("xxx"))
		}},
		{"a shorter body than announced", "RST PROTOCOL_ERROR", func(k *raw) {
			k.ask(1, "/read", false, "content-length", "2")
			_ = k.WriteData(1, true, []byte("x"))
		}},
		{"a head in the middle", "RST PROTOCOL_ERROR", func(k *raw) {
			k.ask(1, "/read", false)
			k.ask(1, "/read", false)
		}},
		{"data behind the end", "RST STREAM_CLOSED", func(k *raw) {
			k.ask(1, "/wait", true)
			_ = k.WriteData(1, true, []byte("x"))
		}},
		{"more data than a window", "GOAWAY FLOW_CONTROL_ERROR", func(k *raw) {
			k.ask(1, "/wait", false)
			for range 9 {
				_ = k.WriteData(1, false, make([]byte, 16<<10))
			}
		}},
		{"one request too many", "RST REFUSED_STREAM", func(k *raw) {
			for id := uint32(1); id < 9; id += 2 {
				k.ask(id, "/wait", true)
			}
			k.ask(9, "/", true)
		}},
		{"trailers", "200", func(k *raw) {
			k.ask(1, "/read", false)
			_ = k.WriteData(1, false, []byte("x"))
			_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
				BlockFragment: k.block("a", "b"), EndHeaders: true, EndStream: true})
		}},
		{"what is unknown", "200", func(k *raw) {
			_ = k.WriteRawFrame(0xbe, 0xff, 77, []byte("x"))
			_ = k.WritePriority(7, http2.PriorityParam{Weight: 3})
			k.ask(1, "/", true)
		}},
		{"an unread body", "200", func(k *raw) { k.ask(1, "/", false) }},
	} {
		k := s.raw(t, true)
		tc.play(k)
		id := uint32(1)
		if strings.Contains(tc.name, "too many") {
			id = 9
		}
		if got := k.outcome(id); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
		_ = k.conn.Close()
	}
	if r := s.do(t, "GET", "/", nil); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
}

// A client that sends frames which only cost work is sent away, and cannot make more handlers run than the limit.
func TestFloods(t *testing.T) {
	var mu sync.Mutex
	running, most := 0, 0
	s := serve(t, false, h2.Limits{Streams: 8, SendTimeout: time.Second}, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		<-r.Context().Done()
		time.Sleep(time.Millisecond) // a handler that takes its time
		mu.Lock()
		running--
		mu.Unlock()
	})
	for name, flood := range map[string]func(k *raw, i uint32) error{
		"requests given up": func(k *raw, i uint32) error {
			k.ask(2*i+1, "/", false)
			return k.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
		},
		"requests over the limit": func(k *raw, i uint32) error { k.ask(2*i+1, "/", true); return nil },
		"settings": func(k *raw, _ uint32) error {
			return k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		},
		"empty data": func(k *raw, i uint32) error {
			if i == 0 {
				k.ask(1, "/", false)
			}
			return k.WriteData(1, false, nil)
		},
		"unread pings": func(k *raw, _ uint32) error { return k.WritePing(false, [8]byte{}) },
		"bad requests": func(k *raw, i uint32) error { k.ask(2*i+1, "", true); return nil },
	} {
		k := s.raw(t, true)
		ended := make(chan string, 1)
		if !strings.Contains(name, "unread") {
			go func() { ended <- k.outcome(1 << 30) }()
		}
		sent := uint32(0)
		for ; sent < 3_000_000; sent++ {
			if flood(k, sent) != nil {
				break
			}
			if len(ended) > 0 {
				break
			}
		}
		if sent == 3_000_000 {
			t.Errorf("%s: the connection lives", name)
		}
		_ = k.conn.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 16 {
		t.Errorf("%d handlers at once", most)
	}
}

// A client that greets slowly, or is silent, is let go.
func TestSilence(t *testing.T) {
	s := small(t, h2.Limits{Greeting: 50 * time.Millisecond, Idle: 100 * time.Millisecond})
	for _, greet := range []bool{false, true} {
		if got := s.raw(t, greet).outcome(1); greet && got != "GOAWAY NO_ERROR" || !greet && got != "closed" {
			t.Errorf("%v: %s", greet, got)
		}
	}
	k := s.raw(t, false)
	_ = k.WritePing(false, [8]byte{})
	if got := k.outcome(1); got != "GOAWAY PROTOCOL_ERROR" {
		t.Errorf("a first frame that is none: %s", got)
	}
}

// A client that takes no bytes is cut off, and its handler ends.
func TestStuckReader(t *testing.T) {
	ended := make(chan error, 1)
	s := serve(t, false, h2.Limits{SendTimeout: 100 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.Copy(w, &zeros{})
		ended <- err
	})
	k := s.raw(t, true)
	_ = k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	_ = k.WriteWindowUpdate(0, 1<<30)
	k.ask(1, "/", true)
	if err := <-ended; err == nil {
		t.Error("all was sent")
	}
}

// FuzzConn plays frames of any bytes to a connection: it ends, and nothing panics.
func FuzzConn(f *testing.F) {
	var b bytes.Buffer
	k := &raw{Framer: http2.NewFramer(&b, nil), t: f}
	k.AllowIllegalWrites = true
	k.enc = hpack.NewEncoder(&k.head)
	_ = k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 5})
	k.ask(1, "/echo", false, "content-length", "3")
	_ = k.WriteData(1, true, []byte("abc"))
	k.ask(3, "/seen?q=%20", true, "cookie", "a", "cookie", "b")
	_ = k.WriteWindowUpdate(0, 10)
	_ = k.WriteDataPadded(5, true, []byte("abc"), make([]byte, 9))
	f.Add(b.Bytes())
	b.Reset()
	_ = k.WriteSettings()
	k.ask(1, "/echo", false)
	_ = k.WriteRSTStream(1, http2.ErrCodeCancel)
	_ = k.WriteGoAway(1, http2.ErrCodeNo, nil)
	_ = k.WritePing(false, [8]byte{1})
	f.Add(b.Bytes())
	s := h2.New(h2.Limits{Streams: 4, Head: 1000}, discard)
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, frames []byte) {
		s.Serve(t.Context(), &played{Reader: bytes.NewReader(frames)}, http.HandlerFunc(answers), true)
	})
}

// played is a connection whose client sends some bytes and leaves.
type played struct {
	io.Reader
	net.Conn
}

func (p *played) Read(b []byte) (int, error)       { return p.Reader.Read(b) }
func (p *played) Write(b []byte) (int, error)      { return len(b), nil }
func (p *played) Close() error                     { return nil }
func (p *played) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (p *played) SetReadDeadline(time.Time) error  { return nil }
func (p *played) SetWriteDeadline(time.Time) error { return nil }

// An answer of a few bytes that its client never takes ends in time: the worker that has it is free again.
func TestAnswerWithoutAWindow(t *testing.T) {
	ended := make(chan struct{})
	s := serve(t, false, h2.Limits{SendTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "a few bytes")
		close(ended)
	})
	k := s.raw(t, false)
	_ = k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	k.ask(1, "/", true)
	<-ended
	if got := k.outcome(1); !strings.HasPrefix(got, "RST ") {
		t.Errorf("got %s", got)
	}
}
