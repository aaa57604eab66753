package rpc

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// A streaming query answers in frames: begin; for each statement rows frames or one value frame, then finished; end.
// Rows leave while their statement runs, and a client that does not take them holds the statement up.

// streamVersion is the revision of the frames.
const streamVersion = 1

// The rows of a list that is there as a whole come in frames of 16, 32, … up to 256, as those of a SELECT do.
const (
	firstRows = 16
	mostRows  = 256
)

// streams are the streaming queries of a connection under way.
type streams struct {
	mu     sync.Mutex // guards cancel; a leaf lock
	cancel map[string]context.CancelCauseFunc
}

// streamKey tells ids of different types apart.
func streamKey(id value.Value) string { return id.Kind().String() + " " + id.Text() }

func errStopped() *errs.Error {
	return errs.With(errs.KindQuery, "Cancelled", nil, "The streaming query was stopped before it completed")
}

// IsStream reports whether req asks for a stream: then Stream runs it.
func IsStream(req *wire.Request) bool { return req.Method == "query_stream" }

// Stream runs a query_stream request and sends its frames, or one error response. send may wait as long as ctx lasts;
// an error of it stops the query.
func (c *Conn) Stream(ctx context.Context, req *wire.Request, send func(context.Context, *wire.Response) error) {
	start := time.Now()
	ctx, sp := c.traced(ctx, req.Method)
	err := c.stream(ctx, req, send)
	sp.End(err)
	c.srv.Metrics.RPC(req.Method, time.Since(start), err == nil)
	if err != nil {
		// it fails with the connection
		_ = send(ctx, &wire.Response{ID: req.ID, Session: req.Session, Err: c.public(ctx, req.Method, err)})
	}
}

// Feed runs a query request and hands the answers to sink while the text runs: for transports with frames of their own.
// The error is an *errs.Error to send. Where sink has begun, it is why the text broke off; statements that sink was not
// told of came to nothing.
func (c *Conn) Feed(ctx context.Context, req *wire.Request, sink engine.Sink) (failed *errs.Error) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			c.srv.Log.Error("panic in a stream", "panic", p, "stack", string(debug.Stack()))
			failed = errs.As(errors.New("panic in a stream"))
		}
		c.srv.Metrics.RPC(req.Method, time.Since(start), failed == nil)
	}()
	if err := c.srv.Caps.MayUse(req.Method); err != nil {
		return errs.As(err)
	}
	k, text, vars, err := c.textCall(req)
	if err != nil {
		return c.public(ctx, req.Method, err)
	}
	ctx, cancel := c.srv.Deadline(ctx)
	defer cancel()
	if err := c.srv.stream(ctx, k, text, vars, &counting{Sink: sink, srv: c.srv}); err != nil {
		return c.public(ctx, req.Method, err)
	}
	return nil
}

// counting is a Sink whose statements are counted.
type counting struct {
	engine.Sink
	srv   *Server
	given int // rows of the statement at work
}

// Rows implements engine.Sink.
func (c *counting) Rows(i int, rows []value.Value) error {
	c.given += len(rows)
	return c.Sink.Rows(i, rows)
}

// Finished implements engine.Sink.
func (c *counting) Finished(i int, r *engine.Result, inRows bool) error {
	if !inRows {
		c.given = rows(r.Value)
	}
	c.srv.Metrics.Statement(r.Verb, r.Time, r.Err, c.given)
	c.given = 0
	return c.Sink.Finished(i, r, inRows)
}

// textCall is the call of a request whose parameters are a text and variables.
func (c *Conn) textCall(req *wire.Request) (k *call, text string, vars *value.Object, err error) {
	k = &call{conn: c, req: req}
	if k.session, err = c.present(req.Session); err != nil {
		return nil, "", nil, err
	}
	if err := k.session.engine.MayAct(); err != nil {
		return nil, "", nil, err
	}
	if req.Txn != nil {
		if k.tx, err = k.session.transaction(*req.Txn); err != nil {
			return nil, "", nil, err
		}
	}
	text, vars, err = k.queryParams()
	return k, text, vars, err
}

// stream gives the error of a stream that did not begin.
func (c *Conn) stream(conn context.Context, req *wire.Request,
	send func(context.Context, *wire.Response) error) (err error) {
	if !c.opt.Persistent {
		return methodNotFound()
	}
	for _, name := range [...]string{"query_stream", "query"} {
		if c.srv.Caps.MayUse(name) != nil {
			return methodNotAllowed("query_stream")
		}
	}
	if req.ID.IsNullish() {
		return wire.InvalidRequest()
	}
	k, text, vars, err := c.textCall(req)
	if err != nil {
		return err
	}
	ctx, done, err := c.openStream(conn, req.ID)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := c.srv.Deadline(ctx)
	defer cancel()
	out := &framer{ctx: ctx, srv: c.srv, send: send, req: req, done: done}
	defer func() {
		if p := recover(); p != nil {
			c.srv.Log.Error("panic in a stream", "panic", p, "stack", string(debug.Stack()))
			done()
			err = out.end(conn, errors.New("panic in a stream"))
		}
	}()
	out.began = time.Now()
	err = c.srv.stream(ctx, k, text, vars, out)
	done() // first: who has the end frame may use the id again
	return out.end(conn, err)
}

// stream runs a text for a sink, watched by metrics and the slow log.
func (srv *Server) stream(ctx context.Context, k *call, text string, vars *value.Object, out engine.Sink) error {
	began := time.Now()
	var err error
	if k.tx != nil {
		err = k.tx.Stream(ctx, text, vars, out)
	} else {
		err = k.session.engine.Stream(ctx, text, vars, out)
	}
	srv.watch(ctx, k.session.engine, text, vars, time.Since(began), err == nil)
	return err
}

// openStream registers a stream; done takes it out again.
func (c *Conn) openStream(ctx context.Context, id value.Value) (_ context.Context, done func(), err error) {
	key, s := streamKey(id), &c.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.cancel[key]; ok {
		return nil, nil, errs.Validation("A streaming query with this request id is already in progress")
	}
	if len(s.cancel) >= c.srv.Limits.withDefaults().Streams {
		return nil, nil, errs.Internal("Too many concurrent streaming queries")
	}
	if s.cancel == nil {
		s.cancel = make(map[string]context.CancelCauseFunc)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.cancel[key] = cancel
	return ctx, sync.OnceFunc(func() { // once: the id may be another stream's by then
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cancel, key)
		cancel(nil)
	}), nil
}

// queryCancel stops a streaming query.
func queryCancel(_ context.Context, k *call) (wire.Response, error) {
	p, err := k.params(1, 1, "Expected (id)")
	if err != nil {
		return wire.Response{}, err
	}
	s := &k.conn.streams
	s.mu.Lock()
	cancel, ok := s.cancel[streamKey(p[0])]
	s.mu.Unlock()
	if !ok {
		return wire.Response{}, errs.Validation("No streaming query with this request id is in progress")
	}
	cancel(errStopped())
	return answer(value.Null), nil
}

// framer writes the frames of one stream: an engine.Sink.
type framer struct {
	ctx      context.Context // of the stream
	srv      *Server
	send     func(context.Context, *wire.Response) error
	req      *wire.Request
	done     func() // frees the place and the id of the stream
	began    time.Time
	open     bool // the begin frame is out
	finished int
	given    int // rows of the statement at work
}

func (f *framer) frame(ctx context.Context, stream string, fields ...value.Field) error {
	fields = append(fields, value.Field{Name: "stream", Value: value.Str(stream)})
	return f.send(ctx, &wire.Response{ID: f.req.ID, Session: f.req.Session,
		Result: value.ObjectOf(value.NewObject(fields...))})
}

// Begin implements engine.Sink.
func (f *framer) Begin(statements int) error {
	f.open = true
	return f.frame(f.ctx, "begin", value.Field{Name: "statements", Value: value.Int(int64(statements))},
		value.Field{Name: "version", Value: value.Int(streamVersion)})
}

// Rows implements engine.Sink.
func (f *framer) Rows(i int, rows []value.Value) error {
	f.given += len(rows)
	return f.frame(f.ctx, "rows", indexField(i), value.Field{Name: "values", Value: value.ArrayOf(rows)})
}

// Finished implements engine.Sink.
func (f *framer) Finished(i int, r *engine.Result, inRows bool) error {
	single := !inRows && (r.Err != nil || r.Value.Kind() != value.KindArray)
	var err error
	switch {
	case inRows || r.Err != nil:
	case single:
		f.given = rows(r.Value)
		err = f.frame(f.ctx, "value", indexField(i), value.Field{Name: "value", Value: r.Value})
	default:
		err = f.list(i, r.Value.Elems())
	}
	if err != nil {
		return err
	}
	kind := value.Null
	if r.Type != "" {
		kind = value.Str(r.Type)
	}
	fields := []value.Field{indexField(i), {Name: "time", Value: durationText(r.Time)}, {Name: "type", Value: kind},
		{Name: "single", Value: value.Bool(single)}}
	if r.Err != nil {
		fields = append(fields, value.Field{Name: "error", Value: wire.ErrorValue(r.Err)})
	}
	f.finished++
	f.srv.Metrics.Statement(r.Verb, r.Time, r.Err, f.given)
	f.given = 0
	return f.frame(f.ctx, "finished", fields...)
}

// list sends a list that is there as a whole.
func (f *framer) list(i int, rows []value.Value) error {
	for size := firstRows; len(rows) > 0; size = min(2*size, mostRows) {
		n := min(size, len(rows))
		if err := f.Rows(i, rows[:n:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// end closes the stream, or gives err back when the stream has not begun. The client of a stream that was cut off is
// told that it was stopped, or that its time ran out.
func (f *framer) end(conn context.Context, err error) error {
	if !f.open {
		return err
	}
	fields := []value.Field{{Name: "results", Value: value.Int(int64(f.finished))},
		{Name: "time", Value: durationText(time.Since(f.began))}}
	if err != nil {
		stopped, ok := errors.AsType[*errs.Error](context.Cause(f.ctx))
		if !ok {
			stopped = errStopped()
		}
		fields = append(fields, value.Field{Name: "error", Value: wire.ErrorValue(stopped)})
	}
	f.done()                            // a client that has the end frame may use the id again
	_ = f.frame(conn, "end", fields...) // who can not take it finds out by the connection
	return nil
}

func indexField(i int) value.Field { return value.Field{Name: "index", Value: value.Int(int64(i))} }

func durationText(d time.Duration) value.Value { return value.Str(string(wire.AppendDuration(nil, d))) }
