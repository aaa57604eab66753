package store

import (
	"crypto/rand"
	"sync/atomic"
	"time"
)

const idLetters = "0123456789abcdefghjkmnpqrstvwxyz"

// lastID holds the time and the count of the newest key that this process made.
var lastID atomic.Uint64

// NewID makes an unguessable key of 20 letters, each of five bits: 40 bits of time in milliseconds, ten bits that count
// the keys of one millisecond, and 50 random bits. A later key of one process sorts behind an earlier one, also within
// a millisecond and when the clock goes back (RFC 9562, section 6.2, method 1).
func NewID() string {
	var b [20]byte
	if _, err := rand.Read(b[10:]); err != nil {
		panic(err) // never happens: crypto/rand.Read does not fail
	}
	for i := 10; i < len(b); i++ {
		b[i] = idLetters[b[i]&31]
	}
	n := nextOf(&lastID, uint64(time.Now().UnixMilli())<<10)
	for i := 9; i >= 0; i-- {
		b[i] = idLetters[n&31]
		n >>= 5
	}
	return string(b[:])
}

// nextOf sets last to the least number that is above it and not below now.
func nextOf(last *atomic.Uint64, now uint64) uint64 {
	for {
		old := last.Load()
		next := max(old+1, now)
		if last.CompareAndSwap(old, next) {
			return next
		}
	}
}
