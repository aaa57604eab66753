package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// power is how tightly an operator binds.
type power uint8

const (
	powerLowest power = iota
	powerOr
	powerAnd
	powerEquality
	powerRelation
	powerNullish
	powerAdd
	powerMul
	powerPow
	powerPrefix
	powerRange
	powerCall
)

// infix is the power and operator of a token that may stand between operands; 0 for others. Casts,
// ranges, matches and KNN have a power, but no operator of their own.
func infix(k kind) (power, ast.BinaryOp) {
	switch k {
	case tOrOr, kwOr:
		return powerOr, ast.OpOr
	case tAndAnd, kwAnd:
		return powerAnd, ast.OpAnd
	case tEqual, kwIs:
		return powerEquality, ast.OpEqual
	case tEqualTwo:
		return powerEquality, ast.OpExact
	case tNotEqual:
		return powerEquality, ast.OpNotEqual
	case tAnyEqual:
		return powerEquality, ast.OpAnyEqual
	case tAllEqual:
		return powerEquality, ast.OpAllEqual
	case tLess:
		return powerRelation, ast.OpLess
	case tLessEq:
		return powerRelation, ast.OpLessEqual
	case tMore:
		return powerRelation, ast.OpMore
	case tMoreEq:
		return powerRelation, ast.OpMoreEqual
	case tContains, kwContains:
		return powerRelation, ast.OpContains
	case tContainsNot, kwContainsnot:
		return powerRelation, ast.OpContainsNot
	case tContainsAll, kwContainsall:
		return powerRelation, ast.OpContainsAll
	case tContainsAny, kwContainsany:
		return powerRelation, ast.OpContainsAny
	case tContainsNone, kwContainsnone:
		return powerRelation, ast.OpContainsNone
	case tInside, kwInside, kwIn:
		return powerRelation, ast.OpInside
	case tNotInside, kwNotinside, kwNot:
		return powerRelation, ast.OpNotInside
	case tAllInside, kwAllinside:
		return powerRelation, ast.OpAllInside
	case tAnyInside, kwAnyinside:
		return powerRelation, ast.OpAnyInside
	case tNoneInside, kwNoneinside:
		return powerRelation, ast.OpNoneInside
	case kwOutside:
		return powerRelation, ast.OpOutside
	case kwIntersects:
		return powerRelation, ast.OpIntersects
	case tAt:
		return powerRelation, ast.OpMatches
	case tKNN:
		return powerRelation, ast.OpKNN
	case tPlus:
		return powerAdd, ast.OpAdd
	case tMinus:
		return powerAdd, ast.OpSub
	case tStar, tTimes:
		return powerMul, ast.OpMul
	case tSlash, tDivide:
		return powerMul, ast.OpDiv
	case tPercent:
		return powerMul, ast.OpRem
	case tPower:
		return powerPow, ast.OpPow
	case tNullish:
		return powerNullish, ast.OpNullCoalesce
	case tTruthy:
		return powerNullish, ast.OpTruthyElse
	case tDotDot:
		return powerRange, 0
	case tLParen:
		return powerCall, 0
	}
	return powerLowest, 0
}

// expr parses an expression: one level deeper than the one around it.
func (p *parser) expr() ast.Expr {
	if p.opt.constants {
		return p.constantExpr()
	}
	if !p.enter() {
		return nil
	}
	chain := p.chain
	x := p.operand(powerLowest)
	p.chain = chain
	p.leave()
	return x
}

// operand parses an expression of operators that bind tighter than floor.
func (p *parser) operand(floor power) ast.Expr {
	if !p.link() {
		return nil
	}
	x := p.prefix()
	for p.err == nil {
		pow, op := infix(p.tok.kind)
		switch {
		case pow == powerLowest:
			p.noOperator()
			return x
		case p.tok.kind == tMore && p.glued(tDotDot) && powerRange > floor:
			x = p.rangeFrom(x)
			continue
		case pow <= floor:
			return x
		}
		if !p.link() {
			return nil
		}
		switch pow {
		case powerRange:
			x = p.rangeFrom(x)
		case powerCall:
			x = p.callOf(x)
		case powerEquality, powerRelation:
			x = p.comparison(x, pow, op)
		default:
			p.advance()
			x = &ast.Binary{Op: op, L: x, R: p.operand(pow)}
		}
	}
	return x
}

// noOperator fails at what looks like an operator, but is none here.
func (p *parser) noOperator() {
	switch p.tok.kind {
	case tQuestion:
		p.unexpected("`??`")
	case tPlusEq, tMinusEq, tExtendEq:
		p.fail("Unexpected token `"+p.tok.kind.String()+"`, expected an operator", p.tok,
			"assignment operators are only allowed in SET and DUPLICATE KEY UPDATE clauses")
	}
}

// comparison parses an operator that may not be chained with another of its group.
func (p *parser) comparison(l ast.Expr, pow power, op ast.BinaryOp) ast.Expr {
	b := &ast.Binary{Op: op, L: l}
	switch t := p.advance(); {
	case t.kind == kwIs && p.eat(kwNot):
		b.Op = ast.OpNotEqual
	case t.kind == kwNot:
		p.expect(kwIn)
	case op == ast.OpMatches:
		b.Match = p.match()
	case op == ast.OpKNN:
		b.KNN = p.knn(t)
	}
	b.R = p.operand(pow)
	if p.chained(pow) {
		start := p.tok.start
		switch t := p.advance(); {
		case t.kind == tAt:
			p.match()
		case t.kind == tKNN:
			p.knn(t)
		case t.kind == kwIs:
			p.eat(kwNot)
		case t.kind == kwNot:
			p.expect(kwIn)
		}
		p.operand(pow)
		p.failBlocks("Chained relational operators have no defined associativity.",
			Block{start, p.tok.end, "Use parens, '()', to specify which operator must be evaluated first"})
	}
	return b
}

// chained reports whether another operator of this group follows. == may: only the one before it is asked.
func (p *parser) chained(pow power) bool {
	next, _ := infix(p.tok.kind)
	return next == pow && p.tok.kind != tEqualTwo && !(p.tok.kind == tMore && p.glued(tDotDot))
}

// match is the rest of @@, @1@, @AND@, @1,OR@ after the first sign.
func (p *parser) match() *ast.Match {
	m := &ast.Match{}
	want := "a match reference, operator or `@`"
	if p.tok.kind == tDigits {
		m.HasRef, m.Ref = true, p.unsigned(255)
		want = "@"
		if p.eat(tComma) {
			want = "either `AND` or `OR`"
		}
	}
	if !m.HasRef || want != "@" {
		switch p.tok.kind {
		case kwAnd:
			m.Op, want = "AND", "@"
			p.advance()
		case kwOr:
			m.Op, want = "OR", "@"
			p.advance()
		}
	}
	if p.tok.kind != tAt || m.HasRef && want != "@" {
		p.unexpected(want)
		return m
	}
	p.advance()
	return m
}

// knn is the middle of <|k|>, <|k,ef|> or <|k,DISTANCE|>, whose start is open.
func (p *parser) knn(open token) *ast.KNN {
	n := &ast.KNN{K: p.unsigned(1<<32 - 1)}
	if p.eat(tComma) {
		switch {
		case p.tok.kind == tDigits:
			n.EF = p.unsigned(1<<32 - 1)
		case isDistance(p.tok.kind):
			n.Distance, n.Order = p.distance()
		case p.err == nil:
			t := p.tok
			if t.kind == tKNNEnd {
				t.kind, t.end = tPipe, t.start+1
			}
			p.fail("Unexpected token "+t.kind.String()+" expected a distance of an integer", t,
				"The NN operator accepts either a distance or an EF value (integer)")
		}
	}
	if p.tok.kind == tPipe { // the error is about what should have been the other half
		p.advance()
	}
	p.closes(tKNNEnd, open)
	return n
}

func isDistance(k kind) bool {
	switch k {
	case kwChebyshev, kwCosine, kwEuclidean, kwHamming, kwJaccard, kwManhattan, kwMinkowski, kwPearson:
		return true
	}
	return false
}

// distance is the name of a distance measure, and the order of MINKOWSKI.
func (p *parser) distance() (string, value.Value) {
	if !isDistance(p.tok.kind) {
		p.unexpected("a distance measure")
		return "", value.None
	}
	k := p.advance().kind
	if k == kwMinkowski {
		return k.String(), p.number()
	}
	return k.String(), value.None
}

// rangeFrom parses .. or >.. and the end, after the start x.
func (p *parser) rangeFrom(x ast.Expr) ast.Expr {
	r := &ast.Range{Start: x}
	if p.tok.kind == tMore {
		p.advance()
		r.StartExcl = true
	}
	p.rangeEnd(r)
	return r
}

// rangeEnd parses .. and the end. An end has to follow without a blank, unless there is a sign before it.
func (p *parser) rangeEnd(r *ast.Range) {
	dots := p.expect(tDotDot)
	if p.tok.kind == tEqual && p.tok.start == dots.end {
		p.advance()
		r.EndIncl = true
		r.End = p.operand(powerRange)
		return
	}
	if p.tok.start == dots.end && p.startsOperand() {
		r.End = p.operand(powerRange)
	}
}

// startsOperand reports whether the current token can start an expression.
func (p *parser) startsOperand() bool {
	switch p.tok.kind {
	case tIdent, tParam, tString, tDigits, tDatetime, tUUID, tRecord, tBytes, tFile, tNaN, tInfinity,
		tLParen, tLBrace, tLBracket, tMinus, tPlus, tBang, tLess, tPipe, tOrOr, tSlash, tAt, tArrowR, tArrowL,
		tArrowBoth, tArrowRef:
		return true
	case tEOF:
		return false
	}
	pow, _ := infix(p.tok.kind)
	return p.tok.isIdent() && pow == powerLowest
}

// callOf parses (args) after a value that is to be a function.
func (p *parser) callOf(x ast.Expr) ast.Expr {
	args := p.args()
	call := &ast.PartCall{Args: args}
	if id, ok := x.(*ast.Idiom); ok {
		id.Parts = append(id.Parts, call)
		return p.suffix(id)
	}
	return p.suffix(&ast.Idiom{Parts: []ast.Part{&ast.PartStart{X: x}, call}})
}

// args parses ( a, b ).
func (p *parser) args() []ast.Expr {
	open := p.expect(tLParen)
	base := len(p.arena.exprs)
	for p.err == nil && p.tok.kind != tRParen {
		x := p.expr()
		p.arena.exprs = append(p.arena.exprs, x)
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRParen, open)
	return p.arena.takeExprs(base)
}

// prefix parses a prefix operator with its operand, or an operand alone.
func (p *parser) prefix() ast.Expr {
	switch p.tok.kind {
	case tBang:
		p.advance()
		return &ast.Unary{Op: ast.OpNot, X: p.operand(powerPrefix)}
	case tMinus:
		if p.peek().kind == tDigits {
			return p.signed()
		}
		p.advance()
		if p.tok.kind == tInfinity {
			p.advance()
			return &ast.Literal{Value: value.Float(negInf)}
		}
		return &ast.Unary{Op: ast.OpNeg, X: p.operand(powerPrefix)}
	case tPlus:
		if p.peek().kind == tDigits {
			return p.signed()
		}
		p.advance()
		return &ast.Unary{Op: ast.OpPlus, X: p.operand(powerPrefix)}
	case tLess:
		return p.cast()
	case tDotDot:
		r := &ast.Range{}
		p.rangeEnd(r)
		return r
	}
	return p.primary()
}

// cast is <type> operand.
func (p *parser) cast() ast.Expr {
	open := p.advance()
	t := p.typ()
	p.closes(tMore, open)
	return &ast.Cast{Type: t, X: p.operand(powerPrefix)}
}
