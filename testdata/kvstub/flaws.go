package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
)

// flaws are the faults of the network that a test asks for.
type flaws struct {
	mu     sync.Mutex
	lose   int           // so many commits are executed, and the answer is lost
	refuse int           // so many commits are lost on their way
	slow   int           // so many requests that lock wait before they are executed
	wait   time.Duration // for so long
	hold   chan struct{} // commits wait for its end, where it is not nil
	scans  chan struct{} // so do requests that look for locks
	locked [][]byte      // keys of requests that lock, the last ones
	next   int           // the place for the next

	waiting atomic.Int64 // requests that look for locks and wait
}

// keptKeys is how many keys flaws remember.
const keptKeys = 64

// note remembers a key of a request that locks.
func (f *flaws) note(q *kvrpcpb.PrewriteRequest) {
	if q == nil || len(q.Mutations) == 0 {
		return
	}
	key := bytes.Clone(q.Mutations[len(q.Mutations)/2].Key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.locked) < keptKeys {
		f.locked = append(f.locked, key)
		return
	}
	f.locked[f.next%keptKeys] = key
	f.next++
}

// lockedLately gives one of the keys that were locked lately; nil where none was.
func (f *flaws) lockedLately() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.locked) == 0 {
		return nil
	}
	return f.locked[rand.IntN(len(f.locked))]
}

// lease begins the keys that each server writes every few seconds. The faults are for what a test writes.
var lease = []byte("nacre-lease/")

var errLost = errors.New("the connection is lost")

// around runs a request, or behaves as if the connection broke.
func (f *flaws) around(q *tikvpb.BatchCommandsRequest_Request,
	run func() (*tikvpb.BatchCommandsResponse_Response, error)) (*tikvpb.BatchCommandsResponse_Response, error) {
	if lock, prewrite := q.Cmd.(*tikvpb.BatchCommandsRequest_Request_Prewrite); prewrite {
		f.note(lock.Prewrite)
		time.Sleep(f.delay())
		return run()
	}
	commit, ok := q.Cmd.(*tikvpb.BatchCommandsRequest_Request_Commit)
	if !ok || commit.Commit == nil || len(commit.Commit.Keys) == 0 || bytes.HasPrefix(commit.Commit.Keys[0], lease) {
		return run()
	}
	f.mu.Lock()
	hold, refuse, lose := f.hold, f.refuse > 0, f.refuse == 0 && f.lose > 0
	if refuse {
		f.refuse--
	} else if lose {
		f.lose--
	}
	f.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if refuse {
		return nil, errLost
	}
	r, err := run()
	if lose {
		return nil, errLost
	}
	return r, err
}

// set changes the faults to come.
func (f *flaws) set(lose, refuse int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose, f.refuse = lose, refuse
}

// delayPrewrites makes the next requests that lock wait.
func (f *flaws) delayPrewrites(times int, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow, f.wait = times, wait
}

// delay is how long a request that locks waits.
func (f *flaws) delay() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.slow == 0 {
		return 0
	}
	f.slow--
	return f.wait
}

// holdCommits makes commits wait, or lets them go on.
func (f *flaws) holdCommits(on bool) { f.turn(&f.hold, on) }

// holdScans makes requests that look for locks wait, or lets them go on.
func (f *flaws) holdScans(on bool) { f.turn(&f.scans, on) }

func (f *flaws) turn(gate *chan struct{}, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case on && *gate == nil:
		*gate = make(chan struct{})
	case !on && *gate != nil:
		close(*gate)
		*gate = nil
	}
}

// scan waits while requests that look for locks are held.
func (f *flaws) scan(ctx context.Context) {
	f.mu.Lock()
	gate := f.scans
	f.mu.Unlock()
	if gate == nil {
		return
	}
	f.waiting.Add(1)
	defer f.waiting.Add(-1)
	select {
	case <-gate:
	case <-ctx.Done():
	}
}
