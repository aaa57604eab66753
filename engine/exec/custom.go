package exec

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// custom calls a function that DEFINE FUNCTION made. Its body sees what the caller sees, with the
// arguments on top.
func (r *Run) custom(ctx context.Context, env *Env, x *ast.Call) (value.Value, error) {
	f, err := r.permitted(ctx, x.Path) // before its arguments: those may write
	if err != nil {
		return value.None, err
	}
	base := len(r.args)
	if err := r.push(ctx, env, x.Args); err != nil {
		return value.None, err
	}
	v, err := r.callCustom(ctx, env, f, r.args[base:len(r.args):len(r.args)])
	r.pop(base)
	return v, err
}

// permitted finds the function fn::name if the caller may run it.
func (r *Run) permitted(ctx context.Context, name string) (customFunction, error) {
	if err := r.Auth.Caps.MayCallCustom(name); err != nil {
		return customFunction{}, err
	}
	f, err := r.function(name)
	if err != nil {
		return f, err
	}
	return f, r.permit(ctx, f.Permission, "You don't have permission to run the fn::%s function", name)
}

// CallCustom runs the function fn::name with args.
func (r *Run) CallCustom(ctx context.Context, env *Env, name string, args []value.Value) (value.Value, error) {
	f, err := r.permitted(ctx, name)
	if err != nil {
		return value.None, err
	}
	return r.callCustom(ctx, env, f, args)
}

func (r *Run) callCustom(ctx context.Context, env *Env, f customFunction, args []value.Value) (value.Value, error) {
	if err := r.Enter(ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	frame := r.frame(env, len(f.Params))
	defer r.release(frame)
	if err := bindParams(frame, f.DefineFunction, args); err != nil {
		return value.None, err
	}
	was := r.inCode(auth.By(f.by))
	v, err := r.Land(r.Block(ctx, frame, f.Body))
	r.outOf(was)
	if err != nil || f.Returns == nil {
		return v, err
	}
	out, err := value.Coerce(v, f.Returns)
	if err != nil {
		return value.None, errs.Internal("Couldn't coerce return value from function `fn::%s`: %s", f.Name, err)
	}
	return out, nil
}

// customFunction is a function that DEFINE FUNCTION made, and who made it.
type customFunction struct {
	*ast.DefineFunction
	by catalog.Definer
}

func (r *Run) function(name string) (customFunction, error) {
	db, err := r.Database()
	if err != nil {
		return customFunction{}, err
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefFunction, name)
	if err != nil {
		return customFunction{}, err
	}
	if d == nil {
		return customFunction{}, errs.Internal("Function 'fn::%s' not found: The function 'fn::%s' does not exist", name, name)
	}
	f, ok := d.Stmt.(*ast.DefineFunction)
	if !ok {
		return customFunction{}, fmt.Errorf("definition of fn::%s is of another kind", name)
	}
	return customFunction{f, d.By}, nil
}

// bindParams checks the arguments of a function and sets its parameters.
func bindParams(frame *Env, f *ast.DefineFunction, args []value.Value) error {
	least := len(f.Params)
	for least > 0 && optional(f.Params[least-1].Type) {
		least--
	}
	if len(args) < least || len(args) > len(f.Params) {
		return errs.Internal("Incorrect arguments for function fn::%s(). The function expects %s.", f.Name, counts(least, len(f.Params)))
	}
	for i, p := range f.Params {
		v := value.None
		if i < len(args) {
			v = args[i]
		}
		if p.Type != nil && p.Type.Kind != value.TypeAny {
			var err error
			if v, err = value.Coerce(v, p.Type); err != nil {
				return errs.Internal("Incorrect arguments for function fn::%s(). Failed to coerce argument `$%s`: %s", f.Name, p.Name, err)
			}
		}
		if i < len(args) || frame.find(p.Name) < 0 {
			frame.Set(p.Name, v) // of equal names the last has it
		}
	}
	return nil
}

// optional reports whether an argument of type t may be left out.
func optional(t *value.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case value.TypeAny, value.TypeNone:
		return true
	case value.TypeUnion:
		for _, a := range t.Alts {
			if optional(a) {
				return true
			}
		}
	}
	return false
}

func counts(least, most int) string {
	if least != most {
		return fmt.Sprintf("%d to %d arguments", least, most)
	}
	if most == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", most)
}

// permit checks a PERMISSIONS clause of a definition for the caller; format gets name. It binds all
// but owners of the root and elevated code. SECURITY: a missing clause means FULL, as the language has it.
func (r *Run) permit(ctx context.Context, p *ast.Permission, format, name string) error {
	who := &r.Auth.Principal
	if p == nil || p.Kind == ast.PermissionFull || r.Auth.Code.Elevated || who.Level == auth.RootUser &&
		who.Roles&auth.Owner != 0 {
		return nil
	}
	if p.Kind == ast.PermissionWhere {
		v, err := r.EvalIn(ctx, p.Where, value.None, nil, record.AsEngineReader)
		if err == nil && value.Truthy(v) {
			return nil
		}
		if err != nil && r.Denied(p, err) != nil {
			return err
		}
	}
	return errs.NotAllowed(format, name)
}
