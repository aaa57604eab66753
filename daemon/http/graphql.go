package http

import (
	"context"
	"net/http"

	"github.com/nacredb/nacre/daemon/graphql"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/ws"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// anonymousGraphQL is the largest body of an anonymous client, which can only sign in or up.
const anonymousGraphQL = 16 << 10

// graphQL runs GraphQL: the body is a request, or a list of them that is answered by a list. What is wrong is told in
// the form of GraphQL, but for a login that fails.
func (s *Server) graphQL(w http.ResponseWriter, r *http.Request) error {
	session, err := s.visitor(r)
	if err != nil {
		return err
	}
	g, err := session.GraphQL(r.Context())
	if err != nil {
		return s.noGraphQL(w, err)
	}
	limit := s.Limits.GraphQL
	if session.MayEnter() != nil {
		limit = min(limit, anonymousGraphQL)
	}
	b, err := s.read(w, r, session, limit)
	if err != nil {
		return err
	}
	v, err := value.DecodeJSONValue(b, rpc.DecodingOf(session, s.decode.MaxDepth))
	if err != nil {
		return s.noGraphQL(w, errs.Validation("The body is not a GraphQL request in JSON"))
	}
	if err := decoded(w, len(b), v); err != nil {
		return err
	}
	ctx, cancel := s.RPC.Deadline(r.Context())
	defer cancel()
	if v.Kind() == value.KindArray {
		return s.graphQLBatch(ctx, w, session, g, v.Elems())
	}
	resp, err := s.graphQLOne(ctx, session, g, v)
	if err != nil {
		return s.noGraphQL(w, err)
	}
	defer s.RPC.Engine.Hold(2 * len(resp.Data)).Release()
	return s.reply(w, http.StatusOK, "application/json",
		func(b []byte) ([]byte, error) { return resp.AppendJSON(b), nil })
}

func (s *Server) graphQLOne(ctx context.Context, session *engine.Session, g *engine.GraphQL,
	v value.Value) (*engine.GraphQLResponse, error) {
	req, err := rpc.GraphQLRequest(v)
	if err != nil {
		return nil, err
	}
	return s.RPC.GraphQL(ctx, session, g, req)
}

// graphQLBatch runs requests one after the other. One that is none has an error in its place.
func (s *Server) graphQLBatch(ctx context.Context, w http.ResponseWriter, session *engine.Session, g *engine.GraphQL,
	list []value.Value) error {
	switch {
	case len(list) == 0:
		return s.noGraphQL(w, errs.Validation("A batch of GraphQL requests has at least one"))
	case len(list) > s.Limits.GraphQLBatch:
		s.RPC.Metrics.Limited("graphql_batch")
		return s.noGraphQL(w, errs.Validation("A batch has at most %d GraphQL requests", s.Limits.GraphQLBatch))
	}
	mem := intake(w)
	out := []byte{'['}
	for i, v := range list {
		resp, err := s.graphQLOne(ctx, session, g, v)
		if err != nil {
			resp = &engine.GraphQLResponse{Data: []byte("null"), Errors: []*engine.GraphQLFailure{{Err: errs.As(err)}}}
		}
		if i > 0 {
			out = append(out, ',')
		}
		before := len(out)
		out = resp.AppendJSON(out)
		if err := charge(mem, 2*(len(out)-before)); err != nil {
			return err
		}
	}
	return s.reply(w, http.StatusOK, "application/json", func(b []byte) ([]byte, error) {
		return append(append(b, out...), ']'), nil
	})
}

// noGraphQL answers a request that has no schema, or is none. Logins that fail and what is forbidden are answered as on
// every route.
func (s *Server) noGraphQL(w http.ResponseWriter, err error) error {
	e := errs.As(err)
	if e.Kind != errs.KindValidation && e.Kind != errs.KindConfiguration {
		return err
	}
	resp := engine.GraphQLResponse{Data: []byte("null"), Errors: []*engine.GraphQLFailure{{Err: e}}}
	return s.reply(w, http.StatusBadRequest, "application/json",
		func(b []byte) ([]byte, error) { return resp.AppendJSON(b), nil })
}

// graphQLSocket upgrades to a WebSocket of GraphQL. The place is that of the headers; an identity may also come with
// connection_init.
func (s *Server) graphQLSocket(w http.ResponseWriter, r *http.Request) error {
	if !isUpgrade(r) {
		w.Header().Set("Allow", http.MethodPost)
		return &refusal{status: http.StatusMethodNotAllowed}
	}
	session, err := s.visitor(r)
	if err != nil {
		return err
	}
	if _, err := session.GraphQL(r.Context()); err != nil {
		return s.noGraphQL(w, err)
	}
	mem := intake(w)
	if !session.Anonymous() {
		mem.Known()
	}
	if err := charge(mem, headSize(r)); err != nil { // it stays as long as the connection
		return err
	}
	if !s.Sockets.Reserve() {
		return unavailable(w)
	}
	ns, db := session.Place()
	limit := s.Limits.GraphQL
	s.Sockets.ServeProtocol(w, r, s.client(r), limit, min(limit, anonymousGraphQL), graphql.Subprotocols,
		func(out *ws.Frames) ws.Protocol {
			return graphql.New(out, graphql.Options{RPC: s.RPC, Session: session, Events: s.Limits.GraphQLEvents,
				Depth: s.decode.MaxDepth, Login: func(ctx context.Context, authorization string) error {
					if _, err := s.identityBy(r, session, authorization); err != nil {
						return err
					}
					return session.Visit(ctx, &ns, &db) // the place is not that of the token
				}})
		})
	return nil
}
