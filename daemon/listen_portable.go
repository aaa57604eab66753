//go:build !linux

package daemon

import "time"

// boundUnacknowledged does nothing: only Linux has the option. The system's own limit counts.
func boundUnacknowledged(uintptr, time.Duration) error { return nil }
