package auth

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"github.com/nacredb/nacre/engine/value"
)

// scramIterations is the work of a SCRAM-SHA-256 verifier.
const scramIterations = 4096

// Scram is what a server keeps to check SCRAM-SHA-256: nothing in it signs in.
type Scram struct {
	Salt       []byte
	Iterations int
	StoredKey  []byte
	ServerKey  []byte
}

// NewScram makes the verifier of a password with a random salt.
func NewScram(password string) (*Scram, error) {
	s := &Scram{Salt: make([]byte, 16), Iterations: scramIterations}
	rand.Read(s.Salt)
	salted, err := pbkdf2.Key(sha256.New, password, s.Salt, s.Iterations, sha256.Size)
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
