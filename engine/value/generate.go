package value

import (
	"crypto/rand"

	"github.com/oklog/ulid/v2"
)

// RandomKey generates a record key: 20 of a–z and 0–9, which is 103 bits from the system's secure source.
func RandomKey() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	var key [20]byte
	var raw [28]byte
	for n := 0; n < len(key); {
		rand.Read(raw[:]) // never fails: it ends the process instead
		for _, b := range raw {
			// 252 is a multiple of 36: no letter is likelier than another.
			if b < 252 && n < len(key) {
				key[n] = letters[b%36]
				n++
			}
		}
	}
	return string(key[:])
}

// ULID generates a ULID for an instant: 26 characters that sort by its milliseconds. Instants
// before 1970 count as 1970; of those after 10889 it keeps 48 bits of the milliseconds.
func ULID(at Datetime) string {
	var u ulid.ULID
	ms := at.millis()
	if at.Secs < 0 {
		ms = 0
	}
	putMillis(u[:6], ms)
	rand.Read(u[6:])
	return u.String()
}

// UUIDv4 generates a random UUID.
func UUIDv4() UUID {
	var u UUID
	rand.Read(u[:])
	return u.stamp(4)
}

// UUIDv7 generates a UUID that sorts by the milliseconds of an instant; it keeps 48 bits of them.
func UUIDv7(at Datetime) UUID {
	var u UUID
	putMillis(u[:6], at.millis())
	rand.Read(u[6:])
	return u.stamp(7)
}

// stamp sets the version and the variant of RFC 9562.
func (u UUID) stamp(version byte) UUID {
	u[6] = u[6]&0x0f | version<<4
	u[8] = u[8]&0x3f | 0x80
	return u
}

// millis is the instant in milliseconds since 1970, rounded down.
func (d Datetime) millis() int64 { return d.Secs*1000 + int64(d.Nanos/1e6) }

func putMillis(dst []byte, ms int64) {
	for i := range dst {
		dst[i] = byte(ms >> (40 - 8*i))
	}
}
