package ingest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

// Kinds of jobs.
const (
	JobDocument = "document_ingest"
)

const (
	maxAttempts = 5
	perContext  = 2 // jobs of one Context at once in a process
)

// Permanent is an error that a repetition does not mend.
type Permanent struct{ Err error }

// Error implements error.
func (p Permanent) Error() string { return p.Err.Error() }

// Unwrap gives the cause.
func (p Permanent) Unwrap() error { return p.Err }

// Worker does jobs until its context ends.
type Worker struct {
	S     *Service
	Name  string        // of this process, for leases
	Count int           // jobs at once
	Lease time.Duration // how long a job is held without a sign of life
	Poll  time.Duration

	mu      sync.Mutex     // guards running; a leaf lock
	running map[string]int // by Context
}

// NewWorker makes a worker with the usual times.
func NewWorker(s *Service) *Worker {
	return &Worker{S: s, Name: store.NewID(), Count: 2, Lease: 15 * time.Second, Poll: 500 * time.Millisecond,
		running: map[string]int{}}
}

// Run claims and does jobs. It returns when ctx has ended and every job has been finished or given back.
func (w *Worker) Run(ctx context.Context) {
	slots := make(chan struct{}, w.Count)
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(w.Poll)
	defer tick.Stop()
	for ctx.Err() == nil {
		j, err := w.claim(ctx, slots)
		if err != nil && ctx.Err() == nil {
			w.S.Log.Warn("claim a job", "error", err)
		}
		if j == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
			case <-w.S.wake:
			}
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer func() { w.add(j.Context, -1); <-slots }()
			w.do(ctx, *j)
		}()
	}
}

func (w *Worker) add(contextID string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[contextID] += n; w.running[contextID] == 0 {
		delete(w.running, contextID)
	}
}

func (w *Worker) count(contextID string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running[contextID]
}

// claim takes the next job when there is a slot: of the Context with the fewest running ones.
func (w *Worker) claim(ctx context.Context, slots chan struct{}) (*store.Job, error) {
	select {
	case slots <- struct{}{}:
	default:
		return nil, nil
	}
	now := time.Now().UTC()
	jobs, err := w.S.Store.Runnable(ctx, now)
	for n := range perContext {
		for _, j := range jobs {
			if err != nil || w.count(j.Context) != n {
				continue
			}
			var ok bool
			if ok, err = w.S.Store.ClaimJob(ctx, j.ID, w.Name, now, now.Add(w.Lease)); ok {
				j.Owner, j.Attempt = w.Name, j.Attempt+1
				w.add(j.Context, 1)
				return &j, nil
			}
		}
	}
	<-slots
	return nil, err
}

// do runs a job under its lease and writes how it ended.
func (w *Worker) do(ctx context.Context, j store.Job) {
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stage := &stageNote{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.beat(work, cancel, j, stage)
	}()
	w.S.reached(stageClaimed)
	tracked, sp := span.Start(work, "job "+j.Kind, span.Internal)
	sp.Set("memsvc.context", j.Context)
	sp.Set("memsvc.attempt", j.Attempt)
	err := w.run(tracked, j, stage)
	sp.Set("memsvc.stage", stage.get())
	sp.End(err)
	lost := errors.Is(context.Cause(work), errLost)
	cancel(nil)
	<-done
	if lost {
		w.S.Log.Warn("the lease of a job was lost", "job", j.ID)
		return
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	w.settle(end, ctx.Err() != nil, j, stage.get(), err)
}

var errLost = errors.New("the lease was lost")

// beat extends the lease until the work ends; when it is lost the work is stopped.
func (w *Worker) beat(ctx context.Context, cancel context.CancelCauseFunc, j store.Job, stage *stageNote) {
	t := time.NewTicker(w.Lease / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if ok, err := w.S.Store.ExtendJob(ctx, j.ID, w.Name, stage.get(),
				time.Now().Add(w.Lease).UTC()); err == nil && !ok {
				cancel(errLost)
			}
		}
	}
}

func (w *Worker) run(ctx context.Context, j store.Job, stage *stageNote) error {
	t, err := w.S.tenant(ctx, j.Context)
	if err != nil {
		if problem.Is(err, "not-found") {
			return Permanent{err}
		}
		return err
	}
	if j.Kind == JobDocument {
		return w.S.ingestDocument(ctx, t, j, func(name string) {
			stage.set(name)
			w.S.reached(name)
		})
	}
	if j.Kind == JobReindex {
		return w.S.reindex(ctx, t, stage.set)
	}
	return Permanent{errors.New("there is no such kind of job")}
}

// Stages of a job beside the states of its document.
const (
	stageClaimed   = "claimed"
	stagePublished = "published"
	stagePublish   = "publishing"
)

func (s *Service) reached(stage string) {
	if s.AtStage != nil {
		s.AtStage(stage)
	}
}

// settle ends a job, or queues it again: at once when the process stops, later after a failure.
func (w *Worker) settle(ctx context.Context, stopping bool, j store.Job, stage string, err error) {
	now := time.Now().UTC()
	j.State, j.DoneAt, j.Stage, j.RunAfter = store.JobDone, now, stage, now
	var permanent Permanent
	switch {
	case err == nil:
	case stopping:
		j.State, j.DoneAt = store.JobQueued, time.Time{}
	case errors.As(err, &permanent) || j.Attempt >= maxAttempts:
		j.State, j.LastError = store.JobDead, publicError(err)
		if j.Kind == JobDocument {
			w.S.documentFailed(ctx, j, publicError(err))
		}
	default:
		j.State, j.LastError, j.DoneAt = store.JobQueued, publicError(err), time.Time{}
		wait := time.Duration(1<<min(j.Attempt, 8)) * w.S.Backoff
		j.RunAfter = now.Add(wait + rand.N(wait/2+1))
	}
	if err != nil {
		w.S.Log.Warn("job", "job", j.ID, "kind", j.Kind, "context", j.Context, "state", j.State, "attempt",
			j.Attempt, "error", err)
	}
	if err := w.S.Store.EndJob(ctx, j); err != nil {
		w.S.Log.Warn("end a job", "job", j.ID, "error", err)
	}
}

// publicError returns the part of an error that a caller may read.
func publicError(err error) string {
	var permanent Permanent
	if p := problem.As(err); p != nil {
		return p.Detail
	}
	if errors.As(err, &permanent) {
		return permanent.Error()
	}
	return "something went wrong; the log tells more"
}

// stageNote is where a job is; the heartbeat writes it down.
type stageNote struct {
	mu sync.Mutex // guards s; a leaf lock
	s  string
}

func (n *stageNote) set(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.s = s
}

func (n *stageNote) get() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.s
}
