package model

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/value"
)

// batch is rows that are read ahead, with the results of their calls.
type batch struct {
	docs  []value.Value
	ended bool
	err   error // of the rows behind docs
	parts []part

	done   chan struct{} // closed when the goroutine is done that computes some of parts; nil if there is none
	panics any           // of that goroutine
}

// part is a call for the rows of a batch.
type part struct {
	call    *aheadCall
	ready   bool          // results have been computed
	results []value.Value // by row; NONE where there is none

	// Of the rows that are computed together:
	numbers  []float32
	width    int    // of each
	rows     []int  // their places in the batch
	buffered []bool // came from an object
}

// reset makes an empty batch of an old one.
func (b *batch) reset(calls []*aheadCall) {
	parts := b.parts
	if parts == nil {
		parts = make([]part, len(calls))
	}
	for i, c := range calls {
		p := &parts[i]
		*p = part{call: c, results: p.results[:0], numbers: p.numbers, rows: p.rows, buffered: p.buffered}
	}
	*b = batch{docs: b.docs[:0], parts: parts}
}

// wait waits for the goroutine that computes.
func (b *batch) wait(ctx context.Context) error {
	if b.done == nil {
		return nil
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.panics != nil {
		panic(b.panics) // the statement panics with it, where it is logged
	}
	return nil
}

// besideBytes bounds the memory of the goroutine that computes. Calls that need more are computed by the statement,
// which has an account.
const besideBytes = 16 << 20

// errRoom is the error of a batch that needs more memory than there is for it.
var errRoom = errors.New("not enough memory for many rows at once")

// computeAll computes some calls. It runs beside the statement, and touches nothing of it but rows.
func (b *batch) computeAll(env ml.Call, parts []*part) {
	defer close(b.done)
	defer func() { b.panics = recover() }()
	env.Bear = room(besideBytes)
	for _, p := range parts {
		p.begin()
		err := p.gather(env, b.docs)
		if err == nil {
			err = p.compute(env)
		}
		p.ready = !errors.Is(err, errRoom)
		p.call.heavy = p.call.heavy || !p.ready
	}
}

// room gives a function that grants memory up to a number of bytes together.
func room(left int) func(int) error {
	return func(n int) error {
		if left -= n; left < 0 {
			return errRoom
		}
		return nil
	}
}

// begin forgets the rows of the batch before.
func (p *part) begin() {
	p.numbers, p.width, p.rows, p.buffered = p.numbers[:0], 0, p.rows[:0], p.buffered[:0]
}

// gather reads the arguments of a call that takes fields of rows.
func (p *part) gather(env ml.Call, docs []value.Value) error {
	c := p.call
	if err := env.Bear(4 * c.columns.width * len(docs)); err != nil {
		return err
	}
	for i, doc := range docs {
		if more, ok := c.columns.read(c.bound, doc, p.numbers); ok {
			p.add(i, more, c.columns.buffered)
		}
	}
	return nil
}

// add takes row i, whose numbers are those in more behind the ones before. A row of another width than the first one is
// left out.
func (p *part) add(i int, more []float32, buffered bool) {
	width := len(more) - len(p.numbers)
	if len(p.rows) == 0 {
		p.width = width
	}
	if width == p.width {
		p.numbers, p.rows, p.buffered = more, append(p.rows, i), append(p.buffered, buffered)
	}
}

// compute computes the rows that were gathered.
func (p *part) compute(env ml.Call) error {
	if len(p.rows) < 2 {
		return nil
	}
	flat, each, ok, err := p.call.bound.model.Batch(env, p.numbers, len(p.rows))
	if err == nil && ok {
		p.spread(flat, each)
	}
	return err
}

// slab is about how many numbers of results share an allocation. Who keeps one of them keeps all.
const slab = 16

// spread makes results of what the model gave, each numbers a row.
func (p *part) spread(flat []float64, each int) {
	var room []value.Value
	for k, i := range p.rows {
		if len(room) < each {
			room = make([]value.Value, min(max(slab, each), (len(p.rows)-k)*each))
		}
		p.results[i] = p.call.bound.result(flat[k*each:(k+1)*each], p.buffered[k], room[:each:each])
		room = room[each:]
	}
}
