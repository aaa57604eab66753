package parse

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

// ident passes an identifier and gives its name.
func (p *parser) ident() string {
	if !p.tok.isIdent() {
		p.unexpected("an identifier")
		return ""
	}
	return p.identName(p.advance())
}

// identName is the name that an identifier token stands for.
func (p *parser) identName(t token) string {
	s := p.text(t)
	switch {
	case s == "":
		return ""
	case s[0] == '`':
		return p.unquote(t.start+1, t.end-1)
	case s[0] >= utf8.RuneSelf:
		return p.unquote(t.start+len("⟨"), t.end-len("⟩"))
	}
	return s
}

// paramName is the name of a parameter token, without its dollar sign.
func (p *parser) paramName(t token) string {
	if t.kind != tParam {
		return ""
	}
	t.start++
	return p.identName(t)
}

// stringText is the text of a string token.
func (p *parser) stringText(t token) string {
	open := t.start
	if p.src[open] == 's' {
		open++
	}
	return p.unquote(open+1, t.end-1)
}

// quotedParts is the text of a string with a prefix letter, and its offset in the source where it
// stands there as it is (else -1).
func (p *parser) quotedParts(t token, lead int) (string, int) {
	raw := p.src[t.start+lead : t.end-1]
	if strings.IndexByte(raw, '\\') < 0 {
		return raw, t.start + lead
	}
	return p.unquote(t.start+lead, t.end-1), -1
}

// unquote resolves the escapes in the source from start to end. Without any it is a slice of the source.
func (p *parser) unquote(start, end int) string {
	raw := p.src[start:end]
	i := strings.IndexByte(raw, '\\')
	if i < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i >= 0 {
		out = append(out, raw[:i]...)
		n, r, ok := p.escape(raw[i:], start+i)
		if !ok {
			return ""
		}
		out = utf8.AppendRune(out, r)
		start += i + n
		raw = raw[i+n:]
		i = strings.IndexByte(raw, '\\')
	}
	return string(append(out, raw...))
}

// escape reads the escape sequence that s starts with; off is its place in the source.
func (p *parser) escape(s string, off int) (n int, r rune, ok bool) {
	if len(s) < 2 {
		p.fail("Invalid escape sequence", token{tString, off, off + 1}, "not a valid escape character")
		return 0, 0, false
	}
	switch s[1] {
	case '\\', '\'', '"', '`':
		return 2, rune(s[1]), true
	case 'n':
		return 2, '\n', true
	case 'r':
		return 2, '\r', true
	case 't':
		return 2, '\t', true
	case 'b':
		return 2, '\b', true
	case 'f':
		return 2, '\f', true
	case '0':
		return 2, 0, true
	case 'u':
		return p.unicodeEscape(s, off)
	}
	_, w := utf8.DecodeRuneInString(s[1:])
	p.fail("Invalid escape sequence", token{tString, off, off + 1 + w}, "not a valid escape character")
	return 0, 0, false
}

// unicodeEscape reads \uXXXX or \u{X…}: s starts with it, the string that it stands in ends with s.
func (p *parser) unicodeEscape(s string, off int) (int, rune, bool) {
	const invalid = "unicode escape character is not a valid unicode character."
	fail := func(msg string, at int, label string) (int, rune, bool) {
		n := 1
		if off+at < len(p.src) {
			_, n = utf8.DecodeRuneInString(p.src[off+at:])
		}
		p.fail(msg, token{tString, off + at, off + at + n}, label)
		return 0, 0, false
	}
	var r rune
	if len(s) > 2 && s[2] == '{' {
		const maxDigits = 6
		for i := 3; ; i++ {
			if i < len(s) && s[i] == '}' {
				if !utf8.ValidRune(r) {
					p.fail("Invalid escape sequence, "+invalid, token{tString, off, off + i + 1}, "Not a valid character code")
					return 0, 0, false
				}
				return i + 1, r, true
			}
			if i == 3+maxDigits {
				return fail("Invalid escape sequence, expected `}` character.", i, "Too many hex-digits")
			}
			d, ok := hexAt(s, i)
			if !ok {
				return fail("Invalid escape sequence, expected `}` or hexadecimal character.", i, "Unexpected character")
			}
			r = r<<4 | d
		}
	}
	const end = 6
	for i := 2; i < end; i++ {
		d, ok := hexAt(s, i)
		if !ok {
			return fail("String contains invalid escape sequence, expected a hexadecimal character.", i, "Unexpected character")
		}
		r = r<<4 | d
	}
	if !utf8.ValidRune(r) {
		p.fail("String contains invalid escape sequence, "+invalid, token{tString, off, off + end}, "Not a valid character code")
		return 0, 0, false
	}
	return end, r, true
}

// hexAt is the hexadecimal digit at s[i], if there is one.
func hexAt(s string, i int) (rune, bool) {
	if i >= len(s) {
		return 0, false
	}
	d, ok := hexDigit(s[i])
	return rune(d), ok
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c-'a' < 6:
		return c - 'a' + 10, true
	case c-'A' < 6:
		return c - 'A' + 10, true
	}
	return 0, false
}

// charAt fails at the character at offset i of the source.
func (p *parser) charAt(i int, before, after string) {
	r, n := utf8.DecodeRuneInString(p.src[i:])
	p.fail(before+"`"+string(r)+"`"+after, token{tString, i, i + n}, "")
}

// datetime is the value of d'…'.
func (p *parser) datetime(t token) value.Value {
	if p.err != nil {
		return value.None
	}
	d, err := value.ReadDatetime(p.src[t.start+2 : t.end-1])
	if err != nil {
		p.failValue(err, t.start+2)
		return value.None
	}
	return value.DatetimeOf(d)
}

// uuid is the value of u'…'.
func (p *parser) uuid(t token) value.Value {
	if p.err != nil {
		return value.None
	}
	u, err := value.ReadUUID(p.src[t.start+2 : t.end-1])
	if err != nil {
		p.failValue(err, t.start+2)
		return value.None
	}
	return value.UUIDOf(u)
}

// failValue fails with what is wrong inside of a literal whose text starts at off.
func (p *parser) failValue(e *value.SyntaxError, off int) {
	p.fail(e.Msg, token{tString, off + e.Offset, off + e.Offset + e.Len}, e.Label)
}

// bytes is the value of b'…'.
func (p *parser) bytes(t token) value.Value {
	if p.err != nil {
		return value.None
	}
	raw := p.src[t.start+2 : t.end-1]
	for i := 0; i < len(raw); i++ {
		if _, ok := hexDigit(raw[i]); !ok {
			p.charAt(t.start+2+i, "Unexpected character ", ", expected a hexidecimal digit")
			return value.None
		}
	}
	if len(raw)%2 != 0 {
		p.fail("Unexpected end of byte-string, expected a hexidecimal digit", token{tString, t.end - 1, t.end}, "")
		return value.None
	}
	out, err := hex.DecodeString(raw)
	if err != nil { // checked above
		p.fail("Unexpected end of byte-string, expected a hexidecimal digit", t, "")
		return value.None
	}
	return value.BytesOf(out)
}

// filesNeeded is what is missing where Options.NoFiles refuses.
const filesNeeded = "the experimental files feature to be enabled"

// file is the value of f'bucket:/key'.
func (p *parser) file(t token) value.Value {
	if p.err != nil {
		return value.None
	}
	start := t.start + 2
	raw := p.src[start : t.end-1]
	colon := bareColon(raw)
	if colon < 0 {
		p.fail("Unexpected end of file string, missing bucket seperator `:/`", token{tString, t.end - 1, t.end}, "")
		return value.None
	}
	if colon+1 >= len(raw) {
		p.fail("Unexpected end of file string, missing bucket seperator `:/`", token{tString, t.end - 1, t.end}, "")
		return value.None
	}
	if raw[colon+1] != '/' {
		p.charAt(start+colon+1, "Unexpected character ", ", expected `/`")
		return value.None
	}
	bucket := p.filePart(start, start+colon, ", file strings buckets only allow alpha numeric characters and `_`, `-`, and `.`", false)
	key := p.filePart(start+colon+1, t.end-1, ", file strings key's only allow alpha numeric characters and `_`, `-`, `.`, and `/`", true)
	return value.FileOf(&value.File{Bucket: bucket, Key: key})
}

// bareColon is where a colon without a backslash before it stands; -1 for nowhere.
func bareColon(raw string) int {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case ':':
			return i
		}
	}
	return -1
}

// filePart is the bucket or the key of a file. Other characters than those that stand bare need a backslash, as the text
// of such a file has it; the reference writes that text and does not read it.
func (p *parser) filePart(start, end int, allowed string, slash bool) string {
	out := make([]byte, 0, end-start)
	for i := start; i < end; i++ {
		c := p.src[i]
		if c == '\\' && i+1 < end && !isIdentByte(p.src[i+1]) {
			_, n := utf8.DecodeRuneInString(p.src[i+1 : end])
			out = append(out, p.src[i+1:i+1+n]...)
			i += n
			continue
		}
		if c == '\\' {
			p.fail("Invalid escape sequence", token{tString, i, min(i+2, end)}, "not a valid escape character")
			return ""
		}
		if !isIdentByte(c) && c != '-' && c != '.' && (c != '/' || !slash) {
			p.charAt(i, "Unexpected character ", allowed)
			return ""
		}
		out = append(out, c)
	}
	return string(out)
}
