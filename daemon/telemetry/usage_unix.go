//go:build unix

package telemetry

import (
	"syscall"
	"time"
)

// processTime is the time of processors that the process has used, user and system.
func processTime() (time.Duration, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
