package main

import (
	"errors"
	"sync"
	"time"

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
}

var errLost = errors.New("the connection is lost")

// around runs a request, or behaves as if the connection broke.
func (f *flaws) around(q *tikvpb.BatchCommandsRequest_Request,
	run func() (*tikvpb.BatchCommandsResponse_Response, error)) (*tikvpb.BatchCommandsResponse_Response, error) {
	if _, prewrite := q.Cmd.(*tikvpb.BatchCommandsRequest_Request_Prewrite); prewrite {
		time.Sleep(f.delay())
		return run()
	}
	if _, commit := q.Cmd.(*tikvpb.BatchCommandsRequest_Request_Commit); !commit {
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
func (f *flaws) holdCommits(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case on && f.hold == nil:
		f.hold = make(chan struct{})
	case !on && f.hold != nil:
		close(f.hold)
		f.hold = nil
	}
}
