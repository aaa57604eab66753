// Package footprint measures how much memory a call needs, for the fuzz targets and tests that hold a bound.
//
// What it measures is the process: meanwhile nothing else of weight may run. It is for tests alone.
package footprint

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Over runs f and gives how many bytes of heap and stacks it held at once, if that is more than limit; else 0. What f
// allocated in all is an upper bound of what it held: only where that is above the limit f runs again, under a
// collector that is always at work, so f must be a thing that can be done twice.
func Over(limit uint64, f func()) uint64 {
	if allocated(f) <= limit {
		return 0
	}
	if held := peak(f); held > limit {
		return held
	}
	return 0
}

// allocated is how much f allocated, whether it kept it or not, and by how much its stack grew, which is a new one: an
// old one may have grown before.
func allocated(f func()) (total uint64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(s)
		heap, stacks := s[0].Value.Uint64(), s[1].Value.Uint64()
		f()
		metrics.Read(s)
		total = s[0].Value.Uint64() - heap
		if after := s[1].Value.Uint64(); after > stacks {
			total += after - stacks
		}
	}()
	<-done
	return total
}

// peak is the most that was alive at any collection while f ran, beyond what was alive before.
func peak(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before, most := alive(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, alive())
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	if most < before {
		return 0
	}
	return most - before
}

// alive is the live heap of the last collection, and the stacks.
func alive() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

// Within runs f and ends the process with what when f takes longer than d: a fuzzer then keeps the input that hung.
func Within(d time.Duration, what string, f func()) {
	watch := time.AfterFunc(d, func() { panic(fmt.Sprintf("still running after %v: %q", d, what)) })
	defer watch.Stop()
	f()
}
