// Package graphql speaks GraphQL on WebSockets: the sub-protocols graphql-transport-ws and graphql-ws.
//
// A connection has one session, which connection_init may give an identity. Each subscription has a goroutine that
// takes its events and sends them; it ends with the subscription, or with the connection, which waits for all of
// them. Queries and mutations run as on POST /graphql.
package graphql

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/ws"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// The sub-protocols.
const (
	Transport = "graphql-transport-ws"
	Legacy    = "graphql-ws"
)

// Subprotocols are the names of the sub-protocols that are spoken.
var Subprotocols = []string{Transport, Legacy}

// Close codes of the sub-protocols.
const (
	codeNormal       = 1000
	codeBadMessage   = 4400
	codeUnauthorized = 4401
	codeForbidden    = 4403
	codeNoInit       = 4408
	codeDuplicate    = 4409
	codeSecondInit   = 4429
)

// Options holds the services and settings of a connection.
type Options struct {
	RPC     *rpc.Server
	Session *engine.Session // the connection owns it
	// Login gives the session the identity in the value of an Authorization header.
	Login func(ctx context.Context, authorization string) error
	// Events is how many events may wait for a subscription.
	Events int
	// InitTimeout is how long a client may take to send connection_init; 0: ten seconds.
	InitTimeout time.Duration
	Depth       int // nesting of values in messages
}

// Conn is one connection.
type Conn struct {
	Options
	out    *ws.Frames
	legacy bool
	timer  *time.Timer
	known  atomic.Bool // the client has an identity, or needs none
	acked  atomic.Bool
	ready  chan struct{} // closed when connection_init is answered
	begun  bool          // connection_init came; the reader's

	mu  sync.Mutex // guards ops; a leaf lock
	ops map[string]context.CancelFunc
	all sync.WaitGroup // the goroutines of subscriptions
}

// New makes the protocol of a connection.
func New(out *ws.Frames, opt Options) *Conn {
	c := &Conn{Options: opt, out: out, legacy: out.Subprotocol() == Legacy, ready: make(chan struct{}),
		ops: map[string]context.CancelFunc{}}
	c.know()
	if c.InitTimeout <= 0 {
		c.InitTimeout = 10 * time.Second
	}
	c.timer = time.AfterFunc(c.InitTimeout, func() { out.Close(codeNoInit, "Connection initialisation timeout") })
	return c
}

func (c *Conn) know() { c.known.Store(c.Session.MayEnter() == nil) }

// Known implements ws.Protocol.
func (c *Conn) Known() bool { return c.known.Load() }

// Done implements ws.Protocol.
func (c *Conn) Done() {
	c.timer.Stop()
	c.mu.Lock()
	for _, cancel := range c.ops {
		cancel()
	}
	c.mu.Unlock()
	c.all.Wait()
	c.Session.Close()
}

// message is a message of the client.
type message struct {
	kind, id string
	hasID    bool
	payload  value.Value
}

func (c *Conn) read(b []byte) (m message, ok bool) {
	v, err := value.DecodeJSONValue(b, rpc.DecodingOf(c.Session, c.Depth))
	if err != nil || v.Kind() != value.KindObject {
		return m, false
	}
	kind, _ := v.Object().Get("type")
	id, _ := v.Object().Get("id")
	m.payload, _ = v.Object().Get("payload")
	if kind.Kind() != value.KindString {
		return m, false
	}
	m.kind = kind.Str()
	if m.hasID = id.Kind() == value.KindString && len(id.Str()) <= longestID; m.hasID {
		m.id = id.Str()
	}
	return m, true
}

// longestID is the longest id of an operation, in bytes.
const longestID = 256

// Take implements ws.Protocol.
func (c *Conn) Take(b []byte) func(ctx context.Context) {
	m, ok := c.read(b)
	if !ok {
		c.out.Close(codeBadMessage, "Invalid message")
		return nil
	}
	switch m.kind {
	case "connection_init":
		if c.begun {
			c.out.Close(codeSecondInit, "Too many initialisation requests")
			return nil
		}
		c.begun = true
		c.timer.Stop()
		return func(ctx context.Context) { c.init(ctx, m.payload) }
	case "subscribe", "start":
		return c.start(m)
	case "complete", "stop":
		c.stop(m.id)
		return nil
	case "ping":
		return func(context.Context) { c.out.Send([]byte(`{"type":"pong"}`)) }
	case "pong":
		return nil
	case "connection_terminate":
		c.out.Close(codeNormal, "")
		return nil
	}
	c.out.Close(codeBadMessage, "Invalid message")
	return nil
}

// init takes the identity that a client may send along, and greets it.
func (c *Conn) init(ctx context.Context, payload value.Value) {
	if authorization := authorizationOf(payload); authorization != "" {
		if err := c.Login(ctx, authorization); err != nil {
			if c.legacy {
				c.out.Send([]byte(`{"type":"connection_error","payload":{"message":"There was a problem with authentication"}}`))
			}
			c.out.Close(codeForbidden, "Forbidden")
			return
		}
	}
	c.know()
	c.acked.Store(true)
	c.out.Send([]byte(`{"type":"connection_ack"}`))
	close(c.ready)
}

// authorizationOf is the Authorization in the payload of connection_init, at the top or among headers; a bare token
// is one of Bearer.
func authorizationOf(payload value.Value) string {
	if payload.Kind() != value.KindObject {
		return ""
	}
	for _, f := range payload.Object().Fields() {
		switch {
		case f.Value.Kind() == value.KindObject && strings.EqualFold(f.Name, "headers"):
			if a := authorizationOf(f.Value); a != "" {
				return a
			}
		case f.Value.Kind() != value.KindString:
		case strings.EqualFold(f.Name, "authorization"):
			return f.Value.Str()
		case f.Name == "token" && f.Value.Str() != "":
			return "Bearer " + f.Value.Str()
		}
	}
	return ""
}

// start makes the work of an operation.
func (c *Conn) start(m message) func(ctx context.Context) {
	switch {
	case !c.acked.Load() && !(c.legacy && c.begun):
		c.out.Close(codeUnauthorized, "Unauthorized")
		return nil
	case !m.hasID:
		c.out.Close(codeBadMessage, "Invalid message")
		return nil
	}
	req, err := rpc.GraphQLRequest(m.payload)
	if err != nil {
		c.out.Close(codeBadMessage, "Invalid message")
		return nil
	}
	op, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	_, taken := c.ops[m.id]
	if !taken {
		c.ops[m.id] = cancel
	}
	c.mu.Unlock()
	if taken {
		cancel()
		c.out.Close(codeDuplicate, "Subscriber for "+m.id+" already exists")
		return nil
	}
	return func(ctx context.Context) {
		stop := context.AfterFunc(ctx, cancel) // the connection has ended
		select {
		case <-c.ready: // clients of the older sub-protocol do not wait for the answer to connection_init
		case <-op.Done():
		}
		if !c.run(op, m.id, req, stop) {
			stop()
			c.stop(m.id)
		}
	}
}

// stop ends an operation, if it runs.
func (c *Conn) stop(id string) {
	c.mu.Lock()
	cancel := c.ops[id]
	delete(c.ops, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// run runs an operation; going says that it goes on as a subscription, which calls stop at its end.
func (c *Conn) run(ctx context.Context, id string, req *engine.GraphQLRequest, stop func() bool) (going bool) {
	g, err := c.Session.GraphQL(ctx)
	if err != nil {
		c.failed(id, []*engine.GraphQLFailure{{Err: errs.As(err)}})
		return false
	}
	begun := time.Now()
	sub, resp, err := g.Subscribe(ctx, req, c.Events)
	if errors.Is(err, engine.ErrNoSubscription) {
		timed, cancel := c.RPC.Deadline(ctx)
		defer cancel()
		resp, err = c.RPC.GraphQL(timed, c.Session, g, req)
	} else {
		class := ""
		if sub == nil {
			class = "client"
		}
		c.RPC.Metrics.GraphQL("subscription", class, time.Since(begun))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return false // the client has cancelled it
	case err != nil:
		c.failed(id, []*engine.GraphQLFailure{{Err: errs.As(err)}})
		return false
	case sub != nil:
		c.all.Go(func() {
			defer stop()
			c.follow(ctx, id, sub)
		})
		return true
	case resp.Kind == "unknown" || resp.Kind == "subscription":
		c.failed(id, resp.Errors)
		return false
	}
	c.next(nil, id, resp)
	c.complete(id)
	return false
}

// follow sends the events of a subscription until it ends.
func (c *Conn) follow(ctx context.Context, id string, sub *engine.GraphQLSubscription) {
	defer sub.Close()
	defer c.stop(id)
	var buf []byte // of the message before; large ones are let go
	for {
		resp, ok := sub.Next(ctx)
		if !ok {
			if ctx.Err() == nil {
				c.complete(id)
			}
			return
		}
		if buf = c.next(buf[:0], id, resp); cap(buf) > keptBuffer {
			buf = nil
		}
	}
}

// keptBuffer is the largest buffer, in bytes, that a subscription keeps for its next event.
const keptBuffer = 1 << 10

// next sends an answer, which it makes behind b; it gives the message.
func (c *Conn) next(b []byte, id string, resp *engine.GraphQLResponse) []byte {
	kind := "next"
	if c.legacy {
		kind = "data"
	}
	held := c.RPC.Engine.Hold(2 * len(resp.Data))
	defer held.Release()
	b = append(resp.AppendJSON(append(head(b, kind, id), `,"payload":`...)), '}')
	c.out.Send(b)
	return b
}

func (c *Conn) complete(id string) { c.out.Send(append(head(nil, "complete", id), '}')) }

// failed says why an operation did not start.
func (c *Conn) failed(id string, list []*engine.GraphQLFailure) {
	c.out.Send(append(engine.AppendGraphQLErrors(append(head(nil, "error", id), `,"payload":`...), list), '}'))
}

// head appends the beginning of a message about an operation.
func head(b []byte, kind, id string) []byte {
	b = append(append(append(b, `{"type":"`...), kind...), `","id":`...)
	return value.AppendJSON(b, value.Str(id))
}
