package query

import (
	"context"
	"sync"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// maxQueued is how many ASYNC events may wait. Beyond it the commit that queues more waits for room.
const maxQueued = 4096

// eventQueue runs ASYNC events after the commits that they belong to, each in a transaction of its own, one after the
// other. Its goroutine lives while there is something to run; close waits for it.
type eventQueue struct {
	ex *Runner

	mu      sync.Mutex // guards what follows; a leaf lock, not held while an event runs
	room    sync.Cond  // signalled when jobs get fewer, and when the goroutine ends
	jobs    []record.QueuedEvent
	running bool
	closed  bool
}

// queue hands the events of a transaction over once it has committed.
func (q *eventQueue) queue(tx *txn.Tx, log *record.Log) {
	if log == nil || len(log.Queued) == 0 {
		return
	}
	jobs := make([]record.QueuedEvent, 0, len(log.Queued))
	for _, j := range log.Queued {
		if j.Depth > max(int(j.Event.Define.MaxDepth), 1) {
			q.ex.Log.Error("asynchronous event dropped: nested too deep", "event", j.Event.Name, "table", j.Table.Name)
			continue
		}
		j.Doc = value.Detach(j.Doc)
		vars := make([]record.Param, len(j.Vars))
		for i, v := range j.Vars {
			vars[i] = record.Param{Name: v.Name, Value: value.Detach(v.Value)}
		}
		j.Vars = vars
		jobs = append(jobs, j)
	}
	tx.OnCommit(func(kv.Version) { q.add(jobs) })
}

func (q *eventQueue) add(jobs []record.QueuedEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range jobs {
		// An event that queues events itself must not wait for itself.
		for len(q.jobs) >= maxQueued && j.Depth == 1 && !q.closed {
			q.room.Wait()
		}
		if q.closed {
			return
		}
		q.jobs = append(q.jobs, j)
		if !q.running {
			q.running = true
			go q.work()
		}
	}
}

// work runs jobs until there are none.
func (q *eventQueue) work() {
	for {
		q.mu.Lock()
		if len(q.jobs) == 0 {
			q.jobs, q.running = nil, false
			q.room.Broadcast()
			q.mu.Unlock()
			return
		}
		j := q.jobs[0]
		q.jobs = q.jobs[1:]
		q.room.Broadcast()
		q.mu.Unlock()
		q.run(&j)
	}
}

// run runs one event, again as often as its RETRY says.
func (q *eventQueue) run(j *record.QueuedEvent) {
	var err error
	for range 1 + max(j.Event.Define.Retry, 0) {
		if err = q.attempt(j); err == nil {
			return
		}
	}
	q.ex.Log.Error("asynchronous event failed", "event", j.Event.Name, "table", j.Table.Name, "err", err)
}

func (q *eventQueue) attempt(j *record.QueuedEvent) error {
	ctx := q.ex.timed(context.Background())
	defer ctx.Stop(nil)
	sess := &exec.SessionState{Auth: auth.Authority{Principal: auth.DataUser(j.Table.DB.NS.Name, j.Table.DB.Name),
		NS: j.Table.DB.NS.Name, DB: j.Table.DB.Name, Caps: q.ex.Caps}}
	return q.ex.Write(ctx, sess, func(r *exec.Run) error {
		r.AsyncDepth = j.Depth
		def := j.Event.Define
		if def.When != nil {
			v, err := r.EvalIn(ctx, def.When, j.Doc, j.Vars, record.AsEngine)
			if err != nil || !value.Truthy(v) {
				return err
			}
		}
		for _, then := range def.Then {
			if _, err := r.EvalIn(ctx, then, j.Doc, j.Vars, record.AsEngine); err != nil {
				return err
			}
		}
		return nil
	})
}

// close takes no more jobs and waits for those that are queued.
func (q *eventQueue) close(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.jobs = nil
		q.room.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.running {
		q.room.Wait()
	}
}
