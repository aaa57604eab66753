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
// The statements have run when the frames begin: what streams is their answers, in pieces that a client can take one by
// one while other answers pass between them.

// streamVersion is the revision of the frames.
const streamVersion = 1

// The rows of a statement come in frames of 16, 32, … up to 256.
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

var errStopped = errs.With(errs.KindQuery, "Cancelled", nil, "The streaming query was stopped before it completed")

// IsStream reports whether req asks for a stream: then Stream runs it.
func IsStream(req *wire.Request) bool { return req.Method == "query_stream" }

// Stream runs a query_stream request and sends its frames, or one error response. send may wait.
func (c *Conn) Stream(ctx context.Context, req *wire.Request, send func(*wire.Response)) {
	start := time.Now()
	err := c.stream(ctx, req, send)
	c.srv.Metrics.RPC(req.Method, time.Since(start), err == nil)
	if err != nil {
		send(&wire.Response{ID: req.ID, Session: req.Session, Err: c.public(ctx, req.Method, err)})
	}
}

// stream gives the error of a stream that did not begin.
func (c *Conn) stream(ctx context.Context, req *wire.Request, send func(*wire.Response)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.srv.Log.Error("panic in a stream", "panic", p, "stack", string(debug.Stack()))
			err = errors.New("panic in a stream")
		}
	}()
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
	ctx, done, err := c.openStream(ctx, req.ID)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := c.srv.Deadline(ctx)
	defer cancel()
	k := &call{conn: c, req: req}
	if k.session, err = c.session(req.Session); err != nil {
		return err
	}
	if req.Txn != nil {
		if k.tx, err = k.session.transaction(*req.Txn); err != nil {
			return err
		}
	}
	text, vars, err := k.queryParams()
	if err != nil {
		return err
	}
	begun := time.Now()
	results, err := c.srv.Execute(ctx, k.session.engine, k.tx, text, vars)
	out := framer{send: send, req: req, done: done}
	if stop := stopped(ctx, err); stop != nil {
		out.frame("begin", statements(0), version1())
		out.end(begun, stop)
		return nil
	}
	if err != nil {
		return err
	}
	out.frame("begin", statements(len(results)), version1())
	for i := range results {
		if ctx.Err() != nil {
			out.end(begun, stopped(ctx, ctx.Err()))
			return nil
		}
		out.statement(ctx, i, &results[i])
	}
	out.end(begun, nil)
	return nil
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

// stopped is the error for the end frame of a stream that was cut off: by query_cancel, its time limit or the end of
// the connection; nil where it was not.
func stopped(ctx context.Context, err error) *errs.Error {
	if ctx.Err() == nil {
		return nil
	}
	if e, ok := errors.AsType[*errs.Error](context.Cause(ctx)); ok {
		return e
	}
	if err != nil {
		return errStopped
	}
	return nil
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
	cancel(errStopped)
	return answer(value.Null), nil
}

// framer writes the frames of one stream.
type framer struct {
	send     func(*wire.Response)
	req      *wire.Request
	done     func() // gives the id free
	finished int
}

func statements(n int) value.Field {
	return value.Field{Name: "statements", Value: value.Int(int64(n))}
}

func version1() value.Field { return value.Field{Name: "version", Value: value.Int(streamVersion)} }

func (f *framer) frame(stream string, fields ...value.Field) {
	fields = append(fields, value.Field{Name: "stream", Value: value.Str(stream)})
	f.send(&wire.Response{ID: f.req.ID, Session: f.req.Session, Result: value.ObjectOf(value.NewObject(fields...))})
}

// statement sends the answer to statement i.
func (f *framer) statement(ctx context.Context, i int, r *engine.Result) {
	index := value.Field{Name: "index", Value: value.Int(int64(i))}
	single := r.Err != nil || r.Value.Kind() != value.KindArray
	switch {
	case r.Err != nil:
	case single:
		f.frame("value", index, value.Field{Name: "value", Value: r.Value})
	default:
		f.rows(ctx, index, r.Value.Elems())
	}
	kind := value.Null
	if r.Type != "" {
		kind = value.Str(r.Type)
	}
	fields := []value.Field{index, {Name: "time", Value: durationText(r.Time)}, {Name: "type", Value: kind}, {Name: "single", Value: value.Bool(single)}}
	if r.Err != nil {
		fields = append(fields, value.Field{Name: "error", Value: wire.ErrorValue(r.Err)})
	}
	f.frame("finished", fields...)
	f.finished++
}

func (f *framer) rows(ctx context.Context, index value.Field, rows []value.Value) {
	for size := firstRows; len(rows) > 0 && ctx.Err() == nil; size = min(2*size, mostRows) {
		n := min(size, len(rows))
		f.frame("rows", index, value.Field{Name: "values", Value: value.ArrayOf(rows[:n:n])})
		rows = rows[n:]
	}
}

// end gives the id free before it sends the last frame: who has read that may use it again.
func (f *framer) end(begun time.Time, err *errs.Error) {
	f.done()
	fields := []value.Field{{Name: "results", Value: value.Int(int64(f.finished))}, {Name: "time", Value: durationText(time.Since(begun))}}
	if err != nil {
		fields = append(fields, value.Field{Name: "error", Value: wire.ErrorValue(err)})
	}
	f.frame("end", fields...)
}

func durationText(d time.Duration) value.Value { return value.Str(string(wire.AppendDuration(nil, d))) }
