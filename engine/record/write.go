package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/value"
)

// Write is one record on its way into the store.
type Write struct {
	Table *catalog.Table
	ID    *value.RecordID
	// Before is the stored image, as Load gave it; NONE when the record is created.
	Before value.Value
	// After is the new image: an object. The gate sets id, in and out in it, and leaves in it what was stored.
	After value.Value
	// Input is $input: what the statement gave.
	Input value.Value
	// In and Out are the ends of an edge that RELATE or INSERT RELATION makes; nil otherwise.
	In, Out *value.RecordID
	// KeepReadonly: a READONLY field that is missing in After keeps its value (CONTENT); else that is an error.
	KeepReadonly bool
	// HasNone: objects in After may hold fields that are NONE. The clauses of fields see them; they are not stored.
	HasNone bool
	// Given: Input holds nothing but what the caller gave. That of SET holds what was stored, too.
	Given bool
	// HasID: the id in After is ID.
	HasID bool
	// Plain: the record may not become a relation nor be one (CREATE, INSERT, UPSERT).
	Plain bool
	// AskFirst: a caller who may not create what was given is not told what is wrong with it.
	AskFirst bool
	// Made is where Put adds up the records that it creates, for CountRows to be told of; nil: Put counts them itself.
	Made *int64

	edge    bool // the record is one
	asserts []pendingAssert
	raw     []byte // After as it was handed to the transaction; nil until then
}

func (w *Write) creates() bool { return w.Before.IsNone() }

func (w *Write) isEdge() bool {
	return w.edge || w.In != nil || w.Table.Define.Kind == ast.TableRelation
}

// Put runs the whole pipeline for one record and stores it. It is false where the caller may not write the record:
// nothing happened then. w.After is the stored image afterwards.
func (g *Gate) Put(ctx context.Context, w *Write) (bool, error) {
	if ok, err := g.Rehearse(ctx, w); !ok || err != nil {
		return false, err
	}
	if !g.Env.CanWrite() { // others are told after all else that permissions may refuse
		if err := g.checkEnds(w); err != nil {
			return false, err
		}
	}
	raw, err := g.encode(w.After)
	if err != nil {
		return false, err
	}
	if !w.creates() {
		if same, err := g.unchanged(w.Before, raw); same || err != nil {
			return err == nil, err
		}
	}
	return true, g.store(ctx, w, raw)
}

// Forgets reports whether Put of a new record of tb leaves nothing that looks at the image again, or at the number of
// rows: then the image need not outlive Put, and many rows may be counted together.
func (g *Gate) Forgets(tb *catalog.Table) bool {
	rules := tb.HasRules && (!g.Import || len(tb.Computed) > 0 || tb.References)
	return g.Env.CanWrite() && !rules && len(tb.Indexes)+len(tb.Unready)+len(tb.Events)+len(tb.Views) == 0 &&
		!tb.Define.Drop && tb.Define.View == nil
}

// Rehearse runs the part of Put before it stores: the checks, fields and permissions of a record. w.After is the image
// that would be stored. It is false where the caller may not write it.
func (g *Gate) Rehearse(ctx context.Context, w *Write) (bool, error) {
	if err := g.prepare(ctx, w); err != nil {
		return false, err
	}
	if ok, err := g.mayWrite(ctx, w); !ok || err != nil {
		return false, err
	}
	if g.Env.CanWrite() {
		if err := g.checkEnds(w); err != nil {
			return false, err
		}
	}
	given := w.After
	if err := g.runFields(ctx, w); err != nil {
		return false, g.fault(ctx, w, given, err)
	}
	if w.HasNone {
		w.After = StripNone(w.After)
	}
	return g.mayKeep(ctx, w)
}

// fault is the error of a write whose fields have failed. RELATE and UPSERT of a new record ask first whether the
// caller may create what it gave, and RELATE whether its ends are there: nil where it may not.
func (g *Gate) fault(ctx context.Context, w *Write, given value.Value, err error) error {
	if g.Env.CanWrite() || !w.AskFirst || !w.creates() {
		return err
	}
	after := w.After
	w.After = given
	ok, perr := g.permitsWrite(ctx, &w.Table.Define.Permissions.Create, given, w.vars())
	w.After = after
	switch {
	case perr != nil:
		return perr
	case !ok:
		return nil
	}
	if end := g.checkEnds(w); end != nil {
		return end
	}
	return err
}

// prepare settles what may not be chosen: id, in, out and the kind of the table.
func (g *Gate) prepare(ctx context.Context, w *Write) error {
	if w.After.Kind() != value.KindObject {
		return fmt.Errorf("write a record of %s: the image is a %s", w.Table.Name, w.After.Kind())
	}
	if err := g.checkKind(w); err != nil {
		return err
	}
	id := value.RecordOf(w.ID)
	if w.HasID {
		return g.fixEnds(ctx, w)
	}
	if got, ok := w.After.Object().Get("id"); !ok || !same(got, id) && !value.Equal(got, id) {
		if ok && !got.IsNone() && !w.acceptsID(got) {
			return specified(got)
		}
		w.After = setField(w.After, "id", id)
	}
	return g.fixEnds(ctx, w)
}

// specified is the refusal of an id, in or out that contradicts the statement.
func specified(got value.Value) error {
	return errs.Internal("Found %s for the `id` field, but a specific record has been specified", got.Brief())
}

func (w *Write) acceptsID(got value.Value) bool {
	return value.Equal(got, w.ID.Key)
}

// checkKind holds the record to the TYPE of its table.
func (g *Gate) checkKind(w *Write) error {
	switch w.Table.Define.Kind {
	case ast.TableNormal:
		if w.In != nil {
			return errs.Internal("Found record: `%s` which is a relation, but expected a NORMAL", value.RecordOf(w.ID).Text())
		}
	case ast.TableRelation:
		if w.In == nil && (w.Plain || w.creates()) {
			return errs.Internal("Found record: `%s` which is not a relation, but expected a %s", value.RecordOf(w.ID).Text(),
				w.Table.Define.KindText())
		}
	}
	return nil
}

// fixEnds sets in and out of edges, which never change.
func (g *Gate) fixEnds(ctx context.Context, w *Write) error {
	if w.In == nil {
		if w.creates() {
			return nil
		}
		edge, err := g.edgeOf(w.Table, w.ID, w.Before)
		if err != nil || edge == nil {
			return err
		}
		w.edge = true
		w.After = setField(setField(w.After, "in", value.RecordOf(edge.in)), "out", value.RecordOf(edge.out))
		return nil
	}
	for _, end := range [2]struct {
		name string
		id   *value.RecordID
	}{{"in", w.In}, {"out", w.Out}} {
		v := value.RecordOf(end.id)
		if !w.creates() {
			if err := g.sameEnd(ctx, w, end.name, v); err != nil {
				return err
			}
		}
		if got := inside.Field(w.After, end.name); !got.IsNone() && !value.Equal(got, v) {
			return specified(got)
		}
		w.After = setField(w.After, end.name, v)
	}
	return nil
}

// sameEnd refuses to change an end of an edge.
//
// SECURITY: an end that is hidden from the caller is never the one that it names, or naming would find it out.
func (g *Gate) sameEnd(ctx context.Context, w *Write, name string, v value.Value) error {
	old, err := g.seenEnd(ctx, w, name)
	if err != nil || value.Equal(old, v) {
		return err
	}
	found := "another record"
	if g.Env.CanRead() || !old.IsNone() {
		found = old.Text()
	}
	return errs.Internal("Found %s for the `%s` field, which does not match the existing field value", found, name)
}

// seenEnd is an end of the edge that is written, as it was; NONE where it is hidden from the caller.
func (g *Gate) seenEnd(ctx context.Context, w *Write, name string) (value.Value, error) {
	if !g.Env.CanRead() {
		seen, err := g.sees(ctx, w)
		if !seen || err != nil || w.Table.HidesPath([]catalog.Step{{Name: name}}) {
			return value.None, err
		}
	}
	return inside.Field(w.Before, name), nil
}

// mayWrite asks the permissions that look at the record as it was.
func (g *Gate) mayWrite(ctx context.Context, w *Write) (bool, error) {
	if g.Env.CanWrite() {
		return true, nil
	}
	if w.creates() {
		return w.Table.Define.Permissions.Create.Kind != ast.PermissionNone, nil
	}
	return g.permitsWrite(ctx, &w.Table.Define.Permissions.Update, w.Before, w.vars())
}

// mayKeep asks the permissions again for the record as it is to be.
func (g *Gate) mayKeep(ctx context.Context, w *Write) (bool, error) {
	if g.Env.CanWrite() {
		return true, nil
	}
	p := &w.Table.Define.Permissions.Update
	if w.creates() {
		p = &w.Table.Define.Permissions.Create
	}
	return g.permitsWrite(ctx, p, w.After, w.vars())
}

func (w *Write) vars() []Param {
	return []Param{{"before", w.Before}, {"after", w.After}, {"value", w.After}, {"input", w.Input}}
}

// store writes the record and everything that hangs on it.
func (g *Gate) store(ctx context.Context, w *Write, raw []byte) error {
	tb := w.Table
	g.writes++
	if tb.Define.Drop {
		return g.after(ctx, w)
	}
	w.raw = g.keep(raw) // evaluating an index may use the gate again
	if err := g.changeIndexes(ctx, tb, w.ID, w.Before, w.After); err != nil {
		return err
	}
	if err := g.Tx.Set(g.recordKey(tb, w.ID.Key), w.raw); err != nil {
		return fmt.Errorf("write a record of %s: %w", tb.Name, err)
	}
	switch {
	case !w.creates():
	case w.Made != nil:
		*w.Made++
	default:
		if err := g.CountRows(tb, 1); err != nil {
			return err
		}
	}
	if w.In != nil {
		if err := g.linkEnds(w); err != nil {
			return err
		}
	}
	if tb.References {
		if err := g.changeReferences(tb, w.ID, w.Before, w.After); err != nil {
			return err
		}
	}
	return g.after(ctx, w)
}

// Delete removes a record and everything that hangs on it. It is false where the caller may not: nothing happened then.
func (g *Gate) Delete(ctx context.Context, tb *catalog.Table, id *value.RecordID, before value.Value) (bool, error) {
	if !g.Env.CanWrite() {
		ok, err := g.permitsWrite(ctx, &tb.Define.Permissions.Delete, before,
			[]Param{{"before", before}, {"value", before}})
		if !ok || err != nil {
			return false, err
		}
	}
	return true, g.remove(ctx, tb, id, before)
}

// remove is Delete without asking.
func (g *Gate) remove(ctx context.Context, tb *catalog.Table, id *value.RecordID, before value.Value) error {
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	g.writes++
	if err := g.changeIndexes(ctx, tb, id, before, value.None); err != nil {
		return err
	}
	if tb.References {
		if err := g.changeReferences(tb, id, before, value.None); err != nil {
			return err
		}
	}
	if err := g.unlink(ctx, tb, id, before); err != nil {
		return err
	}
	if err := g.Tx.Delete(g.recordKey(tb, id.Key)); err != nil {
		return fmt.Errorf("delete a record of %s: %w", tb.Name, err)
	}
	if err := g.CountRows(tb, -1); err != nil {
		return err
	}
	if err := g.releaseReferences(ctx, tb, id, before); err != nil { // what it runs finds the record gone
		return err
	}
	return g.after(ctx, &Write{Table: tb, ID: id, Before: before})
}

// HasNone reports whether StripNone would change v.
func HasNone(v value.Value) bool {
	switch v.Kind() {
	case value.KindObject:
		if v.Object().StoredWithoutNone() {
			return false
		}
		for _, f := range v.Object().Fields() {
			if f.Value.IsNone() || HasNone(f.Value) {
				return true
			}
		}
	case value.KindArray:
		return slices.ContainsFunc(v.Elems(), HasNone)
	}
	return false
}

// Image is what a row that is inserted gives as the image of a record of tb. Where what is defined on tb looks at its
// fields again and again, they are read out of the bytes that the row may be in.
func Image(tb *catalog.Table, row value.Value) value.Value {
	row = StripNone(row)
	again := tb.HasRules || len(tb.Indexes)+len(tb.Unready) > 1 || len(tb.Events) > 0 || len(tb.Views) > 0
	if again && row.Object().StoredMap() != nil {
		return value.ObjectOf(value.ObjectOfSorted(row.Object().Fields()))
	}
	return row
}

// StripNone removes the fields that are NONE, in objects at any depth; array elements stay. An image on its way into a
// Write must not hold such fields, unless Write.HasNone is set.
func StripNone(v value.Value) value.Value {
	switch v.Kind() {
	case value.KindObject:
		if v.Object().StoredWithoutNone() {
			return v
		}
		var out []value.Field
		for i, f := range v.Object().Fields() {
			now := f.Value
			if k := now.Kind(); k == value.KindObject || k == value.KindArray {
				now = StripNone(now)
			}
			if out == nil && (now.IsNone() || !same(now, f.Value)) {
				out = append(make([]value.Field, 0, v.Object().Len()), v.Object().Fields()[:i]...)
			}
			if out != nil && !now.IsNone() {
				out = append(out, value.Field{Name: f.Name, Value: now})
			}
		}
		if out != nil {
			return value.ObjectOf(value.ObjectOfSorted(out))
		}
	case value.KindArray:
		elems := v.Elems()
		var out []value.Value
		for i, e := range elems {
			now := StripNone(e)
			if out == nil && !same(now, e) {
				out = append(make([]value.Value, 0, len(elems)), elems[:i]...)
			}
			if out != nil {
				out = append(out, now)
			}
		}
		if out != nil {
			return value.ArrayOf(out)
		}
	}
	return v
}
