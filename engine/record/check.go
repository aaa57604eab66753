package record

import (
	"context"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/value"
)

// HasText reports whether a full-text index has a record as its stored image says.
func (g *Gate) HasText(ctx context.Context, tb *catalog.Table, ix *catalog.Index, k, doc value.Value) (bool, error) {
	v, err := g.single(ctx, 1, ix, doc)
	if err != nil {
		return false, err
	}
	d, err := g.document(ctx, ix, v)
	if err != nil {
		return false, err
	}
	return fulltext.Open(g.Tx, tb, ix).Holds(k, d)
}

// HasVector reports whether a vector index has a record as its stored image says; expected says whether it is to have
// it at all.
func (g *Gate) HasVector(ctx context.Context, tb *catalog.Table, ix *catalog.Index, k,
	doc value.Value) (has, expected bool, err error) {
	v, err := g.single(ctx, 1, ix, doc)
	if err != nil {
		return false, false, err
	}
	x, err := vector.Open(g.Vectors, g.Tx, tb, ix)
	if err != nil {
		return false, false, err
	}
	has, err = x.Holds(k, v)
	return has, !v.IsNullish(), err
}
