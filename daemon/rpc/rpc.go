// Package rpc is the table of remote methods over engine.Session, with no transport in it.
//
// A Conn holds what one connection has: its own session, attached sessions and open transactions.
// Call runs one request to its response and never panics; calls may run concurrently. WebSocket,
// HTTP and gRPC only frame messages and say what they can carry (Options). Statements are fixed
// texts run with bound variables: no text of a client's value is ever pasted into one.
package rpc

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/nacredb/nacre/daemon/telemetry"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/life"
	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/internal/wire"
)

// Version is the protocol release that clients are told (they insist on 3.x).
const Version = "3.3.1"

// Limits bounds what one connection may hold. Zero fields mean the defaults.
type Limits struct {
	Transactions        int           // open interactive transactions of the connection's own session; 64
	SessionTransactions int           // the same for each attached session; 64
	AttachedSessions    int           // attached sessions; 256
	Streams             int           // streaming queries at once on one connection; 32
	QueryTimeout        time.Duration // wall-clock limit of a call, all but begin, commit and cancel; 0: none
}

func (l Limits) withDefaults() Limits {
	if l.Transactions <= 0 {
		l.Transactions = 64
	}
	if l.SessionTransactions <= 0 {
		l.SessionTransactions = 64
	}
	if l.AttachedSessions <= 0 {
		l.AttachedSessions = 256
	}
	if l.Streams <= 0 {
		l.Streams = 32
	}
	return l
}

// Limiter bounds guesses at passwords. It is safe for concurrent use.
type Limiter interface {
	// Try counts an attempt of a client at the credentials that names name, before it is made; known reports whether
	// they were right not long ago. done takes how the attempt ended; nil refuses it for the time wait.
	Try(client string, names []string, known func() bool) (done func(ok bool), wait time.Duration)
}

// Server holds the state that all connections of a daemon share.
type Server struct {
	Engine *engine.Engine
	Limits Limits
	Caps   *engine.Capabilities // decide about methods and, for HTTP, routes; nil: all are open
	// DefaultNamespace and DefaultDatabase are selected by use [NONE, NONE] on a session without a place; "" for none.
	DefaultNamespace, DefaultDatabase string
	Auth                              Limiter // may be nil
	Metrics                           *telemetry.Metrics
	// Gauges are the figures of the moment for Metrics; nil: the method metrics is refused.
	Gauges  func() *telemetry.Gauges
	SlowLog *telemetry.SlowLog
	Spans   *span.Exporter // of calls on connections that last; nil: none
	Log     *slog.Logger
}

// Execute runs a text of statements in s (or in tx where it is not nil), watched by metrics and the slow log. Where the
// time of ctx ends before they are through, the whole text fails.
func (srv *Server) Execute(ctx context.Context, s *engine.Session, tx *engine.Tx, text string,
	vars *value.Object) ([]engine.Result, error) {
	return srv.execute(ctx, s, tx, text, vars, false)
}

// execute is Execute; packed: the rows of a SELECT come in the wire form.
func (srv *Server) execute(ctx context.Context, s *engine.Session, tx *engine.Tx, text string, vars *value.Object,
	packed bool) ([]engine.Result, error) {
	run := s.Execute
	switch {
	case tx != nil && packed:
		run = tx.ExecutePacked
	case tx != nil:
		run = tx.Execute
	case packed:
		run = s.ExecutePacked
	}
	return srv.watched(ctx, s, run, text, vars)
}

// GQL runs a program in ISO GQL in s (or in tx where it is not nil), watched as Execute is.
func (srv *Server) GQL(ctx context.Context, s *engine.Session, tx *engine.Tx, text string,
	vars *value.Object) ([]engine.Result, error) {
	return srv.gql(ctx, s, tx, text, vars, false)
}

// gql is GQL; packed: the rows come in the wire form.
func (srv *Server) gql(ctx context.Context, s *engine.Session, tx *engine.Tx, text string, vars *value.Object,
	packed bool) ([]engine.Result, error) {
	run := s.GQL
	switch {
	case tx != nil && packed:
		run = tx.GQLPacked
	case tx != nil:
		run = tx.GQL
	case packed:
		run = s.GQLPacked
	}
	return srv.watched(ctx, s, run, text, vars)
}

// StreamTo runs a text in s (or in tx where it is not nil) and hands its answers to sink while they come, watched as
// Execute is.
func (srv *Server) StreamTo(ctx context.Context, s *engine.Session, tx *engine.Tx, text string, vars *value.Object,
	sink engine.Sink) error {
	start := time.Now()
	run := s.Stream
	if tx != nil {
		run = tx.Stream
	}
	err := srv.Cause(ctx, run(ctx, text, vars, &countedSink{Sink: sink, metrics: srv.Metrics}))
	srv.watch(ctx, s, text, vars, time.Since(start), err == nil)
	return err
}

// countedSink tells the metrics of the statements of a text.
type countedSink struct {
	engine.Sink
	metrics *telemetry.Metrics
	rows    int
}

// Rows implements engine.Sink.
func (c *countedSink) Rows(i int, rows []value.Value) error {
	c.rows += len(rows)
	return c.Sink.Rows(i, rows)
}

// Finished implements engine.Sink.
func (c *countedSink) Finished(i int, r *engine.Result, inRows bool) error {
	n := c.rows
	if !inRows {
		n = rowsOf(r)
	}
	c.rows = 0
	c.metrics.Statement(r.Verb, r.Time, r.Err, n)
	return c.Sink.Finished(i, r, inRows)
}

// runner runs a text.
type runner func(ctx context.Context, text string, vars *value.Object) ([]engine.Result, error)

// Watched runs a text of another language by run in s, and tells metrics and the slow log as Execute does.
func (srv *Server) Watched(ctx context.Context, s *engine.Session, text string, run func() (rows int,
	err error)) error {
	start := time.Now()
	n, err := run()
	err = srv.Cause(ctx, err)
	var failed *errs.Error
	if err != nil {
		failed = errs.As(err)
	}
	spent := time.Since(start)
	srv.Metrics.Statement("other", spent, failed, n)
	srv.watch(ctx, s, text, nil, spent, err == nil)
	return err
}

// watched runs a text and tells metrics and the slow log.
func (srv *Server) watched(ctx context.Context, s *engine.Session, run runner, text string,
	vars *value.Object) ([]engine.Result, error) {
	start := time.Now()
	results, err := run(ctx, text, vars)
	if err == nil && ranOut(ctx, results) {
		results, err = nil, ctx.Err()
	}
	err = srv.Cause(ctx, err)
	trace(ctx, s, start, results)
	for i := range results {
		srv.Metrics.Statement(results[i].Verb, results[i].Time, results[i].Err, rowsOf(&results[i]))
	}
	srv.watch(ctx, s, text, vars, time.Since(start), err == nil)
	return results, err
}

// trace tells of the statements of a text that began at start, one after the other. It never shows a text.
func trace(ctx context.Context, s *engine.Session, start time.Time, results []engine.Result) {
	if span.From(ctx) == nil {
		return
	}
	ns, db := s.Place()
	for i := range results {
		r := &results[i]
		sp := span.Past(ctx, r.Verb, span.Internal, start, r.Time)
		sp.Set("db.system", "surrealdb")
		sp.Set("db.namespace", ns+"/"+db)
		sp.Set("db.operation.name", r.Verb)
		sp.Set("db.response.returned_rows", rowsOf(r))
		if r.Err != nil {
			sp.Set("error.type", r.Err.Kind.String())
			sp.Fail()
		}
		sp.End(nil)
		start = start.Add(r.Time)
	}
}

// watch tells metrics and the slow log of a text that ran.
func (srv *Server) watch(ctx context.Context, s *engine.Session, text string, vars *value.Object, spent time.Duration,
	ok bool) {
	srv.Metrics.Query(spent, ok)
	slow, slowest := srv.SlowLog.Exceeds(spent), srv.Metrics.AmongSlowest(spent)
	if !slow && !slowest {
		return
	}
	ns, db := s.Place()
	ran := telemetry.SlowQuery{Text: text, Spent: spent, Namespace: ns, Database: db, Vars: vars}
	if slowest {
		srv.Metrics.KeepSlow(ran, ok)
	}
	if slow {
		srv.SlowLog.Record(ctx, ran)
		srv.Metrics.SlowQuery()
	}
}

// rowsOf is how many rows an answer has.
func rowsOf(r *engine.Result) int {
	if r.Rows != nil {
		return r.Rows.Len()
	}
	return rows(r.Value)
}

// rows is how many rows a value is as an answer.
func rows(v value.Value) int {
	switch {
	case v.Kind() == value.KindArray:
		return v.Len()
	case v.IsNullish():
		return 0
	}
	return 1
}

// ranOut reports whether the request's time ended while its statements ran, and stopped one of them.
func ranOut(ctx context.Context, results []engine.Result) bool {
	return errors.Is(ctx.Err(), context.DeadlineExceeded) && len(results) > 0 && results[len(results)-1].Err != nil
}

// Call runs req. The response carries req's id and session.
func (c *Conn) Call(ctx context.Context, req *wire.Request) (resp wire.Response) {
	start := time.Now()
	m, known := methods[req.Method]
	name := req.Method
	if !known {
		name = "unknown"
	}
	ctx, sp := c.traced(ctx, name)
	defer func() {
		if p := recover(); p != nil {
			c.srv.Log.Error("panic in a remote call", "method", name, "panic", p, "stack", string(debug.Stack()))
			resp = wire.Response{Err: errs.As(errors.New("panic in a remote call"))}
		}
		resp.ID, resp.Session = req.ID, req.Session
		c.srv.Metrics.RPC(name, time.Since(start), resp.Err == nil)
		if resp.Err != nil {
			sp.Fail()
		}
		sp.End(nil)
	}()
	if !known {
		return failure(methodNotFound())
	}
	if err := c.allowed(name, m); err != nil {
		return failure(errs.As(err))
	}
	if !m.untimed {
		var cancel context.CancelFunc
		ctx, cancel = c.srv.Deadline(ctx)
		defer cancel()
	}
	resp, err := c.run(ctx, m, req)
	if err != nil {
		return failure(c.public(ctx, name, err))
	}
	return resp
}

// traced begins the span of a call: on a connection that lasts a trace of its own, else a part of the request's.
func (c *Conn) traced(ctx context.Context, method string) (context.Context, *span.Span) {
	kind := span.Internal
	if c.opt.Persistent {
		ctx, kind = span.With(ctx, c.srv.Spans), span.Server
	}
	if span.From(ctx) == nil { // the usual case: it is to cost nothing
		return ctx, nil
	}
	ctx, sp := span.Start(ctx, "rpc "+method, kind)
	sp.Set("rpc.system", "surrealdb")
	sp.Set("rpc.method", method)
	return ctx, sp
}

func (c *Conn) allowed(name string, m method) error {
	if m.held && !c.opt.Persistent {
		return methodNotAllowed(name)
	}
	return c.srv.Caps.MayUse(name)
}

func (c *Conn) run(ctx context.Context, m method, req *wire.Request) (resp wire.Response, err error) {
	if m.bare {
		return m.run(ctx, &call{conn: c, req: req})
	}
	s, done, err := c.session(ctx, req.Session, m.changes)
	if err != nil {
		return wire.Response{}, err
	}
	defer func() {
		if failed := done(); err == nil {
			err = failed
		}
	}()
	if !m.expired {
		if err := s.engine.MayAct(); err != nil {
			return wire.Response{}, err
		}
	}
	k := &call{conn: c, req: req, session: s}
	if req.Txn != nil {
		if k.tx, err = s.transaction(*req.Txn); err != nil {
			return wire.Response{}, err
		}
	}
	return m.run(ctx, k)
}

// public gives the error to send; what has no business outside is logged.
func (c *Conn) public(ctx context.Context, method string, err error) *errs.Error {
	err = c.srv.Cause(ctx, err)
	if errors.Is(err, context.Canceled) {
		return errs.With(errs.KindQuery, "Cancelled", nil, "The request was cancelled because the WebSocket is closing")
	}
	e := errs.As(err)
	if e.Kind == errs.KindInternal && e.Err != nil {
		c.srv.Log.Error("remote call failed", "method", method, "err", e.Err)
	}
	return e
}

func failure(e *errs.Error) wire.Response { return wire.Response{Err: e} }

func answer(v value.Value) wire.Response { return wire.Response{Result: v} }

func limitText(d time.Duration) string {
	return value.DurationOf(value.Duration{Secs: uint64(d / time.Second), Nanos: uint32(d % time.Second)}).String()
}

// Deadline bounds a request by the wall-clock limit, where there is one.
func (srv *Server) Deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := srv.Limits.QueryTimeout
	if limit <= 0 {
		return ctx, func() {}
	}
	bounded := life.Until(ctx, time.Now().Add(limit), errs.TimedOut(limit, limitText(limit)))
	return bounded, func() { bounded.Stop(nil) }
}

// Cause is err, or where err only says that ctx ended, the reason for that.
func (srv *Server) Cause(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		if e, ok := errors.AsType[*errs.Error](context.Cause(ctx)); ok {
			return e
		}
	}
	return err
}
