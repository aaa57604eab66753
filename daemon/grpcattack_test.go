package daemon_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // a client that compresses
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
)

// h2 speaks HTTP/2 by hand, as no client would.
type h2 struct {
	*http2.Framer
	t    testing.TB
	conn net.Conn
	head bytes.Buffer
	enc  *hpack.Encoder
}

func (s *server) h2() *h2 {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	k := &h2{Framer: http2.NewFramer(conn, conn), t: s.t, conn: conn}
	k.enc = hpack.NewEncoder(&k.head)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		s.t.Fatal(err)
	}
	if err := k.WriteSettings(); err != nil {
		s.t.Fatal(err)
	}
	return k
}

// block is the head of a call.
func (k *h2) block(method string, more ...string) []byte {
	k.head.Reset()
	all := append([]string{":method", "POST", ":scheme", "http", ":authority", "x", ":path", "/protocol.rpc.v1.Service/" + method,
		"content-type", "application/grpc", "te", "trailers"}, more...)
	for i := 0; i < len(all); i += 2 {
		if err := k.enc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}); err != nil {
			k.t.Fatal(err)
		}
	}
	return k.head.Bytes()
}

// call begins a call.
func (k *h2) call(stream uint32, method string, more ...string) {
	if err := k.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: k.block(method, more...), EndHeaders: true}); err != nil {
		k.t.Fatal(err)
	}
}

// message is a message in its frame.
func message(b []byte, flag byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(b))), b...)
}

// status reads until a stream has its status; "" where the connection or the stream is cut off instead.
func (k *h2) status(stream uint32) (code, text string) {
	var fields []hpack.HeaderField
	dec := hpack.NewDecoder(4096, func(f hpack.HeaderField) { fields = append(fields, f) })
	for {
		f, err := k.ReadFrame()
		if err != nil {
			return "", err.Error()
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = k.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			fields = nil
			if _, err := dec.Write(f.HeaderBlockFragment()); err != nil {
				k.t.Fatal(err)
			}
			if f.StreamID != stream || !f.StreamEnded() {
				continue
			}
			for _, h := range fields {
				switch h.Name {
				case "grpc-status":
					code = h.Value
				case "grpc-message":
					text = h.Value
				case ":status":
					if code == "" {
						code = "http " + h.Value
					}
				}
			}
			return code, text
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return "", "reset " + f.ErrCode.String()
			}
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return "", "goaway " + f.ErrCode.String()
			}
		}
	}
}

// alive makes sure that the server still serves everybody else.
func (s *server) alive() {
	s.t.Helper()
	if _, err := s.grpc().Health(s.t.Context(), &rpcpb.HealthRequest{}); err != nil {
		s.t.Errorf("gRPC: %v", err)
	}
	if r := s.do("GET", "/health", ""); r.StatusCode != 200 {
		s.t.Errorf("HTTP: %s", r.body)
	}
}

// Messages that lie, or are too much, end their call with a status, and nothing of them is kept.
func TestGRPCBadMessages(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.BodyWindow = 300 * time.Millisecond })
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	for _, tc := range []struct {
		name       string
		head       []string
		body       []byte
		end        bool
		code, text string
	}{
		{"a length over the limit", nil, []byte{0, 255, 255, 255, 255}, false, "8", "Message too long"},
		{"a length without bytes", nil, []byte{0, 0, 64, 0, 0}, false, "4", "did not come in time"},
		{"half a message", nil, []byte{0, 0, 0, 0, 9, 1}, true, "3", "ends inside of a message"},
		{"no message", nil, nil, true, "3", "has no message"},
		{"no message and no end", nil, nil, false, "4", "did not come in time"},
		{"an unknown flag", nil, message(nil, 7), true, "3", "unknown flag"},
		{"packed, but how", nil, message([]byte("x"), 1), true, "3", "names no encoding"},
		{"an unknown encoding", []string{"grpc-encoding", "br"}, message(nil, 0), true, "12", "is not one of identity, gzip and zstd"},
		{"broken gzip", []string{"grpc-encoding", "gzip"}, message([]byte("nonsense"), 1), true, "3", "cannot be unpacked"},
		{"broken zstd", []string{"grpc-encoding", "zstd"}, message([]byte("nonsense"), 1), true, "3", "cannot be unpacked"},
		{"a bomb of gzip", []string{"grpc-encoding", "gzip"}, message(bomb.Bytes(), 1), true, "8", "Message too long"},
		{"no protobuf", nil, message([]byte{0xff, 0xff}, 0), true, "3", "not valid protobuf"},
		{"a time that is none", []string{"grpc-timeout", "soon"}, message(nil, 0), true, "13", "grpc-timeout"},
	} {
		k := s.h2()
		k.call(1, "Use", tc.head...)
		for rest := tc.body; len(rest) > 0; {
			n := min(len(rest), 16<<10)
			if err := k.WriteData(1, false, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if tc.end {
			if err := k.WriteData(1, true, nil); err != nil {
				t.Fatal(err)
			}
		}
		code, text := k.status(1)
		if text = strings.ReplaceAll(text, "%20", " "); code != tc.code || !strings.Contains(text, tc.text) {
			t.Errorf("%s: got %s %q, want %s %q", tc.name, code, text, tc.code, tc.text)
		}
		_ = k.conn.Close()
	}
	s.alive()
}

// Values that would take much more memory than their bytes are refused before they are made.
func TestGRPCManyValues(t *testing.T) {
	s := start(t)
	c := s.grpc()
	many := make([]*valuepb.Value, 300_000)
	for i := range many {
		many[i] = &valuepb.Value{Value: &valuepb.Value_Null{Null: &valuepb.NullValue{}}}
	}
	v := &valuepb.Value{Value: &valuepb.Value_Array{Array: &valuepb.Array{Values: many}}}
	_, err := c.SetVariable(t.Context(), &rpcpb.SetVariableRequest{Name: "x", Value: v})
	wantCode(t, "many values of a stranger", err, codes.InvalidArgument, "more than 262144 values")
	for range 5000 {
		v = &valuepb.Value{Value: &valuepb.Value_Array{Array: &valuepb.Array{Values: []*valuepb.Value{v}}}}
	}
	_, err = c.SetVariable(t.Context(), &rpcpb.SetVariableRequest{Name: "x", Value: v})
	wantCode(t, "deep values", err, codes.InvalidArgument, "deeper than 128 levels")
}

// Floods end the connection that they come by, or are answered; the server goes on.
func TestGRPCFloods(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.HTTP2Streams = 50 })
	t.Run("continuations", func(t *testing.T) {
		k := s.h2()
		head := k.block("Health")
		if err := k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head}); err != nil {
			t.Fatal(err)
		}
		var err error
		for range 10_000 {
			k.head.Reset()
			_ = k.enc.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("y", 1000), Sensitive: true})
			if err = k.WriteContinuation(1, false, k.head.Bytes()); err != nil {
				break
			}
		}
		if err == nil {
			_, text := k.status(1)
			if text == "" {
				t.Error("ten megabytes of metadata were taken")
			}
		}
	})
	t.Run("large metadata", func(t *testing.T) {
		k := s.h2()
		var frames [][]byte
		head := append([]byte(nil), k.block("Health", "x", strings.Repeat("y", 200<<10))...)
		for len(head) > 0 {
			n := min(len(head), 16<<10)
			frames, head = append(frames, head[:n]), head[n:]
		}
		_ = k.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: frames[0]})
		for i, f := range frames[1:] {
			_ = k.WriteContinuation(1, i == len(frames)-2, f)
		}
		if code, _ := k.status(1); code == "0" {
			t.Error("200 KiB of metadata were taken")
		}
	})
	t.Run("rapid resets", func(t *testing.T) {
		k := s.h2()
		go func() { _, _ = io.Copy(io.Discard, k.conn) }()
		for i := range uint32(20_000) {
			if k.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: k.block("Query"), EndHeaders: true}) != nil ||
				k.WriteRSTStream(2*i+1, http2.ErrCodeCancel) != nil {
				break
			}
		}
	})
	t.Run("streams over the limit", func(t *testing.T) {
		k := s.h2()
		for i := range uint32(200) {
			k.call(2*i+1, "Query")
		}
		if _, text := k.status(399); !strings.Contains(text, "REFUSED_STREAM") && !strings.Contains(text, "PROTOCOL_ERROR") {
			t.Errorf("stream 200 of 50: %s", text)
		}
	})
	t.Run("half-open connections", func(t *testing.T) {
		for range 50 {
			k := s.h2()
			k.call(1, "Subscribe")
			_ = k.conn.Close()
		}
	})
	s.t = t
	s.alive()
}

// A client that takes no answers does not delay the others, and is cut off.
func TestGRPCSlowReader(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.SendTimeout = 300 * time.Millisecond })
	c := s.grpcRoot()
	c.texts("FOR $i IN 0..64 { CREATE large SET x = rand::string(65536) + rand::string(65536) + rand::string(65536) }")
	const line = "Service/Query status=200"
	before := strings.Count(s.logs.String(), line)
	slow := s.grpcRoot(grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(64<<10))
	stream, err := slow.Query(t.Context(), &rpcpb.QueryRequest{Query: "SELECT * FROM large"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the statement has ended", func() bool { return strings.Count(s.logs.String(), line) > before })
	for err == nil {
		_, err = stream.Recv()
	}
	if err == io.EOF {
		t.Error("12 MiB were sent to a client that does not read")
	}
	s.alive()
}

// Cancelling a call, and losing its connection, stop its statement and undo it.
func TestGRPCCancel(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("DEFINE TABLE t")
	for name, stop := range map[string]func(c *rpcClient, cancel context.CancelFunc){
		"cancel":  func(_ *rpcClient, cancel context.CancelFunc) { cancel() },
		"hang up": func(c *rpcClient, _ context.CancelFunc) { _ = c.conn.Close() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		k := s.grpcRoot()
		stream, err := k.Query(ctx, &rpcpb.QueryRequest{Query: "BEGIN; CREATE t:" + name[:4] + "; SLEEP 1h; COMMIT"})
		if err != nil {
			t.Fatal(err)
		}
		if first, err := stream.Recv(); err != nil || first.GetBegin() == nil {
			t.Fatalf("%v, %v", first, err)
		}
		if s.stats().Snapshots == 0 {
			eventually(t, "it runs", func() bool { return s.stats().Snapshots > 0 })
		}
		stop(k, cancel)
		eventually(t, name+": the statement has ended", func() bool { return s.stats().Snapshots == 0 })
		cancel()
	}
	if got := c.texts("SELECT * FROM t"); got[0] != "[]" {
		t.Errorf("something was committed: %v", got)
	}
	// A deadline of the client, and one of the server.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := c.run(ctx, &rpcpb.QueryRequest{Query: "SLEEP 1h"})
	if code := status.Code(err); err != nil && code != codes.DeadlineExceeded {
		t.Errorf("%v", err)
	}
	eventually(t, "it has ended", func() bool { return s.stats().Snapshots == 0 })
	limited := start(t, func(c *config.Config) { c.QueryTimeout = 200 * time.Millisecond }).grpcRoot()
	r, err := limited.run(t.Context(), &rpcpb.QueryRequest{Query: "RETURN 1; SLEEP 1h; RETURN 2"})
	if err != nil || r[0].text(t) != "1" || r[1].err.GetDetails().GetReason() != "TimedOut" || r[2].err.GetDetails().GetReason() != "NotExecuted" {
		t.Errorf("%v, %v", r, err)
	}
}

// A hundred streams on one connection, while HTTP and WebSockets go on beside them.
func TestGRPCParallel(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	c.texts("FOR $i IN 0..1000 { CREATE type::record('t', $i) SET x = string::repeat('x', 100) }")
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			stream, err := c.Query(t.Context(), &rpcpb.QueryRequest{Query: "SELECT * FROM t; CREATE u; LIVE SELECT * FROM t"})
			if err != nil {
				t.Error(err)
				return
			}
			n := 0
			for {
				f, err := stream.Recv()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Error(err)
					return
				}
				n += len(f.GetBatch().GetValues().GetValues())
			}
			if n != 1002 {
				t.Errorf("%d values", n)
			}
		})
	}
	for range 20 {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", s.url+"/version", nil)
			if resp, err := s.http.Do(req); err != nil || resp.StatusCode != 200 {
				t.Errorf("HTTP/1.1: %v", err)
			} else {
				_ = resp.Body.Close()
			}
		})
	}
	k := s.dial("json")
	for range 50 {
		k.write(frame(opText, true, []byte(`{"id":1,"method":"ping"}`)))
		if _, b, err := k.read(); err != nil || !strings.Contains(string(b), `"id":1`) {
			t.Fatalf("WebSocket: %s %v", b, err)
		}
	}
	wg.Wait()
	if got := c.texts("SELECT count() FROM u GROUP ALL"); got[0] != "[{ count: 100 }]" {
		t.Errorf("%v", got)
	}
}

// Results of 16 MiB come in messages within the limit, also compressed.
func TestGRPCLargeResults(t *testing.T) {
	s := start(t)
	for _, packed := range []bool{false, true} {
		opt := []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(4 << 20))}
		if packed {
			if encoding.GetCompressor("gzip") == nil {
				t.Fatal("the client has no gzip")
			}
			opt = append(opt, grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")))
		}
		c := s.grpcRoot(opt...)
		c.texts("DELETE large; FOR $i IN 0..16 { CREATE large SET x = string::repeat('x', 1048576) }")
		r, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "SELECT * FROM large"})
		if err != nil || len(r[0].values) != 16 || r[0].stats.GetRecordsReturned() != 16 || r[0].stats.GetBytesReturned() < 16<<20 {
			t.Fatalf("%v: %d values", err, len(r))
		}
	}
}

// Ids of sessions and transactions cannot be found by guessing: what is not there and what is not one's own look the same.
func TestGRPCGuesses(t *testing.T) {
	s := start(t)
	c := s.grpcRoot()
	a, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	near := bytes.Clone(a.GetSession().GetValue())
	near[15] ^= 1
	for name, id := range map[string][]byte{"a near one": near, "zeroes": make([]byte, 16)} {
		_, err := c.run(t.Context(), &rpcpb.QueryRequest{Context: &rpcpb.RequestContext{Session: &valuepb.Uuid{Value: id}}, Query: "RETURN 1"})
		wantCode(t, name, err, codes.NotFound, "Session not found")
	}
	b, err := c.BeginTransaction(t.Context(), &rpcpb.BeginTransactionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	other := s.grpcRoot()
	for name, id := range map[string][]byte{"another connection's": b.GetTransaction().GetValue(), "none": near} {
		at := &rpcpb.RequestContext{Transaction: &valuepb.Uuid{Value: id}}
		_, err := other.run(t.Context(), &rpcpb.QueryRequest{Context: at, Query: "RETURN 1"})
		wantCode(t, name, err, codes.NotFound, "Transaction not found")
		_, err = other.CommitTransaction(t.Context(), &rpcpb.CommitTransactionRequest{Context: at})
		wantCode(t, name, err, codes.NotFound, "Transaction not found")
	}
}

// What one connection and all clients may hold is bounded.
func TestGRPCBounds(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.GRPCSessions, c.AuthBurst = 3, 2 })
	c := s.grpcRoot()
	for i := range 4 {
		a, err := c.AttachSession(t.Context(), &rpcpb.AttachSessionRequest{})
		if i == 3 {
			wantCode(t, "a session too many", err, codes.ResourceExhausted, "Too many attached sessions")
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c.signin(&rpcpb.RequestContext{Session: a.GetSession()}, "root", "root") // anonymous sessions make room
	}
	var err error
	for range 5 {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Basic cm9vdDp3cm9uZw==")
		_, err = c.run(ctx, &rpcpb.QueryRequest{Query: "RETURN 1"})
	}
	wantCode(t, "guesses at a password", err, codes.ResourceExhausted, "Too many authentication attempts")
	if e := detailsOf(t, err); e.GetRetry().GetAfter().GetSeconds() == 0 {
		t.Errorf("%v", e)
	}
	// More identities than a connection keeps: the oldest is dropped, and made again.
	tokens := s.grpcRoot()
	for range 40 {
		token := tokens.signin(nil, "root", "root").GetAccess()
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		if _, err := tokens.run(ctx, &rpcpb.QueryRequest{Query: "RETURN 1"}); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that stops refuses new calls, and says to try again.
func TestGRPCGate(t *testing.T) {
	s := start(t, func(c *config.Config) { c.DrainDelay = time.Minute })
	c := s.grpcRoot()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Close(ctx)
	}()
	eventually(t, "new calls are refused", func() bool {
		_, err := c.run(t.Context(), &rpcpb.QueryRequest{Query: "RETURN 1"})
		return status.Code(err) == codes.Unavailable && detailsOf(t, err).GetRetry() != nil
	})
	for _, call := range []func() error{
		func() error { _, err := c.Health(t.Context(), &rpcpb.HealthRequest{}); return err },
		func() error { _, err := c.GetCapabilities(t.Context(), &rpcpb.GetCapabilitiesRequest{}); return err },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	<-done
}
