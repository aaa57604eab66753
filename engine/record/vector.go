package record

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/value"
)

// changeVector keeps a vector index. Records whose field is NONE or NULL have no vector.
func (g *Gate) changeVector(ctx context.Context, tb *catalog.Table, ix *catalog.Index, id *value.RecordID,
	before, after value.Value) error {
	old, err := g.single(ctx, 0, ix, before)
	if err != nil {
		return err
	}
	now, err := g.single(ctx, 1, ix, after)
	if err != nil {
		return err
	}
	inField := vector.InField(ix, after)
	if old.IsNullish() && now.IsNullish() || !before.IsNone() && !after.IsNone() && value.Equal(old, now) &&
		inField == vector.InField(ix, before) && (!inField || sameElements(old, now)) {
		return nil
	}
	x, err := vector.Open(g.Vectors, g.Tx, tb, ix)
	if err != nil {
		return err
	}
	if now.IsNullish() {
		return x.Remove(id.Key)
	}
	return x.Put(id.Key, now, inField)
}

// vectorAdder gives what adds records to a vector index that is being made.
func (g *Gate) vectorAdder(ctx context.Context, tb *catalog.Table,
	ix *catalog.Index) (*vector.Index, func(*value.RecordID, value.Value) error, error) {
	x, err := vector.Open(g.Vectors, g.Tx, tb, ix)
	if err != nil {
		return nil, nil, err
	}
	x.Filling = true
	return x, func(id *value.RecordID, doc value.Value) error {
		if done, err := x.Fill(id.Key, doc); done || err != nil {
			return err
		}
		v, err := g.single(ctx, 1, ix, doc)
		if v.IsNullish() || err != nil {
			return err
		}
		return x.Put(id.Key, v, vector.InField(ix, doc))
	}, nil
}

// sameElements reports whether two equal values are the same down to the bits, as far as a look can tell: 0 and -0 are
// not.
func sameElements(a, b value.Value) bool {
	return a.Kind() == value.KindArray && b.Kind() == value.KindArray && slices.Equal(a.Elems(), b.Elems())
}

// clearVectors says that all entries of indexes are about to go.
func (g *Gate) clearVectors(ixs ...*catalog.Index) {
	for _, ix := range ixs {
		if ix.Define.Vector != nil {
			g.Vectors.Clear(g.Tx, ix.Scope, ix.ID)
		}
	}
}
