package fn

import (
	"strings"

	"github.com/oklog/ulid/v2"
)

// parseULID reads 26 letters and digits of Crockford's alphabet in any case. Bits beyond 128 are dropped.
func parseULID(s string) (ulid.ULID, bool) {
	var u ulid.ULID
	if len(s) != ulid.EncodedSize {
		return u, false
	}
	// The first character has three bits: the parser refuses more, the reference cuts them off.
	if at := strings.IndexByte(ulid.Encoding, upper(s[0])); at > 7 {
		s = string(ulid.Encoding[at&7]) + s[1:]
	}
	return u, u.UnmarshalText([]byte(s)) == nil && ulidAlphabet(s)
}

func ulidAlphabet(s string) bool {
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(ulid.Encoding, upper(s[i])) < 0 {
			return false
		}
	}
	return true
}

func upper(b byte) byte {
	if b-'a' < 26 {
		return b &^ 0x20
	}
	return b
}
