package model

import (
	"context"
	"slices"

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
	Call(ctx context.Context) ml.Call
	// Beside reports whether another goroutine may compute while the statement goes on.
	Beside() bool
}

// Ahead reads rows ahead for expressions that call models, and computes the calls of many rows as one matrix. What it
// cannot compute it leaves to the expressions: errors come from there, at their row.
//
// While the rows of a batch go on, another goroutine computes the next batch, where only fields of rows are needed for
// that. Close waits for it.
type Ahead struct {
	caller Caller
	known  *Calls
	tx     *txn.Tx
	calls  []*aheadCall

	size      int    // of the next batch
	now, next *batch // next: under way; nil if it is not
	at        int    // of the next row in now
}

// aheadCall is a call that is computed for many rows at once.
type aheadCall struct {
	x       *ast.Call
	bound   *Bound
	columns *columns // of bound; nil where its argument is evaluated for each row
	heavy   bool     // needs more memory than besideBytes for a batch
}

// quick reports whether another goroutine can compute the call.
func (c *aheadCall) quick() bool { return c.columns != nil && !c.heavy }

// The batches of Ahead grow, so that a LIMIT above does not wait for many rows.
const (
	firstRows  = 16
	besideRows = 512 // the least for which another goroutine is asked
	mostRows   = 1024
	mostBytes  = 16 << 20 // of rows that are read ahead
)

// NewAhead makes an Ahead for the calls in some expressions; nil if there are none that it can compute. known is that
// of the statement, and made here if there is none yet.
func NewAhead(caller Caller, known **Calls, cache *Cache, tx *txn.Tx, xs []ast.Expr) *Ahead {
	var calls []*aheadCall
	for _, x := range xs {
		if x == nil {
			continue
		}
		for _, c := range modelCalls(x) {
			calls = append(calls, &aheadCall{x: c})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	if *known == nil {
		*known = cache.NewCalls()
	}
	return &Ahead{caller: caller, known: *known, tx: tx, calls: calls, size: firstRows, now: &batch{}}
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
	s.drop()
	if s.at == len(s.now.docs) {
		if s.now.ended {
			return value.None, false, s.now.err
		}
		if err := s.advance(ctx, in); err != nil {
			return value.None, false, err
		}
		if len(s.now.docs) == 0 {
			return value.None, false, s.now.err
		}
	}
	for i, c := range s.calls {
		if v := s.now.parts[i].results[s.at]; !v.IsNone() {
			s.known.put(c.x, v)
		}
	}
	doc := s.now.docs[s.at]
	s.now.docs[s.at] = value.None
	s.at++
	return doc, true, nil
}

// drop forgets the results that were not taken.
func (s *Ahead) drop() { s.known.ahead = s.known.ahead[:0] }

// Close ends the walk, and waits for the goroutine that computes.
func (s *Ahead) Close() {
	s.drop()
	if s.next != nil {
		<-s.next.done
	}
	s.now, s.next, s.at = &batch{ended: true}, nil, 0
}

// advance makes the next batch the current one, and lets the one after it be computed meanwhile.
func (s *Ahead) advance(ctx context.Context, in Source) error {
	env, spare := s.caller.Call(ctx), s.now
	if s.next != nil {
		if err := s.next.wait(ctx); err != nil {
			return err
		}
		s.now, s.next = s.next, nil
	} else {
		s.now, spare = s.read(ctx, env, in, spare), &batch{}
	}
	s.at = 0
	for i := range s.now.parts {
		if err := s.compute(ctx, env, s.now, i); err != nil {
			return err
		}
	}
	if s.now.ended || s.size < besideRows || !s.quick() || !s.caller.Beside() {
		return nil
	}
	s.next = s.read(ctx, env, in, spare)
	s.computeBeside(ctx, env, s.next)
	return nil
}

// quick reports whether some call needs nothing but fields of the rows.
func (s *Ahead) quick() bool {
	return slices.ContainsFunc(s.calls, (*aheadCall).quick)
}

// read reads the next batch, and takes over old.
func (s *Ahead) read(ctx context.Context, env ml.Call, in Source, old *batch) *batch {
	b, weight := old, 0
	b.reset(s.calls)
	for len(b.docs) < s.size && weight < mostBytes {
		doc, ok, err := in(ctx)
		if err == nil && ok {
			weight += value.Weight(doc)
			err = env.Bear(weight)
		}
		if err != nil || !ok {
			b.err, b.ended = err, true
			break
		}
		b.docs = append(b.docs, doc)
	}
	s.size = min(4*s.size, mostRows)
	for i := range b.parts {
		p := &b.parts[i]
		p.results = slices.Grow(p.results, len(b.docs))[:len(b.docs)]
		clear(p.results)
	}
	return b
}

// compute gets the results of a call for the rows of a batch, NONE for those that it leaves to the expressions. The
// error is the end of the statement's time.
func (s *Ahead) compute(ctx context.Context, env ml.Call, b *batch, i int) error {
	p := &b.parts[i]
	if !p.ready && s.find(ctx, p.call) == nil {
		p.begin()
		if err := s.gather(ctx, env, b, p); err == nil {
			_ = p.compute(env) // its rows come again one by one, and fail by themselves
		}
	}
	return ctx.Err()
}

// computeBeside begins to compute the calls of a batch that need nothing but fields of the rows.
func (s *Ahead) computeBeside(ctx context.Context, env ml.Call, b *batch) {
	var parts []*part
	for i := range b.parts {
		if p := &b.parts[i]; p.call.quick() && s.find(ctx, p.call) == nil && p.call.quick() {
			parts = append(parts, p)
		}
	}
	if len(parts) > 0 && env.Bear(besideBytes) == nil {
		b.done = make(chan struct{})
		go b.computeAll(env, parts)
	}
}

// find binds a call to its model, and loads that.
func (s *Ahead) find(ctx context.Context, c *aheadCall) error {
	m, err := s.caller.Find(ctx, c.x)
	if err != nil {
		return err
	}
	if m != c.bound {
		c.bound, c.columns = m, m.columnsOf(c.x.Args[0])
	}
	return m.load(ctx, s.tx)
}

// gather reads the arguments of a call. The error is that of the account.
func (s *Ahead) gather(ctx context.Context, env ml.Call, b *batch, p *part) error {
	if p.call.columns != nil {
		return p.gather(env, b.docs)
	}
	for i, doc := range b.docs {
		v, err := s.caller.Argument(ctx, doc, p.call.x.Args[0])
		if err != nil {
			continue
		}
		more, buffered, err := p.call.bound.row([]value.Value{v}, p.numbers)
		if err != nil {
			continue
		}
		p.add(i, more, buffered)
		if err := env.Bear(4 * len(p.numbers)); err != nil {
			return err
		}
	}
	return nil
}
