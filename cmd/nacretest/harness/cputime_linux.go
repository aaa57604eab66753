package harness

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time of all threads of a process, those that have ended included, to the nanosecond.
// /proc/PID/stat has hundredths of a second, a third of some loads. Where the process has ended the error wraps
// os.ErrNotExist.
func cpuTime(pid int) (time.Duration, error) {
	// The clock of another process; see clock_getcpuclockid(3).
	const scheduled = 2
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts)
	if errors.Is(err, unix.EINVAL) {
		err = os.ErrNotExist
	}
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
