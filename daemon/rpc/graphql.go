package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// GraphQL runs one GraphQL request over a schema, watched by metrics and the slow log. Where the time of ctx ends
// before, the answer says so. The error is for the request as a whole.
func (srv *Server) GraphQL(ctx context.Context, s *engine.Session, g *engine.GraphQL,
	req *engine.GraphQLRequest) (*engine.GraphQLResponse, error) {
	start := time.Now()
	resp, err := g.Execute(ctx, req)
	class := ""
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		class = "timeout"
		resp, err = srv.lateGraphQL(), nil
	}
	kind := "unknown"
	if resp != nil {
		kind = string(resp.Kind)
		if class == "" && len(resp.Errors) > 0 {
			class = "client"
		}
	} else if err != nil {
		class = "client"
	}
	spent := time.Since(start)
	srv.Metrics.GraphQL(kind, class, spent)
	srv.watch(ctx, s, req.Query, req.Variables, spent, class == "")
	return resp, err
}

// lateGraphQL is the answer to a request whose time ended.
func (srv *Server) lateGraphQL() *engine.GraphQLResponse {
	limit := srv.Limits.QueryTimeout
	err := errs.TimedOut(limit, limitText(limit))
	err.Msg = "The GraphQL request was not executed because it exceeded the timeout: " + limitText(limit)
	return &engine.GraphQLResponse{Kind: "unknown", Data: []byte("null"), Errors: []*engine.GraphQLFailure{{Err: err}}}
}

// GraphQLRequest reads a request {query, variables, operationName, extensions}. The error says what is wrong with it.
func GraphQLRequest(v value.Value) (*engine.GraphQLRequest, error) {
	if v.Kind() != value.KindObject {
		return nil, errs.Validation("A GraphQL request is an object with the text `query`")
	}
	req := &engine.GraphQLRequest{}
	query, _ := v.Object().Get("query")
	vars, _ := v.Object().Get("variables")
	name, _ := v.Object().Get("operationName")
	switch {
	case query.Kind() != value.KindString:
		return nil, errs.Validation("A GraphQL request is an object with the text `query`")
	case !vars.IsNullish() && vars.Kind() != value.KindObject:
		return nil, errs.Validation("`variables` of a GraphQL request must be an object")
	case !name.IsNullish() && name.Kind() != value.KindString:
		return nil, errs.Validation("`operationName` of a GraphQL request must be a text")
	}
	req.Query = query.Str()
	if vars.Kind() == value.KindObject {
		req.Variables = vars.Object()
	}
	if name.Kind() == value.KindString {
		req.Operation = name.Str()
	}
	return req, nil
}

// graphql runs a GraphQL request: [query, variables?, operationName?], or [{query, variables?, operationName?},
// options?]. It answers with {data, errors?}. It runs in the session itself; a transaction that the request names is
// ignored.
func graphql(ctx context.Context, k *call) (wire.Response, error) {
	p, err := k.params(1, 3, "Expected (query:string, variables:object, operationName:string)")
	if err != nil {
		return wire.Response{}, err
	}
	body := p[0]
	if body.Kind() != value.KindObject {
		body = value.ObjectOf(value.NewObject(value.Field{Name: "query", Value: p[0]},
			value.Field{Name: "variables", Value: p[1]},
			value.Field{Name: "operationName", Value: p[2]}))
	}
	req, err := GraphQLRequest(body)
	if err != nil {
		return wire.Response{}, errs.InvalidParams("%s", errs.As(err).Msg)
	}
	g, err := k.session.engine.GraphQL(ctx)
	if err != nil {
		return wire.Response{}, err
	}
	resp, err := k.conn.srv.GraphQL(ctx, k.session.engine, g, req)
	if err != nil {
		return wire.Response{}, err
	}
	v, err := value.DecodeJSONValue(resp.AppendJSON(nil), value.DecodeLimits{})
	return answer(v), err
}
