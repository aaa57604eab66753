package query

import (
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
	"github.com/nacredb/nacre/internal/life"
)

// Query is one text of statements at work for a session.
type Query struct {
	ex   *Runner
	sess *exec.SessionState // as the statements so far have left it
	base *exec.Env
	out  []Result

	tx    *txn.Tx     // that is open; nil: alone
	log   *record.Log // what tx changes
	until time.Time   // when the time of tx runs out, where there is a limit
	first int         // index in out of the first statement of the block
	wrote int64       // see Wrote

	state   state
	imports bool // OPTION IMPORT
	lasting bool // a statement did what the end of its transaction does not undo, see exec.Run.Outside
	apart   bool // no more statements share their commit
	whole   bool // rows leave only with their answer, also on a stream
	fresh   bool // its first statement begins now, see start
	packs   bool // lists are answered in Result.Rows
	timed   bool // limit is in use

	stream *streaming    // not nil: the answers go to a sink
	packed *value.Packed // the answer of the statement that ran last, where it is packed
	limit  life.Context  // of the first statement

	work entry // in the register of queries that run

	mem  *budget.Account // what the query holds: its answers so far, its variables and what its statement needs
	own  budget.Account  // mem, but for one that shares another's
	env  exec.Env        // base, likewise
	mark int64           // what mem held before the statement
}

// queryCost is about what a query at work takes: its goroutine, its transaction and what it is evaluated with.
const queryCost = 16 << 10

// NewQuery starts a query text for a session with the given parameters. It is listed as running until it is closed. The
// query must run with the context that NewQuery gives: an operator stops it by that.
func (x *Runner) NewQuery(ctx context.Context, s *exec.SessionState, vars *value.Object,
	src Source) (context.Context, *Query) {
	q := &Query{ex: x, sess: s, own: x.Memory.Account()}
	q.base, q.mem = &q.env, &q.own
	n := queryCost + src.Weight
	if vars != nil && vars.Len() > 0 {
		params := make([]record.Param, 0, vars.Len())
		for _, f := range vars.Fields() {
			params = append(params, record.Param{Name: f.Name, Value: f.Value})
			n += value.Weight(f.Value)
		}
		q.env.Reset(params)
	}
	q.Needs(n)
	q.work.ctx.Init(ctx)
	q.work.memory = q.mem
	x.working.enter(&q.work, s, src)
	return &q.work.ctx, q
}

// Session is the session as the statements so far have left it.
func (q *Query) Session() *exec.SessionState { return q.sess }

// SetSession makes the query go on as that session.
func (q *Query) SetSession(s *exec.SessionState) { q.sess = s }

// Needs counts n bytes more that the query keeps while it runs. If they are too many, its first statement says so.
func (q *Query) Needs(n int) {
	_ = q.mem.Charge(n) // the account asks again
	q.mark = q.mem.Mark()
}

// Close ends the query: what its answers hold counts no more.
func (q *Query) Close() {
	q.work.leave()
	q.mem.Close()
}

// Beside is a query of the same text: it shares parameters, session and options, and has answers of its own.
func (q *Query) Beside() *Query {
	return &Query{ex: q.ex, sess: q.sess, base: q.base, imports: q.imports, mem: q.mem}
}

// Within makes the query run inside an open transaction, which it neither commits nor cancels.
func (q *Query) Within(tx *txn.Tx, log *record.Log) *Query {
	q.state, q.tx, q.log = borrowed, tx, log
	return q
}

// Run runs all statements and gives their answers.
func (q *Query) Run(ctx context.Context, s *prepare.Script) []Result {
	q.out = make([]Result, 0, len(s.Stmts))
	q.fresh = q.state == alone
	for rest := s.Stmts; len(rest) > 0; {
		rest = q.next(ctx, rest)
	}
	return q.Finish()
}

// Finish ends the text: a transaction that is still open is dropped.
func (q *Query) Finish() []Result {
	if q.Open() {
		said := q.state == nested || q.state.failed() // the BEGIN inside, or what failed, has told already
		q.leave().Cancel()
		for i := q.first; !said && i < len(q.out); i++ {
			q.out[i] = Result{Err: errs.Internal("Missing COMMIT statement"), Time: q.out[i].Time, Verb: q.out[i].Verb}
		}
	}
	return q.out
}

// Wrote is how many changes of records the query has committed, those of events and views included; not those within a
// transaction of others.
func (q *Query) Wrote() int64 { return q.wrote }

// Failed reports whether the statement that ran last failed.
func (q *Query) Failed() bool { return len(q.out) > 0 && q.out[len(q.out)-1].Err != nil }

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
func (q *Query) Open() bool { return q.state >= inBlock }

// start is the time at which a statement begins: the first of a text that runs as a whole begins with it.
func (q *Query) start() time.Time {
	if q.fresh {
		q.fresh = false
		return q.work.began
	}
	return time.Now()
}

// Statement runs one statement of the text and adds its answer.
func (q *Query) Statement(ctx context.Context, p *prepare.Statement) {
	start, had := q.start(), len(q.out)
	q.mark = q.mem.Mark()
	q.statement(ctx, p, start)
	for i := min(had, len(q.out)); i < len(q.out); i++ {
		q.out[i].Verb = verb(p.Stmt)
	}
}

func (q *Query) statement(ctx context.Context, p *prepare.Statement, start time.Time) {
	if err := q.mayChange(p.Stmt); err != nil {
		q.answer(start, value.None, "", err)
		return
	}
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
		if q.state != alone {
			q.inside(ctx, p, start)
			return
		}
		v, err := q.byItself(ctx, p, start)
		q.answerTo(p.Stmt, start, v, exec.Explain(ctx, err))
	}
}

// modelCall is a call of the model that "name<version>" names.
func modelCall(path string) *ast.Call {
	name, version, _ := strings.Cut(path, "<")
	return &ast.Call{Kind: ast.CallModel, Path: name, Version: strings.TrimSuffix(version, ">")}
}

// Call runs one function by name: "string::len", "fn::greet", "ml::price<1.0.0>".
func (q *Query) Call(ctx context.Context, name string, args []value.Value) Result {
	for _, a := range args {
		q.Needs(value.Weight(a))
	}
	call := &ast.Call{Path: strings.ToLower(name)}
	if path, ok := strings.CutPrefix(name, "fn::"); ok {
		call = &ast.Call{Kind: ast.CallCustom, Path: path}
	} else if path, ok := strings.CutPrefix(name, "ml::"); ok {
		call = modelCall(path)
	}
	for _, a := range args {
		call.Args = append(call.Args, &ast.Literal{Value: a})
	}
	q.Statement(ctx, &prepare.Statement{Stmt: &ast.ExprStmt{X: call}, Writes: true})
	return q.out[len(q.out)-1]
}
