// Package sequence hands out the numbers of DEFINE SEQUENCE from batches that it takes from the store.
//
// The store holds, for each sequence, the number with which the next batch begins: 8 bytes, big endian. Numbers are
// never given twice; those of a batch that a restart cuts short are lost.
package sequence

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Sequences are the open batches of the sequences of a store. The zero value has none.
type Sequences struct {
	mu   sync.Mutex // guards open and the batches in it; a leaf lock, not held over the store
	open map[string]*batch
}

// batch is the numbers from next to end.
type batch struct{ next, end int64 }

// Next is the next number of the sequence that d defines as def. It reads and writes in transactions of its own, which
// opt describes: a number once given stays given. turn is that of the transaction that waits for the number.
func (s *Sequences) Next(ctx context.Context, store kv.Store, opt txn.Options, def *ast.DefineSequence,
	d *catalog.Def, turn *kv.Turn) (int64, error) {
	end, err := endOf(ctx, store, opt, d)
	if err != nil {
		return 0, err
	}
	if n, ok := s.take(string(catalog.SequenceKey(d)), end); ok {
		return n, nil
	}
	opt.Turn = turn
	limit, ok := def.Timeout.(*ast.Literal)
	if !ok || limit.Value.Kind() != value.KindDuration {
		return s.batch(ctx, store, opt, def, d)
	}
	t := limit.Value.Duration()
	if t == (value.Duration{}) {
		return 0, errs.TimedOut(0, t.String())
	}
	within, cancel := context.WithTimeout(ctx, t.Std())
	defer cancel()
	n, err := s.batch(within, store, opt, def, d)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = errs.TimedOut(t.Std(), t.String())
	}
	return n, err
}

// take gives the next number of an open batch that ends where the store says the last one ended.
func (s *Sequences) take(k string, end int64) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open[k]
	if b == nil || b.end != end || b.next >= b.end {
		return 0, false
	}
	b.next++
	return b.next - 1, true
}

func (s *Sequences) put(k string, b batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]*batch{}
	}
	s.open[k] = &b
}

// endOf reads where the next batch begins, in a snapshot of its own.
func endOf(ctx context.Context, store kv.Store, opt txn.Options, d *catalog.Def) (int64, error) {
	tx, err := txn.Begin(ctx, store, opt)
	if err != nil {
		return 0, err
	}
	defer tx.Cancel()
	end, _, err := catalog.SequenceNext(tx, d)
	return end, err
}

// batch takes a batch from the store and gives its first number.
func (s *Sequences) batch(ctx context.Context, store kv.Store, opt txn.Options, def *ast.DefineSequence,
	d *catalog.Def) (int64, error) {
	size, k := max(1, constInt(def.Batch, 1)), catalog.SequenceKey(d)
	var b batch
	err := txn.Retry(ctx, store, opt, func(tx *txn.Tx) error {
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
	s.put(string(k), batch{b.next + 1, b.end})
	return b.next, nil
}

// constInt is the int in a definition's option.
func constInt(x ast.Expr, otherwise int64) int64 {
	if l, ok := x.(*ast.Literal); ok && l.Value.Kind() == value.KindInt {
		return l.Value.Int()
	}
	return otherwise
}
