package rpc

import (
	"context"
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// use selects a namespace and database: text sets, NULL unsets, NONE leaves as it is.
func use(ctx context.Context, k *call) (wire.Response, error) {
	p, err := k.params(2, 2, "Expected (ns, db)")
	if err != nil {
		return wire.Response{}, err
	}
	ns, err := place(p[0], "ns")
	if err != nil {
		return wire.Response{}, err
	}
	db, err := place(p[1], "db")
	if err != nil {
		return wire.Response{}, err
	}
	s := k.session.engine
	nowNS, _ := s.Place()
	switch {
	case p[0].IsNull() && p[1].IsNone():
		return wire.Response{}, namespaceEmpty()
	case (ns == nil && nowNS == "" || p[0].IsNull()) && db != nil && *db != "":
		return wire.Response{}, namespaceEmpty()
	case ns == nil && db == nil && nowNS == "":
		// A client that names no place gets the server's own, and is told which.
		ns, db = named(k.conn.srv.DefaultNamespace), named(k.conn.srv.DefaultDatabase)
	}
	if ns != nil || db != nil {
		if err := s.Use(ctx, ns, db); err != nil {
			return wire.Response{}, err
		}
	}
	if k.req.Format == wire.JSON {
		return answer(value.Null), nil
	}
	return answer(placeOf(s)), nil
}

func place(v value.Value, what string) (*string, error) {
	switch v.Kind() {
	case value.KindNone:
		return nil, nil
	case value.KindNull:
		return new(string), nil
	case value.KindString:
		name := v.Str()
		return &name, nil
	}
	return nil, errs.InvalidParams("Expected %s to be string, got %s", what, debugText(v))
}

func named(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

func placeOf(s *engine.Session) value.Value {
	ns, db := s.Place()
	return value.ObjectOf(value.NewObject(
		value.Field{Name: "namespace", Value: textOrNone(ns)},
		value.Field{Name: "database", Value: textOrNone(db)},
	))
}

func textOrNone(s string) value.Value {
	if s == "" {
		return value.None
	}
	return value.Str(s)
}

func namespaceEmpty() error {
	return errs.With(errs.KindValidation, "NamespaceEmpty", nil, "Specify a namespace to use")
}

func signin(ctx context.Context, k *call) (wire.Response, error) {
	return k.enter(ctx, k.session.engine.Signin)
}

func signup(ctx context.Context, k *call) (wire.Response, error) {
	return k.enter(ctx, k.session.engine.Signup)
}

func (k *call) enter(ctx context.Context,
	door func(context.Context, *value.Object) (value.Value, error)) (wire.Response, error) {
	const usage = "Expected (params:object)"
	p, err := k.params(1, 1, usage)
	if err != nil {
		return wire.Response{}, err
	}
	if p[0].Kind() != value.KindObject {
		return wire.Response{}, errs.InvalidParams(usage)
	}
	return k.counted(func() (value.Value, error) { return door(ctx, p[0].Object()) })
}

func authenticate(ctx context.Context, k *call) (wire.Response, error) {
	const usage = "Expected (token:string)"
	p, err := k.params(1, 1, usage)
	if err != nil {
		return wire.Response{}, err
	}
	if p[0].Kind() != value.KindString {
		return wire.Response{}, errs.InvalidParams(usage)
	}
	return k.counted(func() (value.Value, error) { return value.None, k.session.engine.Authenticate(ctx, p[0].Str()) })
}

// refresh trades a pair of tokens for a new one.
func refresh(ctx context.Context, k *call) (wire.Response, error) {
	access, key, err := k.tokens("Token is an access token, cannot refresh")
	if err != nil {
		return wire.Response{}, err
	}
	return k.counted(func() (value.Value, error) { return k.session.engine.Refresh(ctx, access, key) })
}

// revoke ends the refresh token of a pair, and where the transport says so the access token.
func revoke(ctx context.Context, k *call) (wire.Response, error) {
	access, key, err := k.tokens("Token is an access token, cannot revoke refresh token")
	if err != nil {
		return wire.Response{}, err
	}
	end := k.session.engine.Revoke
	if k.conn.opt.RevokesAccess {
		end = k.session.engine.RevokeTokens
	}
	return k.counted(func() (value.Value, error) { return value.None, end(ctx, access, key) })
}

// tokens reads {access, refresh}; bare says what is wrong with a token alone.
func (k *call) tokens(bare string) (access, refresh string, err error) {
	const usage = "Expected (token:Token)"
	p, err := k.params(1, 1, usage)
	if err != nil {
		return "", "", err
	}
	switch p[0].Kind() {
	case value.KindString:
		return "", "", errs.Internal("Incorrect arguments for function refresh(). %s", bare)
	case value.KindObject:
		a, _ := p[0].Object().Get("access")
		r, _ := p[0].Object().Get("refresh")
		if a.Kind() == value.KindString && r.Kind() == value.KindString {
			return a.Str(), r.Str(), nil
		}
	}
	return "", "", errs.InvalidParams(usage)
}

// counted runs one attempt to get an identity. How many there may be the guard of the session says, see Server.Session.
func (k *call) counted(attempt func() (value.Value, error)) (wire.Response, error) {
	v, err := attempt()
	k.conn.srv.NoteSignin(k.session.engine.Client(), "rpc "+k.req.Method, err)
	if err != nil {
		return wire.Response{}, err
	}
	return answer(v), nil
}

// NoteSignin counts an attempt to get an identity. One that was refused is logged with the client's address and the
// way it came, never with what it was tried with.
func (srv *Server) NoteSignin(client, way string, err error) {
	srv.Metrics.Auth(err == nil)
	if err != nil && FailedAuth(err) {
		srv.Log.Warn("sign-in failed", "client", client, "method", way)
		srv.Log.Debug("why the sign-in failed", "client", client, "err", err)
	}
}

// Session makes a session for a client at an address and an origin, "" where not known: its guesses at passwords are
// bounded.
func (srv *Server) Session(client, origin string) *engine.Session {
	s := srv.Engine.Session()
	s.SetClient(client, origin)
	if srv.Auth == nil {
		return s
	}
	s.SetGuard(func(names []string, known func() bool) (func(bool), error) {
		done, wait := srv.Auth.Try(client, names, known)
		if done == nil {
			srv.Metrics.Limited("auth")
			return nil, tooManyAttempts(wait)
		}
		return done, nil
	})
	return s
}

// Wait is the cause of a refusal that ends by itself after some time.
type Wait time.Duration

// Error implements error.
func (w Wait) Error() string { return fmt.Sprintf("try again in %d seconds", w.Seconds()) }

// tooManyAttempts refuses an attempt to sign in until wait has passed; its cause is a Wait.
func tooManyAttempts(wait time.Duration) *errs.Error {
	return &errs.Error{Kind: errs.KindNotAllowed,
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "TooManyAttempts"}},
		Msg:    fmt.Sprintf("Too many authentication attempts, try again in %d seconds", Wait(wait).Seconds()), Err: Wait(wait)}
}

// Seconds rounds w up to whole seconds, at least 1: the value of a Retry-After header.
func (w Wait) Seconds() int {
	return max(1, int((time.Duration(w)+time.Second-1)/time.Second))
}

// FailedAuth reports whether err is an attempt to get an identity that was refused, and not a broken call.
func FailedAuth(err error) bool {
	e := errs.As(err)
	return e.Kind == errs.KindNotAllowed || e.Kind == errs.KindNotFound || e.Kind == errs.KindInternal && e.Err == nil
}

// invalidate drops the identity, and the transactions that were begun with it.
func invalidate(ctx context.Context, k *call) (wire.Response, error) {
	err := k.session.cancelAll(ctx)
	k.session.engine.Invalidate()
	return answer(value.None), err
}

func reset(ctx context.Context, k *call) (wire.Response, error) {
	return answer(value.None), k.session.reset(ctx)
}

func info(ctx context.Context, k *call) (wire.Response, error) {
	v, err := k.session.engine.Info(ctx)
	return answer(v), err
}

func let(_ context.Context, k *call) (wire.Response, error) {
	const usage = "Expected (key:string, value:Value)"
	p, err := k.params(1, 2, usage)
	if err != nil {
		return wire.Response{}, err
	}
	if p[0].Kind() != value.KindString {
		return wire.Response{}, errs.InvalidParams(usage)
	}
	return answer(value.Null), k.session.engine.Set(p[0].Str(), p[1])
}

func unset(_ context.Context, k *call) (wire.Response, error) {
	const usage = "Expected (key)"
	p, err := k.params(1, 1, usage)
	if err != nil {
		return wire.Response{}, err
	}
	if p[0].Kind() != value.KindString {
		return wire.Response{}, errs.InvalidParams(usage)
	}
	return answer(value.Null), k.session.engine.Set(p[0].Str(), value.None)
}

func attach(ctx context.Context, k *call) (wire.Response, error) {
	id := k.req.Session
	if id == nil {
		return wire.Response{}, errs.InvalidParams("Expected a session ID")
	}
	open := func() *engine.Session { return k.conn.open(id) }
	switch {
	case k.conn.opt.Adopts:
		created, err := k.conn.attached.adopt(ctx, *id, k.conn.own.engine.Identity(), open)
		return answer(value.Bool(created)), err
	case k.conn.attached.kept:
		return answer(value.None), k.conn.attached.keep(ctx, *id, open())
	}
	return answer(value.None), k.conn.attached.attach(ctx, *id, open())
}

// open makes a session that is attached under an id.
func (c *Conn) open(id *value.UUID) *engine.Session {
	s := c.srv.Session(c.opt.Client, c.opt.Origin)
	c.listen(s, id)
	if c.opt.Opened != nil {
		c.opt.Opened(s)
	}
	return s
}

func detach(ctx context.Context, k *call) (wire.Response, error) {
	id := k.req.Session
	if id == nil {
		return wire.Response{}, errs.InvalidParams("Expected a session ID")
	}
	return answer(value.None), k.conn.attached.detach(ctx, k.conn.srv.Engine, *id)
}

// sessions lists the sessions attached to this connection. SECURITY: where sessions are shared by connections
// (HTTP) their ids are secrets, so the answer is empty there.
func sessions(_ context.Context, k *call) (wire.Response, error) {
	if k.conn.opt.Sessions != nil {
		return answer(value.ArrayOf(nil)), nil
	}
	return answer(value.ArrayOf(k.conn.attached.ids())), nil
}
