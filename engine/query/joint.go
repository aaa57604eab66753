package query

import (
	"context"
	"errors"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Statements of a text that follow each other and write records share one commit, and so one sync of the store. Each of
// them is still a transaction of its own for all that can be observed: it succeeds or fails alone, and others see the
// state after some of them, as if the later ones came in the same instant. DESIGN.md says when that is not done.
const (
	mostJoint    = 128                   // statements that share a commit
	jointTime    = 10 * time.Millisecond // no statement joins later: those before it wait to be committed
	jointChanges = 1000                  // likewise, for the changes of records so far
)

// joinable reports whether a statement may share its commit with its neighbours, as far as that shows in its text.
func joinable(p *prepare.Statement) bool {
	switch p.Stmt.(type) {
	case *ast.Create, *ast.Insert, *ast.Update, *ast.Delete, *ast.Relate:
		return p.Writes
	}
	return false
}

// joint runs some statements at the start of stmts in one transaction and gives how many of them are answered. 0: the
// first one must run by itself.
func (q *Query) joint(ctx context.Context, stmts []prepare.Statement) int {
	most := 0
	for most < min(len(stmts), mostJoint) && joinable(&stmts[most]) {
		most++
	}
	if most < 2 || q.apart || q.state != alone || q.sess.ReadOnly || q.ex.Versioned {
		return 0
	}
	tx, err := txn.Begin(ctx, q.ex.Store, q.ex.Writing())
	if err != nil {
		return 0 // by itself, the statement says why
	}
	defer tx.Cancel()
	start, b, log, n := time.Now(), q.before(), record.NewLog(), 0
	for n < most && log.Len() < jointChanges && time.Since(start) < jointTime && !q.apart {
		if q.join(ctx, tx, log, &stmts[n]) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	sealed := time.Now()
	if err = q.ex.Commit(ctx, tx, log); err != nil {
		return q.unjoin(ctx, &b, n, err)
	}
	q.wrote += int64(log.Len())
	q.out[len(q.out)-1].Time += time.Since(sealed)
	return n
}

// join runs one statement in a transaction that it shares, and answers it. Where it must have a transaction of its own,
// nothing is left of it, and no more statements of the text are joined.
func (q *Query) join(ctx context.Context, tx *txn.Tx, log *record.Log, p *prepare.Statement) bool {
	start, had, vars, lasting := time.Now(), len(q.out), q.base.Vars(), q.lasting
	before, mark := tx.Savepoint(), log.Mark()
	q.mark, q.lasting = q.mem.Mark(), false
	v, _, err := q.run(ctx, tx, log, running{stmt: p.Stmt, joint: true})
	q.apart = q.lasting || log.Separate(mark, q.ex.watches)
	q.lasting = lasting
	if err != nil || q.apart {
		tx.RollbackTo(before)
		log.RollbackTo(mark)
		q.base.Reset(vars)
	}
	if q.apart {
		q.mem.Rewind(q.mark)
		return false
	}
	if err != nil && q.ex.Meter != nil { // one that is cancelled, for operators
		q.ex.Meter.Count(&txn.Work{Spent: time.Since(start), Write: true})
	}
	q.answerTo(p.Stmt, start, v, exec.Explain(ctx, err))
	q.out[had].Verb = verb(p.Stmt)
	return true
}

// watches reports whether a live query watches a table.
func (x *Runner) watches(tb *catalog.Table) bool {
	return x.Hub.Watched(live.Table{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID})
}

// unjoin takes back the last n answers, whose commit has failed: nothing was written, and each of the statements runs
// by itself. Where the outcome is not known, that is their answer.
func (q *Query) unjoin(ctx context.Context, b *before, n int, err error) int {
	q.apart = true
	if !errors.Is(err, kv.ErrUndetermined) {
		q.restore(b)
		return 0
	}
	e := exec.Explain(ctx, err)
	for i := len(q.out) - n; i < len(q.out); i++ {
		if was := q.out[i]; was.Err == nil {
			q.answer(time.Now(), value.None, "", e)
			last := len(q.out) - 1
			q.out[i] = q.out[last]
			q.out[i].Time, q.out[i].Verb = was.Time, was.Verb
			q.out = q.out[:last]
		}
	}
	return n
}
