package sql

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

// parser reads one statement. It fails by a panic of *sqlstate.Error, which Parse catches.
type parser struct {
	src   string
	toks  []Token
	pos   int
	end   int
	depth int
	over  []*window // of the query that is read
}

// mostDepth is how deep expressions and queries may nest.
const mostDepth = 200

// Parse reads the statement at byte pos of src, up to its semicolon or the end; end is where that is.
func Parse(src string, pos int) (stmt Statement, end int, err error) {
	toks, end, err := Tokens(src, pos)
	if err != nil {
		return nil, 0, err
	}
	p := &parser{src: src, toks: toks, end: end}
	defer func() {
		if e := recover(); e != nil {
			se, ok := e.(*sqlstate.Error)
			if !ok {
				panic(e)
			}
			stmt, err = nil, se
		}
	}()
	stmt = p.statement()
	if p.pos < len(p.toks) {
		p.unexpected()
	}
	return stmt, end, nil
}

func (p *parser) statement() Statement {
	switch {
	case p.at("insert"):
		return p.insert()
	case p.at("with"):
		return p.withStatement()
	case p.at("truncate"):
		return p.truncate()
	case p.at("update"):
		return p.update()
	case p.at("delete"):
		return p.delete()
	case p.at("explain"):
		return p.explain()
	}
	return p.query()
}

func (p *parser) peek() Token { return p.peekAt(0) }

func (p *parser) peekAt(n int) Token {
	if p.pos+n < len(p.toks) {
		return p.toks[p.pos+n]
	}
	return Token{Pos: p.end, End: p.end}
}

func (p *parser) take() Token {
	t := p.peek()
	if p.pos < len(p.toks) {
		p.pos++
	}
	return t
}

func (p *parser) at(words ...string) bool {
	for i, w := range words {
		if !p.peekAt(i).Is(w) {
			return false
		}
	}
	return true
}

func (p *parser) eat(words ...string) bool {
	if !p.at(words...) {
		return false
	}
	p.pos += len(words)
	return true
}

func (p *parser) want(words ...string) {
	if !p.eat(words...) {
		p.unexpected()
	}
}

// place is a position in characters, from 1.
func (p *parser) place(b int) int { return utf8.RuneCountInString(p.src[:b]) + 1 }

func (p *parser) unexpected() {
	t := p.peek()
	if t.End <= t.Pos {
		panic(sqlstate.New(sqlstate.SyntaxError, "syntax error at end of input").At(p.place(t.Pos)))
	}
	panic(sqlstate.New(sqlstate.SyntaxError, "syntax error at or near %q", p.src[t.Pos:t.End]).At(p.place(t.Pos)))
}

func (p *parser) unsupported(what string) {
	panic(sqlstate.New(sqlstate.FeatureNotSupported, "%s is not supported", what).At(p.place(p.peek().Pos)))
}

func (p *parser) down() func() {
	if p.depth++; p.depth > mostDepth {
		panic(sqlstate.New(sqlstate.TooDeep, "the statement nests too deeply"))
	}
	return func() { p.depth-- }
}

// reserved are words that are no name of a column or table without quotes.
var reserved = sync.OnceValue(func() map[string]bool {
	return words("all and any array as asc both case cast check collate column constraint create cross current_catalog " +
		"current_date current_role current_time current_timestamp current_user default desc distinct do else end except false " +
		"fetch for foreign from full grant group having ilike in inner intersect into is isnull join lateral leading left like " +
		"limit localtime localtimestamp natural not notnull null offset on only or order outer primary references returning " +
		"right select session_user similar some symmetric table then to trailing true union unique user using values when where " +
		"window with")
})

// stops are words that end an expression, so that no alias can be one without AS.
var stops = words("operator over filter within tablesample")

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

func (p *parser) isName() bool {
	t := p.peek()
	return t.Kind == Quoted || t.Kind == Ident && !reserved()[t.Text]
}

func (p *parser) name() string {
	if !p.isName() {
		p.unexpected()
	}
	return p.take().Text
}

// label is a name behind AS: any word will do.
func (p *parser) label() string {
	t := p.peek()
	if t.Kind != Quoted && t.Kind != Ident {
		p.unexpected()
	}
	p.pos++
	return t.Text
}

func (p *parser) names() []string {
	p.want("(")
	out := []string{p.label()}
	for p.eat(",") {
		out = append(out, p.label())
	}
	p.want(")")
	return out
}
