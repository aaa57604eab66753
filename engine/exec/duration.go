package exec

import (
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// goDuration is d for timers: the longest that Go has for what is longer.
func goDuration(d value.Duration) time.Duration {
	const longest = uint64(1<<63-1) / uint64(time.Second)
	if d.Secs >= longest {
		return 1<<63 - 1
	}
	return time.Duration(d.Secs)*time.Second + time.Duration(d.Nanos)
}

// durationOf is d as the language has it; negative ones are zero.
func durationOf(d time.Duration) value.Duration {
	if d < 0 {
		d = 0
	}
	return value.Duration{Secs: uint64(d / time.Second), Nanos: uint32(d % time.Second)}
}
