package query

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/value"
)

// Sink takes the answers of a text while it runs. Its methods are called by one goroutine and may wait, which holds up
// the text; an error ends it.
type Sink interface {
	// Begin says that the text has begun, and how many answers there will be at most.
	Begin(statements int) error
	// Rows gives some rows of answer i, before the statement has ended: they may still come to nothing. The rows are
	// good until Rows returns.
	Rows(i int, rows []value.Value) error
	// Finished says what became of answer i. rows tells that its value was given by Rows, even if there were none.
	Finished(i int, r *Result, rows bool) error
}

// streaming is the state of a query that hands its answers to a Sink.
type streaming struct {
	sink     Sink
	inRows   []bool // of each answer: it was given as rows
	finished int    // so many answers are
	sent     int    // pieces of rows that were handed over
	q        *Query
	err      error // of the sink

	first struct { // room for what the first statement needs
		rowsTo
		exec.Out
		inRows [1]bool
	}
}

// rowsTo is where the rows of one statement go.
type rowsTo struct {
	to    *streaming
	index int
	sent  bool
}

// Stream is Run for a Sink. The rows of a SELECT leave while it runs, as long as nothing is to be done to the list as a
// whole; the other answers when their statement has ended. What is inside BEGIN … COMMIT is finished with its
// transaction. The error is that of the sink or of ctx: statements that were not reported as finished came to nothing.
func (q *Query) Stream(ctx context.Context, s *prepare.Script, sink Sink) error {
	st := &streaming{sink: sink, q: q}
	st.inRows = st.first.inRows[:0]
	q.stream = st
	q.out = make([]Result, 0, len(s.Stmts))
	if err := sink.Begin(len(s.Stmts)); err != nil {
		return err
	}
	for rest := s.Stmts; len(rest) > 0; {
		rest = q.next(ctx, rest)
		if q.Open() {
			continue
		}
		if err := q.report(ctx); err != nil {
			return err
		}
	}
	q.Finish()
	return q.report(ctx)
}

// report tells the sink of the answers that are final by now.
func (q *Query) report(ctx context.Context) error {
	st := q.stream
	if st.err != nil {
		return st.err
	}
	for ; st.finished < len(q.out); st.finished++ {
		r := &q.out[st.finished]
		if r.Err != nil && ctx.Err() != nil && context.Cause(ctx) != exec.ErrStopped {
			return ctx.Err() // cut off
		}
		rows := st.finished < len(st.inRows) && st.inRows[st.finished]
		if err := st.sink.Finished(st.finished, r, rows); err != nil {
			return err
		}
		q.mem.Release(r.weight())
		*r = Result{}
	}
	return nil
}

// rowsOf makes the rows of a statement go to the sink, where there is one and the statement gives any.
func (q *Query) rowsOf(s ast.Statement) *rowsTo {
	sel, ok := s.(*ast.Select)
	if !ok || q.stream == nil || q.whole || sel.Only || sel.Explain != nil {
		return nil
	}
	rows := &q.stream.first.rowsTo
	if rows.to != nil {
		rows = new(rowsTo)
	}
	rows.to, rows.index = q.stream, len(q.out)
	return rows
}

// give hands rows to the sink.
func (t *rowsTo) give(rows []value.Value) error {
	st := t.to
	for len(st.inRows) <= t.index {
		st.inRows = append(st.inRows, false)
	}
	st.inRows[t.index] = true
	if len(rows) == 0 {
		return nil
	}
	if err := st.q.stands(); err != nil { // a client may take days to read what one statement gives
		return err
	}
	t.sent = true
	st.sent++
	st.q.work.rows.Add(int64(len(rows)))
	if err := st.sink.Rows(t.index, rows); err != nil {
		st.err = err
		st.q.work.ctx.Stop(nil)
		return context.Canceled // the statement is not at fault
	}
	return nil
}

// forget takes back that the answer is given as rows.
func (t *rowsTo) forget() { t.to.forget(t.index) }

// forget takes back that the answers from one on are given as rows.
func (st *streaming) forget(from int) {
	st.inRows = st.inRows[:min(from, len(st.inRows))]
}

// errLateWrite is the end of a statement that turns out to write when its first rows are with the client already.
func errLateWrite() error {
	return errs.Internal("The statement writes, but has begun to answer: run it without streaming")
}

// Packing makes the query give the rows of each SELECT that is a statement of its own, those of programs in ISO GQL,
// and other answers that are lists, as Result.Rows.
func (q *Query) Packing() *Query {
	q.packs = true
	return q
}

// pack encodes an answer that is a list, while what it was read from lasts: a copy of it that lasts longer would have
// to be encoded, too. What it returns stands for the answer. A list that begins with a number or the like is mostly of
// those, needs no such copy, and stays as it is.
func (q *Query) pack(v value.Value) value.Value {
	if v.Kind() != value.KindArray || v.Len() == 0 || v.Elems()[0].Light() || value.Exceeds(v, q.ex.Limits.Answer) {
		return v
	}
	q.packed = &value.Packed{}
	for _, e := range v.Elems() {
		q.packed.Append(e)
	}
	return value.ArrayOf(nil)
}

// outOf is where the rows of a statement go: to the sink by rows, or packed, or (nil) into the answer.
func (q *Query) outOf(s ast.Statement, rows *rowsTo) *exec.Out {
	if p, ok := s.(*ast.GQL); ok {
		return &exec.Out{Of: p, AsValues: !q.packs}
	}
	sel, ok := s.(*ast.Select)
	switch {
	case !ok || sel.Only || sel.Explain != nil:
		return nil
	case rows != nil:
		first := &rows.to.first
		out := &first.Out
		if rows != &first.rowsTo || out.Of != nil {
			out = new(exec.Out)
		}
		out.Of, out.Give = sel, rows.give
		return out
	case q.packs:
		return &exec.Out{Of: sel}
	}
	return nil
}
