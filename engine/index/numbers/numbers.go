// Package numbers gives the numbers by which indexes know what they hold. Numbers ascend; they are
// microseconds, pushed on where several are taken in one, so a process that starts later goes on above
// without having to look. It promises nothing about numbers of other processes: who stores them checks.
package numbers

import (
	"sync/atomic"
	"time"
)

// Source gives numbers. The zero value is ready; it is safe for concurrent use.
type Source struct{ last atomic.Uint64 }

// Next is a number greater than all that were given before.
func (s *Source) Next() uint64 { return s.Take(1) }

// Take reserves count numbers in a row and gives the first.
func (s *Source) Take(count uint64) uint64 {
	now := uint64(max(1, time.Now().UnixMicro()))
	for {
		last := s.last.Load()
		first := max(last+1, now)
		if s.last.CompareAndSwap(last, first+count-1) {
			return first
		}
	}
}
