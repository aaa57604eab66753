package parse

import (
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// recordID is table:key; the table is the current token.
func (p *parser) recordID() ast.Expr {
	table := p.ident()
	p.keyColon()
	if p.err != nil {
		return nil
	}
	return &ast.RecordID{Table: table, Key: p.recordKey()}
}

// keyColon passes the colon before a record key. The key is lexed by recordKey from there.
func (p *parser) keyColon() {
	if p.tok.kind != tColon {
		p.unexpected(":")
		return
	}
	p.advance()
}

// recordKey is a key or a range of keys after the colon: the key has to follow at once.
func (p *parser) recordKey() ast.Expr {
	if p.err != nil {
		return nil
	}
	colon := p.prev.end
	if p.tok.kind == tDotDot {
		return p.keyRange(nil)
	}
	if p.tok.start != colon && p.tok.kind != tEOF {
		p.unexpected("a record-id key")
		return nil
	}
	key := p.firstKey()
	if p.err != nil {
		return nil
	}
	if p.tok.kind == tDotDot || p.tok.kind == tMore && p.glued(tDotDot) {
		return p.keyRange(key)
	}
	return key
}

// keyRange is the rest of a range of keys that starts at start, which may be nil.
func (p *parser) keyRange(start ast.Expr) ast.Expr {
	r := &ast.KeyRange{Start: start}
	if p.tok.kind == tMore {
		p.advance()
		r.StartExcl = true
	}
	dots := p.expect(tDotDot)
	if p.tok.kind == tEqual && p.tok.start == dots.end {
		p.advance()
		r.EndIncl = true
		r.End = p.key()
		return r
	}
	if p.tok.start == dots.end && p.startsKey() {
		r.End = p.key()
	}
	return r
}

func (p *parser) startsKey() bool {
	switch p.tok.kind {
	case tDigits, tLBracket, tLBrace, tUUID, tString:
		return true
	case tMinus:
		return p.glued(tDigits)
	}
	return p.tok.isIdent()
}

// firstKey is the key after the colon of a record id in an expression.
func (p *parser) firstKey() ast.Expr {
	switch t := p.tok; t.kind {
	case tParam:
		p.fail("Unexpected token `$param` expected a record-id key", t,
			"Record-id's can be create from a param with `type::record(\""+p.tableBefore(t)+"\","+p.text(t)+")`")
		return nil
	case tDigits, tMinus, tPlus, tLBracket, tLBrace, tUUID, tString:
		return p.key()
	}
	if p.tok.isIdent() {
		return p.key()
	}
	p.unexpected("a record-id key")
	return nil
}

// key is one key of a record.
func (p *parser) key() ast.Expr {
	switch t := p.tok; t.kind {
	case tDigits:
		return p.digitsKey(t)
	case tMinus:
		return p.negativeKey()
	case tPlus:
		return p.positiveKey()
	case tLBracket:
		return p.array()
	case tLBrace:
		return p.objectKeyExpr()
	case tUUID:
		return p.literal(p.uuid(p.advance()))
	case kwRand, kwUlid, kwUuid:
		if !p.opt.constants && p.peek().kind == tLParen {
			return p.generatedKey()
		}
	}
	if p.tok.isIdent() {
		return p.literal(value.Str(p.identName(p.advance())))
	}
	p.unexpected("an identifier")
	return nil
}

// tableBefore is the table name in front of the colon before t, for a hint.
func (p *parser) tableBefore(t token) string {
	end := t.start - 1
	i := end
	for i > 0 && isIdentByte(p.src[i-1]) {
		i--
	}
	return p.src[i:max(end, i)]
}

// digitsKey is a key that starts with digits: an int where it is all digits and fits, else a string.
func (p *parser) digitsKey(t token) ast.Expr {
	end := t.start
	digits := true
	for end < len(p.src) && isIdentByte(p.src[end]) {
		digits = digits && isDigit(p.src[end])
		end++
	}
	text := p.src[t.start:end]
	p.resume(end)
	if digits {
		return p.literal(digitsValue(text))
	}
	return p.literal(value.Str(text))
}

// negativeKey is an int key with a sign; what does not fit is a string.
func (p *parser) negativeKey() ast.Expr {
	p.advance()
	t := p.tok
	if t.kind != tDigits {
		p.unexpected("a number")
		return nil
	}
	p.advance()
	return p.literal(digitsValue("-" + p.text(t)))
}

// positiveKey is +5: upstream sees the number but does not pass it, so that in a query the digits are
// then an unexpected token.
func (p *parser) positiveKey() ast.Expr {
	p.advance()
	if p.tok.kind != tDigits {
		p.unexpected("an integer")
		return nil
	}
	return p.literal(digitsValue(p.text(p.tok)))
}

// digitsValue is the key that digits are: an int where it fits, else a string.
func digitsValue(text string) value.Value {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value.Int(i)
	}
	return value.Str(text)
}

// generatedKey is rand(), ulid() or uuid().
func (p *parser) generatedKey() ast.Expr {
	name := strings.ToLower(p.advance().kind.String())
	p.advance()
	p.expect(tRParen)
	return &ast.KeyGen{Name: name}
}

// objectKeyExpr is a key {…}, which must be an object.
func (p *parser) objectKeyExpr() ast.Expr {
	open := p.advance()
	if !p.enter() {
		return nil
	}
	defer p.leave()
	return p.objectRest(open)
}

// mock is |table:3| or |table:1..3|, after its bar.
func (p *parser) mock(open token) ast.Expr {
	m := &ast.Mock{Table: p.ident()}
	p.expect(tColon)
	if p.tok.kind == tDotDot {
		m.OpenFrom = true
	} else {
		m.From = p.integer()
	}
	if p.tok.kind == tMore && p.glued(tDotDot) {
		p.advance()
		m.FromExcl = true
	}
	if p.eat(tDotDot) {
		m.IsRange = true
		m.ToIncl = p.eat(tEqual)
		if p.tok.kind == tPipe && !m.ToIncl {
			m.OpenTo = true
		} else {
			m.To = p.integer()
		}
	}
	p.closes(tPipe, open)
	return m
}

// recordString is r'table:key'. Errors inside of it point into the source.
func (p *parser) recordString(t token) ast.Expr {
	s := p.prefixedText(t)
	if p.err != nil {
		return nil
	}
	sub := &parser{lex: lexer{src: s.text}, src: s.text, opt: p.opt, depth: p.depth}
	sub.tok = sub.scan()
	id := sub.wholeRecord()
	if sub.err == nil {
		return id
	}
	for i, b := range sub.err.Blocks {
		start, end := s.source(b.Start, b.End)
		if b.Start >= len(s.text) { // the end of the text is marked at the closing quote
			start, end = s.end, s.end+1
		}
		sub.err.Blocks[i] = Block{start, end, b.Label}
	}
	p.failBlocks(sub.err.Msg, sub.err.Blocks...)
	return nil
}

func (p *parser) wholeRecord() ast.Expr {
	if p.err != nil {
		return nil
	}
	if !p.tok.isIdent() {
		p.unexpected("an identifier")
		return nil
	}
	table := p.ident()
	p.keyColon()
	if p.err != nil {
		return nil
	}
	return &ast.RecordID{Table: table, Key: p.key()}
}
