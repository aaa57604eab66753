package record

import (
	"context"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// GetAt is Get for the record as it was at a version of the history. Whether the caller may see it, and what is computed of
// it, are matters of now.
func (g *Gate) GetAt(ctx context.Context, id *value.RecordID, version uint64) (value.Value, bool, error) {
	tb, err := g.Cat.Table(g.DB, id.Table)
	if tb == nil || err != nil {
		return value.None, false, err
	}
	at, err := g.Cat.TableIDAt(g.DB, tb.Name, version)
	if at == 0 || err != nil {
		return value.None, false, err
	}
	raw, err := history.Get(g.Tx, key.HistoryPrefix(nil, tb.Scope.NS, tb.Scope.DB, at, id.Key), version)
	if raw == nil || err != nil {
		return value.None, false, err
	}
	doc, err := decode(raw)
	if err != nil {
		return value.None, false, err
	}
	return g.admit(ctx, tb, id, doc)
}

// scanPast is Scan for the records as they were at a version of the history. A table that was removed and defined again
// since has the records of the one that it was then.
func (g *Gate) scanPast(ctx context.Context, tb *catalog.Table, opt ScanOptions) *Cursor {
	at, err := g.Cat.TableIDAt(g.DB, tb.Name, opt.Version)
	start, end := key.HistoryRange(tb.Scope.NS, tb.Scope.DB, at, opt.Range)
	if at == 0 {
		end = start
	}
	return &Cursor{ctx: ctx, g: g, tb: tb, past: history.Scan(g.Tx, start, end, opt.Version, opt.Reverse), err: err}
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
