package daemon

import (
	"context"
	"net"
	"strings"
	"time"
)

// supervisor tells the process that started the server, as systemd wants it (sd_notify): datagrams of NAME=value lines.
// A nil *supervisor sends nothing.
type supervisor struct{ conn net.Conn }

// newSupervisor connects to the socket of NOTIFY_SOCKET; nil for "". A name that begins with @ is an abstract one.
func newSupervisor(socket string) (*supervisor, error) {
	if socket == "" {
		return nil, nil
	}
	if name, abstract := strings.CutPrefix(socket, "@"); abstract {
		socket = "\x00" + name
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	return &supervisor{conn}, nil
}

// tell sends lines; who does not listen misses them.
func (s *supervisor) tell(lines ...string) {
	if s != nil {
		_, _ = s.conn.Write([]byte(strings.Join(lines, "\n")))
	}
}

func (s *supervisor) close() {
	if s != nil {
		_ = s.conn.Close()
	}
}

// watchdog tells twice in each period of the supervisor's patience that the store can be read, until ctx ends.
func (d *Daemon) watchdog(ctx context.Context, patience time.Duration) {
	tick := time.NewTicker(max(patience/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.engine.Ping(ctx); err == nil {
				d.supervisor.tell("WATCHDOG=1")
			} else if ctx.Err() == nil {
				d.log.Error("the store cannot be read", "component", "server", "err", err)
			}
		}
	}
}
