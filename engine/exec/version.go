package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// past reports whether a SELECT asks for a time before now. The store keeps no history: nothing is
// known of the past, so nothing is found there.
func (r *Run) past(env *Env, s *ast.Select) (bool, error) {
	if s.Version == nil {
		return false, nil
	}
	v, err := r.Value(env, s.Version)
	if err != nil {
		return false, err
	}
	if v.Kind() != value.KindDatetime {
		return false, errs.Internal("Expected `datetime` but found `%s`", v.Text())
	}
	return v.Datetime().Secs < r.now.Unix(), nil
}
