package value

import (
	"crypto/rand"

	"github.com/oklog/ulid/v2"
)

// RandomKey generates a record key: 20 of a–z and 0–9, which is 103 bits from the system's secure source.
func RandomKey() string {
	var key [keyLen]byte
	var raw [28]byte
	for n := 0; n < keyLen; {
		rand.Read(raw[:]) // never fails: it ends the process instead
		made, _ := keyLetters(key[n:], raw[:])
		n += made
	}
	return string(key[:])
}

// RandomKeys generates the keys of records that one statement makes. The first key is that of RandomKey. The next ones
// begin with the same 7 letters, so that they lie side by side in the tree of a store, not on a leaf each; their other
// 13 letters are 67 bits from the system's secure source. After 16,384 keys the 7 letters are new: the keys that begin
// alike are so few that two of them are equal once in 10^12 times. The zero value is ready for one goroutine.
type RandomKeys struct {
	first string // the key whose first letters are shared; "" before the first one
	made  int    // keys that share them
	raw   []byte // random bytes that are not used yet
	room  []byte // of raw; nil before the second key
	block []byte // of the next keys, which are one allocation; its length is what is taken
}

const (
	keyLen    = 20
	keyShared = 7       // letters that the keys of RandomKeys begin with
	keyAlike  = 1 << 14 // keys of RandomKeys that share them
	keyRoom   = 256     // random bytes of RandomKeys that are read at a time
	mostKeys  = 32      // keys of RandomKeys that are made in a block
)

// Next generates the next key.
func (k *RandomKeys) Next() string {
	if k.first == "" || k.made == keyAlike {
		k.first, k.made = RandomKey(), 1
		return k.first
	}
	if cap(k.block)-len(k.block) < keyLen {
		k.block = make([]byte, 0, keyLen*min(k.made, mostKeys))
	}
	k.made++
	at := len(k.block)
	k.block = k.block[:at+keyLen]
	key := k.block[at:]
	for n := copy(key, k.first[:keyShared]); n < keyLen; {
		if len(k.raw) == 0 {
			if k.room == nil {
				k.room = make([]byte, keyRoom)
			}
			rand.Read(k.room) // never fails, as above
			k.raw = k.room
		}
		made, used := keyLetters(key[n:], k.raw)
		n, k.raw = n+made, k.raw[used:]
	}
	return aliasText(key)
}

// RecordIDs makes record ids for a list that holds all of them: many of them are one allocation. The zero value is
// ready.
type RecordIDs struct {
	room []RecordID // of the next ones
	made int        // how many were made at once, last
}

// Make makes the id of a record.
func (m *RecordIDs) Make(table string, key Value) *RecordID {
	if len(m.room) == 0 {
		m.made = min(2*m.made+1, mostObjects)
		m.room = make([]RecordID, m.made)
	}
	id := &m.room[0]
	m.room = m.room[1:]
	id.Table, id.Key = table, key
	return id
}

// keyLetters makes letters of random bytes, until dst is full or raw is used up. It returns how many letters it made,
// and of how many bytes.
func keyLetters(dst, raw []byte) (made, used int) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	for used < len(raw) && made < len(dst) {
		// 252 is a multiple of 36: no letter is likelier than another.
		if b := raw[used]; b < 252 {
			dst[made] = letters[b%36]
			made++
		}
		used++
	}
	return made, used
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
