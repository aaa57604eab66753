package socket_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/socket"
)

// within polls for what has to be so soon.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: ", what)
		}
	}
}

func TestPulseBeatsWhileRequestsCome(t *testing.T) {
	var beats atomic.Int64
	var holds atomic.Bool
	done := make(chan struct{})
	p := socket.Pulse{Every: time.Millisecond, Still: 3, Done: done, Beat: func() bool {
		beats.Add(1)
		return holds.Load()
	}}
	for range 3 {
		if !p.Begin() {
			t.Fatal("the first request did not begin it")
		}
		now := beats.Load()
		within(t, "a beat after a request", func() bool { return beats.Load() > now })
		within(t, "its end without requests", func() bool { return !p.Beating() })
	}
	holds.Store(true)
	p.Begin()
	now := beats.Load()
	within(t, "beats while there is something to see to", func() bool { return beats.Load() > now+20 })
	holds.Store(false)
	within(t, "its end after that", func() bool { return !p.Beating() })
	holds.Store(true)
	p.Begin()
	close(done)
	now = beats.Load()
	within(t, "its end", func() bool {
		was := now
		now = beats.Load()
		time.Sleep(20 * time.Millisecond)
		return now == was
	})
}

func TestRareRequestsDoNotBeginPulse(t *testing.T) {
	p := socket.Pulse{Every: time.Hour, Still: 1, After: 4, Done: t.Context().Done()}
	for i := range 3 {
		if p.Begin() {
			t.Errorf("request %d began it", i)
		}
	}
	began := false
	for range 1000 * 4 { // some four of them in a row are quick
		began = began || p.Begin()
	}
	if !began || !p.Beating() {
		t.Error("many did not begin it")
	}
}

// TestPulseSeesAllThatItPromises holds that a beat comes after each request for which Begin or Beating said so,
// also where the goroutine of beats is about to stop.
func TestPulseSeesAllThatItPromises(t *testing.T) {
	var mu sync.Mutex
	waiting := map[chan struct{}]bool{}
	p := socket.Pulse{Every: 50 * time.Microsecond, Done: t.Context().Done(), Beat: func() bool {
		mu.Lock()
		defer mu.Unlock()
		for seen := range waiting {
			close(seen)
		}
		clear(waiting)
		return false
	}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 300 {
				seen := make(chan struct{})
				p.Begin()
				mu.Lock()
				waiting[seen] = true
				mu.Unlock()
				if !p.Beating() {
					continue
				}
				select {
				case <-seen:
				case <-time.After(10 * time.Second):
					t.Error("a beat did not come")
					return
				}
			}
		})
	}
	wg.Wait()
}
