package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
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

// Claims are what a token says. Names are those of the wire.
type Claims struct {
	Issuer              string
	IssuedAt, NotBefore int64  // Unix seconds
	Expires             int64  // 0: never
	ID                  string // jti
	NS, DB, AC, Subject string // Subject is a user name or a record id
	Roles               []string
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

// object is c as a claims object with the names of the wire.
func (c *Claims) object() *value.Object {
	f := []value.Field{{Name: "iss", Value: value.Str(c.Issuer)}, {Name: "iat", Value: value.Int(c.IssuedAt)},
		{Name: "nbf", Value: value.Int(c.NotBefore)}, {Name: "jti", Value: value.Str(c.ID)}}
	if c.Expires != 0 {
		f = append(f, value.Field{Name: "exp", Value: value.Int(c.Expires)})
	}
	for _, p := range [...]struct{ name, v string }{{"NS", c.NS}, {"DB", c.DB}, {"AC", c.AC}, {"ID", c.Subject}} {
		if p.v != "" {
			f = append(f, value.Field{Name: p.name, Value: value.Str(p.v)})
		}
	}
	if len(c.Roles) > 0 {
		roles := make([]value.Value, len(c.Roles))
		for i, r := range c.Roles {
			roles[i] = value.Str(r)
		}
		f = append(f, value.Field{Name: "RL", Value: value.ArrayOf(roles)})
	}
	return value.NewObject(f...)
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
			m[f.Name] = c.Roles
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
	return claimsOf(m), nil
}

// Verify checks the signature and the times of a token. key is a secret, or PEM text for asymmetric algorithms; a token
// of any other algorithm is refused.
func Verify(text, algorithm, key string, now time.Time) (*Claims, error) {
	if len(text) > maxToken {
		return nil, errs.InvalidAuth()
	}
	k, err := verifyKey(algorithm, key)
	if err != nil {
		e := errs.InvalidAuth()
		e.Err = err
		return nil, e
	}
	m := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{methodName(algorithm)}), jwt.WithJSONNumber(),
		jwt.WithTimeFunc(func() time.Time { return now }))
	if _, err := parser.ParseWithClaims(text, m, func(*jwt.Token) (any, error) { return k, nil }); err != nil {
		if errors.Is(err, jwt.ErrTokenExpired) {
			return nil, TokenExpired()
		}
		e := errs.InvalidAuth()
		e.Err = err
		return nil, e
	}
	return claimsOf(m), nil
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

// fits refuses a key of another family than the algorithm's.
func fits(algorithm string, pub crypto.PublicKey) error {
	ok := false
	switch pub.(type) {
	case *rsa.PublicKey:
		ok = strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		ok = strings.HasPrefix(algorithm, "ES")
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

func claimsOf(m jwt.MapClaims) *Claims {
	text := func(name string) string {
		for _, n := range claimNames(name) {
			if s, ok := m[n].(string); ok {
				return s
			}
		}
		return ""
	}
	c := &Claims{NS: text("NS"), DB: text("DB"), AC: text("AC"), Subject: text("ID")}
	c.Issuer, _ = m["iss"].(string)
	c.ID, _ = m["jti"].(string)
	if t, err := m.GetExpirationTime(); err == nil && t != nil {
		c.Expires = t.Unix()
	}
	if t, err := m.GetIssuedAt(); err == nil && t != nil {
		c.IssuedAt = t.Unix()
	}
	if t, err := m.GetNotBefore(); err == nil && t != nil {
		c.NotBefore = t.Unix()
	}
	for _, n := range claimNames("RL") {
		if list, ok := m[n].([]any); ok {
			for _, r := range list {
				if s, ok := r.(string); ok {
					c.Roles = append(c.Roles, s)
				}
			}
			break
		}
	}
	c.All = fromJSON(map[string]any(m))
	return c
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
