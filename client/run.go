package client

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Text is a text of statements to run. Txn names the interactive transaction that it runs in; nil: in those of its own.
type Text struct {
	Text string
	Vars *value.Object
	Txn  *value.UUID
	GQL  bool // the text is a program in ISO GQL
}

// Run runs a text as Query does. When ctx ends, the server is told to stop: the error is then that of ctx, and the
// results are those of the statements that had finished, whose effects stand.
func (c *Client) Run(ctx context.Context, q Text) ([]Result, error) {
	params := []value.Value{value.Str(q.Text)}
	if q.Vars != nil {
		params = append(params, value.ObjectOf(q.Vars))
	}
	if q.GQL {
		return c.results(ctx, Request{Method: "gql", Params: params, Txn: q.Txn})
	}
	if s, ok := c.t.(*socket); ok {
		results, err := s.stream(ctx, Request{Method: "query_stream", Params: params, Txn: q.Txn})
		if !noMethod(err) {
			return results, err
		}
		// Servers before 3.3 have no streams: the query cannot be stopped there.
	}
	return c.results(ctx, Request{Method: "query", Params: params, Txn: q.Txn})
}

// noMethod reports whether a server does not know the method, or does not allow it.
func noMethod(err error) bool {
	e, ok := err.(*errs.Error)
	return ok && e.Detail != nil && e.Detail.Kind == "Method"
}

// Begin opens an interactive transaction, which HTTP does not have: there the error is "Method not found".
func (c *Client) Begin(ctx context.Context) (value.UUID, error) {
	v, err := c.Call(ctx, "begin")
	if err != nil {
		return value.UUID{}, err
	}
	switch v.Kind() {
	case value.KindUUID:
		return v.UUID(), nil
	case value.KindString:
		return value.ParseUUID(v.Str())
	}
	return value.UUID{}, errs.Internal("The server answered begin with %s, not a uuid", v.Kind())
}

// Commit commits an interactive transaction. A conflict is an error, and the transaction is over then, too.
func (c *Client) Commit(ctx context.Context, txn value.UUID) error {
	_, err := c.Call(ctx, "commit", value.UUIDOf(txn))
	return err
}

// Cancel drops an interactive transaction with all that it did.
func (c *Client) Cancel(ctx context.Context, txn value.UUID) error {
	_, err := c.Call(ctx, "cancel", value.UUIDOf(txn))
	return err
}

// Lost is why the connection can make no more calls: the error wraps ErrUnreachable. It is nil while it can, and
// always over HTTP and inside of the process.
func (c *Client) Lost() error {
	switch t := c.t.(type) {
	case *socket:
		return t.lost()
	case *calls:
		return t.lost()
	}
	return nil
}

// stopGrace is how long a stopped stream may take to end.
const stopGrace = 2 * time.Second

// stream runs a text by frames, and gathers its results.
func (s *socket) stream(ctx context.Context, req Request) ([]Result, error) {
	g := &gathering{}
	id, ch, err := s.send(ctx, req, g)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-ch:
		return g.results, a.err
	case <-ctx.Done():
	}
	if s.stop(ctx, id, ch) {
		return g.results, context.Cause(ctx)
	}
	s.forget(id)
	return nil, context.Cause(ctx)
}

// stop tells the server to end a request and reports whether it answered within stopGrace. That the request ended by
// itself meanwhile is no failure.
func (s *socket) stop(ctx context.Context, id string, ch chan answer) bool {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	req := Request{Method: "query_cancel", Params: []value.Value{value.Str(id)}}
	if _, _, err := s.send(late, req, nil); err != nil {
		return false
	}
	select {
	case <-ch:
		return true
	case <-late.Done():
		return false
	}
}

// gathering puts the frames of a stream together. It belongs to the goroutine that reads, under socket.mu, until the
// answer has been handed over.
type gathering struct {
	results []Result
	rows    []value.Value
	single  value.Value
}

// frame takes one frame; whole says that it was the last. The error is that of the stream.
func (g *gathering) frame(v value.Value) (_ value.Value, whole bool, err error) {
	if v.Kind() != value.KindObject {
		return value.None, true, errs.Internal("The server answered a stream with %s, not an object", v.Kind())
	}
	o := v.Object()
	switch text(o, "stream") {
	case "rows":
		rows, _ := o.Get("values")
		if rows.Kind() == value.KindArray {
			g.rows = append(g.rows, rows.Elems()...)
		}
	case "value":
		g.single, _ = o.Get("value")
	case "finished":
		g.finished(o)
	case "end":
		if e, ok := o.Get("error"); ok && e.Kind() == value.KindObject {
			return value.None, true, errorOf(e.Object(), "message")
		}
		return value.None, true, nil
	}
	return value.None, false, nil // of later protocols, too: unknown frames are left out
}

// finished closes the result of one statement.
func (g *gathering) finished(o *value.Object) {
	r := Result{Type: text(o, "type"), Value: value.ArrayOf(g.rows)}
	r.Time, _ = time.ParseDuration(text(o, "time"))
	if single, ok := o.Get("single"); ok && single.Kind() == value.KindBool && single.Bool() {
		r.Value = g.single
	}
	if e, ok := o.Get("error"); ok && e.Kind() == value.KindObject {
		r.Err, r.Value = errorOf(e.Object(), "message"), value.None
	}
	g.results = append(g.results, r)
	g.rows, g.single = nil, value.None
}

// Interactive reports whether the connection can hold interactive transactions.
func (c *Client) Interactive() bool {
	_, http := c.t.(*httpTransport)
	return !http
}
