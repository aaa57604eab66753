package config

import (
	"strconv"
	"strings"
	"time"
)

// Supervisor is how to tell the process that started the server (systemd) how it is.
type Supervisor struct {
	Socket   string        // datagram socket; "": no notifications
	Watchdog time.Duration // after that much silence it takes the server for dead; 0: never
}

// SupervisorOf reads what systemd says in the environment of the process pid: NOTIFY_SOCKET, WATCHDOG_USEC and
// WATCHDOG_PID. What is meant for another process does not count.
func SupervisorOf(environ []string, pid int) Supervisor {
	var s Supervisor
	meant := true
	for _, pair := range environ {
		name, v, _ := strings.Cut(pair, "=")
		switch name {
		case "NOTIFY_SOCKET":
			s.Socket = v
		case "WATCHDOG_USEC":
			if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 &&
				n < int64(365*24*time.Hour/time.Microsecond) {
				s.Watchdog = time.Duration(n) * time.Microsecond
			}
		case "WATCHDOG_PID":
			meant = v == strconv.Itoa(pid)
		}
	}
	if !meant || s.Socket == "" {
		s.Watchdog = 0
	}
	return s
}
