package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/exec"
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
	e    *Engine
	sess *exec.Session
	q    *query.Query // for what runs by itself, and for BEGIN … COMMIT
	res  *ImportResult
	lost error // a USE led out of the session's level: the import ends

	tx      *txn.Tx // nil: nothing is gathered
	log     *record.Log
	within  *query.Query
	pending []exec.Prepared
}

// statement runs one statement, or gathers it.
func (im *importer) statement(ctx context.Context, stmt ast.Statement) {
	p := &exec.Prepare(&ast.Query{Stmts: []ast.Statement{stmt}}).Stmts[0]
	switch s := stmt.(type) {
	case *ast.Use:
		im.use(ctx, p)
		return
	case *ast.Begin, *ast.Commit, *ast.Cancel, *ast.Let, *ast.Option:
		im.alone(ctx, p)
		return
	case *ast.Insert:
		if s.Output == nil {
			s.Output = &ast.Output{Kind: ast.OutputNone} // nobody reads it, and it may be large
		}
	}
	if im.q.Open() || im.tx == nil && !im.begin(ctx) {
		im.alone(ctx, p)
		return
	}
	im.within.Statement(ctx, p)
	im.pending = append(im.pending, *p)
	if len(im.pending) >= importStatements || len(im.log.Changes) >= importRecords {
		im.flush(ctx)
	}
}

// alone runs a statement by itself, after what was gathered.
func (im *importer) alone(ctx context.Context, p *exec.Prepared) {
	im.flush(ctx)
	im.q.Statement(ctx, p)
	if !im.q.Open() {
		im.res.count(im.q.Take())
	}
}

// use runs a USE. One that leads where the session may not write anything fails, and nothing after it is run: neither
// there, where it would be dropped, nor in the place before, where it does not belong.
func (im *importer) use(ctx context.Context, p *exec.Prepared) {
	im.flush(ctx)
	was := im.sess.Auth
	im.q.Statement(ctx, p)
	var answers []Result
	if !im.q.Open() {
		answers = im.q.Take()
	}
	if im.lost = im.sess.Auth.MayUse(); im.lost != nil {
		im.sess.Auth = was
		return
	}
	im.res.count(answers)
}

// begin starts to gather; false where the store does not let it.
func (im *importer) begin(ctx context.Context) bool {
	tx, err := txn.Begin(ctx, im.e.store, im.e.queries.Writing())
	if err != nil {
		return false
	}
	im.tx, im.log = tx, record.NewLog()
	im.within = im.q.Beside().Within(tx, im.log)
	return true
}

// flush commits what was gathered. Where the commit fails, the statements run again one by one.
func (im *importer) flush(ctx context.Context) {
	if im.tx == nil {
		return
	}
	tx, pending, answers := im.tx, im.pending, im.within.Take()
	im.tx, im.pending = nil, im.pending[:0]
	if err := im.e.queries.Commit(ctx, tx, im.log); err != nil {
		for i := range pending {
			im.q.Statement(ctx, &pending[i])
		}
		answers = im.q.Take()
	}
	im.res.count(answers)
}

// finish commits what is left, and drops a transaction without its COMMIT.
func (im *importer) finish(ctx context.Context) {
	im.flush(ctx)
	im.res.count(im.q.Finish())
}
