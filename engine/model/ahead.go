package model

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Caller is a statement whose projection calls models.
type Caller interface {
	// Find gives the model of a call, if it may be called.
	Find(ctx context.Context, x *ast.Call) (*Bound, error)
	// Argument evaluates an argument for a row.
	Argument(ctx context.Context, row value.Value, x ast.Expr) (value.Value, error)
	// Env is what models may use.
	Env(ctx context.Context) ml.Env
}

// Ahead reads rows ahead for a projection that calls models, and computes the calls of many rows as one matrix. What it
// cannot compute it leaves to the projection: errors come from there, at their row.
type Ahead struct {
	caller Caller
	known  *Calls
	tx     *txn.Tx
	calls  []*ast.Call

	size  int // of the next batch
	docs  []value.Value
	ahead [][]value.Value // by call and row: the result; NONE where there is none
	at    int
	ended bool
	err   error // of the rows behind docs
}

// The batches of Ahead grow, so that a LIMIT above does not wait for many rows.
const (
	firstRows = 16
	mostRows  = 1024
	mostBytes = 16 << 20 // of rows that are read ahead
)

// NewAhead makes an Ahead for the calls in some expressions; nil if there are none that it can compute. known is that
// of the statement, and made here if there is none yet.
func NewAhead(caller Caller, known **Calls, cache *Cache, tx *txn.Tx, xs []ast.Expr) *Ahead {
	var calls []*ast.Call
	for _, x := range xs {
		if x != nil {
			calls = append(calls, modelCalls(x)...)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	if *known == nil {
		*known = cache.NewCalls()
	}
	return &Ahead{caller: caller, known: *known, tx: tx, calls: calls, size: firstRows}
}

// modelCalls are the calls of models in an expression whose argument can be computed ahead of its turn: it reads fields
// of the row and does nothing else.
func modelCalls(x ast.Expr) []*ast.Call {
	var out []*ast.Call
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Subquery, *ast.Block, *ast.Closure, *ast.PartWhere, *ast.PartGraph, *ast.PartMethod:
			return false // they may be evaluated for other rows, or for none
		case *ast.Call:
			if n.Kind == ast.CallModel && len(n.Args) == 1 && plainArgument(n.Args[0]) {
				out = append(out, n)
				return false
			}
		}
		return true
	})
	return out
}

// plainArgument reports whether an expression gives the same value each time that it is evaluated for a row.
func plainArgument(x ast.Expr) bool {
	plain := true
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Subquery, *ast.Block, *ast.Closure, *ast.Script, *ast.PartCall, *ast.KeyGen, *ast.Mock,
			*ast.PartWhere, *ast.PartGraph:
			plain = false
		case *ast.Call:
			plain = plain && n.Kind == ast.CallBuiltin && fixed(n.Impl)
		case *ast.PartMethod:
			plain = plain && fixed(n.Impl)
		}
		return plain
	})
	return plain
}

func fixed(impl any) bool {
	f, ok := impl.(*fn.Func)
	return ok && f.Pure
}

// Source gives rows; false at their end.
type Source func(context.Context) (value.Value, bool, error)

// Next gives the next row, of those that in gives, with the results of its calls ready to be taken.
func (s *Ahead) Next(ctx context.Context, in Source) (value.Value, bool, error) {
	s.Close()
	if s.at == len(s.docs) {
		if s.ended {
			return value.None, false, s.err
		}
		if err := s.fill(ctx, in); err != nil {
			return value.None, false, err
		}
		if len(s.docs) == 0 {
			return value.None, false, s.err
		}
	}
	for i, c := range s.calls {
		if v := s.ahead[i][s.at]; !v.IsNone() {
			s.known.put(c, v)
		}
	}
	doc := s.docs[s.at]
	s.docs[s.at] = value.None
	s.at++
	return doc, true, nil
}

// Close drops the results that were not taken.
func (s *Ahead) Close() {
	for _, c := range s.calls {
		delete(s.known.ahead, c)
	}
}

// fill reads the next batch and computes the calls of its rows.
func (s *Ahead) fill(ctx context.Context, in Source) error {
	s.docs, s.at = s.docs[:0], 0
	env, weight := s.caller.Env(ctx), 0
	for len(s.docs) < s.size && weight < mostBytes {
		doc, ok, err := in(ctx)
		if err == nil && ok {
			weight += value.Weight(doc)
			err = env.Bear(weight)
		}
		if err != nil || !ok {
			s.err, s.ended = err, true
			break
		}
		s.docs = append(s.docs, doc)
	}
	s.size = min(4*s.size, mostRows)
	s.ahead = s.ahead[:0]
	for _, c := range s.calls {
		list, err := s.compute(ctx, env, c)
		if err != nil {
			return err
		}
		s.ahead = append(s.ahead, list)
	}
	return nil
}

// compute gives the results of a call for all rows of the batch, NONE for those that it leaves to the projection. The
// error is the end of the statement's time.
func (s *Ahead) compute(ctx context.Context, env ml.Env, c *ast.Call) ([]value.Value, error) {
	out := make([]value.Value, len(s.docs))
	m, err := s.caller.Find(ctx, c)
	if err == nil {
		err = m.load(ctx, s.tx)
	}
	if err != nil {
		return out, ctx.Err()
	}
	var x []float32
	var rows []int // of the batch, in the order of x
	var buffered []bool
	width := 0
	plain := m.columnsOf(c.Args[0])
	for i, doc := range s.docs {
		if plain != nil {
			more, ok := plain.read(m, doc, x)
			if ok && (width == 0 || len(more)-len(x) == width) {
				width = len(more) - len(x)
				x, rows, buffered = more, append(rows, i), append(buffered, plain.buffered)
			}
			continue
		}
		v, err := s.caller.Argument(ctx, doc, c.Args[0])
		if err != nil {
			continue
		}
		before := len(x)
		more, b, err := m.row([]value.Value{v}, x)
		if err != nil {
			continue
		}
		if width == 0 {
			width = len(more)
		}
		if len(more)-before != width {
			continue // another shape than the first row has: it is computed by itself
		}
		x, rows, buffered = more, append(rows, i), append(buffered, b)
		if env.Bear(4*len(x)) != nil {
			return out, ctx.Err()
		}
	}
	if len(rows) < 2 || env.Bear(4*len(x)) != nil {
		return out, ctx.Err()
	}
	flat, each, ok, err := m.model.Batch(env, x, len(rows))
	if err != nil || !ok {
		return out, ctx.Err()
	}
	for k, i := range rows {
		out[i] = m.result(flat[k*each:(k+1)*each], buffered[k])
	}
	return out, ctx.Err()
}
