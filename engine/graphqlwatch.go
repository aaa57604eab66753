package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/graphql"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/value"
)

// ErrNoSubscription says that a request is no subscription: GraphQL.Execute runs it.
var ErrNoSubscription = errors.New("the request is no subscription")

// GraphQLSubscription is a live query of GraphQL. One goroutine calls Next, and Close at the end.
type GraphQLSubscription struct {
	g    *GraphQL
	op   *graphql.Operation
	id   value.UUID
	key  graphQLKey
	last any                // key as it was for the event before, or nil
	from *exec.SessionState // the state of the session that last comes from
	resp GraphQLResponse    // what Next has given
	wake chan struct{}      // has room for one

	mu    sync.Mutex // guards the rest; a leaf lock
	queue []graphQLEvent
	one   [1]graphQLEvent // where queue begins: most of the time one event waits
	most  int             // in queue: what comes when it is full is dropped
	over  bool
}

// graphQLEvent is a record that a subscription is told of, and what others who are told the same have made of it.
type graphQLEvent struct {
	doc  value.Value
	kept *live.Kept
}

// graphQLKey is equal for those who make the same of an event: an operation, that is its text, its name and its
// variables under a schema, and who looks.
type graphQLKey struct {
	schema                 *graphql.Schema
	query, operation, vars string
	by                     query.Viewer
}

func keyOf(req *GraphQLRequest, schema *graphql.Schema) graphQLKey {
	k := graphQLKey{schema: schema, query: req.Query, operation: req.Operation}
	if req.Variables != nil {
		k.vars = value.ObjectOf(req.Variables).Text()
	}
	return k
}

// Subscribe starts a live query, whose events wait for Next, most of them at a time. The response says why it did not
// start. Errors: ErrNoSubscription; those of Execute.
func (g *GraphQL) Subscribe(ctx context.Context, req *GraphQLRequest,
	most int) (*GraphQLSubscription, *GraphQLResponse, error) {
	op, resp, err := g.prepare(req)
	if op == nil || err != nil {
		return nil, resp, err
	}
	if op.Kind() != graphql.Subscription {
		return nil, nil, ErrNoSubscription
	}
	stmt, err := op.Watch(g.s.e.queries.ReadPath)
	if err != nil {
		resp.Errors = []*GraphQLFailure{{Err: err}}
		return nil, resp, nil
	}
	sub := &GraphQLSubscription{g: g, op: op, key: keyOf(req, g.schema), wake: make(chan struct{}, 1), most: most}
	sub.queue = sub.one[:0]
	st := *g.s.snapshot()
	st.Deliver, st.Quiet, st.Current = sub.deliver, true, g.s.state.Load
	ctx, q := g.s.e.queries.NewQuery(ctx, &st, nil, query.Source{Kind: "graphql", Text: req.Query})
	defer q.Close()
	q.Statement(ctx, &prepare.Statement{Stmt: stmt, Writes: true})
	res := q.Take()[0]
	if res.Err != nil {
		g.s.e.logCause(res.Err)
		resp.Errors = []*GraphQLFailure{{Err: &errs.Error{Kind: res.Err.Kind, Detail: res.Err.Detail, Err: res.Err,
			Msg: "Internal Error: Query execution failed: " + res.Err.Msg}}}
		return nil, resp, nil
	}
	sub.id = res.Value.UUID()
	return sub, resp, nil
}

// deliver takes a notification. It does not wait.
func (s *GraphQLSubscription) deliver(n *Notification) error {
	s.mu.Lock()
	switch {
	case n.Action == "KILLED":
		s.over = true
	case len(s.queue) < s.most:
		s.queue = append(s.queue, graphQLEvent{n.Result, n.Kept()})
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// take gives the event that waits longest.
func (s *GraphQLSubscription) take() (e graphQLEvent, ok, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return e, false, s.over
	}
	e = s.queue[0]
	s.queue[0] = graphQLEvent{}
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = s.one[:0]
	}
	return e, true, false
}

// Next waits for the next event, with the rights that the session has by then; false at the end of the subscription, of
// the session's rights, or of ctx. The response is good until the next call.
func (s *GraphQLSubscription) Next(ctx context.Context) (*GraphQLResponse, bool) {
	for {
		e, ok, over := s.take()
		if over {
			return nil, false
		}
		if ok {
			return s.event(ctx, e)
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-s.wake:
		}
	}
}

// event is the response that tells of a record. Others who are told the same and have the same rights get it as it is,
// unless it says anything of the session itself.
func (s *GraphQLSubscription) event(ctx context.Context, e graphQLEvent) (*GraphQLResponse, bool) {
	now := s.g.s.state.Load()
	st, err := s.g.s.mayQuery(now)
	if err != nil { // SECURITY: the rights may have gone since the change was matched
		return nil, false
	}
	if s.last == nil || s.from != now || st.Checked != now.Checked {
		s.key.by = query.ViewerOf(&st.Auth.Principal)
		s.last, s.from = s.key, now
	}
	s.resp = GraphQLResponse{Kind: graphql.Subscription}
	resp := &s.resp
	if data, ok := e.kept.Get(s.last); ok {
		resp.Data = data
		return resp, true
	}
	ctx, q := s.g.s.e.queries.NewQuery(ctx, st, nil, query.Source{Kind: "graphql", Text: "subscription"})
	defer q.Close()
	part := s.op.Event(e.doc)
	data, err := s.g.runParts(ctx, q, []*graphql.Part{part}, resp)
	if err != nil {
		return nil, false
	}
	if resp.Data = data; !part.Own && len(resp.Errors) == 0 && len(st.Vars) == 0 {
		e.kept.Put(s.last, data)
	}
	return resp, true
}

// Close ends the live query.
func (s *GraphQLSubscription) Close() { s.g.s.e.queries.Hub.Kill(s.id, s.g.s.ID()) }
