package exec

import (
	"context"
	"runtime"
	"sync"

	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

const (
	batchRows    = 512 // records that a worker takes at once
	batchesAhead = 4   // batches that are read ahead, per worker: what bounds the memory
)

// sharedScan tries the WHERE of a walk over a large table on all processors. The goroutine of the statement walks and gives
// the records to the workers as they are stored; they come back in the order of the walk. Rows for which the compiled
// condition can not tell are left to the statement, so that errors come where they would.
//
// The workers are owned by the scan: they end with close, which waits for them. They touch nothing of the transaction.
type sharedScan struct {
	r    *Run
	cur  *record.Cursor
	fast rowExpr

	jobs    chan *scanBatch
	workers sync.WaitGroup
	ring    []*scanBatch // read ahead, the oldest first
	spare   []*scanBatch
	most    int
	ended   bool // the cursor is at its end
}

// scanBatch is a run of records under way.
type scanBatch struct {
	stored []record.Stored
	found  []foundRow
	at     int // of the next row in found
	err    error
	panics any
	done   chan struct{}
}

// foundRow is a record that holds, or that must be evaluated by the statement.
type foundRow struct {
	doc  value.Value
	open bool // it must
}

// share starts the workers for a walk whose condition is compiled.
func share(r *Run, cur *record.Cursor, fast rowExpr) *sharedScan {
	n := runtime.GOMAXPROCS(0)
	s := &sharedScan{r: r, cur: cur, fast: fast, most: n * batchesAhead, jobs: make(chan *scanBatch, n*batchesAhead)}
	for range n {
		s.workers.Go(s.work)
	}
	return s
}

// mayShare reports whether a walk may be shared among processors: only in transactions that write nothing, where to read
// ahead costs nobody a conflict.
func (r *Run) mayShare(cur *record.Cursor) bool {
	return !r.Tx.Writable() && !r.Ex.PlanOff.Has(plan.ParallelScan) && runtime.GOMAXPROCS(0) > 1 && cur.Plain()
}

func (s *sharedScan) work() {
	for b := range s.jobs {
		s.try(b)
		close(b.done)
	}
}

// try finds the rows of a batch that hold.
func (s *sharedScan) try(b *scanBatch) {
	defer func() { b.panics = recover() }() // the statement panics with it, where it is logged
	for _, st := range b.stored {
		doc, err := st.Record()
		if err != nil {
			b.err = err
			return
		}
		v, err := s.fast(doc)
		if err != nil || value.Truthy(v) {
			b.found = append(b.found, foundRow{doc, err != nil})
		}
	}
}

// next is the next row that holds or is open; false at the end.
func (s *sharedScan) next(ctx context.Context) (foundRow, bool, error) {
	for {
		s.readAhead()
		if len(s.ring) == 0 {
			return foundRow{}, false, s.cur.Err()
		}
		b := s.ring[0]
		select {
		case <-b.done:
		case <-ctx.Done():
			return foundRow{}, false, ctx.Err()
		}
		switch {
		case b.at < len(b.found):
			b.at++
			return b.found[b.at-1], true, nil
		case b.panics != nil:
			panic(b.panics)
		case b.err != nil:
			return foundRow{}, false, b.err
		}
		s.ring = append(s.ring[:0], s.ring[1:]...)
		s.spare = append(s.spare, b)
		if err := ctx.Err(); err != nil {
			return foundRow{}, false, err
		}
	}
}

// readAhead keeps the workers busy.
func (s *sharedScan) readAhead() {
	for !s.ended && len(s.ring) < s.most {
		b := s.fresh()
		b.stored = s.cur.Batch(b.stored, batchRows)
		s.ended = len(b.stored) < batchRows
		if len(b.stored) == 0 {
			return
		}
		s.ring = append(s.ring, b)
		s.jobs <- b
	}
}

// fresh is an empty batch.
func (s *sharedScan) fresh() *scanBatch {
	n := len(s.spare)
	if n == 0 {
		return &scanBatch{stored: make([]record.Stored, 0, batchRows), done: make(chan struct{})}
	}
	b := s.spare[n-1]
	s.spare = s.spare[:n-1]
	clear(b.found)
	*b = scanBatch{stored: b.stored[:0], found: b.found[:0], done: make(chan struct{})}
	return b
}

// close ends the workers and waits for them.
func (s *sharedScan) close() {
	if s.jobs != nil {
		close(s.jobs)
		s.workers.Wait()
		s.jobs = nil
	}
}
