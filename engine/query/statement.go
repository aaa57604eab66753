package query

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/define"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/life"
)

// byItself runs a statement, which began at start, in a transaction of its own, again on conflict.
func (q *Query) byItself(ctx context.Context, p *prepare.Statement, start time.Time) (value.Value, error) {
	var v value.Value
	vars, sess := q.base.Vars(), q.sess
	if !p.Writes || q.sess.ReadOnly {
		v, sent, err := q.reading(ctx, p, start, true)
		if errors.Is(err, kv.ErrMoved) { // what it went by is not so any more: it asks first
			q.sess = sess
			q.base.Reset(vars)
			v, sent, err = q.reading(ctx, p, time.Time{}, false)
		}
		if !errors.Is(err, txn.ErrReadOnly) {
			return v, err
		}
		if q.sess.ReadOnly {
			return value.None, errReadOnly()
		}
		if sent {
			return value.None, errLateWrite()
		}
		// A closure or a definition wrote after all: once more, with the right to.
		q.sess = sess
		q.base.Reset(vars)
	}
	if rows := q.rowsOf(p.Stmt); rows != nil {
		v, err := q.streamed(ctx, p, rows)
		if rows.sent || !errors.Is(err, kv.ErrConflict) {
			return v, err
		}
		rows.forget() // no row has left yet: start again as if nothing was streamed
	}
	var left func(context.Context) error // waits for what the statement left to be done
	var after func(func(context.Context) error)
	if fillsIndex(p.Stmt) {
		after = func(wait func(context.Context) error) { left = wait }
	}
	var log *record.Log
	opt := q.ex.Writing()
	opt.Presume = q.presumed(p.Stmt)
	err := txn.Retry(ctx, q.ex.Store, opt, func(tx *txn.Tx) error {
		q.sess = sess
		q.base.Reset(vars)
		left, log = nil, record.NewLog()
		var err error
		log.After = after
		if v, _, err = q.run(ctx, tx, log, running{stmt: p.Stmt, reads: p.Reads}); err != nil {
			return err
		}
		return q.ex.Seal(ctx, tx, log)
	})
	if err != nil {
		return v, err
	}
	q.wrote += int64(log.Len())
	if left != nil {
		err = q.await(ctx, left)
	}
	return v, err
}

// fillsIndex reports whether a statement may leave an index to be built.
func fillsIndex(s ast.Statement) bool {
	switch s.(type) {
	case *ast.DefineIndex, *ast.Rebuild:
		return true
	}
	return false
}

// await waits for what a statement left, no longer than a statement may take.
func (q *Query) await(ctx context.Context, left func(context.Context) error) error {
	bounded := q.ex.timed(ctx)
	defer bounded.Stop(nil)
	return exec.Explain(bounded, left(bounded))
}

// streamed runs a statement that may write, once, in a transaction of its own, while its rows leave.
func (q *Query) streamed(ctx context.Context, p *prepare.Statement, rows *rowsTo) (value.Value, error) {
	tx, err := txn.Begin(ctx, q.ex.Store, q.ex.Writing())
	if err != nil {
		return value.None, err
	}
	defer tx.Cancel()
	log := record.NewLog()
	v, _, err := q.run(ctx, tx, log, running{stmt: p.Stmt, rows: rows, reads: p.Reads})
	if err != nil {
		return value.None, err
	}
	if err = q.ex.Commit(ctx, tx, log); err == nil {
		q.wrote += int64(log.Len())
	}
	return v, err
}

// reading runs a statement in a transaction that can not write; sent tells that rows of it have left. presume: it may
// go by what earlier ones have read, and is kv.ErrMoved if that is not so any more.
func (q *Query) reading(ctx context.Context, p *prepare.Statement,
	start time.Time, presume bool) (v value.Value, sent bool, err error) {
	opt := q.ex.Reading()
	opt.Began = start
	rows := q.rowsOf(p.Stmt)
	if presume && rows == nil {
		opt.Presume = q.presumed(p.Stmt)
	}
	tx, err := txn.Begin(ctx, q.ex.Store, opt)
	if err != nil {
		return value.None, false, err
	}
	defer tx.Cancel()
	v, _, err = q.run(ctx, tx, nil, running{stmt: p.Stmt, rows: rows, reads: p.Reads})
	return v, rows != nil && rows.sent, err
}

// running is a statement and what is done with what it gives.
type running struct {
	stmt  ast.Statement
	rows  *rowsTo // where its rows go; nil: into its answer
	joint bool    // it shares its transaction with statements before it
	reads bool    // its closures may not write, see prepare
}

// run runs one statement in a transaction.
func (q *Query) run(ctx context.Context, tx *txn.Tx, log *record.Log,
	s running) (v value.Value, returned bool, err error) {
	let, _ := s.stmt.(*ast.Let)
	was := 0
	if let != nil {
		if old, ok := q.base.Lookup(let.Name); ok {
			was = value.Weight(old)
		}
	}
	v, err = q.guarded(ctx, tx, log, func(ctx context.Context, r *exec.Run) (v value.Value, err error) {
		r.Out, r.Joint, r.Reads = q.outOf(s.stmt, s.rows), s.joint, s.reads
		v, returned, err = r.Statement(ctx, s.stmt)
		q.lasting, q.packed = q.lasting || r.Outside, nil
		switch {
		case err != nil:
		case r.Out != nil:
			q.packed = r.Out.Packed
		case q.packs:
			v = q.pack(v)
		}
		return v, err
	})
	if let != nil && err == nil {
		err = q.keepVariable(let.Name, was)
	}
	return v, returned && err == nil, err
}

// keepVariable makes what a LET has set outlive its statement. was is the weight of what it took the place of.
func (q *Query) keepVariable(name string, was int) error {
	set, ok := q.base.Lookup(name)
	if !ok {
		return nil
	}
	err := q.mem.Charge(value.Weight(set) - was)
	if err == nil {
		err = value.CheckWeight(set, q.ex.Limits.Answer)
	}
	if err != nil {
		q.base.Set(name, value.None)
		return err
	}
	q.base.Set(name, value.Detach(set))
	return nil
}

// guarded does one thing in a transaction, in the time that a statement has. A panic below becomes an Internal error
// with its stack logged.
func (q *Query) guarded(ctx context.Context, tx *txn.Tx, log *record.Log,
	do func(context.Context, *exec.Run) (value.Value, error)) (v value.Value, err error) {
	if bounded := q.bounded(ctx); bounded != nil {
		defer bounded.Stop(nil)
		ctx = bounded
	}
	q.mem.Rewind(q.mark) // of an attempt before
	if ctx.Err() != nil && context.Cause(ctx) == exec.ErrStopped {
		return value.None, errs.Stopped()
	}
	if q.sess.Still != nil {
		var err error
		if tx.Presumes() {
			err = q.ex.Catalog.RelyOnEpoch(tx)
		} else {
			err = q.ex.Catalog.Observe(tx) // what other processes have revoked before the snapshot
		}
		if err != nil {
			return value.None, err
		}
	}
	if err := q.stands(); err != nil {
		return value.None, err
	}
	r := q.ex.NewRun(q.sess, q.base, tx)
	r.Log, r.Import, r.Mem = log, q.imports, q.mem
	defer func() {
		if p := recover(); p != nil {
			q.ex.Log.Error("statement panicked", "panic", p, "stack", string(debug.Stack()))
			v, err = value.None, errs.Internal("An internal error occurred")
		}
	}()
	if err := q.mem.Reach(0); err != nil {
		return value.None, err
	}
	v, err = do(ctx, r)
	if e := settle(tx, err); e != nil {
		return value.None, e
	}
	q.sess = r.Sess
	if err != nil {
		return value.None, err
	}
	if value.Exceeds(v, q.ex.Limits.Answer) {
		return value.None, errs.LargeAnswer(q.ex.Limits.Answer)
	}
	q.mem.Rewind(q.mark)
	held := Result{Value: v, Rows: q.packed}
	if err := q.mem.Charge(held.weight()); err != nil {
		return value.None, err
	}
	if r.Out != nil && r.Out.Detached {
		return v, nil
	}
	return value.Detach(v), nil
}

// presumed is what a statement that has a transaction of its own goes by on a store elsewhere: the definitions and the
// identity that were seen last. Its first request asks whether they hold. Until then it reads no more than what is in
// memory, and does nothing outside (exec.Run.Outside).
func (q *Query) presumed(s ast.Statement) []kv.Pair {
	if _, elsewhere := q.ex.Store.(kv.Presumer); !elsewhere {
		return nil
	}
	switch s.(type) {
	case *ast.Select, *ast.Create, *ast.Insert, *ast.Update, *ast.Delete, *ast.Relate:
		return q.ex.Catalog.Presumed(q.sess.Still != nil)
	}
	return nil
}

// settle makes sure of what the statement went by before its answer, or err, is told. Where it has written, the commit
// does that.
func settle(tx *txn.Tx, err error) error {
	if !tx.Presumes() || err == nil && tx.Dirty() {
		return nil
	}
	return tx.Settle()
}

// stands refuses to go on where the identity of the session was revoked. The next statement has the roles of now.
func (q *Query) stands() error {
	if q.sess.Still == nil {
		return nil
	}
	now, err := q.sess.Still(q.sess)
	if err == nil {
		q.sess = now
	}
	return err
}

// Do runs f, in a transaction of its own and in the time that a statement has, again on conflict.
func (q *Query) Do(ctx context.Context, f func(context.Context, *exec.Run) error) error {
	return txn.Retry(ctx, q.ex.Store, q.ex.Writing(), func(tx *txn.Tx) error {
		log := record.NewLog()
		_, err := q.guarded(ctx, tx, log, func(ctx context.Context, r *exec.Run) (value.Value, error) {
			return value.None, r.Explain(ctx, f(ctx, r))
		})
		if err != nil {
			return err
		}
		return q.ex.Seal(ctx, tx, log)
	})
}

// timeout is the time that a statement may take; 0: as long as it likes.
func (x *Runner) timeout(ctx context.Context) time.Duration {
	d := x.Limits.QueryTimeout
	if system := x.systemTimeout(ctx); system > 0 && (d <= 0 || system < d) {
		d = system
	}
	return max(d, 0)
}

// timed bounds ctx by timeout.
func (x *Runner) timed(ctx context.Context) *life.Context {
	d := x.timeout(ctx)
	if d == 0 {
		return life.With(ctx)
	}
	return life.Until(ctx, time.Now().Add(d), overtime(d))
}

// systemLimit is the QUERY_TIMEOUT of ALTER SYSTEM at a count of catalog.Cache.Settings.
type systemLimit struct {
	seen    uint64
	timeout time.Duration
}

// systemTimeout is the time that ALTER SYSTEM gives every statement; 0: no bound. Where it can not be read the
// statement, which reads the same store, says why.
func (x *Runner) systemTimeout(ctx context.Context) time.Duration {
	now := x.Catalog.Settings()
	if l := x.limit.Load(); l != nil && l.seen == now {
		return l.timeout
	}
	tx, err := txn.Begin(ctx, x.Store, x.Reading())
	if err != nil {
		return 0
	}
	defer tx.Cancel()
	d, err := define.SystemTimeout(x.Catalog.View(tx))
	if err != nil {
		return 0
	}
	x.limit.Store(&systemLimit{seen: now, timeout: d})
	return d
}

// overtime is the cause of a context that ends with a limit of time. Each statement has one, and hardly any ends by it,
// so the error that clients see is made where it is asked for.
type overtime time.Duration

// Error implements error.
func (d overtime) Error() string { return d.timedOut().Msg }

// As gives the error for clients to errors.As.
func (d overtime) As(target any) bool {
	e, ok := target.(**errs.Error)
	if ok {
		*e = d.timedOut()
	}
	return ok
}

func (d overtime) timedOut() *errs.Error {
	limit := time.Duration(d)
	return errs.TimedOut(limit, value.DurationFrom(limit).String())
}

// bounded bounds what is done by the time that a statement may take, and by what is left of that of its transaction.
// A transaction that the caller keeps open is bounded by the caller. It gives nil where there is no bound.
func (q *Query) bounded(ctx context.Context) *life.Context {
	d, limit := q.ex.timeout(ctx), q.ex.Limits.TxTimeout
	if q.state == borrowed {
		limit = 0
	}
	if d == 0 && limit <= 0 {
		return nil
	}
	now := time.Now()
	until := now.Add(d)
	if limit > 0 {
		end := q.until
		if q.state == alone {
			end = now.Add(limit)
		}
		if d == 0 || end.Before(until) {
			d, until = limit, end
		}
	}
	bounded := &q.limit
	if q.timed {
		bounded = new(life.Context)
	}
	q.timed = true
	bounded.InitUntil(ctx, until, overtime(d))
	return bounded
}
