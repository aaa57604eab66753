package fn

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"

	"lukechampine.com/blake3"

	"github.com/nacredb/nacre/engine/value"
)

func cryptoFuncs() []entry {
	hash := func(name, doc string, sum func(dst, data []byte) []byte) entry {
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
		hash("blake3", "The BLAKE3 digest in hexadecimal.", func(dst, data []byte) []byte { s := blake3.Sum256(data); return append(dst, s[:]...) }),
		hash("md5", "The MD5 digest in hexadecimal.", func(dst, data []byte) []byte { s := md5.Sum(data); return append(dst, s[:]...) }),
		hash("sha1", "The SHA-1 digest in hexadecimal.", func(dst, data []byte) []byte { s := sha1.Sum(data); return append(dst, s[:]...) }),
		hash("sha256", "The SHA-256 digest in hexadecimal.", func(dst, data []byte) []byte { s := sha256.Sum256(data); return append(dst, s[:]...) }),
		hash("sha512", "The SHA-512 digest in hexadecimal.", func(dst, data []byte) []byte { s := sha512.Sum512(data); return append(dst, s[:]...) }),
		{sig: "crypto::joaat(text: string) -> int", impl: cryptoJoaat, doc: "Jenkins' one-at-a-time hash."},
	}
	out = append(out, password("argon2", argon2KDF{})...)
	out = append(out, password("bcrypt", bcryptKDF{})...)
	out = append(out, password("pbkdf2", pbkdf2KDF{})...)
	return append(out, password("scrypt", scryptKDF{})...)
}

func hexDigest(sum func(dst, data []byte) []byte) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		var digest [64]byte
		return value.Str(hex.EncodeToString(sum(digest[:0], []byte(args[0].Str())))), nil
	}
}

func cryptoJoaat(_ Call, args []value.Value) (value.Value, error) {
	h := uint32(0)
	for _, b := range []byte(args[0].Str()) {
		h += uint32(b)
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	h += h << 15
	return value.Int(int64(h)), nil
}
