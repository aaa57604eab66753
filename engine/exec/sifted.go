package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/processors"
)

// columns compiles what an operator reads of each row into a program; false where it cannot.
type columns func(*sift.Program) bool

// sifted is the rows of a table for an operator that reads all of them: columns, and records only where they are asked
// for.
type sifted struct {
	scan *tableRows
	walk *sift.Walk
	now  sift.Row
}

// sift begins a walk over all rows of an operator; nil where they have to be read one by one, as next gives them. It is
// for callers who see records as they are stored, in transactions that write nothing, where to read ahead causes no
// conflict. xs are the expressions of the operator: where these, or the filter, follow links to a store elsewhere, rows
// are read one by one, with lookahead.
func (r *Run) sift(ctx context.Context, in rows, env *Env, cols columns, xs ...ast.Expr) (*sifted, error) {
	s, ok := unmeasured(in).(*tableRows)
	if !ok || s.cur != nil || s.tb == nil || r.Ex.PlanOff.Has(plan.ParallelScan) || r.Ex.PlanOff.Has(plan.Compile) {
		return nil, nil
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	if r.Tx.Writable() || !s.cur.Plain() {
		return nil, nil
	}
	if s.filter != nil {
		xs = append(xs, s.filter.x)
	}
	if paths := r.awaits(xs...); len(paths) > 0 {
		if away, err := s.leadAway(ctx, paths); away || err != nil {
			return nil, err
		}
	}
	prog := &sift.Program{Set: r.compiler(ctx, env)}
	if s.filter != nil {
		if prog.Where = prog.Set.Test(s.filter.x); prog.Where == nil {
			return nil, nil
		}
	}
	if !cols(prog) {
		return nil, nil
	}
	s.shared = sift.New(s.cur, prog, sift.Options{Workers: processors.Count(), After: r.Ex.Limits.ShareAfter})
	return &sifted{scan: s, walk: s.shared}, nil
}

// next moves to the next row. Where it gives a document, the columns are not known: the operator evaluates its
// expressions for the document.
func (s *sifted) next(ctx context.Context) (open value.Value, ok bool, err error) {
	for {
		if open, ok, err = s.first(ctx); ok || err != nil {
			s.now = sift.Row{Open: true}
			return open, ok, err
		}
		if s.now, ok, err = s.walk.Next(ctx); !ok || err != nil {
			return value.None, false, err
		}
		if !s.now.Open {
			s.scan.n++
			return value.None, true, nil
		}
		if open, ok, err = s.opened(ctx, s.now.Stored); ok || err != nil {
			return open, ok, err
		}
	}
}

// first is the next of the rows that were looked at before the walk; false at their end.
func (s *sifted) first(ctx context.Context) (doc value.Value, ok bool, err error) {
	for !ok && err == nil && len(s.scan.first) > 0 {
		doc, s.scan.first = s.scan.first[0], s.scan.first[1:]
		ok, err = s.holds(ctx, doc)
	}
	return doc, ok, err
}

// opened is the document of a row whose columns are not known; false where it does not hold.
func (s *sifted) opened(ctx context.Context, st record.Stored) (open value.Value, ok bool, err error) {
	if open, err = st.Record(); err != nil {
		return value.None, false, err
	}
	ok, err = s.holds(ctx, open)
	return open, ok, err
}

func (s *sifted) holds(ctx context.Context, doc value.Value) (ok bool, err error) {
	if err := s.scan.r.Tick(ctx); err != nil {
		return false, err
	}
	if ok = true; s.scan.filter != nil {
		ok, err = s.scan.filter.asWritten(ctx, doc)
	}
	if ok {
		s.scan.n++
	}
	return ok, err
}

// count ends a walk: it is how many rows held, beside those that next gave.
func (s *sifted) count() int64 {
	if s == nil {
		return 0
	}
	n := s.walk.Counted()
	s.scan.n += n
	return n
}
