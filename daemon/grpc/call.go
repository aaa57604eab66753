package grpc

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/unpack"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
	"github.com/nacredb/nacre/internal/wire"
)

// call is one call on its way.
type call struct {
	srv    *Server
	by     *Caller
	method string
	ctx    context.Context
	cancel context.CancelFunc
	in     receiver
	out    sender

	entry   *entry // the session of the connection that it uses; nil: none yet
	session *value.UUID
	txn     *value.UUID
}

// guarded runs the call. It never panics.
func (c *call) guarded(r *http.Request) (err error) {
	defer func() {
		if c.cancel != nil {
			c.cancel()
		}
		if p := recover(); p != nil {
			c.srv.Log.Error("panic in a call", "method", c.method, "panic", p, "stack", string(debug.Stack()))
			err = errors.New("panic in a call")
		}
	}()
	return c.run(r)
}

func (c *call) run(r *http.Request) error {
	m, err := c.find(r)
	if err != nil {
		return err
	}
	if err := c.srv.RPC.Caps.MayVisit("rpc"); err != nil {
		return err
	}
	if !m.always && !c.srv.Readiness.Started() {
		return unavailable("The server is starting or stopping. Try again.")
	}
	if m.gate != "" {
		if err := c.srv.RPC.Caps.MayUse(m.gate); err != nil {
			return err
		}
	}
	if m.route != "" {
		if err := c.srv.RPC.Caps.MayVisit(m.route); err != nil {
			return err
		}
	}
	if encoding := r.Header.Get("Grpc-Encoding"); !knownEncoding(encoding) {
		return &failure{code: wire.GRPCUnimplemented,
			err: errs.Validation("The encoding '%s' is not one of identity, gzip and zstd", encoding)}
	}
	limit, ok := timeoutOf(r.Header.Get("Grpc-Timeout"))
	if !ok {
		return &failure{code: wire.GRPCInternal, err: errs.Validation("The header grpc-timeout cannot be read")}
	}
	c.bound(limit)
	if m.stream != nil {
		return m.stream(c)
	}
	first, err := c.in.only()
	if err != nil {
		return err
	}
	if err := c.scope(first, m); err != nil {
		return err
	}
	return m.run(c, first)
}

// bound ends the call after a time; 0 does nothing.
func (c *call) bound(limit time.Duration) {
	if limit <= 0 {
		return
	}
	before := c.cancel
	text := value.DurationOf(value.DurationFrom(limit)).String()
	ctx, cancel := context.WithTimeoutCause(c.ctx, limit, errs.TimedOut(limit, text))
	c.ctx, c.cancel = ctx, func() {
		cancel()
		if before != nil {
			before()
		}
	}
}

// find is the method that r calls.
func (c *call) find(r *http.Request) (method, error) {
	service, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	m, ok := methods[name]
	if r.Method != http.MethodPost || !ok || service != services[0] && service != services[1] {
		return m, &failure{code: wire.GRPCUnimplemented,
			err: errs.With(errs.KindNotFound, "Method", map[string]any{"name": "unknown"}, "Method not found")}
	}
	c.method = name
	return m, nil
}

// units of the header grpc-timeout.
var units = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond,
	'n': time.Nanosecond,
}

// timeoutOf reads the header grpc-timeout: up to eight digits and a unit. 0: there is none, or it is longer than any
// call.
func timeoutOf(text string) (time.Duration, bool) {
	if text == "" {
		return 0, true
	}
	n, unit := text[:len(text)-1], units[text[len(text)-1]]
	count, err := strconv.ParseUint(n, 10, 32)
	if err != nil || unit == 0 || len(n) > 8 {
		return 0, false
	}
	if time.Duration(count) > time.Duration(1<<63-1)/unit {
		return 0, true
	}
	return max(time.Duration(count)*unit, 1), true
}

// scope reads the context of a request, which is field 1 of its message, and makes the call run in it.
func (c *call) scope(message []byte, m method) error {
	context, err := submessage(message, 1)
	if err != nil {
		return err
	}
	return c.within(context, m)
}

// within makes the call run in a RequestContext.
func (c *call) within(context []byte, m method) error {
	var session, txn *value.UUID
	for s := protobuf.Fields(context); ; {
		more, err := s.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			session, err = uuidIn(s.B)
		case s.Num == 2:
			txn, err = uuidIn(s.B)
		case s.Num == 3:
			var d value.Duration
			if d, err = protobuf.DecodeDuration(s.B); err == nil {
				c.bound(d.Std())
			}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case m.bare && session != nil:
		return errs.InvalidParams("This method takes no session: leave context.session out")
	case txn != nil && m.txn == noTxn:
		return errs.InvalidParams("This method takes no transaction: leave context.transaction out")
	case txn == nil && m.txn == needsTxn:
		return errs.InvalidParams("Expected a transaction: context.transaction is missing")
	}
	c.session, c.txn = session, txn
	if m.bare {
		return nil
	}
	entry, err := c.by.Peer.enter(c.ctx, c.by)
	if err != nil {
		return err
	}
	c.entry = entry
	if session != nil {
		if err := entry.mayUse(*session, c.srv.Sessions); err != nil {
			return err
		}
	}
	if !entry.session.Anonymous() {
		c.by.Mem.Known()
	}
	return nil
}

func uuidIn(b []byte) (*value.UUID, error) {
	id, err := protobuf.DecodeUUID(b)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// submessage is the content of the last field with that number; nil where there is none.
func submessage(b []byte, field int) (content []byte, err error) {
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return content, err
		}
		if int(s.Num) == field && s.B != nil {
			content = s.B
		}
	}
}

// rpc calls a method of the table.
func (c *call) rpc(name string, params ...value.Value) (value.Value, error) {
	resp := c.entry.conn.Call(c.ctx, &wire.Request{Method: name, Params: params, Session: c.session, Format: wire.CBOR})
	if resp.Err != nil {
		return value.None, resp.Err
	}
	return resp.Result, nil
}

// answer sends the message of a unary call.
func (c *call) answer(m proto.Message) error {
	return c.out.message(func(b []byte) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(b, m) })
}

// read decodes a message without values in it.
func (c *call) read(b []byte, m proto.Message) error {
	if err := c.by.Mem.Charge(decodedCost * len(b)); err != nil {
		return errs.NoMemory()
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return errs.With(errs.KindSerialization, "Deserialization", nil, "The request cannot be read: the message is not valid protobuf")
	}
	return nil
}

// decodedCost bounds the memory that each byte of a message without values may take: an empty text in a list takes two
// bytes of a message, and sixteen of memory.
const decodedCost = 8

// failure is an error with a status of its own.
type failure struct {
	code int
	err  *errs.Error
	hint *protobuf.Hint
}

// Error implements error.
func (f *failure) Error() string { return f.err.Msg }

// Unwrap gives the error that is sent.
func (f *failure) Unwrap() error { return f.err }

func unavailable(text string) error {
	return &failure{code: wire.GRPCUnavailable, err: errs.Internal("%s", text), hint: &protobuf.Hint{}}
}

func exhausted(format string, args ...any) error {
	return &failure{code: wire.GRPCResourceExhausted, err: errs.Internal(format, args...)}
}

// status is the status of a call that ended with err; nil: OK.
func (c *call) status(err error) *failure {
	if err == nil {
		return nil
	}
	if f, ok := err.(*failure); ok {
		return f
	}
	err = c.srv.RPC.Cause(c.ctx, err)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &failure{code: wire.GRPCDeadlineExceeded, err: errs.Validation("The request did not come in time")}
	case errors.Is(err, unpack.NoMemory{}):
		c.srv.RPC.Metrics.Limited("memory")
		err = errs.NoMemory()
	case errors.Is(err, context.Canceled):
		err = errs.With(errs.KindQuery, "Cancelled", nil, "The call was cancelled")
	}
	e := errs.As(err)
	f := &failure{code: wire.GRPC(e), err: e, hint: protobuf.HintOf(e)}
	var wait rpc.Wait
	switch {
	case rpc.Full(e):
		f.code = wire.GRPCResourceExhausted
	case errors.As(e, &wait):
		f.hint = &protobuf.Hint{After: time.Duration(wait)}
	case e.Kind == errs.KindInternal && e.Err != nil:
		c.srv.Log.Error("call failed", "method", c.method, "err", e.Err)
	}
	return f
}
