package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

func (p *parser) alter() ast.Statement {
	p.advance()
	s := &ast.Alter{}
	switch p.tok.kind {
	case kwSystem:
		p.advance()
		s.System = true
		p.alterSystem(s)
	case kwNamespace:
		p.advance()
		s.Kind = ast.DefNamespace
		p.alterStore(s)
	case kwDatabase:
		p.advance()
		s.Kind = ast.DefDatabase
		p.alterStore(s)
	case kwTable:
		p.alterNamed(s, ast.DefTable)
		p.alterClauses(s, p.alterTableClause)
	case kwField:
		p.advance()
		s.Kind, s.IfExists = ast.DefField, p.ifExists()
		s.Field = p.basicIdiom()
		s.Table = p.onIdent()
		p.alterClauses(s, p.alterFieldClause)
	case kwIndex:
		p.alterNamed(s, ast.DefIndex)
		s.Table = p.onIdent()
		p.alterClauses(s, p.alterIndexClause)
		if len(s.Clauses) == 0 {
			p.unexpected("`PREPARE`, `DROP` or `COMMENT`")
		}
	case kwSequence:
		p.alterNamed(s, ast.DefSequence)
		p.alterClauses(s, p.alterSequenceClause)
	case kwUser:
		p.alterNamed(s, ast.DefUser)
		s.Base = p.onBase()
		p.alterClauses(s, p.alterUserClause)
	case kwAccess:
		p.alterNamed(s, ast.DefAccess)
		s.Base = p.onBase()
		p.alterClauses(s, p.alterAccessClause)
	case kwEvent:
		p.alterNamed(s, ast.DefEvent)
		s.Table = p.onIdent()
		p.alterClauses(s, p.alterEventClause)
	case kwAnalyzer:
		p.alterNamed(s, ast.DefAnalyzer)
		p.alterClauses(s, p.alterAnalyzerClause)
	case kwBucket:
		p.alterNamed(s, ast.DefBucket)
		p.alterClauses(s, p.alterBucketClause)
	case kwFunction, kwParam, kwApi, kwConfig, kwModel:
		p.alterPrefixed(s)
	default:
		p.unexpected("a alter statement keyword") // the grammar is upstream's
	}
	return s
}

// alterPrefixed alters what has a name of its own form.
func (p *parser) alterPrefixed(s *ast.Alter) {
	k := p.advance().kind
	s.IfExists = p.ifExists()
	switch k {
	case kwFunction:
		s.Kind, s.Name.Ident = ast.DefFunction, p.functionName()
		if p.tok.kind == tLParen || p.tok.kind == tLBrace {
			s.Clauses = append(s.Clauses, p.alterBody())
		}
		p.alterClauses(s, func() (ast.AlterClause, bool) { return p.alterShared(&ast.DefineFunction{}) })
	case kwParam:
		s.Kind, s.Name.Ident = ast.DefParam, p.paramName(p.expectParam())
		p.alterClauses(s, p.alterParamClause)
	case kwModel:
		s.Kind = ast.DefModel
		p.expect(kwMl)
		p.expect(tPath)
		s.Name.Ident = joinPath(p.ident(), p.segments())
		s.Version = p.version()
		p.alterClauses(s, func() (ast.AlterClause, bool) { return p.alterShared(&ast.DefineModel{}) })
	case kwApi:
		s.Kind, s.Name.Expr = ast.DefAPI, p.expr()
		p.alterClauses(s, p.alterAPIClause)
	case kwConfig:
		s.Kind, s.Name.Ident = ast.DefConfig, p.configKind()
		p.alterClauses(s, func() (ast.AlterClause, bool) { return p.alterConfigClause(s.Name.Ident) })
	}
}

// alterBody is the new body of a function, or its new parameters, result and body.
func (p *parser) alterBody() ast.AlterClause {
	def, name := &ast.DefineFunction{}, "BODY"
	if p.tok.kind == tLParen {
		name = "SIGNATURE"
		def.Params = p.functionParams()
		if p.eat(tArrowR) {
			def.Returns = p.typ()
		}
	}
	def.Body = p.block()
	return ast.AlterClause{Name: name, Def: def}
}

func (p *parser) alterNamed(s *ast.Alter, k ast.DefKind) {
	p.advance()
	s.Kind, s.IfExists = k, p.ifExists()
	s.Name.Ident = p.ident()
}

// onIdent is ON [TABLE] name, where the name is no expression.
func (p *parser) onIdent() ast.Name {
	p.expect(kwOn)
	p.eat(kwTable)
	return ast.Name{Ident: p.ident()}
}

// alterClauses collects what clause parses, as long as it finds something.
func (p *parser) alterClauses(s *ast.Alter, clause func() (ast.AlterClause, bool)) {
	for p.err == nil {
		c, ok := clause()
		if !ok {
			return
		}
		s.Clauses = append(s.Clauses, c)
	}
}

func (p *parser) alterSystem(s *ast.Alter) {
	p.alterClauses(s, func() (ast.AlterClause, bool) {
		switch {
		case p.isWord("QUERY_TIMEOUT"):
			p.advance()
			return ast.AlterClause{Name: "QUERY_TIMEOUT", X: p.expr()}, true
		case p.tok.kind == kwCompact:
			p.advance()
			return ast.AlterClause{Name: "COMPACT"}, true
		case p.tok.kind == kwDrop:
			p.advance()
			if !p.isWord("QUERY_TIMEOUT") {
				p.unexpected("`QUERY_TIMEOUT`")
			}
			p.advance()
			return ast.AlterClause{Name: "QUERY_TIMEOUT", Drop: true}, true
		}
		return ast.AlterClause{}, false
	})
	if len(s.Clauses) == 0 {
		if p.tok.isIdent() {
			p.unexpected("`QUERY_TIMEOUT`")
		}
		p.unexpected("`COMPACT`, `DROP` or `QUERY_TIMEOUT`")
	}
}

// alterStore is ALTER NAMESPACE | DATABASE COMPACT, of the session's own.
func (p *parser) alterStore(s *ast.Alter) {
	if p.tok.kind != kwCompact {
		p.unexpected("`COMPACT`")
		return
	}
	p.advance()
	s.Clauses = []ast.AlterClause{{Name: "COMPACT"}}
}

// drop parses a name after DROP, or fails with the list of possible names.
func (p *parser) drop(want string, kinds ...kind) (ast.AlterClause, bool) {
	p.advance()
	for _, k := range kinds {
		if p.tok.kind == k {
			p.advance()
			return ast.AlterClause{Name: k.String(), Drop: true}, true
		}
	}
	p.unexpected(want)
	return ast.AlterClause{}, false
}

// alterComment is COMMENT and a literal string.
func (p *parser) alterComment() (ast.AlterClause, bool) {
	p.advance()
	return ast.AlterClause{Name: "COMMENT", X: p.literal(value.Str(p.strand()))}, true
}

func (p *parser) alterTableClause() (ast.AlterClause, bool) {
	def := &ast.DefineTable{}
	c := ast.AlterClause{Name: p.tok.kind.String(), Def: def}
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`COMMENT` or `CHANGEFEED`", kwComment, kwChangefeed)
	case kwComment:
		return p.alterComment()
	case kwCompact:
		p.advance()
		return ast.AlterClause{Name: "COMPACT"}, true
	case kwSchemafull, kwSchemaless:
		def.Schemafull = p.advance().kind == kwSchemafull
		def.SchemaGiven = true
	case kwType:
		p.tableKind(def)
	case kwPermissions:
		def.Permissions = p.permissions(true)
	case kwChangefeed:
		p.advance()
		def.ChangeFeed = p.changeFeed()
	default:
		return c, false
	}
	return c, true
}

func (p *parser) alterFieldClause() (ast.AlterClause, bool) {
	def := &ast.DefineField{}
	c := ast.AlterClause{Name: p.tok.kind.String(), Def: def}
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`FLEXIBLE`, `TYPE`, `READONLY`, `VALUE`, `ASSERT`, `DEFAULT`, `COMMENT`, or `REFERENCE`",
			kwFlexible, kwInline, kwType, kwReadonly, kwValue, kwAssert, kwDefault, kwComment, kwReference, kwComputed)
	case kwComment:
		return p.alterComment()
	case kwFlexible:
		p.advance()
		def.Flexible = true
	case kwInline:
		p.advance()
		def.Inline = true
	case kwType:
		p.fieldType(def)
	case kwReadonly:
		p.advance()
		def.Readonly = true
	case kwValue:
		p.advance()
		def.Value = p.expr()
		c.X = def.Value
	case kwAssert:
		p.advance()
		def.Assert = p.expr()
		c.X = def.Assert
	case kwComputed:
		p.advance()
		def.Computed = p.expr()
		c.X = def.Computed
	case kwDefault:
		p.advance()
		def.DefaultAlways = p.eat(kwAlways)
		def.Default = p.expr()
		c.X = def.Default
	case kwPermissions:
		def.Permissions = p.permissionsElse(false, ast.Permission{}) // what is not said is NONE here
	case kwReference:
		p.advance()
		def.Reference = p.reference()
	default:
		return c, false
	}
	return c, true
}

func (p *parser) alterIndexClause() (ast.AlterClause, bool) {
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`COMMENT`", kwComment)
	case kwComment:
		return p.alterComment()
	case kwPrepare:
		p.advance()
		p.expect(kwRemove)
		return ast.AlterClause{Name: "PREPARE REMOVE"}, true
	}
	return ast.AlterClause{}, false
}

func (p *parser) alterSequenceClause() (ast.AlterClause, bool) {
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`TIMEOUT`", kwTimeout)
	case kwTimeout:
		p.advance()
		return ast.AlterClause{Name: "TIMEOUT", X: p.expr()}, true
	}
	return ast.AlterClause{}, false
}
