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

// Action is the operation of a statement on existing records.
type Action uint8

// The actions.
const (
	Updating Action = iota
	Deleting
)

// Row is a record picked for writing.
type Row struct {
	Table *catalog.Table
	ID    *value.RecordID
	// Stored is the image in the store: the Before of a Write.
	Stored value.Value
	// Seen is what the expressions of the statement see of it: with COMPUTED fields, without those that the caller may
	// not select; NONE where the caller may write the record, but not select it.
	Seen value.Value
}

// Pick reads a record for writing; nil where it is missing or the caller may not write it.
func (g *Gate) Pick(ctx context.Context, tb *catalog.Table, id *value.RecordID, act Action) (*Row, error) {
	doc, err := g.load(tb, id.Key)
	if err != nil || doc.IsNone() {
		return nil, err
	}
	return g.pickRow(ctx, tb, id, doc, act)
}

func (g *Gate) pickRow(ctx context.Context, tb *catalog.Table, id *value.RecordID, doc value.Value,
	act Action) (*Row, error) {
	row := &Row{Table: tb.Whole(), ID: id, Stored: doc, Seen: doc}
	if g.Env.CanWrite() && len(tb.Computed) == 0 {
		return row, nil
	}
	if !g.Env.CanWrite() {
		p := &tb.Define.Permissions.Update
		if act == Deleting {
			p = &tb.Define.Permissions.Delete
		}
		ok, err := g.permitsWrite(ctx, p, doc, []Param{{"before", doc}, {"value", doc}})
		if !ok || err != nil {
			return nil, err
		}
	}
	var err error
	if row.Seen, _, err = g.admit(ctx, tb, id, doc); err != nil { // NONE where the record is hidden
		return nil, err
	}
	return row, nil
}

// EachRow picks the records of a table (within a range of keys; nil: all) for writing, in key order. It walks the
// records as they were when it began, but gives each as it is when its turn comes: what the caller or an event deleted
// meanwhile is left out. f may write.
func (g *Gate) EachRow(ctx context.Context, tb *catalog.Table, r *value.Range, act Action, f func(*Row) error) error {
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, r)
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	writes := g.writes
	for n := 1; cur.Next(); n++ {
		if n&255 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k, err := key.DecodeRecord(cur.Key())
		if err != nil {
			return fmt.Errorf("read a record key of %s: %w", tb.Name, err)
		}
		id := &value.RecordID{Table: tb.Name, Key: k}
		var row *Row
		if g.writes == writes {
			var doc value.Value
			if doc, err = decode(cur.Value()); err == nil {
				row, err = g.pickRow(ctx, tb, id, doc, act)
			}
		} else {
			row, err = g.Pick(ctx, tb, id, act)
		}
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		before := g.writes
		if err := f(row); err != nil {
			return err
		}
		if g.writes == before+1 {
			writes++ // the row itself, which the walk has passed
		}
	}
	return cur.Err()
}

// Show is a stored image as the caller may see it; false where the record is hidden.
func (g *Gate) Show(ctx context.Context, tb *catalog.Table, id *value.RecordID,
	doc value.Value) (value.Value, bool, error) {
	if doc.IsNone() {
		return doc, true, nil
	}
	return g.admit(ctx, tb, id, doc)
}

// MayCreate reports whether the caller may create records of a table at all, before anything is evaluated.
func (g *Gate) MayCreate(tb *catalog.Table) bool {
	return g.Env.CanWrite() || tb.Define.Permissions.Create.Kind != ast.PermissionNone
}
