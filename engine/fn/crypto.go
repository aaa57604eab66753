package fn

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"unsafe"

	"github.com/nacredb/nacre/internal/blake3"

	"github.com/nacredb/nacre/engine/value"
)

func cryptoFuncs() []entry {
	hash := func(name, doc string, sum func(data []byte) digest) entry {
		return entry{sig: "crypto::" + name + "(text: string) -> string", impl: hexDigest(sum), doc: doc}
	}
	password := func(name string, k kdf) []entry {
		return []entry{
			{sig: "volatile crypto::" + name + "::generate(...password: any) -> string", impl: generatePassword(k),
				doc: "The " + name + " hash of a password with a random salt, as one text."},
			{sig: "volatile crypto::" + name + "::compare(...hash_and_password: any) -> bool", impl: comparePassword(k),
				doc: "Whether a " + name + " hash is that of a password; false for a text that is no such hash."},
		}
	}
	out := []entry{
		hash("blake3", "The BLAKE3 digest in hexadecimal.",
			func(data []byte) (d digest) { s := blake3.Sum256(data); d.n = copy(d.b[:], s[:]); return d }),
		hash("md5", "The MD5 digest in hexadecimal.",
			func(data []byte) (d digest) { s := md5.Sum(data); d.n = copy(d.b[:], s[:]); return d }),
		hash("sha1", "The SHA-1 digest in hexadecimal.",
			func(data []byte) (d digest) { s := sha1.Sum(data); d.n = copy(d.b[:], s[:]); return d }),
		hash("sha256", "The SHA-256 digest in hexadecimal.",
			func(data []byte) (d digest) { s := sha256.Sum256(data); d.n = copy(d.b[:], s[:]); return d }),
		hash("sha512", "The SHA-512 digest in hexadecimal.",
			func(data []byte) (d digest) { s := sha512.Sum512(data); d.n = copy(d.b[:], s[:]); return d }),
		{sig: "crypto::joaat(text: string) -> int", impl: cryptoJoaat, doc: "Jenkins' one-at-a-time hash."},
	}
	out = append(out, password("argon2", argon2KDF{})...)
	out = append(out, password("bcrypt", bcryptKDF{})...)
	out = append(out, password("pbkdf2", pbkdf2KDF{})...)
	return append(out, password("scrypt", scryptKDF{})...)
}

// digest is a hash of up to 64 bytes.
type digest struct {
	b [64]byte
	n int
}

func hexDigest(sum func(data []byte) digest) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		d := sum(bytesOf(args[0].Str()))
		var text [2 * len(d.b)]byte
		return value.Str(string(text[:hex.Encode(text[:], d.b[:d.n])])), nil
	}
}

// bytesOf is the bytes of s itself, to be read only.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func cryptoJoaat(_ Call, args []value.Value) (value.Value, error) {
	h := uint32(0)
	for _, b := range bytesOf(args[0].Str()) {
		h += uint32(b)
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	h += h << 15
	return value.Int(int64(h)), nil
}
