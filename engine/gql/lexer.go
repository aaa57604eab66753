package gql

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokWord             // a plain identifier or keyword
	tokQuoted           // `…`
	tokDouble           // "…": a name, or a string where a value is expected
	tokString           // '…'
	tokNumber
	tokParam // $name
	tokPunct // one character, or one of the pairs of pairs
)

// token is one token. text is the word, the decoded content of what is quoted, or the punctuation.
type token struct {
	kind       tokenKind
	start, end int
	text       string
	upper      string      // of a word: in upper case
	val        value.Value // of a number
}

// pairs are the operators of two characters that mean nothing else. Arrows are put together by the parser.
var pairs = [...]string{"||", "::", "!="}

// fail is an error about src[start:end].
func (p *parser) fail(start, end int, label, format string, args ...any) error {
	msg := errs.Internal(format, args...).Msg
	return parse.Fail(p.src, msg, parse.Block{Start: start, End: max(start, end), Label: label})
}

// scan reads the token at p.off.
func (p *parser) scan() (token, error) {
	if err := p.skipBlanks(); err != nil {
		return token{}, err
	}
	start := p.off
	if start >= len(p.src) {
		return token{kind: tokEnd, start: start, end: start}, nil
	}
	c := p.src[start]
	switch {
	case c == '\'' || c == '"' || c == '`':
		return p.quoted(start, start, false)
	case c == '@' && start+1 < len(p.src) && strings.IndexByte("'\"`", p.src[start+1]) >= 0:
		return p.quoted(start, start+1, true)
	case c == '$':
		return p.parameter(start)
	case digit(c) || c == '.' && start+1 < len(p.src) && digit(p.src[start+1]):
		return p.number(start)
	}
	if word := p.word(start); word != "" {
		p.off = start + len(word)
		return token{kind: tokWord, start: start, end: p.off, text: word, upper: strings.ToUpper(word)}, nil
	}
	for _, pair := range pairs {
		if strings.HasPrefix(p.src[start:], pair) {
			p.off = start + len(pair)
			return token{kind: tokPunct, start: start, end: p.off, text: pair}, nil
		}
	}
	r, n := utf8.DecodeRuneInString(p.src[start:])
	if r >= utf8.RuneSelf || !strings.ContainsRune("()[]{}<>=+-*/,.:;|&!%?~", r) {
		return token{}, p.fail(start, start+n, "", "Unexpected character `%c`", r)
	}
	p.off = start + 1
	return token{kind: tokPunct, start: start, end: p.off, text: p.src[start:p.off]}, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// skipBlanks passes over blanks and comments.
func (p *parser) skipBlanks() error {
	for p.off < len(p.src) {
		rest := p.src[p.off:]
		switch {
		case strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "//"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				p.off += i + 1
			} else {
				p.off = len(p.src)
			}
		case strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest, "*/")
			if i < 0 {
				return p.fail(p.off, p.off+2, "", "expected the comment to end")
			}
			p.off += i + 2
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\ufeff' {
				return nil
			}
			p.off += n
		}
	}
	return nil
}

// word is the plain identifier at off; "" where there is none.
func (p *parser) word(off int) string {
	end := off
	for end < len(p.src) {
		r, n := utf8.DecodeRuneInString(p.src[end:])
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Pc, r) && (end == off || !unicode.IsDigit(r) &&
			!unicode.Is(unicode.Mn, r)) {
			break
		}
		end += n
	}
	return p.src[off:end]
}

// quoted reads what stands between quotes; at is the opening one.
func (p *parser) quoted(start, at int, raw bool) (token, error) {
	quote := p.src[at]
	var b strings.Builder
	for i := at + 1; i < len(p.src); {
		switch c := p.src[i]; {
		case c == quote && i+1 < len(p.src) && p.src[i+1] == quote:
			b.WriteByte(quote)
			i += 2
		case c == quote:
			p.off = i + 1
			kind := tokString
			switch quote {
			case '"':
				kind = tokDouble
			case '`':
				kind = tokQuoted
			}
			return token{kind: kind, start: start, end: p.off, text: b.String()}, nil
		case c == '\n' || c == '\r':
			return token{}, p.fail(i, i, "", "A quoted sequence may not contain raw newline characters")
		case c == '\\' && !raw:
			n, err := p.escape(&b, i)
			if err != nil {
				return token{}, err
			}
			i += n
		default:
			r, n := utf8.DecodeRuneInString(p.src[i:])
			if r == utf8.RuneError && n <= 1 {
				return token{}, p.fail(i, i, "", "not a valid unicode code point")
			}
			b.WriteString(p.src[i : i+n])
			i += n
		}
	}
	return token{}, p.fail(start, start+1, "starting here",
		"Unexpected end of file, expected the quoted sequence to end")
}

// escape appends what the escape sequence at off means, and gives its length.
func (p *parser) escape(b *strings.Builder, off int) (int, error) {
	if off+1 >= len(p.src) {
		return 0, p.fail(off, off+1, "", "Unexpected end of file, expected the quoted sequence to end")
	}
	c := p.src[off+1]
	if i := strings.IndexByte("\\'\"`tbnrf", c); i >= 0 {
		b.WriteByte("\\'\"`\t\b\n\r\f"[i])
		return 2, nil
	}
	digits := 0
	switch c {
	case 'u':
		digits = 4
	case 'U':
		digits = 6
	default:
		return 0, p.fail(off, off+2, "", "Invalid escape sequence")
	}
	end := off + 2 + digits
	if end > len(p.src) {
		return 0, p.fail(off, len(p.src), "", "Invalid unicode escape sequence")
	}
	n, err := strconv.ParseUint(p.src[off+2:end], 16, 32)
	if err != nil {
		return 0, p.fail(off, off+2, "", "Invalid unicode escape sequence")
	}
	r := rune(n)
	if !utf8.ValidRune(r) || r == 0 {
		return 0, p.fail(off, end, "", "not a valid unicode code point")
	}
	b.WriteRune(r)
	return 2 + digits, nil
}

// parameter reads $name or $"name".
func (p *parser) parameter(start int) (token, error) {
	at := start + 1
	switch {
	case at >= len(p.src):
		return token{}, p.fail(start, at, "", "Unexpected end of file, expected a parameter name")
	case p.src[at] == '$':
		return token{}, p.fail(start, at+1, "", "Substituted parameters (`$$name`) are not supported yet")
	case p.src[at] == '"' || p.src[at] == '`':
		t, err := p.quoted(at, at, false)
		if err == nil && t.text == "" {
			err = p.fail(start, t.end, "", "A parameter name may not be empty")
		}
		t.kind, t.start = tokParam, start
		return t, err
	}
	end := at
	for end < len(p.src) {
		r, n := utf8.DecodeRuneInString(p.src[end:])
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Pc, r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		end += n
	}
	if end == at {
		return token{}, p.fail(start, at, "", "Unexpected token, expected a parameter name")
	}
	p.off = end
	return token{kind: tokParam, start: start, end: end, text: p.src[at:end]}, nil
}

// number reads a number with its base and suffix.
func (p *parser) number(start int) (token, error) {
	base, end := 10, start
	if p.src[start] == '0' && start+1 < len(p.src) {
		switch p.src[start+1] {
		case 'x':
			base = 16
		case 'o':
			base = 8
		case 'b':
			base = 2
		}
	}
	if base != 10 {
		end += 2
		digits, next, err := p.digits(end, base)
		if err != nil {
			return token{}, err
		}
		if digits == "" {
			return token{}, p.fail(start, end, "", "expected digits after the prefix of the number")
		}
		n, err := strconv.ParseInt(digits, base, 64)
		if err != nil {
			return token{}, p.fail(start, next, "", "Integer literal is too large")
		}
		return p.numeral(start, next, value.Int(n))
	}
	whole, end, err := p.digits(start, 10)
	if err != nil {
		return token{}, err
	}
	text, exact := whole, true
	if end < len(p.src) && p.src[end] == '.' {
		frac, next, err := p.digits(end+1, 10)
		if err != nil {
			return token{}, err
		}
		text, end, exact = text+"."+frac, next, false
	}
	if end < len(p.src) && (p.src[end] == 'e' || p.src[end] == 'E') {
		at, sign := end+1, ""
		if at < len(p.src) && (p.src[at] == '+' || p.src[at] == '-') {
			sign = p.src[at : at+1]
			at++
		}
		exp, next, err := p.digits(at, 10)
		if err != nil {
			return token{}, err
		}
		if exp == "" {
			return token{}, p.fail(start, at, "", "expected the digits of the exponent")
		}
		text, end, exact = text+"e"+sign+exp, next, false
	}
	suffix := byte(0)
	if end < len(p.src) && strings.IndexByte("MmFfDd", p.src[end]) >= 0 {
		suffix = p.src[end] &^ 0x20
		end++
	}
	if exact && (suffix == 0 || suffix == 'M') {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return token{}, p.fail(start, end, "", "Integer literal is too large")
		}
		return p.numeral(start, end, value.Int(n))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return token{}, p.fail(start, end, "", "Float literal is out of range")
	}
	return p.numeral(start, end, value.Float(f))
}

// numeral is a number that must end where no name goes on.
func (p *parser) numeral(start, end int, v value.Value) (token, error) {
	if w := p.word(end); w != "" {
		return token{}, p.fail(end, end+len(w), "", "Unexpected character after a number")
	}
	p.off = end
	return token{kind: tokNumber, start: start, end: end, text: p.src[start:end], val: v}, nil
}

// digits reads digits of a base, with single underscores between them, which it leaves out.
func (p *parser) digits(off, base int) (string, int, error) {
	var b strings.Builder
	i := off
	for ; i < len(p.src); i++ {
		c := p.src[i]
		if c == '_' {
			if i == off || p.src[i-1] == '_' || i+1 >= len(p.src) || !digitOf(p.src[i+1], base) {
				return "", 0, p.fail(i, i+1, "", "digit separators `_` may only stand between digits")
			}
			continue
		}
		if !digitOf(c, base) {
			break
		}
		b.WriteByte(c)
	}
	return b.String(), i, nil
}

func digitOf(c byte, base int) bool {
	switch {
	case base == 16:
		return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
	default:
		return c >= '0' && int(c-'0') < base
	}
}
