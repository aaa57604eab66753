package daemon

import (
	"context"
	"fmt"
	"net"
	"syscall"
	"time"
)

// TCP keep-alive finds peers that vanished, for every protocol: WebSockets of clients that read only when they ask
// answer no pings, and must not be taken for dead. A peer is gone where its system has acknowledged nothing for that
// many intervals of pings.
const (
	deadAfter = 4
	leastDead = time.Second
)

// listen listens on address. A connection whose peer acknowledges nothing for the time dead fails, whether data waits
// to be acknowledged (where the system can be told) or not (keep-alive probes).
func listen(ctx context.Context, address string, dead time.Duration) (net.Listener, error) {
	probe := max(dead/deadAfter, time.Second)
	config := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probe, Interval: probe, Count: deadAfter - 1},
		Control: func(_, _ string, c syscall.RawConn) error {
			var failed error
			if err := c.Control(func(fd uintptr) { failed = boundUnacknowledged(fd, dead) }); err != nil {
				return fmt.Errorf("listen: %w", err)
			}
			return failed
		},
	}
	return config.Listen(ctx, "tcp", address)
}
