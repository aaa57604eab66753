package daemon_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// A client of gRPC that is gone without a word is found, while it subscribes and while its statement runs: its live query
// and its statement end, and so do its goroutines.
func TestVanishedClientOfGRPCIsFound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		begin func(c *rpcClient)
		gone  func(s *server) bool
	}{
		{"a subscriber", func(c *rpcClient) { c.watch(c.s.t.Context(), nil, "LIVE SELECT * FROM t") },
			func(s *server) bool { return s.stats().LiveQueries == 0 }},
		{"a statement", func(c *rpcClient) {
			stream, err := c.Query(c.s.t.Context(), &rpcpb.QueryRequest{Query: "SELECT * FROM t; SLEEP 1h"})
			if err != nil {
				c.s.t.Fatal(err)
			}
			if _, err := stream.Recv(); err != nil {
				c.s.t.Fatal(err)
			}
			eventually(c.s.t, "it runs", func() bool { return c.s.stats().Snapshots > 0 })
		}, func(s *server) bool { return s.stats().Snapshots == 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, func(c *config.Config) { c.Limits.WebSocketPing = 50 * time.Millisecond })
			var mu sync.Mutex
			var conns []net.Conn
			c := s.grpcRoot(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				mu.Lock()
				defer mu.Unlock()
				conns = append(conns, conn)
				return conn, err
			}))
			c.texts("DEFINE TABLE t")
			tc.begin(c)
			mu.Lock()
			for _, conn := range conns {
				(&socket{t: t, conn: conn}).vanish()
			}
			mu.Unlock()
			eventually(t, "it is let go of", func() bool { return tc.gone(s) })
		})
	}
}

// A client that grants no byte of a window is let go of with any answer: the answer to a short call, the rows of a
// statement, notifications. Its connection is there all the time.
func TestClientsOfGRPCWithoutWindows(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.SendTimeout, c.Limits.GRPCNotifications = 300*time.Millisecond, 4 })
	writer := s.grpcRoot()
	writer.texts("DEFINE TABLE t; FOR $i IN 0..64 { CREATE t SET x = rand::string(65536) }")
	call := func(method string, m proto.Message) *h2 {
		t.Helper()
		k := s.h2()
		if err := k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		k.call(1, method, "authorization", "Basic cm9vdDpyb290", "service-ns", "test", "service-db", "test")
		if err := k.WriteData(1, true, message(b, 0)); err != nil {
			t.Fatal(err)
		}
		return k
	}
	ks := map[string]*h2{
		"GetCapabilities": call("GetCapabilities", &rpcpb.GetCapabilitiesRequest{}),
		"Query":           call("Query", &rpcpb.QueryRequest{Query: "SELECT * FROM t"}),
		"Subscribe": call("Subscribe", &rpcpb.SubscribeRequest{SubscribeTo: &rpcpb.SubscribeRequest_Query{
			Query: &rpcpb.LiveQueryRegistration{Query: "LIVE SELECT * FROM t"}}}),
	}
	eventually(t, "the live query is there", func() bool { return s.stats().LiveQueries == 1 })
	writer.texts("FOR $i IN 0..64 { CREATE t SET x = rand::string(1000) }")
	for name, k := range ks {
		if code, text := k.status(1); code == "0" || text == "" {
			t.Errorf("%s: %s %q", name, code, text)
		}
	}
	st := s.stats()
	eventually(t, "nothing is left", func() bool {
		st = s.stats()
		return st.LiveQueries == 0 && st.Snapshots == 0
	})
	s.alive()
}
