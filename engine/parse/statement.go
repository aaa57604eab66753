package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// statements is a whole text: statements with semicolons between them.
func (p *parser) statements() []ast.Statement {
	var list []ast.Statement
	for p.err == nil {
		for p.eat(tSemi) {
		}
		if p.tok.kind == tEOF {
			break
		}
		list = append(list, p.topStatement())
		if p.err != nil || p.tok.kind == tEOF || p.eat(tSemi) {
			continue
		}
		p.notEnded()
	}
	return list
}

// notEnded fails at a token that cannot follow a statement.
func (p *parser) notEnded() {
	switch p.tok.kind {
	case kwAccess, kwAlter, kwBegin, kwBreak, kwCancel, kwCommit, kwContinue, kwCreate, kwDefine, kwDelete, kwFor,
		kwIf, kwInfo, kwInsert, kwKill, kwLet, kwLive, kwOption, kwRebuild, kwRelate, kwRemove, kwReturn, kwSelect,
		kwShow, kwSleep, kwThrow, kwUpdate, kwUpsert, kwUse:
		p.fail("Unexpected token `"+p.tok.kind.String()+"`, expected the query to end", p.tok,
			"maybe forgot a semicolon after the previous statement?")
	default:
		p.unexpected("Eof")
	}
}

// topStatement is a statement of a text: some may stand only here.
func (p *parser) topStatement() ast.Statement {
	switch p.tok.kind {
	case kwBegin:
		p.transaction()
		return &ast.Begin{}
	case kwCommit:
		p.transaction()
		return &ast.Commit{}
	case kwCancel:
		p.transaction()
		return &ast.Cancel{}
	case kwUse:
		return p.use()
	case kwOption:
		return p.optionStatement()
	case kwLive:
		return p.live()
	case kwKill:
		return p.kill()
	case kwShow:
		return p.show()
	case kwAccess:
		return p.access()
	case kwInsert:
		p.values = p.opt.Values
	}
	return p.blockStatement()
}

func (p *parser) transaction() {
	p.advance()
	p.eat(kwTransaction)
}

// bareAssignment is $a = x without LET: an error that says what to write.
func (p *parser) bareAssignment() ast.Statement {
	start, name := p.tok, p.text(p.tok)
	p.advance()
	p.advance()
	p.expr()
	p.fail("Parameter declarations without `let` are deprecated.", token{tParam, start.start, p.prev.end},
		"Replace with `let "+name+" = ...` to keep the previous behavior.")
	return nil
}

// statement is one that may also stand inside an expression; the current token is its keyword.
func (p *parser) statement() ast.Statement {
	switch p.tok.kind {
	case kwSelect:
		return p.selectStatement()
	case kwCreate:
		return p.create()
	case kwInsert:
		return p.insert()
	case kwUpdate, kwUpsert:
		return p.update()
	case kwDelete:
		return p.delete()
	case kwRelate:
		return p.relate()
	case kwLet:
		return p.let()
	case kwReturn:
		return p.returnStatement()
	case kwIf:
		return p.ifStatement()
	case kwFor:
		return p.forStatement()
	case kwThrow:
		p.advance()
		return &ast.Throw{X: p.expr()}
	case kwBreak:
		p.advance()
		return &ast.Break{}
	case kwContinue:
		p.advance()
		return &ast.Continue{}
	case kwSleep:
		p.advance()
		return &ast.Sleep{Duration: p.durationToken().Duration()}
	case kwExplain:
		return p.explain()
	case kwInfo:
		return p.info()
	case kwRebuild:
		return p.rebuild()
	case kwDefine:
		return p.define()
	case kwRemove:
		return p.remove()
	case kwAlter:
		return p.alter()
	}
	p.unexpected("an expression")
	return nil
}

func (p *parser) let() ast.Statement {
	p.advance()
	s := &ast.Let{Name: p.paramName(p.expectParam())}
	if p.eat(tColon) {
		s.Type = p.typ()
	}
	p.expect(tEqual)
	s.X = p.expr()
	return s
}

func (p *parser) returnStatement() ast.Statement {
	p.advance()
	s := &ast.Return{X: p.expr()}
	s.Fetch = p.fetch()
	return s
}

// ifStatement has two forms: IF c { } ELSE { } and IF c THEN x ELSE y END.
func (p *parser) ifStatement() ast.Statement {
	p.advance()
	s := &ast.If{}
	cond := p.expr()
	switch p.tok.kind {
	case tLBrace:
		s.Bracketed = true
		p.ifBlocks(s, cond)
	case kwThen:
		p.advance()
		p.ifThen(s, cond)
	default:
		p.unexpected("THEN or '{'")
	}
	return s
}

func (p *parser) ifBlocks(s *ast.If, cond ast.Expr) {
	for p.err == nil {
		s.Branches = append(s.Branches, ast.IfBranch{Cond: cond, Then: p.block()})
		if !p.eat(kwElse) {
			return
		}
		if !p.eat(kwIf) {
			s.Else = p.block()
			return
		}
		cond = p.expr()
	}
}

func (p *parser) ifThen(s *ast.If, cond ast.Expr) {
	for p.err == nil {
		s.Branches = append(s.Branches, ast.IfBranch{Cond: cond, Then: p.expr()})
		p.eat(tSemi)
		switch p.tok.kind {
		case kwEnd:
			p.advance()
			return
		case kwElse:
			p.advance()
		default:
			p.unexpected("if to end")
			return
		}
		if !p.eat(kwIf) {
			s.Else = p.expr()
			p.eat(tSemi)
			if p.tok.kind != kwEnd {
				p.unexpected("END")
				return
			}
			p.advance()
			return
		}
		cond = p.expr()
		p.expect(kwThen)
	}
}

func (p *parser) forStatement() ast.Statement {
	p.advance()
	s := &ast.For{Name: p.paramName(p.expectParam())}
	p.expect(kwIn)
	s.In = p.expr()
	s.Body = p.block()
	return s
}

func (p *parser) explain() ast.Statement {
	p.advance()
	s := &ast.ExplainStmt{}
	if p.isWord("ANALYZE") {
		p.advance()
		s.Analyze = true
	}
	if p.isWord("FORMAT") {
		p.advance()
		switch {
		case p.isWord("TEXT"):
			p.advance()
		case p.isWord("JSON"):
			p.advance()
			s.JSON = true
		default:
			p.unexpected("TEXT or JSON")
		}
	}
	s.Stmt = p.blockStatement()
	return s
}

func (p *parser) use() ast.Statement {
	p.advance()
	s := &ast.Use{}
	switch p.tok.kind {
	case kwDefault:
		p.advance()
		s.Default = true
		return s
	case kwNamespace:
		p.advance()
		s.NS = p.optionalName()
		if p.tok.kind != kwDatabase {
			return s
		}
	case kwDatabase:
	default:
		p.unexpected("either DATABASE or NAMESPACE")
		return s
	}
	p.advance()
	s.DB = p.optionalName()
	return s
}

func (p *parser) optionStatement() ast.Statement {
	p.advance()
	s := &ast.Option{Name: p.ident(), On: true}
	if p.eat(tEqual) {
		switch p.tok.kind {
		case kwTrue:
		case kwFalse:
			s.On = false
		default:
			p.unexpected("either 'true' or 'false'")
		}
		p.advance()
	}
	return s
}

func (p *parser) live() ast.Statement {
	p.advance()
	p.expect(kwSelect)
	s := &ast.Live{}
	if p.eat(kwDiff) {
		s.Diff = true
	} else {
		s.Projections = p.projections()
	}
	p.expect(kwFrom)
	s.From = p.target()
	if p.eat(kwWhere) {
		s.Where = p.expr()
	}
	s.Fetch = p.fetch()
	return s
}

func (p *parser) kill() ast.Statement {
	p.advance()
	switch p.tok.kind {
	case tUUID:
		return &ast.Kill{ID: p.literal(p.uuid(p.advance()))}
	case tParam:
		return &ast.Kill{ID: p.param()}
	}
	p.unexpected("a UUID or a parameter")
	return nil
}

func (p *parser) show() ast.Statement {
	p.advance()
	p.expect(kwChanges)
	p.expect(kwFor)
	s := &ast.Show{}
	switch p.tok.kind {
	case kwTable:
		p.advance()
		s.Table = p.ident()
	case kwDatabase:
		p.advance()
	default:
		p.unexpected("`TABLE` or `DATABASE`")
	}
	p.expect(kwSince)
	switch p.tok.kind {
	case tDigits:
		s.Since = p.literal(value.Int(p.integer()))
	case tDatetime:
		s.Since = p.literal(p.datetime(p.advance()))
	default:
		p.unexpected("a version stamp or a date-time")
	}
	if p.eat(kwLimit) {
		if p.tok.kind == tMinus {
			p.fail("Unexpected token `-`", p.tok, "Only positive integers allowed here")
		}
		s.Limit = p.literal(value.Int(p.unsigned(1<<32 - 1)))
	}
	return s
}

// isWord reports whether the current token is the word w (upper case), which need not be a keyword.
func (p *parser) isWord(w string) bool {
	return p.tok.isIdent() && equalFold(p.text(p.tok), w)
}

// equalFold reports whether s is upper, in any case.
func equalFold(s, upper string) bool {
	if len(s) != len(upper) {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c-'a' < 26 {
			c -= 32
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}
