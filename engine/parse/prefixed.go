package parse

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

// prefixed is the text of a string with a prefix letter, escapes resolved, and the places in the source that its bytes
// come from. Errors inside of the text are reported at those places.
type prefixed struct {
	text    string
	start   int // offset of the text in the source
	end     int // offset of the closing quote
	escapes []resolved
}

// resolved is one escape: the range of its character in the text, the range of the escape in the source.
type resolved struct {
	at, to, srcAt, srcTo int
	quoted               bool // a backslash before a character that stands for itself
}

// prefixedText resolves the escapes of a token with a prefix letter, as in d'…'. It fails at what is no escape.
func (p *parser) prefixedText(t token) prefixed { return p.resolveEscapes(t, (*parser).stringEscape) }

func (p *parser) stringEscape(s string, off int) (n int, r rune, quoted, ok bool) {
	n, r, ok = p.escape(s, off)
	return n, r, false, ok
}

// resolveEscapes reads each escape of a token with a prefix letter by escape, which is given the source from the
// backslash to the closing quote, and its offset.
func (p *parser) resolveEscapes(t token, escape func(*parser, string, int) (int, rune, bool, bool)) prefixed {
	if p.err != nil { // t is the end of the text
		return prefixed{}
	}
	s := prefixed{start: t.start + 2, end: t.end - 1}
	raw := p.src[s.start:s.end]
	i := strings.IndexByte(raw, '\\')
	if i < 0 {
		s.text = raw
		return s
	}
	out := make([]byte, 0, len(raw))
	for off := s.start; ; {
		out = append(out, raw[:i]...)
		n, r, quoted, ok := escape(p, raw[i:], off+i)
		if !ok {
			return prefixed{}
		}
		at := len(out)
		out = utf8.AppendRune(out, r)
		s.escapes = append(s.escapes, resolved{at, len(out), off + i, off + i + n, quoted})
		off += i + n
		raw = raw[i+n:]
		if i = strings.IndexByte(raw, '\\'); i < 0 {
			s.text = string(append(out, raw...))
			return s
		}
	}
}

// source maps a range of the text to the range of the source that it comes from. The end of the text is the closing
// quote.
func (s *prefixed) source(from, to int) (int, int) {
	start := s.offset(from, false)
	return start, max(start, s.offset(to, true))
}

// offset maps one offset of the text. One inside of an escaped character, or behind it where end is set, leads to the
// bounds of its escape.
func (s *prefixed) offset(i int, end bool) int {
	n, _ := slices.BinarySearchFunc(s.escapes, i, func(e resolved, i int) int {
		if e.to < i || !end && e.to == i {
			return -1
		}
		return 1
	})
	if n < len(s.escapes) && s.escapes[n].at < i+1 && (!end || s.escapes[n].at < i) {
		if end {
			return s.escapes[n].srcTo
		}
		return s.escapes[n].srcAt
	}
	if n == 0 {
		return s.start + i
	}
	last := s.escapes[n-1]
	return last.srcTo + i - last.to
}

// fail fails at a range of the text.
func (s *prefixed) fail(p *parser, from, to int, msg, label string) {
	start, end := s.source(from, to)
	p.fail(msg, token{tString, start, end}, label)
}

// failValue fails with what is wrong inside of the text.
func (s *prefixed) failValue(p *parser, e *value.SyntaxError) {
	s.fail(p, e.Offset, e.Offset+e.Len, e.Msg, e.Label)
}

// unexpected fails at the character at offset i of the text.
func (s *prefixed) unexpected(p *parser, i int, rest string) {
	r, n := utf8.DecodeRuneInString(s.text[i:])
	s.fail(p, i, i+n, "Unexpected character `"+string(r)+"`"+rest, "")
}

// atEnd fails at the closing quote.
func (s *prefixed) atEnd(p *parser, msg string) { p.fail(msg, token{tString, s.end, s.end + 1}, "") }

// datetime is the value of d'…'.
func (p *parser) datetime(t token) value.Value {
	s := p.prefixedText(t)
	if p.err != nil {
		return value.None
	}
	d, err := value.ReadDatetime(s.text)
	if err != nil {
		s.failValue(p, err)
		return value.None
	}
	return value.DatetimeOf(d)
}

// uuid is the value of u'…'.
func (p *parser) uuid(t token) value.Value {
	s := p.prefixedText(t)
	if p.err != nil {
		return value.None
	}
	u, err := value.ReadUUID(s.text)
	if err != nil {
		s.failValue(p, err)
		return value.None
	}
	return value.UUIDOf(u)
}

// bytes is the value of b'…'.
func (p *parser) bytes(t token) value.Value {
	s := p.prefixedText(t)
	if p.err != nil {
		return value.None
	}
	for i := range len(s.text) {
		if _, ok := hexDigit(s.text[i]); !ok {
			s.unexpected(p, i, ", expected a hexidecimal digit")
			return value.None
		}
	}
	out, err := hex.DecodeString(s.text)
	if err != nil { // an odd number of digits
		s.atEnd(p, "Unexpected end of byte-string, expected a hexidecimal digit")
		return value.None
	}
	return value.BytesOf(out)
}

// filesNeeded names the missing capability where Options.NoFiles refuses.
const filesNeeded = "the experimental files feature to be enabled"

// file is the value of f'bucket:/key'.
func (p *parser) file(t token) value.Value {
	s := p.resolveEscapes(t, (*parser).fileEscape)
	if p.err != nil {
		return value.None
	}
	colon := s.bareColon()
	bucket := colon
	if colon < 0 {
		bucket = len(s.text)
	}
	s.fileChars(p, 0, bucket, ", file strings buckets only allow alpha numeric characters and `_`, `-`, and `.`", false)
	switch {
	case p.err != nil:
	case colon < 0:
		s.atEnd(p, "Unexpected end of file string, missing bucket seperator `:/`")
	case colon+1 == len(s.text):
		s.atEnd(p, "Unexpected end of file string, missing file string key.")
	case s.text[colon+1] != '/':
		s.unexpected(p, colon+1, ", expected `/`")
	default:
		s.fileChars(p, colon+1, len(s.text),
			", file strings key's only allow alpha numeric characters and `_`, `-`, `.`, and `/`", true)
	}
	if p.err != nil {
		return value.None
	}
	return value.FileOf(&value.File{Bucket: s.text[:colon], Key: s.text[colon+1:]})
}

// fileEscape reads an escape of f'…'. A backslash before anything but a letter or digit lets that character stand for
// itself: the text of a file value is written so. The reference writes that text and does not read it.
func (p *parser) fileEscape(s string, off int) (n int, r rune, quoted, ok bool) {
	if len(s) > 1 && !isIdentByte(s[1]) {
		r, n = utf8.DecodeRuneInString(s[1:])
		return 1 + n, r, true, true
	}
	return p.stringEscape(s, off)
}

// quotedAt is the end of the quoted character at offset i of the text, or i where it is not quoted.
func (s *prefixed) quotedAt(i int) int {
	n, found := slices.BinarySearchFunc(s.escapes, i, func(e resolved, i int) int { return e.at - i })
	if found && s.escapes[n].quoted {
		return s.escapes[n].to
	}
	return i
}

// bareColon is where the first colon that is not quoted stands; -1 for nowhere.
func (s *prefixed) bareColon() int {
	for i := range len(s.text) {
		if s.text[i] == ':' && s.quotedAt(i) == i {
			return i
		}
	}
	return -1
}

// fileChars fails at the first character of a range of the text that may not stand in a file without a backslash.
func (s *prefixed) fileChars(p *parser, start, end int, allowed string, slash bool) {
	for i := start; i < end; i++ {
		c := s.text[i]
		if isIdentByte(c) || c == '-' || c == '.' || c == '/' && slash {
			continue
		}
		to := s.quotedAt(i)
		if to == i {
			s.unexpected(p, i, allowed)
			return
		}
		i = to - 1
	}
}
