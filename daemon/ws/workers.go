package ws

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/internal/wire"
)

// workers run the requests of all connections. A worker that has finished waits for more, up to a number of idle ones:
// a fresh goroutine would have to grow its stack in every request, which costs as much as a small statement.
type workers struct {
	jobs    chan job // unbuffered: a worker that receives is free; closed at the end
	idle    atomic.Int64
	running sync.WaitGroup
}

// job is a request or a text of statements to run, or messages to write, or a connection to read.
type job struct {
	conn  *conn
	req   wire.Request
	text  string
	work  func(ctx context.Context) // of a Protocol
	held  engine.Held               // of req and text, until they run
	flush bool
	read  bool
}

// maxIdleWorkers is how many workers may wait.
const maxIdleWorkers = 256

func newWorkers() *workers {
	return &workers{jobs: make(chan job)}
}

// run hands a request to a free worker, or to a new one.
func (w *workers) run(j job) {
	select {
	case w.jobs <- j:
	default:
		w.running.Go(func() { w.work(j) })
	}
}

func (w *workers) work(j job) {
	for {
		if j.read {
			j.conn.readOn()
		} else {
			j.conn.serve(&j)
		}
		j = job{}
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		next, more := <-w.jobs
		w.idle.Add(-1)
		if !more {
			return
		}
		j = next
	}
}

// close ends the idle workers and waits for all. Nothing may be run afterwards.
func (w *workers) close() {
	close(w.jobs)
	w.running.Wait()
}
