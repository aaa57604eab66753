package ast

import (
	"github.com/nacredb/nacre/engine/value"
)

// Text is the canonical text of node: an Expr, a Statement, an *Idiom, a *Query, a Permission or a
// pointer to a part of a statement such as *Data or *Order. It parses back to the same tree.
func Text(node any) string {
	if id, ok := node.(*Idiom); ok && len(id.Parts) == 1 { // mostly it is a name, which needs no copy
		if f, ok := id.Parts[0].(*PartField); ok {
			return value.QuoteIdent(f.Name)
		}
	}
	return string(AppendText(nil, node))
}

// AppendText appends Text(node) to dst.
func AppendText(dst []byte, node any) []byte {
	p := printer{buf: dst}
	switch n := node.(type) {
	case nil:
	case *Idiom:
		p.idiom(n)
	case *Closure: // on its own, as a value, a path needs no parentheses
		p.signature(n)
		p.expr(n.Body)
	case Expr:
		p.expr(n)
	case Statement:
		p.statement(n)
	case *Query:
		for i, s := range n.Stmts {
			if i > 0 {
				p.str("; ")
			}
			p.statement(s)
		}
	case Permission:
		p.permission(n)
	case Permissions:
		p.permissions(&n, true)
	case *Projections:
		p.projections(n)
	case *Data:
		p.data(n)
	case *Output:
		p.output(n)
	case *Order:
		p.order(n)
	case *Group:
		p.group(n)
	case *With:
		p.with(n)
	case *Graph:
		p.graph(n)
	case *Reference:
		p.reference(n)
	case *ChangeFeed:
		p.changeFeed(n)
	case *FullText:
		p.fullText(n)
	case *VectorIndex:
		p.vector(n, false)
	case Name:
		p.name(n)
	case *Name:
		p.name(*n)
	case Part:
		p.part(n)
	}
	return p.buf
}

// printer writes nodes. blocks counts the braces of blocks written so far.
type printer struct {
	buf    []byte
	blocks int
	// covered is printed in parentheses; see blockValue.
	covered *RecordID
}

func (p *printer) str(s string)   { p.buf = append(p.buf, s...) }
func (p *printer) byte(c byte)    { p.buf = append(p.buf, c) }
func (p *printer) ident(s string) { p.buf = value.AppendIdent(p.buf, s) }
func (p *printer) int(i int64)    { p.buf = value.Int(i).AppendText(p.buf) }

// word writes a name where no word is reserved: only what is no identifier at all is quoted.
func (p *printer) word(s string) {
	if isWord(s) {
		p.str(s)
		return
	}
	p.quoted(s)
}

// quoted writes a name in backticks.
func (p *printer) quoted(s string) {
	p.byte('`')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '`', '\\':
			p.byte('\\')
			p.byte(c)
		case '\n':
			p.str(`\n`)
		case '\r':
			p.str(`\r`)
		case '\t':
			p.str(`\t`)
		case 0:
			p.str(`\0`)
		default:
			p.byte(c)
		}
	}
	p.byte('`')
}

// isWord reports whether s reads as one identifier token; NaN and Infinity do not.
func isWord(s string) bool {
	if s == "" || s[0]-'0' < 10 || s == "NaN" || s == "Infinity" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && c-'0' >= 10 && c|0x20-'a' >= 26 {
			return false
		}
	}
	return true
}

// param writes $name.
func (p *printer) param(name string) {
	p.byte('$')
	p.word(name)
}

// list writes a comma-separated list.
func list[T any](p *printer, xs []T, write func(T)) {
	for i, x := range xs {
		if i > 0 {
			p.str(", ")
		}
		write(x)
	}
}

// clause writes " KEYWORD x" where x is there.
func (p *printer) clause(keyword string, x Expr) {
	if x == nil {
		return
	}
	p.byte(' ')
	p.str(keyword)
	p.byte(' ')
	p.expr(x)
}

func (p *printer) flag(on bool, text string) {
	if on {
		p.str(text)
	}
}
