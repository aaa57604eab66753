package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// call is a tool at work, or what else needs the data: a resource, a completion.
type call struct {
	*request
	engine *engine.Session
	args   args
}

func errCancelled() *errs.Error {
	return errs.With(errs.KindQuery, "Cancelled", nil, "The request was cancelled")
}

// timed bounds a call by the time that a tool may take, and by that of every request of the server.
func (s *Server) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, outer := s.RPC.Deadline(ctx)
	limit := s.Limits.QueryTimeout
	if limit <= 0 {
		return ctx, outer
	}
	late := errs.TimedOut(limit, limit.String())
	late.Msg = "MCP query exceeded the " + strconv.FormatFloat(limit.Seconds(), 'f', -1, 64) +
		"s timeout (set NACRE_MCP_QUERY_TIMEOUT_SECS=0 to disable)"
	inner, cancel := context.WithTimeoutCause(ctx, limit, late)
	return inner, func() {
		cancel()
		outer()
	}
}

// with gives f a session of the engine for one call. The error is for the call as a whole. SECURITY: what says of
// itself that it only reads is held to it by the engine, for any arguments.
func (q *request) with(ctx context.Context, a args, reads bool, f func(context.Context, *call) error) error {
	c := &call{request: q, engine: q.peer.Engine.Again(), args: a}
	defer c.engine.Close()
	if reads || q.srv.ReadOnly {
		c.engine.OnlyRead()
	}
	ctx, cancel := q.srv.timed(ctx)
	defer cancel()
	return c.cause(ctx, f(ctx, c))
}

// settle brings the call to its place. Each part is that of the first that names it: the arguments, the headers of
// the request, the tool use, the identity, the defaults of the server.
func (c *call) settle(ctx context.Context, ns, db string) error {
	ownNS, ownDB := c.engine.Place()
	usedNS, usedDB := "", ""
	if c.sess != nil {
		usedNS, usedDB = c.sess.place()
	}
	ns, db = first(ns, c.peer.NS, usedNS, ownNS), first(db, c.peer.DB, usedDB, ownDB)
	defaultNS, defaultDB := first(ns, c.srv.RPC.DefaultNamespace), db
	if db == "" && defaultNS == c.srv.RPC.DefaultNamespace {
		defaultDB = c.srv.RPC.DefaultDatabase
	}
	if ns == "" || db == "" { // the defaults may be a place that is not for this client: then it has none
		if c.engine.Visit(ctx, &defaultNS, &defaultDB) == nil {
			return nil
		}
	}
	if ns == "" {
		db = ""
	}
	return c.engine.Visit(ctx, &ns, &db)
}

func first(names ...string) string {
	for _, n := range names {
		if n != "" {
			return n
		}
	}
	return ""
}

// run runs statements, watched as those of every door.
func (c *call) run(ctx context.Context, text string, vars *value.Object) ([]engine.Result, error) {
	if err := c.mayQuery(); err != nil {
		return nil, err
	}
	results, err := c.srv.RPC.Execute(ctx, c.engine, nil, text, vars)
	return results, c.cause(ctx, err)
}

// mayQuery refuses statements where the server denies them to clients of this kind, in the words of this protocol.
func (c *call) mayQuery() error {
	p := c.engine.Principal()
	if c.srv.RPC.Caps.MayQuery(&p) != nil {
		return errs.NotAllowed("Capabilities denied this query for the current subject")
	}
	return nil
}

// one runs one statement and gives its value.
func (c *call) one(ctx context.Context, text string, vars *value.Object) (value.Value, error) {
	results, err := c.run(ctx, text, vars)
	switch {
	case err != nil:
		return value.None, err
	case len(results) == 0:
		return value.None, nil
	case results[0].Err != nil:
		return value.None, c.cause(ctx, results[0].Err)
	}
	return results[0].Value, nil
}

// cause is err, or where the call was cancelled or ran out of time, that.
func (c *call) cause(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if e, ok := errors.AsType[*errs.Error](context.Cause(ctx)); ok {
		return e
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return errCancelled()
	}
	return c.srv.RPC.Cause(ctx, err)
}

// object binds the values that a fixed statement works on.
func bound(fields ...value.Field) *value.Object { return value.NewObject(fields...) }

// callTool runs a tool, and tells the log and the metrics.
func callTool(ctx context.Context, q *request) (object, error) {
	name, ok := q.text("name")
	if !ok {
		return nil, badParams("`name` of tools/call must be a text")
	}
	t := q.srv.tool(name)
	if t == nil {
		return nil, badParams("Unknown tool: %s", errs.Brief(name, 64))
	}
	a, err := argsOf(q.Params["arguments"])
	if err != nil {
		return nil, err
	}
	if err := t.check(a); err != nil {
		return nil, err
	}
	start := time.Now()
	var out *outcome
	var ns, db string
	err = q.with(ctx, a, t.reads, func(ctx context.Context, c *call) error {
		if err = c.place(ctx, t); err == nil {
			out, err = t.run(ctx, c)
		}
		ns, db = c.engine.Place()
		return err
	})
	if _, fault := errors.AsType[*Fault](err); err != nil && !fault {
		out, err = q.srv.failed(errs.As(err), time.Since(start)), nil
	}
	q.told(ctx, t, out, err, ns, db, time.Since(start))
	if err != nil {
		return nil, err
	}
	return out.object(), nil
}

// place settles the call where its arguments say, if the tool has them.
func (c *call) place(ctx context.Context, t *tool) error {
	if t.name == "use" {
		return nil
	}
	ns, err := c.args.name("namespace")
	if err != nil {
		return err
	}
	db, err := c.args.name("database")
	if err != nil {
		return err
	}
	return c.settle(ctx, ns, db)
}

// told writes the line of the audit log and counts the call. Neither holds a text or a value of it.
func (q *request) told(ctx context.Context, t *tool, out *outcome, err error, ns, db string, spent time.Duration) {
	class := ""
	switch {
	case err != nil:
		class = "protocol"
	case out.failed:
		class = out.kind
	}
	result := "ok"
	if class != "" {
		result = "error"
	}
	who := Subject(q.peer.Engine)
	q.srv.RPC.Metrics.MCPCall(telemetry.ToolCall{Tool: t.name, Transport: q.srv.Transport, Outcome: result,
		Class:     class,
		Namespace: ns, Database: db, User: who}, spent)
	q.srv.Log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "MCP tool", slog.String("tool", t.name),
		slog.String("subject", who), slog.String("namespace", errs.Brief(ns, 256)),
		slog.String("database", errs.Brief(db, 256)), slog.String("outcome", result), slog.String("error", class))
}

// Subject names who a session acts for: anonymous, or LEVEL::ID.
func Subject(s *engine.Session) string {
	p := s.Principal()
	id := p.Name
	switch {
	case s.Identity().Guest():
		return "anonymous"
	case p.Record.Kind() == value.KindRecord:
		return fmt.Sprintf("Record(%s/%s)::%s", p.NS, p.DB, errs.Brief(p.Record.Text(), 256))
	case p.DB != "":
		return fmt.Sprintf("Database(%s/%s)::%s", p.NS, p.DB, id)
	case p.NS != "":
		return fmt.Sprintf("Namespace(%s)::%s", p.NS, id)
	}
	return "Root::" + id
}
