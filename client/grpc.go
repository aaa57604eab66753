package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/protobuf"
)

// calls is a gRPC transport. It has attached a session of its own, which Close ends; a live query of it is followed
// by a goroutine until the transport is closed.
type calls struct {
	conn    *grpc.ClientConn
	session value.UUID
	notify  func(Notification)

	ctx     context.Context // of the goroutines that follow live queries
	cancel  context.CancelFunc
	follows sync.WaitGroup

	mu     sync.Mutex // guards failed; a leaf lock
	failed error      // why no more calls can be made
	told   sync.Mutex // held while notify runs
}

// service is where the methods are.
const service = "/protocol.rpc.v1.Service/"

// raw is the codec of messages that are bytes already.
type raw struct{}

// Marshal implements encoding.CodecV2.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal implements encoding.CodecV2. The bytes are a copy: values that are read from them share them, and data goes
// back to a pool.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// Name implements encoding.CodecV2: it is the form of the messages on the wire.
func (raw) Name() string { return "proto" }

func dialGRPC(ctx context.Context, base *url.URL, opt Options) (*calls, error) {
	secure := insecure.NewCredentials()
	port := "80"
	if base.Scheme == "https" {
		secure, port = credentials.NewTLS(tlsOf(opt.HTTP)), "443"
	}
	host := base.Host
	if base.Port() == "" {
		host = net.JoinHostPort(base.Hostname(), port)
	}
	most := int(min(opt.MaxMessage, math.MaxInt32))
	conn, err := grpc.NewClient("dns:///"+host, grpc.WithTransportCredentials(secure), grpc.WithDefaultCallOptions(
		grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most)))
	if err != nil {
		return nil, fmt.Errorf("%w: connect to %s: %w", ErrUnreachable, host, err)
	}
	c := &calls{conn: conn, notify: opt.Notify}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	resp, err := c.unary(ctx, "AttachSession", nil)
	if err == nil {
		c.session, err = uuidField(resp, 1)
	}
	if err != nil {
		c.cancel()
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// tlsOf is how an HTTP client wants TLS; nil is the default.
func tlsOf(hc *http.Client) *tls.Config {
	if hc == nil {
		return nil
	}
	if t, ok := hc.Transport.(*http.Transport); ok && t.TLSClientConfig != nil {
		return t.TLSClientConfig.Clone()
	}
	return nil
}

// context is the RequestContext of a request, as field 1.
func (c *calls) context(b []byte, txn *value.UUID) []byte {
	if c.session == (value.UUID{}) { // the first request of all asks for one
		return b
	}
	b, at := protobuf.Open(b, 1)
	b = protobuf.AppendUUID(b, 1, c.session)
	if txn != nil {
		b = protobuf.AppendUUID(b, 2, *txn)
	}
	return protobuf.Seal(b, at)
}

// unary calls a method; fields are those of its request behind the context.
func (c *calls) unary(ctx context.Context, method string, fields []byte) ([]byte, error) {
	return c.unaryIn(ctx, method, nil, fields)
}

func (c *calls) unaryIn(ctx context.Context, method string, txn *value.UUID, fields []byte) ([]byte, error) {
	if err := c.lost(); err != nil {
		return nil, err
	}
	in, out := append(c.context(nil, txn), fields...), []byte(nil)
	if err := c.conn.Invoke(ctx, service+method, &in, &out); err != nil {
		return nil, c.failure(ctx, err)
	}
	return out, nil
}

// errorType is the type URL of an error in the details of a status.
const errorType = "type.googleapis.com/surrealdb.protocol.v1.SurrealError"

// failure is the error behind the status of a call.
func (c *calls) failure(ctx context.Context, err error) error {
	s := status.Convert(err)
	if ctx.Err() != nil && (s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	for _, d := range s.Proto().GetDetails() {
		if d.GetTypeUrl() != errorType {
			continue
		}
		e, _, bad := protobuf.DecodeError(d.GetValue())
		if bad != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, bad)
		}
		if e.Kind == errs.KindNotFound && e.Detail != nil && e.Detail.Kind == "Session" {
			c.lose(fmt.Errorf("%w: %w", ErrUnreachable, e)) // the server was started anew, or the session lay idle
		}
		if s.Code() == codes.Unavailable {
			return fmt.Errorf("%w: %w", ErrNotReady, e)
		}
		return e
	}
	if s.Code() == codes.Unavailable {
		return fmt.Errorf("%w: %s", ErrUnreachable, s.Message())
	}
	return errs.Internal("The server answered %s: %s", s.Code(), s.Message())
}

func (c *calls) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// lost is why no more calls can be made; nil while they can.
func (c *calls) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Close implements Transport.
func (c *calls) Close() error {
	c.cancel()
	c.follows.Wait()
	if c.lost() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		_, _ = c.unary(ctx, "DetachSession", nil) // a server that is gone has ended it
	}
	return c.conn.Close()
}

// Call implements Transport: the methods of RPC that a client needs, by those of the service.
func (c *calls) Call(ctx context.Context, req Request) (value.Value, error) {
	arg := func(i int) value.Value {
		if i < len(req.Params) {
			return req.Params[i]
		}
		return value.None
	}
	switch req.Method {
	case "ping":
		_, err := c.sessionless(ctx, "Health")
		return value.None, err
	case "version":
		return c.version(ctx)
	case "use":
		b := nullable(nil, 2, arg(0))
		_, err := c.unary(ctx, "Use", nullable(b, 3, arg(1)))
		return value.None, err
	case "signin", "signup":
		return c.enter(ctx, req.Method, arg(0))
	case "authenticate":
		_, err := c.unary(ctx, "Authenticate", protobuf.AppendString(nil, 2, textOf(arg(0))))
		return value.None, err
	case "invalidate":
		_, err := c.unary(ctx, "Invalidate", nil)
		return value.None, err
	case "reset":
		_, err := c.unary(ctx, "ResetSession", nil)
		return value.None, err
	case "let", "set":
		b, err := protobuf.AppendField(protobuf.AppendString(nil, 2, textOf(arg(0))), 3, arg(1))
		if err != nil {
			return value.None, err
		}
		_, err = c.unary(ctx, "SetVariable", b)
		return value.None, err
	case "unset":
		_, err := c.unary(ctx, "UnsetVariable", protobuf.AppendString(nil, 2, textOf(arg(0))))
		return value.None, err
	case "begin":
		resp, err := c.unary(ctx, "BeginTransaction", nil)
		if err != nil {
			return value.None, err
		}
		id, err := uuidField(resp, 1)
		return value.UUIDOf(id), err
	case "commit", "cancel":
		return value.None, c.finish(ctx, req.Method, arg(0))
	case "kill":
		_, err := c.one(ctx, "KILL $_what", value.Field{Name: "_what", Value: arg(0)})
		return value.None, err
	}
	return value.None, errs.Validation("The method '%s' has no form over gRPC: use a statement", req.Method)
}

// sessionless calls a method that takes no session.
func (c *calls) sessionless(ctx context.Context, method string) ([]byte, error) {
	in, out := []byte(nil), []byte(nil)
	if err := c.conn.Invoke(ctx, service+method, &in, &out); err != nil {
		return nil, c.failure(ctx, err)
	}
	return out, nil
}

func (c *calls) version(ctx context.Context) (value.Value, error) {
	resp, err := c.sessionless(ctx, "GetCapabilities")
	if err != nil {
		return value.None, err
	}
	caps, err := lastField(resp, 1)
	if err != nil {
		return value.None, err
	}
	v, err := lastField(caps, 1)
	return value.Str(string(v)), err
}

func (c *calls) finish(ctx context.Context, method string, id value.Value) error {
	if id.Kind() != value.KindUUID {
		return errs.InvalidParams("Expected transaction UUID")
	}
	txn := id.UUID()
	name := "CommitTransaction"
	if method == "cancel" {
		name = "CancelTransaction"
	}
	_, err := c.unaryIn(ctx, name, &txn, nil)
	return err
}

// one runs a text of one statement.
func (c *calls) one(ctx context.Context, text string, vars ...value.Field) (value.Value, error) {
	results, err := c.run(ctx, Text{Text: text, Vars: value.NewObject(vars...)})
	if err != nil {
		return value.None, err
	}
	if len(results) != 1 {
		return value.None, errs.Internal("The server answered one statement with %d results", len(results))
	}
	if results[0].Err != nil {
		return value.None, results[0].Err
	}
	return results[0].Value, nil
}

// nullable appends a NullableString: NONE leaves it out.
func nullable(b []byte, field protowire.Number, v value.Value) []byte {
	if v.IsNone() {
		return b
	}
	b, at := protobuf.Open(b, field)
	if v.IsNull() {
		var in int
		b, in = protobuf.Open(b, 1)
		b = protobuf.Seal(b, in)
	} else {
		b = protobuf.AppendText(b, 2, textOf(v))
	}
	return protobuf.Seal(b, at)
}

func textOf(v value.Value) string {
	if v.Kind() == value.KindString {
		return v.Str()
	}
	return ""
}

// enter signs in or up with the parameters of the RPC method.
func (c *calls) enter(ctx context.Context, method string, params value.Value) (value.Value, error) {
	if params.Kind() != value.KindObject {
		return value.None, errs.InvalidParams("Expected (params:object)")
	}
	var known [6]string // ns, db, ac, user, pass, key
	var vars []value.Field
	for _, f := range params.Object().Fields() {
		if i, ok := credentialNames[f.Name]; ok {
			known[i] = textOf(f.Value)
		} else {
			vars = append(vars, f)
		}
	}
	member := protowire.Number(1)
	b := protobuf.AppendString(nil, 1, known[0])
	b = protobuf.AppendString(b, 2, known[1])
	switch {
	case known[3] != "" && method == "signin" && len(vars) == 0:
		b = protobuf.AppendString(b, 3, known[3])
		b = protobuf.AppendString(b, 4, known[4])
		b = protobuf.AppendString(b, 5, known[2])
	case known[5] != "" && method == "signin":
		member = 3
		b = protobuf.AppendString(b, 3, known[2])
		b = protobuf.AppendString(b, 4, known[5])
	default:
		member = 2
		for name, i := range map[string]int{"user": 3, "pass": 4} { // a record access method may read them
			if known[i] != "" {
				vars = append(vars, value.Field{Name: name, Value: value.Str(known[i])})
			}
		}
		b = protobuf.AppendString(b, 3, known[2])
		var at int
		var err error
		b, at = protobuf.Open(b, 4)
		if b, err = protobuf.AppendObject(b, value.NewObject(vars...)); err != nil {
			return value.None, err
		}
		b = protobuf.Seal(b, at)
	}
	return c.tokens(ctx, method, member, b)
}

var credentialNames = map[string]int{"ns": 0, "NS": 0, "db": 1, "DB": 1, "ac": 2, "AC": 2, "user": 3, "pass": 4,
	"key": 5}

// tokens sends credentials: member says which of AccessMethod they are.
func (c *calls) tokens(ctx context.Context, method string, member protowire.Number,
	credentials []byte) (value.Value, error) {
	name := "Signin"
	b, at := protobuf.Open(nil, 2)
	if method == "signup" {
		name = "Signup"
		b = append(b, credentials...)
	} else {
		var in int
		b, in = protobuf.Open(b, member)
		b = protobuf.Seal(append(b, credentials...), in)
	}
	resp, err := c.unary(ctx, name, protobuf.Seal(b, at))
	if err != nil {
		return value.None, err
	}
	tokens, err := lastField(resp, 1)
	if err != nil {
		return value.None, err
	}
	access, err := lastField(tokens, 1)
	if err != nil {
		return value.None, err
	}
	refresh, err := lastField(tokens, 2)
	if err != nil || len(refresh) == 0 {
		return value.Str(string(access)), err
	}
	return value.ObjectOf(value.NewObject(value.Field{Name: "access", Value: value.Str(string(access))},
		value.Field{Name: "refresh", Value: value.Str(string(refresh))})), nil
}

// lastField is the content of a field of a message.
func lastField(b []byte, number int) (content []byte, err error) {
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return content, err
		}
		if int(s.Num) == number && s.B != nil {
			content = s.B
		}
	}
}

func uuidField(b []byte, number int) (value.UUID, error) {
	content, err := lastField(b, number)
	if err != nil {
		return value.UUID{}, err
	}
	return protobuf.DecodeUUID(content)
}

// queryStream are the streams of Query and Subscribe.
var queryStream = &grpc.StreamDesc{ServerStreams: true}

// stream sends the one request of a streaming method, and gives what reads the answers.
func (c *calls) stream(ctx context.Context, method string, in []byte) (func() ([]byte, error), error) {
	s, err := c.conn.NewStream(ctx, queryStream, service+method)
	if err == nil {
		if err = s.SendMsg(&in); err == nil || err == io.EOF { // then the answer says why
			err = s.CloseSend()
		}
	}
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	return func() ([]byte, error) {
		var b []byte
		if err := s.RecvMsg(&b); err != nil {
			if err == io.EOF {
				return nil, err
			}
			return nil, c.failure(ctx, err)
		}
		return b, nil
	}, nil
}

// run runs a text. Where ctx ends, the results are those of the statements that had finished.
func (c *calls) run(ctx context.Context, q Text) ([]Result, error) {
	if err := c.lost(); err != nil {
		return nil, err
	}
	b := protobuf.AppendString(c.context(nil, q.Txn), 2, q.Text)
	if q.Vars != nil {
		var at int
		var err error
		b, at = protobuf.Open(b, 3)
		if b, err = protobuf.AppendObject(b, q.Vars); err != nil {
			return nil, err
		}
		b = protobuf.Seal(b, at)
	}
	next, err := c.stream(ctx, "Query", b)
	if err != nil {
		return nil, err
	}
	g := &batches{}
	for {
		b, err := next()
		if err == io.EOF {
			return nil, errs.Internal("The stream of a query ended without its end")
		}
		if err != nil {
			return g.results, err
		}
		whole, err := g.frame(b)
		if err != nil {
			return g.results, err
		}
		if whole {
			c.follow(g.results)
			return g.results, nil
		}
	}
}

// batches puts the frames of a query together.
type batches struct {
	results []Result
	values  []value.Value // of the result at hand
}

// frame takes one frame; whole says that it was the last. The error is that of the text.
func (g *batches) frame(b []byte) (whole bool, err error) {
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return whole, err
		}
		switch {
		case s.B == nil:
		case s.Num == 2:
			err = g.batch(s.B)
		case s.Num == 3:
			whole = true
		case s.Num == 4:
			e, _, bad := protobuf.DecodeError(s.B)
			if err = bad; bad == nil {
				err = e
			}
		}
		if err != nil {
			return true, err
		}
	}
}

// batch takes a QueryBatchFrame. Results come one after the other.
func (g *batches) batch(b []byte) error {
	var r Result
	kind, of := uint64(0), uint64(0)
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil && s.Num == 3:
			kind = s.N
		case s.B == nil && s.Num == 4:
			of = s.N
		case s.B == nil:
		case s.Num == 5:
			r.Time, err = spent(s.B)
		case s.Num == 6:
			r.Err, _, err = protobuf.DecodeError(s.B)
		case s.Num == 7:
			err = g.take(s.B)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case kind == 2: // more follow
		return nil
	case r.Err != nil:
	case kind == 1 && len(g.values) == 1:
		r.Value = g.values[0]
	default:
		r.Value = value.ArrayOf(g.values)
	}
	switch of {
	case 2:
		r.Type = "live"
	case 3:
		r.Type = "kill"
	}
	g.values = nil
	g.results = append(g.results, r)
	return nil
}

// take takes the values of a ValueBatch.
func (g *batches) take(b []byte) error {
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil || !more {
			return err
		}
		if s.Num != 1 || s.B == nil {
			continue
		}
		v, err := protobuf.DecodeValue(s.B, value.DecodeLimits{Own: true})
		if err != nil {
			return err
		}
		g.values = append(g.values, v)
	}
}

// spent is the time in QueryStats.
func spent(b []byte) (time.Duration, error) {
	content, err := lastField(b, 5)
	if err != nil {
		return 0, err
	}
	d, err := protobuf.DecodeDuration(content)
	return d.Std(), err
}
