package exec

import (
	"crypto/rand"

	"github.com/nacredb/nacre/engine/value"
)

// NewKey generates a record key: "rand" (20 letters and digits), "ulid", "uuid" (version 7), or "uuid4".
func (ex *Executor) NewKey(kind string) value.Value {
	now := uint64(ex.Clock().UnixMilli())
	switch kind {
	case "ulid":
		return value.Str(ulid(now))
	case "uuid":
		return value.UUIDOf(uuid7(now))
	case "uuid4":
		u := uuid7(now)
		rand.Read(u[:6])
		u[6] = u[6]&0x0f | 0x40
		return value.UUIDOf(u)
	}
	return value.Str(randomKey())
}

// randomKey is 20 characters of a–z and 0–9: 103 bits.
func randomKey() string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	var out [20]byte
	var raw [32]byte
	for n := 0; n < len(out); {
		rand.Read(raw[:]) // never fails: it ends the process instead
		for _, b := range raw {
			if b < 252 && n < len(out) { // 252 is a multiple of 36: no letter is likelier
				out[n] = letters[b%36]
				n++
			}
		}
	}
	return string(out[:])
}

// uuid7 is a version 7 UUID at ms milliseconds since the epoch.
func uuid7(ms uint64) value.UUID {
	var u value.UUID
	rand.Read(u[6:])
	putTime(u[:6], ms)
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return u
}

// ulid is 48 bits of time and 80 random bits in Crockford's base 32.
func ulid(ms uint64) string {
	const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var raw [16]byte
	rand.Read(raw[6:])
	putTime(raw[:6], ms)
	var out [26]byte
	for i := range out { // 130 bits, of which the two first are zero
		var v byte
		for b := i*5 - 2; b < i*5+3; b++ {
			v <<= 1
			if b >= 0 {
				v |= raw[b/8] >> (7 - b%8) & 1
			}
		}
		out[i] = letters[v]
	}
	return string(out[:])
}

func putTime(dst []byte, ms uint64) {
	for i := range dst {
		dst[i] = byte(ms >> (40 - 8*i))
	}
}
