package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Issuer is the iss claim of tokens that the engine makes.
const Issuer = "SurrealDB"

// maxToken is the longest token text that is looked at.
const maxToken = 64 << 10

// Claims are the claims of a token. Names are those of the wire.
type Claims struct {
	Issuer              string
	IssuedAt, NotBefore int64       // Unix seconds
	Expires             int64       // 0: never
	ID                  string      // jti
	NS, DB, AC, Subject string      // Subject is a user name or a record id
	Grant               string      // the id of the bearer grant that the token was traded for, or ""
	Roles               []string    // nil where the token says nothing of them
	Audience            []string    // aud: whom the token is for; nil where it says nothing of them
	All                 value.Value // every claim, as $token shows them
}

// NewClaims are the claims of a token made now, which lives for life (0: for ever).
func NewClaims(now time.Time, life time.Duration) Claims {
	c := Claims{Issuer: Issuer, IssuedAt: now.Unix(), NotBefore: now.Unix(), ID: uuid.NewString()}
	if life > 0 {
		c.Expires = now.Add(life).Unix()
	}
	return c
}

// Token tells an access token from all others.
type Token struct {
	// of what is signed: one text of it alone fits a signature, but several signatures fit a text
	Hash    [sha256.Size]byte
	Expires int64 // Unix seconds; 0: never
}

// TokenOf is the token of a text with the claims c.
func TokenOf(text string, c *Claims) Token {
	return Token{sha256.Sum256([]byte(text[:max(strings.LastIndexByte(text, '.'), 0)])), c.Expires}
}

// object is c as a claims object with the names of the wire.
func (c *Claims) object() *value.Object {
	f := []value.Field{{Name: "iss", Value: value.Str(c.Issuer)}, {Name: "iat", Value: value.Int(c.IssuedAt)},
		{Name: "nbf", Value: value.Int(c.NotBefore)}, {Name: "jti", Value: value.Str(c.ID)}}
	if c.Expires != 0 {
		f = append(f, value.Field{Name: "exp", Value: value.Int(c.Expires)})
	}
	for _, p := range [...]struct{ name, v string }{{"NS", c.NS}, {"DB", c.DB}, {"AC", c.AC}, {"ID", c.Subject},
		{"GR", c.Grant}} {
		if p.v != "" {
			f = append(f, value.Field{Name: p.name, Value: value.Str(p.v)})
		}
	}
	if len(c.Roles) > 0 {
		f = append(f, value.Field{Name: "RL", Value: textList(c.Roles)})
	}
	if len(c.Audience) > 0 {
		f = append(f, value.Field{Name: "aud", Value: textList(c.Audience)})
	}
	return value.NewObject(f...)
}

func textList(texts []string) value.Value {
	list := make([]value.Value, len(texts))
	for i, t := range texts {
		list[i] = value.Str(t)
	}
	return value.ArrayOf(list)
}

// MeantFor reports whether the token is for one of an audience. An empty audience takes all tokens.
func (c *Claims) MeantFor(audience []string) bool {
	among := func(a string) bool { return slices.Contains(audience, a) }
	return len(audience) == 0 || slices.ContainsFunc(c.Audience, among)
}

// Sign makes the token text of c, and fills in c.All. key is a secret, or PEM text for asymmetric algorithms.
func (c *Claims) Sign(algorithm, key string) (string, error) {
	method := jwt.GetSigningMethod(methodName(algorithm))
	if method == nil {
		return "", tokenFailed(fmt.Errorf("unknown algorithm %s", algorithm))
	}
	k, err := signingKey(algorithm, key)
	if err != nil {
		return "", tokenFailed(err)
	}
	o := c.object()
	c.All = value.ObjectOf(o)
	m := jwt.MapClaims{}
	for _, f := range o.Fields() {
		switch f.Value.Kind() {
		case value.KindInt:
			m[f.Name] = f.Value.Int()
		case value.KindArray:
			texts := make([]string, 0, len(f.Value.Elems()))
			for _, x := range f.Value.Elems() {
				texts = append(texts, x.Str())
			}
			m[f.Name] = texts
		default:
			m[f.Name] = f.Value.Str()
		}
	}
	text, err := jwt.NewWithClaims(method, m).SignedString(k)
	if err != nil {
		return "", tokenFailed(err)
	}
	return text, nil
}

func tokenFailed(err error) error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: "There was an error creating the token", Err: err,
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "TokenMakingFailed"}}}
}

// TokenExpired is a token past its exp.
func TokenExpired() error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: "The token has expired",
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "TokenExpired"}}}
}

// Peek reads the claims of a token without checking anything: to find out which key to check it with.
func Peek(text string) (*Claims, error) {
	if len(text) > maxToken {
		return nil, errs.InvalidAuth()
	}
	m := jwt.MapClaims{}
	if _, _, err := jwt.NewParser(jwt.WithJSONNumber()).ParseUnverified(text, m); err != nil {
		e := errs.InvalidAuth()
		e.Err = err
		return nil, e
	}
	return claimsOf(m)
}

// Verify checks the signature and the times of a token. key is a secret, or PEM text for asymmetric algorithms; a token
// of any other algorithm is refused.
func Verify(text, algorithm, key string, now time.Time) (*Claims, error) {
	k, err := verifyKey(algorithm, key)
	if err != nil {
		e := errs.InvalidAuth()
		e.Err = err
		return nil, e
	}
	return verify(text, []string{methodName(algorithm)}, now, func(*jwt.Token) (any, error) { return k, nil })
}

// Symmetric reports whether an algorithm signs and verifies with one secret.
func Symmetric(algorithm string) bool { return strings.HasPrefix(strings.ToUpper(algorithm), "HS") }

// methodName is the name of an algorithm in a token's head.
func methodName(algorithm string) string {
	if a := strings.ToUpper(algorithm); a != "EDDSA" {
		return a
	}
	return "EdDSA"
}

func signingKey(algorithm, key string) (any, error) {
	if Symmetric(algorithm) {
		return []byte(key), nil
	}
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return nil, errors.New("the key is not PEM")
	}
	if k, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	if k, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return k, nil
	}
	return x509.ParsePKCS1PrivateKey(block.Bytes)
}

func verifyKey(algorithm, key string) (any, error) {
	if Symmetric(algorithm) {
		return []byte(key), nil
	}
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return nil, errors.New("the key is not PEM")
	}
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		var cert *x509.Certificate
		if cert, err = x509.ParseCertificate(block.Bytes); err == nil {
			pub = cert.PublicKey
		} else if pub, err = x509.ParsePKCS1PublicKey(block.Bytes); err != nil {
			return nil, err
		}
	}
	return pub, fits(algorithm, pub)
}

// fits refuses a key of another family, or on another curve, than the algorithm's.
func fits(algorithm string, pub crypto.PublicKey) error {
	algorithm = strings.ToUpper(algorithm)
	ok := false
	switch k := pub.(type) {
	case *rsa.PublicKey:
		ok = strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		ok = algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Curve.Params().BitSize]
	case ed25519.PublicKey:
		ok = algorithm == "EDDSA"
	}
	if !ok {
		return fmt.Errorf("a key of type %T does not fit %s", pub, algorithm)
	}
	return nil
}

// claimNames are the names that each claim of ours is read from.
func claimNames(name string) [3]string {
	low := strings.ToLower(name)
	return [3]string{name, low, "https://surrealdb.com/" + low}
}

// claimsOf takes the claims apart. One of ours that is not of its type is a refusal: what it was meant to limit is not
// guessed.
func claimsOf(m jwt.MapClaims) (*Claims, error) {
	c := &Claims{All: fromJSON(map[string]any(m))}
	for _, p := range [...]struct {
		name string
		to   *string
	}{{"NS", &c.NS}, {"DB", &c.DB}, {"AC", &c.AC}, {"ID", &c.Subject}, {"GR", &c.Grant}} {
		x, ok := claim(m, p.name)
		if !ok {
			continue
		}
		if *p.to, ok = x.(string); !ok {
			return nil, badClaim(p.name)
		}
	}
	c.Audience, _ = m.GetAudience() // of another type it names none
	c.Issuer, _ = m["iss"].(string)
	c.ID, _ = m["jti"].(string)
	for _, p := range [...]struct {
		get func() (*jwt.NumericDate, error)
		to  *int64
	}{{m.GetExpirationTime, &c.Expires}, {m.GetIssuedAt, &c.IssuedAt}, {m.GetNotBefore, &c.NotBefore}} {
		t, err := p.get()
		if err != nil {
			return nil, badClaim("time")
		}
		if t != nil {
			*p.to = t.Unix()
		}
	}
	var err error
	c.Roles, err = rolesOf(m)
	return c, err
}

// rolesOf are the names of the roles; nil where the token says nothing of them.
func rolesOf(m jwt.MapClaims) ([]string, error) {
	x, ok := claim(m, "RL")
	if !ok {
		return nil, nil
	}
	list, ok := x.([]any)
	if !ok {
		return nil, badClaim("RL")
	}
	roles := make([]string, len(list))
	for i, r := range list {
		if roles[i], ok = r.(string); !ok {
			return nil, badClaim("RL")
		}
	}
	return roles, nil
}

// claim is one of ours by any of its names; null is as good as absent.
func claim(m jwt.MapClaims, name string) (any, bool) {
	for _, n := range claimNames(name) {
		if x, ok := m[n]; ok && x != nil {
			return x, true
		}
	}
	return nil, false
}

func badClaim(name string) error {
	e := errs.InvalidAuth()
	e.Err = fmt.Errorf("the claim %s of the token is not of its type", name)
	return e
}

// number is a JSON number as the decoder leaves it.
type number interface {
	Int64() (int64, error)
	Float64() (float64, error)
}

// fromJSON makes a value of a decoded claim.
func fromJSON(x any) value.Value {
	switch x := x.(type) {
	case nil:
		return value.Null
	case bool:
		return value.Bool(x)
	case string:
		return value.Str(strings.ToValidUTF8(x, "\uFFFD"))
	case float64:
		return value.Float(x)
	case number:
		if n, err := x.Int64(); err == nil {
			return value.Int(n)
		}
		f, _ := x.Float64()
		return value.Float(f)
	case []any:
		out := make([]value.Value, len(x))
		for i, e := range x {
			out[i] = fromJSON(e)
		}
		return value.ArrayOf(out)
	case map[string]any:
		fields := make([]value.Field, 0, len(x))
		for k, v := range x {
			fields = append(fields, value.Field{Name: strings.ToValidUTF8(k, "\uFFFD"), Value: fromJSON(v)})
		}
		return value.ObjectOf(value.NewObject(fields...))
	}
	return value.None
}
