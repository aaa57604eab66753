package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/socket"
)

// pair gives the two ends of a connection; served is of this package.
func pair(t *testing.T) (served, client net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := socket.Listener(inner)
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if served, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); served.Close() })
	return served, client
}

func TestLargeWritesArriveWhole(t *testing.T) {
	served, client := pair(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // more than the buffers of both ends
	var wg sync.WaitGroup
	wg.Go(func() {
		if n, err := served.Write(want); n != len(want) || err != nil {
			t.Errorf("written %d, %v", n, err)
		}
		served.Close()
	})
	got, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	wg.Wait()
}

func TestReadWaits(t *testing.T) {
	served, client := pair(t)
	got := make(chan string)
	go func() {
		b := make([]byte, 10)
		n, err := served.Read(b)
		if err != nil {
			t.Error(err)
		}
		got <- string(b[:n])
	}()
	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "hello" {
		t.Errorf("read %q", s)
	}
	if n, err := served.Read(nil); n != 0 || err != nil {
		t.Errorf("an empty read gave %d, %v", n, err)
	}
}

// TestErrors holds that callers can tell the ends of a connection apart as they do with those of package net.
func TestErrors(t *testing.T) {
	served, client := pair(t)
	_ = served.SetReadDeadline(time.Unix(1, 0))
	_, err := served.Read(make([]byte, 1))
	if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after its time gave %v", err)
	}
	_ = served.SetReadDeadline(time.Time{})
	_ = served.SetWriteDeadline(time.Unix(1, 0))
	if _, err = served.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write after its time gave %v", err)
	}
	_ = served.SetWriteDeadline(time.Time{})

	client.Close()
	if _, err = served.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a read of what the client has closed gave %v", err)
	}

	served, client = pair(t)
	_ = client.(*net.TCPConn).SetLinger(0)
	client.Close()
	if _, err = served.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a read of a connection that was cut gave %v", err)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("%v is no error of package net", err)
	}

	served, _ = pair(t)
	failed := make(chan error)
	go func() {
		_, err := served.Read(make([]byte, 1))
		failed <- err
	}()
	served.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of what was closed here gave %v", err)
	}
}

// TestBothDirections has several goroutines use one connection at once.
func TestBothDirections(t *testing.T) {
	served, client := pair(t)
	const writers, each, size = 4, 200, 1000
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			message := bytes.Repeat([]byte{byte('a' + i)}, size)
			for range each {
				if _, err := served.Write(message); err != nil {
					t.Error(err)
				}
			}
		})
	}
	echo := make(chan error)
	go func() {
		b := make([]byte, size)
		for range writers * each {
			if _, err := io.ReadFull(client, b); err != nil {
				echo <- err
				return
			}
			if !bytes.Equal(b, bytes.Repeat(b[:1], size)) {
				echo <- errors.New("two writes are mixed up")
				return
			}
			if _, err := client.Write(b); err != nil {
				echo <- err
				return
			}
		}
		echo <- nil
	}()
	if _, err := io.CopyN(io.Discard, struct{ io.Reader }{served}, writers*each*size); err != nil {
		t.Error(err)
	}
	if err := <-echo; err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func BenchmarkEcho(b *testing.B) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name string
		l    net.Listener
	}{{"net", inner}, {"socket", socket.Listener(inner)}} {
		b.Run(bm.name, func(b *testing.B) {
			client, err := net.Dial("tcp", inner.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			served, err := bm.l.Accept()
			if err != nil {
				b.Fatal(err)
			}
			defer served.Close()
			go func() {
				p := make([]byte, 100)
				for {
					n, err := served.Read(p)
					if err != nil {
						return
					}
					_, _ = served.Write(p[:n])
				}
			}()
			b.ReportAllocs()
			p := make([]byte, 100)
			for b.Loop() {
				if _, err := client.Write(p); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(client, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
