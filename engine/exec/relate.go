package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// relate is RELATE: an edge for each pair of the two sides.
func (r *Run) relate(ctx context.Context, env *Env, s *ast.Relate) (value.Value, error) {
	w, err := r.newWriter(env, s.Output)
	if err != nil {
		return value.None, err
	}
	if t, ok := s.Edge.(*ast.Table); ok {
		if ok, err := w.mayFill(t.Name); !ok || err != nil { // before the ends, which may write or tell
			return w.refused(s.Only), err
		}
	}
	from, err := r.relateEnds(ctx, env, s.From, "in")
	if err != nil {
		return value.None, err
	}
	to, err := r.relateEnds(ctx, env, s.To, "id")
	if err != nil {
		return value.None, err
	}
	table, id, err := r.relateEdge(ctx, env, s.Edge)
	if err != nil {
		return value.None, err
	}
	tb, err := w.g.TableForWrite(table)
	if err != nil {
		return value.None, err
	}
	if s.Only && len(from)*len(to) == 0 {
		return value.None, nil
	}
	if tb != nil && w.g.MayCreate(tb) {
		for _, in := range from {
			for _, out := range to {
				if err := w.relate(ctx, tb, id, in, out, s); err != nil {
					return value.None, err
				}
			}
		}
	}
	return w.result(s.Only, len(from)*len(to))
}

// refused is the answer of a statement that may write nothing.
func (w *writer) refused(only bool) value.Value {
	if only {
		return value.None
	}
	return value.ArrayOf(w.rows)
}

// relateEnds are the records on one side, which errors name as the reference does.
func (r *Run) relateEnds(ctx context.Context, env *Env, x ast.Expr, side string) ([]*value.RecordID, error) {
	v, err := r.Value(ctx, env, x)
	if err != nil {
		return nil, err
	}
	elems := []value.Value{v}
	if v.Kind() == value.KindArray {
		elems = v.Elems()
	}
	out := make([]*value.RecordID, 0, len(elems))
	for _, e := range elems {
		id := RecordOf(e)
		if id.IsNone() {
			return nil, badRelate(side, e)
		}
		out = append(out, id.Record())
	}
	return out, nil
}

func badRelate(side string, v value.Value) error {
	return errs.Internal("Cannot execute RELATE statement where property '%s' is: %s", side, v.Brief())
}

// relateEdge is the edge table, and the edge's id where it is given.
func (r *Run) relateEdge(ctx context.Context, env *Env, x ast.Expr) (string, *value.RecordID, error) {
	if t, ok := x.(*ast.Table); ok {
		return t.Name, nil, nil
	}
	v, err := r.Value(ctx, env, x)
	if err != nil {
		return "", nil, err
	}
	switch v.Kind() {
	case value.KindTable:
		return v.Table(), nil, nil
	case value.KindRecord:
		if v.Record().Key.Kind() != value.KindRange {
			return v.Record().Table, v.Record(), nil
		}
	}
	return "", nil, badRelate("out", v)
}

func (w *writer) relate(ctx context.Context, tb *catalog.Table, id, in, out *value.RecordID, s *ast.Relate) error {
	if id != nil {
		row, err := w.g.Pick(ctx, tb, id, record.Updating)
		if err != nil {
			return err
		}
		if row != nil {
			c, err := w.r.applyData(ctx, &w.row, s.Data, row.Stored, row.Seen)
			if err != nil {
				return err
			}
			return w.put(ctx, &record.Write{Table: tb, ID: id, Before: row.Stored, After: c.after, Input: c.input,
				In: in, Out: out, KeepReadonly: c.keep, HasNone: c.hasNone, Given: c.given})
		}
		// SECURITY: an edge that the caller may not write is there: it must not be made anew over the old one.
		if there, err := w.g.Exists(tb, id.Key); there || err != nil {
			return err
		}
	}
	named := id != nil
	c, id, fresh, err := w.newRecord(ctx, tb, id, s.Data)
	if err != nil {
		return err
	}
	if !named && !fresh {
		there, err := w.g.Exists(tb, id.Key)
		if there && s.OrUpdate {
			return w.relate(ctx, tb, id, in, out, s)
		}
		if there {
			p := &record.Write{Table: tb, ID: id, After: c.after, Input: c.input, In: in, Out: out, HasNone: c.hasNone,
				Given: c.given}
			return w.conflict(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return w.put(ctx, &record.Write{Table: tb, ID: id, After: c.after, Input: c.input, In: in, Out: out,
		HasNone: c.hasNone, Given: c.given, AskFirst: true})
}
