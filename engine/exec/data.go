package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/assign"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// change is the effect of a data clause on a record.
type change struct {
	after   value.Value // the new image: an object
	input   value.Value // $input
	keep    bool        // CONTENT: missing READONLY fields stay
	hasNone bool        // after holds fields that are NONE
	given   bool        // input holds nothing of what was stored
}

// newDoc makes the image of a new record from a data clause, whose expressions see doc.
func (r *Run) newDoc(ctx context.Context, env *Env, d *ast.Data, doc value.Value) (change, error) {
	c := change{after: value.ObjectOf(nil)}
	var err error
	if d != nil {
		env.SetDoc(doc)
		if c, err = r.changed(ctx, env, d, c.after, value.None); err == nil {
			_, err = r.checked(c.after, nil)
		}
	}
	if err == nil && d != nil && d.Kind == ast.DataSet {
		c.input = c.after
	}
	c.given = true
	return c, err
}

// applyData makes the new image of a record from its stored one. Expressions see seen.
func (r *Run) applyData(ctx context.Context, env *Env, d *ast.Data, stored, seen value.Value) (change, error) {
	if d == nil {
		return change{after: stored}, nil
	}
	env.SetDoc(seen)
	c, err := r.changed(ctx, env, d, stored, seen)
	if err == nil {
		_, err = r.checked(c.after, nil)
	}
	return c, err
}

// changed is applyData for a frame that sees what expressions may see.
func (r *Run) changed(ctx context.Context, env *Env, d *ast.Data, stored, seen value.Value) (change, error) {
	switch d.Kind {
	case ast.DataSet:
		after, hasNone, err := r.assignAll(ctx, env, d.Set, stored, seen)
		return change{after: after, input: after, hasNone: hasNone}, err
	case ast.DataUnset:
		im := assign.Image{Doc: stored, Seen: seen}
		after, err := r.assigner(env, stored, seen).UnsetAll(ctx, d.Unset, im)
		return change{after: after}, err
	case ast.DataNone:
		return change{after: stored}, nil
	}
	v, err := r.Value(ctx, env, d.X)
	if err != nil {
		return change{}, err
	}
	switch d.Kind {
	case ast.DataMerge:
		if v.Kind() != value.KindObject {
			return change{}, unusable(v, "MERGE", "InvalidMerge")
		}
		return change{after: merge(stored, v), input: v, given: true}, nil
	case ast.DataPatch:
		if r.Auth.CanRead() { // all of the record, then; seen has its COMPUTED fields besides
			seen = stored
		} else if err := r.patchable(ctx, stored, env.doc, v); err != nil {
			return change{}, err
		}
		after, err := value.Patch(stored, seen, v, ctx.Err)
		if err == nil && after.Kind() != value.KindObject {
			err = unusable(after, "PATCH", "InvalidPatch")
		}
		return change{after: record.StripNone(after), input: v}, err
	}
	if v.Kind() != value.KindObject {
		return change{}, unusable(v, "CONTENT", "InvalidContent")
	}
	after := v
	if id, ok := stored.Object().Get("id"); ok && inside.Field(v, "id").IsNone() {
		after = value.ObjectOf(v.Object().With("id", id))
	}
	return change{after: after, input: v, keep: d.Kind == ast.DataContent, hasNone: record.HasNone(v), given: true}, nil
}

// patchable refuses a PATCH that reads what its caller may not. A new record has its id in doc.
func (r *Run) patchable(ctx context.Context, stored, doc, ops value.Value) error {
	id := RecordOf(stored)
	if id.IsNone() {
		id = RecordOf(doc)
	}
	if id.IsNone() {
		return nil
	}
	tb, err := r.Table(id.Record().Table)
	if tb == nil || err != nil {
		return err
	}
	return record.Patchable(tb, ops, ctx.Err)
}

func unusable(v value.Value, clause, detail string) error {
	return errs.With(errs.KindValidation, detail, map[string]any{"value": v.Brief()}, "Cannot use %s in a %s clause",
		v.Brief(), clause)
}

// merge is MERGE: objects go into each other, NONE removes, everything else replaces.
func merge(into, from value.Value) value.Value {
	if into.Kind() != value.KindObject || from.Kind() != value.KindObject {
		return record.StripNone(from)
	}
	o, fields := into.Object(), from.Object().Fields()
	if len(fields) > assign.Few {
		edits := make([]value.Field, len(fields))
		for i, f := range fields {
			if edits[i].Name = f.Name; !f.Value.IsNone() {
				old, _ := o.Get(f.Name)
				edits[i].Value = merge(old, f.Value)
			}
		}
		return value.ObjectOf(o.WithAll(edits))
	}
	for _, f := range fields {
		if f.Value.IsNone() {
			o = o.Without(f.Name)
			continue
		}
		old, _ := o.Get(f.Name)
		o = o.With(f.Name, merge(old, f.Value))
	}
	return value.ObjectOf(o)
}

// assignAll is SET: all expressions are evaluated first, then assigned in order. hasNone says that what was assigned
// holds fields that are NONE.
func (r *Run) assignAll(ctx context.Context, env *Env, set []ast.Assign,
	stored, seen value.Value) (after value.Value, hasNone bool, err error) {
	var few [8]value.Value
	vals, sum := few[:0], held(0)
	for i := range set {
		v, err := r.Value(ctx, env, set[i].X)
		if err == nil {
			err = sum.add(r, v)
		}
		if err != nil {
			return value.None, false, err
		}
		hasNone = hasNone || record.HasNone(v)
		vals = append(vals, v)
	}
	if stored.Object().Len() == 0 && len(set) <= assign.Few && plan.PlainSet(set) {
		return newFields(set, vals), hasNone, nil
	}
	a := r.assigner(env, stored, seen)
	a.Apart = a.Apart && !plan.Blind(set)
	after, err = a.SetAll(ctx, set, vals, assign.Image{Doc: stored, Seen: seen})
	return after, hasNone, err
}

// assigner is for a record that is stored so, and that the caller sees so. Those who may read everything see what is
// stored: the rest of seen, which has the COMPUTED fields besides, has no place to assign to.
func (r *Run) assigner(env *Env, stored, seen value.Value) assign.Assigner[*Env] {
	reads := r.Auth.CanRead()
	return assign.Assigner[*Env]{Evaluator: r, Env: env, Table: env.table, Reads: reads,
		Apart: stored != seen && !reads}
}

// newFields is the object that plain assignments make out of nothing.
func newFields(set []ast.Assign, vals []value.Value) value.Value {
	fields := make([]value.Field, 0, len(set)+1) // one more for the id
	for i := range set {
		if vals[i].IsNone() {
			continue
		}
		fields = append(fields, value.Field{Name: set[i].Place.Parts[0].(*ast.PartField).Name, Value: vals[i]})
	}
	return value.ObjectOf(value.NewObject(fields...))
}
