package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// EachStored hands every record of a table to f as it is stored, in key order: nothing is computed and nothing hidden,
// so it is for callers who may read everything. edge says that the record is an edge of the graph. The record is valid
// until the transaction ends.
func (g *Gate) EachStored(ctx context.Context, tb *catalog.Table, f func(doc value.Value, edge bool) error) error {
	if !g.Env.CanRead() {
		return errs.NotAllowed("IAM error: Not enough permissions to perform this action")
	}
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, nil)
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	for n := uint32(0); cur.Next(); n++ {
		if n&255 == 255 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		doc, err := decode(cur.Value())
		if err != nil {
			return err
		}
		e, err := g.edge(tb, cur.Key(), doc)
		if err != nil {
			return err
		}
		if err := f(doc, e); err != nil {
			return err
		}
	}
	return cur.Err()
}

// edge reports whether the record stored at k is an edge.
func (g *Gate) edge(tb *catalog.Table, k []byte, doc value.Value) (bool, error) {
	if tb.Define.Kind == ast.TableNormal || inside.Field(doc, "in").Kind() != value.KindRecord {
		return false, nil
	}
	rk, err := key.DecodeRecord(k)
	if err != nil {
		return false, err
	}
	e, err := g.edgeOf(tb, &value.RecordID{Table: tb.Name, Key: rk}, doc)
	return e != nil, err
}

// Stored is the image of a record as it is in the store, not looked into yet. It is valid until the transaction ends.
type Stored []byte

// Record makes a record of the image. Any goroutine may do so.
func (s Stored) Record() (value.Value, error) { return decode(s) }

// Into makes the record the row of a reader of fields. Any goroutine may do so.
func (s Stored) Into(f *value.Fields) error {
	if err := f.Stored(s); err != nil {
		return fmt.Errorf("read a record: %w", err)
	}
	return nil
}

// Field is a field of the record; NONE where it is missing.
func (s Stored) Field(name string) (value.Value, error) {
	v, _, err := value.RecordField(s, name)
	if err != nil {
		return value.None, fmt.Errorf("read a record: %w", err)
	}
	return v, nil
}

// Plain reports whether the caller sees the records under the cursor as they are stored: then Batch may be used.
func (c *Cursor) Plain() bool { return c.past == nil && c.g.plainRead(c.tb) }

// Skip moves over the next n records, fewer at the end or where Err says why, and reports how many. It does not look
// into them. It is for Plain cursors only.
func (c *Cursor) Skip(ctx context.Context, n int64) (skipped int64) {
	if c.err == nil {
		skipped, c.err = skipKeys(ctx, c.cur, n)
	}
	return skipped
}

// skipKeys moves a cursor on by n keys, fewer at the end, and reports how many.
func skipKeys(ctx context.Context, cur *txn.Cursor, n int64) (skipped int64, err error) {
	const atOnce = 1 << 12
	for skipped < n && err == nil {
		some := int(min(n-skipped, atOnce))
		got := cur.Skip(some)
		if skipped += int64(got); got < some {
			return skipped, cur.Err()
		}
		err = ctx.Err()
	}
	return skipped, err
}

// makePairs makes room for reading n records at once.
func (c *Cursor) makePairs(n int) {
	if len(c.pairs) < n {
		c.pairs = make([]kv.Pair, n)
	}
}

// batchPairs is how many records Batch reads at once.
const batchPairs = 64

// Batch appends the next n records to dst as they are stored, fewer at the end or where Err says why. It is for Plain
// cursors only.
func (c *Cursor) Batch(dst []Stored, n int) []Stored {
	c.makePairs(min(n, batchPairs))
	for n > 0 && c.err == nil {
		pairs := c.pairs[:min(n, len(c.pairs))]
		got := c.cur.Fill(pairs)
		for i := range pairs[:got] {
			dst = append(dst, Stored(pairs[i].Value))
		}
		if n -= got; got < len(pairs) {
			break
		}
	}
	return dst
}

// Lend hands the records that are left to give, in batches of first records, then twice as many, up to most. They are
// good until give returns. It is for Plain cursors only.
func (c *Cursor) Lend(ctx context.Context, first, most int, give func([]value.Value) error) error {
	var shelf value.Shelf
	batch := make([]Stored, 0, most)
	for size := first; ; size = min(2*size, most) {
		batch = c.Batch(batch[:0], size)
		shelf.Begin(len(batch))
		for _, st := range batch {
			if err := shelf.Add(st); err != nil {
				return fmt.Errorf("read a record: %w", err)
			}
		}
		err := ctx.Err()
		if err == nil {
			err = c.Err()
		}
		if err == nil {
			err = give(shelf.Rows())
		}
		if err != nil || len(batch) < size {
			return err
		}
	}
}
