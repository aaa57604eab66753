package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/graphql"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/prepare"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/value"
)

// The parts of GraphQL that clients of the engine see.
type (
	GraphQLRequest = graphql.Request
	GraphQLLimits  = graphql.OperationLimits
	GraphQLKind    = graphql.OperationKind
	GraphQLFailure = graphql.Failure
)

// GraphQLResponse is the answer to a GraphQL request.
type GraphQLResponse struct {
	Kind   GraphQLKind
	Data   []byte // an object in JSON, or null
	Errors []*GraphQLFailure
	Plans  int // statements that ran for it
}

// GraphQL is the GraphQL schema of the database that a session has in use, at one moment.
type GraphQL struct {
	s      *Session
	schema *graphql.Schema
}

// GraphQL finds the schema of the database in use. Errors: no namespace or database is selected, GraphQL is not
// configured, or no schema can be made, all of kind Configuration or Validation; those of sessions that have ended.
func (s *Session) GraphQL(ctx context.Context) (*GraphQL, error) {
	st := s.snapshot()
	if st.Expired(s.e.queries.Clock) {
		return nil, sessionExpired()
	}
	st, err := s.still(st)
	if err != nil {
		return nil, err
	}
	switch {
	case st.Auth.NS == "":
		return nil, errs.Validation("No namespace specified. Set the `surreal-ns` header on the request.")
	case st.Auth.DB == "":
		return nil, errs.Validation("No database specified. Set the `surreal-db` header on the request.")
	}
	g := &GraphQL{s: s}
	err = s.e.queries.Read(ctx, st, func(r *exec.Run) (err error) {
		g.schema, err = s.e.graphql.Schema(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// SDL is the schema in the schema definition language.
func (g *GraphQL) SDL() string { return g.schema.SDL() }

// errAnonymous is the error for a client without an identity where guests are not allowed.
func errAnonymous(err error) error {
	e := errs.As(err)
	return &errs.Error{Kind: e.Kind, Detail: e.Detail, Msg: "Internal Error: Failed to execute query plan: " + e.Msg, Err: e}
}

// Execute runs a query or mutation. The error is for the request as a whole: the session may not run queries, or its
// time ends.
func (g *GraphQL) Execute(ctx context.Context, req *GraphQLRequest) (*GraphQLResponse, error) {
	op, resp, err := g.prepare(req)
	if op == nil || err != nil {
		return resp, err
	}
	if op.Kind() == graphql.Subscription {
		resp.Errors = []*GraphQLFailure{{Err: errs.Validation("Subscriptions require WebSocket transport on GET /graphql")}}
		return resp, nil
	}
	return g.run(ctx, op, req.Query, resp)
}

// prepare makes the operation of a request; nil where the response says why there is none.
func (g *GraphQL) prepare(req *GraphQLRequest) (*graphql.Operation, *GraphQLResponse, error) {
	s := g.s
	st := s.snapshot()
	resp := &GraphQLResponse{Kind: graphql.Unknown, Data: []byte("null")}
	op, failures := g.schema.Prepare(req, s.e.opt.GraphQL.WithDefaults(),
		graphql.Converters{Record: parse.RecordID, Value: parse.Value})
	anonymous := s.e.caps.MayEnter(&st.Auth.Principal)
	if anonymous != nil && (op == nil || !op.Public()) {
		// SECURITY: errors do not describe the schema.
		resp.Errors = []*GraphQLFailure{{Err: errAnonymous(anonymous)}}
		return nil, resp, nil
	}
	if op == nil {
		resp.Errors = failures
		return nil, resp, nil
	}
	resp.Kind = op.Kind()
	if anonymous != nil {
		return op, resp, nil
	}
	_, err := s.mayQuery(st)
	return op, resp, err
}

func (g *GraphQL) run(ctx context.Context, op *graphql.Operation, text string,
	resp *GraphQLResponse) (*GraphQLResponse, error) {
	st := g.s.snapshot()
	ctx, q := g.s.e.queries.NewQuery(ctx, st, nil, query.Source{Kind: "graphql", Text: text})
	defer q.Close()
	data, err := g.runParts(ctx, q, op.Parts(), resp)
	if err != nil {
		return nil, err
	}
	resp.Data = data
	return resp, nil
}

// runParts runs the parts of an operation and puts their answers together.
func (g *GraphQL) runParts(ctx context.Context, q *query.Query, parts []*graphql.Part,
	resp *GraphQLResponse) ([]byte, error) {
	resp.Errors, resp.Plans = nil, 0
	data, null := []byte{'{'}, false
	for i, p := range parts {
		if err := g.runPart(ctx, q, p); err != nil {
			return nil, err
		}
		for _, f := range p.Failures {
			g.s.e.logCause(f.Err)
		}
		resp.Errors = append(resp.Errors, p.Failures...)
		resp.Plans += p.Plans
		if null = p.Null; null {
			break // GraphQL runs no more where data is nothing
		}
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, p.Data...)
	}
	if null {
		return []byte("null"), nil
	}
	return append(data, '}'), nil
}

// logCause logs what is behind an error that clients are not told of.
func (e *Engine) logCause(err error) {
	var known *errs.Error
	if errors.As(err, &known) {
		if cause := query.HiddenCause(known); cause != nil {
			e.opt.Log.Error("a GraphQL field failed", "err", cause)
		}
	}
}

// runPart runs one part. Its failures are in its answer; the error ends the request.
func (g *GraphQL) runPart(ctx context.Context, q *query.Query, p *graphql.Part) error {
	if params, signup, ok := p.Login(); ok {
		if g.s.snapshot().ReadOnly {
			p.Fail(errs.NotAllowed("The session is read-only: it cannot sign in or up"))
			return nil
		}
		g.login(ctx, p, params, signup)
		return nil
	}
	if p.Elems != nil {
		for _, e := range p.Elems {
			if err := g.runPart(ctx, q, e); err != nil {
				return err
			}
			if e.Failed() {
				break
			}
		}
		p.Join()
		return nil
	}
	return g.statement(ctx, q, p)
}

func (g *GraphQL) statement(ctx context.Context, q *query.Query, p *graphql.Part) error {
	q.Statement(ctx, &prepare.Statement{Stmt: p.Statement(), Writes: p.Writes()})
	res := q.Take()
	err := res[len(res)-1].Err
	switch {
	case err == nil, p.Failed():
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	p.Fail(&errs.Error{Kind: err.Kind, Detail: err.Detail, Msg: "Internal Error: Query execution failed: " + err.Msg,
		Err: err})
	return nil
}

// login signs in or up by a record access method of the database, without a trace in the session itself.
func (g *GraphQL) login(ctx context.Context, p *graphql.Part, params *value.Object, signup bool) {
	ns, db := g.s.Place()
	params = params.With("NS", value.Str(ns)).With("DB", value.Str(db))
	inner := g.s.e.Session()
	defer inner.Close()
	inner.SetGuard(g.s.guarding())
	st := g.s.snapshot()
	inner.change(func(to *exec.SessionState) { to.IP, to.Orig = st.IP, st.Orig })
	enter := inner.Signin
	if signup {
		enter = inner.Signup
	}
	token, err := enter(ctx, params)
	if err != nil {
		p.Fail(&errs.Error{Kind: errs.KindNotAllowed, Msg: "Authentication error: There was a problem with authentication"})
		return
	}
	if token.Kind() == value.KindObject { // refresh tokens are not for this door
		token, _ = token.Object().Get("access")
	}
	p.Token(value.ToString(token))
}

// AppendJSON appends the response as JSON.
func (r *GraphQLResponse) AppendJSON(b []byte) []byte {
	b = append(append(b, `{"data":`...), r.Data...)
	if len(r.Errors) > 0 {
		b = append(b, `,"errors":`...)
		b = AppendGraphQLErrors(b, r.Errors)
	}
	return append(b, '}')
}

// AppendGraphQLErrors appends errors as GraphQL shows them.
func AppendGraphQLErrors(b []byte, list []*GraphQLFailure) []byte {
	b = append(b, '[')
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = value.AppendJSON(append(b, `{"message":`...), value.Str(graphQLMessage(f.Err)))
		for j, l := range f.Locations {
			if j == 0 {
				b = append(b, `,"locations":[`...)
			} else {
				b = append(b, ',')
			}
			b = strconv.AppendInt(append(b, `{"line":`...), int64(l.Line), 10)
			b = append(strconv.AppendInt(append(b, `,"column":`...), int64(l.Column), 10), '}')
		}
		if len(f.Locations) > 0 {
			b = append(b, ']')
		}
		for j, step := range f.Path {
			if j == 0 {
				b = append(b, `,"path":[`...)
			} else {
				b = append(b, ',')
			}
			if n, ok := step.(int); ok {
				b = strconv.AppendInt(b, int64(n), 10)
			} else {
				b = value.AppendJSON(b, value.Str(step.(string)))
			}
		}
		if len(f.Path) > 0 {
			b = append(b, ']')
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// graphQLMessage is the text of an error for clients. Errors of engine/graphql that are not of package errs are texts
// of its own, and of the GraphQL library.
func graphQLMessage(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Msg
	}
	return err.Error()
}
