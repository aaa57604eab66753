package daemon_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// cpu is the time that this process has used, user and system, in nanoseconds.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// One request at a time over a WebSocket on loopback. cpu-ns/op is server and (bare) client together.
func BenchmarkWebSocket(b *testing.B) {
	for _, bc := range []struct{ name, message string }{
		{"ping", "\xa2\x62id\x611\x66method\x64ping"},
		{"return 1", "\xa3\x62id\x611\x66method\x65query\x66params\x81\x68RETURN 1"},
		{"record", "\xa3\x62id\x611\x66method\x65query\x66params\x81\x73SELECT * FROM one:1"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := start(b, func(c *config.Config) { c.Unauthenticated, c.User = true, "" })
			k := s.dial("cbor")
			for _, text := range []string{"\x63use\x66params\x82\x64test\x64test",
				"\x65query\x66params\x81\x78\x1bCREATE one:1 SET name = 'x'"} {
				k.write(frame(opBinary, true, []byte("\xa3\x62id\x611\x66method"+text)))
				if _, p, err := k.read(); err != nil || bytes.Contains(p, []byte("error")) {
					b.Fatalf("%q %v", p, err)
				}
			}
			msg := frame(opBinary, true, []byte(bc.message))
			b.ReportAllocs()
			before := cpu(b)
			for b.Loop() {
				k.write(msg)
				if _, _, err := k.read(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// Sixteen requests in flight on one connection: what coalescing of answers is for.
func BenchmarkWebSocketPipelined(b *testing.B) {
	s := start(b, func(c *config.Config) { c.Unauthenticated, c.User = true, "" })
	k := s.dial("cbor")
	const depth = 16
	msg := []byte(strings.Repeat(string(frame(opBinary, true, []byte("\xa3\x62id\x611\x66method\x65query\x66params\x81\x68RETURN 1"))), depth))
	b.ReportAllocs()
	before := cpu(b)
	n := 0
	for b.Loop() {
		k.write(msg)
		for range depth {
			if _, _, err := k.read(); err != nil {
				b.Fatal(err)
			}
		}
		n += depth
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(n), "cpu-ns/request")
}

// One request at a time over HTTP on a kept connection. cpu-ns/op is server and (bare) client together.
func BenchmarkHTTP(b *testing.B) {
	s := start(b, func(c *config.Config) { c.Unauthenticated, c.User = true, "" })
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	br := bufio.NewReader(conn)
	const request = "POST /sql HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\nContent-Length: 8\r\n\r\nRETURN 1"
	b.ReportAllocs()
	before := cpu(b)
	for b.Loop() {
		if _, err := io.WriteString(conn, request); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			b.Fatal(resp.Status, err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// Synced creates over WebSockets into a durable store, one request at a time on each connection. cpu-ns/op is server and
// (bare) clients together.
func BenchmarkWebSocketCreate(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("%d clients", clients), func(b *testing.B) {
			s := start(b, func(c *config.Config) {
				c.Unauthenticated, c.User, c.Path = true, "", "bolt://"+filepath.Join(b.TempDir(), "x.db")
			})
			use := frame(opBinary, true, []byte("\xa3\x62id\x611\x66method\x63use\x66params\x82\x64test\x64test"))
			create := "CREATE t SET name = 'a name of some length', i = $i"
			msg := "\xa3\x62id\x611\x66method\x65query\x66params\x82\x78" + string(rune(len(create))) + create + "\xa1\x61i\x19\x10\x00"
			sockets := make([]*socket, clients)
			for i := range sockets {
				sockets[i] = s.dial("cbor")
				if err := sockets[i].conn.SetDeadline(time.Time{}); err != nil {
					b.Fatal(err)
				}
				sockets[i].write(use)
				if _, _, err := sockets[i].read(); err != nil {
					b.Fatal(err)
				}
			}
			request := frame(opBinary, true, []byte(msg))
			b.ReportAllocs()
			before := cpu(b)
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for _, k := range sockets {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						k.write(request)
						if _, p, err := k.read(); err != nil || !strings.Contains(string(p), "OK") {
							b.Errorf("%q %v", p, err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
		})
	}
}
