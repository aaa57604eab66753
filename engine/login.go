package engine

import (
	"context"

	"github.com/nacredb/nacre/engine/access"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Guard bounds how often a client may guess at passwords.
type Guard = access.Guard

// SetGuard makes g bound the attempts to sign in to the session. Without one there is no bound.
func (s *Session) SetGuard(g Guard) { s.guard.Store(&g) }

func (s *Session) guarding() Guard {
	if g := s.guard.Load(); g != nil {
		return *g
	}
	return nil
}

// Signin checks credentials (NS, DB, AC, user, pass and variables, see the RPC method) and gives the session that
// identity. The result is the token text, or an object {access, refresh}.
func (s *Session) Signin(ctx context.Context, params *value.Object) (value.Value, error) {
	at := s.e.queries.Catalog.Identities()
	return s.enter(ctx, at)(s.e.queries.Access.Signin(ctx, *s.snapshot(), params, s.guarding()))
}

// Signup signs up a record user and gives the session its identity. The result is as that of Signin.
func (s *Session) Signup(ctx context.Context, params *value.Object) (value.Value, error) {
	at := s.e.queries.Catalog.Identities()
	return s.enter(ctx, at)(s.e.queries.Access.Signup(ctx, *s.snapshot(), params, s.guarding()))
}

// SigninBasic checks a user name and password at the level named by ns and db ("" for none).
func (s *Session) SigninBasic(ctx context.Context, user, pass, ns, db string) error {
	at := s.e.queries.Catalog.Identities()
	p, err := s.e.queries.Access.Password(ctx, user, pass, ns, db, s.guarding())
	if err != nil {
		return err
	}
	s.become(p, at)
	return nil
}

// Challenge is the challenge that a client answers to prove its password.
type Challenge = access.Challenge

// Challenge looks for the user that name means to a client who wants to work in ns and db ("" for none): of the
// database, of the namespace, then of the root. It does not tell whether there is one.
func (s *Session) Challenge(ctx context.Context, name, ns, db string) (*Challenge, error) {
	return s.e.queries.Access.Challenge(ctx, name, ns, db)
}

// SigninProved gives the session the identity that c is about, if prove reports that the client has its password. The
// guard of the session is asked before prove is.
func (s *Session) SigninProved(ctx context.Context, c *Challenge, prove func() (bool, error)) error {
	at := s.e.queries.Catalog.Identities()
	p, err := s.e.queries.Access.Prove(ctx, c, s.guarding(), prove)
	if err != nil {
		return err
	}
	s.become(p, at)
	return nil
}

// Authenticate gives the session the identity in a token.
func (s *Session) Authenticate(ctx context.Context, token string) error {
	at := s.e.queries.Catalog.Identities()
	_, err := s.enter(ctx, at)(s.e.queries.Access.Authenticate(ctx, *s.snapshot(), token))
	return err
}

// Refresh trades a refresh key for a new {access, refresh} and gives the session that identity; the old key is used up.
// access is the token that the key came with, expired or not: it only says which access method to ask.
func (s *Session) Refresh(ctx context.Context, access, refresh string) (value.Value, error) {
	at := s.e.queries.Catalog.Identities()
	return s.enter(ctx, at)(s.e.queries.Access.Refresh(ctx, *s.snapshot(), access, refresh))
}

// Revoke ends a refresh key.
func (s *Session) Revoke(ctx context.Context, access, refresh string) error {
	return s.e.queries.Access.Revoke(ctx, *s.snapshot(), access, refresh)
}

// RevokeTokens makes an access token, a refresh key or both useless; "" for none. What is of no use already is no
// error. The refresh key is looked for in the access method of the access token, and in those of the database that the
// session is in.
func (s *Session) RevokeTokens(ctx context.Context, token, refresh string) error {
	if refresh != "" {
		err := s.e.queries.Access.Revoke(ctx, *s.snapshot(), token, refresh)
		if refused(err) && token != "" {
			err = s.e.queries.Access.Revoke(ctx, *s.snapshot(), "", refresh)
		}
		if err != nil && !refused(err) {
			return err
		}
	}
	if token == "" {
		return nil
	}
	return s.e.queries.Access.RevokeToken(ctx, *s.snapshot(), token)
}

// refused reports whether err is a refusal of credentials.
func refused(err error) bool { return err != nil && errs.As(err).Kind == errs.KindNotAllowed }

// enter gives the session the identity that a login leads to; at is what Identities was before.
func (s *Session) enter(ctx context.Context, at uint64) func(*access.Login, error) (value.Value, error) {
	return func(login *access.Login, err error) (value.Value, error) {
		if err != nil {
			return value.None, err
		}
		p, err := s.e.queries.Access.Known(ctx, login.Principal)
		if err != nil {
			return value.None, err
		}
		s.become(p, at)
		return login.Answer, nil
	}
}

// still refuses a session whose identity was revoked, and gives st with the roles of now. It costs a comparison as long
// as no identity has changed.
func (s *Session) still(st *exec.SessionState) (*exec.SessionState, error) {
	if s.ended.Load() {
		return nil, errEnded()
	}
	p := &st.Auth.Principal
	at := s.e.queries.Catalog.Identities()
	if at == st.Checked || s.own || p.Access == "" && p.Proof == "" {
		return st, nil
	}
	now, err := s.e.queries.Access.Still(context.Background(), *p)
	if err != nil {
		return nil, err
	}
	next := *st
	next.Auth.Principal.Roles, next.Checked = now.Roles, at
	s.change(func(state *exec.SessionState) {
		q := &state.Auth.Principal
		if q.Level == p.Level && q.NS == p.NS && q.DB == p.DB && q.Name == p.Name && q.Access == p.Access &&
			q.Proof == p.Proof && q.Grant == p.Grant && q.Token == p.Token &&
			value.Equal(q.Record, p.Record) {
			q.Roles, state.Checked = now.Roles, at
		}
	})
	return &next, nil
}

// Stands reports whether the session would get its identity again by what it showed for it: neither that nor its token
// has expired, and nothing that it rests on was revoked.
func (s *Session) Stands() bool {
	st := s.snapshot()
	ends := st.Auth.Principal.Token.Expires
	if ends != 0 && s.e.queries.Clock().Unix() >= ends || st.Expired(s.e.queries.Clock) {
		return false
	}
	_, err := s.still(st)
	return err == nil
}

// become gives the session an identity, and the place that it is bound to. at is what Identities was before it was
// looked up.
func (s *Session) become(p auth.Principal, at uint64) {
	s.change(func(st *exec.SessionState) {
		st.Auth.Principal, st.Checked, st.Still = p, at, s.still
		if p.NS != "" {
			if st.Auth.NS != p.NS {
				st.Auth.DB = ""
			}
			st.Auth.NS = p.NS
		}
		if p.DB != "" {
			st.Auth.DB = p.DB
		}
	})
}
