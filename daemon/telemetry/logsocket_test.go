package telemetry

import (
	"bufio"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// took reads n lines of the next connection to ln, and closes it.
func took(t *testing.T, ln net.Listener, n int) []string {
	t.Helper()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var lines []string
	for in := bufio.NewScanner(conn); len(lines) < n && in.Scan(); {
		lines = append(lines, in.Text())
	}
	return lines
}

func TestLogSocket(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		to := ln.Addr().String()
		if network == "unix" {
			to = "unix:" + to
		}
		l, err := OpenLogSocket(to, nil)
		if err != nil {
			t.Fatal(err)
		}
		log := NewLogger(l, LevelTrace, true)
		log.Info("a", "password", "hunter2")
		log.Warn("b")
		got := make(chan []string)
		go func() { got <- took(t, ln, 3) }()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		lines := <-got
		if len(lines) != 2 || !strings.Contains(lines[0], `"msg":"a"`) || !strings.Contains(lines[1], `"msg":"b"`) ||
			strings.Contains(lines[0], "hunter2") {
			t.Errorf("%s: got %q", network, lines)
		}
		if _, err := l.Write([]byte("c\n")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: a closed socket takes a line: %v", network, err)
		}
	}
}

// A peer that comes late gets what was kept, and one that is never there costs bounded memory and no time.
func TestLogSocketWithoutPeer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := openLogSocket("unix:"+path, nil, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * socketQueue {
		if _, err := l.Write([]byte("line\n")); err != nil {
			t.Fatal(err)
		}
	}
	l.mu.Lock()
	kept, lost := len(l.lines), l.lost
	l.mu.Unlock()
	if kept != socketQueue || lost != socketQueue {
		t.Errorf("kept %d, lost %d", kept, lost)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := took(t, ln, 100); len(lines) != 100 || lines[99] != "line" {
		t.Errorf("the peer got %d lines", len(lines))
	}
	ln.Close() // the socket breaks, and there is no other peer
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "host", "host:", "unix:"} {
		if l, err := OpenLogSocket(address, nil); err == nil {
			t.Errorf("%q is the address %s", address, l.address)
		}
	}
}
