package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
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
	w.rows = make([]value.Value, 0, len(rows))
	for _, row := range rows {
		if err := in.insert(ctx, row); err != nil {
			return value.None, err
		}
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
	out, a := make([]value.Value, len(s.Rows)), assigner{r: r, env: env}
	for i, row := range s.Rows {
		doc := value.ObjectOf(nil)
		for j, x := range row {
			v, err := r.Value(ctx, env, x)
			if err != nil {
				return nil, err
			}
			im, err := a.assign(ctx, image{doc: doc}, s.Fields[j].Parts, ast.AssignSet, v)
			if err != nil {
				return nil, err
			}
			doc = im.doc
		}
		out[i] = doc
	}
	return out, nil
}

// inserter is an INSERT at work. It keeps the table between rows.
type inserter struct {
	*writer
	s       *ast.Insert
	into    string
	tb      *catalog.Table
	version uint64 // of the history, that an import gives the rows; 0: none
}

func (in *inserter) insert(ctx context.Context, doc value.Value) error {
	id, named, whole, err := in.idOf(doc)
	if err != nil {
		return err
	}
	p := &in.rec
	*p = record.Write{ID: id, Plain: true, Given: true}
	if p.Table, err = in.table(id.Table); p.Table == nil || err != nil {
		return err
	}
	if err := in.g.MayFill(p.Table); err != nil {
		return err
	}
	if !named {
		fresh := false
		if id, fresh, err = in.newID(ctx, p.Table, doc); err != nil {
			return err
		}
		p.ID, named = id, !fresh
	}
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
	if p.After, p.HasID = record.Image(p.Table, doc), true; !whole {
		p.After = value.ObjectOf(p.After.Object().With("id", value.RecordOf(id)))
	}
	if in.version != 0 {
		return in.insertVersion(ctx, p)
	}
	if named {
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
	catches := in.s.Ignore || in.s.OnDuplicate != nil && !named
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
	tb, err := in.g.TableForWrite(name)
	in.tb = tb
	return tb, err
}

// idOf is the id of a row, without a key where the row does not name it itself; whole: its field is that id.
func (in *inserter) idOf(doc value.Value) (id *value.RecordID, named, whole bool, err error) {
	v := field(doc, "id")
	table := in.into
	if table == "" {
		if v.Kind() != value.KindRecord {
			return nil, false, false, badProperty("id", v)
		}
		table = v.Record().Table
	}
	key, err := recordKey(v)
	if err != nil {
		if v.Kind() != value.KindRecord {
			err = badProperty("id", v)
		}
		return nil, false, false, err
	}
	if v.Kind() == value.KindRecord && v.Record().Table == table && v.Record().Key == key {
		return v.Record(), !key.IsNone(), !key.IsNone(), nil
	}
	return &value.RecordID{Table: table, Key: key}, !key.IsNone(), false, nil
}

func badProperty(name string, v value.Value) error {
	return errs.Internal("Cannot execute INSERT statement where property '%s' is: %s", name, v.Brief())
}

func insertEnd(doc value.Value, name string) (*value.RecordID, error) {
	v := field(doc, name)
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
		if has := field(row.Seen, name); !value.Equal(has, field(p.After, name)) {
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
	after, hasNone, err := in.r.assignAll(ctx, frame, in.s.OnDuplicate, image{row.Stored, row.Seen})
	if err != nil {
		return err
	}
	return in.put(ctx, &record.Write{Table: tb, ID: id, Before: row.Stored, After: after, Input: after,
		HasNone: hasNone})
}
