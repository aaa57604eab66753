package exec

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// update is UPDATE and UPSERT.
func (r *Run) update(ctx context.Context, env *Env, s *ast.Update) (value.Value, error) {
	w, err := r.newWriter(env, s.Output)
	if err != nil {
		return value.None, err
	}
	targets, err := w.targets(ctx, env, s.Only, s.Targets)
	if err != nil {
		return value.None, err
	}
	if !s.Upsert {
		if err := w.knownStarts(s.Targets); err != nil {
			return value.None, err
		}
	}
	if w.kept, err = w.onceInSet(s, targets); err != nil {
		return value.None, err
	}
	each := func(t *Target) error { return w.update(ctx, t, s) }
	if s.Upsert {
		each = func(t *Target) error { return w.upsert(ctx, t, s) }
	}
	if s.Explain != nil {
		return w.explainWrite(ctx, s.Explain, s.Targets, targets, s.With, s.Where, s.Upsert, each)
	}
	return w.write(targets, s.Only, each)
}

func (w *writer) update(ctx context.Context, t *Target, s *ast.Update) error {
	if t.Kind == TargetValue {
		return cannotExecute("UPDATE", t.Value)
	}
	tb, err := w.g.Table(t.Table)
	if err != nil {
		return err
	}
	if err := w.g.MayFill(tb); err != nil {
		return err
	}
	w.row.table = tb
	return w.eachRow(ctx, t, tb.NeedingData(s.Data, s.Where), record.Updating, s.With, s.Where,
		func(row *record.Row) error {
			return w.change(ctx, row, s.Data, false)
		})
}

// change applies a data clause to a record that is there.
func (w *writer) change(ctx context.Context, row *record.Row, d *ast.Data, plain bool) error {
	outer := w.r.once
	w.r.once = w.kept
	c, err := w.r.applyData(ctx, &w.row, d, row.Stored, row.Seen)
	w.r.once = outer
	if err != nil {
		if row.Seen.IsNone() && !record.Spoken(err) { // the data fails on NONE, not on the hidden record: it stays
			return nil
		}
		return err
	}
	w.rec = record.Write{Table: row.Table, ID: row.ID, Before: row.Stored, After: c.after, Input: c.input,
		KeepReadonly: c.keep, Plain: plain, HasNone: c.hasNone, Given: c.given}
	return w.put(ctx, &w.rec)
}

func (w *writer) upsert(ctx context.Context, t *Target, s *ast.Update) error {
	if t.Kind == TargetValue {
		return cannotExecute("UPSERT", t.Value)
	}
	tb, err := w.g.TableForWrite(t.Table)
	if tb == nil || err != nil {
		return err
	}
	if t.Kind == TargetTable && s.Where == nil {
		return w.upsertNew(ctx, tb, nil, s)
	}
	if t.Kind == TargetRecord {
		there, err := w.g.Exists(tb, t.ID.Key)
		if err != nil {
			return err
		}
		if !there {
			return w.upsertNew(ctx, tb, t.ID, s)
		}
	}
	found := false
	if err := w.g.MayFill(tb); err != nil {
		return err
	}
	w.row.table = tb
	err = w.eachRow(ctx, t, tb.NeedingData(s.Data, s.Where), record.Updating, s.With, s.Where,
		func(row *record.Row) error {
			found = true
			return w.change(ctx, row, s.Data, true)
		})
	if err != nil || found || t.Kind != TargetTable {
		return err
	}
	return w.upsertNew(ctx, tb, nil, s)
}

// upsertNew creates the record of an UPSERT. Without an id of its own it may turn out to be there already: by the id in
// its data, or by the values of a unique index.
func (w *writer) upsertNew(ctx context.Context, tb *catalog.Table, id *value.RecordID, s *ast.Update) error {
	if !w.g.MayCreate(tb) {
		return nil
	}
	named := id != nil
	c, id, fresh, err := w.newRecord(ctx, tb, id, s.Data)
	if err != nil {
		return err
	}
	if !named && !fresh {
		there, err := w.g.Exists(tb, id.Key)
		if err != nil {
			return err
		}
		if there { // and may be hidden: then nothing happens
			row, err := w.g.Pick(ctx, tb, id, record.Updating)
			if row == nil || err != nil {
				return err
			}
			return w.change(ctx, row, s.Data, true)
		}
	}
	put := func() error {
		return w.put(ctx, &record.Write{Table: tb, ID: id, After: c.after, Input: c.input, Plain: true,
			HasNone: c.hasNone, Given: c.given, AskFirst: true})
	}
	if named || !hasUnique(tb) {
		return put()
	}
	owner, err := w.r.claim(tb.Name, put)
	if owner == nil || err != nil {
		return err
	}
	row, err := w.g.Pick(ctx, tb, owner, record.Updating)
	if row == nil || err != nil {
		return err
	}
	return w.change(ctx, row, s.Data, true)
}

func hasUnique(tb *catalog.Table) bool {
	for _, ix := range tb.AllIndexes() {
		if ix.Unique() {
			return true
		}
	}
	return false
}

// claim runs put and undoes it when a unique index of the table refuses it; the answer is the record that has the
// values then.
func (r *Run) claim(table string, put func() error) (*value.RecordID, error) {
	mark, changes := r.Tx.Savepoint(), r.Log.Mark()
	err := put()
	var v *index.Violation
	if err == nil || !errors.As(err, &v) || v.Record.Table != table { // an event may have met that of another table
		return nil, err
	}
	r.Tx.RollbackTo(mark)
	r.Log.RollbackTo(changes)
	return v.Record, nil
}
