package fulltext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mozillazg/go-unidecode"
)

// fold writes a term in ASCII: accents go, other scripts are spelled as they sound. A blank that a spelling ends with
// stands only between it and what follows. All spaces are one.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	pending, other := false, false
	for _, r := range s {
		if r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r) {
			b.WriteByte(' ')
			pending, other = false, true
			continue
		}
		if r < ' ' && other {
			continue // only what is ASCII up to it keeps a line break
		}
		other = other || r >= utf8.RuneSelf
		var part string
		if r < utf8.RuneSelf {
			part = string(r)
		} else {
			part = unidecode.Unidecode(string(r))
		}
		spelled := r >= utf8.RuneSelf && !strings.HasPrefix(part, " ")
		if r >= utf8.RuneSelf {
			part = strings.TrimLeft(part, " ")
		}
		if part == "" {
			continue
		}
		if pending && part[0] != ' ' {
			b.WriteByte(' ')
		}
		pending = false
		if r >= utf8.RuneSelf && strings.HasSuffix(part, " ") {
			part = strings.TrimRight(part, " ")
			pending = spelled
		}
		b.WriteString(part)
	}
	return b.String()
}
