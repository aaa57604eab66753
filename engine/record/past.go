package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// read is the stored image of a record at the version that the gate reads; NONE where it was missing.
func (g *Gate) read(tb *catalog.Table, k value.Value) (value.Value, error) {
	if g.At == 0 {
		return g.load(tb, k)
	}
	at, err := g.Cat.TableIDAt(g.DB, tb.Name, g.At)
	if err != nil {
		return value.None, err
	}
	if at == 0 {
		at = tb.ID // an import may have brought a past from before the definition
	}
	raw, err := history.Get(g.Tx, key.HistoryPrefix(nil, tb.Scope.NS, tb.Scope.DB, at, k), g.At)
	if raw == nil || err != nil {
		return value.None, err
	}
	return decode(raw)
}

// eachPastEdge is EachEdge at the version that the gate reads. No adjacency is kept of the past: it walks the edge
// tables.
func (g *Gate) eachPastEdge(ctx context.Context, node *value.RecordID, dir key.Direction, tables []string,
	keys *value.Range,
	f func(Hop) (bool, error)) error {
	if len(tables) == 0 {
		defs, err := g.Cat.Defs(g.DB.Inner(), ast.DefTable)
		if err != nil {
			return err
		}
		for _, d := range defs {
			tables = append(tables, d.Name)
		}
	}
	near, far := "in", "out"
	if dir == In {
		near, far = far, near
	}
	for _, name := range tables {
		tb, err := g.Cat.Table(g.DB, name)
		if err != nil {
			return err
		}
		if tb == nil || tb.Define.Kind == ast.TableNormal {
			continue
		}
		more, err := g.eachPast(ctx, tb, keys, func(id *value.RecordID, doc value.Value) (bool, error) {
			if at := end(doc, near); at == nil || !value.Equal(value.RecordOf(at), value.RecordOf(node)) {
				return true, nil
			}
			return f(Hop{Edge: id, Other: end(doc, far), Dir: dir})
		})
		if !more || err != nil {
			return err
		}
	}
	return nil
}

// eachPast walks the records of a table that the caller may see, until f answers false.
func (g *Gate) eachPast(ctx context.Context, tb *catalog.Table, keys *value.Range,
	f func(id *value.RecordID, doc value.Value) (bool, error)) (bool, error) {
	cur := g.Scan(tb, ScanOptions{Range: keys})
	defer cur.Close()
	for cur.Next(ctx) {
		id, err := cur.ID()
		if err != nil {
			return false, err
		}
		if more, err := f(id, cur.Record()); !more || err != nil {
			return false, err
		}
	}
	return true, cur.Err()
}

// scanPast is Scan for the records as they were at a version of the history. A table that was removed and defined again
// since has the records of the one that it was then.
func (g *Gate) scanPast(tb *catalog.Table, opt ScanOptions) *Cursor {
	at, err := g.Cat.TableIDAt(g.DB, tb.Name, opt.Version)
	if at == 0 {
		at = tb.ID
	}
	start, end := key.HistoryRange(tb.Scope.NS, tb.Scope.DB, at, opt.Range)
	return &Cursor{g: g, tb: tb, past: history.Scan(g.Tx, start, end, opt.Version, opt.Reverse), err: err}
}

// Newest is the newest version that is known of a record, and whether there is one.
func (g *Gate) Newest(tb *catalog.Table, k value.Value) (version uint64, ok bool, err error) {
	start, end := key.PrefixRange(key.HistoryPrefix(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, k))
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Limit: 1})
	defer cur.Close()
	if !cur.Next() {
		return 0, false, cur.Err()
	}
	_, version = key.CutVersion(cur.Key())
	return version, true, nil
}

// PutVersion notes what a record was from a version on, and nothing else; NONE says that it was gone. For imports,
// whose records bring their past with them.
func (g *Gate) PutVersion(tb *catalog.Table, k value.Value, version uint64, doc value.Value) error {
	raw := []byte{}
	if !doc.IsNone() {
		enc, err := g.encode(doc)
		if err != nil {
			return err
		}
		raw = append(raw, enc...)
	}
	s := tb.Scope
	if err := g.Tx.Set(key.History(nil, s.NS, s.DB, tb.ID, k, version), raw); err != nil {
		return fmt.Errorf("write a version of a record of %s: %w", tb.Name, err)
	}
	return nil
}

// EachVersion hands every version of the records of a table to f, records in key order and the versions of each newest
// first; doc is NONE where the record was gone. edge says that the record is an edge of the graph by now. For callers
// who may read everything, on a store that keeps its past; doc is valid until the transaction ends.
func (g *Gate) EachVersion(ctx context.Context, tb *catalog.Table,
	f func(id *value.RecordID, version uint64, doc value.Value, edge bool) error) error {
	if !g.Env.CanRead() {
		return errs.NotAllowed("IAM error: Not enough permissions to perform this action")
	}
	start, end := key.HistoryRange(tb.Scope.NS, tb.Scope.DB, tb.ID, nil)
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	for n := uint32(0); cur.Next(); n++ {
		if n&255 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		k, version, err := key.DecodeHistory(cur.Key())
		if err != nil {
			return fmt.Errorf("read a version of %s: %w", tb.Name, err)
		}
		id := &value.RecordID{Table: tb.Name, Key: k}
		var doc value.Value
		var e *ends
		if len(cur.Value()) > 0 {
			if doc, err = decode(cur.Value()); err != nil {
				return err
			}
			if e, err = g.edgeOf(tb, id, doc); err != nil {
				return err
			}
		}
		if err := f(id, version, doc, e != nil); err != nil {
			return err
		}
	}
	return cur.Err()
}

func (c *Cursor) step() bool {
	if c.past != nil {
		return c.past.Next()
	}
	return c.cur.Next()
}

// raw is the stored image under the cursor.
func (c *Cursor) raw() []byte {
	if c.past != nil {
		return c.past.Value()
	}
	return c.cur.Value()
}

func (c *Cursor) recordKey() (value.Value, error) {
	if c.past != nil {
		k, _, err := key.DecodeHistory(c.past.Key())
		return k, err
	}
	return key.DecodeRecord(c.cur.Key())
}
