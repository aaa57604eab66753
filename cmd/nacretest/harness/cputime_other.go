//go:build !linux

package harness

import (
	"errors"
	"time"
)

// cpuTime is known on Linux alone.
func cpuTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
