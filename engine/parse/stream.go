package parse

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
)

// DefaultMaxStatement is the default of StreamOptions.MaxStatement.
const DefaultMaxStatement = 16 << 20

// firstRead is how much a Stream reads at first; it reads more where a statement is longer.
const firstRead = 64 << 10

// StreamOptions are Options, and the limit of one statement in bytes (0: DefaultMaxStatement).
type StreamOptions struct {
	Options
	MaxStatement int
}

// Stream reads statements from a text that need not fit into memory: it holds little more than the
// statement at hand. It belongs to one goroutine.
type Stream struct {
	r     io.Reader
	opt   StreamOptions
	text  string // read, but not yet handed out
	ended bool   // r has no more
	want  int    // bytes to read next
	ahead int    // bytes to have before a statement is parsed: about what the one before took
	line  int    // lines before text
	col   int    // characters of the first line of text that were before it, less those of late
	late  string // the last of them, which are not counted yet: most statements end with their line
	left  string // what ends with the last of those, for excerpts
	at    int    // the line of the last statement that was handed out, or does not parse
	err   error
}

// Statements gives a Stream over r.
func Statements(r io.Reader, opt StreamOptions) *Stream {
	if opt.MaxStatement == 0 {
		opt.MaxStatement = DefaultMaxStatement
	}
	opt.Options = opt.Options.filled()
	return &Stream{r: r, opt: opt, want: firstRead}
}

// Next is the next statement with its source text, which lacks the closing semicolon. After the last
// one the error is io.EOF. A statement that does not parse, or is longer than the limit, is an
// *errs.Error whose places count from the start of the whole text; the stream ends there.
func (s *Stream) Next() (ast.Statement, string, error) {
	for s.err == nil {
		stmt, text, ok := s.next()
		if ok {
			return stmt, text, nil
		}
	}
	return nil, "", s.err
}

// Line is the line, from 1, where the statement begins that Next gave last, or could not parse.
func (s *Stream) Line() int { return s.at }

// next parses one statement of what was read; false where there is none, or not enough was read.
func (s *Stream) next() (ast.Statement, string, bool) {
	if len(s.text) < s.ahead && !s.ended { // dumps are made of long statements: one cut off would be parsed twice
		s.more(0)
		return nil, "", false
	}
	p := &parser{lex: lexer{src: s.text}, src: s.text, opt: s.opt.Options}
	p.tok = p.scan()
	for p.eat(tSemi) {
	}
	start := p.tok.start
	var stmt ast.Statement
	if p.err == nil && p.tok.kind != tEOF {
		stmt = p.topStatement()
		if p.err == nil && p.tok.kind != tSemi && p.tok.kind != tEOF {
			p.notEnded()
		}
	}
	if !s.ended && (p.tok.kind == tEOF && p.err == nil || p.open || p.atEnd()) {
		s.more(start)
		return nil, "", false
	}
	switch {
	case p.err != nil:
		p.err.line, p.err.col = s.line, s.col+utf8.RuneCountInString(s.late)
		p.err.before = lastRunes(s.left, excerptWidth)
		s.err, s.at = p.failure(), s.lineOf(start)
	case stmt == nil:
		s.err = io.EOF
	default:
		text := s.text[start:p.prev.end]
		if !utf8.ValidString(text) {
			s.err = errs.Validation("The statement at line %d is not valid UTF-8", s.lineOf(start))
			return nil, "", false
		}
		if n := p.tok.start - start; n > s.opt.MaxStatement {
			s.err = s.tooLong(start)
			return nil, "", false
		}
		s.at = s.lineOf(start)
		s.ahead = p.tok.start + p.tok.start/8
		s.drop(p.tok.start)
		return stmt, text, true
	}
	return nil, "", false
}

// First parses the statement at the start of text, and gives where it begins and ends, without the semicolon after it.
// A text without a statement gives nil.
func First(text string, opt Options) (stmt ast.Statement, start, end int, err error) {
	p := newParser(text, opt)
	for p.err == nil && p.eat(tSemi) {
	}
	start = p.tok.start
	if p.err == nil && p.tok.kind != tEOF {
		stmt = p.topStatement()
		if p.err == nil && p.tok.kind != tSemi && p.tok.kind != tEOF {
			p.notEnded()
		}
	}
	if p.err != nil {
		return nil, 0, 0, p.failure()
	}
	if stmt == nil {
		return nil, len(text), len(text), nil
	}
	return stmt, start, p.prev.end, nil
}

// atEnd reports whether a failure may be due to the end of what was read so far.
func (p *parser) atEnd() bool {
	if p.err == nil {
		return false
	}
	for _, b := range p.err.Blocks {
		if b.End >= len(p.src) {
			return true
		}
	}
	return p.lex.pos >= len(p.src)
}

// more reads on. What is left of the text before start is done with.
func (s *Stream) more(start int) {
	s.drop(min(start, len(s.text)))
	if len(s.text) > s.opt.MaxStatement {
		s.err = s.tooLong(0)
		return
	}
	buf := make([]byte, max(len(s.text)+s.want, s.ahead))
	copy(buf, s.text)
	n, err := io.ReadFull(s.r, buf[len(s.text):])
	switch {
	case err == nil:
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.ended = true
	default:
		s.err = fmt.Errorf("read statements: %w", err)
		return
	}
	s.text = unsafe.String(unsafe.SliceData(buf), len(s.text)+n) // nothing writes to buf any more
	s.want = max(firstRead, len(s.text))                         // twice as much each time: parsing again stays linear
}

func (s *Stream) tooLong(start int) error {
	return errs.Validation("The statement at line %d is longer than the limit of %d bytes", s.lineOf(start),
		s.opt.MaxStatement)
}

// lineOf is the line, from 1, of an offset in the text.
func (s *Stream) lineOf(offset int) int { return s.line + strings.Count(s.text[:offset], "\n") + 1 }

// drop forgets the first n bytes of the text.
func (s *Stream) drop(n int) {
	gone := s.text[:n]
	if i := strings.LastIndexByte(gone, '\n'); i >= 0 {
		s.line += strings.Count(gone, "\n")
		s.col, s.late, s.left = 0, "", ""
		gone = gone[i+1:]
	}
	if gone != "" {
		s.col += utf8.RuneCountInString(s.late)
		s.late = gone
	}
	if most := excerptWidth * utf8.UTFMax; len(gone) >= most {
		s.left = gone[len(gone)-most:]
	} else {
		s.left = lastRunes(s.left+gone, excerptWidth)
	}
	s.text = s.text[n:]
	if n > 0 {
		s.want = firstRead
	}
}

// lastRunes are the last n characters of a text.
func lastRunes(text string, n int) string {
	i := len(text)
	for range n {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text[i:]
}

// Complete reports whether text can be run as it is: it is false where the text ends inside of a
// string, a comment, a bracket or a statement, so that a REPL reads on. A text with an error before
// its end is complete.
func Complete(text string) bool {
	p := newParser(text, Options{})
	if p.err == nil {
		p.statements()
	}
	return p.err == nil || !p.open
}

// Ended reports whether text is complete and its last statement is closed by a semicolon. A text with an error before
// its end is ended where its last character is a semicolon.
func Ended(text string) bool {
	p := newParser(text, Options{})
	if p.err == nil {
		p.statements()
	}
	if p.err != nil {
		return !p.open && strings.HasSuffix(strings.TrimSpace(text), ";")
	}
	return p.prev.kind == tSemi
}

// Keyword reports whether word is a keyword of the language, in any case. It may be a name, too, by its place.
func Keyword(word string) bool { return keywordOf([]byte(strings.ToUpper(word))) != 0 }
