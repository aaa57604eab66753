package access

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// credentials are the parameters of signin and signup, taken apart.
type credentials struct {
	ns, db, access string
	key, refresh   string
	vars           []record.Param // all but the place, for the expressions of a record access
	guess          guess
}

func credentialsOf(params *value.Object) credentials {
	var c credentials
	for _, f := range params.Fields() {
		text := ""
		if f.Value.Kind() == value.KindString {
			text = f.Value.Str()
		}
		switch f.Name {
		case "ns", "NS":
			c.ns = text
		case "db", "DB":
			c.db = text
		case "ac", "AC":
			c.access = text
		default:
			switch f.Name {
			case "key":
				c.key = text
			case "refresh":
				c.refresh = text
			}
			if !exec.Protected(f.Name) {
				c.vars = append(c.vars, record.Param{Name: f.Name, Value: f.Value})
			}
		}
	}
	return c
}

// base is the level that credentials are for.
func (c *credentials) base() ast.Base {
	switch {
	case c.db != "":
		return ast.BaseDatabase
	case c.ns != "":
		return ast.BaseNamespace
	}
	return ast.BaseRoot
}

// signin checks what an access method asks for. guess is nil where nothing can be guessed.
func (r *run) signin(ctx context.Context, params *value.Object, guess guess) (*Login, error) {
	c := credentialsOf(params)
	c.guess = guess
	return r.signinAccess(ctx, &c)
}

func systemLevel(b ast.Base) auth.Level {
	switch b {
	case ast.BaseRoot:
		return auth.RootUser
	case ast.BaseNamespace:
		return auth.NamespaceUser
	}
	return auth.DatabaseUser
}

// expiry is the Unix time at which a session ends that begins now and lasts for x; 0 for NONE.
func expiry(now time.Time, x ast.Expr) int64 {
	if d := literalDuration(x); d > 0 {
		return now.Add(d).Unix()
	}
	return 0
}

// lastsForEver reports whether a stored lifetime is NONE. A token without an end is only taken where its definition
// says so.
func lastsForEver(x ast.Expr) bool {
	l, ok := x.(*ast.Literal)
	return ok && l.Value.IsNone()
}

// literalDuration is the duration in a literal; 0 for NONE and for nothing.
func literalDuration(x ast.Expr) time.Duration {
	if l, ok := x.(*ast.Literal); ok && l.Value.Kind() == value.KindDuration {
		return l.Value.Duration().Std()
	}
	return 0
}

// secretOf is the key that a definition's tokens are signed with.
func secretOf(d *catalog.Def) string {
	if v, ok := d.Extra.Get("key"); ok && v.Kind() == value.KindString {
		return v.Str()
	}
	return ""
}

func noAccess() error {
	return errs.NotAllowed("The access method does not exist")
}

// signinAccess is signin by an access method.
func (r *run) signinAccess(ctx context.Context, c *credentials) (*Login, error) {
	d, err := r.Cat.Actor(ast.DefAccess, c.access, c.ns, c.db)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, noAccess()
	}
	def, _ := d.Stmt.(*ast.DefineAccess)
	switch {
	case def == nil:
		return nil, noAccess()
	case def.Kind == ast.AccessBearer:
		return r.signinBearer(ctx, c, d, def)
	case def.Kind != ast.AccessRecord:
		return nil, errs.NotAllowed(notThisWayText)
	case c.refresh != "" && def.Refresh:
		return r.signinRefresh(ctx, c, d, def)
	case def.Signin == nil:
		return nil, errs.NotAllowed("This record access method does not allow signin")
	}
	id, err := r.accessRecord(ctx, c, def.Signin, "signin")
	if err != nil {
		return nil, err
	}
	return r.recordLogin(ctx, c, d, def, id, "")
}

// signup makes a record user by the SIGNUP of an access method; guess is as that of signin.
func (r *run) signup(ctx context.Context, params *value.Object, guess guess) (*Login, error) {
	c := credentialsOf(params)
	c.guess = guess
	d, err := r.Cat.Actor(ast.DefAccess, c.access, c.ns, c.db)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, noAccess()
	}
	def, _ := d.Stmt.(*ast.DefineAccess)
	switch {
	case def == nil || def.Kind != ast.AccessRecord:
		return nil, errs.NotAllowed(notThisWayText)
	case def.Signup == nil:
		return nil, errs.NotAllowed("This record access method does not allow signup")
	}
	id, err := r.accessRecord(ctx, &c, def.Signup, "signup")
	if err != nil {
		return nil, err
	}
	return r.recordLogin(ctx, &c, d, def, id, "")
}

// accessRecord evaluates a SIGNIN or SIGNUP with the client's variables: it must yield a record; of several the first
// counts.
func (r *run) accessRecord(ctx context.Context, c *credentials, x ast.Expr, what string) (*value.RecordID, error) {
	if c.guess != nil {
		if err := c.guess(c.ns, c.db, c.access); err != nil {
			return nil, err
		}
	}
	v, err := r.asEngine(ctx, c.ns, c.db, auth.Principal{}, exec.NewEnv(c.vars...), x)
	if err != nil {
		if e := errs.As(err); e.Kind == errs.KindThrown {
			return nil, e
		}
		return nil, &errs.Error{Kind: errs.KindNotAllowed, Msg: "The record access " + what + " query failed", Err: err}
	}
	if v.Kind() == value.KindArray && v.Len() > 0 {
		v = v.Elems()[0]
	}
	if id := exec.RecordOf(v); id.Kind() == value.KindRecord && id.Record().Key.Kind() != value.KindRange {
		return id.Record(), nil
	}
	return nil, errs.NotAllowed("No record was returned")
}

// asEngine evaluates an expression of an access method in its own place, where it may read and write all data; $auth,
// $token and so on are those of p. Parameters of the database come before those of the client in env.
func (r *run) asEngine(ctx context.Context, ns, db string, p auth.Principal, env *exec.Env,
	x ast.Expr) (value.Value, error) {
	sess := *r.Sess
	sess.Auth.NS, sess.Auth.DB, sess.Auth.Principal, sess.Vars = ns, db, p, nil
	return r.Elevated(&sess, env).Value(ctx, env, x)
}

// recordLogin is the identity of a record user that an access method let in, with its token. grant is the id of the
// bearer grant that let it in, or "".
func (r *run) recordLogin(ctx context.Context, c *credentials, d *catalog.Def, def *ast.DefineAccess,
	id *value.RecordID, grant string) (*Login, error) {
	claims := auth.NewClaims(r.Now(), literalDuration(def.TokenDuration))
	claims.NS, claims.DB, claims.AC, claims.Subject = c.ns, c.db, d.Name, value.RecordOf(id).Text()
	claims.Grant, claims.Audience = grant, audience(def)
	p := auth.Principal{Level: auth.RecordUser, NS: c.ns, DB: c.db, Record: value.Detach(value.RecordOf(id)),
		Access: d.Name,
		Grant:  grant, Expiry: expiry(r.Now(), def.SessionDuration)}
	algorithm, key := issuer(d, def)
	if key == "" {
		return nil, errs.NotAllowed("The access method cannot issue tokens")
	}
	token, err := claims.Sign(algorithm, key)
	if err != nil {
		return nil, err
	}
	p.Claims = claims.All
	if p, err = r.authenticated(ctx, c.ns, c.db, p, def); err != nil {
		return nil, err
	}
	if now := p.Record.Text(); now != claims.Subject {
		claims.Subject = now
		if token, err = claims.Sign(algorithm, key); err != nil {
			return nil, err
		}
		p.Claims = claims.All
	}
	p.Token = auth.TokenOf(token, &claims)
	login := &Login{Principal: p, Answer: value.Str(token)}
	if def.Refresh {
		refresh, err := r.newRefresh(d, def, p.Record)
		if err != nil {
			return nil, err
		}
		login.Answer = value.ObjectOf(value.NewObject(value.Field{Name: "access", Value: value.Str(token)},
			value.Field{Name: "refresh", Value: value.Str(refresh)}))
	}
	return login, nil
}

// issuer holds the keys with which an access method signs its tokens.
func issuer(d *catalog.Def, def *ast.DefineAccess) (algorithm, key string) {
	if def.Kind == ast.AccessBearer {
		return "HS512", secretOf(d)
	}
	if def.JWT == nil {
		return "", ""
	}
	algorithm = def.JWT.IssuerAlg
	if algorithm == "" {
		algorithm = def.JWT.Algorithm
	}
	return algorithm, ast.LiteralText(def.JWT.Issuer)
}

// authenticated runs the AUTHENTICATE of an access method. For a record user it must give the record, the same or
// another; for a system user nothing at all. Anything else is a refusal.
func (r *run) authenticated(ctx context.Context, ns, db string, p auth.Principal,
	def *ast.DefineAccess) (auth.Principal, error) {
	record := p.Level == auth.RecordUser
	if def.Authenticate == nil {
		if record && p.Record.Kind() != value.KindRecord {
			return p, notThisWay()
		}
		return p, nil
	}
	v, err := r.asEngine(ctx, ns, db, p, exec.NewEnv(), def.Authenticate)
	if err != nil {
		if e := errs.As(err); e.Kind == errs.KindThrown {
			return p, e
		}
		e := errs.InvalidAuth()
		e.Err = err
		return p, e
	}
	if !record {
		if !v.IsNone() {
			return p, errs.InvalidAuth()
		}
		return p, nil
	}
	id := exec.RecordOf(v)
	if id.Kind() != value.KindRecord || id.Record().Key.Kind() == value.KindRange {
		return p, errs.InvalidAuth()
	}
	p.Record = value.Detach(id)
	return p, nil
}

const notThisWayText = "The access method cannot be used in the requested operation"

// notThisWay is a token that its access method has no use for.
func notThisWay() error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: notThisWayText,
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "InvalidAuth"}}}
}

// authenticate is the identity in a token of an access method; seen is what the token says of itself.
func (r *run) authenticate(ctx context.Context, token string, seen *auth.Claims) (*Login, error) {
	c := credentials{ns: seen.NS, db: seen.DB}
	d, def, claims, err := r.verifyAccess(ctx, token, seen)
	if err != nil {
		return nil, err
	}
	p, err := r.tokenPrincipal(&c, def, claims)
	if err != nil {
		return nil, err
	}
	p.Access, p.Claims, p.Expiry = d.Name, claims.All, expiry(r.Now(), def.SessionDuration)
	if def.Kind == ast.AccessBearer {
		p.Grant = claims.Grant
		if r.stillGranted(&p) != nil {
			return nil, errs.InvalidAuth()
		}
	}
	if p, err = r.authenticated(ctx, c.ns, c.db, p, def); err != nil {
		return nil, err
	}
	return &Login{Principal: p}, nil
}

// verifyAccess checks a token of an access method, which it gives.
func (r *run) verifyAccess(ctx context.Context, token string,
	seen *auth.Claims) (*catalog.Def, *ast.DefineAccess, *auth.Claims, error) {
	d, err := r.Cat.Actor(ast.DefAccess, seen.AC, seen.NS, seen.DB)
	if err != nil {
		return nil, nil, nil, err
	}
	if d == nil {
		return nil, nil, nil, errs.InvalidAuth()
	}
	def, ok := d.Stmt.(*ast.DefineAccess)
	if !ok {
		return nil, nil, nil, errs.InvalidAuth()
	}
	claims, err := r.verified(ctx, token, d, def)
	if err != nil {
		return nil, nil, nil, err
	}
	if claims.Expires == 0 && !lastsForEver(def.TokenDuration) {
		return nil, nil, nil, errs.InvalidAuth()
	}
	return d, def, claims, nil
}

// verified checks a token by what its access method says of its key and its audience.
func (r *run) verified(ctx context.Context, token string, d *catalog.Def, def *ast.DefineAccess) (*auth.Claims, error) {
	claims, err := r.signed(ctx, token, d, def)
	if err == nil && !claims.MeantFor(audience(def)) {
		// SECURITY: the issuer made it for another application.
		return nil, errs.InvalidAuth()
	}
	return claims, err
}

// audience are the aud claims that an access method takes, and puts into its own tokens; nil: any, and none.
func audience(def *ast.DefineAccess) []string {
	if def.Kind == ast.AccessBearer || def.JWT == nil {
		return nil
	}
	var texts []string
	for _, x := range def.JWT.Audience {
		texts = append(texts, ast.LiteralText(x))
	}
	return texts
}

// signed checks the signature of a token: with a key of its access method, one in the definition, or those of a URL.
func (r *run) signed(ctx context.Context, token string, d *catalog.Def, def *ast.DefineAccess) (*auth.Claims, error) {
	algorithm, key := "HS512", secretOf(d)
	if def.Kind != ast.AccessBearer {
		if def.JWT == nil {
			return nil, errs.InvalidAuth()
		}
		if address := ast.LiteralText(def.JWT.URL); address != "" {
			return r.verifyByURL(ctx, token, address)
		}
		algorithm, key = def.JWT.Algorithm, ast.LiteralText(def.JWT.Key)
	}
	if key == "" {
		return nil, errs.InvalidAuth()
	}
	return auth.Verify(token, algorithm, key, r.Now())
}

// tokenPrincipal is who the verified claims of a token are about.
func (r *run) tokenPrincipal(c *credentials, def *ast.DefineAccess, claims *auth.Claims) (auth.Principal, error) {
	p := auth.Principal{Level: systemLevel(c.base()), NS: c.ns, DB: c.db}
	switch {
	case def.Kind == ast.AccessBearer && def.BearerUser:
		d, err := r.Cat.Actor(ast.DefUser, claims.Subject, c.ns, c.db)
		if err != nil {
			return p, err
		}
		if d == nil {
			return p, errs.InvalidAuth()
		}
		user, ok := d.Stmt.(*ast.DefineUser)
		if !ok {
			return p, errs.InvalidAuth()
		}
		p.Name, p.Proof = d.Name, user.PassHash
		p.Roles, _ = auth.ParseRoles(user.Roles)
		return p, nil
	case def.Kind == ast.AccessRecord || def.Kind == ast.AccessBearer:
		p.Level = auth.RecordUser
		if claims.Subject == "" && def.Kind == ast.AccessRecord {
			return p, nil // a token of another issuer: AUTHENTICATE says whose it is
		}
		id, err := r.Ex.ParseRecord(claims.Subject)
		if err != nil || c.db == "" || id.Record().Key.Kind() == value.KindRange {
			return p, errs.InvalidAuth()
		}
		p.Record = id
		return p, nil
	case claims.Subject != "":
		return p, notThisWay()
	}
	roles := claims.Roles
	if roles == nil {
		roles = []string{"Viewer"}
	}
	var ok bool
	if p.Roles, ok = auth.ParseRoles(roles); !ok {
		return p, errs.InvalidAuth()
	}
	p.Name = claims.Subject
	return p, nil
}
