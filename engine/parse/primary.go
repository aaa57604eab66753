package parse

import (
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// primary parses a value, a path, a block or a statement used as a value, with what is attached to it.
func (p *parser) primary() ast.Expr {
	switch p.tok.kind {
	case kwSleep:
		if p.peek().kind == tLParen {
			return p.attach(p.path())
		}
		return p.embedded()
	case tArrowR, tArrowL, tArrowBoth, tArrowRef:
		return p.suffix(&ast.Idiom{})
	case tAt:
		p.advance()
		return p.suffix(&ast.Idiom{Parts: []ast.Part{&ast.PartDoc{}}})
	}
	if startsStatement(p.tok.kind) {
		return p.embedded()
	}
	x := p.atom()
	if p.err != nil {
		return nil
	}
	return p.attach(x)
}

// startsStatement reports whether k starts a statement that may stand inside of an expression. SLEEP
// may be a function, too.
func startsStatement(k kind) bool {
	switch k {
	case kwSelect, kwCreate, kwUpdate, kwUpsert, kwDelete, kwRelate, kwInsert, kwDefine, kwRemove, kwRebuild,
		kwAlter, kwInfo, kwIf, kwFor, kwLet, kwReturn, kwThrow, kwBreak, kwContinue, kwExplain:
		return true
	}
	return false
}

// embedded is a statement that stands where an expression may, with the path that follows it: the
// last clause of SELECT … ORDER BY a->b ends before the arrow.
func (p *parser) embedded() ast.Expr {
	return p.attach(&ast.Subquery{Stmt: p.statement()})
}

// attach adds the path that follows x. A path in parentheses is a value that the other one starts from, (a.b)[0],
// unless that is all the same: where it goes on with a field.
func (p *parser) attach(x ast.Expr) ast.Expr {
	if !p.atPart() {
		return x
	}
	from, ok := x.(*ast.Idiom)
	if ok && len(from.Parts) == 1 && !from.Traverses() {
		return p.suffix(from)
	}
	path := &ast.Idiom{Parts: []ast.Part{&ast.PartStart{X: x}}}
	whole := p.suffix(path)
	if !ok || from.Traverses() || from.RepeatsRest() || p.err != nil {
		return whole
	}
	if _, field := path.Parts[1].(*ast.PartField); field {
		from.Parts = append(from.Parts, path.Parts[1:]...)
		return from
	}
	return whole
}

// atom parses an operand without suffixes.
func (p *parser) atom() ast.Expr {
	switch t := p.tok; t.kind {
	case tString:
		return p.literal(value.Str(p.stringText(p.advance())))
	case tDigits:
		return p.literal(p.numeric())
	case tNaN, tInfinity:
		p.advance()
		return p.literal(value.Float(namedFloat(t.kind)))
	case tDatetime:
		return p.literal(p.datetime(p.advance()))
	case tUUID:
		return p.literal(p.uuid(p.advance()))
	case tBytes:
		return p.literal(p.bytes(p.advance()))
	case tFile:
		if p.opt.NoFiles {
			p.unexpected(filesNeeded)
			return p.literal(value.None)
		}
		return p.literal(p.file(p.advance()))
	case tRecord:
		return p.recordString(p.advance())
	case tParam:
		return p.param()
	case tSlash:
		return p.regex()
	case tLBracket:
		return p.array()
	case tLBrace:
		return p.braces()
	case tLParen:
		return p.parens()
	case tPipe, tOrOr:
		return p.barred()
	case kwNone:
		p.advance()
		return p.literal(value.None)
	case kwNull:
		p.advance()
		return p.literal(value.Null)
	case kwTrue, kwFalse:
		p.advance()
		return p.literal(value.Bool(t.kind == kwTrue))
	case kwFunction:
		return p.script()
	case kwFn, kwMl, kwMod, kwSilo:
		if p.peek().kind == tPath {
			return p.namespaced()
		}
	}
	if !p.tok.isIdent() {
		p.unexpected("an expression")
		return nil
	}
	return p.named()
}

func (p *parser) literal(v value.Value) ast.Expr {
	if p.err != nil {
		return nil
	}
	return p.arena.literal(v)
}

func (p *parser) param() *ast.Param { return &ast.Param{Name: p.paramName(p.advance())} }

// named parses an expression that starts with an identifier: a function, constant, record id or field.
func (p *parser) named() ast.Expr {
	switch next := p.peek(); next.kind {
	case tPath:
		return p.path()
	case tColon:
		if next.start == p.tok.end {
			return p.recordID()
		}
		if p.colonMisplaced() {
			return nil
		}
	case tLParen:
		return p.path()
	}
	return p.arena.name(p.identName(p.advance()))
}

// colonMisplaced fails where a record id has a blank before its colon.
func (p *parser) colonMisplaced() bool {
	p.fail("Unexpected whitespace", p.tok, "No whitespace allowed after this token")
	return true
}

func (p *parser) array() ast.Expr {
	open := p.advance()
	base := len(p.arena.exprs)
	for p.err == nil && p.tok.kind != tRBracket {
		x := p.expr()
		p.arena.exprs = append(p.arena.exprs, x)
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBracket, open)
	elems := p.arena.takeExprs(base)
	return &ast.Array{Elems: elems, Const: constant(elems)}
}

// braces is {…}: an object, a set or a block.
func (p *parser) braces() ast.Expr {
	open := p.advance()
	switch p.tok.kind {
	case tRBrace:
		p.advance()
		return &ast.Object{}
	case tComma:
		p.advance()
		p.closes(tRBrace, open)
		return &ast.Set{}
	case tSemi:
		return p.blockRest(open, nil)
	case tString, tDigits:
		if p.isLiteralKey() {
			return p.objectRest(open)
		}
	default:
		if p.tok.isIdent() && p.peek().kind == tColon {
			return p.objectRest(open)
		}
	}
	first := p.blockStatement()
	if p.err != nil {
		return nil
	}
	if x, ok := first.(*ast.ExprStmt); ok && p.tok.kind == tComma {
		p.advance()
		return p.setRest(open, x.X)
	}
	return p.blockRest(open, first)
}

// isLiteralKey reports whether a string or number is followed by the colon of an object.
func (p *parser) isLiteralKey() bool {
	l := lexer{src: p.src, pos: p.keyEnd()}
	t, err := l.next()
	return err == nil && t.kind == tColon
}

// keyEnd is the end of the string or number that the current token starts.
func (p *parser) keyEnd() int {
	if p.tok.kind == tString {
		return p.tok.end
	}
	i := p.tok.end
	if p.lex.at(i) == '.' && isDigit(p.lex.at(i+1)) {
		i = p.digitsEnd(i + 1)
	}
	for _, suffix := range []string{"f", "dec"} {
		if strings.HasPrefix(p.src[i:], suffix) {
			return i + len(suffix)
		}
	}
	return i
}

func (p *parser) objectRest(open token) ast.Expr {
	base := len(p.arena.fields)
	for p.err == nil && p.tok.kind != tRBrace {
		key := p.objectKey()
		p.expect(tColon)
		if p.err != nil {
			return nil
		}
		x := p.expr()
		p.arena.fields = append(p.arena.fields, ast.ObjectField{Key: key, Value: x})
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBrace, open)
	fields := p.arena.takeFields(base)
	if g, ok := geometry(fields); ok && p.err == nil {
		return g
	}
	return &ast.Object{Fields: fields}
}

// objectKey is a key: a word, a string or digits.
func (p *parser) objectKey() string {
	switch t := p.tok; {
	case t.isIdent():
		return p.identName(p.advance())
	case t.kind == tString:
		return p.stringText(p.advance())
	case t.kind == tDigits:
		end, form := p.numberEnd(t)
		if form == formDuration {
			p.numberEnds(t, end)
		}
		p.resume(end)
		return p.src[t.start:end]
	}
	p.unexpected("an object key")
	return ""
}

func (p *parser) setRest(open token, first ast.Expr) ast.Expr {
	s := &ast.Set{Elems: []ast.Expr{first}}
	for p.err == nil && p.tok.kind != tRBrace {
		s.Elems = append(s.Elems, p.expr())
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRBrace, open)
	return s
}

// block is { stmt; stmt }.
func (p *parser) block() *ast.Block {
	open := p.expect(tLBrace)
	if p.err != nil {
		return nil
	}
	return p.blockRest(open, nil)
}

// blockRest parses the statements after first up to the brace that closes open. They
// are separated by semicolons.
func (p *parser) blockRest(open token, first ast.Statement) *ast.Block {
	b := &ast.Block{}
	if first != nil {
		b.Stmts = append(b.Stmts, first)
	}
	for p.err == nil {
		for p.eat(tSemi) {
		}
		if p.tok.kind == tRBrace {
			break
		}
		if n := len(b.Stmts); p.prev.kind != tSemi && (n > 1 || n == 1 && first == nil) {
			break // only the first of what could have been a set may lack its semicolon
		}
		b.Stmts = append(b.Stmts, p.blockStatement())
	}
	p.closes(tRBrace, open)
	return b
}

// blockStatement is a statement inside of a block.
func (p *parser) blockStatement() ast.Statement {
	if p.tok.kind == tParam && p.peek().kind == tEqual {
		return p.bareAssignment()
	}
	bare := p.tok.kind > kwFirst
	x := p.expr()
	if q, ok := x.(*ast.Subquery); ok && bare {
		return q.Stmt
	}
	return &ast.ExprStmt{X: x}
}

// parens is (…): a statement, a point or an expression.
func (p *parser) parens() ast.Expr {
	open := p.advance()
	switch p.tok.kind {
	case tDigits, tMinus, tPlus:
		if x := p.point(open); x != nil || p.err != nil {
			return x
		}
	}
	start := p.tok
	x := p.expr()
	if p.err == nil && p.tok.kind != tRParen {
		p.parensBroken(open, start)
		return nil
	}
	p.closes(tRParen, open)
	// A path that is called in parentheses is a value; without them it would be a method call.
	if id, ok := x.(*ast.Idiom); ok && p.tok.kind == tLParen {
		return p.callOf(id)
	}
	return x
}

// parensBroken fails at a token that should have been the closing parenthesis.
func (p *parser) parensBroken(open, start token) {
	switch start.kind {
	case kwLive, kwShow, kwKill, kwUse, kwBegin, kwCommit, kwCancel, kwOption:
		if p.prev == start {
			p.failBlocks("Unexpected token `"+start.kind.String()+"` expected `)`", Block{p.tok.start, p.tok.end, ""},
				Block{start.start, start.end, "This is a reserved keyword here and can't be an identifier"})
			return
		}
	}
	p.notClosed(tRParen, open)
}

// point tries (number, number); nil when it is something else.
func (p *parser) point(open token) ast.Expr {
	m := p.mark()
	neg := p.sign()
	if p.tok.kind != tDigits || p.pointNumberEnd() < 0 {
		p.reset(m)
		return nil
	}
	x := p.pointNumber(neg)
	if p.tok.kind != tComma {
		p.reset(m)
		return nil
	}
	p.advance()
	if k := p.tok.kind; (k == tMinus || k == tPlus) && p.peek().kind != tDigits {
		p.digitExpected(p.tok.start, p.tok.end)
	}
	neg = p.sign()
	if p.tok.kind != tDigits {
		p.unexpected("a floating point number")
		return nil
	}
	if p.pointNumberEnd() < 0 {
		i := p.mantissaEnd()
		p.fail("Invalid token, found invalid character `"+p.src[i:i+1]+"` after number token",
			token{tDigits, p.tok.start, i + 1}, "")
		return nil
	}
	y := p.pointNumber(neg)
	p.closes(tRParen, open)
	return p.literal(value.GeometryOf(&value.Geometry{Kind: value.GeometryPoint, Point: value.Point{X: x, Y: y}}))
}

// sign passes a sign before digits, and reports whether it is a minus.
func (p *parser) sign() bool {
	neg := p.tok.kind == tMinus
	if (neg || p.tok.kind == tPlus) && p.peek().kind == tDigits {
		p.advance()
	}
	return neg
}

// pointNumber reads a number whose end pointNumberEnd found.
func (p *parser) pointNumber(neg bool) float64 { return floatOf(p.numericSigned(neg)) }

// pointNumberEnd is the end of the number at the current token if it is an int or float, else -1.
func (p *parser) pointNumberEnd() int {
	i := p.mantissaEnd()
	if p.lex.at(i) == 'f' {
		i++
	}
	if p.lex.at(i)|0x20-'a' < 26 || p.lex.at(i) >= utf8.RuneSelf {
		return -1
	}
	return i
}

// mantissaEnd is the end of the digits, fraction and exponent at the current token.
func (p *parser) mantissaEnd() int {
	i := p.tok.end
	if p.lex.at(i) == '.' && isDigit(p.lex.at(i+1)) {
		i = p.digitsEnd(i + 1)
	}
	if p.lex.at(i)|0x20 == 'e' {
		k := i + 1
		if c := p.lex.at(k); c == '-' || c == '+' {
			k++
		}
		if isDigit(p.lex.at(k)) {
			i = p.digitsEnd(k)
		}
	}
	return i
}

// barred is a mock |t:1| or a closure |$a| ….
func (p *parser) barred() ast.Expr {
	open := p.advance()
	if open.kind == tPipe {
		if p.tok.isIdent() {
			return p.mock(open)
		}
		if p.tok.kind != tParam {
			p.unexpected("an identifier")
			return nil
		}
	}
	c := &ast.Closure{}
	defer func() { c.Size = p.prev.end - open.start }()
	if open.kind == tPipe {
		c.Params = p.closureParams(open)
	}
	if p.eat(tArrowR) {
		c.Returns = p.typ()
		c.Body = p.block()
		return c
	}
	c.Body = p.expr()
	return c
}

func (p *parser) closureParams(open token) []ast.FuncParam {
	var list []ast.FuncParam
	for p.err == nil && p.tok.kind != tPipe {
		f := ast.FuncParam{Name: p.paramName(p.expectParam())}
		if p.eat(tColon) {
			f.Type = p.paramType()
		}
		list = append(list, f)
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tPipe, open)
	return list
}

// expectParam passes a parameter, or fails.
func (p *parser) expectParam() token {
	if p.tok.kind != tParam {
		p.unexpected("a parameter")
		return p.tok
	}
	return p.advance()
}

// script is function(args) { js }: the source between the braces is kept as it is.
func (p *parser) script() ast.Expr {
	p.advance()
	s := &ast.Script{Args: p.args()}
	if p.err != nil {
		return nil
	}
	if p.tok.kind != tLBrace {
		p.unexpected("{")
		return nil
	}
	open := p.tok
	end := scriptEnd(p.src, open.end)
	if end < 0 {
		p.open = true
		p.failBlocks("Invalid JavaScript function, encountered unexpected eof", Block{open.start, len(p.src), ""})
		return nil
	}
	s.Source = p.src[open.end:end]
	p.resume(end + 1)
	return s
}

// scriptEnd finds the brace that closes a script which starts at i, or -1: strings, templates and
// comments of the script may hold braces of their own.
func scriptEnd(src string, i int) int {
	for depth := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return i
			}
		case '\'', '"', '`':
			for i++; i < len(src) && src[i] != c; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		case '/':
			i = skipScriptComment(src, i)
		}
	}
	return -1
}

func skipScriptComment(src string, i int) int {
	if i+1 >= len(src) {
		return i
	}
	switch src[i+1] {
	case '/':
		for i < len(src) && src[i] != '\n' {
			i++
		}
	case '*':
		for i += 2; i+1 < len(src); i++ {
			if src[i] == '*' && src[i+1] == '/' {
				return i + 1
			}
		}
	}
	return i
}

// constant is the array of elems where all of them are constants, else nil.
func constant(elems []ast.Expr) *value.Value {
	for _, x := range elems {
		switch x := x.(type) {
		case *ast.Literal:
		case *ast.Array:
			if x.Const == nil {
				return nil
			}
		default:
			return nil
		}
	}
	vs := make([]value.Value, len(elems))
	for i, x := range elems {
		if lit, ok := x.(*ast.Literal); ok {
			vs[i] = lit.Value
		} else {
			vs[i] = *x.(*ast.Array).Const
		}
	}
	v := value.ArrayOf(vs)
	return &v
}
