package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// onlyLiterals is the failure of a constant text that holds something to evaluate.
const onlyLiterals = "Only literal values are allowed here"

// constantExpr parses one literal, in texts that are data: a value, a record id, a plain path. Such texts come from
// clients that have no identity yet, and from strings inside of queries. SECURITY: nothing here leads to operators,
// calls, statements, closures or regular expressions.
func (p *parser) constantExpr() ast.Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	var start ast.Expr
	if p.tok.kind != tDotDot {
		start = p.constantOperand()
	}
	if p.err != nil || p.tok.kind != tDotDot && !(p.tok.kind == tMore && p.glued(tDotDot)) {
		return start
	}
	return p.constantRange(start)
}

// constantRange is the rest of a range after its start, which is nil where it is open.
func (p *parser) constantRange(start ast.Expr) ast.Expr {
	r := &ast.Range{Start: start}
	if p.tok.kind == tMore {
		p.advance()
		r.StartExcl = true
	}
	dots := p.expect(tDotDot)
	switch {
	case p.tok.kind == tEqual && p.tok.start == dots.end:
		p.advance()
		r.EndIncl = true
		r.End = p.constantOperand()
	case p.tok.start == dots.end && p.startsOperand():
		r.End = p.constantOperand()
	}
	return r
}

// constantOperand is a literal that is no range.
func (p *parser) constantOperand() ast.Expr {
	switch t := p.tok; t.kind {
	case tString, tDigits, tNaN, tInfinity, tDatetime, tUUID, tBytes, tFile, tLBracket, kwNone, kwNull, kwTrue, kwFalse:
		return p.atom()
	case tRecord:
		return p.recordString(p.advance())
	case tParam:
		return p.param()
	case tLBrace:
		return p.constantBraces()
	case tLParen:
		return p.constantParens()
	case tMinus, tPlus:
		return p.constantSigned()
	}
	if p.tok.isIdent() {
		if next := p.peek(); next.kind == tColon && next.start == p.tok.end {
			return p.recordID()
		}
	}
	if p.err == nil {
		p.fail(onlyLiterals, p.tok, "")
	}
	return nil
}

// constantSigned is a number or Infinity after a sign.
func (p *parser) constantSigned() ast.Expr {
	neg := p.advance().kind == tMinus
	switch p.tok.kind {
	case tDigits:
		v := p.numericSigned(neg)
		if p.err == nil && !v.Kind().IsNumber() {
			p.fail(onlyLiterals, p.prev, "")
		}
		return p.literal(v)
	case tInfinity:
		p.advance()
		if neg {
			return p.literal(value.Float(negInf))
		}
		return p.literal(value.Float(namedFloat(tInfinity)))
	}
	p.unexpected("a number")
	return nil
}

// constantParens is a point, or a literal in parentheses.
func (p *parser) constantParens() ast.Expr {
	open := p.advance()
	switch p.tok.kind {
	case tDigits, tMinus, tPlus:
		if x := p.point(open); x != nil || p.err != nil {
			return x
		}
	}
	x := p.constantExpr()
	p.closes(tRParen, open)
	return x
}

// constantBraces is an object or a set.
func (p *parser) constantBraces() ast.Expr {
	open := p.advance()
	switch p.tok.kind {
	case tRBrace:
		p.advance()
		return &ast.Object{}
	case tComma:
		p.advance()
		p.closes(tRBrace, open)
		return &ast.Set{}
	case tString, tDigits:
		if p.isLiteralKey() {
			return p.objectRest(open)
		}
	default:
		if p.tok.isIdent() && p.peek().kind == tColon {
			return p.objectRest(open)
		}
	}
	first := p.constantExpr()
	p.expect(tComma) // {1} would be a block
	if p.err != nil {
		return nil
	}
	return p.setRest(open, first)
}
