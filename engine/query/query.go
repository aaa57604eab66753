package query

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// Result is the answer to one statement.
type Result struct {
	Value value.Value
	Rows  *value.Packed // not nil: the answer, in place of Value; see Query.Packing
	Err   *errs.Error   // nil when the statement succeeded
	Time  time.Duration
	Type  string // "", "live" or "kill"
}

// weight is about how many bytes the answer keeps in memory.
func (r *Result) weight() int {
	n := value.Weight(r.Value) + r.Err.Weight()
	if r.Rows != nil {
		n += r.Rows.Size()
	}
	return n
}

// Query is one text of statements at work for a session.
type Query struct {
	ex   *Runner
	sess *exec.Session
	base *exec.Env
	out  []Result

	// An open transaction, and what became of it.
	tx       *txn.Tx
	until    time.Time // when its time runs out, where there is a limit
	log      *record.Log
	keep     bool // the transaction is the caller's: it stays open afterwards
	first    int  // index in out of its first statement
	failed   bool
	nested   bool // it failed by a BEGIN inside it
	returned bool // a RETURN ended it early
	imports  bool // OPTION IMPORT
	outside  bool // a statement did what the end of its transaction does not undo, see Run
	whole    bool // rows leave with their answer only, whoever takes them

	lone bool                        // the statement is alone in its transaction, and may leave work
	left func(context.Context) error // waits for what it left; nil: nothing

	stream *streaming    // not nil: the answers go to a sink
	packs  bool          // SELECTs answer in Result.Rows
	packed *value.Packed // the answer of the statement that ran last, where it is packed

	mem  *budget.Account // what the query holds: its answers so far, its variables and what its statement needs
	own  budget.Account  // mem, but for one that shares another's
	mark int64           // what mem held before the statement
}

// queryCost is about what a query at work takes: its goroutine, its transaction and what it is evaluated with.
const queryCost = 16 << 10

// NewQuery starts a query text for a session with the given parameters.
func (x *Runner) NewQuery(s *exec.Session, vars *value.Object) *Query {
	base := exec.NewEnv()
	if vars != nil {
		for _, f := range vars.Fields() {
			base.Append(exec.Var{Name: f.Name, Value: f.Value})
		}
	}
	q := &Query{ex: x, sess: s, base: base, own: x.Memory.Account()}
	q.mem = &q.own
	n := queryCost
	for _, v := range base.Vars() {
		n += value.Weight(v.Value)
	}
	q.Needs(n)
	return q
}

// Needs counts n bytes more that the query keeps while it runs. If they are too many, its first statement says so.
func (q *Query) Needs(n int) {
	_ = q.mem.Charge(n) // the account asks again
	q.mark = q.mem.Mark()
}

// Close ends the query: what its answers hold counts no more.
func (q *Query) Close() { q.mem.Close() }

// Beside is a query of the same text: it shares parameters, session and options, and has answers of its own.
func (q *Query) Beside() *Query {
	return &Query{ex: q.ex, sess: q.sess, base: q.base, imports: q.imports, mem: q.mem}
}

// Within makes the query run inside an open transaction, which it neither commits nor cancels.
func (q *Query) Within(tx *txn.Tx, log *record.Log) *Query {
	q.tx, q.log, q.keep = tx, log, true
	return q
}

// Run runs all statements and gives their answers.
func (q *Query) Run(ctx context.Context, s *exec.Script) []Result {
	q.out = make([]Result, 0, len(s.Stmts))
	for rest := s.Stmts; len(rest) > 0; {
		rest = q.next(ctx, rest)
	}
	return q.Finish()
}

// Finish ends the text: a transaction that is still open is dropped.
func (q *Query) Finish() []Result {
	if q.tx != nil && !q.keep {
		q.tx.Cancel()
		q.tx = nil
		for i := q.first; i < len(q.out); i++ {
			q.out[i] = Result{Err: errs.Internal("Missing COMMIT statement"), Time: q.out[i].Time}
		}
	}
	return q.out
}

// Take hands over the answers so far and forgets them; it must not be called inside a transaction.
func (q *Query) Take() []Result {
	out := q.out
	q.out = nil
	for i := range out {
		q.mem.Release(out[i].weight())
	}
	return out
}

// Open reports whether a BEGIN waits for its COMMIT.
func (q *Query) Open() bool { return q.tx != nil && !q.keep }

// Statement runs one statement of the text and adds its answer.
func (q *Query) Statement(ctx context.Context, p *exec.Prepared) {
	start := time.Now()
	q.mark = q.mem.Mark()
	switch s := p.Stmt.(type) {
	case *ast.Begin:
		q.begin(ctx, start)
	case *ast.Commit:
		q.commit(ctx, start)
	case *ast.Cancel:
		q.cancel(start)
	case *ast.Option:
		if s.Name == "IMPORT" {
			q.imports = s.On
		}
		q.answer(start, value.None, "", nil)
	default:
		if q.tx != nil {
			q.inside(ctx, p, start)
			return
		}
		v, err := q.alone(ctx, p)
		q.answer(start, v, kindOf(p.Stmt), exec.Explain(ctx, err))
	}
}

func (q *Query) answer(start time.Time, v value.Value, kind string, err error) {
	res := Result{Value: v, Rows: q.packed, Time: time.Since(start)}
	q.packed = nil
	if err != nil {
		res.Value, res.Rows = value.None, nil
		res.Err = errs.As(explainDamage(err)).Brief()
		q.mem.Rewind(q.mark) // what the statement held
		if q.mem.Take(res.Err.Weight()) != nil {
			res.Err = errs.OutOfMemory()
			q.mem.Hold(res.Err.Weight())
		}
		if cause := hiddenCause(res.Err); cause != nil {
			q.ex.Log.Error("statement failed", "err", cause)
		}
	} else {
		res.Type = kind
	}
	q.out = append(q.out, res)
}

// explainDamage tells whoever met a damaged value that this is what it was. Which one it is the log says: the record may be
// one that the caller must not know of.
func explainDamage(err error) error {
	if _, ok := errors.AsType[*errs.Error](err); ok || !errors.Is(err, kv.ErrCorrupt) {
		return err
	}
	e := errs.Internal("Stored data is damaged: the server's log names the key, and 'nacre check' finds all that is damaged")
	e.Err = err
	return e
}

// hiddenCause is what an operator should hear of behind an error: a fault of the engine, not one of the user's own
// errors inside another (of an event, of a unique index). That writes are refused the store has said once.
func hiddenCause(e *errs.Error) error {
	if errors.Is(e, kv.ErrNoSpace) || errors.Is(e, kv.ErrReadOnly) {
		return nil
	}
	for e.Err != nil && e.Kind == errs.KindInternal {
		var inner *errs.Error
		var violation *index.Violation
		switch {
		case errors.As(e.Err, &inner):
			e = inner
		case errors.As(e.Err, &violation):
			return nil
		default:
			return e.Err
		}
	}
	return nil
}

func kindOf(s ast.Statement) string {
	switch s.(type) {
	case *ast.Live:
		return "live"
	case *ast.Kill:
		return "kill"
	}
	return ""
}

func (q *Query) begin(ctx context.Context, start time.Time) {
	if q.tx != nil {
		for i := q.first; i < len(q.out); i++ {
			q.undo(i, errs.With(errs.KindQuery, "NotExecuted", nil, "The query was not executed due to a failed transaction: BEGIN"))
		}
		if q.failed {
			q.answer(start, value.None, "", errs.Cancelled())
			return
		}
		q.failed, q.nested = true, true
		q.answer(start, value.None, "", errs.Internal("Tried to start a transaction while another transaction was open"))
		return
	}
	tx, err := txn.Begin(ctx, q.ex.Store, q.ex.Writing())
	if err != nil {
		q.answer(start, value.None, "", exec.Explain(ctx, err))
		return
	}
	q.open(tx, start)
}

// undo replaces an answer that was good by what undid it.
func (q *Query) undo(i int, e *errs.Error) {
	if q.out[i].Err == nil {
		q.out[i] = Result{Err: e, Time: q.out[i].Time}
	}
}

func (q *Query) commit(ctx context.Context, start time.Time) {
	if q.tx == nil || q.keep {
		q.answer(start, value.None, "", errs.Internal("Invalid statement: Cannot COMMIT without starting a transaction"))
		return
	}
	tx := q.tx
	q.tx = nil
	if q.failed {
		tx.Cancel()
		return
	}
	if err := q.ex.Commit(ctx, tx, q.log); err != nil {
		e := errs.As(exec.Explain(ctx, err))
		for i := q.first; i < len(q.out); i++ {
			q.out[i] = Result{Err: errs.With(e.Kind, detailKind(e), nil, "Query not executed: %s", e.Msg), Time: q.out[i].Time}
		}
		return
	}
	q.answer(start, value.None, "", nil)
}

func detailKind(e *errs.Error) string {
	if e.Detail == nil {
		return ""
	}
	return e.Detail.Kind
}

func (q *Query) cancel(start time.Time) {
	if q.tx == nil || q.keep {
		q.answer(start, value.None, "", errs.Internal("Invalid statement: Cannot CANCEL without starting a transaction"))
		return
	}
	q.tx.Cancel()
	q.tx = nil
	if q.failed {
		return
	}
	for i := q.first; i < len(q.out); i++ {
		q.out[i] = Result{Err: errs.Cancelled(), Time: q.out[i].Time}
	}
	q.answer(start, value.None, "", nil)
}

// inside runs a statement of an open transaction.
func (q *Query) inside(ctx context.Context, p *exec.Prepared, start time.Time) {
	switch {
	case q.returned:
		return
	case q.nested:
		q.answer(start, value.None, "", errs.With(errs.KindQuery, "NotExecuted", nil,
			"The query was not executed due to a failed transaction: %s", ast.Text(p.Stmt)))
		return
	case q.failed:
		q.answer(start, value.None, "", errs.Cancelled())
		return
	}
	mark, changes := q.tx.Savepoint(), q.log.Mark()
	v, returned, err := q.run(ctx, q.tx, q.log, p.Stmt, q.rowsOf(p.Stmt))
	if err != nil {
		q.tx.RollbackTo(mark)
		q.log.RollbackTo(changes)
		if !exec.IsStray(err) && !q.keep {
			q.failed = true
			for i := q.first; i < len(q.out); i++ {
				q.undo(i, errs.NotExecuted())
			}
		}
	}
	q.answer(start, v, kindOf(p.Stmt), err)
	q.returned = returned && !q.keep
}

// alone runs a statement in a transaction of its own, again on conflict.
func (q *Query) alone(ctx context.Context, p *exec.Prepared) (value.Value, error) {
	var v value.Value
	vars := q.base.Vars()
	if !p.Writes {
		v, sent, err := q.reading(ctx, p)
		if !errors.Is(err, txn.ErrReadOnly) {
			return v, err
		}
		if sent {
			return value.None, errLateWrite()
		}
		// A closure or a definition wrote after all: once more, with the right to.
		q.base.Reset(vars)
	}
	if rows := q.rowsOf(p.Stmt); rows != nil {
		v, err := q.streamed(ctx, p, rows)
		if rows.sent || !errors.Is(err, kv.ErrConflict) {
			return v, err
		}
		rows.forget() // nobody has seen any: again, as if nothing was streamed
	}
	q.lone = fillsIndex(p.Stmt)
	defer func() { q.lone = false }()
	err := txn.Retry(ctx, q.ex.Store, q.ex.Writing(), func(tx *txn.Tx) error {
		q.base.Reset(vars)
		log := record.NewLog()
		var err error
		if v, _, err = q.run(ctx, tx, log, p.Stmt, nil); err != nil {
			return err
		}
		return q.ex.Seal(ctx, tx, log)
	})
	if err == nil && q.lone && q.left != nil {
		err = q.await(ctx)
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
func (q *Query) await(ctx context.Context) error {
	ctx, stop := q.ex.timed(ctx)
	defer stop()
	return exec.Explain(ctx, q.left(ctx))
}

// streamed runs a statement that may write, once, in a transaction of its own, while its rows leave.
func (q *Query) streamed(ctx context.Context, p *exec.Prepared, rows *rowsTo) (value.Value, error) {
	tx, err := txn.Begin(ctx, q.ex.Store, q.ex.Writing())
	if err != nil {
		return value.None, err
	}
	defer tx.Cancel()
	log := record.NewLog()
	v, _, err := q.run(ctx, tx, log, p.Stmt, rows)
	if err != nil {
		return value.None, err
	}
	return v, q.ex.Commit(ctx, tx, log)
}

// reading runs a statement in a transaction that can not write; sent tells that rows of it have left.
func (q *Query) reading(ctx context.Context, p *exec.Prepared) (v value.Value, sent bool, err error) {
	tx, err := txn.Begin(ctx, q.ex.Store, q.ex.Reading())
	if err != nil {
		return value.None, false, err
	}
	defer tx.Cancel()
	rows := q.rowsOf(p.Stmt)
	v, _, err = q.run(ctx, tx, nil, p.Stmt, rows)
	return v, rows != nil && rows.sent, err
}

// Call runs one function by name: "string::len", "fn::greet".
func (q *Query) Call(ctx context.Context, name string, args []value.Value) Result {
	for _, a := range args {
		q.Needs(value.Weight(a))
	}
	call := &ast.Call{Path: strings.ToLower(name)}
	if path, ok := strings.CutPrefix(name, "fn::"); ok {
		call = &ast.Call{Kind: ast.CallCustom, Path: path}
	}
	for _, a := range args {
		call.Args = append(call.Args, &ast.Literal{Value: a})
	}
	q.Statement(ctx, &exec.Prepared{Stmt: &ast.ExprStmt{X: call}, Writes: true})
	return q.out[len(q.out)-1]
}

// run runs one statement in a transaction. Its rows go to rows, where that is not nil.
func (q *Query) run(ctx context.Context, tx *txn.Tx, log *record.Log, s ast.Statement, rows *rowsTo) (v value.Value, returned bool, err error) {
	let, _ := s.(*ast.Let)
	was := 0
	if let != nil {
		if old, ok := q.base.Lookup(let.Name); ok {
			was = value.Weight(old)
		}
	}
	v, err = q.guarded(ctx, tx, log, func(r *exec.Run) (v value.Value, err error) {
		r.Out = q.outOf(s, rows)
		if q.left = nil; q.lone {
			r.After = func(wait func(context.Context) error) { q.left = wait }
		}
		v, returned, err = r.Statement(s)
		q.outside, q.packed = q.outside || r.Outside, nil
		if r.Out != nil {
			q.packed = r.Out.Packed
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
		err = value.Bearable(set, q.ex.Limits.Answer)
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
func (q *Query) guarded(ctx context.Context, tx *txn.Tx, log *record.Log, do func(*exec.Run) (value.Value, error)) (v value.Value, err error) {
	ctx, stop := q.ex.timed(ctx)
	defer stop()
	ctx, end := q.inTime(ctx)
	defer end()
	q.mem.Rewind(q.mark) // of an attempt before
	r := q.ex.NewRun(ctx, q.sess, q.base, tx)
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
	if v, err = do(r); err != nil {
		return value.None, err
	}
	if value.Exceeds(v, q.ex.Limits.Answer) {
		return value.None, exec.TooHeavy(q.ex.Limits.Answer)
	}
	q.mem.Rewind(q.mark)
	held := Result{Value: v}
	if r.Out != nil {
		held.Rows = r.Out.Packed
	}
	if err := q.mem.Charge(held.weight()); err != nil {
		return value.None, err
	}
	return value.Detach(v), nil
}

// Do runs f, in a transaction of its own and in the time that a statement has, again on conflict.
func (q *Query) Do(ctx context.Context, f func(*exec.Run) error) error {
	return txn.Retry(ctx, q.ex.Store, q.ex.Writing(), func(tx *txn.Tx) error {
		log := record.NewLog()
		_, err := q.guarded(ctx, tx, log, func(r *exec.Run) (value.Value, error) {
			return value.None, r.Explain(f(r))
		})
		if err != nil {
			return err
		}
		return q.ex.Seal(ctx, tx, log)
	})
}

// timed bounds ctx by the time that a statement may take, where there is such a limit.
func (x *Runner) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	d := x.Limits.QueryTimeout
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d, errs.TimedOut(d, value.DurationFrom(d).String()))
}

// inTime bounds what is done in the open transaction by the time that it has left, and a transaction that only now begins by
// all of its time. One that the caller keeps open is bounded by the caller.
func (q *Query) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	d := q.ex.Limits.TxTimeout
	if d <= 0 || q.keep {
		return ctx, func() {}
	}
	until := q.until
	if q.tx == nil {
		until = time.Now().Add(d)
	}
	return context.WithDeadlineCause(ctx, until, errs.TimedOut(d, value.DurationFrom(d).String()))
}
