package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Challenge is the challenge that a client answers to prove its password.
type Challenge struct {
	NS, DB string // the level of the user; that of the place asked for where there is no such user
	// Scram is the verifier of the user; nil where the user has a hash alone, so that only the password itself will do.
	// A user that does not exist has one, too: always the same, and no password fits it.
	Scram *auth.Scram

	user *systemUser // nil: there is none
	name string
}

// Challenge looks for a user by name: in the database, in the namespace, then at the root.
func (a *Authenticator) Challenge(ctx context.Context, name, ns, db string) (*Challenge, error) {
	c := &Challenge{NS: ns, DB: db, name: name}
	for _, level := range levels(ns, db) {
		u, scram, err := a.verifier(ctx, name, level[0], level[1])
		if err != nil && !errors.Is(err, &errs.Error{Kind: errs.KindNotFound}) {
			return nil, err
		}
		if u != nil {
			c.NS, c.DB, c.user, c.Scram = level[0], level[1], u, scram
			if scram == nil && u.define.PassHash == "" {
				c.user = nil // the user cannot sign in
				break
			}
			return c, nil
		}
	}
	c.Scram = a.noVerifier(name, c.NS, c.DB)
	return c, nil
}

// levels are the places of a user who wants to work in ns and db, the innermost first.
func levels(ns, db string) [][2]string {
	out := [][2]string{{"", ""}}
	if ns != "" {
		out = append([][2]string{{ns, ""}}, out...)
		if db != "" {
			out = append([][2]string{{ns, db}}, out...)
		}
	}
	return out
}

// verifier finds a user and its SCRAM verifier; both may be nil.
func (a *Authenticator) verifier(ctx context.Context, name, ns, db string) (*systemUser, *auth.Scram, error) {
	u, err := a.user(ctx, name, ns, db)
	if err != nil || u == nil {
		return nil, nil, err
	}
	var scram *auth.Scram
	st := a.ex.System()
	err = a.ex.Read(ctx, &st, func(r *exec.Run) error {
		def, err := r.Cat.Actor(ast.DefUser, name, ns, db)
		if err != nil || def == nil {
			return err
		}
		if def.Stmt.(*ast.DefineUser).PassHash != u.define.PassHash {
			return nil // changed meanwhile: the client tries again
		}
		v, _ := def.Extra.Get("scram")
		scram = auth.ScramOf(v)
		return nil
	})
	return u, scram, err
}

// noVerifier is the verifier of a user that does not exist. It is made from the secret of the store, so that the same
// name always gets the same salt, as a real user does.
func (a *Authenticator) noVerifier(name, ns, db string) *auth.Scram {
	mac := func(what string) []byte {
		m := hmac.New(sha256.New, a.secret)
		m.Write([]byte("scram " + what + "\x00" + userName(name, ns, db)))
		return m.Sum(nil)
	}
	return &auth.Scram{Salt: mac("salt")[:auth.ScramSalt], Iterations: auth.ScramIterations, StoredKey: mac("stored"),
		ServerKey: mac("server")}
}

// Prove lets prove find out whether the client has the password of c, and gives the identity. guard may be nil; it is
// asked before prove is.
func (a *Authenticator) Prove(ctx context.Context, c *Challenge, guard Guard, prove func() (bool,
	error)) (auth.Principal, error) {
	try := &attempt{guard: guard, names: []string{userName(c.name, c.NS, c.DB)}, known: func() bool { return false }}
	if err := try.begin(); err != nil {
		return auth.Principal{}, err
	}
	ok, err := prove()
	ok = ok && err == nil && c.user != nil
	try.end(ok)
	if err != nil {
		return auth.Principal{}, err
	}
	if !ok {
		return auth.Principal{}, errs.InvalidAuth()
	}
	return c.user.principal(value.None, c.user.expiry(a.ex.Clock())), nil
}
