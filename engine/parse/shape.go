package parse

import "strings"

// hidden stands for what Shape leaves out.
const hidden = "…"

// Shape is a text of statements without its data. Strings, numbers, keys of records, regular expressions, scripts,
// comments and text that is no token are left out. Names of tables, fields, functions and parameters stay.
func Shape(text string) string {
	s := shaper{lex: lexer{src: text}}
	for {
		t, err := s.lex.next()
		if err != nil {
			s.out.WriteString(hidden)
			return s.out.String()
		}
		if t.kind == tEOF {
			return strings.TrimSpace(s.out.String())
		}
		s.gap(t.start)
		s.token(t)
		s.end = s.lex.pos
	}
}

// shaper writes the shape of a text.
type shaper struct {
	lex  lexer
	out  strings.Builder
	prev token
	end  int  // of what is written
	js   bool // a script begins with the next brace
}

// gap writes what stands before the token at start: blanks as they are, comments as one blank.
func (s *shaper) gap(start int) {
	between := s.lex.src[s.end:start]
	if strings.Trim(between, " \t\r\n") != "" {
		between = " "
	}
	s.out.WriteString(between)
}

func (s *shaper) token(t token) {
	text := s.lex.src[t.start:t.end]
	switch {
	case t.kind == tString, t.kind == tDatetime, t.kind == tUUID, t.kind == tRecord, t.kind == tBytes, t.kind == tFile:
		s.quoted(text)
	case t.kind == tDigits:
		s.number()
	case s.isKey(t):
		s.lex.pos = t.end
		s.word()
		s.out.WriteString(hidden)
	case t.kind == tSlash && !s.afterOperand():
		s.skipTo(t.end, '/')
	case s.js && t.kind == tLBrace:
		s.js = false
		s.script(t.end)
	default:
		s.js = s.js || t.kind == kwFunction
		s.out.WriteString(text)
	}
	s.prev = token{t.kind, t.start, s.lex.pos}
}

// quoted writes a string without its contents.
func (s *shaper) quoted(text string) {
	open := strings.IndexAny(text, `'"`) + 1
	s.out.WriteString(text[:open])
	if len(text) > open+1 {
		s.out.WriteString(hidden)
	}
	s.out.WriteString(text[len(text)-1:])
}

// number writes a number or duration, whose first digits are passed already.
func (s *shaper) number() {
	s.word()
	for s.lex.at(s.lex.pos) == '.' && isDigit(s.lex.at(s.lex.pos+1)) {
		s.lex.pos++
		s.word()
	}
	s.out.WriteString(hidden)
}

// word passes the characters of a name, and the marks of units that are none.
func (s *shaper) word() {
	for isIdentByte(s.lex.at(s.lex.pos)) || s.lex.at(s.lex.pos) >= 0x80 {
		s.lex.pos++
	}
}

// isKey reports whether t is the key of a record: it follows a colon at once, which follows a name at once. A field of
// an object without blanks looks the same.
func (s *shaper) isKey(t token) bool {
	before := strings.TrimSuffix(s.lex.src[:t.start], ":")
	return s.prev.kind == tColon && s.prev.end == t.start && len(before) == t.start-1 && t.isIdent() && before != "" &&
		strings.IndexByte(" \t\r\n", before[len(before)-1]) < 0
}

// afterOperand reports whether a slash is a division.
func (s *shaper) afterOperand() bool {
	switch s.prev.kind {
	case tIdent, tParam, tString, tDigits, tRParen, tRBracket, tRBrace, tDatetime, tNaN, tInfinity:
		return true
	}
	return false
}

// skipTo leaves out what stands before the next unescaped mark.
func (s *shaper) skipTo(from int, mark byte) {
	s.out.WriteByte(mark)
	s.out.WriteString(hidden)
	for i := from; i < len(s.lex.src); i++ {
		switch s.lex.src[i] {
		case '\\':
			i++
		case mark:
			s.out.WriteByte(mark)
			s.lex.pos = i + 1
			return
		}
	}
	s.lex.pos = len(s.lex.src)
}

// script leaves out the text of a script after its brace.
func (s *shaper) script(from int) {
	s.out.WriteString("{" + hidden)
	end := scriptEnd(s.lex.src, from)
	if end < 0 {
		s.lex.pos = len(s.lex.src)
		return
	}
	s.out.WriteByte('}')
	s.lex.pos = end + 1
}
