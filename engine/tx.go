package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/access"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/life"
)

// Tx is an interactive transaction of a session. It is used by one request at a time.
type Tx struct {
	s     *Session
	id    value.UUID
	mu    sync.Mutex // one request at a time; held while statements run
	tx    *txn.Tx    // nil: finished
	log   *record.Log
	end   time.Time     // of its life; zero: none
	idle  time.Duration // it may be without a request for so long; 0: as long as it lives
	last  time.Time     // when its last request ended
	timer *time.Timer   // cancels it at the end of either time, whether or not a request comes; nil: none
	late  bool          // its time has run out
	gone  bool          // an operator has ended it
	reads bool          // it may not write
	began time.Time

	running atomic.Pointer[query.Query] // the one that holds mu, for an operator to stop
}

// Begin opens an interactive transaction; ID names it.
func (s *Session) Begin(ctx context.Context) (*Tx, error) { return s.begin(ctx, s.e.queries.Writing()) }

// BeginReading is Begin for a transaction that only reads: a statement that writes fails in it.
func (s *Session) BeginReading(ctx context.Context) (*Tx, error) {
	return s.begin(ctx, s.e.queries.Reading())
}

func (s *Session) begin(ctx context.Context, opt txn.Options) (*Tx, error) {
	st, err := s.mayCall(s.snapshot())
	if err != nil {
		return nil, err
	}
	opt.Lasting = true
	tx, err := txn.Begin(context.WithoutCancel(ctx), s.e.store, opt)
	if err != nil {
		return nil, err
	}
	t := &Tx{s: s, id: s.e.queries.NewKey("uuid").UUID(), tx: tx, log: record.NewLog(), reads: !opt.Write,
		began: time.Now()}
	if d := s.e.opt.Limits.TxTimeout; d > 0 {
		t.last = time.Now()
		t.end = t.last.Add(d)
		if !st.Auth.Principal.IsSystem() {
			t.idle = d / idlePart
		}
		t.timer = time.AfterFunc(t.left(t.last), t.expire)
	}
	s.e.seats.open(t)
	return t, nil
}

// idlePart of the time of a transaction is how long those of record users and guests may wait for a request: what the
// store keeps for a transaction that is open grows with all that others write.
const idlePart = 5

// left is how long t may live on without a request.
func (t *Tx) left(now time.Time) time.Duration {
	d := t.end.Sub(now)
	if t.idle > 0 {
		d = min(d, t.last.Add(t.idle).Sub(now))
	}
	return d
}

// Left is how long t lives on if no request comes for it; 0: without end.
func (t *Tx) Left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end.IsZero() {
		return 0
	}
	return max(t.left(time.Now()), 1)
}

// used notes that a request of t has ended; t.mu is held.
func (t *Tx) used() {
	if t.timer == nil || t.tx == nil {
		return
	}
	t.last = time.Now()
	t.timer.Reset(t.left(t.last))
}

// expire cancels a transaction whose time has run out; a statement of it that runs is cut off first at the end of its
// life, and is waited for where t only was idle before.
func (t *Tx) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tx != nil && t.left(time.Now()) <= 0 {
		t.finishLate()
	}
}

// finishLate cancels t, if it is open, because its time has run out; t.mu is held.
func (t *Tx) finishLate() {
	if t.tx != nil {
		t.take().Cancel()
		t.late = true
	}
}

// take removes the transaction from t, for the caller to finish it; t.mu is held.
func (t *Tx) take() *txn.Tx {
	if t.timer != nil {
		t.timer.Stop()
	}
	tx := t.tx
	t.tx = nil
	t.s.e.seats.close(t)
	return tx
}

// inTime bounds what is done in t by the time that t has.
func (t *Tx) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.end.IsZero() {
		return ctx, func() {}
	}
	bounded := life.Until(ctx, t.end, errLateTx())
	return bounded, func() { bounded.Stop(nil) }
}

func errLateTx() *errs.Error { return errs.Internal("The transaction has run out of time") }

// ID is a version 7 UUID.
func (t *Tx) ID() value.UUID { return t.id }

// Late reports whether t was cancelled because its time had run out, or by an operator. It does not wait for a
// statement of t that runs.
func (t *Tx) Late() bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return t.late || t.gone
}

// open reports why t can not be used; t.mu is held.
func (t *Tx) open() error {
	if !t.end.IsZero() && time.Now().After(t.end) {
		t.finishLate()
	}
	switch {
	case t.late:
		return errLateTx()
	case t.gone:
		return errs.New(errs.KindQuery, "The transaction was ended by an operator of the server")
	case t.tx == nil:
		return errs.Internal("The transaction has already been finished")
	}
	return nil
}

// Execute runs statements inside t. One that fails leaves nothing behind, and t stays open.
func (t *Tx) Execute(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return t.s.execute(ctx, t, text, vars, false)
}

// ExecutePacked is Session.ExecutePacked inside t.
func (t *Tx) ExecutePacked(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return t.s.execute(ctx, t, text, vars, true)
}

// Stream is Session.Stream inside t.
func (t *Tx) Stream(ctx context.Context, text string, vars *value.Object, sink Sink) error {
	return t.s.stream(ctx, t, text, vars, sink)
}

// within makes q run inside t while f runs, which no other request of t does meanwhile.
func (t *Tx) within(ctx context.Context, q *query.Query, f func(context.Context) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	defer t.used()
	ctx, stop := t.inTime(ctx)
	defer stop()
	if err := t.s.e.hear(ctx); err != nil {
		return err
	}
	t.running.Store(q.Within(t.tx, t.log))
	defer t.running.Store(nil)
	return f(ctx)
}

// Savepoint is a position in an interactive transaction.
type Savepoint struct {
	at  txn.Savepoint
	log record.Mark
}

// Savepoint marks the present position of t. It is void after a RollbackTo an earlier one.
func (t *Tx) Savepoint() (*Savepoint, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return nil, err
	}
	defer t.used()
	return &Savepoint{at: t.tx.Savepoint(), log: t.log.Mark()}, nil
}

// RollbackTo undoes what t has changed since sp was made. What t has read still counts for its commit.
func (t *Tx) RollbackTo(sp *Savepoint) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	defer t.used()
	t.tx.RollbackTo(sp.at)
	t.log.RollbackTo(sp.log)
	return nil
}

// ExecuteAt is Execute for statements that read: they see what t saw when sp was made. One that writes fails.
func (t *Tx) ExecuteAt(ctx context.Context, sp *Savepoint, text string, vars *value.Object) (out []Result, err error) {
	err = t.s.run(ctx, t, text, vars, func(ctx context.Context, q *query.Query, script *prepare.Script) error {
		return t.tx.At(sp.at, func() error {
			out = q.Run(ctx, script)
			return nil
		})
	})
	return out, err
}

// StreamAt is Stream for statements that read: they see what t saw when sp was made. One that writes fails.
func (t *Tx) StreamAt(ctx context.Context, sp *Savepoint, text string, vars *value.Object, sink Sink) error {
	return t.s.run(ctx, t, text, vars, func(ctx context.Context, q *query.Query, script *prepare.Script) error {
		return t.tx.At(sp.at, func() error { return q.Stream(ctx, script, sink) })
	})
}

// Commit makes t's changes visible.
func (t *Tx) Commit(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	if err := t.s.e.hear(ctx); err != nil {
		t.take().Cancel()
		return err
	}
	if _, err := t.s.still(t.s.snapshot()); err != nil {
		t.take().Cancel()
		return access.Revoked()
	}
	if t.reads {
		t.take().Cancel()
		return nil
	}
	return t.s.e.queries.Commit(ctx, t.take(), t.log)
}

// Cancel drops t's changes.
func (t *Tx) Cancel(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	t.take().Cancel()
	return nil
}
