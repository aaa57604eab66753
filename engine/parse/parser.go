// Package parse turns text into syntax trees: queries, expressions, values, types, paths.
//
// It accepts the whole language and nothing is evaluated. Every failure is a *errs.Error of kind
// Validation whose text names line and column and shows the place; Error holds the parts. Depth and
// size are limited by Options, so that no text makes the parser run long or deep. Parsers share nothing.
package parse

import (
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Resolver knows the built-in functions and constants. Paths are in lower case.
type Resolver interface {
	// Function gives what belongs into ast.Call.Impl for a function.
	Function(path string) (impl any, ok bool)
	// Constant gives the value of a constant.
	Constant(path string) (value.Value, bool)
	// Names are all paths that exist, for hints.
	Names() []string
}

// Options are limits and surroundings of a parse. The zero value means the defaults.
type Options struct {
	Depth    int      // expressions inside one another; default 20
	Chain    int      // operators of one expression, steps of one path, and types inside one another; default 2048
	MaxBytes int      // length of a text; default 64 MiB
	Resolver Resolver // nil: every path is taken for a function
	// NoFiles refuses DEFINE BUCKET and f'…': the experimental feature "files" is off.
	NoFiles bool
	// Values makes one Literal of the rows of an INSERT that are written out, in a statement that is not inside of
	// another one. That is for texts which are run: the tree does not tell the order of the fields of an object.
	Values bool
	// Poll is asked from time to time; when it gives an error the parse ends with that error. nil: never.
	Poll func() error

	constants bool // the text is data: only literals are read, see constantExpr
}

// The defaults of Options.
const (
	DefaultDepth    = 20
	DefaultChain    = 2048
	DefaultMaxBytes = 64 << 20
)

func (o Options) filled() Options {
	if o.Depth == 0 {
		o.Depth = DefaultDepth
	}
	if o.Chain == 0 {
		o.Chain = DefaultChain
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return o
}

// Query parses a text of statements.
func Query(text string, opt Options) (*ast.Query, error) {
	p := newParser(text, opt)
	q := &ast.Query{}
	if p.err == nil {
		q.Stmts = p.statements()
	}
	if p.err != nil {
		return nil, p.failure()
	}
	return q, nil
}

// Expr parses one expression.
func Expr(text string, opt Options) (ast.Expr, error) {
	return whole(text, opt, func(p *parser) ast.Expr { return p.expr() })
}

// Type parses a type such as option<array<int, 5>>.
func Type(text string) (*value.Type, error) {
	return whole(text, Options{}, func(p *parser) *value.Type { return p.typ() })
}

// whole parses text, all of it, by f.
func whole[T any](text string, opt Options, f func(*parser) T) (T, error) {
	p := newParser(text, opt)
	var out T
	if p.err == nil {
		out = f(p)
	}
	if p.err == nil && p.tok.kind != tEOF {
		p.unexpected("Eof")
	}
	if p.err != nil {
		var none T
		return none, p.failure()
	}
	return out, nil
}

// parser is one parse. The first failure is kept in err; from then on every token is tEOF, so that
// all loops end, and what is built is thrown away by the caller.
type parser struct {
	lex     lexer
	src     string
	tok     token // the next token
	prev    token // the one before
	ahead   token // the one after tok, when hasNext
	hasNext bool
	err     *Error
	opt     Options
	arena   arena
	rows    rows
	values  bool // the statement at hand is an INSERT that Options.Values is about
	depth   int  // expressions inside one another
	chain   int  // operators and prefixes inside one another

	open bool // the text ended where more had to come

	invalid token // the text at fault, where the lexer failed and no part of the parser has asked for that token yet

	probe  int  // the offset of the word that Next asks about, else 0
	asName bool // that word was taken for a name

	work    int   // bytes read, those that were read twice counted twice
	polled  int   // work when Poll was asked
	stopped error // what Poll said
	regexes int   // Cost of the regular expressions so far
}

func newParser(text string, opt Options) *parser {
	p := &parser{lex: lexer{src: text}, src: text, opt: opt.filled()}
	if len(text) > p.opt.MaxBytes {
		p.fail("The text is longer than the limit for a query", token{tEOF, 0, 0}, "")
		return p
	}
	if !utf8.ValidString(text) {
		p.fail("The text is not valid UTF-8", token{tEOF, 0, 0}, "")
		return p
	}
	p.tok = p.scan()
	return p
}

// pollEach is how many bytes are read between two questions to Options.Poll.
const pollEach = 32 << 10

// scan lexes the next token.
func (p *parser) scan() token {
	from := p.lex.pos
	t, err := p.lex.next()
	if err != nil {
		p.failAt(err)
		p.invalid = err.token(len(p.src))
		return token{tEOF, len(p.src), len(p.src)}
	}
	if p.work += p.lex.pos - from; p.work-p.polled >= pollEach {
		p.poll()
		if p.err != nil {
			return p.tok
		}
	}
	return t
}

// poll ends the parse where Options.Poll says so.
func (p *parser) poll() {
	p.polled = p.work
	if p.opt.Poll == nil || p.err != nil {
		return
	}
	if p.stopped = p.opt.Poll(); p.stopped != nil {
		p.fail("The parser was stopped", p.prev, "")
	}
}

// failure is why there is no tree.
func (p *parser) failure() error {
	if p.stopped != nil {
		return p.stopped
	}
	return p.err.public()
}

// advance passes the current token and gives it.
func (p *parser) advance() token {
	t := p.tok
	p.prev = t
	switch {
	case p.err != nil:
	case p.hasNext:
		p.tok, p.hasNext = p.ahead, false
	default:
		p.tok = p.scan()
	}
	return t
}

// peek is the token after the current one.
func (p *parser) peek() token {
	if p.err != nil {
		return p.tok
	}
	if !p.hasNext {
		p.ahead, p.hasNext = p.scan(), true
		if p.err != nil {
			return p.tok
		}
	}
	return p.ahead
}

// glued reports whether the token after the current one follows it without a blank.
func (p *parser) glued(k kind) bool {
	n := p.peek()
	return n.kind == k && n.start == p.tok.end
}

// resume continues lexing at offset off; tokens that were looked at ahead are dropped.
func (p *parser) resume(off int) {
	if p.err != nil {
		return
	}
	p.hasNext = false
	p.work += max(0, off-p.tok.start)
	p.lex.pos = off
	p.prev = token{p.tok.kind, min(p.tok.start, off), off}
	p.tok = p.scan()
}

// mark is a place to come back to.
type mark struct {
	tok, prev token
}

func (p *parser) mark() mark { return mark{p.tok, p.prev} }

func (p *parser) reset(m mark) {
	if p.invalid.end > 0 { // the lexer will come to it again
		p.err, p.invalid, p.open = nil, token{}, false
	}
	if p.err != nil {
		return
	}
	p.hasNext, p.tok, p.prev, p.lex.pos = false, m.tok, m.prev, m.tok.end
}

// eat passes the current token when it is a k.
func (p *parser) eat(k kind) bool {
	if p.tok.kind == k {
		p.advance()
		return true
	}
	return false
}

// expect passes a k, or fails.
func (p *parser) expect(k kind) token {
	if p.tok.kind != k {
		p.unexpected(k.String())
		return p.tok
	}
	return p.advance()
}

// text is the source of t.
func (p *parser) text(t token) string { return p.src[t.start:t.end] }

// unexpected fails at the current token, saying what should stand there.
func (p *parser) unexpected(want string) { p.unexpectedAt(p.tok, want) }

func (p *parser) unexpectedAt(t token, want string) {
	if t.kind == tEOF {
		p.fail("Unexpected end of file, expected "+want, t, "")
		return
	}
	switch t.kind {
	case tNullish: // two marks that only an operator joins
		t.kind, t.end = tQuestion, t.start+1
	case tKNNEnd:
		t.kind, t.end = tPipe, t.start+1
	case tArrowL, tArrowBoth, tArrowRef:
		t.kind, t.end = tLess, t.start+1
	}
	p.fail("Unexpected token `"+t.kind.String()+"`, expected "+want, t, "")
}

// fail records the first failure.
func (p *parser) fail(msg string, t token, label string) {
	p.failBlocks(msg, Block{t.start, t.end, label})
}

func (p *parser) failAt(e *lexError) {
	p.open = e.open
	p.failBlocks(e.msg, Block{e.start, e.end, e.label})
}

func (p *parser) failBlocks(msg string, blocks ...Block) {
	if p.err != nil {
		p.invalid = token{}
		return
	}
	p.err = &Error{Msg: msg, Blocks: blocks, source: p.src}
	p.open = p.open || p.tok.kind == tEOF
	p.hasNext = false
	p.tok = token{tEOF, len(p.src), len(p.src)}
}

// closes passes the delimiter that closes the one at open, or fails.
func (p *parser) closes(k kind, open token) {
	if p.tok.kind == k {
		p.advance()
		return
	}
	p.notClosed(k, open)
}

func (p *parser) notClosed(k kind, open token) {
	found, name := p.tok, p.tok.kind.String()
	if p.invalid.end > 0 && p.prev != open && p.prev.kind != tComma {
		found, name, p.err = p.invalid, "Invalid", nil
	}
	p.failBlocks("Unexpected token `"+name+"` expected delimiter `"+k.String()+"`",
		Block{found.start, found.end, ""}, Block{open.start, open.end, "expected this delimiter to close"})
	p.invalid = token{}
}

// enter counts one expression more inside of others; leave ends it.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > p.opt.Depth {
		p.fail("Exceeded query recursion depth limit", p.prev, "")
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

func (p *parser) unlink() { p.chain-- }

// link counts one operator or prefix more in a chain; unlink, or the end of the expression, gives it back.
func (p *parser) link() bool {
	p.chain++
	if p.chain > p.opt.Chain {
		p.fail("Exceeded expression length limit", p.prev, "")
		return false
	}
	return true
}
