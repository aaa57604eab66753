package tikv

import (
	"math"
	"sync"
)

// order runs what batches ask for (kv.Batch.Applied) in the order of their commit timestamps. Timestamps only grow: a
// commit that has not asked for its own when another one knows its own comes after it. So a finished commit waits
// only for those that may have asked (stamping) or have an earlier one, and have no outcome yet.
type order struct {
	mu      sync.Mutex // held while Applied runs
	changed *sync.Cond
	flights map[*flight]struct{}
}

// flight is a commit under way.
type flight struct {
	stamp uint64 // at least so large its timestamp is or will be
}

func (o *order) init() {
	o.changed = sync.NewCond(&o.mu)
	o.flights = map[*flight]struct{}{}
}

// enter begins a commit, which asks for no timestamp before it calls stamping.
func (o *order) enter() *flight {
	f := &flight{stamp: math.MaxUint64}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flights[f] = struct{}{}
	return f
}

// stamping says that f may ask for its timestamp from now on.
func (o *order) stamping(f *flight) { o.set(f, 0) }

// stamped says that the timestamp of f is ts, or later.
func (o *order) stamped(f *flight, ts uint64) { o.set(f, ts) }

func (o *order) set(f *flight, ts uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.stamp == math.MaxUint64 || f.stamp < ts {
		f.stamp = ts
		o.changed.Broadcast()
	}
}

// failed ends a commit that did not happen, or whose outcome is unknown.
func (o *order) failed(f *flight) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.flights, f)
	o.changed.Broadcast()
}

// applied ends a commit at ts and runs fn, if there is one, in its turn.
func (o *order) applied(f *flight, ts uint64, fn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.stamp = ts
	o.changed.Broadcast()
	if fn != nil {
		for o.behind(ts) {
			o.changed.Wait()
		}
		fn()
	}
	delete(o.flights, f)
	o.changed.Broadcast()
}

// behind reports whether something at or under way with an earlier timestamp has not run.
func (o *order) behind(ts uint64) bool {
	for f := range o.flights {
		if f.stamp < ts {
			return true
		}
	}
	return false
}
