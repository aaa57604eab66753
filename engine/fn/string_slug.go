package fn

import (
	"strings"
	"unicode/utf8"

	"github.com/mozillazg/go-unidecode"
)

// transliterate appends the ASCII reading of r.
func transliterate(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(dst, byte(r))
	}
	return append(dst, unidecode.Unidecode(string(r))...)
}

func isAlnum(b byte) bool {
	return b-'0' < 10 || b|0x20-'a' < 26
}

func slug(s string) string {
	out := make([]byte, 0, len(s))
	var ascii [32]byte
	for _, r := range s {
		for _, b := range transliterate(ascii[:0], r) {
			switch {
			case isAlnum(b):
				out = append(out, lower(b))
			case b == '_':
				out = append(out, b)
			case len(out) > 0 && out[len(out)-1] != '-':
				out = append(out, '-')
			}
		}
	}
	return strings.TrimRight(string(out), "-")
}

func lower(b byte) byte {
	if b-'A' < 26 {
		return b | 0x20
	}
	return b
}
