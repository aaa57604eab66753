// Package access finds out who a client is, by a password, a token, a key or an access method, and gives out tokens and
// keys.
//
// A wrong name, a wrong password and a wrong token answer the same and take the same work. Passwords are checked
// outside of transactions: they take long on purpose.
package access

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// Authenticator signs clients in for one engine. It is safe for concurrent use once it is open.
type Authenticator struct {
	ex        *exec.Executor
	keys      keySets
	passwords *auth.Verifier
	// credentials remembers those that access methods took: a client that has signed in before passes while others
	// fail.
	credentials *auth.Memory
	secret      []byte // of the store; part of the key of every token of a system user
}

// New makes an authenticator; Open must be called before it is used.
func New(ex *exec.Executor) *Authenticator {
	return &Authenticator{ex: ex, passwords: auth.NewVerifier(), credentials: auth.NewMemory(maxCredentials)}
}

// Login is a session's new identity and what the client is told: a token, or {access, refresh}.
type Login struct {
	Principal auth.Principal
	Answer    value.Value
}

// run is an exec.Run that signs in, or runs ACCESS statements.
type run struct {
	*exec.Run
	keys *keySets
}

// Statement runs ACCESS … GRANT, SHOW, REVOKE and PURGE.
func (a *Authenticator) Statement(ctx context.Context, r *exec.Run, env *exec.Env, s *ast.Access) (value.Value, error) {
	return (&run{r, &a.keys}).access(ctx, env, s)
}

// secretSetting is where the store keeps its secret.
const secretSetting = "token_secret"

// Open reads the secret of the store, or makes it.
func (a *Authenticator) Open(ctx context.Context) error {
	st := a.ex.System()
	return a.ex.Write(ctx, &st, func(r *exec.Run) error {
		o, err := r.Cat.Setting(secretSetting)
		if err != nil {
			return err
		}
		if v, made := o.Get("key"); made {
			if v.Kind() != value.KindBytes || v.Len() < 32 {
				return fmt.Errorf("read the secret of the store: %w", kv.ErrCorrupt)
			}
			a.secret = bytes.Clone(v.Bytes())
			return nil
		}
		a.secret = make([]byte, 64)
		rand.Read(a.secret) // never fails: it ends the process instead
		return r.Cat.PutSetting(secretSetting,
			value.NewObject(value.Field{Name: "key", Value: value.BytesOf(bytes.Clone(a.secret))}))
	})
}

// tokenKey is the key of the tokens of the user with the password hash hash.
func (a *Authenticator) tokenKey(hash string) string {
	mac := hmac.New(sha512.New, a.secret)
	mac.Write([]byte(hash))
	return string(mac.Sum(nil))
}

// Signin checks credentials: NS, DB, AC, user, pass and variables, see the RPC method. guard may be nil.
func (a *Authenticator) Signin(
	ctx context.Context,
	s exec.SessionState,
	params *value.Object,
	guard Guard,
) (*Login, error) {
	if credential(params, "ac", "AC") == "" {
		return a.signinUser(ctx, params, guard)
	}
	return a.guarded(params, guard, func(guess guess) (*Login, error) {
		return a.write(ctx, s, func(r *run) (*Login, error) { return r.signin(ctx, params, guess) })
	})
}

// Signup signs up a record user. guard may be nil.
func (a *Authenticator) Signup(
	ctx context.Context,
	s exec.SessionState,
	params *value.Object,
	guard Guard,
) (*Login, error) {
	if credential(params, "ac", "AC") == "" {
		return nil, authError("InvalidSignup", "There was a problem with signing up")
	}
	return a.guarded(params, guard, func(guess guess) (*Login, error) {
		return a.write(ctx, s, func(r *run) (*Login, error) { return r.signup(ctx, params, guess) })
	})
}

// Authenticate finds the identity in a token; there is no answer.
func (a *Authenticator) Authenticate(ctx context.Context, s exec.SessionState, token string) (*Login, error) {
	peek, err := auth.Peek(token)
	if err != nil {
		return nil, err
	}
	seen := auth.TokenOf(token, peek)
	if err := a.refuseRevoked(ctx, seen); err != nil {
		return nil, err
	}
	var login *Login
	if peek.AC == "" {
		login, err = a.authenticateUser(ctx, token, peek)
	} else {
		login, err = a.write(ctx, s, func(r *run) (*Login, error) { return r.authenticate(ctx, token, peek) })
	}
	if err == nil {
		login.Principal.Token = seen
	}
	return login, err
}

// Refresh trades a refresh key for a new {access, refresh}; the old key is used up. access is the token that the key
// came with, expired or not: it only says which access method to ask. Where it is "", those of the database that the
// session is in are asked.
func (a *Authenticator) Refresh(ctx context.Context, s exec.SessionState, access, refresh string) (*Login, error) {
	return a.write(ctx, s, func(r *run) (*Login, error) {
		params, err := r.refreshParams(access, refresh)
		if err != nil {
			return nil, err
		}
		return r.signin(ctx, params, nil)
	})
}

// Revoke ends a refresh key; access as for Refresh.
func (a *Authenticator) Revoke(ctx context.Context, s exec.SessionState, access, refresh string) error {
	_, err := a.write(ctx, s, func(r *run) (*Login, error) {
		params, err := r.refreshParams(access, refresh)
		if err != nil {
			return nil, err
		}
		return nil, r.revokeRefresh(params)
	})
	return err
}

// write does f in a transaction of its own, again on conflict.
func (a *Authenticator) write(ctx context.Context, s exec.SessionState, f func(*run) (*Login, error)) (*Login, error) {
	var login *Login
	err := a.ex.Write(ctx, &s, func(r *exec.Run) (err error) {
		login, err = f(&run{r, &a.keys})
		return err
	})
	if err != nil {
		return nil, err
	}
	return login, nil
}

// refreshParams are the parameters of a sign-in by a refresh key.
func (r *run) refreshParams(access, refresh string) (*value.Object, error) {
	ns, db, ac := "", "", ""
	if access == "" {
		var err error
		if ns, db, ac, err = r.giverOf(refresh); err != nil {
			return nil, err
		}
	} else {
		peek, err := auth.Peek(access)
		if err != nil {
			return nil, err
		}
		ns, db, ac = peek.NS, peek.DB, peek.AC
	}
	if ac == "" || refresh == "" {
		return nil, errs.InvalidAuth()
	}
	return value.NewObject(
		value.Field{Name: "ns", Value: value.Str(ns)},
		value.Field{Name: "db", Value: value.Str(db)},
		value.Field{Name: "ac", Value: value.Str(ac)},
		value.Field{Name: "refresh", Value: value.Str(refresh)},
	), nil
}

// giverOf is the access method that gave a refresh key, among those of the database that the session is in; ac is ""
// where none did.
func (r *run) giverOf(refresh string) (ns, db, ac string, err error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(refresh, "surreal-"+refreshGrant+"-"), "-")
	p := &r.Auth.Principal
	if ns, db = p.NS, p.DB; db == "" {
		ns, db = r.Auth.NS, r.Auth.DB
	}
	if ns == "" || db == "" || len(id) != grantID {
		return ns, db, "", nil
	}
	namespace, err := r.Cat.Namespace(ns)
	if namespace == nil || err != nil {
		return ns, db, "", err
	}
	database, err := r.Cat.Database(namespace, db)
	if database == nil || err != nil {
		return ns, db, "", err
	}
	methods, err := r.Cat.Defs(database.Inner(), ast.DefAccess)
	if err != nil {
		return ns, db, "", err
	}
	for _, d := range methods {
		if g, err := r.findGrant(d, id); err != nil || g != nil {
			return ns, db, d.Name, err
		}
	}
	return ns, db, "", nil
}

// authError is a login that cannot even be tried.
func authError(kind, text string) error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: text,
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: kind}}}
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
