package record

import (
	"context"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/value"
)

// changeVector keeps a vector index. Records whose field is NONE or NULL have no vector.
func (g *Gate) changeVector(ctx context.Context, tb *catalog.Table, ix *catalog.Index, id *value.RecordID, before, after value.Value) error {
	old, err := g.single(ctx, 0, ix, before)
	if err != nil {
		return err
	}
	now, err := g.single(ctx, 1, ix, after)
	if err != nil {
		return err
	}
	if old.IsNullish() && now.IsNullish() || !before.IsNone() && !after.IsNone() && value.Equal(old, now) {
		return nil
	}
	x, err := vector.Open(g.Vectors, g.Tx, tb, ix)
	if err != nil {
		return err
	}
	if now.IsNullish() {
		return x.Remove(id.Key)
	}
	return x.Put(id.Key, now)
}

// clearVectors says that all entries of indexes are about to go.
func (g *Gate) clearVectors(ixs ...*catalog.Index) {
	for _, ix := range ixs {
		if ix.Define.Vector != nil {
			g.Vectors.Clear(g.Tx, ix.Scope, ix.ID)
		}
	}
}
