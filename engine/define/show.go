package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// show is SHOW CHANGES.
func (r *run) show(ctx context.Context, env *exec.Env, s *ast.Show) (value.Value, error) {
	if err := r.Auth.Allow(auth.View, ast.BaseDatabase, auth.ResourceAny); err != nil {
		return value.None, err
	}
	g, err := r.Gate()
	if err != nil {
		return value.None, err
	}
	since, err := r.stamp(ctx, env, s.Since)
	if err != nil {
		return value.None, err
	}
	limit := 0
	if s.Limit != nil {
		v, err := r.Eval(ctx, env, s.Limit)
		if err != nil {
			return value.None, err
		}
		if v.Kind() != value.KindInt || v.Int() < 0 {
			return value.None, errs.Internal("LIMIT/START must be a non-negative integer, got %s", v.Brief())
		}
		if limit = int(v.Int()); limit == 0 {
			return value.Array(), nil
		}
	}
	var table uint32
	if s.Table != "" {
		if table, err = r.Cat.TableID(g.DB, s.Table); table == 0 || err != nil {
			return value.Array(), err
		}
	}
	out, err := g.Feed(ctx, table, since, limit)
	return value.ArrayOf(out), err
}

// stamp is the versionstamp that SINCE means.
func (r *run) stamp(ctx context.Context, env *exec.Env, x ast.Expr) (uint64, error) {
	v, err := r.Eval(ctx, env, x)
	if err != nil {
		return 0, err
	}
	switch v.Kind() {
	case value.KindInt:
		return uint64(max(v.Int(), 0)), nil
	case value.KindDatetime:
		d := v.Datetime()
		return record.StampAt(d.Secs*1000 + int64(d.Nanos)/1_000_000), nil
	}
	return 0, errs.Internal("Expected a version stamp or a datetime but found %s", v.Brief())
}
