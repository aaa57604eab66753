package daemon_test

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// vanish makes the client's system drop all that comes for its connection, and never acknowledge anything again.
func (k *socket) vanish() {
	k.t.Helper()
	raw, err := k.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		k.t.Fatal(err)
	}
	drop := []syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K}}
	var failed error
	//lint:ignore SA1019 the package that replaces it makes filters and attaches none
	attach := func(fd uintptr) { failed = syscall.AttachLsf(int(fd), drop) }
	if err := raw.Control(attach); err != nil || failed != nil {
		k.t.Skipf("no filter here: %v %v", err, failed)
	}
}

// A peer that is gone without a word is found: its place is free again.
func TestVanishedPeerIsFound(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.Limits.WebSocketPing, c.Limits.WebSockets = 50*time.Millisecond, 1
	})
	s.dial("json").vanish()
	eventually(t, "the place is free again", func() bool { return s.upgrade("json").resp.StatusCode == 101 })
}
