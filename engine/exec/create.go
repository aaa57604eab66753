package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// create is CREATE.
func (r *Run) create(ctx context.Context, env *Env, s *ast.Create) (value.Value, error) {
	w, err := r.newWriter(env, s.Output)
	if err != nil {
		return value.None, err
	}
	targets, err := w.targets(ctx, env, s.Only, s.Targets)
	if err != nil {
		return value.None, err
	}
	if s.Only && len(targets) > 1 {
		return value.None, errs.SingleOutput()
	}
	return w.write(targets, s.Only, func(t *Target) error { return w.create(ctx, t, s.Data) })
}

func (w *writer) create(ctx context.Context, t *Target, d *ast.Data) error {
	if t.Kind != TargetTable && t.Kind != TargetRecord {
		return cannotExecute("CREATE", t.Value)
	}
	tb, err := w.g.TableForWrite(t.Table)
	if tb == nil || err != nil {
		return err
	}
	if !w.g.MayCreate(tb) {
		return nil
	}
	c, id, fresh, err := w.newRecord(ctx, tb, t.ID, d)
	if err != nil {
		return err
	}
	p := &w.rec
	*p = record.Write{Table: tb, ID: id, After: c.after, Input: c.input, Plain: true, HasNone: c.hasNone,
		Given: c.given}
	if !fresh {
		exists, err := w.g.Exists(tb, id.Key)
		if err != nil {
			return err
		}
		if exists {
			return w.conflict(ctx, p)
		}
	}
	return w.put(ctx, p)
}

// conflict refuses to create a record that is there already: after all else that a new record can be refused for, so
// that a refused CREATE does not reveal whether a record exists.
func (w *writer) conflict(ctx context.Context, p *record.Write) error {
	ok, err := w.g.Rehearse(ctx, p)
	if !ok || err != nil {
		return err
	}
	return errs.RecordExists(value.RecordOf(p.ID).Text())
}

// put stores one record and answers for it, unless the caller may not write it.
func (w *writer) put(ctx context.Context, p *record.Write) error {
	ok, err := w.g.Put(ctx, p)
	if !ok || err != nil {
		return err
	}
	return w.emit(ctx, p.Table, p.ID, p.Before, p.After)
}

// newRecord makes the image of a new record, and its id where id is nil: the one in its data, that of DEFINE FIELD id
// DEFAULT, or a generated one. The data sees the id. fresh: it was generated with so many random bits that no record
// has it; to look would cost a search of the whole table's keys, and a part of what the commit is validated against.
func (w *writer) newRecord(ctx context.Context, tb *catalog.Table, id *value.RecordID,
	d *ast.Data) (c change, _ *value.RecordID, fresh bool, err error) {
	if err = w.g.MayFill(tb); err != nil {
		return c, nil, false, err
	}
	named := id != nil
	if !named {
		if id, fresh, err = w.newID(ctx, tb, value.ObjectOf(nil)); err != nil {
			return c, nil, false, err
		}
	}
	w.row.table = tb
	c, err = w.r.newDoc(ctx, &w.row, d, object(value.Field{Name: "id", Value: value.RecordOf(id)}))
	if named || err != nil {
		return c, id, false, err
	}
	key, err := record.AsKey(inside.Field(c.after, "id"))
	if err != nil {
		return c, nil, false, err
	}
	if !key.IsNone() {
		id, fresh = &value.RecordID{Table: tb.Name, Key: key}, false
	}
	c.after = value.ObjectOf(c.after.Object().With("id", value.RecordOf(id)))
	return c, id, fresh, nil
}

// newID is the id of a new record that names none.
func (w *writer) newID(ctx context.Context, tb *catalog.Table,
	doc value.Value) (id *value.RecordID, fresh bool, err error) {
	key, err := w.g.DefaultKey(ctx, tb, doc)
	if err == nil {
		key, err = record.AsKey(key)
	}
	if err != nil {
		return nil, false, err
	}
	if fresh = key.IsNone(); fresh {
		key = value.Str(w.keys.Next())
	}
	return w.made.Make(tb.Name, key), fresh, nil
}

// table is the name of a table that an INTO or an edge names.
func TableName(v value.Value) (string, bool) {
	switch v.Kind() {
	case value.KindTable:
		return v.Table(), true
	case value.KindString:
		return v.Str(), true
	}
	return "", false
}
