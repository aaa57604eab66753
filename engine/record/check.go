package record

import (
	"context"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/fulltext"
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
