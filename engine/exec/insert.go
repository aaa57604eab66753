package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/assign"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// insert is INSERT: one table look-up and one pass over the rows.
func (r *Run) insert(ctx context.Context, env *Env, s *ast.Insert) (value.Value, error) {
	w, err := r.newWriter(env, s.Output)
	if err != nil {
		return value.None, err
	}
	into, err := r.insertInto(ctx, env, s.Into)
	if err != nil {
		return value.None, err
	}
	if into != "" {
		if ok, err := w.mayFill(into); !ok || err != nil { // before the data, which may write or tell
			return value.Array(), err
		}
	}
	rows, err := r.insertRows(ctx, env, s)
	if err != nil {
		return value.None, err
	}
	in := inserter{writer: w, s: s, into: into}
	if in.version, err = r.ownVersion(ctx, env, s.Version); err != nil {
		return value.None, err
	}
	if w.g.Log.Expect(len(rows)); w.kind() != ast.OutputNone {
		w.rows = make([]value.Value, 0, len(rows))
	}
	for i := 0; i < len(rows) && err == nil; i++ {
		err = in.insert(ctx, rows[i])
	}
	if uncounted := in.count(); err == nil {
		err = uncounted
	}
	if err != nil {
		return value.None, err
	}
	return w.result(false, len(rows))
}

// mayFill reports whether the caller may create records of a table that a statement names.
func (w *writer) mayFill(table string) (bool, error) {
	if w.r.Auth.CanWrite() {
		return true, nil
	}
	tb, err := w.g.TableForWrite(table)
	return tb != nil && w.g.MayCreate(tb), err
}

// insertInto is the table that INTO names; "" without INTO.
func (r *Run) insertInto(ctx context.Context, env *Env, x ast.Expr) (string, error) {
	switch x := x.(type) {
	case nil:
		return "", nil
	case *ast.Table:
		return x.Name, nil
	default:
		v, err := r.Value(ctx, env, x)
		if err != nil {
			return "", err
		}
		name, ok := TableName(v)
		if !ok {
			return "", errs.Internal("Cannot execute INSERT statement using value: %s", ast.Text(x))
		}
		return name, nil
	}
}

// insertRows evaluates what is to be inserted: objects.
func (r *Run) insertRows(ctx context.Context, env *Env, s *ast.Insert) ([]value.Value, error) {
	if s.Fields != nil {
		return r.valueRows(ctx, env, s)
	}
	v, err := r.Value(ctx, env, s.X)
	if _, read := s.X.(*ast.Literal); read && err == nil { // by the parser, which weighs nothing
		err = new(held).add(r, v)
	}
	if err != nil {
		return nil, err
	}
	switch v.Kind() {
	case value.KindObject:
		return []value.Value{v}, nil
	case value.KindArray:
		for _, e := range v.Elems() {
			if e.Kind() != value.KindObject {
				return nil, unusable(e, "MERGE", "InvalidMerge")
			}
		}
		return v.Elems(), nil
	}
	return nil, cannotExecute("INSERT", v)
}

// valueRows evaluates the rows of the VALUES form.
func (r *Run) valueRows(ctx context.Context, env *Env, s *ast.Insert) ([]value.Value, error) {
	out, doc := make([]value.Value, len(s.Rows)), value.ObjectOf(nil)
	a := r.assigner(env, doc, doc)
	for i, row := range s.Rows {
		im := assign.Image{Doc: doc}
		for j, x := range row {
			v, err := r.Value(ctx, env, x)
			if err != nil {
				return nil, err
			}
			if im, err = a.Set(ctx, im, s.Fields[j].Parts, ast.AssignSet, v); err != nil {
				return nil, err
			}
		}
		out[i] = im.Doc
	}
	return out, nil
}

// inserter is an INSERT at work. It keeps the table between rows.
type inserter struct {
	*writer
	s    *ast.Insert
	into string
	tb   *catalog.Table

	room    value.EditRoom
	lean    bool   // nothing looks at a row of tb, or at their number, before the statement ends
	more    int64  // rows of tb that are not counted yet
	version uint64 // of the history, that an import gives the rows; 0: none
}

func (in *inserter) insert(ctx context.Context, doc value.Value) error {
	table, key, id, err := in.idOf(doc)
	if err != nil {
		return err
	}
	p, whole, fresh := &in.rec, id != nil, false
	*p = record.Write{Plain: true, Given: true}
	if p.Table, err = in.table(table); p.Table == nil || err != nil {
		return err
	}
	if err := in.g.MayFill(p.Table); err != nil {
		return err
	}
	if key.IsNone() {
		if id, fresh, err = in.newID(ctx, p.Table, doc); err != nil {
			return err
		}
	} else if !whole {
		id = in.made.Make(table, key)
	}
	p.ID = id
	if !in.g.MayCreate(p.Table) {
		return nil
	}
	if in.s.Relation {
		if p.In, err = insertEnd(doc, "in"); err != nil {
			return err
		}
		if p.Out, err = insertEnd(doc, "out"); err != nil {
			return err
		}
	}
	with := (*value.Object).With
	if in.lean {
		with, p.Made = in.room.With, &in.more
	}
	if p.After, p.HasID = record.Image(p.Table, doc), true; !whole {
		p.After = value.ObjectOf(with(p.After.Object(), "id", value.RecordOf(id)))
	}
	if in.version != 0 {
		return in.insertVersion(ctx, p)
	}
	if !fresh {
		there, err := in.g.Exists(p.Table, id.Key)
		if err != nil {
			return err
		}
		if there && in.r.Import && p.Table.Define.View != nil {
			return in.replaceRow(ctx, p) // the view has made it already
		}
		if there {
			if err := in.checkEnds(ctx, p); err != nil {
				return err
			}
			if ok, err := in.g.Rehearse(ctx, p); !ok || err != nil {
				return err
			}
			return in.duplicate(ctx, p.Table, id, doc)
		}
	}
	catches := in.s.Ignore || in.s.OnDuplicate != nil && fresh
	if !catches || !hasUnique(p.Table) {
		return in.put(ctx, p)
	}
	owner, err := in.r.claim(p.Table.Name, func() error { return in.put(ctx, p) })
	if owner == nil || err != nil || in.s.Ignore {
		return err
	}
	return in.duplicate(ctx, p.Table, owner, doc)
}

// table finds the table of a row; nil where the caller may not create it.
func (in *inserter) table(name string) (*catalog.Table, error) {
	if in.tb != nil && in.tb.Name == name {
		return in.tb, nil
	}
	if err := in.count(); err != nil {
		return nil, err
	}
	tb, err := in.g.TableForWrite(name)
	in.tb = tb
	in.lean = tb != nil && in.kind() == ast.OutputNone && in.s.OnDuplicate == nil && in.version == 0 && in.g.Forgets(tb)
	return tb, err
}

// count counts the rows that were made of the table at hand.
func (in *inserter) count() error {
	n := in.more
	if in.more = 0; n == 0 {
		return nil
	}
	return in.g.CountRows(in.tb, n)
}

// idOf is the table and the key of a row, NONE where the row does not name it itself, and its id where a field is that.
func (in *inserter) idOf(doc value.Value) (table string, key value.Value, id *value.RecordID, err error) {
	v := inside.Field(doc, "id")
	if v.Kind() == value.KindRecord {
		id = v.Record()
	}
	if table = in.into; table == "" {
		if id == nil {
			return "", key, nil, badProperty("id", v)
		}
		table = id.Table
	}
	if key, err = record.AsKey(v); err != nil && id == nil {
		err = badProperty("id", v)
	}
	if id != nil && (id.Table != table || id.Key != key || key.IsNone()) {
		id = nil
	}
	return table, key, id, err
}

func badProperty(name string, v value.Value) error {
	return errs.Internal("Cannot execute INSERT statement where property '%s' is: %s", name, v.Brief())
}

func insertEnd(doc value.Value, name string) (*value.RecordID, error) {
	v := inside.Field(doc, name)
	if v.Kind() != value.KindRecord {
		return nil, badProperty(name, v)
	}
	return v.Record(), nil
}

// checkEnds refuses a row of INSERT RELATION whose edge is there with other ends. An edge that the caller may
// not update tells nothing.
func (in *inserter) checkEnds(ctx context.Context, p *record.Write) error {
	if !in.s.Relation {
		return nil
	}
	row, err := in.g.Pick(ctx, p.Table, p.ID, record.Updating)
	if row == nil || err != nil {
		return err
	}
	for _, name := range [2]string{"in", "out"} {
		if has := inside.Field(row.Seen, name); !value.Equal(has, inside.Field(p.After, name)) {
			found := "another record"
			if !has.IsNone() {
				found = has.Text()
			}
			if in.s.OnDuplicate != nil {
				return errs.Internal("Found %s for the `id` field, but a specific record has been specified", found)
			}
			return errs.Internal("Found %s for the `%s` field, which does not match the existing field value", found, name)
		}
	}
	return nil
}

// replaceRow stores a row in the place of the one that is there.
func (in *inserter) replaceRow(ctx context.Context, p *record.Write) error {
	row, err := in.g.Pick(ctx, p.Table, p.ID, record.Updating)
	if row == nil || err != nil {
		return err
	}
	p.Before = row.Stored
	return in.put(ctx, p)
}

// duplicate handles a row with an existing record.
func (in *inserter) duplicate(ctx context.Context, tb *catalog.Table, id *value.RecordID, doc value.Value) error {
	switch {
	case in.s.OnDuplicate != nil:
	case in.s.Ignore:
		return nil
	default:
		return errs.RecordExists(value.RecordOf(id).Text())
	}
	row, err := in.g.Pick(ctx, tb, id, record.Updating)
	if row == nil || err != nil {
		return err
	}
	frame := in.row.WithThis(row.Seen)
	frame.table = tb
	frame.Set("input", doc)
	after, hasNone, err := in.r.assignAll(ctx, frame, in.s.OnDuplicate, row.Stored, row.Seen)
	if err != nil {
		return err
	}
	return in.put(ctx, &record.Write{Table: tb, ID: id, Before: row.Stored, After: after, Input: after,
		HasNone: hasNone})
}
