// Package heap paces the garbage collector of a process that serves requests.
//
// The collector's own rule is to run when the heap has doubled: with 20 MiB in use that is many times a second under
// load, and a fifth of all work. Paced, it runs when so much is allocated as is in use, but at least a headroom; that
// is more memory only while there is little in it. When the process has had nothing to do for five seconds, the
// headroom goes back to the system; so does what was in use by far more work than there is now.
//
// A heap of large flat data (vectors, texts, blobs) is another matter: a collection passes it by, so it costs little,
// while a heap that doubles costs as much memory again. There the collector runs earlier: twenty thousand vectors and
// their index take what they need and an eighth, not twice that. How flat a heap is shows after each collection; the
// headroom begins small and grows with each one that finds no such data, and also where collections take too much of
// the processor time: a bulk load keeps its records as flat data, too, but allocates so fast that early collections
// were a third of its work.
//
// The collector is the process's own: only a main package, or the command of one, may pace it.
package heap

import (
	"math"
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
	workAllocation  = 1 << 20         // bytes between two looks that are work
	restAfter       = 5               // looks without work
	freeLargeEach   = 5 * time.Second // between two collections of a large heap that rests, at least
	freeShare       = 20              // the time of a collection is at most such a part of that between two of them
	percentAccuracy = 10              // a change of the percentage by less than a tenth is not worth stopping for

	flatPart    = 0.2     // and less of a heap of flat data has to be looked at
	mixedPart   = 0.3     // and more, of one that is paced as any other
	flatShare   = 8       // a part of a flat heap is what it grows by
	firstSpare  = 8 << 20 // headroom at the beginning
	leastSpare  = 6 << 20 // and in the end, for flat heaps
	dearShare   = 0.05    // of the processor time is too much for collections
	mostHurried = 32
)

// Headroom returns the argument for Pace on this machine: a part of the memory that the process may use, at most 128
// MiB.
func Headroom() uint64 {
	all := Memory()
	if all == 0 {
		return mostHeadroom / 2
	}
	return min(max(all/memoryShare, leastHeadroom), mostHeadroom)
}

// Pace lets the heap grow by headroom bytes at least between two collections, until stop is called, by less where it is
// of flat data. Where the environment sets GOGC nothing is changed; GOMEMLIMIT holds in any case.
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

// Limit makes the collector work harder as the process comes near to the memory that it may use, until restore is
// called: garbage is collected rather than the process ended. Where the environment sets GOMEMLIMIT, or the memory is
// not known, nothing is changed.
func Limit() (restore func()) {
	all := Memory()
	if os.Getenv("GOMEMLIMIT") != "" || all == 0 {
		return func() {}
	}
	was := debug.SetMemoryLimit(int64(min(all, math.MaxInt64) / limitParts * limitShare))
	return func() { debug.SetMemoryLimit(was) }
}

// The collector is to keep the process below so many parts of its memory.
const (
	limitShare = 7
	limitParts = 8
)

// pacer sets the percentage by which the heap grows, after each collection and when work begins or is over.
type pacer struct {
	headroom uint64
	stop     chan struct{}
	done     chan struct{}

	freed   time.Time     // when memory was given back last; of watch alone, as the next ones
	cost    time.Duration // of that
	settled uint64        // bytes that the process had of the system afterwards
	calm    int           // looks since it had much more and was slow to use it

	mu      sync.Mutex // guards the rest; a leaf lock
	percent int64      // that is set
	spare   uint64     // what the heap was to grow by
	hurry   float64    // how much more than that, because collections were dear; 1 and more
	last    spent      // at the last collection
	working bool
	ended   bool
}

// sentinel becomes garbage at once: the next collection finds it.
type sentinel struct{ p *pacer }

// arm has adjust called after each collection.
func (p *pacer) arm() {
	runtime.AddCleanup(&sentinel{p}, func(p *pacer) {
		if p.collected() {
			p.arm()
		}
	}, p)
}

// collected is adjust after a collection.
func (p *pacer) collected() bool {
	now := readSpent()
	p.mu.Lock()
	if now.dear(p.last) {
		p.hurry = min(max(p.hurry, 1)*1.5, mostHurried)
	} else {
		p.hurry = max(p.hurry*0.9, 1)
	}
	p.last = now
	p.mu.Unlock()
	return p.adjust()
}

// spent is processor time of the process, in seconds.
type spent struct {
	collecting float64
	running    float64 // its own code
}

// readSpent reads what was spent up to now.
func readSpent() spent {
	s := [...]metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s[:])
	return spent{collecting: s[0].Value.Float64(), running: s[1].Value.Float64()}
}

// dear reports whether collections took too much of what was spent since before.
func (s spent) dear(before spent) bool {
	collecting, running := s.collecting-before.collecting, s.running-before.running
	return collecting > dearShare*(collecting+running)
}

// adjust sets the percentage for what the last collection has left; false: p has ended.
func (p *pacer) adjust() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	u := read()
	full := max(u.used, leastUsed)
	if p.working {
		full = max(full, p.headroom)
	}
	p.spare = min(uint64(float64(u.spare(full))*max(p.hurry, 1)), full,
		max(p.spare+p.spare/4, firstSpare, u.used/flatShare))
	percent := percentFor(u.used, p.spare)
	if diff := percent - p.percent; max(diff, -diff)*percentAccuracy > p.percent {
		p.percent = percent
		debug.SetGCPercent(int(percent))
	}
	return true
}

// leastUsed is the least size that the collector assumes for the heap.
const leastUsed = 4 << 20

// percentFor makes the heap grow by spare.
func percentFor(used, spare uint64) int64 {
	return int64(max(spare*100/max(used, leastUsed), 1))
}

// usage holds the sizes that the last collection found, in bytes.
type usage struct {
	used      uint64 // what the collector measures the growth by
	live      uint64 // of the heap
	scanned   uint64 // of it, what had to be looked at
	allocated uint64 // in all, ever
}

// spare is what the heap is to grow by, where full is for one that has to be looked at.
func (u usage) spare(full uint64) uint64 {
	least := min(max(u.used/flatShare, leastSpare), full)
	part := float64(u.scanned) / float64(max(u.live, 1))
	share := min(max((part-flatPart)/(mixedPart-flatPart), 0), 1)
	return least + uint64(share*float64(full-least))
}

// read gives the usage.
func read() usage {
	s := [...]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"},
		{Name: "/gc/scan/heap:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	n := func(i int) uint64 { return s[i].Value.Uint64() }
	return usage{used: n(0) + n(1) + n(2), live: n(0), scanned: n(3), allocated: n(4)}
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
			u := read()
			grown := u.allocated - l.seen
			if l.changes(u.allocated) {
				p.turn(l.working, u.used)
			} else if p.surplus(mapped(), grown) && p.mayFree(math.MaxUint64, time.Now()) {
				p.free()
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
	if !working && p.mayFree(used, time.Now()) {
		p.free()
	}
}

// free collects everything and gives back what is free.
func (p *pacer) free() {
	began := time.Now()
	debug.FreeOSMemory()
	p.freed = time.Now()
	p.cost, p.settled, p.calm = p.freed.Sub(began), mapped(), 0
}

// A process that has surplusHeadrooms more of the system than when it gave memory back last, and surplusShare of that,
// for calmLooks, and allocates less than one part in slowShare of all that a second, will not use it soon: it is what
// some clients had who are gone. The collector would find that out when so much more is allocated, which may be never.
const (
	surplusHeadrooms = 2
	surplusShare     = 4
	calmLooks        = 3
	slowShare        = 16
)

// surplus is asked at each look: whether the process has much more of the system than it will use soon. all is what it
// has, grown what it allocated since the last look.
func (p *pacer) surplus(all, grown uint64) bool {
	if all < p.settled+p.settled/surplusShare+surplusHeadrooms*p.headroom || grown > all/slowShare {
		p.calm = 0
		return false
	}
	p.calm++
	return p.calm >= calmLooks
}

// mapped is how many bytes the process has of the system.
func mapped() uint64 {
	s := [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// mayFree reports whether to collect everything, and give back what is free, because work is over. Where the last
// collection found much that is only done now and then: it may have come in the midst of a large transaction, and all
// of that may be garbage by now, but what is still in use takes long to look at.
func (p *pacer) mayFree(used uint64, now time.Time) bool {
	if used >= p.headroom && now.Sub(p.freed) < max(freeLargeEach, freeShare*p.cost) {
		return false
	}
	p.freed = now
	return true
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
