package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/nacredb/nacre/engine/errs"
)

// KeySet are the public keys of a token issuer (RFC 7517). It is immutable.
type KeySet struct{ keys []setKey }

type setKey struct {
	id, algorithm string // "" where the set does not say
	public        crypto.PublicKey
}

// maxSetKeys is how many keys of a set are looked at.
const maxSetKeys = 100

// jwk is a key as the set writes it.
type jwk struct {
	Kty, Use, Alg, Kid, Crv string
	N, E, X, Y              string
	KeyOps                  []string `json:"key_ops"`
}

// ParseKeySet reads a key set. Keys that are not public keys for signatures, or of a kind it does not know, are left
// out; a set without any other is an error.
func ParseKeySet(b []byte) (*KeySet, error) {
	var raw struct{ Keys []jwk }
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("read a key set: %w", err)
	}
	set := &KeySet{}
	for i := range raw.Keys[:min(len(raw.Keys), maxSetKeys)] {
		k := &raw.Keys[i]
		if k.Use != "" && k.Use != "sig" || !k.verifies() {
			continue
		}
		public, err := k.public()
		if err != nil || k.Alg != "" && fits(k.Alg, public) != nil {
			continue
		}
		set.keys = append(set.keys, setKey{k.Kid, k.Alg, public})
	}
	if len(set.keys) == 0 {
		return nil, errors.New("the key set has no key to check signatures with")
	}
	return set, nil
}

func (k *jwk) verifies() bool {
	for _, op := range k.KeyOps {
		if op == "verify" {
			return true
		}
	}
	return len(k.KeyOps) == 0
}

// public is the key itself. Symmetric keys are none: a set is public.
func (k *jwk) public() (crypto.PublicKey, error) {
	switch k.Kty {
	case "RSA":
		n, err1 := number64(k.N)
		e, err2 := number64(k.E)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if n.BitLen() < 2048 || n.BitLen() > 16384 || e.BitLen() > 31 || e.Int64() < 3 {
			return nil, errors.New("an RSA key of such a size is not used")
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
	case "EC":
		return k.curvePoint()
	case "OKP":
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || k.Crv != "Ed25519" || len(x) != ed25519.PublicKeySize {
			return nil, errors.New("not an Ed25519 key")
		}
		return ed25519.PublicKey(x), nil
	}
	return nil, fmt.Errorf("keys of type %q are not used", k.Kty)
}

func (k *jwk) curvePoint() (crypto.PublicKey, error) {
	curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(),
		"P-521": elliptic.P521()}[k.Crv]
	if curve == nil {
		return nil, fmt.Errorf("the curve %q is not used", k.Crv)
	}
	x, err1 := base64.RawURLEncoding.DecodeString(k.X)
	y, err2 := base64.RawURLEncoding.DecodeString(k.Y)
	size := (curve.Params().BitSize + 7) / 8
	if err := errors.Join(err1, err2); err != nil || len(x) != size || len(y) != size {
		return nil, errors.New("the point of the key cannot be read")
	}
	return ecdsa.ParseUncompressedPublicKey(curve, append(append([]byte{4}, x...), y...))
}

func number64(text string) (*big.Int, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	return new(big.Int).SetBytes(b), err
}

// find is the key for a token that names a key (or "") and an algorithm. Without a name there must be just one that
// fits.
func (s *KeySet) find(id, algorithm string) crypto.PublicKey {
	var found crypto.PublicKey
	for i := range s.keys {
		k := &s.keys[i]
		if id != "" && k.id != id || k.algorithm != "" && k.algorithm != algorithm || fits(algorithm, k.public) != nil {
			continue
		}
		if id != "" {
			return k.public
		}
		if found != nil {
			return nil
		}
		found = k.public
	}
	return found
}

// ErrNoKey is the cause of a refusal where a key set has no key for a token: a newer set may have one.
var ErrNoKey = errors.New("the key set has no key for the token")

// VerifyBySet checks the signature and the times of a token by the keys of an issuer. Only algorithms with public keys
// are taken: nothing that the set says can serve as a secret.
func VerifyBySet(text string, set *KeySet, now time.Time) (*Claims, error) {
	return verify(text, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
		"EdDSA"}, now,
		func(t *jwt.Token) (any, error) {
			id, _ := t.Header["kid"].(string)
			if k := set.find(id, t.Method.Alg()); k != nil {
				return k, nil
			}
			return nil, ErrNoKey
		})
}

// errCritical is a token that wants its reader to know an extension (RFC 7515 section 4.1.11): none is known here.
var errCritical = errors.New("the token has critical extensions")

// understood refuses tokens with critical extensions before it looks for their key.
func understood(find jwt.Keyfunc) jwt.Keyfunc {
	return func(t *jwt.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok {
			return nil, errCritical
		}
		return find(t)
	}
}

// verify checks a token of one of some methods by the key that find gives.
func verify(text string, methods []string, now time.Time, find jwt.Keyfunc) (*Claims, error) {
	if len(text) > maxToken {
		return nil, errs.InvalidAuth()
	}
	m := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithJSONNumber(),
		jwt.WithTimeFunc(func() time.Time { return now }))
	if _, err := parser.ParseWithClaims(text, m, understood(find)); err != nil {
		if errors.Is(err, jwt.ErrTokenExpired) {
			return nil, TokenExpired()
		}
		e := errs.InvalidAuth()
		e.Err = err
		return nil, e
	}
	return claimsOf(m)
}
