package daemon_test

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// The same request over gRPC and over a WebSocket, by the client package: cpu-ns/op is server and client together.
func BenchmarkDoors(b *testing.B) {
	for _, text := range []string{"RETURN 1", "SELECT * FROM ONLY t:1"} {
		for _, scheme := range []string{"ws", "grpc"} {
			for _, clients := range []int{1, 16, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d", text[:6], scheme, clients), func(b *testing.B) {
					s := start(b, func(c *config.Config) { c.Unauthenticated, c.User = true, "" })
					all := make([]*client.Client, clients)
					for i := range all {
						c, err := client.Open(b.Context(), client.Options{Endpoint: scheme + "://" + s.Addr().String(),
							Namespace: "test", Database: "test"})
						if err != nil {
							b.Fatal(err)
						}
						defer func() { _ = c.Close() }()
						all[i] = c
					}
					if _, err := all[0].Query(b.Context(), "CREATE t:1 SET name = 'a name of some length', n = 42", nil); err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					b.ResetTimer()
					before := cpu(b)
					var left atomic.Int64
					left.Store(int64(b.N))
					var wg sync.WaitGroup
					for _, c := range all {
						wg.Go(func() {
							for left.Add(-1) >= 0 {
								if r, err := c.Query(b.Context(), text, nil); err != nil || r[0].Err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					wg.Wait()
					b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

// A table of 20,000 records as a stream over gRPC, which is read and thrown away.
func BenchmarkGRPCRows(b *testing.B) {
	s := start(b)
	c := s.grpcRoot()
	c.texts(manyRows)
	before := cpu(b)
	rows := 0
	for b.Loop() {
		stream, err := c.Query(b.Context(), &rpcpb.QueryRequest{Query: "SELECT * FROM t"})
		for err == nil {
			var f *rpcpb.QueryResponse
			if f, err = stream.Recv(); err == nil {
				rows += len(f.GetBatch().GetValues().GetValues())
			}
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(rows), "cpu-ns/row")
}

// The same rows over a WebSocket in CBOR, as one answer.
func BenchmarkWebSocketRows(b *testing.B) {
	s := start(b)
	c, err := client.Open(b.Context(), client.Options{Endpoint: "ws://" + s.Addr().String(), User: "root", Pass: "root",
		Namespace: "test", Database: "test"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s.grpcRoot().texts(manyRows)
	before := cpu(b)
	rows := 0
	for b.Loop() {
		r, err := c.Query(b.Context(), "SELECT * FROM t", nil)
		if err != nil || r[0].Err != nil {
			b.Fatal(err, r)
		}
		rows += r[0].Value.Len()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(rows), "cpu-ns/row")
}

const manyRows = `FOR $i IN 0..20000 {
	CREATE type::record('t', $i) SET name = 'a name of some length', n = $i, tags = ['a', 'b']
}`
