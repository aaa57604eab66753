package daemon

import (
	"fmt"
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7), in milliseconds; accepted connections inherit it.
const tcpUserTimeout = 18

// boundUnacknowledged makes connections fail whose peer leaves data unacknowledged for a time.
func boundUnacknowledged(fd uintptr, dead time.Duration) error {
	if err := syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout,
		int(dead/time.Millisecond)); err != nil {
		return fmt.Errorf("set TCP_USER_TIMEOUT: %w", err)
	}
	return nil
}
