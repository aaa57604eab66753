package daemon_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

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

// The 100,000 records of a table at each door, in turns: what a bare client reads and throws away, then what the client
// package makes values of. For each door it reports rows a second, the CPU of a row (server and client together), and
// over gRPC the ratio of both to those of the CBOR doors.
func BenchmarkStreams(b *testing.B) {
	s := start(b)
	s.grpcRoot().texts(manyRows)
	bare := map[string]func(){"ws": s.readsWebSocket(), "stream": s.readsStream(), "grpc": s.readsGRPC()}
	b.Run("bare", func(b *testing.B) { inTurns(b, bare, "ws", "stream", "grpc") })
	clients := map[string]func(){}
	for _, scheme := range []string{"ws", "grpc"} {
		c, err := client.Open(b.Context(), client.Options{Endpoint: scheme + "://" + s.Addr().String(), User: "root",
			Pass: "root", Namespace: "test", Database: "test", MaxMessage: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		clients[scheme] = func() {
			if r, err := c.Query(b.Context(), "SELECT * FROM t", nil); err != nil || r[0].Err != nil || r[0].Value.Len() != rowCount {
				b.Fatal(err, r)
			}
		}
	}
	b.Run("client", func(b *testing.B) { inTurns(b, clients, "ws", "grpc") })
}

// inTurns runs each door once in each round. The last one is compared with the others.
func inTurns(b *testing.B, doors map[string]func(), names ...string) {
	spent, used := map[string]time.Duration{}, map[string]int64{}
	rounds := 0
	for b.Loop() {
		rounds++
		for _, name := range names {
			before, began := cpu(b), time.Now()
			doors[name]()
			spent[name] += time.Since(began)
			used[name] += cpu(b) - before
		}
	}
	last := names[len(names)-1]
	for _, name := range names {
		b.ReportMetric(float64(rowCount*rounds)/spent[name].Seconds(), name+"-rows/s")
		b.ReportMetric(float64(used[name])/float64(rowCount*rounds), name+"-cpu-ns/row")
		if name != last {
			b.ReportMetric(spent[name].Seconds()/spent[last].Seconds(), "rate/"+name)
			b.ReportMetric(float64(used[last])/float64(used[name]), "cpu/"+name)
		}
	}
}

const (
	rowCount = 100_000
	manyRows = `FOR $i IN 0..100000 {
		CREATE type::record('t', $i) SET name = 'a name of some length', n = $i, tags = ['a', 'b'], at = d'2024-01-01T00:00:00Z',
			price = 1.5, owner = person:tobie, address = { street: 'a street', city: 'a city', zip: 12345 }
	}`
)

// cborCall is a request of the method for the text in CBOR.
func cborCall(method string) []byte {
	text := "SELECT * FROM t"
	return []byte("\xa3\x62id\x611\x66method" + string(rune(0x60+len(method))) + method + "\x66params\x81" + string(rune(0x60+len(text))) + text)
}

func (s *server) cborInTest() *socket {
	k := s.dial("cbor", rootAuth)
	if err := k.conn.SetDeadline(time.Time{}); err != nil {
		s.t.Fatal(err)
	}
	k.br = bufio.NewReaderSize(k.conn, 64<<10)
	k.write(frame(opBinary, true, []byte("\xa3\x62id\x611\x66method\x63use\x66params\x82\x64test\x64test")))
	k.message()
	return k
}

// skim reads the next frame and keeps no more of it than its first bytes.
func (k *socket) skim() (size int, first []byte) {
	head, err := k.br.Peek(10)
	if err != nil {
		k.t.Fatal(err)
	}
	size, skip := int(head[1]&0x7f), 2
	switch size {
	case 126:
		size, skip = int(binary.BigEndian.Uint16(head[2:])), 4
	case 127:
		size, skip = int(binary.BigEndian.Uint64(head[2:])), 10
	}
	if head, err = k.br.Peek(min(skip+size, 64)); err == nil {
		first = bytes.Clone(head[skip:])
		_, err = k.br.Discard(skip + size)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return size, first
}

// readsWebSocket asks for the rows as one answer.
func (s *server) readsWebSocket() func() {
	k := s.cborInTest()
	call := frame(opBinary, true, cborCall("query"))
	return func() {
		k.write(call)
		if size, first := k.skim(); size < rowCount {
			s.t.Fatalf("%q", first)
		}
	}
}

// readsStream asks for the rows as a stream.
func (s *server) readsStream() func() {
	k := s.cborInTest()
	call := frame(opBinary, true, cborCall("query_stream"))
	return func() {
		k.write(call)
		for total := 0; ; {
			size, first := k.skim()
			total += size
			if bytes.Contains(first, []byte("\x66stream\x63end")) {
				if total < rowCount {
					s.t.Fatalf("%q", first)
				}
				return
			}
		}
	}
}

// readsGRPC reads the frames of the rows, with windows that never fill.
func (s *server) readsGRPC() func() {
	k := s.h2()
	if err := errors.Join(k.conn.SetDeadline(time.Time{}), k.WriteWindowUpdate(0, 1<<30),
		k.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})); err != nil {
		s.t.Fatal(err)
	}
	req, err := proto.Marshal(&rpcpb.QueryRequest{Query: "SELECT * FROM t"})
	if err != nil {
		s.t.Fatal(err)
	}
	in := bufio.NewReaderSize(k.conn, 64<<10)
	stream := uint32(1)
	return func() {
		k.call(stream, "Query", "authorization", strings.TrimPrefix(rootAuth, "Authorization: "), "service-ns", "test",
			"service-db", "test")
		if err := k.WriteData(stream, true, message(req, 0)); err != nil {
			s.t.Fatal(err)
		}
		for total := uint32(0); ; {
			head, err := in.Peek(9)
			if err != nil {
				s.t.Fatal(err)
			}
			size := binary.BigEndian.Uint32(head) >> 8
			kind, flags := http2.FrameType(head[3]), http2.Flags(head[4])
			if _, err := in.Discard(9 + int(size)); err != nil {
				s.t.Fatal(err)
			}
			if kind == http2.FrameData {
				total += size
			}
			if kind == http2.FrameHeaders && flags.Has(http2.FlagHeadersEndStream) {
				if err := k.WriteWindowUpdate(0, total); err != nil || total < rowCount {
					s.t.Fatalf("%d bytes came, %v", total, err)
				}
				stream += 2
				return
			}
		}
	}
}
