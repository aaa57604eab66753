package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/access"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// Result is the answer to one statement.
type Result = query.Result

// Session is one user's view of an Engine: identity, place and variables. It may run several
// queries at once; a USE or SIGNIN shows in those that begin after it.
type Session struct {
	e     *Engine
	own   bool                         // the process's own: the capability to query does not bind it
	state atomic.Pointer[exec.Session] // what it points to is never changed
	guard atomic.Pointer[Guard]        // nil: none

	mu     sync.Mutex // held to replace state, guards the rest; a leaf lock
	mem    budget.Account
	vars   int // bytes of mem that are for variables
	closed bool
}

// What the variables of a session may take of memory together, and those of one without an identity where such may do
// nothing.
const (
	variablesLimit          = 64 << 20
	strangersVariablesLimit = 64 << 10
)

// Session opens a session without identity, namespace or database (with Unauthenticated: root owner).
func (e *Engine) Session() *Session {
	return e.session(e.nobody())
}

// nobody is who a client is that has not said.
func (e *Engine) nobody() auth.Principal {
	if e.opt.Unauthenticated {
		return auth.RootOwner()
	}
	return auth.Principal{}
}

// RootSession opens a session with the rights of the root owner: for the process itself, never for a client.
func (e *Engine) RootSession() *Session {
	s := e.session(auth.RootOwner())
	s.own = true
	return s
}

// SessionAs opens a session for an identity that is known already: for the process itself and its tests, never for
// what a client claims.
func (e *Engine) SessionAs(p auth.Principal, ns, db string) *Session {
	s := e.session(p)
	s.own = true
	s.change(func(st *exec.Session) { st.Auth.NS, st.Auth.DB = ns, db })
	return s
}

func (e *Engine) session(p auth.Principal) *Session {
	s := &Session{e: e}
	s.state.Store(&exec.Session{
		Auth: auth.Env{Principal: p, Caps: e.caps},
		ID:   e.queries.NewKey("uuid"),
	})
	if s.mem = e.memory.Lasting(); p.Level == auth.Guest {
		s.mem = s.mem.OfStranger()
	}
	return s
}

// change replaces the state by a changed copy.
func (s *Session) change(f func(*exec.Session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.state.Load()
	f(&next)
	s.state.Store(&next)
	if next.Auth.Principal.Level != auth.Guest {
		s.mem.Known()
	}
}

// ID is the id of the session, a uuid; $session.id shows it unless SetName gave another.
func (s *Session) ID() value.UUID { return s.state.Load().ID.UUID() }

// SetClient tells the session where its client is; "" for what is not known. $session shows it.
func (s *Session) SetClient(ip, origin string) {
	text := func(t string) value.Value {
		if t == "" {
			return value.None
		}
		return value.Str(t)
	}
	s.change(func(st *exec.Session) { st.IP, st.Orig = text(ip), text(origin) })
}

// SetName gives the session the id that its client chose: $session shows it. It names nothing: live queries belong to the
// session by ID.
func (s *Session) SetName(id value.UUID) {
	s.change(func(st *exec.Session) { st.Name = value.UUIDOf(id) })
}

// Notification tells of one change to what a live query watches.
type Notification = live.Notification

// Notify makes f take the notifications of the session's live queries. It is called from one goroutine, must neither wait
// nor use the session, and ends a live query by an error. Without it LIVE SELECT answers an id that nothing ever comes for.
func (s *Session) Notify(f func(*Notification) error) { s.notify(f, false) }

// NotifyQuietly is Notify for a client that wants to hear nothing more of a live query once its own KILL is answered, not
// even of the end.
func (s *Session) NotifyQuietly(f func(*Notification) error) { s.notify(f, true) }

func (s *Session) notify(f func(*Notification) error, quiet bool) {
	s.change(func(st *exec.Session) { st.Deliver, st.Quiet, st.Current = f, quiet, s.state.Load })
}

// sessionCost is about what a session takes that lasts longer than a request.
const sessionCost = 2 << 10

// Lasts counts the session itself as held until Close: for those that a client keeps in any number. Errors:
// errs.OutOfMemory.
func (s *Session) Lasts() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mem.Take(sessionCost)
}

// Close ends the session's live queries, and counts nothing for it any more. The session must not be used afterwards.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	s.vars = 0
	s.mem.Close()
	s.mu.Unlock()
	s.e.queries.Hub.DropSession(s.ID())
}

// Stranger reports whether the client of the session has no identity.
func (s *Session) Stranger() bool { return s.state.Load().Auth.Principal.Level == auth.Guest }

// snapshot is the state for one query.
func (s *Session) snapshot() exec.Session { return *s.state.Load() }

// moved takes over the place that a query has left the session in, unless another one moved it meanwhile.
func (s *Session) moved(before, after *exec.Session) {
	if before.Auth.NS == after.Auth.NS && before.Auth.DB == after.Auth.DB {
		return
	}
	s.change(func(st *exec.Session) {
		if st.Auth.NS == before.Auth.NS && st.Auth.DB == before.Auth.DB {
			st.Auth.NS, st.Auth.DB = after.Auth.NS, after.Auth.DB
		}
	})
}

// Place is the session's namespace and database; "" for none.
func (s *Session) Place() (ns, db string) {
	st := s.snapshot()
	return st.Auth.NS, st.Auth.DB
}

// Principal is who the session acts for.
func (s *Session) Principal() auth.Principal { return s.snapshot().Auth.Principal }

// Use selects a namespace and database: nil leaves a part as it is, "" unsets it. It creates what is missing when the
// session may, and refuses places outside the session's level.
func (s *Session) Use(ctx context.Context, ns, db *string) error {
	before := s.snapshot()
	to := before
	if ns != nil {
		to.Auth.NS = *ns
		if *ns == "" {
			to.Auth.DB = ""
		}
	}
	if db != nil {
		to.Auth.DB = *db
	}
	if to.Auth.DB != "" && to.Auth.NS == "" {
		return errs.Validation("Specify a namespace to use")
	}
	if err := s.still(&before); err != nil {
		return err
	}
	to.Auth.Principal = before.Auth.Principal
	if err := to.Auth.MayUse(); err != nil {
		return err
	}
	makeDB := ""
	if db != nil {
		makeDB = *db
	}
	after := before
	err := s.e.queries.Write(ctx, &after, func(r *exec.Run) error {
		return s.e.queries.Define.Use(r, to.Auth.NS, to.Auth.DB, to.Auth.NS, makeDB)
	})
	if err != nil {
		return err
	}
	s.moved(&before, &after)
	return nil
}

// Invalidate drops the identity, and the live queries that were begun with it.
func (s *Session) Invalidate() {
	s.change(func(st *exec.Session) { st.Auth.Principal = s.e.nobody() })
	s.e.queries.Hub.DropSession(s.ID())
}

// Reset drops identity, place, variables, transactions and live queries.
func (s *Session) Reset() {
	s.change(func(st *exec.Session) {
		st.Auth = auth.Env{Principal: s.e.nobody(), Caps: s.e.caps}
		st.Vars = nil
		s.mem.Release(s.vars)
		s.vars = 0
		s.mem.Shrink()
	})
	s.e.queries.Hub.DropSession(s.ID())
}

// Set defines a session variable; NONE removes it. The variables of a session have a limit together, and those of all
// sessions count against the memory of the engine.
func (s *Session) Set(name string, v value.Value) error {
	if exec.Protected(name) {
		return errProtected(name)
	}
	limit := variablesLimit
	if s.MayEnter() != nil {
		limit = strangersVariablesLimit
	}
	v = value.Detach(v)
	var err error
	s.change(func(st *exec.Session) {
		vars := slices.DeleteFunc(slices.Clone(st.Vars), func(v exec.Var) bool { return v.Name == name })
		if !v.IsNone() {
			vars = append(vars, exec.Var{Name: name, Value: v})
		}
		if err = s.hold(vars, limit); err == nil {
			st.Vars = vars
		}
	})
	return err
}

// hold counts the variables in place of those that there are; s.mu is held. On an error those still count.
func (s *Session) hold(vars []exec.Var, limit int) error {
	n := 0
	for i := range vars {
		n += variableCost + len(vars[i].Name) + value.Weight(vars[i].Value)
	}
	switch {
	case s.closed:
		return errs.New(errs.KindConnection, "The session has ended")
	case n > limit && n > s.vars:
		return errs.Internal("The variables of the session take too much memory")
	}
	if err := s.mem.Take(n - s.vars); err != nil {
		return err
	}
	s.vars = n
	s.mem.Shrink()
	return nil
}

// variableCost is what a variable takes besides its name and value.
const variableCost = 64

// Info is the record of the authenticated record user, or NONE.
func (s *Session) Info(ctx context.Context) (value.Value, error) {
	st := s.snapshot()
	if st.Expired(s.e.queries.Clock()) {
		return value.None, sessionExpired()
	}
	id := st.Auth.Principal.Record
	if id.Kind() != value.KindRecord {
		return value.None, nil
	}
	var out value.Value
	err := s.e.queries.Read(ctx, &st, func(r *exec.Run) error {
		doc, err := r.Fetch(id.Record())
		out = value.Detach(doc)
		return err
	})
	return out, err
}

// Execute runs a text of statements, one Result each. The error is for the text as a whole: it does not parse, or the
// session may not run queries. vars become parameters of the text.
func (s *Session) Execute(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return s.execute(ctx, text, vars, (*query.Query).Run)
}

// ExecutePacked is Execute for those who send the answers on in the wire form: the rows of a SELECT come as Result.Rows, in
// that form, without having been values that outlive their transaction.
func (s *Session) ExecutePacked(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return s.execute(ctx, text, vars, runPacked)
}

func runPacked(q *query.Query, ctx context.Context, script *exec.Script) []Result {
	return q.Packing().Run(ctx, script)
}

type runner func(*query.Query, context.Context, *exec.Script) []Result

func (s *Session) execute(ctx context.Context, text string, vars *value.Object, run runner) ([]Result, error) {
	st := s.snapshot()
	script, err := s.prepare(ctx, &st, text, vars)
	if err != nil {
		return nil, err
	}
	after := st
	q := s.e.queries.NewQuery(&after, vars)
	defer q.Close()
	q.Needs(script.Weight)
	out := run(q, ctx, script)
	s.moved(&st, &after)
	return out, nil
}

// Sink takes the answers of a text while it runs.
type Sink = query.Sink

// Stream is Execute with the answers handed to sink while the text runs. Errors: those of Execute, before anything was
// handed over; later ones are those of the sink or of ctx, and statements that were not reported as finished came to nothing.
func (s *Session) Stream(ctx context.Context, text string, vars *value.Object, sink Sink) error {
	st := s.snapshot()
	script, err := s.prepare(ctx, &st, text, vars)
	if err != nil {
		return err
	}
	after := st
	q := s.e.queries.NewQuery(&after, vars)
	defer q.Close()
	q.Needs(script.Weight)
	err = q.Stream(ctx, script, sink)
	s.moved(&st, &after)
	return err
}

// prepare refuses what the session may not run, and parses the text.
func (s *Session) prepare(ctx context.Context, st *exec.Session, text string, vars *value.Object) (*exec.Script, error) {
	if err := s.mayQuery(st); err != nil {
		return nil, err
	}
	if err := mayBind(vars); err != nil {
		return nil, err
	}
	return s.e.script(ctx, st, text)
}

// script is the text, ready to run. One with OPTION is refused as a whole to those who may not import.
func (e *Engine) script(ctx context.Context, st *exec.Session, text string) (*exec.Script, error) {
	script, err := e.queries.Parse(ctx, text)
	if err != nil {
		return nil, err
	}
	if script.Option && !st.Auth.Principal.MayImport() {
		return nil, auth.Denied()
	}
	return script, nil
}

// mayBind refuses parameters of a text that would hide who the session is from permissions.
func mayBind(vars *value.Object) error {
	if vars == nil {
		return nil
	}
	for _, f := range vars.Fields() {
		if exec.Protected(f.Name) {
			return errProtected(f.Name)
		}
	}
	return nil
}

func errProtected(name string) error {
	return errs.With(errs.KindValidation, "InvalidParameter", map[string]any{"name": name},
		"'%s' is a protected variable and cannot be set", name)
}

func sessionExpired() error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: "The session has expired",
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "SessionExpired"}}}
}

// MayAct refuses a session whose identity has run out: it can only get a new one.
func (s *Session) MayAct() error {
	st := s.snapshot()
	if st.Expired(s.e.queries.Clock()) {
		return sessionExpired()
	}
	return s.still(&st)
}

// MayEnter refuses a session without an identity where there are no guests.
func (s *Session) MayEnter() error {
	p := s.Principal()
	return s.e.caps.MayEnter(&p)
}

// mayQuery refuses statements of the client's own making: to those who may not act at all, and to those whom the
// capability denies it. The process's own sessions are free of it.
func (s *Session) mayQuery(st *exec.Session) error {
	if err := s.mayCall(st); err != nil || s.own {
		return err
	}
	return s.e.caps.MayQuery(&st.Auth.Principal)
}

// mayCall refuses everything to sessions whose identity has run out, and to guests where there are none.
func (s *Session) mayCall(st *exec.Session) error {
	if st.Expired(s.e.queries.Clock()) {
		return sessionExpired()
	}
	if err := s.still(st); err != nil {
		return err
	}
	return s.e.caps.MayEnter(&st.Auth.Principal)
}

// Call runs one function (built-in, fn::, …) with args.
func (s *Session) Call(ctx context.Context, name string, args []value.Value) (value.Value, error) {
	st := s.snapshot()
	if err := s.mayQuery(&st); err != nil {
		return value.None, err
	}
	q := s.e.queries.NewQuery(&st, nil)
	defer q.Close()
	res := q.Call(ctx, name, args)
	if res.Err != nil {
		return value.None, res.Err
	}
	return res.Value, nil
}

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
}

// Begin opens an interactive transaction; ID names it.
func (s *Session) Begin(ctx context.Context) (*Tx, error) {
	st := s.snapshot()
	if err := s.mayCall(&st); err != nil {
		return nil, err
	}
	opt := s.e.queries.Writing()
	opt.Lasting = true
	tx, err := txn.Begin(context.WithoutCancel(ctx), s.e.store, opt)
	if err != nil {
		return nil, err
	}
	t := &Tx{s: s, id: s.e.queries.NewKey("uuid").UUID(), tx: tx, log: record.NewLog()}
	if d := s.e.opt.Limits.TxTimeout; d > 0 {
		t.last = time.Now()
		t.end = t.last.Add(d)
		if !st.Auth.Principal.IsSystem() {
			t.idle = d / idlePart
		}
		t.timer = time.AfterFunc(t.left(t.last), t.expire)
	}
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

// take gives up the transaction in t to whoever finishes it; t.mu is held.
func (t *Tx) take() *txn.Tx {
	if t.timer != nil {
		t.timer.Stop()
	}
	tx := t.tx
	t.tx = nil
	return tx
}

// inTime bounds what is done in t by the time that t has.
func (t *Tx) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.end.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, t.end, errLateTx())
}

func errLateTx() *errs.Error { return errs.Internal("The transaction has run out of time") }

// ID is a version 7 UUID.
func (t *Tx) ID() value.UUID { return t.id }

// Late reports whether t was cancelled because its time had run out. It does not wait for a statement of t that runs.
func (t *Tx) Late() bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	return t.late
}

// open reports why t can not be used; t.mu is held.
func (t *Tx) open() error {
	if !t.end.IsZero() && time.Now().After(t.end) {
		t.finishLate()
	}
	switch {
	case t.late:
		return errLateTx()
	case t.tx == nil:
		return errs.Internal("The transaction has already been finished")
	}
	return nil
}

// Execute runs statements inside t. One that fails leaves nothing behind, and t stays open.
func (t *Tx) Execute(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return t.execute(ctx, text, vars, (*query.Query).Run)
}

// ExecutePacked is Session.ExecutePacked inside t.
func (t *Tx) ExecutePacked(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return t.execute(ctx, text, vars, runPacked)
}

func (t *Tx) execute(ctx context.Context, text string, vars *value.Object, run runner) ([]Result, error) {
	st := t.s.snapshot()
	script, err := t.s.prepare(ctx, &st, text, vars)
	if err != nil {
		return nil, err
	}
	after := st
	q := t.s.e.queries.NewQuery(&after, vars)
	defer q.Close()
	q.Needs(script.Weight)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return nil, err
	}
	defer t.used()
	ctx, stop := t.inTime(ctx)
	defer stop()
	out := run(q.Within(t.tx, t.log), ctx, script)
	t.s.moved(&st, &after)
	return out, nil
}

// Stream is Session.Stream inside t.
func (t *Tx) Stream(ctx context.Context, text string, vars *value.Object, sink Sink) error {
	st := t.s.snapshot()
	script, err := t.s.prepare(ctx, &st, text, vars)
	if err != nil {
		return err
	}
	after := st
	q := t.s.e.queries.NewQuery(&after, vars)
	defer q.Close()
	q.Needs(script.Weight)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	defer t.used()
	ctx, stop := t.inTime(ctx)
	defer stop()
	err = q.Within(t.tx, t.log).Stream(ctx, script, sink)
	t.s.moved(&st, &after)
	return err
}

// Commit makes t's changes visible.
func (t *Tx) Commit(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.open(); err != nil {
		return err
	}
	if st := t.s.snapshot(); t.s.still(&st) != nil {
		t.take().Cancel()
		return access.Revoked()
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
