package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// delete is DELETE. Without a RETURN clause it answers no rows.
func (r *Run) delete(env *Env, s *ast.Delete) (value.Value, error) {
	w, err := r.newWriter(env, s.Output)
	if err != nil {
		return value.None, err
	}
	w.none = ast.OutputNone
	if s.Version != nil {
		return w.deleteVersion(env, s)
	}
	if listedTarget(s.Only, s.Targets) {
		return value.None, SingleOutput()
	}
	targets, err := r.Targets(env, s.Targets)
	if err != nil {
		return value.None, err
	}
	run := func() error {
		for i := range targets {
			if err := w.delete(&targets[i], s); err != nil {
				return err
			}
		}
		return nil
	}
	if s.Explain != nil {
		return w.explainWrite(s.Explain, targets, s.With, s.Where, false, run)
	}
	if err := run(); err != nil {
		return value.None, err
	}
	return w.result(s.Only, len(targets))
}

func (w *writer) delete(t *Target, s *ast.Delete) error {
	*t = writeTarget(*t)
	if t.Kind == TargetValue {
		return cannotExecute("DELETE", t.Value)
	}
	tb, err := w.g.Table(t.Table)
	if err != nil {
		return err
	}
	return w.eachRow(t, tb, record.Deleting, s.With, s.Where, func(row *record.Row) error {
		ok, err := w.g.Delete(w.r.Ctx, tb, row.ID, row.Stored)
		if !ok || err != nil {
			return err
		}
		return w.emit(tb, row.ID, row.Stored, value.None)
	})
}
