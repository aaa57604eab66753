package engine

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// systemAlgorithm signs the tokens of system users, with a key of the store's secret and the user's password hash: a
// changed password ends the user's tokens, and who may read hashes (INFO, an export) can still make none.
const systemAlgorithm = "HS512"

// secretSetting is where the store keeps its secret.
const secretSetting = "token_secret"

// loadSecret reads the secret of the store, or makes it.
func (e *Engine) loadSecret(ctx context.Context) error {
	st := e.system()
	return e.exec.Write(ctx, &st, func(r *exec.Run) error {
		o, err := r.Cat.Setting(secretSetting)
		if err != nil {
			return err
		}
		if o != nil {
			if v, ok := o.Get("key"); ok && v.Kind() == value.KindBytes && v.Len() >= 32 {
				e.secret = bytes.Clone(v.Bytes())
				return nil
			}
		}
		e.secret = make([]byte, 64)
		rand.Read(e.secret) // never fails: it ends the process instead
		return r.Cat.PutSetting(secretSetting, value.NewObject(value.Field{Name: "key", Value: value.BytesOf(bytes.Clone(e.secret))}))
	})
}

// tokenKey is the key of the tokens of the user with the password hash hash.
func (e *Engine) tokenKey(hash string) string {
	mac := hmac.New(sha512.New, e.secret)
	mac.Write([]byte(hash))
	return string(mac.Sum(nil))
}

// Signin checks credentials (NS, DB, AC, user, pass and variables, see the RPC method) and gives the session that
// identity. The result is the token text, or an object {access, refresh}.
func (s *Session) Signin(ctx context.Context, params *value.Object) (value.Value, error) {
	if credential(params, "ac", "AC") != "" {
		return s.enter(ctx, func(r *exec.Run) (*exec.Login, error) { return r.Signin(params) })
	}
	user, pass := credential(params, "user"), credential(params, "pass")
	if user == "" || pass == "" {
		return value.None, authError("MissingUserOrPass", "Username or Password was not provided")
	}
	ns, db := credential(params, "ns", "NS"), credential(params, "db", "DB")
	u, err := s.e.checkPassword(ctx, user, pass, ns, db)
	if err != nil {
		return value.None, err
	}
	now := s.e.exec.Clock()
	claims := auth.NewClaims(now, life(u.define.TokenDuration))
	claims.NS, claims.DB, claims.Subject, claims.Roles = ns, db, user, u.roles.RoleNames()
	token, err := claims.Sign(systemAlgorithm, s.e.tokenKey(u.define.PassHash))
	if err != nil {
		return value.None, err
	}
	s.become(u.principal(claims.All, expiry(now, life(u.define.SessionDuration))))
	return value.Str(token), nil
}

// authError is a login that cannot even be tried.
func authError(kind, text string) error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: text, Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: kind}}}
}

// Signup signs up a record user and gives the session its identity. The result is as that of Signin.
func (s *Session) Signup(ctx context.Context, params *value.Object) (value.Value, error) {
	if credential(params, "ac", "AC") == "" {
		return value.None, authError("InvalidSignup", "There was a problem with signing up")
	}
	return s.enter(ctx, func(r *exec.Run) (*exec.Login, error) { return r.Signup(params) })
}

// enter gives the session the identity that a login by an access method leads to.
func (s *Session) enter(ctx context.Context, f func(*exec.Run) (*exec.Login, error)) (value.Value, error) {
	st := s.snapshot()
	var login *exec.Login
	err := s.e.exec.Write(ctx, &st, func(r *exec.Run) error {
		var err error
		login, err = f(r)
		return err
	})
	if err != nil {
		return value.None, err
	}
	s.become(login.Principal)
	return login.Answer, nil
}

// SigninBasic checks a user name and password at the level named by ns and db ("" for none).
func (s *Session) SigninBasic(ctx context.Context, user, pass, ns, db string) error {
	u, err := s.e.checkPassword(ctx, user, pass, ns, db)
	if err != nil {
		return err
	}
	s.become(u.principal(value.None, expiry(s.e.exec.Clock(), life(u.define.SessionDuration))))
	return nil
}

// Authenticate gives the session the identity in a token.
func (s *Session) Authenticate(ctx context.Context, token string) error {
	peek, err := auth.Peek(token)
	if err != nil {
		return err
	}
	if peek.AC != "" {
		_, err := s.enter(ctx, func(r *exec.Run) (*exec.Login, error) { return r.Authenticate(token, peek) })
		return err
	}
	u, err := s.e.user(ctx, peek.Subject, peek.NS, peek.DB)
	if err != nil {
		return err
	}
	if u == nil {
		return errs.InvalidAuth()
	}
	now := s.e.exec.Clock()
	claims, err := auth.Verify(token, systemAlgorithm, s.e.tokenKey(u.define.PassHash), now)
	if err != nil {
		return err
	}
	if claims.Expires == 0 && !exec.LastsForEver(u.define.TokenDuration) {
		return errs.InvalidAuth()
	}
	s.become(u.principal(claims.All, expiry(now, life(u.define.SessionDuration))))
	return nil
}

// become gives the session an identity, and the place that it is bound to.
func (s *Session) become(p auth.Principal) {
	s.change(func(st *exec.Session) {
		st.Auth.Principal = p
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

// systemUser is a defined user of some level.
type systemUser struct {
	name, ns, db string
	define       *ast.DefineUser
	roles        auth.Roles
}

// principal is the identity of u with a token's claims (or NONE) until expires (Unix seconds, 0: for ever).
func (u *systemUser) principal(claims value.Value, expires int64) auth.Principal {
	level := auth.RootUser
	switch {
	case u.db != "":
		level = auth.DatabaseUser
	case u.ns != "":
		level = auth.NamespaceUser
	}
	return auth.Principal{Level: level, Name: u.name, NS: u.ns, DB: u.db, Roles: u.roles, Claims: claims, Expiry: expires}
}

// checkPassword finds a user and checks its password. Whatever is wrong, the answer and the work are the same.
func (e *Engine) checkPassword(ctx context.Context, name, pass, ns, db string) (*systemUser, error) {
	u, err := e.user(ctx, name, ns, db)
	if err != nil {
		return nil, err
	}
	hash := ""
	if u != nil {
		hash = u.define.PassHash
	}
	ok, err := e.passwords.Check(ctx, hash, pass)
	if err != nil {
		return nil, err
	}
	if !ok || u == nil {
		return nil, errs.InvalidAuth()
	}
	return u, nil
}

// user finds a system user at the level named by ns and db; nil when there is none.
func (e *Engine) user(ctx context.Context, name, ns, db string) (*systemUser, error) {
	if db != "" && ns == "" {
		return nil, nil
	}
	var u *systemUser
	st := e.system()
	err := e.exec.Read(ctx, &st, func(r *exec.Run) error {
		scope, ok, err := scopeOf(r.Cat, ns, db)
		if err != nil || !ok {
			return err
		}
		def, err := r.Cat.Def(scope, ast.DefUser, name)
		if err != nil || def == nil {
			return err
		}
		define := def.Stmt.(*ast.DefineUser)
		roles, ok := auth.ParseRoles(define.Roles)
		if !ok {
			return errs.Internal("Invalid role: %v", define.Roles)
		}
		u = &systemUser{name: name, ns: ns, db: db, define: define, roles: roles}
		return nil
	})
	return u, err
}

// scopeOf is where the definitions of a namespace or database are; false when there is no such place.
func scopeOf(cat *catalog.View, ns, db string) (catalog.Scope, bool, error) {
	if ns == "" {
		return catalog.Scope{}, true, nil
	}
	n, err := cat.Namespace(ns)
	if err != nil || n == nil {
		return catalog.Scope{}, false, err
	}
	if db == "" {
		return n.Inner(), true, nil
	}
	d, err := cat.Database(n, db)
	if err != nil || d == nil {
		return catalog.Scope{}, false, err
	}
	return d.Inner(), true, nil
}

// credential is a text parameter by any of its names, or "".
func credential(params *value.Object, names ...string) string {
	for _, n := range names {
		if v, ok := params.Get(n); ok && v.Kind() == value.KindString {
			return v.Str()
		}
	}
	return ""
}

// life is a stored lifetime; 0 for NONE.
func life(x ast.Expr) time.Duration {
	lit, ok := x.(*ast.Literal)
	if !ok || lit.Value.Kind() != value.KindDuration {
		return 0
	}
	d := lit.Value.Duration()
	const most = uint64(1<<63-1) / uint64(time.Second)
	if d.Secs >= most {
		return 0
	}
	return time.Duration(d.Secs)*time.Second + time.Duration(d.Nanos)
}

// expiry is when a session that begins now ends, in Unix seconds; 0 for never.
func expiry(now time.Time, life time.Duration) int64 {
	if life <= 0 {
		return 0
	}
	return now.Add(life).Unix()
}
