// Package endpoint answers requests to the endpoints that DEFINE API made: it finds the definition for a path and
// method, checks permissions, and runs middleware and handler.
//
// What goes wrong inside an endpoint is an answer with a status; errors are for what prevents an answer.
package endpoint

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// requestIDHeader carries the id of a request, in the request and in its answer.
const requestIDHeader = "x-surreal-request-id"

// Media types of bodies.
const (
	mediaNative = "application/vnd.surrealdb.native"
	mediaJSON   = "application/json"
	mediaCBOR   = "application/cbor"
	mediaPlain  = "text/plain"
	mediaBytes  = "application/octet-stream"
	mediaFlat   = "application/vnd.surrealdb.flatbuffers"
)

// apiAnswer returns the response of an API. Errors of handlers and middleware are answers too.
type apiAnswer struct {
	status  int
	headers *value.Object
	body    value.Value
	context value.Value // an object, for the middleware around; NONE is an empty one
	late    *errs.Error // api::timeout ended it
}

func plainAnswer(status int, text string) *apiAnswer {
	return &apiAnswer{status: status, headers: value.NewObject(), body: value.Str(text)}
}

// object is the answer as callers see it.
func (a *apiAnswer) object(id string) *value.Object {
	return value.ObjectOfSorted([]value.Field{
		{Name: "body", Value: a.body},
		{Name: "headers", Value: value.ObjectOf(a.headers)},
		{Name: "request_id", Value: value.Str(id)},
		{Name: "status", Value: value.Int(int64(a.status))},
	})
}

// inside is the answer as middleware sees it: with its context.
func (a *apiAnswer) inside(id string) value.Value {
	local := a.context
	if local.IsNone() {
		local = value.ObjectOf(nil)
	}
	return value.ObjectOf(a.object(id).With("context", local))
}

// Caller implements exec.Endpoints.
type Caller struct{}

// Invoke calls the endpoint at a path with options {method, headers, query, body, context}. The answer is an
// object {status, headers, body, request_id}. Errors are for calls that are not in order; what goes wrong inside the
// endpoint is an answer with a status.
func (Caller) Invoke(ctx context.Context, r *exec.Run, path string, options value.Value) (value.Value, error) {
	db, err := r.Database()
	if err != nil {
		return value.None, err
	}
	id := uuid.NewString()
	req, method, err := readRequest(options, id)
	if err != nil {
		return value.None, err
	}
	parts, err := escapedParts(path)
	if err != nil {
		return value.None, err
	}
	answer, err := serve(ctx, r, db, parts, method, req, id)
	if err != nil {
		return value.None, err
	}
	if answer.late != nil {
		return value.None, answer.late
	}
	return value.ObjectOf(answer.object(id)), nil
}

// Request is a request to an endpoint from outside.
type Request struct {
	ID            string        // unique; the answer carries it
	Method        string        // get, post, put, patch, delete or trace
	Path          []string      // its parts without escapes
	Header, Query *value.Object // of strings; names of headers in lower case
	Body          value.Value   // bytes, or NONE
}

// Answer is the response of an endpoint.
type Answer struct {
	Status int           // from 100 to 999
	Header *value.Object // of strings that fit into headers
	Body   value.Value
}

// Serve answers a request from outside. Errors are for what prevents an answer: a database that is not there, the
// end of the context.
func Serve(ctx context.Context, r *exec.Run, in *Request) (*Answer, error) {
	db, err := r.Database()
	if err != nil {
		return nil, err
	}
	parts := make([]pathPart, len(in.Path))
	for i, p := range in.Path {
		parts[i] = pathPart{p, p}
	}
	req := requestObject(in.ID, in.Method, in.Header, in.Query, value.ObjectOf(nil), in.Body)
	answer, err := serve(ctx, r, db, parts, in.Method, req, in.ID)
	if err != nil {
		return nil, err
	}
	return &Answer{Status: answer.status, Header: answer.headers, Body: value.Detach(answer.body)}, nil
}

// serve finds the endpoint for a request and runs it with its middleware.
func serve(ctx context.Context, r *exec.Run, db *catalog.Database, parts []pathPart, method string, req *value.Object,
	id string) (*apiAnswer, error) {
	found, err := findRoute(r, db, parts, method)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return plainAnswer(404, "Not found"), nil
	}
	c := &apiCall{r: r, id: id, handler: found.action.Then, by: found.by}
	req = req.With("params", value.ObjectOf(found.params))
	if allowed, err := c.collect(ctx, db.Inner(), found, req); err != nil {
		return nil, err
	} else if !allowed {
		return plainAnswer(403, "Permission denied: You are not allowed to access this resource"), nil
	}
	answer, err := c.next(ctx, 0, value.ObjectOf(req))
	if err != nil {
		return nil, err
	}
	answer.headers = answer.headers.With(requestIDHeader, value.Str(id))
	return answer, nil
}

// apiFailure is an error that a middleware answers with a status of its own.
type apiFailure struct {
	status int
	text   string
}

func (e *apiFailure) Error() string { return e.text }

// failure is the answer to an error: the user's own errors are shown, mistakes in the use of middleware are not.
func failure(err error) *apiAnswer {
	if f, ok := errors.AsType[*apiFailure](err); ok {
		if f.text == "" {
			return &apiAnswer{status: f.status, headers: value.NewObject()}
		}
		return plainAnswer(f.status, f.text)
	}
	return plainAnswer(500, errs.As(exec.AsWritten(err)).Msg)
}

// hidden is a mistake in the use of a middleware.
func hidden() error { return &apiFailure{status: 500} }

// readRequest makes the request object of the options of a call.
func readRequest(options value.Value, id string) (req *value.Object, method string, err error) {
	if options.Kind() != value.KindObject {
		return nil, "", errs.Internal("Expected object, got %s", plainKind(options))
	}
	o := options.Object()
	method = "get"
	if v, ok := o.Get("method"); ok {
		if method, ok = apiMethod(v); !ok {
			return nil, "", badRequest("method", "Failed to decode ApiMethod, no variants matched")
		}
	}
	headers, err := textFields(o, "headers")
	if err != nil {
		return nil, "", err
	}
	for _, f := range headers.Fields() {
		if !validHeader(f.Name, "") {
			return nil, "", badRequest("headers", "invalid HTTP header name")
		}
	}
	headers = lowerNames(headers)
	for name, text := range map[string]string{"accept": mediaNative + ";q=0.9, */*;q=0.8",
		"content-type": mediaNative} {
		if _, ok := headers.Get(name); !ok {
			headers = headers.With(name, value.Str(text))
		}
	}
	query, err := textFields(o, "query")
	if err != nil {
		return nil, "", err
	}
	local, ok := o.Get("context")
	if !ok {
		local = value.ObjectOf(nil)
	} else if local.Kind() != value.KindObject {
		return nil, "", badRequest("context", "Expected object, got "+plainKind(local))
	}
	body, _ := o.Get("body")
	return requestObject(id, method, headers, query, local, body), method, nil
}

// requestObject is $request, but for the parameters of the path.
func requestObject(id, method string, headers, query *value.Object, local, body value.Value) *value.Object {
	return value.NewObject(
		value.Field{Name: "body", Value: body},
		value.Field{Name: "context", Value: local},
		value.Field{Name: "headers", Value: value.ObjectOf(headers.With(requestIDHeader, value.Str(id)))},
		value.Field{Name: "method", Value: value.Str(method)},
		value.Field{Name: "query", Value: value.ObjectOf(query)},
		value.Field{Name: "request_id", Value: value.Str(id)},
	)
}

// plainKind is how these errors name the kind of a value.
func plainKind(v value.Value) string {
	if v.Kind().IsNumber() {
		return "number"
	}
	return fn.TypeName(v)
}

func badRequest(field, what string) error {
	return errs.Internal("Failed to deserialize field '%s' on type 'ApiRequest': %s", field, what)
}

func apiMethod(v value.Value) (string, bool) {
	if v.Kind() != value.KindString {
		return "", false
	}
	switch m := v.Str(); m {
	case "get", "post", "put", "patch", "delete", "trace":
		return m, true
	}
	return "", false
}

// textFields is an option that is an object of strings; the empty object when it is not there.
func textFields(o *value.Object, name string) (*value.Object, error) {
	v, ok := o.Get(name)
	if !ok {
		return value.NewObject(), nil
	}
	if v.Kind() != value.KindObject {
		return nil, badRequest(name, "Expected object, got "+plainKind(v))
	}
	for _, f := range v.Object().Fields() {
		if f.Value.Kind() != value.KindString {
			return nil, badRequest(name, "Failed to convert to object: Expected string, got "+plainKind(f.Value))
		}
	}
	return v.Object(), nil
}

func lowerNames(o *value.Object) *value.Object {
	fields := append([]value.Field(nil), o.Fields()...)
	for i := range fields {
		fields[i].Name = strings.ToLower(fields[i].Name)
	}
	return value.NewObject(fields...)
}

// readAnswer reads what a handler or a middleware of the user's gives back.
func readAnswer(v value.Value) (*apiAnswer, error) {
	bad := &apiFailure{500, "Failed to convert public value to ApiResponse"}
	if v.Kind() != value.KindObject {
		return nil, bad
	}
	o := v.Object()
	a := &apiAnswer{status: 200, headers: value.NewObject()}
	if s, ok := o.Get("status"); ok {
		if s.Kind() != value.KindInt || s.Int() < 100 || s.Int() > 999 {
			return nil, bad
		}
		a.status = int(s.Int())
	}
	if h, ok := o.Get("headers"); ok {
		if h.Kind() != value.KindObject {
			return nil, bad
		}
		for _, f := range h.Object().Fields() {
			if f.Value.Kind() != value.KindString || !validHeader(f.Name, f.Value.Str()) {
				return nil, bad
			}
		}
		a.headers = lowerNames(h.Object())
	}
	if local, ok := o.Get("context"); ok {
		if local.Kind() != value.KindObject {
			return nil, bad
		}
		a.context = local
	}
	a.body, _ = o.Get("body")
	return a, nil
}

func validHeader(name, text string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(text)
}

// middleware is a call of a middleware, and who asked for it.
type middleware struct {
	ast.Call
	by catalog.Definer
}

// apiCall is one call of an endpoint in progress.
type apiCall struct {
	r       *exec.Run
	id      string
	chain   []middleware // the outermost first
	handler ast.Expr
	by      catalog.Definer // of handler
}
