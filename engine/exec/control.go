package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Protected reports whether a parameter tells who the session is: no client may set it.
func Protected(name string) bool {
	switch name {
	case "access", "auth", "session", "token":
		return true
	}
	return false
}

func (r *Run) let(ctx context.Context, env *Env, s *ast.Let) (value.Value, error) {
	if Protected(s.Name) {
		return value.None, errs.With(errs.KindValidation, "InvalidParameter", map[string]any{"name": s.Name},
			"'%s' is a protected variable and cannot be set", s.Name)
	}
	v, err := r.Eval(ctx, env, s.X)
	if err != nil {
		return value.None, AsWritten(err)
	}
	if s.Type != nil {
		if v, err = value.Coerce(v, s.Type); err != nil {
			return value.None, errs.Internal("Tried to set `$%s`, but couldn't coerce value: %s", s.Name, err)
		}
	}
	env.Set(s.Name, v)
	return value.None, r.keep(v)
}

func (r *Run) ifElse(ctx context.Context, env *Env, s *ast.If) (value.Value, error) {
	for i := range s.Branches {
		c, err := r.Eval(ctx, env, s.Branches[i].Cond)
		if err != nil {
			return value.None, err
		}
		if value.Truthy(c) {
			return r.Eval(ctx, env, s.Branches[i].Then)
		}
	}
	if s.Else == nil {
		return value.None, nil
	}
	return r.Eval(ctx, env, s.Else)
}

// forIn runs the body once per element of an array or number of a range. Each turn has a fresh frame.
func (r *Run) forIn(ctx context.Context, env *Env, s *ast.For) (value.Value, error) {
	in, err := r.Eval(ctx, env, s.In)
	if err != nil {
		return value.None, err
	}
	frame := env.Child()
	switch in.Kind() {
	case value.KindArray:
		for _, v := range in.Elems() {
			if more, err := r.turn(ctx, frame, s, v); !more {
				return value.None, err
			}
		}
		return value.None, nil
	case value.KindRange:
		from, to, err := intSpan(in.Range())
		if err != nil {
			return value.None, err
		}
		for i := from; i < to; i++ {
			if more, err := r.turn(ctx, frame, s, value.Int(i)); !more {
				return value.None, err
			}
		}
		return value.None, nil
	}
	return value.None, errs.Internal("Cannot execute statement using value: %s", value.ToString(in))
}

// turn runs a loop's body once; more is false when the loop ends.
func (r *Run) turn(ctx context.Context, frame *Env, s *ast.For, v value.Value) (more bool, err error) {
	if err := r.Tick(ctx); err != nil {
		return false, err
	}
	frame.vars = append(frame.vars[:0], record.Param{Name: s.Name, Value: v})
	_, err = r.Block(ctx, frame, s.Body)
	switch err {
	case nil, errContinue:
		return true, nil
	case errBreak:
		return false, nil
	}
	return false, err
}

// intSpan is a range of whole numbers as a half-open interval. An open start is the least int; the
// greatest int as an included or open end is left out, as a loop never gets there.
func intSpan(rg *value.Range) (from, to int64, err error) {
	const least, most = -1 << 63, 1<<63 - 1
	from, to = least, most
	if rg.Start.Kind != value.Unbounded {
		if from, err = whole(rg.Start.Value); err != nil {
			return 0, 0, err
		}
		if rg.Start.Kind == value.Excluded {
			if from == most {
				return 0, 0, nil
			}
			from++
		}
	}
	if rg.End.Kind != value.Unbounded {
		if to, err = whole(rg.End.Value); err != nil {
			return 0, 0, err
		}
		if rg.End.Kind == value.Included && to < most {
			to++
		}
	}
	return from, to, nil
}

// whole is a bound of a loop's range.
func whole(v value.Value) (int64, error) {
	i, err := value.Coerce(v, value.Simple(value.TypeInt))
	if err != nil {
		return 0, errs.Internal("Expected `int` but found `%s` when coercing an element of `range<int>`", v.Brief())
	}
	return i.Int(), nil
}

func (r *Run) throw(ctx context.Context, env *Env, s *ast.Throw) error {
	v, err := r.Eval(ctx, env, s.X)
	if err != nil {
		return err
	}
	return errs.Thrown(value.ToString(v.Beginning(errs.LongestMsg + 1)))
}

// sleep waits; the end of the statement's context cuts it short.
func (r *Run) sleep(ctx context.Context, d value.Duration) error {
	if r.Watching {
		return notInLive("SLEEP")
	}
	if err := r.goOutside(); err != nil {
		return err
	}
	t := time.NewTimer(d.Std())
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return errs.Waited(ctx.Err())
	}
}
