package query

import (
	"context"
	"errors"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// A block is a transaction that a text holds as a whole, from its BEGIN to its COMMIT. Its answers leave when it has ended,
// so where its commit meets a conflict it runs again, as a single statement does, and the caller sees the last run alone.
// That is not done when a run did something that the end of the transaction did not undo, or has answered in part.

// next runs the statement at the start of stmts, or the block, and gives what is left of them.
func (q *Query) next(ctx context.Context, stmts []exec.Prepared) []exec.Prepared {
	n := stmts[0].Block
	if n == 0 || q.tx != nil {
		q.Statement(ctx, &stmts[0])
		return stmts[1:]
	}
	q.block(ctx, stmts[1:n-1])
	return stmts[n:]
}

// before is what a block must find as it was when it runs again.
type before struct {
	answers int
	vars    []exec.Var
	sess    exec.Session
	imports bool
	sent    int   // pieces of rows
	held    int64 // bytes, by the query
}

func (q *Query) before() before {
	b := before{answers: len(q.out), vars: q.base.Vars(), sess: *q.sess, imports: q.imports, held: q.mem.Mark()}
	if q.stream != nil {
		b.sent = q.stream.sent
	}
	return b
}

func (q *Query) restore(b *before) {
	clear(q.out[b.answers:])
	q.out = q.out[:b.answers]
	q.base.Reset(b.vars)
	*q.sess, q.imports = b.sess, b.imports
	q.mem.Rewind(b.held)
	if q.stream != nil {
		q.stream.forget(b.answers)
	}
}

// errFailed tells that a statement of a block has failed: its answers say so already.
var errFailed = errors.New("a statement of the transaction failed")

// block runs the statements between a BEGIN and its COMMIT.
func (q *Query) block(ctx context.Context, stmts []exec.Prepared) {
	start := time.Now()
	b := q.before()
	q.outside = false
	again := func() bool {
		q.whole = true // no rows in pieces from now on
		return !q.outside && (q.stream == nil || q.stream.sent == b.sent)
	}
	var last time.Time
	err := txn.RetryWhile(ctx, q.ex.Store, q.ex.Writing(), again, func(tx *txn.Tx) error {
		q.restore(&b)
		q.open(tx, start)
		defer func() { q.tx = nil }()
		for i := range stmts {
			q.Statement(ctx, &stmts[i])
		}
		if q.failed {
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
	case len(q.out) == b.answers: // it has not even begun
		q.answer(start, value.None, "", exec.Explain(ctx, err))
		for range stmts {
			q.answer(start, value.None, "", errs.NotExecuted())
		}
	default:
		q.refuse(exec.Explain(ctx, err))
	}
}

// open makes tx the transaction of the text.
func (q *Query) open(tx *txn.Tx, start time.Time) {
	q.tx, q.log, q.until = tx, record.NewLog(), time.Now().Add(q.ex.Limits.TxTimeout)
	q.failed, q.nested, q.returned = false, false, false
	q.answer(start, value.None, "", nil)
	q.first = len(q.out)
}

// refuse replaces the answers of a transaction by why it could not be committed.
func (q *Query) refuse(err error) {
	e := errs.As(err)
	for i := q.first; i < len(q.out); i++ {
		q.out[i] = Result{Err: errs.With(e.Kind, detailKind(e), nil, "Query not executed: %s", e.Msg), Time: q.out[i].Time}
	}
}
