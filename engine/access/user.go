package access

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// systemAlgorithm signs the tokens of system users, with a key of the store's secret and the user's password hash: a
// changed password ends the user's tokens, and who may read hashes (INFO, an export) can still make none.
const systemAlgorithm = "HS512"

// signinUser checks the name and password of a system user.
func (a *Authenticator) signinUser(ctx context.Context, params *value.Object, guard Guard) (*Login, error) {
	user, pass := credential(params, "user"), credential(params, "pass")
	if user == "" || pass == "" {
		return nil, authError("MissingUserOrPass", "Username or Password was not provided")
	}
	ns, db := credential(params, "ns", "NS"), credential(params, "db", "DB")
	u, err := a.checkPassword(ctx, user, pass, ns, db, guard)
	if err != nil {
		return nil, err
	}
	now := a.ex.Clock()
	claims := auth.NewClaims(now, literalDuration(u.define.TokenDuration))
	claims.NS, claims.DB, claims.Subject = ns, db, user // its roles are those of its definition
	token, err := claims.Sign(systemAlgorithm, a.tokenKey(u.define.PassHash))
	if err != nil {
		return nil, err
	}
	p := u.principal(claims.All, u.expiry(now))
	p.Token = auth.TokenOf(token, &claims)
	return &Login{Principal: p, Answer: value.Str(token)}, nil
}

// Password is the identity of the system user of a name and password at the level named by ns and db ("" for none).
// guard may be nil.
func (a *Authenticator) Password(ctx context.Context, user, pass, ns, db string, guard Guard) (auth.Principal, error) {
	u, err := a.checkPassword(ctx, user, pass, ns, db, guard)
	if err != nil {
		return auth.Principal{}, err
	}
	return u.principal(value.None, u.expiry(a.ex.Clock())), nil
}

// authenticateUser finds the system user in a token; peek is what the token says of itself.
func (a *Authenticator) authenticateUser(ctx context.Context, token string, peek *auth.Claims) (*Login, error) {
	u, claims, err := a.verifyUser(ctx, token, peek)
	if err != nil {
		return nil, err
	}
	return &Login{Principal: u.principal(claims.All, u.expiry(a.ex.Clock()))}, nil
}

// verifyUser checks the token of a system user.
func (a *Authenticator) verifyUser(ctx context.Context, token string,
	peek *auth.Claims) (*systemUser, *auth.Claims, error) {
	u, err := a.user(ctx, peek.Subject, peek.NS, peek.DB)
	if err != nil {
		return nil, nil, err
	}
	if u == nil {
		return nil, nil, errs.InvalidAuth()
	}
	claims, err := auth.Verify(token, systemAlgorithm, a.tokenKey(u.define.PassHash), a.ex.Clock())
	if err != nil {
		return nil, nil, err
	}
	if claims.Expires == 0 && !lastsForEver(u.define.TokenDuration) {
		return nil, nil, errs.InvalidAuth()
	}
	return u, claims, nil
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
	return auth.Principal{Level: level, Name: u.name, NS: u.ns, DB: u.db, Roles: u.roles, Claims: claims,
		Expiry: expires, Proof: u.define.PassHash}
}

// expiry is when a session of u that begins now ends, in Unix seconds; 0 for never.
func (u *systemUser) expiry(now time.Time) int64 { return expiry(now, u.define.SessionDuration) }

// checkPassword finds a user and checks its password. Every failure gives the same answer after the same work.
func (a *Authenticator) checkPassword(ctx context.Context, name, pass, ns, db string,
	guard Guard) (*systemUser, error) {
	u, err := a.user(ctx, name, ns, db)
	if err != nil {
		return nil, err
	}
	hash := ""
	if u != nil {
		hash = u.define.PassHash
	}
	known := false
	try := &attempt{guard: guard, names: []string{userName(name, ns, db)}, known: func() bool {
		known = a.passwords.Remembers(hash, pass)
		return known
	}}
	if err := try.begin(); err != nil {
		return nil, err
	}
	ok := known
	if !known {
		ok, err = a.passwords.Check(ctx, hash, pass)
	}
	ok = ok && u != nil
	try.end(ok)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errs.InvalidAuth()
	}
	return u, nil
}

// user finds a system user at the level named by ns and db; nil when there is none.
func (a *Authenticator) user(ctx context.Context, name, ns, db string) (*systemUser, error) {
	var u *systemUser
	st := a.ex.System()
	err := a.ex.Read(ctx, &st, func(r *exec.Run) error {
		def, err := r.Cat.Actor(ast.DefUser, name, ns, db)
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
