package retrieve

import (
	"context"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/settings"
)

const (
	// warmers is how many indexes are brought up to date behind writes at once.
	warmers = 2
	// warmPause is how long such work waits for more writes to the same Context.
	warmPause = 50 * time.Millisecond
)

// warming is the work behind writes: each Context has at most one goroutine, which ends when nothing is left to do
// or when the service closes.
type warming struct {
	ctx   context.Context
	stop  context.CancelFunc
	slots chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex      // guards what follows; a leaf lock
	again map[string]bool // Contexts at work, and whether there were more writes meanwhile
	shut  bool
}

func newWarming() *warming {
	w := &warming{slots: make(chan struct{}, warmers), again: map[string]bool{}}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Warm brings the index of a Context up to date behind a write, so that the next search finds it so: a search after
// many writes does not wait until all of them are read.
func (s *Service) Warm(t *settings.Tenant) {
	w := s.warm
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return
	}
	if _, ok := w.again[t.Context]; ok {
		w.again[t.Context] = true
		return
	}
	w.again[t.Context] = false
	w.wg.Go(func() { s.keepWarm(t) })
}

func (s *Service) keepWarm(t *settings.Tenant) {
	w := s.warm
	for more := true; more; {
		select {
		case <-w.ctx.Done():
		case <-time.After(warmPause):
		}
		select {
		case <-w.ctx.Done():
		case w.slots <- struct{}{}:
			if _, err := s.fresh(w.ctx, t); err != nil && w.ctx.Err() == nil {
				// The next search tries again.
				s.Log.Debug("bring an index up to date", "context", t.Context, "error", err)
			}
			<-w.slots
		}
		w.mu.Lock()
		if more = w.again[t.Context] && w.ctx.Err() == nil; more {
			w.again[t.Context] = false
		} else {
			delete(w.again, t.Context)
		}
		w.mu.Unlock()
	}
}

// Close ends the work behind writes and waits for it.
func (s *Service) Close() {
	w := s.warm
	w.mu.Lock()
	w.shut = true
	w.mu.Unlock()
	w.stop()
	w.wg.Wait()
}
