package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// sequences hands out numbers from batches that it takes from the store. The store holds, per
// sequence, where the next batch begins: 8 bytes, big endian. Numbers are never given twice; those
// of a batch that a restart cuts short are lost.
type sequences struct {
	mu   sync.Mutex // guards open and what it points to; a leaf lock, not held over the store
	open map[string]*batch
}

// batch is the numbers from next to end.
type batch struct{ next, end int64 }

// take gives the next number of an open batch that ends where the store says the last one ended.
func (s *sequences) take(k string, end int64) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open[k]
	if b == nil || b.end != end || b.next >= b.end {
		return 0, false
	}
	b.next++
	return b.next - 1, true
}

func (s *sequences) put(k string, b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]*batch{}
	}
	s.open[k] = &b
}

// nextVal is the next number of a sequence. It is outside the transaction: a number once given
// stays given.
func (r *Run) nextVal(ctx context.Context, name string) (int64, error) {
	if r.reading > 0 {
		return 0, errReading
	}
	db, err := r.Database()
	if err != nil {
		return 0, err
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefSequence, name)
	if err != nil {
		return 0, err
	}
	if d == nil {
		return 0, errs.Internal("The sequence '%s' does not exist", name)
	}
	def, ok := d.Stmt.(*ast.DefineSequence)
	if !ok {
		return 0, fmt.Errorf("definition of sequence %s is of another kind", name)
	}
	end, err := r.Ex.sequenceEnd(ctx, d)
	if err != nil {
		return 0, err
	}
	if n, ok := r.Ex.sequences.take(string(catalog.SequenceKey(d)), end); ok {
		return n, nil
	}
	return r.nextBatch(ctx, def, d)
}

// nextBatch is newBatch under the TIMEOUT of the sequence.
func (r *Run) nextBatch(ctx context.Context, def *ast.DefineSequence, d *catalog.Def) (int64, error) {
	limit, ok := def.Timeout.(*ast.Literal)
	if !ok || limit.Value.Kind() != value.KindDuration {
		return r.Ex.newBatch(ctx, def, d, r.Tx.Turn())
	}
	t := limit.Value.Duration()
	if t == (value.Duration{}) {
		return 0, errs.TimedOut(0, t.String())
	}
	within, cancel := context.WithTimeout(ctx, t.Std())
	defer cancel()
	n, err := r.Ex.newBatch(within, def, d, r.Tx.Turn())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errs.TimedOut(t.Std(), t.String())
	}
	return n, err
}

// sequenceEnd reads where the next batch begins, in a snapshot of its own.
func (ex *Executor) sequenceEnd(ctx context.Context, d *catalog.Def) (int64, error) {
	tx, err := txn.Begin(ctx, ex.Store, ex.Reading())
	if err != nil {
		return 0, err
	}
	defer tx.Cancel()
	end, _, err := catalog.SequenceNext(tx, d)
	return end, err
}

// newBatch takes a batch from the store and gives its first number. turn is that of the statement that waits for it.
func (ex *Executor) newBatch(ctx context.Context, def *ast.DefineSequence, d *catalog.Def, turn *kv.Turn) (int64, error) {
	size, k := max(1, constInt(def.Batch, 1)), catalog.SequenceKey(d)
	var b batch
	opt := ex.Reading()
	opt.Turn = turn
	err := txn.Retry(ctx, ex.Store, opt, func(tx *txn.Tx) error {
		next, given, err := catalog.SequenceNext(tx, d)
		if err != nil {
			return err
		}
		if b.next = next; !given {
			b.next = constInt(def.Start, 0)
		}
		if b.end = b.next + size; b.end < b.next {
			return errs.Internal("The sequence '%s' has no more numbers", d.Name)
		}
		return tx.Set(k, binary.BigEndian.AppendUint64(nil, uint64(b.end)))
	})
	if err != nil {
		return 0, err
	}
	ex.sequences.put(string(k), batch{b.next + 1, b.end})
	return b.next, nil
}

// constInt is the int in a definition's option.
func constInt(x ast.Expr, otherwise int64) int64 {
	if l, ok := x.(*ast.Literal); ok && l.Value.Kind() == value.KindInt {
		return l.Value.Int()
	}
	return otherwise
}
