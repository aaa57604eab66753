package exec

import (
	"context"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/value"
)

func (r *Run) unary(ctx context.Context, env *Env, x *ast.Unary) (value.Value, error) {
	v, err := r.Eval(ctx, env, x.X)
	if err != nil {
		return value.None, err
	}
	switch x.Op {
	case ast.OpNot:
		return value.Bool(!value.Truthy(v)), nil
	case ast.OpNeg:
		return value.Neg(v)
	}
	return v, nil
}

// binary evaluates l op r. The four that may leave their right side alone come first.
func (r *Run) binary(ctx context.Context, env *Env, x *ast.Binary) (value.Value, error) {
	if x.Op == ast.OpMatches || x.Op == ast.OpKNN {
		return r.searched(ctx, env, x)
	}
	a, err := r.Eval(ctx, env, x.L)
	if err != nil {
		return value.None, err
	}
	switch x.Op {
	case ast.OpOr, ast.OpTruthyElse:
		if value.Truthy(a) {
			return a, nil
		}
		return r.Eval(ctx, env, x.R)
	case ast.OpAnd:
		if !value.Truthy(a) {
			return a, nil
		}
		return r.Eval(ctx, env, x.R)
	case ast.OpNullCoalesce:
		if !a.IsNullish() {
			return a, nil
		}
		return r.Eval(ctx, env, x.R)
	}
	b, err := r.Eval(ctx, env, x.R)
	if err != nil {
		return value.None, err
	}
	if a.Kind() == value.KindInt && b.Kind() == value.KindInt {
		if v, ok := operate.Ints(x.Op, a.Int(), b.Int()); ok {
			return v, nil
		}
	}
	if !a.Light() || !b.Light() {
		return r.heavy(ctx, x.Op, a, b)
	}
	return operate.Apply(x.Op, a, b)
}

// heavy is a binary operator over values that may be large.
func (r *Run) heavy(ctx context.Context, op ast.BinaryOp, a, b value.Value) (value.Value, error) {
	if op == ast.OpAdd {
		if err := r.mayJoin(a, b); err != nil {
			return value.None, err
		}
	}
	if err := r.did(ctx, value.Weight(a)+value.Weight(b)); err != nil {
		return value.None, err
	}
	switch {
	case a.Kind() == value.KindRegex || b.Kind() == value.KindRegex || value.HasRegex(a) || value.HasRegex(b):
		return r.searching(ctx, op, a, b)
	case a.Kind() == value.KindGeometry || b.Kind() == value.KindGeometry:
		rel := value.NewRelation(ctx.Err)
		if v, err := operate.With(rel, op, a, b); rel.Err() == nil {
			return v, err
		}
		return value.None, rel.Err()
	}
	return operate.Apply(op, a, b)
}

// searching is an operator with regular expressions on one side.
func (r *Run) searching(ctx context.Context, op ast.BinaryOp, a, b value.Value) (value.Value, error) {
	searches := value.NewSearches(ctx.Err)
	a, _ = searches.Bind(a)
	b, _ = searches.Bind(b)
	v, err := operate.Apply(op, a, b)
	switch {
	case errors.Is(searches.Err(), value.ErrSearchTooLarge):
		return value.None, errs.Internal("The pattern is too large for a text of this length.")
	case searches.Err() != nil:
		return value.None, searches.Err()
	}
	return v, err
}

// mayJoin refuses what + would make too large: a few dozen doublings fill any memory.
func (r *Run) mayJoin(a, b value.Value) error {
	if a.Light() || b.Light() {
		return nil
	}
	if err := r.reserve(value.Weight(a) + value.Weight(b)); err != nil {
		return err
	}
	switch {
	case a.Kind() != b.Kind():
	case a.Kind() == value.KindString && a.Len()+b.Len() > r.Ex.Limits.Text:
		return errs.Internal("The string would be longer than %d bytes", r.Ex.Limits.Text)
	case a.Kind() == value.KindArray && a.Len()+b.Len() > r.Ex.Limits.Array:
		return tooLarge(r.Ex.Limits.Array)
	}
	return nil
}

// searched is a full-text or nearest-neighbour test on a row. The scan that found the row has answered the latter;
// outside of one it holds for everything, as the language has it.
func (r *Run) searched(ctx context.Context, env *Env, x *ast.Binary) (value.Value, error) {
	if x.Op == ast.OpMatches {
		ok, err := r.matches(ctx, env, x)
		return value.Bool(ok), err
	}
	if _, err := r.Eval(ctx, env, x.L); err != nil {
		return value.None, err
	}
	if _, err := r.Eval(ctx, env, x.R); err != nil {
		return value.None, err
	}
	return value.Bool(true), nil
}
