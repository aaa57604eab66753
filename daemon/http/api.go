package http

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// apiMethods are the methods that an endpoint may be defined for, as the language names them. HEAD is a GET whose body
// is not sent.
var apiMethods = map[string]string{
	http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "post", http.MethodPut: "put",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete", http.MethodTrace: "trace",
}

// api answers a request to an endpoint that the database itself defines: /api/{namespace}/{database}/{path…}. The body
// reaches the endpoint as bytes; its middleware decodes them.
func (s *Server) api(w http.ResponseWriter, r *http.Request) error {
	session, err := s.identified(r)
	if err != nil {
		return err
	}
	place, req, err := s.apiRequest(w, r, session)
	if err != nil {
		return err
	}
	answer, err := session.API(r.Context(), place[0], place[1], req)
	if e := errs.As(err); err != nil && e.Kind == errs.KindNotFound {
		return &refusal{http.StatusNotFound, e.Msg}
	}
	if err != nil {
		return err
	}
	return s.apiAnswer(w, r, answer)
}

// apiRequest reads a request; place is the namespace and the database that the path names.
func (s *Server) apiRequest(w http.ResponseWriter, r *http.Request,
	by *engine.Session) (place []string, req *engine.APIRequest, err error) {
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), "/api/"), "/"), "/")
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return nil, nil, errs.Validation("The path is not valid")
		}
		parts[i] = toText(parts[i])
	}
	if len(parts) < 2 || parts[0] == "" || parts[1] == "" {
		return nil, nil, errs.Validation("The path names no namespace and database")
	}
	b, err := s.read(w, r, by, s.Limits.API)
	if err != nil {
		return nil, nil, err
	}
	req = &engine.APIRequest{ID: uuid.NewString(), Method: apiMethods[r.Method], Path: parts[2:], Query: variables(r)}
	if len(b) > 0 {
		req.Body = value.BytesOf(b)
	}
	if req.Query == nil {
		req.Query = value.NewObject()
	}
	req.Header = apiHeaders(r, len(b) > 0)
	return parts[:2], req, nil
}

// apiHeaders are the headers that an endpoint sees, repeated ones joined.
//
// SECURITY: headers that prove the client's identity to the server are left out: the endpoint's code could keep them.
func apiHeaders(r *http.Request, body bool) *value.Object {
	fields := make([]value.Field, 0, len(r.Header)+3)
	for name, values := range r.Header {
		if name != "Authorization" && name != "Proxy-Authorization" {
			fields = append(fields, value.Field{Name: strings.ToLower(name),
				Value: value.Str(toText(strings.Join(values, ", ")))})
		}
	}
	if r.Host != "" {
		fields = append(fields, value.Field{Name: "host", Value: value.Str(toText(r.Host))})
	}
	if r.Header.Get("Accept") == "" {
		fields = append(fields, value.Field{Name: "accept", Value: value.Str("*/*")})
	}
	if body && r.Header.Get("Content-Type") == "" {
		fields = append(fields, value.Field{Name: "content-type", Value: value.Str("application/octet-stream")})
	}
	return value.NewObject(fields...)
}

// apiForbidden are headers that belong to the connection, or that the server alone can know.
var apiForbidden = map[string]bool{
	"connection": true, "content-length": true, "keep-alive": true, "proxy-connection": true, "te": true,
	"trailer":           true,
	"transfer-encoding": true, "upgrade": true, "x-request-id": true,
}

// apiAnswer sends what an endpoint answered.
func (s *Server) apiAnswer(w http.ResponseWriter, r *http.Request, a *engine.APIAnswer) error {
	if a.Status < http.StatusOK {
		return errs.Internal("Failed to convert public value to ApiResponse") // would only announce an answer
	}
	for _, f := range a.Header.Fields() {
		if !apiForbidden[f.Name] {
			w.Header().Set(f.Name, f.Value.Str())
		}
	}
	if a.Body.IsNone() || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		w.WriteHeader(a.Status)
		return nil
	}
	defer s.RPC.Engine.Hold(2 * value.Weight(a.Body)).Release() // and what it is encoded as
	media, fill := apiBody(r, w.Header().Get("Content-Type"), a.Body)
	return s.reply(w, a.Status, media, fill)
}

// apiBody says how a body is written: as its endpoint labelled it, else as the client likes it. Bytes go as they are.
func apiBody(r *http.Request, label string, v value.Value) (media string, fill func([]byte) ([]byte, error)) {
	if v.Kind() == value.KindBytes {
		if label == "" {
			label = "application/octet-stream"
		}
		return label, func(b []byte) ([]byte, error) { return append(b, v.Bytes()...), nil }
	}
	f, known := formatOf(mediaType(label))
	switch {
	case label == "" && mediaType(r.Header.Get("Accept")) == "text/plain":
		label = "text/plain; charset=utf-8"
	case label == "":
		if f, known = accepted(r); !known {
			f, known = wire.JSON, true
		}
		label = f.ContentType()
	}
	if known {
		return label, func(b []byte) ([]byte, error) { return f.Append(b, v) }
	}
	return label, func(b []byte) ([]byte, error) { return append(b, value.ToString(v)...), nil }
}
