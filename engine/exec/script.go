package exec

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/record"
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
	if err := r.goOutside(); err != nil {
		return value.None, err
	}
	return r.Ex.scripts.Run(ctx, x.Source, env.This(), args, &scriptHost{r: r, ctx: ctx, env: env})
}

// scriptHost gives a script the rights of the statement that calls it, in its transaction.
type scriptHost struct {
	r   *Run
	ctx context.Context
	env *Env
}

// Query runs one statement. What it wrote is undone where it fails: the script may catch that and go on.
func (h *scriptHost) Query(text string, vars *value.Object) (value.Value, error) {
	return h.evaluate(text, vars, evaluable)
}

// Value evaluates an expression.
func (h *scriptHost) Value(text string) (value.Value, error) {
	return h.evaluate(text, nil, func(s ast.Statement) bool { _, ok := s.(*ast.ExprStmt); return ok })
}

func (h *scriptHost) evaluate(text string, vars *value.Object, takes func(ast.Statement) bool) (value.Value, error) {
	r := h.r
	s, err := r.Ex.Parse(h.ctx, text)
	if err != nil {
		return value.None, err
	}
	if len(s.Stmts) != 1 || !takes(s.Stmts[0].Stmt) {
		return value.None, errs.Internal("A script runs one statement at a time that is not about sessions and transactions")
	}
	more, err := bound("surrealdb.query", vars)
	if err != nil {
		return value.None, err
	}
	if err := r.Enter(h.ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	defer r.apart(r.Base)()
	mark, changes := r.Tx.Savepoint(), r.Log.Mark()
	v, err := r.Exec(h.ctx, h.env.Child(more.vars...), s.Stmts[0].Stmt)
	if v, err = r.Land(v, err); err != nil {
		r.Tx.RollbackTo(mark)
		r.Log.RollbackTo(changes)
	}
	return v, r.Explain(h.ctx, err)
}

// Functions are the paths of the built-in functions.
func (h *scriptHost) Functions() []string {
	t := h.r.Ex.Functions
	return slices.DeleteFunc(slices.Clone(t.Names()), func(name string) bool { _, ok := t.Function(name); return !ok })
}

// Reads reports whether a function may wait or read: a script gets a promise of it.
func (h *scriptHost) Reads(path string) bool {
	family, _, _ := strings.Cut(path, "::")
	switch family {
	case "api", "eval", "file", "http", "record", "schema", "search", "sequence", "sleep":
		return true
	}
	return false
}

// Function calls a built-in function, if the session may.
func (h *scriptHost) Function(path string, args []value.Value) (value.Value, error) {
	r := h.r
	f, ok := r.Ex.Functions.Function(path)
	if !ok {
		return value.None, errs.Internal("Unknown function '%s' - not found in function registry", path)
	}
	if err := r.mayCall(f); err != nil {
		return value.None, err
	}
	if err := r.Enter(h.ctx); err != nil {
		return value.None, err
	}
	defer r.Leave()
	v, err := f.Call(r.enterHost(h.ctx, h.env, ""), args)
	r.leaveHost()
	if err == nil {
		err = r.bounded(h.ctx, v, args)
	}
	return v, err
}

// maxFetched are the bytes of an answer to fetch.
const maxFetched = 8 << 20

// Send makes a request, by the rules of the network that http::* obeys.
func (h *scriptHost) Send(q script.Request) (script.Response, error) {
	r := h.r
	path := "http::" + strings.ToLower(q.Method)
	if _, known := r.Ex.Functions.Function(path); !known {
		path = "http::post"
	}
	if err := r.Auth.Caps.MayCall(path); err != nil {
		return script.Response{}, err
	}
	filter := r.enterHost(h.ctx, h.env, "").NetFilter()
	r.leaveHost()
	sent, err := r.Ex.Functions.Send(h.ctx, filter, &fn.ToSend{Method: q.Method, URL: q.URL, Headers: q.Headers,
		Body:   q.Body,
		Manual: q.Manual, Limit: maxFetched})
	if err != nil {
		return script.Response{}, r.Explain(h.ctx, err)
	}
	return script.Response{Status: sent.Status, Text: http.StatusText(sent.Status), URL: sent.URL,
		Headers: sent.Headers,
		Body:    sent.Body}, nil
}

// Log writes a line of the script's console to the log of the engine.
func (h *scriptHost) Log(level, line string) {
	h.r.Ex.Log.Info("script", "level", level, "line", line)
}

// bound is the outermost frame of a text with bindings.
func bound(function string, bindings *value.Object) (*Env, error) {
	base := NewEnv()
	if bindings == nil {
		return base, nil
	}
	for _, f := range bindings.Fields() {
		if Protected(f.Name) {
			return nil, errs.Internal("Incorrect arguments for function %s(). '%s' is a protected variable and cannot be set", function, f.Name)
		}
		base.vars = append(base.vars, record.Param{Name: f.Name, Value: f.Value})
	}
	return base, nil
}

// evaluable reports whether a statement may be run out of another one: it is over with the statement around it.
func evaluable(s ast.Statement) bool {
	switch s.(type) {
	case *ast.Begin, *ast.Commit, *ast.Cancel, *ast.Use, *ast.Option, *ast.Live, *ast.Kill:
		return false
	}
	return true
}

// apart puts aside what the statement around knows; the result takes it back.
func (r *Run) apart(base *Env) func() {
	wasBase, aggregates, tree := r.Base, r.aggregates, r.tree
	r.Base, r.aggregates, r.tree = base, nil, nil
	return func() { r.Base, r.aggregates, r.tree = wasBase, aggregates, tree }
}
