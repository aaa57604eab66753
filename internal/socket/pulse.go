package socket

import (
	"sync/atomic"
	"time"
)

// Pulse beats while requests come: it calls a function at an interval, from one goroutine for all requests. A timer
// for each of them would cost more than many requests do. Its timer also wakes the monitor of the runtime. It stops
// after some beats without a request, and begins again with the next one. Its fields are set before it is used.
type Pulse struct {
	Every time.Duration   // interval of the beats
	Still int             // beats without a request after which it stops
	After uint64          // requests within pulseBurst that begin it; 0 and 1: the first one does
	Done  <-chan struct{} // ends it
	// Beat is called at each beat. It reports whether the next one has anything to look at; nil: it has not.
	Beat func() bool

	begun   atomic.Uint64 // requests
	beating atomic.Bool   // the goroutine of beats runs
	counted atomic.Int64  // when the last After requests had begun
}

// pulseBurst is the time in which a Pulse wants to see After requests.
const pulseBurst = 50 * time.Millisecond

// pulseZero is what times of a Pulse count from.
var pulseZero = time.Now()

// Begin counts a request that begins, and wakes the monitor of the runtime where no timer does. It reports whether
// a beat comes after it.
//
// A promised beat comes. The goroutine says that it stops before it looks for new requests, and calls Beat, for the
// last time. A caller of Begin has counted its request, and a caller of Beating has done what Beat is to see,
// before it asks whether the goroutine runs. One of the two sees the other.
func (p *Pulse) Begin() bool {
	n := p.begun.Add(1)
	return p.beating.Load() || p.start(n)
}

// Beating reports whether a beat comes after what the caller has done up to now.
func (p *Pulse) Beating() bool { return p.beating.Load() }

func (p *Pulse) start(n uint64) bool {
	Rouse() // it finds the timer, if there will be one, when it sleeps again
	if p.After > 1 {
		if n%p.After != 0 {
			return false
		}
		now := int64(time.Since(pulseZero))
		if last := p.counted.Swap(now); now-last > int64(pulseBurst) {
			return false
		}
	}
	if p.beating.CompareAndSwap(false, true) {
		go p.run()
	}
	return true
}

// run is the goroutine of beats.
func (p *Pulse) run() {
	t := time.NewTicker(p.Every)
	defer t.Stop()
	last := p.begun.Load()
	for still := 0; ; still++ {
		select {
		case <-t.C:
		case <-p.Done:
			return
		}
		now := p.begun.Load()
		if p.beat() || now != last {
			still, last = 0, now
		}
		if still < p.Still {
			continue
		}
		p.beating.Store(false)
		if p.begun.Load() == last && !p.beat() || !p.beating.CompareAndSwap(false, true) {
			return // a request that begins now has another goroutine begin
		}
	}
}

func (p *Pulse) beat() bool { return p.Beat != nil && p.Beat() }
