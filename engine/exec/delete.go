package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// delete is DELETE. Without a RETURN clause it answers no rows.
func (r *Run) delete(ctx context.Context, env *Env, s *ast.Delete) (value.Value, error) {
	w, err := r.newWriter(env, s.Output)
	if err != nil {
		return value.None, err
	}
	w.none = ast.OutputNone
	if s.Version != nil {
		return w.deleteVersion(ctx, env, s)
	}
	targets, err := w.targets(ctx, env, s.Only, s.Targets)
	if err != nil {
		return value.None, err
	}
	if err := w.knownStarts(s.Targets); err != nil {
		return value.None, err
	}
	each := func(t *Target) error { return w.delete(ctx, t, s) }
	if s.Explain != nil {
		return w.explainWrite(ctx, s.Explain, s.Targets, targets, s.With, s.Where, false, each)
	}
	return w.write(targets, s.Only, each)
}

func (w *writer) delete(ctx context.Context, t *Target, s *ast.Delete) error {
	if t.Kind == TargetValue {
		return cannotExecute("DELETE", t.Value)
	}
	tb, err := w.g.Table(t.Table)
	if err != nil {
		return err
	}
	if err := w.g.MayFill(tb); err != nil {
		return err
	}
	return w.eachRow(ctx, t, tb.NeedingData(nil, s.Where), record.Deleting, s.With, s.Where,
		func(row *record.Row) error {
			ok, err := w.g.Delete(ctx, tb, row.ID, row.Stored)
			if !ok || err != nil {
				return err
			}
			return w.emit(ctx, tb, row.ID, row.Stored, value.None)
		})
}
