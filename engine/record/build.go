package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// BuildIndex makes the entries of an index for all records of a table. A unique index that the records violate fails as
// a whole; the caller undoes what was written.
func (g *Gate) BuildIndex(ctx context.Context, tb *catalog.Table, ix *catalog.Index) error {
	if ix.Define.Kind == ast.IndexFullText {
		return g.buildText(ctx, tb, ix)
	}
	if ix.Define.Vector != nil {
		x, add, err := g.vectorAdder(ctx, tb, ix)
		if err != nil {
			return err
		}
		err = g.eachStored(ctx, tb, add)
		x.Warm()
		return err
	}
	return g.eachStored(ctx, tb, func(id *value.RecordID, doc value.Value) error {
		return g.changeIndex(ctx, tb, ix, id, value.None, doc)
	})
}

// eachStored calls f with every stored image of a table.
func (g *Gate) eachStored(ctx context.Context, tb *catalog.Table, f func(*value.RecordID, value.Value) error) error {
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, nil)
	return g.eachIn(ctx, tb, kv.Range{Start: start, End: end}, 0, f)
}

// eachIn is eachStored for the first records of a range, limit of them; 0 for all.
func (g *Gate) eachIn(ctx context.Context, tb *catalog.Table, r kv.Range, limit int,
	f func(*value.RecordID, value.Value) error) error {
	return g.eachPair(ctx, r, limit, decoded(tb, f))
}

// eachPair is eachIn for records as they are stored.
func (g *Gate) eachPair(ctx context.Context, r kv.Range, limit int, f func(kv.Pair) error) error {
	cur := g.Tx.Scan(r, txn.ScanOptions{Limit: limit})
	defer cur.Close()
	for n := 1; cur.Next(); n++ {
		if n&255 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f(kv.Pair{Key: cur.Key(), Value: cur.Value()}); err != nil {
			return err
		}
	}
	return cur.Err()
}

// Forget says that indexes are about to go, whose stored data is removed later.
func (g *Gate) Forget(indexes ...*catalog.Index) { g.clearVectors(indexes...) }

// DropIndex removes all that is stored of an index.
func (g *Gate) DropIndex(tb *catalog.Table, ix *catalog.Index) error {
	g.clearVectors(ix)
	s := tb.Scope
	return g.dropSpaces(key.IndexPrefixes(s.NS, s.DB, tb.ID, ix.ID))
}

func (g *Gate) dropSpaces(prefixes [][]byte) error {
	for _, p := range prefixes {
		start, end := key.PrefixRange(p)
		if err := g.Tx.DeleteRange(kv.Range{Start: start, End: end}); err != nil {
			return fmt.Errorf("drop stored data: %w", err)
		}
	}
	return nil
}

// ClearTable removes all records of a table and what hangs on them; its definitions stay. No events run.
func (g *Gate) ClearTable(tb *catalog.Table) error {
	g.clearVectors(tb.AllIndexes()...)
	s := tb.Scope
	var data [][]byte
	for _, p := range key.TablePrefixes(s.NS, s.DB, tb.ID) {
		if key.Class(p[0]) != key.ClassTableDef {
			data = append(data, p)
		}
	}
	return g.dropSpaces(data)
}
