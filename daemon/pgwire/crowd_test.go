package pgwire_test

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// Two thousand connections that do nothing cost little, and those that do not finish their start-up keep no client out.
func TestManyIdleConnections(t *testing.T) {
	const many = 2000
	addr, _ := start(t, unauthenticated, func(c *config.Config) { c.Limits.PostgresConnections = many + 10 })
	login(t, addr)
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := used()
	conns := make([]net.Conn, many)
	hello := []byte(startupPacket("user", "root", "database", "test/test"))
	buf := make([]byte, 4096)
	for i := range conns {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Write(hello); err != nil {
			t.Fatal(err)
		}
		for got := ""; !strings.HasSuffix(got, "Z\x00\x00\x00\x05I"); {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got += string(buf[:n])
		}
		conns[i] = conn
	}
	each := (used() - before) / many
	t.Logf("%d bytes a connection, the client's side included", each)
	if each > 40<<10 {
		t.Errorf("%d bytes a connection", each)
	}
	if got := login(t, addr).ask("RETURN 1"); !strings.Contains(got, "D[1]") {
		t.Errorf("another client: %s", got)
	}
}

// A client that sends its start-up a byte at a time is cut off when its time is over, however busy it looks, and
// others are served meanwhile.
func TestSlowStartup(t *testing.T) {
	addr, _ := start(t, unauthenticated, func(c *config.Config) { c.Limits.PostgresStartup = 500 * time.Millisecond })
	slow := make([]*frames, 50)
	for i := range slow {
		slow[i] = dial(t, addr)
	}
	hello := startupPacket("user", "root", "database", "test/test", "application_name", strings.Repeat("x", 500))
	cut := make(chan string)
	go func() { // keeps all of them busy until they are cut off
		for _, b := range []byte(hello) {
			left := 0
			for _, f := range slow {
				if _, err := f.conn.Write([]byte{b}); err == nil {
					left++
				}
			}
			if left == 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		cut <- "all were cut off, or have said it all"
	}()
	if got := login(t, addr).ask("RETURN 1"); !strings.Contains(got, "D[1]") {
		t.Errorf("another client: %s", got)
	}
	for _, f := range slow {
		if got := f.read(1); !strings.Contains(got, "F!57P05") && got != "EOF" {
			t.Fatalf("a slow client: %s", got)
		}
	}
	<-cut
}
