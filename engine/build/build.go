// Package build fills indexes beside writers, and removes what is left of definitions that are gone, in the background.
//
// A Builder belongs to one engine and is safe for concurrent use. What it does is in the store as catalog.Jobs: a job
// that was under way when the process died goes on with Resume. Package index says why an index that is filled beside
// writers is right.
//
// Of the processes that share a store one does a job: its holder, which stands beside the job. Each transaction of the
// work reads that, so a process that has lost a job commits nothing more of it. Others take over the jobs of a process
// that is gone (package nodes).
package build

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/internal/processors"
)

// Builder does the catalog.Jobs of a store.
//
// Each job has a goroutine; a few of them work at a time. It ends with its job, by End, which REMOVE calls once it is
// committed, and by Close, which waits for all. What was not done by then, or was under way when the process died, goes
// on with Resume: a job is in the store from the transaction that makes it to the one that finishes it.
type Builder struct {
	ex     *exec.Executor
	ctx    context.Context // of all jobs
	cancel context.CancelFunc
	slots  chan struct{} // held by the jobs that work

	mu   sync.Mutex // guards what follows; a leaf lock
	jobs map[jobID]*build
	wait sync.WaitGroup
}

// jobID is the index that a job is about, by ids, and whether it is filled or cleaned.
type jobID struct {
	table catalog.Scope
	ix    uint32
	clean bool
}

// build is one job under way.
type build struct {
	job  catalog.Job
	stop context.CancelFunc
	done chan struct{}
	err  error // why it did not come to its end; set before done is closed

	swept catalog.Swept // of a clean job; only its goroutine uses it

	holder [16]byte // this process, as it was called when it took the job; unused on a store of one process
	again  bool     // the last batch was refused; only its goroutine uses it
}

// The limits of a batch: from few records where writers are in the way, to many where they are not.
const (
	leastBatch = 64 // with the commit turn, which keeps away all who write
	leastAmong = 1  // on a store that is shared: the turn would keep away those of this process alone
	firstBatch = 32768
	mostBatch  = 131072
	batchBytes = 8 << 20
	cleanBatch = 8192 // keys

	// Those of a store that is shared: who meets what a batch has locked waits for all of it, and after three seconds
	// takes it for left behind, which undoes the batch.
	mostAmong, cleanAmong = 512, 512
)

// How long a job waits when the store does not take what it writes.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// errEnded says that the index of a job is gone, or wants no building.
var errEnded = errors.New("the index is gone")

// errTaken says that another process has taken over a job.
var errTaken = errors.New("another process has taken over the job")

// New makes a builder for the store of an executor.
func New(ex *exec.Executor) *Builder {
	b := &Builder{ex: ex, slots: make(chan struct{}, max(2, processors.Count())), jobs: map[jobID]*build{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Resume goes on with the building of indexes that was under way when the store was closed, or on a store that is
// shared, which no process does: then that is looked for again and again.
func (b *Builder) Resume(ctx context.Context) error {
	if p := b.ex.Process; p != nil {
		p.Each(func(ctx context.Context) {
			if err := b.takeOver(ctx); err != nil && ctx.Err() == nil {
				b.ex.Log.Warn("the work on indexes that other servers have left is not taken over yet", "err", err)
			}
		})
		return b.takeOver(ctx)
	}
	jobs, err := b.listed(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		b.start(j, [16]byte{})
	}
	return nil
}

// takeOver begins the jobs whose holder is gone.
func (b *Builder) takeOver(ctx context.Context) error {
	jobs, err := b.listed(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		b.mu.Lock()
		busy := b.jobs[idOf(j)] != nil
		b.mu.Unlock()
		if busy {
			continue
		}
		stored, err := b.claim(ctx, j)
		if err != nil {
			return err
		}
		if stored != nil {
			b.start(stored, b.ex.Process.ID())
		}
	}
	return nil
}

// claim makes this process the holder of a job, and gives it as it is stored; nil where another process does it, or
// nothing is to be done.
func (b *Builder) claim(ctx context.Context, j *catalog.Job) (stored *catalog.Job, err error) {
	me := b.ex.Process.ID()
	err = txn.Retry(ctx, b.ex.Store, b.ex.Reading(), func(tx *txn.Tx) error {
		view := b.ex.Catalog.View(tx)
		if stored, err = view.Job(j); stored == nil || err != nil {
			return err
		}
		holder, held, err := view.JobHolder(stored)
		if err != nil {
			return err
		}
		if held && holder != me {
			works, err := nodes.Works(b.ex.Store, tx, holder)
			if works {
				stored = nil
			}
			if works || err != nil {
				return err
			}
		}
		if err := nodes.Here(tx, me); err != nil {
			return err
		}
		return view.HoldJob(stored, me)
	})
	return stored, err
}

// holds is errTaken where another process does the job of w.
func (b *Builder) holds(view *catalog.View, w *build) error {
	if b.ex.Process == nil {
		return nil
	}
	holder, held, err := view.JobHolder(&w.job)
	if err == nil && (!held || holder != w.holder) {
		err = errTaken
	}
	return err
}

// listed are the jobs of the store.
func (b *Builder) listed(ctx context.Context) ([]*catalog.Job, error) {
	tx, err := txn.Begin(ctx, b.ex.Store, b.ex.Reading())
	if err != nil {
		return nil, err
	}
	defer tx.Cancel()
	return b.ex.Catalog.View(tx).Jobs()
}

// Left is a job that a transaction leaves to be done when it is committed.
type Left struct {
	build *build // once it is
}

// Postpone stores a job and starts it once the transaction of r is committed.
func (b *Builder) Postpone(r *exec.Run, j *catalog.Job) (*Left, error) {
	left := &Left{}
	var me [16]byte
	if p := b.ex.Process; p != nil {
		me = p.ID()
		if err := r.Cat.HoldJob(j, me); err != nil {
			return nil, err
		}
	}
	r.Tx.OnCommit(func(kv.Version) { left.build = b.start(j, me) })
	return left, r.Cat.PutJob(j)
}

// Discard removes an index at once, and what is stored of it in the background.
func (b *Builder) Discard(r *exec.Run, tb *catalog.Table, ix *catalog.Index) error {
	g, err := r.Gate()
	if err != nil {
		return err
	}
	g.Forget(ix)
	j := catalog.JobOf(tb, ix)
	j.Clean = true
	if _, err := b.Postpone(r, j); err != nil {
		return err
	}
	return b.Undefine(r, ix)
}

// Undefine removes the definition of an index, and ends the work on it once that is committed.
func (b *Builder) Undefine(r *exec.Run, ix *catalog.Index) error {
	s, id := ix.Scope, ix.ID
	r.Tx.OnCommit(func(kv.Version) { b.End(live.Table{NS: s.NS, DB: s.DB, TB: s.TB}, id) })
	return r.Cat.Delete(ix.Def)
}

func idOf(j *catalog.Job) jobID { return jobID{j.Scope, j.Index, j.Clean} }

// start begins a job, which is stored. One that is under way stays.
func (b *Builder) start(j *catalog.Job, holder [16]byte) *build {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.jobs[idOf(j)]; w != nil {
		return w
	}
	ctx, stop := context.WithCancel(b.ctx)
	w := &build{job: *j, stop: stop, done: make(chan struct{}), holder: holder}
	if w.err = ctx.Err(); w.err != nil {
		stop()
		close(w.done)
		return w
	}
	b.jobs[idOf(j)] = w
	b.wait.Go(func() { b.work(ctx, w) })
	return w
}

// End stops the jobs of what was removed. Ids that are 0 stand for everything inside.
func (b *Builder) End(of live.Table, ix uint32) {
	in := func(want, have uint32) bool { return want == 0 || want == have }
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, w := range b.jobs {
		if in(of.NS, id.table.NS) && in(of.DB, id.table.DB) && in(of.TB, id.table.TB) && in(ix, id.ix) && !id.clean {
			w.stop()
		}
	}
}

// Close stops all jobs and waits for them.
func (b *Builder) Close() {
	b.cancel()
	b.wait.Wait()
}

// work does a job to its end.
func (b *Builder) work(ctx context.Context, w *build) {
	defer w.stop()
	select {
	case b.slots <- struct{}{}:
		w.err = b.run(ctx, w)
		<-b.slots
	case <-ctx.Done():
		w.err = ctx.Err()
	}
	if b.ctx.Err() == nil && !w.job.Clean && !errors.Is(w.err, errTaken) && !errors.Is(w.err, kv.ErrClosed) &&
		!errors.Is(w.err, kv.ErrReadOnly) {
		b.forget(w)
	}
	b.mu.Lock()
	delete(b.jobs, idOf(&w.job))
	b.mu.Unlock()
	close(w.done)
}

// run does a job. A panic ends it: it would come again.
func (b *Builder) run(ctx context.Context, w *build) (err error) {
	defer func() {
		if p := recover(); p != nil {
			b.ex.Log.Error("building an index panicked", "index", w.job.Named, "panic", p, "stack",
				string(debug.Stack()))
			err = b.fail(ctx, w, errs.Internal("An internal error occurred"))
		}
	}()
	step := b.fill
	if w.job.Clean {
		step = b.clean
	}
	least, most := b.least(), b.among(mostBatch, mostAmong)
	growth := int64(4) // slower once writers have been in the way
	for pause, size := firstWait, min(firstBatch, most); ; {
		more, err := step(ctx, w, size)
		switch {
		case err == nil && !more:
			return nil
		case err == nil:
			pause, size, w.again = firstWait, min(growth*size, most), false
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errEnded), errors.Is(err, errTaken), errors.Is(err, kv.ErrClosed),
			errors.Is(err, kv.ErrReadOnly):
			return err
		case errors.Is(err, kv.ErrConflict), tooLarge(err) && size > least:
			growth, size, w.again = 2, max(size/4, least), true
		case unfit(err):
			return b.fail(ctx, w, err)
		default:
			b.ex.Log.Error("building an index is delayed", "index", w.job.Named, "table", w.job.Table, "err", err)
			if err := rest(ctx, pause); err != nil {
				return err
			}
			pause = min(2*pause, longestWait)
		}
	}
}

// least is the size of the smallest batch.
func (b *Builder) least() int64 { return b.among(leastBatch, leastAmong) }

// bytes is what a batch may store: on a small machine, a small share of the memory of all statements.
func (b *Builder) bytes() int64 {
	if pool := b.ex.Memory; pool != nil {
		return min(batchBytes, pool.Stats().Limit/64)
	}
	return batchBytes
}

// among is one limit, or another one on a store that is shared.
func (b *Builder) among(alone, shared int64) int64 {
	if b.ex.Process != nil {
		return shared
	}
	return alone
}

// tooLarge reports whether a smaller batch may be taken where this one was not.
func tooLarge(err error) bool {
	return errors.Is(err, kv.ErrTooLarge) || errors.Is(err, errs.OutOfMemory())
}

// unfit reports whether an error of a batch says that the records do not fit the index, and will not when it is tried
// again.
func unfit(err error) bool {
	var e *errs.Error
	for _, passing := range []error{kv.ErrNoSpace, kv.ErrUndetermined, kv.ErrUnavailable, kv.ErrTooOld} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return errors.As(err, &e) || errors.Is(err, kv.ErrKey) || errors.Is(err, kv.ErrTooLarge)
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// site is the index of a job as a transaction sees it.
type site struct {
	r  *exec.Run
	g  *record.Gate
	tb *catalog.Table
	ix *catalog.Index
}

// access is how a transaction of a job works.
type access struct {
	alone bool // no other transaction commits meanwhile, unless other processes share the store
	write bool
	loose bool // of all definitions only changes of its table and index are conflicts
}

// inside runs f once, in a transaction of its own, and commits it.
func (b *Builder) inside(ctx context.Context, w *build, a access, f func(*site) error) error {
	opt := b.ex.Reading()
	opt.Write = a.write
	if a.alone && b.ex.Process == nil {
		turn, err := b.ex.Store.Exclusive(ctx)
		if err != nil {
			return err
		}
		defer turn.Release()
		opt.Turn = turn
	}
	tx, err := txn.Begin(ctx, b.ex.Store, opt)
	if err != nil {
		return err
	}
	defer tx.Cancel()
	if a.write { // before all else: what another process has done may look as if the index were gone
		if err := b.holds(b.ex.Catalog.View(tx), w); err != nil {
			return err
		}
	}
	s, err := b.site(tx, &w.job, a.loose)
	if err != nil {
		return err
	}
	if err := s.unfinished(); err != nil {
		return err
	}
	if err := f(s); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// site finds the index of a job; errEnded where it is gone, or another.
func (b *Builder) site(tx *txn.Tx, j *catalog.Job, loose bool) (*site, error) {
	sess := &exec.SessionState{
		Auth: auth.Authority{Principal: auth.DataUser(j.NS, j.DB), NS: j.NS, DB: j.DB, Caps: b.ex.Caps},
	}
	r := b.ex.NewRun(sess, exec.NewEnv(), tx)
	r.Elevate()
	if loose {
		r.Cat.Loosely()
	}
	ns, err := r.Cat.Namespace(j.NS)
	if err != nil {
		return nil, err
	}
	if ns == nil {
		return nil, errEnded
	}
	db, err := r.Cat.Database(ns, j.DB)
	if err != nil {
		return nil, err
	}
	if db == nil || db.ID != j.Scope.DB {
		return nil, errEnded
	}
	tb, err := r.Cat.Table(db, j.Table)
	if err != nil {
		return nil, err
	}
	if tb == nil || tb.Inner() != j.Scope {
		return nil, errEnded
	}
	s := &site{r: r, tb: tb, ix: tb.Index(j.Named)}
	if s.ix == nil || s.ix.ID != j.Index {
		return nil, errEnded
	}
	if loose {
		if err := r.Cat.Pin(tb.Def, s.ix.Def); err != nil {
			return nil, err
		}
	}
	s.g, err = r.Gate()
	return s, err
}

// unfinished is errEnded for an index that wants no building.
func (s *site) unfinished() error {
	if s.ix.Build.State != catalog.Building {
		return errEnded
	}
	return nil
}

// fill makes the entries of a batch of records; more says that some are left.
func (b *Builder) fill(ctx context.Context, w *build, size int64) (more bool, err error) {
	var next catalog.Job
	err = b.inside(ctx, w, access{alone: size <= b.least(), write: true, loose: true}, func(s *site) error {
		if s.ix.Define.Kind == ast.IndexCount {
			return b.fillCount(ctx, w, s)
		}
		next = w.job
		var n int64
		next.From, n, err = s.g.BuildPart(ctx, s.tb, s.ix, w.job.From,
			record.BuildLimit{Records: size, Bytes: b.bytes(), Again: w.again})
		if err != nil {
			return err
		}
		next.Done += n
		if more = n > 0; more {
			return s.r.Cat.PutJob(&next)
		}
		return b.finish(s, &next)
	})
	if err == nil {
		w.job.From, w.job.Done = next.From, next.Done
	}
	return more && err == nil, err
}

// fillCount counts the records of one snapshot in another transaction, and adds what is missing in that of s.
func (b *Builder) fillCount(ctx context.Context, w *build, s *site) error {
	var missing int64
	j := w.job
	err := b.inside(ctx, w, access{}, func(past *site) (err error) {
		missing, j.Done, err = past.g.Uncounted(ctx, past.tb, past.ix)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.g.AddCount(s.tb, s.ix, missing); err != nil {
		return err
	}
	return b.finish(s, &j)
}

// finish makes the index ready. What else is left of its job is removed by forget: writers are in the way of that until
// they know.
func (b *Builder) finish(s *site, j *catalog.Job) error {
	if err := s.r.Cat.Tighten(s.tb.DB); err != nil {
		return err
	}
	updated, err := s.g.BuildUpdates(s.tb, s.ix)
	if err != nil {
		return err
	}
	built := catalog.Build{Initial: j.Done, Updated: updated, Retired: s.ix.Build.Retired}
	if !s.ix.Staged() {
		return s.r.Cat.SetBuild(s.ix, built)
	}
	if old := s.tb.Index(s.ix.Called()); old != nil {
		if err := b.Discard(s.r, s.tb, old); err != nil {
			return err
		}
	}
	return s.r.Cat.TakePlace(s.ix, built)
}

// fail ends a job for a reason that the records are to blame for. It answers the reason.
func (b *Builder) fail(ctx context.Context, w *build, reason error) error {
	for {
		err := b.inside(ctx, w, access{alone: true, write: true}, func(s *site) error {
			// One that was to replace another stays beside it, to tell why it does not.
			return s.r.Cat.SetBuild(s.ix,
				catalog.Build{State: catalog.Failed, Reason: errs.As(reason).Msg, Retired: s.ix.Build.Retired})
		})
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		return reason
	}
}

// clean removes a batch of what is stored of an index, or table, or more, that is gone: ids are never given again.
// Background work on the keys of an index reads one of its keys first; the scans of the last batch conflict with it, so
// nothing is written afterwards.
func (b *Builder) clean(ctx context.Context, w *build, _ int64) (more bool, err error) {
	var next catalog.Swept
	err = txn.Retry(ctx, b.ex.Store, b.ex.Reading(), func(tx *txn.Tx) error {
		view := b.ex.Catalog.View(tx)
		if err := b.holds(view, w); err != nil {
			return err
		}
		untie, err := untier(tx, view, &w.job)
		if err != nil {
			return err
		}
		keys := b.among(cleanBatch, cleanAmong)
		if untie != nil {
			keys /= keysTied
		}
		next, more, err = view.Sweep(&w.job, w.swept, int(keys), untie)
		return err
	})
	if err == nil {
		w.swept = next
	}
	return more, err
}

// keysTied is about how many keys go with a record that has ties: an edge has itself and two entries.
const keysTied = 4

// untier removes what a record of a table that is gone has left at those of other tables; nil where there is none.
func untier(tx *txn.Tx, view *catalog.View, j *catalog.Job) (func(k, raw []byte) error, error) {
	if j.Ties.None() {
		return nil, nil
	}
	view.Loosely() // a table of a node that is removed meanwhile takes its entries with it
	ns, err := view.Namespace(j.NS)
	if ns == nil || err != nil {
		return nil, err
	}
	db, err := view.Database(ns, j.DB)
	if db == nil || db.ID != j.Scope.DB || err != nil {
		return nil, err
	}
	g := &record.Gate{Tx: tx, Cat: view, DB: db}
	return func(k, raw []byte) error { return g.UntieStored(j.Scope, j.Ties, k, raw) }, nil
}

// forget removes the job of filling an index that wants no building any more from the store, and what only that needed,
// unless it is to be cleaned away.
func (b *Builder) forget(w *build) {
	err := txn.Retry(b.ctx, b.ex.Store, b.ex.Reading(), func(tx *txn.Tx) error {
		view := b.ex.Catalog.View(tx)
		stored, err := view.Job(&w.job)
		if err != nil || stored == nil || stored.Clean {
			return err
		}
		if err := b.holds(view, w); err != nil {
			return err
		}
		s, err := b.site(tx, &w.job, false)
		if err == nil {
			err = s.unfinished()
		}
		if !errors.Is(err, errEnded) {
			return err
		}
		if err := record.EndBuild(tx, stored); err != nil {
			return err
		}
		return view.DeleteJob(stored)
	})
	if err != nil && b.ctx.Err() == nil && !errors.Is(err, errTaken) {
		b.ex.Log.Error("the work on an index that is gone stays listed", "index", w.job.Named, "err", err)
	}
}

// Await waits until an index is built that a statement defined or built anew. Where that fails, or ctx ends, the
// definition is taken back.
func (b *Builder) Await(ctx context.Context, left *Left) error {
	w := left.build
	var err error
	select {
	case <-w.done:
		if err = w.err; errors.Is(err, errTaken) {
			err = b.awaitOther(ctx, &w.job)
		}
	case <-ctx.Done():
		w.stop()
		<-w.done
		err = ctx.Err()
	}
	if err == nil {
		return nil
	}
	if undone := b.undo(context.WithoutCancel(ctx), &w.job); undone != nil {
		b.ex.Log.Error("the definition of an index that could not be built stays", "index", w.job.Named, "err", undone)
	}
	return err
}

// awaitPause is how often a process looks how far another one is.
const awaitPause = 200 * time.Millisecond

// awaitOther waits until another process has done a job.
func (b *Builder) awaitOther(ctx context.Context, j *catalog.Job) error {
	for {
		state, err := b.stateOf(ctx, j)
		switch {
		case err != nil:
			return err
		case state.State == catalog.Ready:
			return nil
		case state.State == catalog.Failed:
			return errs.Internal("%s", state.Reason)
		}
		if err := rest(ctx, awaitPause); err != nil {
			return err
		}
	}
}

func (b *Builder) stateOf(ctx context.Context, j *catalog.Job) (state catalog.Build, err error) {
	tx, err := txn.Begin(ctx, b.ex.Store, b.ex.Reading())
	if err != nil {
		return state, err
	}
	defer tx.Cancel()
	s, err := b.site(tx, j, false)
	if errors.Is(err, errEnded) { // removed, or it has taken the place of the one that it was to replace
		return state, nil
	}
	if err != nil {
		return state, err
	}
	return s.ix.Build, nil
}

// undo takes the definition of an index back.
func (b *Builder) undo(ctx context.Context, j *catalog.Job) error {
	return txn.Retry(ctx, b.ex.Store, b.ex.Reading(), func(tx *txn.Tx) error {
		s, err := b.site(tx, j, false)
		if errors.Is(err, errEnded) {
			return nil
		}
		if err != nil {
			return err
		}
		return b.Discard(s.r, s.tb, s.ix)
	})
}
