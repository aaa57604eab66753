package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// closure is a function value: its source and the parameters that were in sight where it was made.
type closure struct {
	node *ast.Closure
	vars []Var
}

// Text is the canonical source.
func (c *closure) Text() string { return ast.Text(c.node) }

// Size is about the length of Text: what was written.
func (c *closure) Size() int { return c.node.Size }

// native is a function value that the engine itself stands behind, such as $next of a middleware.
type native struct {
	call func(args []value.Value) (value.Value, error)
}

// Text is a placeholder: there is no source.
func (*native) Text() string { return "|$request: object| -> object { }" }

// Size is the length of Text.
func (n *native) Size() int { return len(n.Text()) }

func notAFunction(v value.Value) error {
	return errs.Internal("There was a problem running the ANONYMOUS() function. '%s' is not a function", fn.TypeName(v))
}

// call runs a closure value from env: parameters of the caller stay in sight behind the closure's
// own. Missing arguments are NONE, extra ones are left out; a function or method that calls it (by) gives all there are.
func (r *Run) call(env *Env, f value.Value, args []value.Value, by *host) (value.Value, error) {
	if f.Kind() != value.KindClosure {
		return value.None, notAFunction(f)
	}
	c, ok := f.Closure().(*closure)
	if n, ok := f.Closure().(*native); ok {
		return n.call(args)
	}
	if !ok {
		return value.None, notAFunction(f)
	}
	if err := r.enter(); err != nil {
		return value.None, err
	}
	defer r.leave()
	if by != nil {
		if err := c.missing(len(args), by); err != nil {
			return value.None, err
		}
	}
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
		frame.vars = append(frame.vars, Var{p.Name, v})
	}
	frame.vars = append(frame.vars, c.vars...)
	v, err := r.Value(frame, c.node.Body)
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
	return &Env{up: up, vars: make([]Var, 0, vars)}
}

func (r *Run) release(e *Env) {
	clear(e.vars)
	*e = Env{vars: e.vars[:0]}
	r.stock = append(r.stock, e)
}
