package fn

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"hash"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/scrypt"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/processors"
)

// kdf hashes passwords slowly, with parameters inside the hash. Parameters that would cost more than the limits
// below make verify false: a stored text must not be able to occupy the machine.
type kdf interface {
	generate(password []byte) (string, error)
	verify(hash string, password []byte) bool
}

const (
	saltSize = 16
	keySize  = 32

	maxKDFMemory    = 256 << 20 // bytes
	maxArgonTime    = 32
	maxArgonWork    = 4 * maxKDFMemory >> 10 // kilobytes filled
	maxPBKDF2Rounds = 10_000_000
	maxBcryptCost   = 16
)

// newKDFGate lets as many password hashes run at once as there are processors: each takes many megabytes for a tenth of
// a second.
func newKDFGate() chan struct{} { return make(chan struct{}, processors.Count()) }

func (c Call) slow(f func() error) error {
	select {
	case c.Func.table.kdfs <- struct{}{}:
		defer func() { <-c.Func.table.kdfs }()
		return f()
	case <-c.Host.Context().Done():
		return c.Host.Context().Err()
	}
}

func generatePassword(k kdf) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		if len(args) == 0 {
			return value.None, errs.Internal("Function '%s' expects a password argument", c.Func.Name)
		}
		if args[0].Kind() != value.KindString {
			return value.None, errs.Internal("Function '%s' expects a string password, got: %s", c.Func.Name, typeName(args[0]))
		}
		var out string
		err := c.slow(func() (err error) {
			out, err = k.generate([]byte(args[0].Str()))
			return err
		})
		return value.Str(out), err
	}
}

func comparePassword(k kdf) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		if len(args) < 2 {
			return value.None, errs.Internal("Function '%s' expects two arguments", c.Func.Name)
		}
		for i, what := range []string{"hash", "password"} {
			if args[i].Kind() != value.KindString {
				return value.None, errs.Internal("Function '%s' expects a string %s, got: %s", c.Func.Name, what,
					typeName(args[i]))
			}
		}
		same := false
		err := c.slow(func() error {
			same = k.verify(args[0].Str(), []byte(args[1].Str()))
			return nil
		})
		return value.Bool(same), err
	}
}

func newSalt() []byte {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails: it stops the program instead
	return salt
}

// phc is a hash in the form $id[$v=N]$name=number,…$salt$hash.
type phc struct {
	id         string
	version    int
	params     map[string]int
	salt, hash []byte
}

// phcText is the text of a hash; params are its parameters in order.
func phcText(id, params string, salt, hash []byte) string {
	b64 := base64.RawStdEncoding
	return "$" + id + "$" + params + "$" + b64.EncodeToString(salt) + "$" + b64.EncodeToString(hash)
}

func parsePHC(s string) (phc, bool) {
	var p phc
	parts := strings.Split(s, "$")
	if len(parts) < 5 || len(parts) > 6 || parts[0] != "" {
		return p, false
	}
	p.id, parts = parts[1], parts[2:]
	if len(parts) == 4 {
		v, ok := strings.CutPrefix(parts[0], "v=")
		n, err := strconv.Atoi(v)
		if !ok || err != nil {
			return p, false
		}
		p.version, parts = n, parts[1:]
	}
	p.params = make(map[string]int, 4)
	for param := range strings.SplitSeq(parts[0], ",") {
		name, text, _ := strings.Cut(param, "=")
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return p, false
		}
		p.params[name] = n
	}
	var err1, err2 error
	p.salt, err1 = base64.RawStdEncoding.DecodeString(parts[1])
	p.hash, err2 = base64.RawStdEncoding.DecodeString(parts[2])
	return p, err1 == nil && err2 == nil && len(p.salt) <= 64 && len(p.hash) >= 10 && len(p.hash) <= 64
}

func (p *phc) matches(key []byte) bool { return subtle.ConstantTimeCompare(p.hash, key) == 1 }

type argon2KDF struct{}

func (argon2KDF) generate(password []byte) (string, error) {
	salt := newSalt()
	key := argon2.IDKey(password, salt, 2, 19456, 1, keySize)
	return phcText("argon2id$v=19", "m=19456,t=2,p=1", salt, key), nil
}

func (argon2KDF) verify(hash string, password []byte) bool {
	p, ok := parsePHC(hash)
	m, t, lanes := p.params["m"], p.params["t"], p.params["p"]
	if !ok || p.version != argon2.Version || t < 1 || t > maxArgonTime || lanes < 1 || lanes > 255 ||
		m < 8*lanes || m > maxKDFMemory>>10 || m*t > maxArgonWork || len(p.salt) < 8 {
		return false
	}
	switch p.id {
	case "argon2id":
		return p.matches(argon2.IDKey(password, p.salt, uint32(t), uint32(m), uint8(lanes), uint32(len(p.hash))))
	case "argon2i":
		return p.matches(argon2.Key(password, p.salt, uint32(t), uint32(m), uint8(lanes), uint32(len(p.hash))))
	}
	return false
}

// bcryptKDF hashes the first 72 bytes of a password, as bcrypt does everywhere.
type bcryptKDF struct{}

const bcryptBytes = 72

func (bcryptKDF) generate(password []byte) (string, error) {
	out, err := bcrypt.GenerateFromPassword(password[:min(len(password), bcryptBytes)], 12)
	if err != nil {
		return "", errs.Internal("Failed to hash a password: %s", err)
	}
	// The library writes the name of the first revision; what it computes is the second.
	out[2] = 'b'
	return string(out), nil
}

func (bcryptKDF) verify(hash string, password []byte) bool {
	cost, err := bcrypt.Cost([]byte(hash))
	if err != nil || cost > maxBcryptCost {
		return false
	}
	return bcrypt.CompareHashAndPassword([]byte(hash), password[:min(len(password), bcryptBytes)]) == nil
}

type pbkdf2KDF struct{}

const pbkdf2Rounds = 600_000

func (pbkdf2KDF) generate(password []byte) (string, error) {
	salt := newSalt()
	key, err := pbkdf2.Key(sha256.New, string(password), salt, pbkdf2Rounds, keySize)
	if err != nil {
		return "", errs.Internal("Failed to hash a password: %s", err)
	}
	return phcText("pbkdf2-sha256", "i=600000,l=32", salt, key), nil
}

func (pbkdf2KDF) verify(hash string, password []byte) bool {
	p, ok := parsePHC(hash)
	rounds := p.params["i"]
	digest := pbkdf2Digest(p.id)
	if !ok || digest == nil || rounds < 1 || rounds > maxPBKDF2Rounds {
		return false
	}
	key, err := pbkdf2.Key(digest, string(password), p.salt, rounds, len(p.hash))
	return err == nil && p.matches(key)
}

func pbkdf2Digest(id string) func() hash.Hash {
	switch id {
	case "pbkdf2-sha256":
		return sha256.New
	case "pbkdf2-sha512":
		return sha512.New
	}
	return nil
}

type scryptKDF struct{}

func (scryptKDF) generate(password []byte) (string, error) {
	salt := newSalt()
	key, err := scrypt.Key(password, salt, 1<<17, 8, 1, keySize)
	if err != nil {
		return "", errs.Internal("Failed to hash a password: %s", err)
	}
	return phcText("scrypt", "ln=17,r=8,p=1", salt, key), nil
}

func (scryptKDF) verify(hash string, password []byte) bool {
	p, ok := parsePHC(hash)
	ln, r, lanes := p.params["ln"], p.params["r"], p.params["p"]
	if !ok || p.id != "scrypt" || ln < 1 || ln > 20 || r < 1 || r > 64 || lanes < 1 || lanes > 16 ||
		(128*r*lanes)<<ln > maxKDFMemory {
		return false
	}
	key, err := scrypt.Key(password, p.salt, 1<<ln, r, lanes, len(p.hash))
	return err == nil && p.matches(key)
}
