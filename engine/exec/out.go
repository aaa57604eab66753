package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Out is where the rows of a SELECT, or of a program in ISO GQL, go in place of its answer, which is then empty.
type Out struct {
	Of ast.Statement // the statement that these rows are of
	// takes rows while the statement runs, good until Give returns; nil: they are packed
	Give func(rows []value.Value) error
	// Packed is all rows in the wire form, where Give is nil; set when the statement is done.
	Packed *value.Packed
	// AsValues asks a program in ISO GQL for rows in its answer. Detached tells that they have no tie to what they were
	// read from.
	AsValues, Detached bool
}

// The rows of a statement come in pieces of 16, 32, … up to 256. Most statements have few, for which there is room.
const (
	fewRows   = 4
	firstRows = 16
	mostRows  = 256
)

// leave hands over the rows of a statement.
func (r *Run) leave(ctx context.Context, p rows) error {
	if r.Out.Give == nil {
		return r.packRows(ctx, p)
	}
	return r.streamRows(ctx, p)
}

// streamRows is drain for Out.Give.
func (r *Run) streamRows(ctx context.Context, p rows) error {
	if cur, err := storedAsIs(ctx, p); err != nil {
		return err
	} else if cur != nil {
		return cur.Lend(ctx, firstRows, mostRows, r.Out.Give)
	}
	size := firstRows
	batch := make([]value.Value, 0, fewRows)
	for {
		doc, ok, err := p.next(ctx)
		if err == nil && ok {
			batch = append(batch, doc)
		}
		if err == nil && (!ok || len(batch) == size) {
			if err = ctx.Err(); err == nil {
				err = r.Out.Give(batch)
			}
			size, batch = min(2*size, mostRows), batch[:0]
		}
		if err != nil || !ok {
			return err
		}
	}
}
