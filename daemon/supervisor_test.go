package daemon_test

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// listener collects what a server tells its supervisor.
type listener struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (l *listener) has(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.lines, line)
}

func listen(t *testing.T, name string) *listener {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			l.mu.Lock()
			l.lines = append(l.lines, strings.Split(string(b[:n]), "\n")...)
			l.mu.Unlock()
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return l
}

// READY=1 when connections are accepted, WATCHDOG=1 while the store answers, STOPPING=1 before the drain.
func TestSupervisor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	heard := listen(t, path)
	s := start(t, func(c *config.Config) {
		c.Supervisor = config.Supervisor{Socket: path, Watchdog: 20 * time.Millisecond}
	})
	for _, line := range []string{"READY=1", "STATUS=ready", "WATCHDOG=1"} {
		eventually(t, line, func() bool { return heard.has(line) })
	}
	if heard.has("STOPPING=1") {
		t.Error("STOPPING=1 while it runs")
	}
	s.http.CloseIdleConnections()
	if err := <-s.closing(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	eventually(t, "STOPPING=1", func() bool { return heard.has("STOPPING=1") })
}

// A startup that fails is reported, and a startup without a listener continues.
func TestSupervisorOfAFailedStartup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	heard := listen(t, path)
	start(t, func(c *config.Config) {
		c.Supervisor.Socket, c.ImportFile = path, filepath.Join(t.TempDir(), "missing.surql")
	})
	eventually(t, "the failure", func() bool { return heard.has("STATUS=startup failed") })
	deaf := start(t, func(c *config.Config) { c.Supervisor.Socket = filepath.Join(t.TempDir(), "nobody") })
	if !strings.Contains(deaf.logs.String(), "the supervisor cannot be told") {
		t.Error("not logged")
	}
}
