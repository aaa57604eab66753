package auth

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/nacredb/nacre/engine/value"
)

// ScramIterations is the work of a SCRAM-SHA-256 verifier, ScramSalt the length of its salt in bytes.
const (
	ScramIterations = 4096
	ScramSalt       = 16
)

// Scram is the verifier that a server keeps for SCRAM-SHA-256: nothing in it suffices to sign in.
type Scram struct {
	Salt       []byte
	Iterations int
	StoredKey  []byte
	ServerKey  []byte
}

// NewScram makes the verifier of a password with a random salt.
func NewScram(password string) (*Scram, error) {
	s := &Scram{Salt: make([]byte, ScramSalt), Iterations: ScramIterations}
	rand.Read(s.Salt)
	salted, err := pbkdf2.Key(sha256.New, saslprep(password), s.Salt, s.Iterations, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("make a SCRAM verifier: %w", err)
	}
	mac := func(text string) []byte {
		m := hmac.New(sha256.New, salted)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	s.StoredKey, s.ServerKey = stored[:], mac("Server Key")
	return s, nil
}

// saslprep is password as SCRAM clients prepare it (RFC 4013): spaces of other scripts are spaces, what is mapped to
// nothing is left out, and the rest is composed. A password that the RFC forbids is taken as it is, as clients do.
func saslprep(password string) string {
	ascii := true
	for i := 0; i < len(password); i++ {
		ascii = ascii && password[i] < utf8.RuneSelf
	}
	if ascii || !utf8.ValidString(password) {
		return password
	}
	mapped := strings.Map(func(r rune) rune {
		switch {
		case r == 0xad, r == 0x34f, r == 0x1806, r >= 0x180b && r <= 0x180d, r >= 0x200b && r <= 0x200d, r == 0x2060,
			r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff:
			return -1
		case r != ' ' && unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, password)
	out := norm.NFKC.String(mapped)
	if out == "" || strings.ContainsFunc(out, func(r rune) bool {
		return unicode.IsControl(r) ||
			unicode.Is(unicode.Co, r)
	}) {
		return password
	}
	return out
}

// Object is the stored form of s.
func (s *Scram) Object() *value.Object {
	return value.NewObject(
		value.Field{Name: "iterations", Value: value.Int(int64(s.Iterations))},
		value.Field{Name: "salt", Value: value.BytesOf(s.Salt)},
		value.Field{Name: "server_key", Value: value.BytesOf(s.ServerKey)},
		value.Field{Name: "stored_key", Value: value.BytesOf(s.StoredKey)},
	)
}

// ScramOf reads the stored form; nil where it is none.
func ScramOf(v value.Value) *Scram {
	if v.Kind() != value.KindObject {
		return nil
	}
	bytes := func(name string) []byte {
		if x, ok := v.Object().Get(name); ok && x.Kind() == value.KindBytes {
			return x.Bytes()
		}
		return nil
	}
	s := &Scram{Salt: bytes("salt"), StoredKey: bytes("stored_key"), ServerKey: bytes("server_key")}
	if n, ok := v.Object().Get("iterations"); ok && n.Kind() == value.KindInt {
		s.Iterations = int(n.Int())
	}
	if len(s.Salt) == 0 || len(s.StoredKey) == 0 || len(s.ServerKey) == 0 || s.Iterations < 1 {
		return nil
	}
	return s
}
