package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// countRows is the number of records of a table, or of those that a COUNT index has counted, as a single row.
type countRows struct {
	r    *Run
	tb   *catalog.Table
	ix   *catalog.Index // a COUNT index that has counted them; nil: all records count
	path []string
	text string
	done bool
	n    int64
}

func (s *countRows) next(ctx context.Context) (value.Value, bool, error) {
	if s.done {
		return value.None, false, nil
	}
	s.done = true
	g, err := s.r.Gate()
	if err != nil {
		return value.None, false, err
	}
	if s.tb == nil {
		return value.None, false, errs.TableNotFound(s.text)
	}
	if !s.r.Auth.CanRead() && s.tb.Define.Permissions.Select.Kind == ast.PermissionNone {
		return value.None, false, nil
	}
	var n int64
	if s.ix != nil {
		n, err = g.IndexCount(s.tb, s.ix)
	} else {
		n, err = g.Count(ctx, s.tb, nil)
	}
	if err != nil {
		return value.None, false, err
	}
	s.n++
	return inside.Set(value.None, s.path, value.Int(n)), true, nil
}

func (s *countRows) close() {}

// countPlan serves count() … GROUP ALL over a whole table, or a WHERE that a COUNT index is for, by counters.
func (r *Run) countPlan(env *Env, s *ast.Select) (rows, error) {
	if r.Ex.PlanOff.Has(plan.CoverCount) || len(s.Projections.Fields) != 1 || len(s.From) != 1 || r.at != 0 ||
		!plan.OnlyCounts(s) {
		return nil, nil
	}
	f := &s.Projections.Fields[0]
	t, ok := s.From[0].(*ast.Table)
	if !ok || r.Auth.Caps.MayCall(f.X.(*ast.Call).Path) != nil {
		return nil, nil
	}
	tb, err := r.Table(t.Name)
	if err != nil {
		return nil, err
	}
	out := &countRows{r: r, tb: tb, path: column.Alias(f.Alias), text: t.Name}
	if s.Where != nil {
		if tb == nil || !r.Auth.CanRead() {
			return nil, nil
		}
		if out.ix = plan.Counted(&plan.Query{Table: tb, With: s.With, Where: s.Where,
			Off: r.Ex.PlanOff}); out.ix == nil {
			return nil, nil
		}
	}
	if out.path == nil {
		out.path = column.Of(f.X)
	}
	return out, nil
}
