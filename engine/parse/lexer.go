package parse

import (
	"strings"
	"unicode/utf8"
)

// lexer cuts the source into tokens, one at a time. It knows no modes: where a byte means different
// things in different places (a slash, a bar, digits) the parser sets pos back and reads on itself.
type lexer struct {
	src string
	pos int
}

// lexError is an error of the lexer at a token.
type lexError struct {
	msg        string
	start, end int
	label      string
	open       bool // the text ends inside of the token
}

// token is the text at fault, in a source of so many bytes.
func (e *lexError) token(size int) token {
	if e.open {
		return token{tEOF, e.start, size}
	}
	return token{tEOF, e.start, e.end}
}

// class is the set of tokens that a byte may be part of.
type class uint8

const (
	classSpace class = 1 << iota
	classIdentStart
	classDigit
)

var classes = func() (t [256]class) {
	for _, c := range " \t\n\r\v\f" {
		t[c] = classSpace
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = classDigit
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-32] = classIdentStart, classIdentStart
	}
	t['_'] = classIdentStart
	return t
}()

// singles are the tokens of one ASCII mark that begins no other.
var singles = [256]kind{'(': tLParen, ')': tRParen, '{': tLBrace, '}': tRBrace, '[': tLBracket, ']': tRBracket,
	',': tComma, ';': tSemi, '@': tAt, '~': tTilde, '/': tSlash, '%': tPercent}

func isIdentByte(c byte) bool { return classes[c]&(classIdentStart|classDigit) != 0 }
func isDigit(c byte) bool     { return c-'0' < 10 }

// at is the byte at offset i, or 0 past the end.
func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// skip passes blanks and comments.
func (l *lexer) skip() *lexError {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case classes[c]&classSpace != 0:
			l.pos++
		case c == '#', c == '-' && l.at(l.pos+1) == '-', c == '/' && l.at(l.pos+1) == '/':
			for l.pos < len(l.src) && l.src[l.pos] != '\n' {
				l.pos++
			}
		case c == '/' && l.at(l.pos+1) == '*':
			if err := l.blockComment(); err != nil {
				return err
			}
		case c >= utf8.RuneSelf:
			n := wideBlank(l.src[l.pos:])
			if n == 0 {
				return nil
			}
			l.pos += n
		default:
			return nil
		}
	}
	return nil
}

// blanks is the first offset from i on that has no ASCII blank.
func (l *lexer) blanks(i int) int {
	for i < len(l.src) && classes[l.src[i]]&classSpace != 0 {
		i++
	}
	return i
}

func (l *lexer) blockComment() *lexError {
	start := l.pos
	for i := start + 2; i+1 < len(l.src); i++ {
		if l.src[i] == '*' && l.src[i+1] == '/' {
			l.pos = i + 2
			return nil
		}
	}
	return &lexError{"Unexpected end of file, expected multi-line comment to end.", start, start + 2, "Comment starts here.", true}
}

// wideBlank is the length of a blank outside ASCII at the start of s, or 0.
func wideBlank(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == 0x85, r == 0xA0, r == 0x1680, r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029, r == 0x202F,
		r == 0x205F, r == 0x3000, r == 0xFEFF:
		return n
	}
	return 0
}

// next is the token at pos, after blanks and comments.
func (l *lexer) next() (token, *lexError) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	start := l.pos
	if start >= len(l.src) {
		return token{tEOF, len(l.src), len(l.src)}, nil
	}
	c := l.src[start]
	if k := singles[c]; k != 0 {
		return l.token(k, start, start+1)
	}
	switch {
	case classes[c]&classIdentStart != 0:
		return l.word()
	case isDigit(c):
		return l.digits(), nil
	case c == '\'' || c == '"':
		return l.quoted(tString, start, start)
	case c >= utf8.RuneSelf:
		return l.wide()
	}
	return l.punct(c)
}

// token makes the token from start to end and goes on behind it.
func (l *lexer) token(k kind, start, end int) (token, *lexError) {
	l.pos = end
	return token{k, start, end}, nil
}

func (l *lexer) digits() token {
	i := l.pos + 1
	for i < len(l.src) && (isDigit(l.src[i]) || l.src[i] == '_') {
		i++
	}
	t := token{tDigits, l.pos, i}
	l.pos = i
	return t
}

// word is an identifier, a keyword or a string with a prefix letter.
func (l *lexer) word() (token, *lexError) {
	start := l.pos
	if q := l.at(start + 1); q == '\'' || q == '"' {
		switch l.src[start] {
		case 's':
			return l.quoted(tString, start, start+1)
		case 'd':
			return l.quoted(tDatetime, start, start+1)
		case 'u':
			return l.quoted(tUUID, start, start+1)
		case 'r':
			return l.quoted(tRecord, start, start+1)
		case 'b':
			return l.quoted(tBytes, start, start+1)
		case 'f':
			return l.quoted(tFile, start, start+1)
		}
	}
	i := start + 1
	for i < len(l.src) && isIdentByte(l.src[i]) {
		i++
	}
	l.pos = i
	return token{wordKind(l.src[start:i]), start, i}, nil
}

// wordKind says whether a word is a keyword, and which.
func wordKind(w string) kind {
	if len(w) > maxKeyword {
		return tIdent
	}
	var buf [maxKeyword]byte
	for i := 0; i < len(w); i++ {
		c := w[i]
		if c-'a' < 26 {
			c -= 32
		}
		buf[i] = c
	}
	if k := keywordOf(buf[:len(w)]); k != 0 {
		return k
	}
	switch w {
	case "NaN":
		return tNaN
	case "Infinity":
		return tInfinity
	}
	return tIdent
}

// quoted is a string token whose opening quote is at open. Escapes are checked when it is read.
func (l *lexer) quoted(k kind, start, open int) (token, *lexError) {
	q := l.src[open]
	from := open + 1
	if end := strings.IndexByte(l.src[from:], q); end >= 0 {
		escaped := strings.IndexByte(l.src[from:from+end], '\\')
		if escaped < 0 {
			return l.token(k, start, from+end+1)
		}
		from += escaped
	}
	for i := from; i < len(l.src); i++ {
		switch l.src[i] {
		case q:
			return l.token(k, start, i+1)
		case '\\':
			i++
		}
	}
	return token{}, &lexError{"Unexpected end of file, expected string to end.", start, open + 1, "String starting here.", true}
}

// wide is a token that starts outside ASCII: ⟨ident⟩ or an operator.
func (l *lexer) wide() (token, *lexError) {
	start := l.pos
	r, n := utf8.DecodeRuneInString(l.src[start:])
	end := start + n
	switch r {
	case '⟨':
		return l.delimited(tIdent, start, end, "⟩")
	case '×':
		return l.token(tTimes, start, end)
	case '÷':
		return l.token(tDivide, start, end)
	case '∋':
		return l.token(tContains, start, end)
	case '∌':
		return l.token(tContainsNot, start, end)
	case '⊇':
		return l.token(tContainsAll, start, end)
	case '⊃':
		return l.token(tContainsAny, start, end)
	case '⊅':
		return l.token(tContainsNone, start, end)
	case '∈':
		return l.token(tInside, start, end)
	case '∉':
		return l.token(tNotInside, start, end)
	case '⊆':
		return l.token(tAllInside, start, end)
	case '⊂':
		return l.token(tAnyInside, start, end)
	case '⊄':
		return l.token(tNoneInside, start, end)
	case '…':
		return l.token(tDotDotDot, start, end)
	}
	return token{}, invalidToken(l.src, start, end)
}

func invalidToken(src string, start, end int) *lexError {
	return &lexError{msg: "Invalid token `" + src[start:end] + "`", start: start, end: end}
}

// delimited is a quoted identifier or parameter whose text starts at open and ends with closer.
func (l *lexer) delimited(k kind, start, open int, closer string) (token, *lexError) {
	for i := open; i < len(l.src); i++ {
		switch c := l.src[i]; {
		case c == '\\':
			i++
		case c == closer[0] && len(l.src)-i >= len(closer) && l.src[i:i+len(closer)] == closer:
			return l.token(k, start, i+len(closer))
		}
	}
	return token{}, &lexError{"Unexpected end of file, expected identifier to end with `" + closer + "`", start, len(l.src), "", true}
}

// punct is a token that starts with the ASCII mark c, which is none of singles.
func (l *lexer) punct(c byte) (token, *lexError) {
	s := l.pos
	c1 := l.at(s + 1)
	one := func(k kind) (token, *lexError) { return l.token(k, s, s+1) }
	two := func(k kind) (token, *lexError) { return l.token(k, s, s+2) }
	three := func(k kind) (token, *lexError) { return l.token(k, s, s+3) }
	switch c {
	case '`':
		return l.delimited(tIdent, s, s+1, "`")
	case '$':
		return l.param()
	case ':':
		if c1 == ':' {
			return two(tPath)
		}
		return one(tColon)
	case '.':
		if c1 == '.' {
			if l.at(s+2) == '.' {
				return three(tDotDotDot)
			}
			return two(tDotDot)
		}
		return one(tDot)
	case '?':
		switch c1 {
		case '?':
			if c2 := l.at(s + 2); c2 == ':' || c2 == '=' { // ? and then ?: or ?=
				return one(tQuestion)
			}
			return two(tNullish)
		case ':':
			return two(tTruthy)
		case '=':
			return two(tAnyEqual)
		}
		return one(tQuestion)
	case '=':
		if c1 == '=' {
			return two(tEqualTwo)
		}
		return one(tEqual)
	case '!':
		switch c1 {
		case '=':
			return two(tNotEqual)
		case '~':
			return two(tNotTilde)
		}
		return one(tBang)
	case '*':
		switch c1 {
		case '=':
			return two(tAllEqual)
		case '*':
			return two(tPower)
		}
		return one(tStar)
	case '+':
		switch {
		case c1 == '=':
			return two(tPlusEq)
		case c1 == '?' && l.at(s+2) == '=':
			return three(tExtendEq)
		}
		return one(tPlus)
	case '-':
		switch c1 {
		case '=':
			return two(tMinusEq)
		case '>':
			return two(tArrowR)
		}
		return one(tMinus)
	case '<':
		switch {
		case c1 == '=':
			return two(tLessEq)
		case c1 == '-' && l.at(s+2) == '>':
			return three(tArrowBoth)
		case c1 == '-' && l.at(s+2) == '-': // < and a comment
			return one(tLess)
		case c1 == '-':
			return two(tArrowL)
		case c1 == '~':
			return two(tArrowRef)
		case c1 == '|':
			return two(tKNN)
		}
		return one(tLess)
	case '>':
		if c1 == '=' {
			return two(tMoreEq)
		}
		return one(tMore)
	case '&':
		if c1 == '&' {
			return two(tAndAnd)
		}
		return token{}, &lexError{"Invalid token `&`, single `&` are not a valid token, did you mean `&&`?", s, s + 1, "", false}
	case '|':
		switch c1 {
		case '|':
			return two(tOrOr)
		case '>':
			return two(tKNNEnd)
		}
		return one(tPipe)
	}
	return token{}, invalidToken(l.src, s, s+1)
}

// param is $name, or a lone dollar sign.
func (l *lexer) param() (token, *lexError) {
	s := l.pos
	c := l.at(s + 1)
	switch {
	case classes[c]&classIdentStart != 0:
		i := s + 2
		for i < len(l.src) && isIdentByte(l.src[i]) {
			i++
		}
		return l.token(tParam, s, i)
	case c == '`':
		return l.delimited(tParam, s, s+2, "`")
	case c >= utf8.RuneSelf:
		if r, n := utf8.DecodeRuneInString(l.src[s+1:]); r == '⟨' {
			return l.delimited(tParam, s, s+1+n, "⟩")
		}
	}
	return l.token(tDollar, s, s+1)
}
