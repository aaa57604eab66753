package endpoint

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// collect gathers the middleware of the database, of all methods and of the method, and checks their permissions.
func (c *apiCall) collect(ctx context.Context, s catalog.Scope, found *route,
	req *value.Object) (allowed bool, err error) {
	d, err := c.r.Cat.Def(s, ast.DefConfig, "API")
	if err != nil {
		return false, err
	}
	if d != nil {
		if ok, err := c.configured(ctx, d.Stmt.(*ast.DefineConfig).API, d.By, req); !ok || err != nil {
			return false, err
		}
	}
	if found.any != nil {
		if ok, err := c.configured(ctx, &found.any.Config, found.by, req); !ok || err != nil {
			return false, err
		}
	}
	if found.action == found.any {
		return true, nil
	}
	return c.configured(ctx, &found.action.Config, found.by, req)
}

// configured adds the middleware of one definition, and checks its permission.
func (c *apiCall) configured(ctx context.Context, config *ast.APIConfig, by catalog.Definer,
	req *value.Object) (allowed bool, err error) {
	for _, call := range config.Middleware {
		c.chain = append(c.chain, middleware{call, by})
	}
	return c.permits(ctx, config.Permission, req)
}

func (c *apiCall) permits(ctx context.Context, p *ast.Permission, req *value.Object) (bool, error) {
	if p == nil || p.Kind == ast.PermissionFull || c.r.Auth.Principal.IsSystem() {
		return true, nil
	}
	if p.Kind != ast.PermissionWhere {
		return false, nil
	}
	v, err := c.r.EvalIn(ctx, p.Where, value.None, []record.Param{{Name: "request", Value: value.ObjectOf(req)}},
		record.AsEngineReader)
	if err != nil {
		return false, c.r.Denied(p, err)
	}
	return value.Truthy(v), nil
}

// next runs the middleware from the i-th on, and then the handler. What fails has written nothing, and is answered like
// anything else: the middleware around it goes on with that answer, that of a timeout, too. Only the end of the
// statement is an error.
func (c *apiCall) next(ctx context.Context, i int, req value.Value) (*apiAnswer, error) {
	mark, changes := c.r.Tx.Savepoint(), c.r.Log.Mark()
	answer, err := c.step(ctx, i, req)
	if err == nil || errors.Is(err, context.Canceled) || ended(ctx) {
		return answer, err
	}
	c.r.Tx.RollbackTo(mark)
	c.r.Log.RollbackTo(changes)
	if limit, ok := errors.AsType[elapsed](context.Cause(ctx)); ok && errors.Is(err, context.DeadlineExceeded) {
		if errs.HasWaited(err) {
			return plainAnswer(500, "deadline has elapsed"), nil
		}
		return limit.answer(), nil
	}
	return failure(err), nil
}

// elapsed is the cause of the end of a context that ends by api::timeout.
type elapsed struct{ limit value.Duration }

func (e elapsed) Error() string { return e.late().Msg }

func (e elapsed) late() *errs.Error { return errs.TimedOut(e.limit.Std(), e.limit.String()) }

// answer is that of an endpoint that ran into the limit.
func (e elapsed) answer() *apiAnswer {
	answer := failure(e.late())
	answer.late = e.late()
	return answer
}

// ended reports whether the statement around the call has ended, which is more than the end of an api::timeout.
func ended(ctx context.Context) bool {
	_, limited := errors.AsType[elapsed](context.Cause(ctx))
	return ctx.Err() != nil && !limited
}

func (c *apiCall) step(ctx context.Context, i int, req value.Value) (answer *apiAnswer, err error) {
	if err := c.r.Enter(ctx); err != nil {
		return nil, err
	}
	defer c.r.Leave()
	if i == len(c.chain) {
		err = c.r.InDefinition(auth.By(c.by), func() error {
			answer, err = c.handle(ctx, req)
			return err
		})
		return answer, err
	}
	call := &c.chain[i]
	err = c.r.InDefinition(auth.By(call.by), func() error {
		answer, err = c.middle(ctx, i, call, req)
		return err
	})
	if i == 0 {
		err = misuse(err)
	}
	return answer, err
}

// misuse hides what went wrong in the outermost middleware, unless it answers so itself: that is the concern of who
// defined it. What goes wrong in one around which there is another is an answer that the latter may change.
func misuse(err error) error {
	if _, ok := errors.AsType[*apiFailure](err); err == nil || ok || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return hidden()
}

// middle runs the i-th middleware.
func (c *apiCall) middle(ctx context.Context, i int, call *middleware, req value.Value) (*apiAnswer, error) {
	args := make([]value.Value, len(call.Args))
	for k, x := range call.Args {
		v, err := c.r.Eval(ctx, c.r.Base, x)
		if err != nil {
			return nil, err
		}
		args[k] = v
	}
	if call.Kind == ast.CallCustom {
		return c.custom(ctx, i, call.Path, req, args)
	}
	if err := fit(call.Path, args); err != nil {
		return nil, err
	}
	switch call.Path {
	case "api::timeout":
		return c.timeout(ctx, i, req, args)
	case "api::req::body":
		return c.requestBody(ctx, i, req, args)
	case "api::req::max_body":
		return c.maxBody(ctx, i, req, args)
	}
	answer, err := c.next(ctx, i+1, req)
	if err != nil {
		return nil, err
	}
	switch call.Path {
	case "api::res::body":
		return answer, answer.encode(req, args)
	case "api::res::status":
		return answer, answer.setStatus(args)
	case "api::res::header":
		return answer, answer.setHeader(args)
	case "api::res::headers":
		return answer, answer.setHeaders(args)
	}
	return nil, errs.Internal("There was a problem running the %s() function. no such builtin function found", call.Path)
}

// takes are the types of the arguments of the built-in middleware, behind the request and what comes next.
var takes = map[string][]*value.Type{
	"api::timeout":       {value.Simple(value.TypeDuration)},
	"api::req::max_body": {value.UnionOf(value.Simple(value.TypeInt), value.Simple(value.TypeString))},
	"api::res::status":   {value.Simple(value.TypeInt)},
	"api::res::header":   {value.Simple(value.TypeString), value.OptionOf(value.Simple(value.TypeString))},
	"api::res::headers":  {value.Simple(value.TypeObject)},
}

// fit coerces the arguments of a built-in middleware.
func fit(path string, args []value.Value) error {
	types, ok := takes[path]
	if !ok {
		return nil
	}
	if most := len(types); len(args) > most || len(args) < most && path != "api::res::header" || len(args) == 0 {
		return errs.Internal("Incorrect arguments for function %s(). Expected %d arguments", path, most+2)
	}
	for i := range args {
		v, err := value.Coerce(args[i], types[i])
		if err != nil {
			return errs.Internal("Incorrect arguments for function %s(). Argument %d was the wrong type. %s", path, i+3, err)
		}
		args[i] = v
	}
	return nil
}

// handle runs the THEN of the action.
func (c *apiCall) handle(ctx context.Context, req value.Value) (*apiAnswer, error) {
	if req.Kind() != value.KindObject {
		return nil, &apiFailure{400, "Failed to parse request in final action handler"}
	}
	frame := c.r.Base.Child(record.Param{Name: "request", Value: req})
	v, err := c.r.Land(c.r.Value(ctx, frame, c.handler))
	if err != nil {
		return nil, err
	}
	return readAnswer(v)
}

// custom runs a function of the user's as fn::name($request, $next, …args).
func (c *apiCall) custom(ctx context.Context, i int, name string, req value.Value,
	args []value.Value) (*apiAnswer, error) {
	next := exec.NativeClosure(func(ctx context.Context, args []value.Value) (value.Value, error) {
		req := req
		if len(args) > 0 {
			req = args[0]
		}
		answer, err := c.next(ctx, i+1, req)
		if err != nil {
			return value.None, err
		}
		return answer.inside(c.id), nil
	})
	v, err := c.r.CallCustom(ctx, c.r.Base, name, append([]value.Value{req, next}, args...))
	if err != nil {
		return nil, err
	}
	if answer, err := readAnswer(v); err == nil {
		return answer, nil
	}
	return nil, hidden()
}

// timeout is api::timeout(duration).
func (c *apiCall) timeout(ctx context.Context, i int, req value.Value, args []value.Value) (*apiAnswer, error) {
	limit := elapsed{args[0].Duration()}
	until := time.Now().Add(limit.limit.Std())
	within, cancel := context.WithDeadlineCause(ctx, until, limit)
	defer cancel()
	answer, err := c.next(within, i+1, req)
	if err == nil && within.Err() != nil && ended(ctx) { // both ended: the end of the statement counts
		return nil, ctx.Err()
	}
	// the timer may be late itself
	if ctx.Err() == nil && err == nil && answer.status != 500 && !time.Now().Before(until) {
		answer = limit.answer()
	}
	return answer, err
}

func (a *apiAnswer) setStatus(args []value.Value) error {
	status := args[0].Int()
	if status < 100 || status > 999 {
		return &apiFailure{400, "Invalid HTTP status code: " + args[0].Text() + ". Must be between 100 and 599"}
	}
	a.status = int(status)
	return nil
}

func (a *apiAnswer) setHeader(args []value.Value) error {
	return a.header(args[0].Str(), strings.ToLower(args[0].Str()), append(args, value.None)[1])
}

func (a *apiAnswer) setHeaders(args []value.Value) error {
	for _, f := range args[0].Object().Fields() {
		if err := a.header(f.Name, f.Name, f.Value); err != nil {
			return err
		}
	}
	return nil
}

// header sets a header, or removes it with NONE. The error of a value calls it shown.
func (a *apiAnswer) header(name, shown string, v value.Value) error {
	switch {
	case !validHeader(name, ""):
		return &apiFailure{400, "Invalid header name: " + name + ": invalid HTTP header name"}
	case v.IsNone():
		a.headers = a.headers.Without(strings.ToLower(name))
	case v.Kind() != value.KindString:
		return hidden()
	case !validHeader(name, v.Str()):
		return &apiFailure{400, "Invalid header value for " + shown + ": " + v.Str() + ": failed to parse header value"}
	default:
		a.headers = a.headers.With(strings.ToLower(name), v)
	}
	return nil
}
