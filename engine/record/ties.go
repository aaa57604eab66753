package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// Untie removes what the records of a table, which is removed, have left at those of other tables. No events run.
func (g *Gate) Untie(ctx context.Context, tb *catalog.Table) error {
	ties := tb.Ties()
	if ties.None() {
		return nil
	}
	return g.eachStored(ctx, tb, func(id *value.RecordID, doc value.Value) error {
		return g.untie(tb.Inner(), ties, id.Key, doc)
	})
}

// UntieStored is Untie for one record of a table that is gone, as it is stored.
func (g *Gate) UntieStored(of catalog.Scope, ties catalog.Ties, k, raw []byte) error {
	if len(ties.References) == 0 { // most records of a table that may hold edges are none, and need not be decoded
		edge, err := storedEdge(raw)
		if !edge || err != nil {
			return err
		}
	}
	id, err := key.DecodeRecord(k)
	if err != nil {
		return fmt.Errorf("read a record key of a table that was removed: %w", err)
	}
	doc, err := decode(raw)
	if err != nil {
		return err
	}
	return g.untie(of, ties, id, doc)
}

// storedEdge reports whether a stored record has the ends of an edge.
func storedEdge(raw []byte) (bool, error) {
	for _, end := range []string{"in", "out"} {
		v, _, err := value.RecordField(raw, end)
		if err != nil {
			return false, fmt.Errorf("read a record of a table that was removed: %w", err)
		}
		if v.Kind() != value.KindRecord {
			return false, nil
		}
	}
	return true, nil
}

// untie removes the entries without a look whether they are there: no other table has or gets the id of this one, which
// is in their keys.
func (g *Gate) untie(of catalog.Scope, ties catalog.Ties, id, doc value.Value) error {
	if in, out := inside.Field(doc, "in"), inside.Field(doc, "out"); ties.Edges && in.Kind() == value.KindRecord &&
		out.Kind() == value.KindRecord {
		if err := g.unlinkEnds(of, id, &ends{in: in.Record(), out: out.Record()}); err != nil {
			return err
		}
	}
	for _, f := range ties.References {
		for _, to := range targets(nil, doc, f.Path) {
			target, err := g.Cat.TableID(g.DB, to.Table)
			if err != nil {
				return err
			}
			if target == 0 {
				continue
			}
			g.keybuf = key.Reference(g.keybuf[:0], of.NS, of.DB, target, to.Key, of.TB, f.Name, id)
			if err := g.Tx.Delete(g.keybuf); err != nil {
				return fmt.Errorf("forget a reference: %w", err)
			}
		}
	}
	return nil
}
