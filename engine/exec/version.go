package exec

import (
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/value"
)

// version is what a VERSION clause asks for: a version of the history, or 0 for what stands now, with the transaction's own
// writes. That is also what NONE and any time since the transaction began mean. A store without history knows nothing
// of the past: nothing is found there.
func (r *Run) version(env *Env, x ast.Expr) (uint64, error) {
	if x == nil {
		return 0, nil
	}
	v, err := r.Value(env, x)
	if err != nil || v.IsNone() {
		return 0, err
	}
	if v, err = value.Cast(v, value.Simple(value.TypeDatetime), r.Ex); err != nil {
		return 0, err
	}
	began := r.Tx.Began()
	if !r.Ex.Versioned {
		began = r.now.Truncate(time.Second)
	}
	t := time.Unix(v.Datetime().Secs, int64(v.Datetime().Nanos))
	if !t.Before(began) {
		return 0, nil
	}
	return max(history.Version(t), 1), nil
}

func errVersionedSubquery() error {
	return errs.Internal("Invalid query: VERSION clause cannot be used with a subquery source. Place the VERSION clause inside the subquery instead.")
}

// fetchAt reads a record as it was at a version (0: now); NONE when it was missing, or is hidden.
func (r *Run) fetchAt(id *value.RecordID, version uint64) (value.Value, error) {
	if version == 0 {
		return r.Fetch(id)
	}
	g, err := r.Gate()
	if err != nil {
		return value.None, err
	}
	doc, _, err := g.GetAt(r.Ctx, id, version)
	return doc, err
}
