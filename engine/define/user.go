package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// The default lifetimes of tokens and grants.
var (
	tokenLife = value.Duration{Secs: 3600}
	grantLife = value.Duration{Secs: 30 * 86400}
)

func durationLiteral(d value.Duration) ast.Expr { return &ast.Literal{Value: value.DurationOf(d)} }

// defineUser is DEFINE USER. A password is kept as an argon2id hash and a SCRAM verifier, never as it is.
func (r *run) defineUser(ctx context.Context, env *exec.Env, s *ast.DefineUser) error {
	a, err := r.newActor(ctx, env, ast.DefUser, s.Name, s.Base, s.Mode)
	if err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name, def.Base = ast.ModeCreate, ident(a.name), a.base
	if err := checkRoles(&def); err != nil {
		return err
	}
	if err := r.userDurations(ctx, env, s, &def); err != nil {
		return err
	}
	extra, err := r.userPassword(ctx, env, s, &def)
	if err != nil {
		return err
	}
	_, err = r.Cat.Put(&catalog.Def{Scope: a.scope, Kind: ast.DefUser, Name: a.name, Stmt: &def, Extra: extra,
		By: r.Auth.Definer()})
	return err
}

// checkRoles gives a user without roles the least of them.
func checkRoles(def *ast.DefineUser) error {
	if len(def.Roles) == 0 {
		def.Roles = []string{"VIEWER"}
	}
	if _, ok := auth.ParseRoles(def.Roles); !ok {
		return errs.Internal("Invalid role: %v", def.Roles)
	}
	return nil
}

func (r *run) userDurations(ctx context.Context, env *exec.Env, s, def *ast.DefineUser) error {
	var err error
	if def.TokenDuration, err = r.duration(ctx, env, s.TokenDuration); err != nil {
		return err
	}
	if def.SessionDuration, err = r.duration(ctx, env, s.SessionDuration); err != nil {
		return err
	}
	if def.TokenDuration == nil {
		def.TokenDuration = durationLiteral(tokenLife)
	}
	if def.SessionDuration == nil {
		def.SessionDuration = &ast.Literal{}
	}
	def.Comment, err = r.comment(ctx, env, s.Comment)
	return err
}

// userPassword hashes the password of a user; without one the user cannot sign in. The answer is kept beside
// the definition: the SCRAM verifier.
func (r *run) userPassword(ctx context.Context, env *exec.Env, s, def *ast.DefineUser) (*value.Object, error) {
	if s.PassHash != "" || s.Password == nil {
		return nil, nil // without a hash the user cannot sign in
	}
	def.Password = nil
	v, err := r.Eval(ctx, env, s.Password)
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.KindString {
		return nil, errs.Internal("Expected `string` but found `%s`", v.Brief())
	}
	secret, err := r.Ex.Prepared.Secret(v.Str())
	if err != nil {
		return nil, err
	}
	def.PassHash = secret.Hash
	return value.NewObject(value.Field{Name: "scram", Value: value.ObjectOf(secret.Scram.Object())}), nil
}
