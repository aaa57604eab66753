// Package heap paces the garbage collector of a process that serves requests.
//
// The collector's own rule is to run when the heap has doubled: with 20 MiB in use that is many times a second under
// load, and a fifth of all work. Paced, it runs when so much is allocated as is in use, but at least a headroom; that
// is more memory only while there is little in it. When the process has had nothing to do for ten seconds, the headroom
// goes back to the system.
//
// The collector is the process's own: only a main package, or the command of one, may pace it.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	mostHeadroom    = 128 << 20
	leastHeadroom   = 4 << 20
	memoryShare     = 32  // of the machine's or the container's memory is headroom
	defaultPercent  = 100 // the collector's own
	lookEach        = time.Second
	workAllocation  = 1 << 20 // bytes between two looks that are work
	restAfter       = 10      // looks without work
	percentAccuracy = 10      // a change of the percentage by less than a tenth is not worth stopping for
)

// Headroom is what Pace is to be given here: a part of the memory that the process may use, at most 128 MiB.
func Headroom() uint64 {
	all := Memory()
	if all == 0 {
		return mostHeadroom / 2
	}
	return min(max(all/memoryShare, leastHeadroom), mostHeadroom)
}

// Pace lets the heap grow by headroom bytes at least between two collections, until stop is called. Where the
// environment sets GOGC nothing is changed; GOMEMLIMIT holds in any case.
func Pace(headroom uint64) (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	p := &pacer{headroom: headroom, percent: defaultPercent, stop: make(chan struct{}), done: make(chan struct{})}
	p.arm()
	go p.watch()
	return func() {
		close(p.stop)
		<-p.done
	}
}

// pacer sets the percentage by which the heap grows, after each collection and when work begins or is over.
type pacer struct {
	headroom uint64
	stop     chan struct{}
	done     chan struct{}

	mu      sync.Mutex // guards the rest; a leaf lock
	percent int64      // that is set
	working bool
	ended   bool
}

// sentinel becomes garbage at once: the next collection finds it.
type sentinel struct{ p *pacer }

// arm has adjust called after each collection.
func (p *pacer) arm() {
	runtime.AddCleanup(&sentinel{p}, func(p *pacer) {
		if p.adjust() {
			p.arm()
		}
	}, p)
}

// adjust sets the percentage for what the last collection has left; false: p has ended.
func (p *pacer) adjust() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	percent := int64(defaultPercent)
	if p.working {
		used, _ := read()
		percent = percentFor(used, p.headroom)
	}
	if diff := percent - p.percent; max(diff, -diff)*percentAccuracy > p.percent {
		p.percent = percent
		debug.SetGCPercent(int(percent))
	}
	return true
}

// leastUsed is what the collector takes the heap for where it is smaller.
const leastUsed = 4 << 20

// percentFor makes the heap grow by headroom or by used, whichever is more.
func percentFor(used, headroom uint64) int64 {
	return int64(max(defaultPercent, headroom*100/max(used, leastUsed)))
}

// read gives what the collector measures the growth by, and all that was ever allocated, in bytes.
func read() (used, allocated uint64) {
	s := [...]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"},
		{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64() + s[1].Value.Uint64() + s[2].Value.Uint64(), s[3].Value.Uint64()
}

// watch sees when there is work.
func (p *pacer) watch() {
	defer close(p.done)
	defer p.end()
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	var l load
	for {
		select {
		case <-tick.C:
			used, allocated := read()
			if l.changes(allocated) {
				p.turn(l.working, used)
			}
		case <-p.stop:
			return
		}
	}
}

// turn begins a time of work, or ends it: then the headroom goes back to the system.
func (p *pacer) turn(working bool, used uint64) {
	p.mu.Lock()
	p.working = working
	p.mu.Unlock()
	p.adjust()
	if !working && used < p.headroom {
		debug.FreeOSMemory()
	}
}

func (p *pacer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	debug.SetGCPercent(defaultPercent)
}

// load tells times of work from times without.
type load struct {
	seen    uint64 // allocated, at the last look
	idle    int    // looks since there was work
	working bool
}

// changes is asked at each look; it reports whether working is another one from now on.
func (l *load) changes(allocated uint64) bool {
	work := allocated-l.seen > workAllocation
	l.seen = allocated
	if work {
		l.idle = 0
	} else if l.idle++; l.idle < restAfter {
		work = l.working
	}
	was := l.working
	l.working = work
	return work != was
}
