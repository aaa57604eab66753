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

	"github.com/nacredb/nacre/engine/aggregate"
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
	Set     *compile.Set     // of the expressions below
	Where   compile.Test     // nil: all records hold
	Columns []compile.Column // read of the records that hold
	Keys    int              // so many columns, the first ones, are keys of groups, which Batch.Group numbers
	Count   bool             // the records that hold are only counted
	// Keep makes for each worker a function that says by the columns of a row whether it may be wanted, given those
	// that the worker has read before it. Others are only counted. nil: all are wanted.
	Keep func() func(columns []value.Value) bool
}

// Row is a record that holds, or that the statement must look at.
type Row struct {
	Stored  record.Stored
	Columns []value.Value // behind the keys; valid until the next row; nil if the row is open
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

	jobs    chan *Batch // nil: there are no workers yet
	workers sync.WaitGroup
	own     *worker
	ring    []*Batch // read ahead, the oldest first
	spare   []*Batch
	read    int
	size    int // of the next batch
	shared  int // workers that were started
	ended   bool
	counted int64
}

// Batch is a run of records under way.
type Batch struct {
	stored []record.Stored
	found  []found
	values []value.Value // the columns of found
	at     int           // of the next row in found
	col    int           // of its columns in values
	held   int64         // rows that were only counted
	err    error
	panics any
	done   chan struct{} // nil: it is done

	place int             // of the worker among all
	by    *aggregate.Keys // that it numbered keys with
	fresh [][]value.Value // the keys that got their numbers in this batch, in the order of the numbers
}

// found is a row of a batch.
type found struct {
	at    int32 // of its record in the batch
	group int32 // the number of its keys
	open  bool
}

// worker is what a goroutine needs to sift.
type worker struct {
	place  int // 0: the caller
	fields *value.Fields
	keys   *aggregate.Keys // those that it has numbered; nil where there are none
	room   []value.Value   // the keys of a row
	keep   func(columns []value.Value) bool
}

// mostNumbered is how many keys a worker numbers before it begins anew.
const mostNumbered = 1 << 15

func (p *Program) worker(place int) *worker {
	own := &worker{place: place, fields: p.Set.Fields(), room: make([]value.Value, p.Keys)}
	if p.Keep != nil {
		own.keep = p.Keep()
	}
	return own
}

// New begins a walk over the records that are left in a source, which stays the caller's.
func New(cur Source, prog *Program, opt Options) *Walk {
	return &Walk{cur: cur, prog: prog, opt: opt, size: firstRows}
}

// Next is the next row; false at the end. Rows that are only counted are left out.
func (w *Walk) Next(ctx context.Context) (Row, bool, error) {
	b, ok, err := w.batch(ctx)
	if !ok || err != nil {
		return Row{}, false, err
	}
	return w.row(b), true, nil
}

// Batch is the rows up to the end of a batch, one at least; false at the end. They are valid until the next call, and
// take the place of those that Next would give.
func (w *Walk) Batch(ctx context.Context) (*Batch, bool, error) {
	b, ok, err := w.batch(ctx)
	if !ok || err != nil {
		return nil, false, err
	}
	b.found, b.values, b.at, b.col = b.found[b.at:], b.values[b.col:], len(b.found)-b.at, 0
	return b, true, nil
}

// batch is the batch with the next row.
func (w *Walk) batch(ctx context.Context) (*Batch, bool, error) {
	for {
		w.readAhead()
		if len(w.ring) == 0 {
			return nil, false, w.cur.Err()
		}
		b := w.ring[0]
		if b.done != nil {
			select {
			case <-b.done:
				b.done = nil
			case <-ctx.Done():
				return nil, false, ctx.Err()
			}
		}
		switch {
		case b.at < len(b.found):
			return b, true, nil
		case b.panics != nil:
			panic(b.panics) // as the worker would have, where it is logged
		case b.err != nil:
			return nil, false, b.err
		}
		w.counted += b.held
		w.ring = append(w.ring[:0], w.ring[1:]...)
		w.spare = append(w.spare, b)
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
	}
}

// row takes the next row of a batch.
func (w *Walk) row(b *Batch) Row {
	f := &b.found[b.at]
	b.at++
	if f.open {
		return Row{Stored: b.stored[f.at], Open: true}
	}
	from := b.col
	b.col += len(w.prog.Columns) - w.prog.Keys
	return Row{Stored: b.stored[f.at], Columns: b.values[from:b.col:b.col]}
}

// Len is how many rows the batch has.
func (b *Batch) Len() int { return len(b.found) }

// Group is the number of the keys of row i among those that By has; -1 for an open row.
func (b *Batch) Group(i int) int {
	if b.found[i].open {
		return -1
	}
	return int(b.found[i].group)
}

// Stored is the record of row i.
func (b *Batch) Stored(i int) record.Stored { return b.stored[b.found[i].at] }

// Values are the columns behind the keys of the rows that are not open, row by row.
func (b *Batch) Values() []value.Value { return b.values }

// By says who numbered the keys: worker, counted from 0, and with what. Batches with the same keys have the same
// numbers for them, which count from 0 in the order of the rows. A worker that has numbered many begins anew, with
// other keys. The walk uses keys: no caller may.
func (b *Batch) By() (worker int, keys *aggregate.Keys) { return b.place, b.by }

// Fresh is the keys that got their numbers in this batch, in the order of the numbers. They stay valid.
func (b *Batch) Fresh() [][]value.Value { return b.fresh }

// Counted is how many records have held so far that were only counted. Rows that were open are not among them.
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
func (w *Walk) alone(b *Batch) {
	if w.own == nil {
		w.own = w.prog.worker(0)
	}
	w.prog.sift(b, w.own)
	if w.opt.Workers > 1 && w.read >= w.opt.After && !w.ended {
		w.jobs = make(chan *Batch, w.opt.Workers*batchesAhead)
		w.shared = w.opt.Workers
		for i := range w.shared {
			w.workers.Go(func() { w.work(i + 1) })
		}
	}
}

func (w *Walk) work(place int) {
	own := w.prog.worker(place)
	for b := range w.jobs {
		w.guarded(b, own)
		close(b.done)
	}
}

// guarded is sift for a worker.
func (w *Walk) guarded(b *Batch, own *worker) {
	defer func() { b.panics = recover() }()
	w.prog.sift(b, own)
}

// sift finds the rows of a batch.
func (p *Program) sift(b *Batch, own *worker) {
	if p.Keys > 0 && (own.keys == nil || own.keys.Len() > mostNumbered) {
		own.keys = aggregate.NewKeys()
	}
	b.place, b.by = own.place, own.keys
	for i, st := range b.stored {
		if b.err = st.Into(own.fields); b.err != nil {
			return
		}
		if p.Where != nil {
			ok, err := p.Where(own.fields)
			if err != nil {
				b.found = append(b.found, found{at: int32(i), open: true})
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
		before := len(b.values)
		group, ok := p.columns(b, own)
		if ok && own.keep != nil && !own.keep(b.values[before:]) {
			b.values = b.values[:before]
			b.held++
			continue
		}
		b.found = append(b.found, found{at: int32(i), group: group, open: !ok})
	}
}

// columns reads the columns of a row, and numbers its keys; false where one is unknown: the row is open.
func (p *Program) columns(b *Batch, own *worker) (group int32, ok bool) {
	for i := range own.room {
		if own.room[i], ok = p.Columns[i].Read(own.fields); !ok {
			return 0, false
		}
	}
	before := len(b.values)
	for i := p.Keys; i < len(p.Columns); i++ {
		v, ok := p.Columns[i].Read(own.fields)
		if !ok {
			b.values = b.values[:before]
			return 0, false
		}
		b.values = append(b.values, v)
	}
	if p.Keys == 0 {
		return 0, true
	}
	n, had := own.keys.Of(own.room)
	if !had {
		b.fresh = append(b.fresh, own.keys.At(n))
	}
	return int32(n), true
}

// fresh is an empty batch.
func (w *Walk) fresh() *Batch {
	n := len(w.spare)
	if n == 0 {
		return &Batch{stored: make([]record.Stored, 0, w.size)}
	}
	b := w.spare[n-1]
	w.spare = w.spare[:n-1]
	clear(b.values)
	*b = Batch{stored: b.stored[:0], found: b.found[:0], values: b.values[:0]}
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
