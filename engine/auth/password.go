package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/nacredb/nacre/internal/processors"
)

// The cost of password hashes: 19 MiB, two passes, one lane (the usual recommendation for argon2id).
const (
	hashMemory  = 19456 // KiB
	hashPasses  = 2
	hashLanes   = 1
	hashSize    = 32
	hashSalt    = 16
	maxMemory   = 256 << 10 // KiB that a stored hash may ask for
	maxPasses   = 16
	maxLanes    = 16
	maxPassword = 1024 // bytes; longer ones never match
)

// HashPassword makes the PHC text of an argon2id hash with a random salt.
func HashPassword(password string) string {
	salt := make([]byte, hashSalt)
	rand.Read(salt) // never fails: it ends the process instead
	sum := argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashLanes, hashSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashPasses, hashLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// phc is a parsed argon2id hash.
type phc struct {
	memory, passes uint32
	lanes          uint8
	salt, sum      []byte
}

// parsePHC reads the text of an argon2id hash; false for others, and for costs beyond the caps.
func parsePHC(text string) (h phc, ok bool) {
	part := strings.Split(text, "$")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" || part[2] != "v="+strconv.Itoa(argon2.Version) {
		return h, false
	}
	for _, kv := range strings.Split(part[3], ",") {
		name, val, _ := strings.Cut(kv, "=")
		n, err := strconv.ParseUint(val, 10, 32)
		if err != nil {
			return h, false
		}
		switch name {
		case "m":
			h.memory = uint32(n)
		case "t":
			h.passes = uint32(n)
		case "p":
			h.lanes = uint8(min(n, 255))
		default:
			return h, false
		}
	}
	var err1, err2 error
	h.salt, err1 = base64.RawStdEncoding.DecodeString(part[4])
	h.sum, err2 = base64.RawStdEncoding.DecodeString(part[5])
	fair := h.memory >= 8 && h.memory <= maxMemory && h.passes >= 1 && h.passes <= maxPasses && h.lanes >= 1 &&
		h.lanes <= maxLanes
	return h, err1 == nil && err2 == nil && fair && len(h.salt) >= 4 && len(h.sum) >= 16 && len(h.sum) <= 64
}

// Verifier checks passwords: it bounds how many hashes are computed at a time, does the same work for users that do not
// exist, and remembers what was right for a while. It is safe for concurrent use.
type Verifier struct {
	turn  chan struct{} // one token per hash that may run
	salt  [hashSalt]byte
	known *Memory
}

// maxKnown is how many verified pairs of hash and password are remembered.
const maxKnown = 1024

// NewVerifier makes a Verifier that computes as many hashes at a time as there are processors.
func NewVerifier() *Verifier {
	v := &Verifier{turn: make(chan struct{}, processors.Count()), known: NewMemory(maxKnown)}
	rand.Read(v.salt[:])
	return v
}

// Remembers reports whether password was right for the stored hash not long ago. It costs next to nothing: callers
// bound how often a client may ask.
func (v *Verifier) Remembers(hash, password string) bool {
	return hash != "" && len(password) <= maxPassword && v.known.Has(v.known.ID(hash, password))
}

// Check reports whether password belongs to the stored hash. A changed user has another hash, so nothing remembered
// outlives the change. hash "" stands for an unknown user: the same work, and never true.
func (v *Verifier) Check(ctx context.Context, hash, password string) (bool, error) {
	if len(password) > maxPassword {
		return false, nil
	}
	if v.Remembers(hash, password) {
		return true, nil
	}
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	h, ok := parsePHC(hash)
	if !ok {
		h = phc{memory: hashMemory, passes: hashPasses, lanes: hashLanes, salt: v.salt[:], sum: make([]byte, hashSize)}
	}
	sum := argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.lanes, uint32(len(h.sum)))
	if subtle.ConstantTimeCompare(sum, h.sum) != 1 || !ok {
		return false, nil
	}
	v.known.Add(v.known.ID(hash, password))
	return true, nil
}
