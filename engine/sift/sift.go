// Package sift walks the records of large tables for statements that read all of them: it tries a compiled condition on
// the records as they are stored, reads columns of those for which it holds, and does so on all processors once the
// walk is a long one. Rows come back in the order of the walk. A row for which a compiled expression cannot tell is
// handed on as it is, so that the statement evaluates it and errors come where they would.
//
// A walk belongs to one goroutine. Its workers touch nothing of the transaction, and end with Close, which waits for
// them.
package sift

import (
	"context"
	"sync"

	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

const (
	firstRows    = 16  // records of the first batch
	batchRows    = 512 // records of a batch at most
	batchesAhead = 4   // batches that are read ahead, per worker: what bounds the memory
)

// Program says what a walk does with each record.
type Program struct {
	Set     *compile.Set   // of the expressions below
	Where   compile.Test   // nil: all records hold
	Columns []compile.Expr // read of the records that hold
	Keys    int            // so many columns, the first ones, are hashed by Hash
	Hash    func(keys []value.Value) uint64
	Count   bool // the records that hold are only counted
}

// Row is a record that holds, or that the statement must look at.
type Row struct {
	Stored  record.Stored
	Columns []value.Value // valid until the next row; nil if the row is open
	Sum     uint64        // the hash of the keys
	Open    bool          // a compiled expression could not tell: neither Where nor Columns are known
}

// Source gives records as they are stored. record.Cursor is one, if it is Plain.
type Source interface {
	// Batch appends the next n records to dst, fewer at the end or where Err says why.
	Batch(dst []record.Stored, n int) []record.Stored
	Err() error
}

// Options says how a walk is shared.
type Options struct {
	Workers int // that run at most; 1 or less: none but the caller
	After   int // records after which they start
}

// Walk is the records of a source.
type Walk struct {
	cur  Source
	prog *Program
	opt  Options

	jobs    chan *batch // nil: there are no workers yet
	workers sync.WaitGroup
	own     *value.Fields
	ring    []*batch // read ahead, the oldest first
	spare   []*batch
	read    int
	size    int // of the next batch
	shared  int // workers that were started
	ended   bool
	counted int64
}

// batch is a run of records under way.
type batch struct {
	stored []record.Stored
	found  []found
	values []value.Value // the columns of found
	at     int           // of the next row in found
	col    int           // of its columns in values
	held   int64         // rows that were only counted
	err    error
	panics any
	done   chan struct{} // nil: it is done
}

// found is a row of a batch.
type found struct {
	stored record.Stored
	sum    uint64 // of its keys
	open   bool
}

// New begins a walk over the records that are left in a source, which stays the caller's.
func New(cur Source, prog *Program, opt Options) *Walk {
	return &Walk{cur: cur, prog: prog, opt: opt, size: firstRows}
}

// Next is the next row; false at the end. Of a program that counts it gives only rows that are open.
func (w *Walk) Next(ctx context.Context) (Row, bool, error) {
	for {
		w.readAhead()
		if len(w.ring) == 0 {
			return Row{}, false, w.cur.Err()
		}
		b := w.ring[0]
		if b.done != nil {
			select {
			case <-b.done:
				b.done = nil
			case <-ctx.Done():
				return Row{}, false, ctx.Err()
			}
		}
		switch {
		case b.at < len(b.found):
			return w.row(b), true, nil
		case b.panics != nil:
			panic(b.panics) // as the worker would have, where it is logged
		case b.err != nil:
			return Row{}, false, b.err
		}
		w.counted += b.held
		w.ring = append(w.ring[:0], w.ring[1:]...)
		w.spare = append(w.spare, b)
		if err := ctx.Err(); err != nil {
			return Row{}, false, err
		}
	}
}

// row takes the next row of a batch.
func (w *Walk) row(b *batch) Row {
	f := b.found[b.at]
	b.at++
	if f.open {
		return Row{Stored: f.stored, Open: true}
	}
	from := b.col
	b.col += len(w.prog.Columns)
	return Row{Stored: f.stored, Columns: b.values[from:b.col:b.col], Sum: f.sum}
}

// Counted is how many records have held so far, of a program that counts. Rows that were open are not among them.
func (w *Walk) Counted() int64 { return w.counted }

// Read is how many records have been read.
func (w *Walk) Read() int { return w.read }

// readAhead keeps the workers busy. Without workers it reads and sifts one batch.
func (w *Walk) readAhead() {
	most := 1
	if w.jobs != nil {
		most = w.opt.Workers * batchesAhead
	}
	for !w.ended && len(w.ring) < most {
		b := w.fresh()
		b.stored = w.cur.Batch(b.stored, w.size)
		w.ended = len(b.stored) < w.size
		w.read += len(b.stored)
		w.size = min(2*w.size, batchRows)
		if len(b.stored) == 0 {
			return
		}
		w.ring = append(w.ring, b)
		if w.jobs == nil {
			w.alone(b)
			continue
		}
		b.done = make(chan struct{})
		w.jobs <- b
	}
}

// alone sifts a batch on the goroutine of the caller, and starts the workers when the walk has become a long one.
func (w *Walk) alone(b *batch) {
	if w.own == nil {
		w.own = w.prog.Set.Fields()
	}
	w.prog.sift(b, w.own)
	if w.opt.Workers > 1 && w.read >= w.opt.After && !w.ended {
		w.jobs = make(chan *batch, w.opt.Workers*batchesAhead)
		w.shared = w.opt.Workers
		for range w.shared {
			w.workers.Go(w.work)
		}
	}
}

func (w *Walk) work() {
	fields := w.prog.Set.Fields()
	for b := range w.jobs {
		w.guarded(b, fields)
		close(b.done)
	}
}

// guarded is sift for a worker.
func (w *Walk) guarded(b *batch, fields *value.Fields) {
	defer func() { b.panics = recover() }()
	w.prog.sift(b, fields)
}

// sift finds the rows of a batch.
func (p *Program) sift(b *batch, fields *value.Fields) {
	for _, st := range b.stored {
		if b.err = st.Into(fields); b.err != nil {
			return
		}
		if p.Where != nil {
			ok, err := p.Where(fields)
			if err != nil {
				b.found = append(b.found, found{stored: st, open: true})
				continue
			}
			if !ok {
				continue
			}
		}
		if p.Count {
			b.held++
			continue
		}
		b.found = append(b.found, found{stored: st})
		p.columns(b, fields)
	}
}

// columns reads the columns of the last row of b; a row with an unknown one is open.
func (p *Program) columns(b *batch, fields *value.Fields) {
	before := len(b.values)
	for _, x := range p.Columns {
		v, err := x(fields)
		if err != nil {
			b.values = b.values[:before]
			b.found[len(b.found)-1].open = true
			return
		}
		b.values = append(b.values, v)
	}
	if p.Hash != nil {
		b.found[len(b.found)-1].sum = p.Hash(b.values[before : before+p.Keys])
	}
}

// fresh is an empty batch.
func (w *Walk) fresh() *batch {
	n := len(w.spare)
	if n == 0 {
		return &batch{stored: make([]record.Stored, 0, w.size)}
	}
	b := w.spare[n-1]
	w.spare = w.spare[:n-1]
	clear(b.found)
	clear(b.values)
	*b = batch{stored: b.stored[:0], found: b.found[:0], values: b.values[:0]}
	return b
}

// Close ends the workers and waits for them.
func (w *Walk) Close() {
	if w.jobs != nil {
		close(w.jobs)
		w.workers.Wait()
		w.jobs = nil
	}
	w.ended, w.ring = true, nil
}

// Shared is how many workers were started; 0 for a walk that was too short.
func (w *Walk) Shared() int { return w.shared }
