package http

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// door is Signin or Signup of a session.
type door func(s *engine.Session, ctx context.Context, params *value.Object) (value.Value, error)

func (s *Server) signin(w http.ResponseWriter, r *http.Request) error {
	return s.enter(w, r, s.Limits.Signin, (*engine.Session).Signin)
}

func (s *Server) signup(w http.ResponseWriter, r *http.Request) error {
	return s.enter(w, r, s.Limits.Signup, (*engine.Session).Signup)
}

// enter answers credentials with a token.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, limit int64, through door) error {
	accept := mediaType(r.Header.Get("Accept"))
	f, ok := accepted(r)
	if !ok && accept != "text/plain" {
		return errMedia
	}
	params, err := s.readObject(w, r, limit)
	if err != nil {
		return err
	}
	client := s.client(r)
	v, err := through(s.RPC.Session(client, r.Header.Get("Origin")), r.Context(), withAccess(params))
	s.RPC.NoteSignin(client, "http "+strings.TrimPrefix(r.URL.Path, "/"), err)
	if err != nil {
		return refusedSignin(err)
	}
	return s.token(w, f, accept, v)
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

// refusedSignin is the error for a client. A THROW of the access method and broken requests keep their text; all other
// failures give the same answer.
func refusedSignin(err error) error {
	e := errs.As(err)
	switch {
	case e.Kind == errs.KindThrown, e.Kind == errs.KindValidation:
		return &refusal{http.StatusBadRequest, e.Msg}
	case errors.As(err, new(rpc.Wait)):
		return err
	case rpc.FailedAuth(e):
		return &refusal{http.StatusUnauthorized, authProblem}
	}
	return err
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
