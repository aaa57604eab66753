package record

import (
	"context"

	"github.com/nacredb/nacre/engine/catalog"
)

func (g *Gate) changeViews(ctx context.Context, w *Write) error { return nil }

// FillView makes the rows of a new view out of the records that are there.
func (g *Gate) FillView(ctx context.Context, tb *catalog.Table) error { return nil }
