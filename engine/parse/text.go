package parse

import (
	"strings"
	"unicode/utf8"
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
	p.asName = p.asName || p.probe > 0 && t.start == p.probe
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
					p.fail("Invalid escape sequence, "+invalid, token{tString, off, off + i + 1},
						"Not a valid character code")
					return 0, 0, false
				}
				return i + 1, r, true
			}
			d, ok := hexAt(s, i)
			if i == 3+maxDigits {
				label := "Unexpected character"
				if ok {
					label = "Too many hex-digits"
				}
				return fail("Invalid escape sequence, expected `}` character.", i, label)
			}
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
		p.fail("String contains invalid escape sequence, "+invalid, token{tString, off, off + end},
			"Not a valid character code")
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
