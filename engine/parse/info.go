package parse

import "github.com/nacredb/nacre/engine/ast"

func (p *parser) info() ast.Statement {
	p.advance()
	p.expect(kwFor)
	s := &ast.Info{}
	switch p.tok.kind {
	case kwRoot:
		p.advance()
	case kwNamespace:
		p.advance()
		s.Level = ast.InfoNamespace
	case kwDatabase:
		p.advance()
		s.Level = ast.InfoDatabase
		s.Version = p.versionClause()
	case kwTable:
		p.advance()
		s.Level = ast.InfoTable
		s.Name = p.optionalName()
		s.Version = p.versionClause()
	case kwUser:
		p.advance()
		s.Level = ast.InfoUser
		s.Name = p.optionalName()
		if p.eat(kwOn) {
			s.Base = p.base()
		}
	case kwIndex:
		p.advance()
		s.Level = ast.InfoIndex
		s.Name = p.optionalName()
		table := p.onTable()
		s.Table = &table
	default:
		p.unexpected("an info target")
	}
	s.Structure = p.eat(kwStructure)
	return s
}

func (p *parser) rebuild() ast.Statement {
	p.advance()
	if p.tok.kind != kwIndex {
		p.unexpected("a rebuild statement keyword")
		return nil
	}
	p.advance()
	s := &ast.Rebuild{IfExists: p.ifExists()}
	s.Name = &ast.Name{Ident: p.ident()}
	p.expect(kwOn)
	p.eat(kwTable)
	s.Table = &ast.Name{Ident: p.ident()}
	s.Concurrently = p.eat(kwConcurrently)
	return s
}

func (p *parser) ifExists() bool {
	if !p.eat(kwIf) {
		return false
	}
	p.expect(kwExists)
	return true
}

func (p *parser) remove() ast.Statement {
	p.advance()
	s := &ast.Remove{}
	named := func(k ast.DefKind) {
		p.advance()
		s.Kind, s.IfExists = k, p.ifExists()
		s.Name = p.name()
	}
	switch p.tok.kind {
	case kwNamespace, kwDatabase, kwTable:
		p.removeData(s)
	case kwField:
		p.advance()
		s.Kind, s.IfExists = ast.DefField, p.ifExists()
		s.Field, s.Name.Expr = p.fieldName()
		s.Table = p.onTable()
	case kwIndex:
		named(ast.DefIndex)
		s.Table = p.onTable()
	case kwEvent:
		named(ast.DefEvent)
		s.Table = p.onTable()
	case kwFunction:
		p.advance()
		s.Kind, s.IfExists = ast.DefFunction, p.ifExists()
		s.Name.Ident = p.functionName()
		if p.tok.kind == tLParen {
			open := p.advance()
			p.closes(tRParen, open)
		}
	case kwParam:
		p.advance()
		s.Kind, s.IfExists = ast.DefParam, p.ifExists()
		s.Name.Ident = p.paramName(p.expectParam())
	case kwAnalyzer:
		named(ast.DefAnalyzer)
	case kwSequence:
		named(ast.DefSequence)
	case kwBucket:
		named(ast.DefBucket)
	case kwUser:
		named(ast.DefUser)
		s.Base = p.onBase()
	case kwAccess:
		named(ast.DefAccess)
		s.Base = p.onBase()
	case kwApi:
		named(ast.DefAPI)
	case kwModule:
		p.advance()
		s.Kind, s.IfExists = ast.DefModule, p.ifExists()
		p.expect(kwMod)
		p.expect(tPath)
		s.Name.Ident = p.ident()
	case kwModel:
		p.advance()
		s.Kind, s.IfExists = ast.DefModel, p.ifExists()
		p.expect(kwMl)
		p.expect(tPath)
		s.Name.Ident = joinPath(p.ident(), p.segments())
		s.Version = p.version()
	case kwConfig:
		p.advance()
		s.Kind, s.IfExists = ast.DefConfig, p.ifExists()
		s.Name.Ident = p.configKind()
	default:
		p.unexpected("a remove statement keyword")
	}
	return s
}

// removeData is REMOVE NAMESPACE | DATABASE | TABLE [AND EXPUNGE] [IF EXISTS] name.
func (p *parser) removeData(s *ast.Remove) {
	switch p.advance().kind {
	case kwNamespace:
		s.Kind = ast.DefNamespace
	case kwDatabase:
		s.Kind = ast.DefDatabase
	case kwTable:
		s.Kind = ast.DefTable
	}
	if p.tok.kind == kwAnd && p.peek().kind == kwExpunge {
		p.advance()
		p.advance()
		s.Expunge = true
	}
	s.IfExists = p.ifExists()
	s.Name = p.name()
}

// configKind is the name of a config: API, GRAPHQL or DEFAULT.
func (p *parser) configKind() string {
	switch p.tok.kind {
	case kwApi, kwGraphql, kwDefault:
		return p.advance().kind.String()
	}
	p.unexpected("a type of config")
	return ""
}
