package http

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// header reads a header by its documented name or its alias.
func header(r *http.Request, name string) string {
	for _, prefix := range [...]string{"Service-", "Surreal-"} {
		if v := r.Header.Get(prefix + name); v != "" {
			return v
		}
	}
	return ""
}

// identified makes a session with the identity in the Authorization header, if there is one, and no more place than
// that brings.
func (s *Server) identified(r *http.Request) (*engine.Session, error) {
	session, _, err := s.enterBy(r)
	return session, err
}

func (s *Server) enterBy(r *http.Request) (session *engine.Session, byName bool, err error) {
	if id := header(r, "Id"); id != "" {
		if _, err := value.ParseUUID(id); err != nil {
			return nil, false, errs.InvalidAuth()
		}
	}
	session = s.RPC.Session(s.client(r), r.Header.Get("Origin"))
	byName, err = s.identity(r, session)
	return session, byName, err
}

// session makes the session of a request: its identity by Authorization, its place by the headers, made where it does
// not exist.
func (s *Server) session(r *http.Request) (*engine.Session, error) {
	return s.placed(r, (*engine.Session).Use)
}

// visitor is session for a request that only reads: nothing is made.
func (s *Server) visitor(r *http.Request) (*engine.Session, error) {
	return s.placed(r, (*engine.Session).Visit)
}

func (s *Server) placed(
	r *http.Request, use func(s *engine.Session, ctx context.Context, ns, db *string) error,
) (*engine.Session, error) {
	session, byName, err := s.enterBy(r)
	if err != nil {
		return nil, err
	}
	ns, db := header(r, "NS"), header(r, "DB")
	switch {
	case byName && ns == "" && db == "":
		// Where a user is defined is not where it works: only the headers say that.
		return session, use(session, r.Context(), &ns, &db)
	case ns == "" && db == "":
		return session, nil
	}
	return session, use(session, r.Context(), named(ns), named(db))
}

func named(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

// identity gives session the identity in the Authorization header, if there is one; byName says that it is a name and
// a password.
func (s *Server) identity(r *http.Request, session *engine.Session) (byName bool, err error) {
	return s.identityBy(r, session, r.Header.Get("Authorization"))
}

// identityBy gives session the identity in the value of an Authorization header; "" for none.
func (s *Server) identityBy(r *http.Request, session *engine.Session, authorization string) (byName bool, err error) {
	if authorization == "" {
		return false, nil
	}
	scheme, credentials, _ := strings.Cut(authorization, " ")
	credentials = strings.TrimSpace(credentials)
	var attempt func() error
	switch {
	case strings.EqualFold(scheme, "Basic"):
		ns, db := header(r, "Auth-NS"), header(r, "Auth-DB")
		user, pass, ok := basic(credentials)
		if !ok || db != "" && ns == "" {
			return false, errs.InvalidAuth()
		}
		byName = true
		attempt = func() error { return session.SigninBasic(r.Context(), user, pass, ns, db) }
	case strings.EqualFold(scheme, "Bearer"):
		attempt = func() error { return session.Authenticate(r.Context(), credentials) }
	default:
		return false, errs.InvalidAuth()
	}
	return byName, s.counted(r, "http "+strings.ToLower(scheme), attempt)
}

// counted runs one attempt to get an identity. All wrong credentials get the same answer.
func (s *Server) counted(r *http.Request, way string, attempt func() error) error {
	err := attempt()
	s.RPC.NoteSignin(s.client(r), way, err)
	if err == nil || !rpc.FailedAuth(err) || errors.As(err, new(rpc.Wait)) {
		return err
	}
	return errs.InvalidAuth()
}

// basic reads the credentials of the Basic scheme.
func basic(credentials string) (user, pass string, ok bool) {
	b, err := base64.StdEncoding.DecodeString(credentials)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(b), ":")
}
