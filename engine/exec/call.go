package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/model"
	"github.com/nacredb/nacre/engine/value"
)

// host is the Run as functions see it, see fn.Host. A run has one; it stands for the innermost call at the time.
type host struct {
	r *Run
	hostCall
}

// hostCall is a call in progress. Functions get its context from Context, so that the many which never wait need no
// argument for it.
type hostCall struct {
	ctx   context.Context
	env   *Env
	inner *Env // what called closures see of env, made when first needed
	// method is the method that is called; "" for a function.
	method string
}

// name is the name of the caller in the errors of closures; h is nil where a statement calls one itself.
func (h *host) name() string {
	if h == nil || h.method == "" {
		return "function ANONYMOUS"
	}
	return "method " + h.method
}

// enterHost makes the host stand for a call from env, of a method or of a function (""). Each call must be followed by
// leaveHost.
func (r *Run) enterHost(ctx context.Context, env *Env, method string) *host {
	r.hosts = append(r.hosts, r.host.hostCall)
	r.host.hostCall = hostCall{ctx: ctx, env: env, method: method}
	return &r.host
}

func (r *Run) leaveHost() {
	n := len(r.hosts) - 1
	r.host.hostCall = r.hosts[n]
	r.hosts = r.hosts[:n]
}

func (h *host) Reserve(n int) error      { return h.r.reserve(n) }
func (h *host) Context() context.Context { return h.ctx }
func (h *host) Now() time.Time           { return h.r.Ex.Clock() }

func (h *host) Param(name string) value.Value {
	v, _ := h.r.param(h.ctx, h.r.Base, name)
	return v
}

func (h *host) Fetch(id *value.RecordID) (value.Value, error) { return h.r.Fetch(h.ctx, id) }

func (h *host) Invoke(f value.Value, args ...value.Value) (value.Value, error) {
	if err := h.r.Tick(h.ctx); err != nil {
		return value.None, err
	}
	if h.inner == nil {
		h.inner = h.env.calling()
	}
	return h.r.call(h.ctx, h.inner, f, args, h)
}

// invoke evaluates a call of a named function.
func (r *Run) invoke(ctx context.Context, env *Env, x *ast.Call) (value.Value, error) {
	switch x.Kind {
	case ast.CallBuiltin:
		f, ok := x.Impl.(*fn.Func)
		if !ok {
			if f, ok = r.Ex.Functions.Function(x.Path); !ok {
				return value.None, errs.Internal("Unknown function '%s' - not found in function registry", x.Path)
			}
		}
		if r.aggregates != nil {
			if v, ok := r.aggregates[x]; ok {
				return v, nil
			}
		}
		if err := r.mayCall(f); err != nil {
			return value.None, err
		}
		base := len(r.args)
		if err := r.push(ctx, env, x.Args); err != nil {
			return value.None, err
		}
		v, err := f.Call(r.enterHost(ctx, env, ""), r.args[base:len(r.args):len(r.args)])
		r.leaveHost()
		if err == nil {
			err = r.bounded(ctx, v, r.args[base:])
		}
		r.pop(base)
		return v, err
	case ast.CallCustom:
		return r.custom(ctx, env, x)
	case ast.CallModel:
		return r.model(ctx, env, x)
	}
	if x.Kind == ast.CallSilo {
		return value.None, errs.Internal("Silo function '%s' is not yet supported in the streaming executor", column.Call(x))
	}
	if r.Auth.Caps.MayTry("surrealism") == nil {
		return value.None, errs.Internal("Module function '%s' can not run: this server runs no WebAssembly", column.Call(x))
	}
	return value.None, errs.Internal("Module function '%s' requires the 'surrealism' feature to be enabled", column.Call(x))
}

// bounded refuses what a function made of smaller things and is too large to go on with: in a fold it would double each
// turn. It counts what the call worked on.
func (r *Run) bounded(ctx context.Context, v value.Value, args []value.Value) error {
	weight := 0
	for _, a := range args {
		if !a.Light() {
			weight += value.Weight(a)
		}
	}
	if err := r.did(ctx, weight); err != nil {
		return err
	}
	if v.Light() {
		return nil
	}
	if err := r.reserve(value.Weight(v)); err != nil {
		return err
	}
	most := 0
	switch v.Kind() {
	case value.KindArray, value.KindSet:
		most = r.Ex.Limits.Array
	case value.KindString:
		most = r.Ex.Limits.Text
	default:
		return nil
	}
	n := v.Len()
	if n <= most {
		return nil
	}
	for _, a := range args {
		if a.Kind() == v.Kind() && a.Len() >= n {
			return nil
		}
	}
	if v.Kind() == value.KindString {
		return errs.Internal("The string would be longer than %d bytes", most)
	}
	return tooLarge(most)
}

// push evaluates arguments onto the run's stack of arguments, which nested calls share.
func (r *Run) push(ctx context.Context, env *Env, xs []ast.Expr) error {
	base, sum := len(r.args), held(0)
	for _, x := range xs {
		v, err := r.Eval(ctx, env, x)
		if err == nil {
			err = sum.add(r, v)
		}
		if err != nil {
			r.pop(base)
			return err
		}
		r.args = append(r.args, v)
	}
	return nil
}

func (r *Run) pop(base int) {
	clear(r.args[base:])
	r.args = r.args[:base]
}

// model evaluates ml::name<version>(argument).
func (r *Run) model(ctx context.Context, env *Env, x *ast.Call) (value.Value, error) {
	if v, ok := r.models.Take(x); ok {
		return v, nil
	}
	m, err := r.findModel(ctx, x)
	if err != nil {
		return value.None, err
	}
	base := len(r.args)
	if err := r.push(ctx, env, x.Args); err != nil {
		return value.None, err
	}
	defer r.pop(base)
	return r.checked(m.Call(r.modelCall(ctx), r.Tx, r.args[base:]))
}

// findModel gives the model of a call, if it may be called.
func (r *Run) findModel(ctx context.Context, x *ast.Call) (*model.Bound, error) {
	if err := r.Auth.Caps.MayCallModel(x.Path); err != nil {
		return nil, err
	}
	db, err := r.Database()
	if err != nil {
		return nil, err
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefModel, x.Path+"<"+x.Version+">")
	if err == nil && d == nil {
		err = DoesNotExist("model", column.Call(x))
	}
	if err != nil {
		return nil, err
	}
	if s, ok := d.Stmt.(*ast.DefineModel); ok {
		err = r.permit(ctx, s.Permission, "You don't have permission to run the %s function", x.Path)
	}
	if err != nil {
		return nil, err
	}
	return r.Ex.Models.Bind(&r.models, x, d)
}

func (r *Run) modelCall(ctx context.Context) ml.Call {
	return ml.Call{Ctx: ctx, Limits: r.Ex.Limits.Models, Bear: r.reserve}
}
