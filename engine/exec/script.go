package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/script"
	"github.com/nacredb/nacre/engine/value"
)

// script calls an embedded script: $this is its `this`. Only where the caller's capabilities have it.
func (r *Run) script(ctx context.Context, env *Env, x *ast.Script) (value.Value, error) {
	if err := r.Auth.Caps.MayScript(script.Disabled()); err != nil {
		return value.None, err
	}
	if r.Watching {
		return value.None, notInLive("a script")
	}
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	args, err := r.evalAll(ctx, env, x.Args)
	if err != nil {
		return value.None, err
	}
	r.Outside = true
	return r.Ex.scripts.Run(ctx, x.Source, env.This(), args)
}
