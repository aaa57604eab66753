package gql

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
)

// parser reads one text. tok is the token to be read next.
type parser struct {
	src   string
	off   int // where the token after tok begins
	tok   token
	last  int // where the token before tok ended
	depth int
	max   int
	lets  int // LET … IN around: an IN ends the expression
}

// maxChain bounds what is read by a loop and nests all the same: a + b + c, a.b.c, x IS TRUE IS TRUE.
const maxChain = 10_000

// chain refuses what goes on for too long; n is how often it has gone on.
func (p *parser) chain(n int) error {
	if n < maxChain {
		return nil
	}
	return p.tooDeep()
}

func (p *parser) tooDeep() error {
	return parse.Fail(p.src, "Exceeded query expression nesting depth limit", parse.Block{Start: p.tok.start,
		End: p.tok.end})
}

// next steps to the token after tok.
func (p *parser) next() error {
	last := p.tok.end
	t, err := p.scan()
	if err != nil {
		return err
	}
	p.last, p.tok = last, t
	return nil
}

// place is a position to come back to.
type place struct {
	off, last int
	tok       token
}

func (p *parser) mark() place   { return place{p.off, p.last, p.tok} }
func (p *parser) reset(m place) { p.off, p.last, p.tok = m.off, m.last, m.tok }

// peek is the token after tok.
func (p *parser) peek() (token, error) {
	off := p.off
	t, err := p.scan()
	p.off = off
	return t, err
}

// enter counts one level of nesting; leave undoes it.
func (p *parser) enter() error {
	if p.depth >= p.max {
		return p.tooDeep()
	}
	p.depth++
	return nil
}

func (p *parser) leave() { p.depth-- }

// is reports whether tok is the keyword.
func (p *parser) is(word string) bool { return p.tok.kind == tokWord && p.tok.upper == word }

// isAny is is for any of some words.
func (p *parser) isAny(words ...string) bool {
	for _, w := range words {
		if p.is(w) {
			return true
		}
	}
	return false
}

// at reports whether tok is the punctuation.
func (p *parser) at(text string) bool { return p.tok.kind == tokPunct && p.tok.text == text }

// eat takes the keyword if it is there.
func (p *parser) eat(word string) (bool, error) {
	if !p.is(word) {
		return false, nil
	}
	return true, p.next()
}

// eatPunct takes the punctuation if it is there.
func (p *parser) eatPunct(text string) (bool, error) {
	if !p.at(text) {
		return false, nil
	}
	return true, p.next()
}

// describe names a token as errors do.
func (p *parser) describe(t token) string {
	if t.kind == tokEnd {
		return "end of file"
	}
	return "token `" + errs.Brief(p.src[t.start:t.end], 40) + "`"
}

// unexpected is the error about tok where something else must stand.
func (p *parser) unexpected(want string) error {
	return p.fail(p.tok.start, p.tok.end, "", "Unexpected %s, expected %s", p.describe(p.tok), want)
}

func (p *parser) expect(word string) error {
	if !p.is(word) {
		return p.unexpected("`" + word + "`")
	}
	return p.next()
}

func (p *parser) expectPunct(text string) error {
	if !p.at(text) {
		return p.unexpected("the delimiter `" + text + "`")
	}
	return p.next()
}

// span is from a place on to the last token read.
func (p *parser) span(start int) Span { return Span{start, p.last} }

// isName reports whether tok can be a name, reserved or not.
func (p *parser) isName() bool {
	return p.tok.kind == tokWord || p.tok.kind == tokQuoted || p.tok.kind == tokDouble
}

// name reads an identifier. what is what it names.
func (p *parser) name(what string) (Name, error) {
	t := p.tok
	switch {
	case !p.isName():
		return Name{}, p.unexpected(what)
	case t.kind == tokWord && reserved()[t.upper]:
		return Name{}, p.fail(t.start, t.end, "delimit it with double quotes or backticks to use it as a name",
			"`%s` is a reserved word, expected %s", t.text, what)
	case t.text == "":
		return Name{}, p.fail(t.start, t.end, "", "An identifier may not be empty")
	}
	return Name{t.text, Span{t.start, t.end}}, p.next()
}

// propertyName reads the name of a property: reserved words are names there, as nothing else can follow.
func (p *parser) propertyName() (Name, error) {
	if t := p.tok; t.kind == tokWord {
		return Name{t.text, Span{t.start, t.end}}, p.next()
	}
	return p.name("a property name")
}

// variable is name for a variable that is declared or used.
func (p *parser) variable() (Name, error) {
	n, err := p.name("a variable")
	if err == nil {
		err = p.free(n, "Variable")
	}
	return n, err
}

// free refuses the names that are for internal use.
func (p *parser) free(n Name, what string) error {
	if len(n.Text) >= 2 && n.Text[:2] == "__" {
		return p.fail(n.Span.Start, n.Span.End, "", "%s names starting with `__` are reserved for internal use", what)
	}
	return nil
}

// list reads one or more, with commas between them.
func (p *parser) list(one func() error) error {
	for {
		if err := one(); err != nil {
			return err
		}
		if more, err := p.eatPunct(","); err != nil || !more {
			return err
		}
	}
}
