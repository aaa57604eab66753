package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
)

// ImportWhole applies a stream of statements in one transaction: after an error nothing of it stays. verify is called
// at the end of the stream, before the commit; an error of it undoes the import. abort makes a Read of r that waits
// give up, and may be called at any time. Who may import is said by Import.
func (s *Session) ImportWhole(ctx context.Context, r io.Reader, verify func() error, abort func()) error {
	st, err := s.mayImport(s.snapshot())
	if err != nil {
		return err
	}
	tx, err := txn.Begin(ctx, s.e.store, s.e.queries.Writing())
	if err != nil {
		return err
	}
	ctx, q := s.e.queries.NewQuery(ctx, st, nil, query.Source{Kind: "import"})
	defer q.Close()
	log := record.NewLog()
	if err := s.importInto(ctx, r, q.Within(tx, log), abort); err != nil {
		tx.Cancel()
		return err
	}
	if err := verify(); err != nil {
		tx.Cancel()
		return err
	}
	if err := s.e.queries.Commit(ctx, tx, log); err != nil {
		return exec.Explain(ctx, err)
	}
	s.moved(st, q.Session())
	return nil
}

// importInto runs the statements of a stream by q, up to the first that fails.
func (s *Session) importInto(
	ctx context.Context,
	r io.Reader,
	q *query.Query,
	abort func(),
) error {
	reading, stop := context.WithCancel(ctx)
	parsed := make(chan lined, importAhead)
	var broken error
	go func() {
		defer close(parsed)
		_, broken = s.e.parseAhead(reading, r, parsed)
	}()
	var failed error
	for next := range parsed {
		if failed = importOne(ctx, q, next); failed == nil {
			failed = ctx.Err()
		}
		if failed != nil {
			break
		}
	}
	stop()
	if failed != nil {
		abort()
	}
	for range parsed { // lets the parsing goroutine end
	}
	switch {
	case failed != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case failed != nil:
		return failed
	case ctx.Err() != nil: // it has cut off the parser
		return context.Cause(ctx)
	}
	return broken
}

// importOne runs one statement of an import that is one transaction.
func importOne(ctx context.Context, q *query.Query, next lined) error {
	switch stmt := next.stmt.(type) {
	case *ast.Begin, *ast.Commit, *ast.Cancel:
		return errs.Validation("The import is one transaction: BEGIN, COMMIT and CANCEL have no place in its text (line %d)", next.line)
	case *ast.Insert:
		if stmt.Output == nil {
			stmt.Output = &ast.Output{Kind: ast.OutputNone} // it is not read, and may be large
		}
	}
	q.Statement(ctx, &prepare.Of(&ast.Query{Stmts: []ast.Statement{next.stmt}}).Stmts[0])
	answers := q.Take()
	if last := answers[len(answers)-1]; last.Err != nil {
		e := *last.Err
		if !errors.Is(&e, errs.Conflict()) {
			e.Msg = fmt.Sprintf("%s (statement at line %d)", e.Msg, next.line)
		}
		return &e
	}
	return q.Session().Auth.MayUse()
}
