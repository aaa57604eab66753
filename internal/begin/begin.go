// Package begin keeps the garbage collector away from the start of a command.
//
// The packages of the program allocate about 6 MB of tables when they are initialised, and nearly all of it stays.
// At its usual pace the collector looks at that twice before a command does anything, which is a third of the time
// that a short command takes. This package makes it wait until the heap has 16 MiB; from the first collection on
// it has its usual pace again. Go initialises packages in the order of their paths, each as soon as its imports
// are initialised (The Go Programming Language Specification, Package initialization): this one imports next to
// nothing, so it comes before the large ones.
//
// The collector is the process's own: only a main package, or the command of one, may import this package.
package begin

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// percent lets the heap reach 16 MiB: the collector first runs at 4 MiB for each 100.
const percent = 400

// wait is the collector that waits.
type wait struct {
	mu     sync.Mutex // guards over
	before int        // the percentage that it had
	over   bool
}

var collector = begin()

func begin() *wait {
	w := &wait{before: debug.SetGCPercent(percent)}
	if w.before < 0 || w.before > percent { // the environment lets it wait longer
		w.Over()
		return w
	}
	// The first collection finds that nothing holds the canary.
	runtime.AddCleanup(new(canary), func(w *wait) { w.Over() }, w)
	return w
}

// canary is too large for the allocator to put it together with other objects.
type canary [64]byte

// Over gives the collector the pace that it had before. It does so once.
func (w *wait) Over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.over = true
		debug.SetGCPercent(w.before)
	}
}

// Over ends the wait: for commands that pace the collector themselves.
func Over() { collector.Over() }
