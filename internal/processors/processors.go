// Package processors tells how many processors there are to compute on, and has a server keep a thread more than that:
// a commit that is being synced keeps the place of one for a while, with nothing for a processor to do.
package processors

import (
	"os"
	"runtime"
	"sync/atomic"
)

// spared is how many of the runtime's threads have no processor of their own.
var spared atomic.Int32

// Count is how many processors goroutines compute on at the same time: at least one.
func Count() int { return max(1, runtime.GOMAXPROCS(0)-int(spared.Load())) }

// Spare has the runtime use a thread more than there are processors, until restore is called. GOMAXPROCS in the
// environment is heeded. It is for the main package of a server.
func Spare() (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	runtime.GOMAXPROCS(Count() + 1)
	spared.Store(1)
	return func() {
		spared.Store(0)
		runtime.SetDefaultGOMAXPROCS()
	}
}
