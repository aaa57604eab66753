package define

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// defineAccess is DEFINE ACCESS.
func (r *run) defineAccess(ctx context.Context, env *exec.Env, s *ast.DefineAccess) error {
	a, err := r.newActor(ctx, env, ast.DefAccess, s.Name, s.Base, s.Mode)
	if err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name, def.Base = ast.ModeCreate, ident(a.name), a.base
	// no TYPE was given; there are no records to sign in
	if a.base != ast.BaseDatabase && def.Kind == ast.AccessRecord {
		def.Kind = ast.AccessJWT
	}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if err := r.accessKeys(ctx, env, s, &def); err != nil {
		return err
	}
	if err := r.accessDurations(ctx, env, s, &def); err != nil {
		return err
	}
	d := &catalog.Def{Scope: a.scope, Kind: ast.DefAccess, Name: a.name, Stmt: &def, By: r.Auth.Definer()}
	if def.Kind == ast.AccessBearer {
		d.Extra = value.NewObject(value.Field{Name: "key", Value: value.Str(randomSecret())})
	}
	_, err = r.Cat.Put(d)
	return err
}

// randomSecret is 64 random bytes as text: the key of an access method that was given none.
func randomSecret() string {
	var b [64]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	return hex.EncodeToString(b[:])
}

// accessKeys settles what tokens are verified and issued with.
func (r *run) accessKeys(ctx context.Context, env *exec.Env, s, def *ast.DefineAccess) error {
	if def.Kind == ast.AccessBearer {
		return nil
	}
	jwt := ast.JWT{Algorithm: "HS512"}
	if s.JWT != nil {
		jwt = *s.JWT
	}
	var err error
	texts := []*ast.Expr{&jwt.Key, &jwt.URL, &jwt.Issuer}
	jwt.Audience = slices.Clone(jwt.Audience)
	for i := range jwt.Audience {
		texts = append(texts, &jwt.Audience[i])
	}
	for _, x := range texts {
		if *x, err = r.literal(ctx, env, *x, value.TypeString); err != nil {
			return err
		}
	}
	if jwt.Algorithm == "ES512" || jwt.IssuerAlg == "ES512" {
		return errs.New(errs.KindValidation, "The ES512 algorithm is not currently supported. Please use ES384 or another supported algorithm")
	}
	if jwt.Key == nil && jwt.URL == nil {
		jwt.Key = &ast.Literal{Value: value.Str(randomSecret())}
	}
	if jwt.Key != nil && auth.Symmetric(jwt.Algorithm) {
		if jwt.Issuer != nil && ast.LiteralText(jwt.Issuer) != ast.LiteralText(jwt.Key) {
			return errs.New(errs.KindValidation, "Invalid query: Symmetric algorithm %s requires the same key for signing and verification. Use the same key value for both KEY and WITH ISSUER KEY clauses, or omit WITH ISSUER KEY.", jwt.Algorithm)
		}
		jwt.Issuer = jwt.Key
	}
	if jwt.Issuer != nil && jwt.IssuerAlg == "" {
		if jwt.IssuerAlg = jwt.Algorithm; jwt.IssuerAlg == "" { // keys from a URL: any algorithm
			jwt.IssuerAlg = "HS512"
		}
	}
	def.JWT = &jwt
	return nil
}

// accessDurations settles the lifetimes. Tokens have one only where the access method issues any.
func (r *run) accessDurations(ctx context.Context, env *exec.Env, s, def *ast.DefineAccess) error {
	var err error
	for _, d := range [3]struct {
		to   *ast.Expr
		from ast.Expr
	}{{&def.GrantDuration, s.GrantDuration}, {&def.TokenDuration, s.TokenDuration},
		{&def.SessionDuration, s.SessionDuration}} {
		if *d.to, err = r.duration(ctx, env, d.from); err != nil {
			return err
		}
	}
	grants := def.Kind == ast.AccessBearer || def.Refresh
	if grants && def.GrantDuration == nil {
		def.GrantDuration = durationLiteral(grantLife)
	}
	if !grants {
		def.GrantDuration = nil
	}
	issues := def.Kind == ast.AccessBearer || def.JWT != nil && def.JWT.Issuer != nil
	if issues && def.TokenDuration == nil {
		def.TokenDuration = durationLiteral(tokenLife)
	}
	if !issues {
		def.TokenDuration = nil
	}
	if x, ok := def.TokenDuration.(*ast.Literal); ok && x.Value.IsNone() && def.Kind == ast.AccessRecord && !r.Import {
		return errs.New(errs.KindValidation, "Tokens of record users must expire: DURATION FOR TOKEN can not be NONE")
	}
	if def.SessionDuration == nil {
		def.SessionDuration = &ast.Literal{}
	}
	return nil
}

// redactAccess is an access method without its secrets: public keys stay.
func redactAccess(def *ast.DefineAccess) *ast.DefineAccess {
	if def.JWT == nil {
		return def
	}
	out, jwt := *def, *def.JWT
	hidden := &ast.Literal{Value: value.Str(auth.Redacted)}
	if jwt.Key != nil && auth.Symmetric(jwt.Algorithm) {
		jwt.Key = hidden
	}
	if jwt.Issuer != nil {
		jwt.Issuer = hidden
	}
	out.JWT = &jwt
	return &out
}
