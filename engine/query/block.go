package query

import (
	"context"
	"errors"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// state is where a query stands.
type state uint8

// The states. A block begins with BEGIN and ends with COMMIT or CANCEL, also after a failure between them.
const (
	alone    state = iota // each statement has a transaction of its own
	borrowed              // all statements run in a transaction of the caller's, which stays open
	spoiled               // likewise, but a BEGIN has failed it: the statements that follow are not executed
	inBlock               // statements run in the transaction of the block
	failed                // one of them has failed: those that follow are cancelled
	nested                // a BEGIN inside of the block has failed it: those that follow are not executed
	returned              // a RETURN has ended the block: those that follow are left out
	over                  // likewise, and then a BEGIN has failed it
)

// failed reports whether nothing is committed at the end of the block.
func (s state) failed() bool { return s == failed || s == nested || s == over }

// A block is a transaction that a text holds as a whole, from its BEGIN to its COMMIT. Its answers leave when it has
// ended, so where its commit meets a conflict it runs again, as a single statement does, and the caller sees the last
// run alone. That is not done when a run did something that the end of the transaction did not undo, or has answered in
// part.

// next runs the statement at the start of stmts, or those that share its commit, or the block, and gives what is left.
func (q *Query) next(ctx context.Context, stmts []prepare.Statement) []prepare.Statement {
	if n := q.joint(ctx, stmts); n > 0 {
		return stmts[n:]
	}
	n := stmts[0].Block
	if n == 0 || q.state != alone || q.sess.ReadOnly {
		q.Statement(ctx, &stmts[0])
		return stmts[1:]
	}
	q.block(ctx, stmts[1:n-1])
	return stmts[n:]
}

// before is what a block must find as it was when it runs again.
type before struct {
	answers int
	vars    []record.Param
	sess    *exec.SessionState
	imports bool
	sent    int   // pieces of rows
	held    int64 // bytes, by the query
}

func (q *Query) before() before {
	b := before{answers: len(q.out), vars: q.base.Vars(), sess: q.sess, imports: q.imports, held: q.mem.Mark()}
	if q.stream != nil {
		b.sent = q.stream.sent
	}
	return b
}

func (q *Query) restore(b *before) {
	clear(q.out[b.answers:])
	q.out = q.out[:b.answers]
	q.base.Reset(b.vars)
	q.sess, q.imports = b.sess, b.imports
	q.mem.Rewind(b.held)
	if q.stream != nil {
		q.stream.forget(b.answers)
	}
}

// errFailed tells that a statement of a block has failed: its answers say so already.
var errFailed = errors.New("a statement of the transaction failed")

// errAborted answers the COMMIT of a transaction in which a statement failed.
func errAborted() error {
	return errs.With(errs.KindQuery, "NotExecuted", nil, "Cannot COMMIT: the transaction was aborted due to a prior error")
}

// block runs the statements between a BEGIN and its COMMIT.
func (q *Query) block(ctx context.Context, stmts []prepare.Statement) {
	start := time.Now()
	b := q.before()
	q.lasting = false
	again := func() bool {
		q.whole = true // no rows in pieces from now on
		return !q.lasting && (q.stream == nil || q.stream.sent == b.sent)
	}
	var last time.Time
	err := txn.RetryWhile(ctx, q.ex.Store, q.ex.Writing(), again, func(tx *txn.Tx) error {
		q.restore(&b)
		q.open(tx, start)
		defer q.leave()
		for i := range stmts {
			q.Statement(ctx, &stmts[i])
		}
		if q.state.failed() {
			return errFailed
		}
		last = time.Now()
		return q.ex.Seal(ctx, tx, q.log)
	})
	q.whole = false
	switch {
	case err == nil:
		q.answer(last, value.None, "", nil)
	case errors.Is(err, errFailed):
		q.answer(time.Now(), value.None, "", errAborted())
	case len(q.out) == b.answers: // it has not even begun
		q.answer(start, value.None, "", exec.Explain(ctx, err))
		for range stmts {
			q.answer(start, value.None, "", errs.NotExecuted())
		}
	default:
		q.refuse(exec.Explain(ctx, err))
	}
}

// leave ends the block and gives up its transaction.
func (q *Query) leave() *txn.Tx {
	tx := q.tx
	q.state, q.tx = alone, nil
	return tx
}

// open makes tx the transaction of the text.
func (q *Query) open(tx *txn.Tx, start time.Time) {
	q.state, q.tx, q.log, q.until = inBlock, tx, record.NewLog(), time.Now().Add(q.ex.Limits.TxTimeout)
	q.answer(start, value.None, "", nil)
	q.first = len(q.out)
}

// begin is BEGIN.
func (q *Query) begin(ctx context.Context, start time.Time) {
	if q.state != alone {
		for i := q.first; i < len(q.out); i++ {
			q.undo(i, errs.With(errs.KindQuery, "NotExecuted", nil, "The query was not executed due to a failed transaction: BEGIN"))
		}
		switch q.state {
		case failed, nested, over, spoiled:
			q.answer(start, value.None, "", errs.Cancelled())
			return
		case returned:
			q.state = over
		case inBlock:
			q.state = nested
		case borrowed:
			q.state = spoiled
		}
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
		q.out[i] = Result{Err: e, Time: q.out[i].Time, Verb: q.out[i].Verb}
	}
}

// commit is COMMIT.
func (q *Query) commit(ctx context.Context, start time.Time) {
	if !q.Open() {
		q.answer(start, value.None, "", errs.Internal("Invalid statement: Cannot COMMIT without starting a transaction"))
		return
	}
	dead := q.state.failed()
	tx := q.leave()
	if dead {
		tx.Cancel()
		q.answer(start, value.None, "", errAborted())
		return
	}
	if err := q.ex.Commit(ctx, tx, q.log); err != nil {
		q.refuse(exec.Explain(ctx, err))
		return
	}
	q.wrote += int64(q.log.Len())
	q.answer(start, value.None, "", nil)
}

func detailKind(e *errs.Error) string {
	if e.Detail == nil {
		return ""
	}
	return e.Detail.Kind
}

// cancel is CANCEL.
func (q *Query) cancel(start time.Time) {
	if !q.Open() {
		q.answer(start, value.None, "", errs.Internal("Invalid statement: Cannot CANCEL without starting a transaction"))
		return
	}
	dead := q.state.failed()
	q.leave().Cancel()
	if dead {
		return
	}
	for i := q.first; i < len(q.out); i++ {
		q.out[i] = Result{Err: errs.Cancelled(), Time: q.out[i].Time, Verb: q.out[i].Verb}
	}
	q.answer(start, value.None, "", nil)
}

// inside runs a statement of an open transaction.
func (q *Query) inside(ctx context.Context, p *prepare.Statement, start time.Time) {
	switch q.state {
	case returned, over:
		return
	case nested, spoiled:
		q.answer(start, value.None, "", errs.With(errs.KindQuery, "NotExecuted", nil,
			"The query was not executed due to a failed transaction: %s", ast.Text(p.Stmt)))
		return
	case failed:
		q.answer(start, value.None, "", errs.Cancelled())
		return
	}
	mark, changes := q.tx.Savepoint(), q.log.Mark()
	v, ended, err := q.run(ctx, q.tx, q.log, running{stmt: p.Stmt, rows: q.rowsOf(p.Stmt)})
	if err != nil {
		q.tx.RollbackTo(mark)
		q.log.RollbackTo(changes)
		if !exec.IsStray(err) && q.state == inBlock {
			q.state = failed
			for i := q.first; i < len(q.out); i++ {
				q.undo(i, errs.NotExecuted())
			}
		}
	}
	q.answerTo(p.Stmt, start, v, err)
	if ended && q.state == inBlock {
		q.state = returned
	}
}

// refuse replaces the answers of a transaction by why it could not be committed.
func (q *Query) refuse(err error) {
	e := errs.As(err)
	for i := q.first; i < len(q.out); i++ {
		q.out[i] = Result{Err: errs.With(e.Kind, detailKind(e), nil, "Query not executed: %s", e.Msg),
			Time: q.out[i].Time, Verb: q.out[i].Verb}
	}
}
