package parse

import (
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
)

func (p *parser) create() ast.Statement {
	p.advance()
	s := &ast.Create{Only: p.eat(kwOnly), Targets: p.targets()}
	s.Data = p.data()
	s.Output = p.output()
	s.Version = p.versionClause()
	s.Timeout = p.timeout()
	return s
}

func (p *parser) update() ast.Statement {
	s := &ast.Update{Upsert: p.advance().kind == kwUpsert, Only: p.eat(kwOnly)}
	s.Targets = p.targets()
	s.With = p.with()
	s.Data = p.data()
	if p.eat(kwWhere) {
		s.Where = p.expr()
	}
	s.Output = p.output()
	s.Timeout = p.timeout()
	s.Explain = p.explainClause()
	return s
}

func (p *parser) delete() ast.Statement {
	p.advance()
	p.eat(kwFrom)
	s := &ast.Delete{Only: p.eat(kwOnly), Targets: p.targets()}
	s.With = p.with()
	if p.eat(kwWhere) {
		s.Where = p.expr()
	}
	s.Output = p.output()
	s.Version = p.versionClause()
	s.Timeout = p.timeout()
	s.Explain = p.explainClause()
	return s
}

// data is the clause that says what is written; nil when there is none.
func (p *parser) data() *ast.Data {
	switch p.tok.kind {
	case kwSet:
		p.advance()
		return &ast.Data{Kind: ast.DataSet, Set: p.assigns()}
	case kwUnset:
		p.advance()
		return &ast.Data{Kind: ast.DataUnset, Unset: p.idiomList()}
	case kwContent:
		return p.dataValue(ast.DataContent)
	case kwReplace:
		return p.dataValue(ast.DataReplace)
	case kwMerge:
		return p.dataValue(ast.DataMerge)
	case kwPatch:
		return p.dataValue(ast.DataPatch)
	}
	return nil
}

func (p *parser) dataValue(k ast.DataKind) *ast.Data {
	p.advance()
	return &ast.Data{Kind: k, X: p.expr()}
}

func (p *parser) idiomList() []*ast.Idiom {
	list := []*ast.Idiom{p.plainIdiom()}
	for p.err == nil && p.eat(tComma) {
		list = append(list, p.plainIdiom())
	}
	return list
}

func (p *parser) assigns() []ast.Assign {
	var list []ast.Assign
	for {
		a := ast.Assign{Place: p.plainIdiom()}
		switch p.tok.kind {
		case tEqual:
		case tPlusEq:
			a.Op = ast.AssignAdd
		case tMinusEq:
			a.Op = ast.AssignSub
		case tExtendEq:
			a.Op = ast.AssignExtend
		default:
			p.unexpected("an assign operator")
		}
		p.advance()
		a.X = p.expr()
		list = append(list, a)
		if p.err != nil || !p.eat(tComma) {
			return list
		}
	}
}

// output is the RETURN clause of a write.
func (p *parser) output() *ast.Output {
	if !p.eat(kwReturn) {
		return nil
	}
	kind := ast.OutputDefault
	switch p.tok.kind {
	case kwNone:
		kind = ast.OutputNone
	case kwNull:
		kind = ast.OutputNull
	case kwBefore:
		kind = ast.OutputBefore
	case kwAfter:
		kind = ast.OutputAfter
	case kwDiff:
		kind = ast.OutputDiff
	default:
		return &ast.Output{Kind: ast.OutputFields, Fields: p.projections()}
	}
	p.advance()
	return &ast.Output{Kind: kind}
}

func (p *parser) insert() ast.Statement {
	p.advance()
	values := p.values
	p.values = false
	s := &ast.Insert{Relation: p.eat(kwRelation), Ignore: p.eat(kwIgnore)}
	if p.eat(kwInto) {
		if p.tok.kind == tParam {
			s.Into = p.param()
		} else {
			s.Into = &ast.Table{Name: p.ident()}
		}
	}
	switch {
	case p.tok.kind == tLParen:
		p.insertRows(s)
	case values:
		s.X = p.rowsExpr()
	default:
		s.X = p.expr()
	}
	if p.tok.kind == kwOn {
		p.advance()
		p.expect(kwDuplicate)
		p.expect(kwKey)
		p.expect(kwUpdate)
		s.OnDuplicate = p.assigns()
	}
	s.Output = p.output()
	s.Version = p.versionClause()
	s.Timeout = p.timeout()
	return s
}

// insertRows is (a, b) VALUES (1, 2), … or a value that begins with a parenthesis.
func (p *parser) insertRows(s *ast.Insert) {
	m := p.mark()
	open := p.advance()
	first, ok := p.expr().(*ast.Idiom)
	if ok && p.tok.kind == tComma || ok && p.tok.kind == tRParen && p.peek().kind == kwValues {
		s.Fields = append(s.Fields, first)
		for p.eat(tComma) && p.tok.kind != tRParen {
			s.Fields = append(s.Fields, p.plainIdiom())
		}
		p.closes(tRParen, open)
		p.insertValues(s, token{tLParen, open.start, p.prev.end})
		return
	}
	p.reset(m) // a value in parentheses, or the start of a longer expression
	s.X = p.expr()
}

func (p *parser) insertValues(s *ast.Insert, head token) {
	p.expect(kwValues)
	for p.err == nil {
		start := p.tok.start
		row := p.row()
		if p.err == nil && len(row) != len(s.Fields) {
			p.failBlocks(fmt.Sprintf("Invalid numbers of values to insert, found %d value(s) but selector requires %d value(s).", len(row), len(s.Fields)),
				Block{start, p.prev.end, ""},
				Block{head.start, head.end, fmt.Sprintf("This selector has %d field(s)", len(s.Fields))})
		}
		s.Rows = append(s.Rows, row)
		if !p.eat(tComma) {
			return
		}
	}
}

// row is ( a, b ), with at least one value.
func (p *parser) row() []ast.Expr {
	if p.tok.kind == tLParen && p.peek().kind == tRParen {
		p.advance()
		p.unexpected("an expression")
		return nil
	}
	return p.args()
}

func (p *parser) relate() ast.Statement {
	p.advance()
	s := &ast.Relate{}
	if p.isWord("OR") && p.peek().kind == kwUpdate {
		m := p.mark()
		p.advance()
		p.advance()
		if p.tok.kind == tColon { // a table called "or"
			p.reset(m)
		} else {
			s.OrUpdate = true
		}
	}
	s.Only = p.eat(kwOnly)
	s.From = p.relateEnd()
	switch p.tok.kind {
	case tArrowR:
		p.advance()
		s.Edge = p.relateEdge()
		p.expect(tArrowR)
		s.To = p.relateEnd()
	case tArrowL:
		p.advance()
		s.Edge = p.relateEdge()
		if p.tok.kind != tArrowL {
			p.unexpected("<")
		}
		p.advance()
		s.To, s.From = s.From, p.relateEnd()
	default:
		p.unexpected("a relation arrow")
	}
	s.Unique = p.eat(kwUnique)
	s.Data = p.data()
	s.Output = p.output()
	s.Timeout = p.timeout()
	return s
}

// relateEnd is one of the two ends.
func (p *parser) relateEnd() ast.Expr {
	switch {
	case p.tok.kind == tParam:
		return p.param()
	case p.tok.kind == tLBracket:
		return p.array()
	case p.tok.kind == tLParen:
		open := p.advance()
		x := p.expr()
		p.closes(tRParen, open)
		return x
	case p.tok.kind == tRecord:
		return p.recordString(p.advance())
	case startsStatement(p.tok.kind):
		return p.expr()
	case p.tok.isIdent():
		return p.singleRecord()
	}
	p.unexpected("an identifier")
	return nil
}

// singleRecord is table:key without a range.
func (p *parser) singleRecord() ast.Expr {
	table := p.ident()
	p.keyColon()
	if p.err != nil {
		return nil
	}
	if p.tok.start != p.prev.end && p.tok.kind != tEOF {
		t := p.tok
		t.end = max(t.start+1, t.end-1)
		p.fail("Unexpected whitespace after record-id table", t, "")
		return nil
	}
	return &ast.RecordID{Table: table, Key: p.key()}
}

func (p *parser) relateEdge() ast.Expr {
	switch {
	case p.tok.kind == tParam:
		return p.param()
	case p.tok.kind == tLParen:
		open := p.advance()
		x := asTable(p.expr())
		p.closes(tRParen, open)
		return x
	case p.tok.isIdent():
		if p.glued(tColon) {
			return p.singleRecord()
		}
		return &ast.Table{Name: p.ident()}
	}
	p.unexpected("an identifier")
	return nil
}
