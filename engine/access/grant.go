package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// A grant is a key that an access method gave out: for bearer access, or to refresh a token. The key is
// surreal-<kind>-<id 12>-<secret 24>; only a hash of the secret is kept (its 142 random bits need no slow one).
const (
	bearerGrant  = "bearer"
	refreshGrant = "refresh"
	grantID      = 12
	grantSecret  = 24
)

// grant is a stored grant: an object as ACCESS … SHOW gives it, and the hash of its secret.
type grant struct {
	row  *value.Object
	hash []byte
}

func (g *grant) id() string { return textField(g.row, "id") }

func (g *grant) at(name string) value.Value {
	v, _ := g.row.Get(name)
	return v
}

func textField(o *value.Object, name string) string {
	if v, ok := o.Get(name); ok && v.Kind() == value.KindString {
		return v.Str()
	}
	return ""
}

// randomText is n random letters and digits, the first one a letter: an id is then a name in ACCESS … REVOKE GRANT.
func randomText(n int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 0, n)
	var raw [64]byte
	for len(out) < n {
		rand.Read(raw[:]) // never fails: it ends the process instead
		for _, b := range raw {
			letter := letters[b%62]
			// 248 is a multiple of 62: no letter is likelier
			if b >= 248 || len(out) == n || len(out) == 0 && letter <= '9' {
				continue
			}
			out = append(out, letter)
		}
	}
	return string(out)
}

// newGrant makes and stores a grant, and answers it with its key in the clear.
func (r *run) newGrant(d *catalog.Def, def *ast.DefineAccess, kind string,
	subject value.Value) (*grant, string, error) {
	id, secret := randomText(grantID), randomText(grantSecret)
	expires := value.None
	if life := literalDuration(def.GrantDuration); life > 0 {
		expires = datetime(r.Now().Add(life))
	}
	hash := sha256.Sum256([]byte(secret))
	g := &grant{hash: hash[:], row: value.NewObject(
		value.Field{Name: "ac", Value: value.Str(d.Name)},
		value.Field{Name: "creation", Value: datetime(r.Now())},
		value.Field{Name: "expiration", Value: expires},
		value.Field{Name: "id", Value: value.Str(id)},
		value.Field{Name: "revocation", Value: value.None},
		value.Field{Name: "subject", Value: subject},
		value.Field{Name: "type", Value: value.Str(kind)},
	)}
	return g, "surreal-" + kind + "-" + id + "-" + secret, r.putGrant(d, g)
}

func datetime(t time.Time) value.Value {
	return value.DatetimeOf(value.Datetime{Secs: t.Unix(), Nanos: uint32(t.Nanosecond())})
}

func (r *run) putGrant(d *catalog.Def, g *grant) error {
	raw, err := value.AppendCBOR(nil, value.ObjectOf(g.row.With("hash", value.BytesOf(g.hash))))
	if err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	return r.Cat.PutGrant(d, g.id(), raw)
}

func decodeGrant(raw []byte) (*grant, error) {
	v, err := value.DecodeCBORValue(append([]byte(nil), raw...), value.DecodeLimits{})
	if err != nil {
		return nil, fmt.Errorf("read a grant: %w", err)
	}
	if v.Kind() != value.KindObject {
		return nil, fmt.Errorf("read a grant: it is a %s: %w", v.Kind(), kv.ErrCorrupt)
	}
	g := &grant{row: v.Object().Without("hash")}
	if h, ok := v.Object().Get("hash"); ok && h.Kind() == value.KindBytes {
		g.hash = h.Bytes()
	}
	return g, nil
}

// findGrant reads a grant; nil where there is none.
func (r *run) findGrant(d *catalog.Def, id string) (*grant, error) {
	raw, err := r.Cat.Grant(d, id)
	if raw == nil || err != nil {
		return nil, err
	}
	return decodeGrant(raw)
}

func (r *run) grants(d *catalog.Def) ([]*grant, error) {
	var out []*grant
	err := r.Cat.EachGrant(d, func(raw []byte) error {
		g, err := decodeGrant(raw)
		out = append(out, g)
		return err
	})
	return out, err
}

// shown is a grant as users see it; the key only right after it was made.
func (g *grant) shown(text string) value.Value {
	return value.ObjectOf(g.row.With("grant", value.ObjectOf(value.NewObject(
		value.Field{Name: "id", Value: value.Str(g.id())}, value.Field{Name: "key", Value: value.Str(text)}))))
}

// useGrant finds the valid grant of a kind that a key stands for.
func (r *run) useGrant(d *catalog.Def, kind, text string) (*grant, error) {
	rest, ok := strings.CutPrefix(text, "surreal-"+kind+"-")
	if !ok || len(rest) != grantID+1+grantSecret || rest[grantID] != '-' {
		return nil, errs.NotAllowed("This bearer access grant has an invalid format")
	}
	g, err := r.findGrant(d, rest[:grantID])
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(rest[grantID+1:]))
	if g == nil || subtle.ConstantTimeCompare(hash[:], g.hash) != 1 || textField(g.row, "type") != kind ||
		!g.at("revocation").IsNone() || g.expired(r.Now()) {
		return nil, errs.InvalidAuth()
	}
	return g, nil
}

func (g *grant) expired(now time.Time) bool {
	v := g.at("expiration")
	return v.Kind() == value.KindDatetime && value.Compare(v, datetime(now)) <= 0
}

func recordSubject(id value.Value) value.Value {
	return value.ObjectOf(value.NewObject(value.Field{Name: "record", Value: id}))
}

// newRefresh makes a refresh key for a record user.
func (r *run) newRefresh(d *catalog.Def, def *ast.DefineAccess, id value.Value) (string, error) {
	_, text, err := r.newGrant(d, def, refreshGrant, recordSubject(id))
	return text, err
}

// signinRefresh trades a refresh key for a new token and key; the old key is used up.
func (r *run) signinRefresh(ctx context.Context, c *credentials, d *catalog.Def,
	def *ast.DefineAccess) (*Login, error) {
	g, err := r.useGrant(d, refreshGrant, c.refresh)
	if err != nil {
		return nil, err
	}
	id := inside.Field(g.at("subject"), "record")
	if id.Kind() != value.KindRecord {
		return nil, errs.InvalidAuth()
	}
	if err := r.Cat.DeleteGrant(d, g.id()); err != nil {
		return nil, err
	}
	return r.recordLogin(ctx, c, d, def, id.Record(), "")
}

// revokeRefresh ends the refresh key in params.
func (r *run) revokeRefresh(params *value.Object) error {
	c := credentialsOf(params)
	d, err := r.Cat.Actor(ast.DefAccess, c.access, c.ns, c.db)
	if err != nil {
		return err
	}
	if d == nil {
		return noAccess()
	}
	g, err := r.useGrant(d, refreshGrant, c.refresh)
	if err != nil {
		return err
	}
	return r.Cat.DeleteGrant(d, g.id())
}

// signinBearer trades a bearer key for a token.
func (r *run) signinBearer(ctx context.Context, c *credentials, d *catalog.Def, def *ast.DefineAccess) (*Login, error) {
	if c.key == "" {
		return nil, errs.NotAllowed("This bearer access method requires a key to be provided")
	}
	g, err := r.useGrant(d, bearerGrant, c.key)
	if err != nil {
		return nil, err
	}
	subject := g.at("subject")
	if id := inside.Field(subject, "record"); id.Kind() == value.KindRecord {
		return r.recordLogin(ctx, c, d, def, id.Record(), g.id())
	}
	name := textField(subject.Object(), "user")
	claims := auth.NewClaims(r.Now(), literalDuration(def.TokenDuration))
	claims.NS, claims.DB, claims.AC, claims.Subject = c.ns, c.db, d.Name, name
	claims.Grant = g.id()
	p, err := r.tokenPrincipal(c, def, &claims)
	if err != nil {
		return nil, err
	}
	token, err := claims.Sign("HS512", secretOf(d))
	if err != nil {
		return nil, err
	}
	p.Access, p.Claims, p.Expiry = d.Name, claims.All, expiry(r.Now(), def.SessionDuration)
	if p, err = r.authenticated(ctx, c.ns, c.db, p, def); err != nil {
		return nil, err
	}
	p.Grant, p.Token = g.id(), auth.TokenOf(token, &claims)
	return &Login{Principal: p, Answer: value.Str(token)}, nil
}

// access is ACCESS … GRANT, SHOW, REVOKE and PURGE.
func (r *run) access(ctx context.Context, env *exec.Env, s *ast.Access) (value.Value, error) {
	base := s.Base.Or(r.level())
	action := auth.Edit
	if s.Action == ast.AccessShow {
		action = auth.View
	}
	if err := r.Auth.Allow(action, base, auth.ResourceActor); err != nil {
		return value.None, err
	}
	d, def, err := r.accessMethod(s.Name, base)
	if err != nil {
		return value.None, err
	}
	if d == nil {
		if s.GrantID != "" && s.Action == ast.AccessRevoke {
			return value.None, r.noGrant(s.GrantID, s.Name, base)
		}
		return value.None, r.ActorError("access method", s.Name, base, "does not exist")
	}
	switch s.Action {
	case ast.AccessGrant:
		return r.grant(ctx, env, s, base, d, def)
	case ast.AccessRevoke:
		return r.revoke(ctx, env, s, base, d)
	case ast.AccessPurge:
		return r.purge(ctx, env, s, d)
	}
	found, err := r.selectGrants(ctx, env, s, base, d)
	if err != nil {
		return value.None, err
	}
	return shownGrants(found, s.GrantID != ""), nil
}

// level is the level of the place that the session is in.
func (r *run) level() ast.Base {
	switch {
	case r.Auth.DB != "":
		return ast.BaseDatabase
	case r.Auth.NS != "":
		return ast.BaseNamespace
	}
	return ast.BaseRoot
}

// accessMethod finds the access method that a statement names; nil where there is none.
func (r *run) accessMethod(name string, base ast.Base) (*catalog.Def, *ast.DefineAccess, error) {
	scope, err := r.Level(base)
	if err != nil {
		return nil, nil, err
	}
	d, err := r.Cat.Def(scope, ast.DefAccess, name)
	if d == nil || err != nil {
		return nil, nil, err
	}
	def, ok := d.Stmt.(*ast.DefineAccess)
	if !ok {
		return nil, nil, errs.Internal("The access method '%s' can not be read", strings.ToLower(name))
	}
	return d, def, nil
}

func shownGrants(gs []*grant, single bool) value.Value {
	out := make([]value.Value, len(gs))
	for i, g := range gs {
		out[i] = g.shown(auth.Redacted)
	}
	if single && len(out) == 1 {
		return out[0]
	}
	return value.ArrayOf(out)
}

// noGrants refuses a grant of an access method of another type than BEARER.
func noGrants(kind ast.AccessKind, s *ast.Access, base ast.Base) error {
	switch {
	case kind != ast.AccessRecord:
		return errs.Internal("Unimplemented functionality: Grants for JWT on %s", baseName(base))
	case s.Record == nil:
		return invalidSubject()
	}
	return errs.Internal("The access method cannot be used in the requested operation")
}

// grant is ACCESS … GRANT: the answer is the only time that the key is shown.
func (r *run) grant(ctx context.Context, env *exec.Env, s *ast.Access, base ast.Base, d *catalog.Def,
	def *ast.DefineAccess) (value.Value, error) {
	if def.Kind != ast.AccessBearer {
		return value.None, noGrants(def.Kind, s, base)
	}
	var subject value.Value
	if s.Record != nil {
		id, err := r.Eval(ctx, env, s.Record)
		if err != nil {
			return value.None, err
		}
		if def.BearerUser || id.Kind() != value.KindRecord {
			return value.None, invalidSubject()
		}
		subject = recordSubject(id)
	} else {
		if !def.BearerUser {
			return value.None, invalidSubject()
		}
		u, err := r.Cat.Def(d.Scope, ast.DefUser, s.User)
		if err != nil {
			return value.None, err
		}
		if u == nil {
			return value.None, r.ActorError("user", s.User, base, "does not exist")
		}
		subject = value.ObjectOf(value.NewObject(value.Field{Name: "user", Value: value.Str(s.User)}))
	}
	g, text, err := r.newGrant(d, def, bearerGrant, subject)
	if err != nil {
		return value.None, err
	}
	return g.shown(text), nil
}

func invalidSubject() error { return errs.Internal("This access grant has an invalid subject") }

func baseName(b ast.Base) string {
	switch b {
	case ast.BaseRoot:
		return "ROOT"
	case ast.BaseNamespace:
		return "NAMESPACE"
	}
	return "DATABASE"
}

// selectGrants finds the grants that SHOW or REVOKE is about.
func (r *run) selectGrants(ctx context.Context, env *exec.Env, s *ast.Access, base ast.Base,
	d *catalog.Def) ([]*grant, error) {
	if s.GrantID != "" {
		g, err := r.findGrant(d, s.GrantID)
		if err != nil {
			return nil, err
		}
		if g == nil {
			return nil, r.noGrant(s.GrantID, d.Name, base)
		}
		return []*grant{g}, nil
	}
	all, err := r.grants(d)
	if err != nil || s.Where == nil {
		return all, err
	}
	var out []*grant
	for _, g := range all {
		ok, err := r.Value(ctx, env.WithThis(g.shown(auth.Redacted)), s.Where)
		if err != nil {
			return nil, err
		}
		if value.Truthy(ok) {
			out = append(out, g)
		}
	}
	return out, nil
}

func (r *run) noGrant(id, access string, base ast.Base) error {
	switch base {
	case ast.BaseRoot:
		return errs.Internal("The root access grant '%s' does not exist for '%s'", id, access)
	case ast.BaseNamespace:
		return errs.Internal("The access grant '%s' does not exist for '%s' in the namespace '%s'", id, access, r.Auth.NS)
	}
	return errs.Internal("The access grant '%s' does not exist for '%s' in the database '%s'", id, access, r.Auth.DB)
}

// revoke is ACCESS … REVOKE: revoked grants stay until they are purged.
func (r *run) revoke(ctx context.Context, env *exec.Env, s *ast.Access, base ast.Base,
	d *catalog.Def) (value.Value, error) {
	found, err := r.selectGrants(ctx, env, s, base, d)
	if err != nil {
		return value.None, err
	}
	var changed []*grant
	for _, g := range found {
		if !g.at("revocation").IsNone() {
			continue
		}
		g.row = g.row.With("revocation", datetime(r.Now()))
		err := r.Cat.IdentityChanged()
		if err == nil {
			err = r.putGrant(d, g)
		}
		if err != nil {
			return value.None, err
		}
		changed = append(changed, g)
	}
	if s.GrantID != "" {
		return shownGrants(changed, true), nil
	}
	// Upstream answers the list inside another one here.
	return value.Array(shownGrants(changed, false)), nil
}

// purge is ACCESS … PURGE: it forgets grants that expired or were revoked at least so long ago.
func (r *run) purge(ctx context.Context, env *exec.Env, s *ast.Access, d *catalog.Def) (value.Value, error) {
	var grace time.Duration
	if s.For != nil {
		v, err := r.Eval(ctx, env, s.For)
		if err != nil {
			return value.None, err
		}
		if v.Kind() == value.KindDuration {
			grace = v.Duration().Std()
		}
	}
	all, err := r.grants(d)
	if err != nil {
		return value.None, err
	}
	limit := datetime(r.Now().Add(-grace))
	past := func(v value.Value) bool { return v.Kind() == value.KindDatetime && value.Compare(v, limit) <= 0 }
	var gone []*grant
	for _, g := range all {
		if !(s.Expired && past(g.at("expiration")) || s.Revoked && past(g.at("revocation"))) {
			continue
		}
		if err := r.Cat.DeleteGrant(d, g.id()); err != nil {
			return value.None, err
		}
		gone = append(gone, g)
	}
	return shownGrants(gone, false), nil
}
