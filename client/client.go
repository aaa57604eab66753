// Package client talks to a nacre (or any SurrealDB 3.x) server: RPC in CBOR over WebSocket or HTTP, the service of
// gRPC, and the streaming HTTP endpoints for import, export and probes.
//
// A Client is one session: an identity, a namespace and database, and variables. It is safe for
// concurrent use; calls on a WebSocket run side by side. Errors that the server answered are
// *errs.Error with the server's kind and text; ErrUnreachable wraps everything that went wrong on
// the way there.
package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// ErrUnreachable is wrapped by every error of the connection itself.
var ErrUnreachable = errors.New("server is not reachable")

// Options say where the server is and who asks.
type Options struct {
	// Endpoint is ws://, wss://, http://, https://, grpc:// or grpcs:// host:port, or a bare host:port (WebSocket).
	Endpoint string
	// User and Pass sign in at Level ("", "root", "namespace", "database"); Token authenticates instead.
	User, Pass, Token, Level string
	// Namespace and Database are selected after sign-in; "" leaves them to the server.
	Namespace, Database string
	// MaxMessage bounds one incoming message in bytes; 0 is 128 MiB.
	MaxMessage int64
	// HTTP replaces http.DefaultClient.
	HTTP *http.Client
	// Transport replaces the connection: the engine in this process, for one.
	Transport Transport
	// Notify is told what live queries of a WebSocket, or of gRPC, have to tell, in order. It runs where answers are
	// read: it must not call the client, and while it runs no answer arrives. Without it notifications are dropped.
	Notify func(Notification)
}

// Notification is one message of a live query.
type Notification struct {
	Live   value.Value // the id of the live query, a uuid
	Action string      // CREATE, UPDATE, DELETE or KILLED
	Record value.Value // the id of the record
	Result value.Value // the record, or what LIVE SELECT selects of it
}

// Request is one RPC call. Txn names the interactive transaction that it belongs to; nil is none.
type Request struct {
	Method string
	Params []value.Value
	Txn    *value.UUID
}

// Transport carries one RPC call.
type Transport interface {
	// Call sends a request and gives the result. A server's refusal is an *errs.Error.
	Call(ctx context.Context, req Request) (value.Value, error)
	Close() error
}

// Streamer is a Transport that also moves whole databases; the HTTP endpoints do it otherwise.
type Streamer interface {
	Import(ctx context.Context, r io.Reader, opt ImportOptions) (*ImportResult, error)
	Export(ctx context.Context, w io.Writer, opt ExportOptions) (int64, error)
}

// Client is one session with a server.
type Client struct {
	opt  Options
	t    Transport
	base *url.URL // of the HTTP endpoints; nil with a Transport of the caller's
}

// Open connects, signs in and selects the namespace and database. ctx bounds the opening only.
func Open(ctx context.Context, opt Options) (*Client, error) {
	c, err := connect(ctx, opt)
	if err != nil {
		return nil, err
	}
	if err := c.login(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Probe makes a client that does not connect: only Ready, Health, Version, Import and Export work.
func Probe(opt Options) (*Client, error) {
	base, _, err := resolve(opt.Endpoint)
	if err != nil {
		return nil, err
	}
	return &Client{opt: opt, base: base}, nil
}

func connect(ctx context.Context, opt Options) (*Client, error) {
	if opt.MaxMessage == 0 {
		opt.MaxMessage = 128 << 20
	}
	if opt.Transport != nil {
		return &Client{opt: opt, t: opt.Transport}, nil
	}
	base, by, err := resolve(opt.Endpoint)
	if err != nil {
		return nil, err
	}
	c := &Client{opt: opt, base: base}
	switch by {
	case "ws":
		c.t, err = dialSocket(ctx, base, opt)
	case "grpc":
		c.t, err = dialGRPC(ctx, base, opt)
	default:
		c.t = newHTTPTransport(c)
	}
	return c, err
}

// resolve gives the HTTP base address of an endpoint and what RPC goes over: ws, http or grpc.
func resolve(endpoint string) (base *url.URL, by string, err error) {
	if endpoint == "" {
		endpoint = "127.0.0.1:8000"
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = "ws://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, "", errs.Validation("The endpoint '%s' is not an address: use ws://host:port or http://host:port", endpoint)
	}
	switch u.Scheme {
	case "ws", "http", "grpc":
		by, u.Scheme = u.Scheme, "http"
	case "wss", "https", "grpcs":
		by, u.Scheme = strings.TrimSuffix(u.Scheme, "s"), "https"
	default:
		return nil, "", errs.Validation("The scheme '%s' is not one of ws, wss, http, https, grpc and grpcs", u.Scheme)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/rpc")
	u.RawQuery, u.Fragment = "", ""
	return u, by, nil
}

// login signs in (when there is someone to sign in) and selects the place.
func (c *Client) login(ctx context.Context) error {
	switch {
	case c.opt.Token != "":
		if _, err := c.Call(ctx, "authenticate", value.Str(c.opt.Token)); err != nil {
			return err
		}
	case c.opt.User != "":
		who := []value.Field{{Name: "user", Value: value.Str(c.opt.User)}, {Name: "pass", Value: value.Str(c.opt.Pass)}}
		if c.opt.Level == "namespace" || c.opt.Level == "database" {
			who = append(who, value.Field{Name: "NS", Value: value.Str(c.opt.Namespace)})
		}
		if c.opt.Level == "database" {
			who = append(who, value.Field{Name: "DB", Value: value.Str(c.opt.Database)})
		}
		if _, err := c.Call(ctx, "signin", value.ObjectOf(value.NewObject(who...))); err != nil {
			return err
		}
	}
	if c.opt.Namespace == "" && c.opt.Database == "" {
		return nil
	}
	return c.Use(ctx, c.opt.Namespace, c.opt.Database)
}

// Close ends the session.
func (c *Client) Close() error {
	if c.t == nil {
		return nil
	}
	return c.t.Close()
}

// Call runs one RPC method.
func (c *Client) Call(ctx context.Context, method string, params ...value.Value) (value.Value, error) {
	if c.t == nil {
		return value.None, fmt.Errorf("%w: this client only probes", ErrUnreachable)
	}
	return c.t.Call(ctx, Request{Method: method, Params: params})
}

// Use selects a namespace and database; "" leaves a part as it is.
func (c *Client) Use(ctx context.Context, ns, db string) error {
	part := func(s string) value.Value {
		if s == "" {
			return value.None
		}
		return value.Str(s)
	}
	_, err := c.Call(ctx, "use", part(ns), part(db))
	return err
}

// Result is the answer to one statement.
type Result struct {
	Value value.Value
	Err   *errs.Error // nil when the statement succeeded
	Time  time.Duration
	Type  string // "", "live" or "kill"
}

// Query runs a text of statements. The error is for the text as a whole; each Result has its own.
func (c *Client) Query(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	params := []value.Value{value.Str(text)}
	if vars != nil {
		params = append(params, value.ObjectOf(vars))
	}
	return c.results(ctx, Request{Method: "query", Params: params})
}

// results calls a method that answers a list of results.
func (c *Client) results(ctx context.Context, req Request) ([]Result, error) {
	if c.t == nil {
		return nil, fmt.Errorf("%w: this client only probes", ErrUnreachable)
	}
	if t, ok := c.t.(*calls); ok {
		if req.Method != "query" {
			return nil, errs.Validation("The method '%s' has no form over gRPC: use ws:// or http://", req.Method)
		}
		q := Text{Text: textOf(req.Params[0]), Txn: req.Txn}
		if len(req.Params) > 1 {
			q.Vars = req.Params[1].Object()
		}
		return t.run(ctx, q)
	}
	v, err := c.t.Call(ctx, req)
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.KindArray {
		return nil, errs.Internal("The server answered query with %s, not a list", v.Kind())
	}
	out := make([]Result, 0, v.Len())
	for _, e := range v.Elems() {
		r, err := resultOf(e)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// resultOf reads {status, time, result, type, kind, details}.
func resultOf(v value.Value) (Result, error) {
	if v.Kind() != value.KindObject {
		return Result{}, errs.Internal("The server answered a statement with %s, not an object", v.Kind())
	}
	o := v.Object()
	var r Result
	r.Value, _ = o.Get("result")
	r.Type = text(o, "type")
	r.Time, _ = time.ParseDuration(text(o, "time"))
	if text(o, "status") == "ERR" {
		r.Err = errorOf(o, "result")
		r.Value = value.None
	}
	return r, nil
}

// text is a string field of o, or "".
func text(o *value.Object, name string) string {
	if v, ok := o.Get(name); ok && v.Kind() == value.KindString {
		return v.Str()
	}
	return ""
}

// errorOf reads an error object whose message stands in field message.
func errorOf(o *value.Object, message string) *errs.Error {
	e := &errs.Error{Kind: errs.KindInternal, Msg: text(o, message)}
	if k, ok := errs.KindOf(text(o, "kind")); ok {
		e.Kind = k
	}
	if d, ok := o.Get("details"); ok && d.Kind() == value.KindObject {
		e.Detail = detailOf(d.Object())
	}
	return e
}

func detailOf(o *value.Object) *errs.Detail {
	d := &errs.Detail{Kind: text(o, "kind")}
	if inner, ok := o.Get("details"); ok && inner.Kind() == value.KindObject {
		d.Inner, d.Fields = wire.ReadDetail(inner.Object())
	}
	return d
}
