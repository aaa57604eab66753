package http

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// door is Signin or Signup of a session.
type door func(s *engine.Session, ctx context.Context, params *value.Object) (value.Value, error)

func (s *Server) signin(w http.ResponseWriter, r *http.Request) {
	s.enter(w, r, s.Limits.Signin, (*engine.Session).Signin)
}

func (s *Server) signup(w http.ResponseWriter, r *http.Request) {
	s.enter(w, r, s.Limits.Signup, (*engine.Session).Signup)
}

// enter answers credentials with a token.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, limit int64, through door) {
	accept := mediaType(r.Header.Get("Accept"))
	f, ok := accepted(r)
	if !ok && accept != "text/plain" {
		s.refuse(w, http.StatusUnsupportedMediaType, "")
		return
	}
	params, err := s.readObject(w, r, limit)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	client := s.client(r)
	if s.RPC.Auth != nil {
		if wait, ok := s.RPC.Auth.Allow(client); !ok {
			s.tooMany(w, r, wait)
			return
		}
	}
	v, err := through(s.RPC.Engine.Session(), r.Context(), withAccess(params))
	s.RPC.Metrics.Auth(err == nil)
	if err != nil {
		if s.RPC.Auth != nil && rpc.FailedAuth(err) {
			s.RPC.Auth.Failed(client)
		}
		s.failSignin(w, r, err)
		return
	}
	if err := s.token(w, f, accept, v); err != nil {
		s.fail(w, r, err)
	}
}

func (s *Server) tooMany(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	s.RPC.Metrics.Limited("auth")
	w.Header().Set("Retry-After", strconv.Itoa(rpc.Seconds(wait)))
	s.fail(w, r, rpc.TooManyAttempts(wait))
}

// withAccess reads the access method under its long name where the short one is missing.
func withAccess(params *value.Object) *value.Object {
	for _, name := range [...]string{"ac", "AC"} {
		if _, ok := params.Get(name); ok {
			return params
		}
	}
	if v, ok := params.Get("access"); ok && v.Kind() == value.KindString {
		return params.With("ac", v)
	}
	return params
}

// failSignin says no. A THROW of the access method's own and broken requests keep their text; whatever else is
// wrong with the credentials gets the one answer.
func (s *Server) failSignin(w http.ResponseWriter, r *http.Request, err error) {
	e := errs.As(err)
	switch {
	case e.Kind == errs.KindThrown, e.Kind == errs.KindValidation:
		s.refuse(w, http.StatusBadRequest, e.Msg)
	case rpc.FailedAuth(e):
		s.Log.Debug("authentication failed", "client", s.client(r), "err", e)
		s.refuse(w, http.StatusUnauthorized, authProblem)
	default:
		s.fail(w, r, err)
	}
}

// token answers a successful sign-in: v is the token, or an object {access, refresh}.
func (s *Server) token(w http.ResponseWriter, f wire.Format, accept string, v value.Value) error {
	var refresh value.Value
	if v.Kind() == value.KindObject {
		refresh, _ = v.Object().Get("refresh")
		v, _ = v.Object().Get("access")
	}
	if accept == "text/plain" {
		return s.reply(w, http.StatusOK, "text/plain; charset=utf-8", func(b []byte) ([]byte, error) {
			return append(b, v.Str()...), nil
		})
	}
	fields := []value.Field{
		{Name: "code", Value: value.Int(http.StatusOK)},
		{Name: "details", Value: value.Str("Authentication succeeded")},
		{Name: "token", Value: v},
	}
	if !refresh.IsNone() {
		fields = append(fields, value.Field{Name: "refresh", Value: refresh})
	}
	return s.reply(w, http.StatusOK, f.ContentType(), func(b []byte) ([]byte, error) {
		return f.Append(b, value.ObjectOf(value.NewObject(fields...)))
	})
}
