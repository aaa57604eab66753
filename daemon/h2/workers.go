package h2

import (
	"sync"
	"sync/atomic"
)

// workers run the handlers of all connections. One that has finished waits for more, up to a number of idle ones: the
// stack of a fresh goroutine would have to grow for every request.
type workers struct {
	jobs chan *stream // unbuffered: a worker that receives is free
	done chan struct{}
	once sync.Once
	idle atomic.Int64
}

// mostIdle is how many workers may wait.
const mostIdle = 256

// run hands a request to a free worker, or to a new one.
func (w *workers) run(st *stream) {
	select {
	case w.jobs <- st:
	default:
		go w.work(st)
	}
}

func (w *workers) work(st *stream) {
	for {
		st.run()
		st = nil
		if w.idle.Add(1) > mostIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case st = <-w.jobs:
			w.idle.Add(-1)
		case <-w.done:
			w.idle.Add(-1)
			return
		}
	}
}

func (w *workers) close() { w.once.Do(func() { close(w.done) }) }
