package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// closure is a function value: its source, the parameters that were in sight where it was made, and whose code it is.
type closure struct {
	node *ast.Closure
	vars []record.Param
	from *auth.Authority // the stored code that made it; nil: the text of a client
	// defining: it was made in a definition, which sees its own parameters only.
	defining bool
}

// closure makes a function value.
//
// SECURITY: in a definition nothing of the caller is in sight, so it takes nothing of the caller with it: what the
// caller calls $admins would come before DEFINE PARAM.
func (r *Run) closure(env *Env, x *ast.Closure) value.Value {
	c := &closure{node: x, defining: r.defining > 0}
	if c.defining {
		c.vars = env.Visible(r.Base)
	} else {
		c.vars = env.Visible(nil)
	}
	if r.Auth.Code.Stored {
		c.from = r.Auth
	}
	return value.ClosureOf(c)
}

// apartFrom holds the state to restore after a closure that other code made than the code that calls it.
type apartFrom struct {
	authority
	defining int
}

// enterClosure gives the run the authority that the code that made a closure and the code that calls it have in common.
// The closure sees the parameters of the code that calls it where both are definitions, or neither is.
func (r *Run) enterClosure(env *Env, c *closure) (*Env, apartFrom, error) {
	was := apartFrom{authority{r.Auth, r.gate}, r.defining}
	made := auth.Code{}
	if c.from != nil {
		if c.from.NS != r.Auth.NS || c.from.DB != r.Auth.DB { // it stays in its database
			return env, was, auth.Denied()
		}
		made = c.from.Code
	}
	if code := r.Auth.Code.Meet(made); code != r.Auth.Code {
		was.authority = r.under(code)
	}
	if c.defining != (r.defining > 0) {
		env, r.defining = r.Base, 0
		if c.defining {
			r.defining = 1
		}
	}
	return env, was, nil
}

func (r *Run) leaveClosure(was apartFrom) {
	r.defining = was.defining
	if r.Auth != was.auth {
		r.outOf(was.authority)
	}
}

// Text is the canonical source.
func (c *closure) Text() string { return ast.Text(c.node) }

// Size is about the length of Text: what was written.
func (c *closure) Size() int { return c.node.Size }

// native is a function value that the engine itself stands behind, such as $next of a middleware.
type native struct {
	call func(ctx context.Context, args []value.Value) (value.Value, error)
}

// Text is a placeholder: there is no source.
func (*native) Text() string { return "|$request: object| -> object { }" }

// Size is the length of Text.
func (n *native) Size() int { return len(n.Text()) }

// NativeClosure is a function value that f stands behind.
func NativeClosure(f func(ctx context.Context, args []value.Value) (value.Value, error)) value.Value {
	return value.ClosureOf(&native{f})
}

func notAFunction(v value.Value) error {
	return errs.Internal("There was a problem running the ANONYMOUS() function. '%s' is not a function", fn.TypeName(v))
}

// call runs a closure value from env: parameters of the caller stay in sight behind the closure's own. Missing
// arguments are NONE, extra ones are left out; a function or method that calls it (by) gives all there are.
func (r *Run) call(ctx context.Context, env *Env, f value.Value, args []value.Value, by *host) (value.Value, error) {
	if f.Kind() != value.KindClosure {
		return value.None, notAFunction(f)
	}
	c, ok := f.Closure().(*closure)
	if n, ok := f.Closure().(*native); ok {
		return n.call(ctx, args)
	}
	if !ok {
		return value.None, notAFunction(f)
	}
	if by != nil {
		if err := c.missing(len(args), by); err != nil {
			return value.None, err
		}
	}
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	// Most closures are of the text that runs.
	if c.from == nil && r.Auth.Code == (auth.Code{}) && c.defining == (r.defining > 0) {
		return r.callIn(ctx, env, c, args, by)
	}
	return r.callAs(ctx, env, c, args, by)
}

// callAs is call of a closure that does not have the rights of the code that calls it. It is apart so that neither has
// too many defers and returns for the compiler to place them in line.
func (r *Run) callAs(ctx context.Context, env *Env, c *closure, args []value.Value, by *host) (value.Value, error) {
	env, was, err := r.enterClosure(env, c)
	if err != nil {
		return value.None, err
	}
	defer r.leaveClosure(was)
	return r.callIn(ctx, env, c, args, by)
}

// callIn is call inside of the rights of the closure.
func (r *Run) callIn(ctx context.Context, env *Env, c *closure, args []value.Value, by *host) (value.Value, error) {
	frame := r.frame(env, len(c.node.Params)+len(c.vars))
	for i, p := range c.node.Params {
		v := value.None
		if i < len(args) {
			v = args[i]
		}
		if p.Type != nil && p.Type.Kind != value.TypeAny {
			var err error
			if v, err = value.Coerce(v, p.Type); err != nil {
				return value.None, errs.Internal("Incorrect arguments for %s(). Expected a value of type '%s' for argument $%s", by.name(), p.Type, p.Name)
			}
		}
		switch {
		case i == 0:
			frame.vars = append(frame.vars, record.Param{Name: p.Name, Value: v})
		case i < len(args) || frame.find(p.Name) < 0:
			frame.Set(p.Name, v) // of equal names the last has it
		}
	}
	frame.vars = append(frame.vars, c.vars...)
	reading := r.reading
	if reading == nil && r.Reads {
		r.reading = errClosure
	}
	v, err := r.Value(ctx, frame, c.node.Body)
	r.reading = reading
	r.release(frame)
	if err != nil || c.node.Returns == nil {
		return v, err
	}
	out, err := value.Coerce(v, c.node.Returns)
	if err != nil {
		return value.None, errs.Internal("Couldn't coerce return value from function `ANONYMOUS`: %s", err)
	}
	return out, nil
}

// missing refuses a closure that needs more than n arguments.
func (c *closure) missing(n int, by *host) error {
	for i := n; i < len(c.node.Params); i++ {
		if p := c.node.Params[i]; p.Type != nil {
			if _, err := value.Coerce(value.None, p.Type); err != nil {
				return errs.Internal("Incorrect arguments for %s(). Expected a value for $%s", by.name(), p.Name)
			}
		}
	}
	return nil
}

// frame takes an empty frame from the run's stock; release gives it back. Nothing keeps an Env
// beyond the evaluation that it was made for (closures copy what they see), so they can be reused.
func (r *Run) frame(up *Env, vars int) *Env {
	if n := len(r.stock); n > 0 {
		e := r.stock[n-1]
		r.stock = r.stock[:n-1]
		e.up = up
		return e
	}
	return &Env{up: up, vars: make([]record.Param, 0, vars)}
}

func (r *Run) release(e *Env) {
	clear(e.vars)
	if e.hasDoc || e.at != nil || e.search != nil || e.table != nil || e.stands != asRow {
		*e = Env{vars: e.vars}
	}
	e.up, e.vars = nil, e.vars[:0]
	r.stock = append(r.stock, e)
}
