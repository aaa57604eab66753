package sql

import (
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

// TokenKind is the class of a token.
type TokenKind uint8

// The kinds of tokens.
const (
	EOF    TokenKind = iota
	Ident            // Text is folded to lower case
	Quoted           // an identifier in double quotes; Text is its name
	String           // Text is its value
	Number
	Param // Text is the number
	Op    // an operator
	Punct // ( ) [ ] , ; . : and ::
)

// Token is a piece of a text.
type Token struct {
	Kind     TokenKind
	Text     string
	Pos, End int // bytes
}

// Is reports whether t is this keyword, or this operator or punctuation.
func (t Token) Is(word string) bool {
	return t.Text == word && (t.Kind == Ident || t.Kind == Op || t.Kind == Punct)
}

// Lexer cuts a text of SQL into tokens.
type Lexer struct {
	src string
	pos int
}

// NewLexer makes a lexer that begins at byte pos of src.
func NewLexer(src string, pos int) *Lexer { return &Lexer{src: src, pos: pos} }

const blanks = " \t\n\r\v\f"

func (l *Lexer) fail(pos int, format string, args ...any) error {
	return sqlstate.New(sqlstate.SyntaxError, format, args...).At(utf8.RuneCountInString(l.src[:pos]) + 1)
}

// skip passes blanks and comments, which nest.
func (l *Lexer) skip() error {
	for l.pos < len(l.src) {
		switch rest := l.src[l.pos:]; {
		case strings.IndexByte(blanks, rest[0]) >= 0:
			l.pos++
		case strings.HasPrefix(rest, "--"):
			i := strings.IndexByte(rest, '\n')
			if i < 0 {
				i = len(rest)
			}
			l.pos += i
		case strings.HasPrefix(rest, "/*"):
			start, depth := l.pos, 0
			for {
				switch rest := l.src[l.pos:]; {
				case rest == "":
					return l.fail(start, "unterminated /* comment")
				case strings.HasPrefix(rest, "/*"):
					depth++
					l.pos += 2
					continue
				case strings.HasPrefix(rest, "*/"):
					depth--
					l.pos += 2
				default:
					l.pos++
					continue
				}
				if depth == 0 {
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// Next is the next token; EOF at the end.
func (l *Lexer) Next() (Token, error) {
	if err := l.skip(); err != nil {
		return Token{Pos: l.pos, End: l.pos}, err
	}
	start := l.pos
	if start >= len(l.src) {
		return Token{Pos: start, End: start}, nil
	}
	t, err := l.token(start)
	t.Pos, t.End = start, l.pos
	return t, err
}

func (l *Lexer) token(start int) (Token, error) {
	c := l.src[start]
	peek := func(i int) byte {
		if start+i < len(l.src) {
			return l.src[start+i]
		}
		return 0
	}
	switch {
	case (c == 'e' || c == 'E') && peek(1) == '\'':
		l.pos += 2
		return l.escaped(start)
	case (c == 'b' || c == 'B' || c == 'x' || c == 'X') && peek(1) == '\'':
		return Token{}, l.fail(start, "bit strings are not supported")
	case (c == 'u' || c == 'U') && peek(1) == '&' && (peek(2) == '\'' || peek(2) == '"'):
		return Token{}, l.fail(start, "Unicode escapes of the form U& are not supported")
	case (c == 'n' || c == 'N') && peek(1) == '\'':
		l.pos++
		return l.quoted(start)
	case letter(c):
		for l.pos < len(l.src) && (letter(l.src[l.pos]) || digit(l.src[l.pos]) || l.src[l.pos] == '$') {
			l.pos++
		}
		return Token{Kind: Ident, Text: strings.ToLower(l.src[start:l.pos])}, nil
	case c == '\'':
		return l.quoted(start)
	case c == '"':
		return l.name(start)
	case digit(c), c == '.' && digit(peek(1)):
		return l.number(start)
	case c == '$':
		return l.dollar(start)
	}
	return l.symbol(start)
}

// quoted reads a string in single quotes; strings with a line between them are one.
func (l *Lexer) quoted(start int) (Token, error) {
	var b strings.Builder
	for {
		l.pos++
		for {
			i := strings.IndexByte(l.src[l.pos:], '\'')
			if i < 0 {
				return Token{}, l.fail(start, "unterminated quoted string")
			}
			b.WriteString(l.src[l.pos : l.pos+i])
			l.pos += i + 1
			if l.pos >= len(l.src) || l.src[l.pos] != '\'' {
				break
			}
			b.WriteByte('\'')
			l.pos++
		}
		if !l.continued() {
			return Token{Kind: String, Text: b.String()}, nil
		}
	}
}

// continued moves to the opening quote of a string that goes on in another line.
func (l *Lexer) continued() bool {
	i := l.pos
	for i < len(l.src) && strings.IndexByte(blanks, l.src[i]) >= 0 {
		i++
	}
	if i >= len(l.src) || l.src[i] != '\'' || !strings.ContainsAny(l.src[l.pos:i], "\n\r") {
		return false
	}
	l.pos = i
	return true
}

// escaped reads a string with backslashes, after its opening quote.
func (l *Lexer) escaped(start int) (Token, error) {
	var b strings.Builder
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		l.pos++
		switch {
		case c == '\'' && l.pos < len(l.src) && l.src[l.pos] == '\'':
			b.WriteByte('\'')
			l.pos++
		case c == '\'':
			if !utf8.ValidString(b.String()) {
				return Token{}, sqlstate.New(sqlstate.BadEncoding, "invalid byte sequence for encoding \"UTF8\"")
			}
			return Token{Kind: String, Text: b.String()}, nil
		case c == '\\' && l.pos < len(l.src):
			l.escape(&b)
		default:
			b.WriteByte(c)
		}
	}
	return Token{}, l.fail(start, "unterminated quoted string")
}

func (l *Lexer) escape(b *strings.Builder) {
	c := l.src[l.pos]
	l.pos++
	digits := func(most int, base rune, ok func(byte) bool) rune {
		n, used := rune(0), 0
		for used < most && l.pos < len(l.src) && ok(l.src[l.pos]) {
			n = n*base + hexValue(l.src[l.pos])
			l.pos++
			used++
		}
		return n
	}
	switch c {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'x':
		b.WriteByte(byte(digits(2, 16, isHex)))
	case 'u':
		b.WriteRune(digits(4, 16, isHex))
	case 'U':
		b.WriteRune(digits(8, 16, isHex))
	case '0', '1', '2', '3', '4', '5', '6', '7':
		l.pos--
		b.WriteByte(byte(digits(3, 8, func(c byte) bool { return c >= '0' && c <= '7' })))
	default:
		b.WriteByte(c)
	}
}

func isHex(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func hexValue(c byte) rune {
	switch {
	case digit(c):
		return rune(c - '0')
	default:
		return rune(c|0x20-'a') + 10
	}
}

func (l *Lexer) name(start int) (Token, error) {
	var b strings.Builder
	for l.pos++; ; {
		i := strings.IndexByte(l.src[l.pos:], '"')
		if i < 0 {
			return Token{}, l.fail(start, "unterminated quoted identifier")
		}
		b.WriteString(l.src[l.pos : l.pos+i])
		l.pos += i + 1
		if l.pos >= len(l.src) || l.src[l.pos] != '"' {
			break
		}
		b.WriteByte('"')
		l.pos++
	}
	if b.Len() == 0 {
		return Token{}, l.fail(start, "zero-length delimited identifier")
	}
	return Token{Kind: Quoted, Text: b.String()}, nil
}

func (l *Lexer) number(start int) (Token, error) {
	seen := func() byte {
		if l.pos < len(l.src) {
			return l.src[l.pos]
		}
		return 0
	}
	for digit(seen()) {
		l.pos++
	}
	if seen() == '.' && !strings.HasPrefix(l.src[l.pos:], "..") {
		l.pos++
		for digit(seen()) {
			l.pos++
		}
	}
	if c := seen(); c == 'e' || c == 'E' {
		at := l.pos
		l.pos++
		if c := seen(); c == '+' || c == '-' {
			l.pos++
		}
		if !digit(seen()) {
			l.pos = at
		}
		for digit(seen()) {
			l.pos++
		}
	}
	if letter(seen()) {
		return Token{}, l.fail(start, "trailing junk after numeric literal at or near %q", l.src[start:l.pos+1])
	}
	return Token{Kind: Number, Text: l.src[start:l.pos]}, nil
}

// dollar reads a parameter, or a string between dollar signs.
func (l *Lexer) dollar(start int) (Token, error) {
	i := start + 1
	for i < len(l.src) && digit(l.src[i]) {
		i++
	}
	if i > start+1 {
		l.pos = i
		return Token{Kind: Param, Text: l.src[start+1 : i]}, nil
	}
	for i < len(l.src) && (letter(l.src[i]) || digit(l.src[i])) {
		i++
	}
	if i >= len(l.src) || l.src[i] != '$' {
		return Token{}, l.fail(start, "syntax error at or near \"$\"")
	}
	tag := l.src[start : i+1]
	end := strings.Index(l.src[i+1:], tag)
	if end < 0 {
		return Token{}, l.fail(start, "unterminated dollar-quoted string")
	}
	l.pos = i + 1 + end + len(tag)
	return Token{Kind: String, Text: l.src[i+1 : i+1+end]}, nil
}

const operators = "+-*/<>=~!@#%^&|`?"

// longestOperator is the length of the longest operator, in bytes.
const longestOperator = 63

func (l *Lexer) symbol(start int) (Token, error) {
	c := l.src[start]
	switch {
	case strings.HasPrefix(l.src[start:], "::"), strings.HasPrefix(l.src[start:], ".."),
		strings.HasPrefix(l.src[start:], ":="):
		l.pos += 2
		return Token{Kind: Punct, Text: l.src[start:l.pos]}, nil
	case strings.IndexByte("()[],;.:", c) >= 0:
		l.pos++
		return Token{Kind: Punct, Text: string(c)}, nil
	case strings.IndexByte(operators, c) < 0:
		_, n := utf8.DecodeRuneInString(l.src[start:])
		return Token{}, l.fail(start, "syntax error at or near %q", l.src[start:start+n])
	}
	// An operator may end with a sign only where it has a character that no sign is mistaken with.
	special, last := false, start // last is behind the last character that is no sign
	for l.pos < len(l.src) && l.pos-start <= longestOperator && strings.IndexByte(operators, l.src[l.pos]) >= 0 {
		if l.pos > start && (strings.HasPrefix(l.src[l.pos:], "--") || strings.HasPrefix(l.src[l.pos:], "/*")) {
			break
		}
		special = special || strings.IndexByte("~!@#%^&|`?", l.src[l.pos]) >= 0
		if l.src[l.pos] != '+' && l.src[l.pos] != '-' {
			last = l.pos + 1
		}
		l.pos++
	}
	if !special {
		l.pos = max(last, start+1)
	}
	if l.pos-start > longestOperator {
		return Token{}, l.fail(start, "operator too long")
	}
	text := l.src[start:l.pos]
	if text == "!=" {
		text = "<>"
	}
	return Token{Kind: Op, Text: text}, nil
}

// Tokens cuts a text into tokens, up to the first semicolon outside of parentheses or its end. end is where that is.
// With an error it gives the tokens before it.
func Tokens(src string, pos int) (tokens []Token, end int, err error) {
	l := NewLexer(src, pos)
	depth := 0
	for {
		t, err := l.Next()
		if err != nil {
			return tokens, t.Pos, err
		}
		switch {
		case t.Kind == EOF, t.Is(";") && depth <= 0:
			return tokens, t.Pos, nil
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		tokens = append(tokens, t)
	}
}
