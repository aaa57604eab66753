// Package mcp is the door for agents: the Model Context Protocol over engine.Session, with its tools, resources,
// prompts and completions. daemon/http carries its messages over HTTP, Stdio over standard streams.
//
// A message comes with a Peer, who says who asks and where. Clients of the older revisions shake hands and have a
// Session, which holds who they are, the place that the tool use chose, and what they may cancel: no data and no
// identity of the engine. Clients of 2026-07-28 have none; each of their requests stands alone. Every call of a tool
// gets a session of the engine of its own and ends it. What fails inside of a tool is a result with isError; what is
// wrong with a request is an error of JSON-RPC.
//
// Locks: Sessions.mu before Session.mu; neither is held across engine calls.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
)

// Limits bounds what comes from outside and goes back. Zero fields mean the defaults, negative ones no limit where
// that is allowed.
type Limits struct {
	QueryTimeout time.Duration // of one call; negative: none; 60 s
	ResultBytes  int           // of the value of one statement; negative: none; 256 KiB
	RunArgs      int           // of the tool run; 64
	ParamKeys    int           // of parameters; 256
	TextBytes    int           // of one $ql; 4096
	SchemaTables int           // that the schema resource describes; 200
	Sessions     int           // at once; 10 000
	Calls        int           // at once in one session; 64
	Idle         time.Duration // after which a session ends; 5 min
	Depth        int           // nesting of values in messages
}

func (l Limits) withDefaults() Limits {
	set(&l.QueryTimeout, time.Minute)
	set(&l.ResultBytes, 256<<10)
	set(&l.RunArgs, 64)
	set(&l.ParamKeys, 256)
	set(&l.TextBytes, 4096)
	if l.SchemaTables <= 0 {
		l.SchemaTables = 200
	}
	set(&l.Sessions, 10_000)
	set(&l.Calls, 64)
	set(&l.Idle, 5*time.Minute)
	return l
}

func set[T int | time.Duration](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

// Options holds the services and settings of a Server.
type Options struct {
	RPC    *rpc.Server
	Limits Limits
	// ReadOnly: only statements that read are run, and only tools that read are offered.
	ReadOnly bool
	// Transport is the label of the transport in metrics: http or stdio.
	Transport string
	Log       *slog.Logger
}

// Server answers messages.
type Server struct {
	Options
	Sessions *Sessions
	tools    []*tool // that are offered, in the order of tools/list
}

// New makes a Server.
func New(opt Options) *Server {
	opt.Limits = opt.Limits.withDefaults()
	s := &Server{Options: opt}
	s.Sessions = newSessions(s)
	for i := range tools {
		if !opt.ReadOnly || tools[i].offeredReading() {
			s.tools = append(s.tools, &tools[i])
		}
	}
	return s
}

// Peer is who sends a message.
type Peer struct {
	// Engine is a session with the identity of the client, at the place that the identity brings.
	Engine *engine.Session
	NS, DB string // that the headers of the request name; "" for none
}

// Handle answers one message; nil where it has no answer. sess is nil for requests that stand alone, and for
// initialize.
func (s *Server) Handle(ctx context.Context, peer *Peer, sess *Session, m *Message) (reply *Reply) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic in an MCP request", "method", methodName(m.Method), "panic", p, "stack",
				string(debug.Stack()))
			reply = m.fail(internal())
		}
	}()
	if m.ID == nil {
		s.notified(sess, m)
		return nil
	}
	ctx, done, err := s.admit(ctx, sess, m)
	if err != nil {
		return m.fail(err)
	}
	defer done()
	q := &request{srv: s, peer: peer, sess: sess, Message: m}
	result, err := q.run(ctx)
	if err != nil {
		reply = m.fail(s.public(err))
	} else {
		reply = m.answer(result)
		reply.ahead = q.ahead
	}
	var cause *errs.Error
	reply.cancelled = errors.As(context.Cause(ctx), &cause) && cause.Detail != nil && cause.Detail.Kind == "Cancelled"
	return reply
}

// admit registers a request so that its client can cancel it.
func (s *Server) admit(ctx context.Context, sess *Session, m *Message) (context.Context, func(), error) {
	if sess == nil {
		return ctx, func() {}, nil
	}
	return sess.enter(ctx, m.id(), s.Limits.Calls)
}

func (s *Server) notified(sess *Session, m *Message) {
	if sess == nil {
		return
	}
	switch m.Method {
	case "notifications/initialized":
		sess.touch()
	case "notifications/cancelled":
		if id, ok := m.Params["requestId"]; ok {
			sess.cancel(string(id))
		}
	}
}

// request is a message on its way.
type request struct {
	srv  *Server
	peer *Peer
	sess *Session // nil for what stands alone
	*Message
	ahead object // a notification to send before the answer
}

// methods is the table of methods. It is never written to.
var methods = map[string]struct {
	run       func(context.Context, *request) (object, error)
	handshake bool // for clients that have shaken hands only
	alone     bool // for requests that stand alone only
	listed    bool // its answer is a list that may be kept for a while
}{
	"initialize":               {run: initialize, handshake: true},
	"ping":                     {run: ping, handshake: true},
	"logging/setLevel":         {run: ping, handshake: true},
	"server/discover":          {run: discover, alone: true, listed: true},
	"subscriptions/listen":     {run: listen, alone: true},
	"tools/list":               {run: listTools, listed: true},
	"tools/call":               {run: callTool},
	"resources/list":           {run: listResources, listed: true},
	"resources/templates/list": {run: listTemplates, listed: true},
	"resources/read":           {run: readResource, listed: true},
	"prompts/list":             {run: listPrompts, listed: true},
	"prompts/get":              {run: prompt},
	"completion/complete":      {run: complete},
}

// methodName is a method's name as logs may show it.
func methodName(name string) string {
	if _, ok := methods[name]; ok {
		return name
	}
	return "unknown"
}

func (q *request) run(ctx context.Context) (object, error) {
	m, ok := methods[q.Method]
	switch {
	case !ok, m.handshake && q.Alone, m.alone && !q.Alone:
		return nil, &Fault{Code: CodeMethod, Message: "Method not found"}
	case q.sess == nil && !q.Alone && q.Method != "initialize" && q.Method != "ping":
		return nil, &Fault{Code: CodeInternal, Message: "MCP session not initialized: send `initialize` first"}
	}
	out, err := m.run(ctx, q)
	if err != nil || !q.Alone {
		return out, err
	}
	out["resultType"] = "complete"
	meta, _ := out["_meta"].(object)
	if meta == nil {
		meta = object{}
		out["_meta"] = meta
	}
	meta[serverMeta] = serverInfo()
	if m.listed {
		out["ttlMs"], out["cacheScope"] = 0, "private"
	}
	return out, nil
}

func ping(context.Context, *request) (object, error) { return object{}, nil }
