package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
)

// What statements of an import may share a commit.
const (
	importStatements = 500
	importRecords    = 20_000 // but for those of a single statement
)

// importer runs the statements of an import. Those outside BEGIN gather in a transaction of its
// own, each behind a savepoint, so that one that fails leaves nothing behind and a commit is paid
// for many.
type importer struct {
	e      *Engine
	stop   bool         // with the first failure
	q      *query.Query // for what runs by itself, and for BEGIN … COMMIT
	lines  []int        // of its statements that are not counted yet
	wrote  int64        // what q had committed when it was last counted
	res    *ImportResult
	lost   error // a USE led out of the session's level: the import ends
	lostAt int   // its line

	tx      *txn.Tx // nil: nothing is gathered
	log     *record.Log
	within  *query.Query
	pending []prepare.Statement
	where   []int // lines of pending
}

// statement runs one statement, or gathers it, and reports whether it failed.
func (im *importer) statement(ctx context.Context, next lined) bool {
	p := &prepare.Of(&ast.Query{Stmts: []ast.Statement{next.stmt}}).Stmts[0]
	switch s := next.stmt.(type) {
	case *ast.Use:
		im.use(ctx, p, next.line)
		return false
	case *ast.Begin, *ast.Commit, *ast.Cancel, *ast.Let, *ast.Option:
		return im.alone(ctx, p, next.line)
	case *ast.Insert:
		if s.Output == nil {
			s.Output = &ast.Output{Kind: ast.OutputNone} // it is not used, and may be large
		}
	}
	if im.q.Open() || im.tx == nil && !im.begin(ctx) {
		return im.alone(ctx, p, next.line)
	}
	im.within.Statement(ctx, p)
	failed := im.within.Failed()
	im.pending, im.where = append(im.pending, *p), append(im.where, next.line)
	if len(im.pending) >= importStatements || len(im.log.Changes) >= importRecords {
		return im.flush(ctx) || failed
	}
	return failed
}

// alone runs a statement by itself, after what was gathered.
func (im *importer) alone(ctx context.Context, p *prepare.Statement, line int) (failed bool) {
	failed = im.flush(ctx)
	im.q.Statement(ctx, p)
	im.lines = append(im.lines, line)
	return im.settle() || failed
}

// settle counts what q has answered, unless a transaction of the text is open, and reports whether any of it failed.
func (im *importer) settle() bool {
	if im.q.Open() {
		return false
	}
	return im.counted(im.q.Take())
}

// counted counts answers of q, and what it has committed.
func (im *importer) counted(answers []Result) bool {
	before := im.res.Failures
	im.res.count(answers, im.lines)
	im.lines = im.lines[:0]
	im.res.Records += im.q.Wrote() - im.wrote
	im.wrote = im.q.Wrote()
	return im.res.Failures > before
}

// use runs a USE. One that leads where the session may not write anything fails, and nothing after it is run: neither
// there, where it would be dropped, nor in the place before, where it does not belong.
func (im *importer) use(ctx context.Context, p *prepare.Statement, line int) {
	im.flush(ctx)
	was := im.q.Session()
	im.q.Statement(ctx, p)
	im.lines = append(im.lines, line)
	if im.lost = im.q.Session().Auth.MayUse(); im.lost != nil {
		im.lostAt = line
		im.q.SetSession(was)
		if !im.q.Open() {
			im.q.Take()
			im.lines = im.lines[:0]
		}
		return
	}
	im.settle()
}

// begin starts to gather; false where the store does not let it.
func (im *importer) begin(ctx context.Context) bool {
	tx, err := txn.Begin(ctx, im.e.store, im.e.queries.Writing())
	if err != nil {
		return false
	}
	changes := make([]record.Change, 0, min(im.log.Len(), importRecords)) // about as many as in the commit before
	im.tx, im.log = tx, &record.Log{Changes: changes}
	im.within = im.q.Beside().Within(tx, im.log)
	return true
}

// flush commits what was gathered, and reports whether any of it failed. Where the commit fails, the statements run
// again one by one.
func (im *importer) flush(ctx context.Context) bool {
	if im.tx == nil {
		return false
	}
	tx, pending, answers := im.tx, im.pending, im.within.Take()
	im.tx, im.pending = nil, im.pending[:0]
	im.q.SetSession(im.within.Session())
	before, where := im.res.Failures, im.where
	im.where = im.where[:0]
	if err := im.e.queries.Commit(ctx, tx, im.log); err != nil {
		for i := range pending {
			if im.q.Statement(ctx, &pending[i]); im.stop && im.q.Failed() {
				break
			}
		}
		im.lines = append(im.lines, where...)
		return im.counted(im.q.Take())
	}
	im.res.Records += int64(im.log.Len())
	im.res.count(answers, where)
	return im.res.Failures > before
}

// finish commits what is left, and drops a transaction without its COMMIT.
func (im *importer) finish(ctx context.Context) {
	im.flush(ctx)
	im.counted(im.q.Finish())
}
