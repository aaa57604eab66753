package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// changeReferences keeps the entries that REFERENCE fields make in step with a record.
func (g *Gate) changeReferences(tb *catalog.Table, id *value.RecordID, before, after value.Value) error {
	for _, f := range tb.Fields {
		if f.Define.Reference == nil {
			continue
		}
		old, now := targets(nil, before, f.Path), targets(nil, after, f.Path)
		for _, t := range old {
			if !hasTarget(now, t) {
				if err := g.reference(tb, f, id, t, g.Tx.Delete); err != nil {
					return err
				}
			}
		}
		for _, t := range now {
			if !hasTarget(old, t) {
				if err := g.reference(tb, f, id, t, setEmpty(g.Tx)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// DropReferences forgets the references that a field has made: it is one no longer.
func (g *Gate) DropReferences(ctx context.Context, tb *catalog.Table, f *catalog.Field) error {
	return g.eachStored(ctx, tb, func(id *value.RecordID, doc value.Value) error {
		for _, to := range targets(nil, doc, f.Path) {
			if err := g.reference(tb, f, id, to, g.Tx.Delete); err != nil {
				return err
			}
		}
		return nil
	})
}

func setEmpty(tx *txn.Tx) func([]byte) error {
	return func(k []byte) error { return tx.Set(k, nil) }
}

// reference builds the key of one reference and hands it to put.
func (g *Gate) reference(tb *catalog.Table, f *catalog.Field, from, to *value.RecordID, put func([]byte) error) error {
	target, err := g.Cat.NameTable(g.DB, to.Table)
	if err != nil {
		return err
	}
	s := tb.Scope
	g.keybuf = key.Reference(g.keybuf[:0], s.NS, s.DB, target, to.Key, tb.ID, f.Name, from.Key)
	if err := put(g.keybuf); err != nil {
		return fmt.Errorf("note a reference: %w", err)
	}
	return nil
}

// Targets appends the record ids at the path of a REFERENCE field, in arrays and sets too.
func Targets(dst []*value.RecordID, doc value.Value, path []catalog.Step) []*value.RecordID {
	return targets(dst, doc, path)
}

// targets is Targets.
func targets(dst []*value.RecordID, v value.Value, path []catalog.Step) []*value.RecordID {
	for i, st := range path {
		if v.Kind() == value.KindArray || v.Kind() == value.KindSet {
			rest := path[i:]
			if st.All {
				rest = path[i+1:]
			}
			for _, e := range v.Elems() {
				dst = targets(dst, e, rest)
			}
			return dst
		}
		if st.All {
			if v.Kind() == value.KindObject {
				for _, f := range v.Object().Fields() {
					dst = targets(dst, f.Value, path[i+1:])
				}
			}
			return dst
		}
		v = inside.Field(v, st.Name)
	}
	switch v.Kind() {
	case value.KindRecord:
		dst = append(dst, v.Record())
	case value.KindArray, value.KindSet:
		for _, e := range v.Elems() {
			dst = targets(dst, e, nil)
		}
	}
	return dst
}

func hasTarget(ids []*value.RecordID, id *value.RecordID) bool {
	for _, x := range ids {
		if x.Table == id.Table && value.Equal(x.Key, id.Key) {
			return true
		}
	}
	return false
}

// referrer is a record that points at another one by a REFERENCE field.
type referrer struct {
	table uint32
	field string
	key   value.Value
}

// releaseReferences does what the fields that point at a record say about its deletion, and forgets them.
func (g *Gate) releaseReferences(ctx context.Context, tb *catalog.Table, id *value.RecordID, doc value.Value) error {
	refs, err := g.referrers(tb, id)
	if err != nil {
		return err
	}
	for _, r := range refs {
		name, err := g.Cat.TableName(g.DB, r.table)
		if err != nil {
			return err
		}
		s := tb.Scope
		g.keybuf = key.Reference(g.keybuf[:0], s.NS, s.DB, tb.ID, id.Key, r.table, r.field, r.key)
		if err := g.Tx.Delete(g.keybuf); err != nil {
			return fmt.Errorf("forget a reference: %w", err)
		}
		from, err := g.Cat.Table(g.DB, name)
		if err != nil {
			return err
		}
		if from == nil {
			continue
		}
		if f := from.Field(r.field); f != nil && f.Define.Reference != nil {
			err := g.release(ctx, from, f, &value.RecordID{Table: name, Key: r.key}, id)
			if err == errReferenced || err != nil && !g.Env.CanRead() && !Spoken(err) {
				return g.undeletable(ctx, tb, id, doc, err)
			}
			if err != nil {
				return g.released(f, id, err)
			}
		}
	}
	return nil
}

// released says whose references failed to be updated, to those who may read everything. What ON DELETE REJECT says
// names the record itself, and errors that are not of the definition stay as they are.
func (g *Gate) released(f *catalog.Field, id *value.RecordID, err error) error {
	var e *errs.Error
	if f.Define.Reference.Action == ast.ReferenceReject || !Denies(err) || errors.Is(err, errs.TooDeep()) ||
		g.Env.Code.Elevated || !g.Env.CanRead() || !errors.As(err, &e) {
		return err
	}
	return (&errs.Error{Kind: errs.KindInternal, Err: err, Msg: "An error occured while updating references for `" +
		value.RecordOf(id).Text() + "`: " + e.Msg}).Brief()
}

func (g *Gate) referrers(tb *catalog.Table, id *value.RecordID) ([]referrer, error) {
	s := tb.Scope
	start, end := key.PrefixRange(key.ReferenceTarget(nil, s.NS, s.DB, tb.ID, id.Key))
	around := kv.Range{Start: start, End: end}
	if none, err := g.void(around); none || err != nil {
		return nil, err
	}
	cur := g.Tx.Scan(around, txn.ScanOptions{KeysOnly: true})
	defer cur.Close()
	var out []referrer
	for cur.Next() {
		table, name, k, err := key.DecodeReference(cur.Key())
		if err != nil {
			return nil, fmt.Errorf("read a reference: %w", err)
		}
		out = append(out, referrer{table, name, k})
	}
	return out, cur.Err()
}

// errReferenced says that a record which the caller does not see rejects a deletion.
var errReferenced = errs.Internal("referenced with an ON DELETE REJECT clause")

// undeletable is the refusal to delete a record for a reason that the caller may not be told.
func (g *Gate) undeletable(ctx context.Context, tb *catalog.Table, id *value.RecordID, doc value.Value,
	cause error) error {
	name, err := g.called(ctx, tb, id, doc)
	if err != nil {
		return err
	}
	why := "the ON DELETE clause of a record that refers to it failed"
	if cause == errReferenced {
		why = "it is referenced with an ON DELETE REJECT clause"
	}
	e := errs.Internal("Cannot delete %s as %s", name, why)
	e.Err = cause
	return e
}

// release is ON DELETE of one reference: from's field f points at the deleted record id.
func (g *Gate) release(ctx context.Context, tb *catalog.Table, f *catalog.Field, from, id *value.RecordID) error {
	ref := f.Define.Reference
	switch ref.Action {
	case ast.ReferenceReject:
		if seen, err := g.Sees(ctx, from); err != nil {
			return err
		} else if !seen {
			return errReferenced
		}
		return errs.Internal("Cannot delete `%s` as it is referenced by `%s` with an ON DELETE REJECT clause",
			value.RecordOf(id).Text(), value.RecordOf(from).Text())
	case ast.ReferenceCascade:
		return g.removeLinked(ctx, from)
	case ast.ReferenceUnset:
		doc, err := g.load(tb, from.Key)
		if err != nil || doc.IsNone() {
			return err
		}
		return g.asEngine(func() error {
			_, err := g.Put(ctx, &Write{Table: tb, ID: from, Before: doc,
				After: unset(doc, f.Path, value.RecordOf(id))})
			return err
		})
	case ast.ReferenceThen:
		doc, err := g.load(tb, from.Key)
		if err != nil || doc.IsNone() {
			return err
		}
		_, err = g.Eval.EvalIn(
			ctx,
			ref.Then,
			value.RecordOf(from),
			[]Param{{"reference", value.RecordOf(id)}},
			AsEngine,
		)
		return err
	}
	return nil
}

// asEngine runs f with the rights of the engine. What f evaluates for the caller has the rights of the caller still.
func (g *Gate) asEngine(f func() error) error {
	env := g.Env
	if g.engine == nil {
		g.engine = env.Under(env.Code.Enter(auth.Elevated))
	}
	g.Env = g.engine
	defer func() { g.Env = env }()
	return f()
}

// unset takes a record id out of what is at a path: the value itself, or elements of a collection.
func unset(doc value.Value, path []catalog.Step, id value.Value) value.Value {
	out, err := mapPath(doc, path, func(_ []catalog.Step, v value.Value) (value.Value, error) {
		switch v.Kind() {
		case value.KindRecord:
			if value.Equal(v, id) {
				return value.None, nil
			}
		case value.KindArray, value.KindSet:
			kept := make([]value.Value, 0, v.Len())
			for _, e := range v.Elems() {
				if !value.Equal(e, id) {
					kept = append(kept, e)
				}
			}
			if v.Kind() == value.KindSet {
				return value.SetOf(kept), nil
			}
			return value.ArrayOf(kept), nil
		}
		return v, nil
	})
	if err != nil { // the function above gives none
		return doc
	}
	return out
}

// Referrers are the records of a table that point at id by a REFERENCE field (field "": any), as far as the caller may
// see them, in order of fields and keys. keys narrows them (nil: all).
func (g *Gate) Referrers(ctx context.Context, id *value.RecordID, table, fieldName string,
	keys *value.Range) ([]*value.RecordID, error) {
	target, err := g.Cat.TableID(g.DB, id.Table)
	if target == 0 || err != nil {
		return nil, err
	}
	from, err := g.Cat.Table(g.DB, table)
	if from == nil || err != nil {
		return nil, err
	}
	s := g.DB.Inner()
	var out []*value.RecordID
	for _, f := range from.Fields {
		if f.Define.Reference == nil || fieldName != "" && f.Name != fieldName {
			continue
		}
		if g.At != 0 { // no references are kept of the past
			_, err := g.eachPast(ctx, from, keys, func(by *value.RecordID, doc value.Value) (bool, error) {
				if hasTarget(targets(nil, doc, f.Path), id) {
					out = append(out, by)
				}
				return true, nil
			})
			if err != nil {
				return nil, err
			}
			continue
		}
		start, end := key.ReferenceRange(s.NS, s.DB, target, id.Key, from.ID, f.Name, keys)
		if out, err = g.readReferrers(ctx, out, id, from, f, kv.Range{Start: start, End: end}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (g *Gate) readReferrers(ctx context.Context, out []*value.RecordID, target *value.RecordID, from *catalog.Table,
	f *catalog.Field, r kv.Range) ([]*value.RecordID, error) {
	cur := g.Tx.Scan(r, txn.ScanOptions{KeysOnly: true})
	defer cur.Close()
	hides := !g.Env.CanRead() && from.HidesPath(f.Path)
	for cur.Next() {
		_, _, k, err := key.DecodeReference(cur.Key())
		if err != nil {
			return nil, fmt.Errorf("read a reference: %w", err)
		}
		id := &value.RecordID{Table: from.Name, Key: k}
		if !g.Env.CanRead() {
			ok := false
			if hides { // SECURITY: that it points here is what the field hides
				var doc value.Value
				if doc, ok, err = g.shown(ctx, from, id); ok {
					ok = hasTarget(targets(nil, doc, f.Path), target)
				}
			} else {
				ok, err = g.Sees(ctx, id)
			}
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		out = append(out, id)
	}
	return out, cur.Err()
}
