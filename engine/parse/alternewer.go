package parse

import "github.com/nacredb/nacre/engine/ast"

// alterNewer parses the kinds of ALTER that came after 3.0.2: clauses as in DEFINE, and DROP of each.
// It is false where the current token is no such kind.
func (p *parser) alterNewer(s *ast.Alter) bool {
	switch p.tok.kind {
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
	case kwFunction:
		p.advance()
		s.Kind, s.IfExists = ast.DefFunction, p.ifExists()
		s.Name.Ident = p.functionName()
		p.alterClauses(s, func() (ast.AlterClause, bool) { return p.alterShared(&ast.DefineFunction{}) })
	case kwParam:
		p.advance()
		s.Kind, s.IfExists = ast.DefParam, p.ifExists()
		s.Name.Ident = p.paramName(p.expectParam())
		p.alterClauses(s, p.alterParamClause)
	case kwApi:
		p.advance()
		s.Kind, s.IfExists = ast.DefAPI, p.ifExists()
		s.Name.Expr = p.expr()
		p.alterClauses(s, func() (ast.AlterClause, bool) { return p.alterShared(nil) })
	default:
		return false
	}
	return true
}

// alterShared is COMMENT x, DROP COMMENT and, where def can have them, PERMISSIONS.
func (p *parser) alterShared(def ast.Statement) (ast.AlterClause, bool) {
	switch p.tok.kind {
	case kwComment:
		return p.alterComment()
	case kwDrop:
		return p.drop("`COMMENT`", kwComment)
	case kwPermissions:
		switch d := def.(type) {
		case *ast.DefineFunction:
			d.Permission = p.onePermission()
		case *ast.DefineParam:
			d.Permission = p.onePermission()
		case *ast.DefineBucket:
			d.Permission = p.onePermission()
		default:
			return ast.AlterClause{}, false
		}
		return ast.AlterClause{Name: "PERMISSIONS", Def: def}, true
	}
	return ast.AlterClause{}, false
}

func (p *parser) alterParamClause() (ast.AlterClause, bool) {
	if p.eat(kwValue) {
		return ast.AlterClause{Name: "VALUE", X: p.expr()}, true
	}
	return p.alterShared(&ast.DefineParam{})
}

func (p *parser) alterBucketClause() (ast.AlterClause, bool) {
	switch p.tok.kind {
	case kwBackend:
		p.advance()
		return ast.AlterClause{Name: "BACKEND", X: p.expr()}, true
	case kwReadonly:
		p.advance()
		return ast.AlterClause{Name: "READONLY"}, true
	case kwDrop:
		return p.drop("`BACKEND`, `READONLY` or `COMMENT`", kwBackend, kwReadonly, kwComment)
	}
	return p.alterShared(&ast.DefineBucket{})
}

func (p *parser) alterUserClause() (ast.AlterClause, bool) {
	def := &ast.DefineUser{}
	c := ast.AlterClause{Name: p.tok.kind.String(), Def: def}
	if p.tok.kind == kwDrop {
		return p.drop("`ROLES`, `DURATION` or `COMMENT`", kwRoles, kwDuration, kwComment)
	}
	if !p.userClause(def) {
		return c, false
	}
	switch {
	case def.Comment != nil:
		return ast.AlterClause{Name: "COMMENT", X: def.Comment}, true
	case def.Password != nil:
		c.X = def.Password
	}
	return c, true
}

func (p *parser) alterAccessClause() (ast.AlterClause, bool) {
	def := &ast.DefineAccess{}
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`AUTHENTICATE`, `DURATION` or `COMMENT`", kwAuthenticate, kwDuration, kwComment)
	case kwComment:
		return p.alterComment()
	case kwAuthenticate:
		p.advance()
		return ast.AlterClause{Name: "AUTHENTICATE", X: p.expr()}, true
	case kwDuration:
		p.accessClause(def)
		return ast.AlterClause{Name: "DURATION", Def: def}, true
	}
	return ast.AlterClause{}, false
}

func (p *parser) alterEventClause() (ast.AlterClause, bool) {
	def := &ast.DefineEvent{Retry: 1, MaxDepth: 3}
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`WHEN`, `ASYNC` or `COMMENT`", kwWhen, kwAsync, kwComment)
	case kwComment:
		return p.alterComment()
	case kwWhen:
		p.advance()
		return ast.AlterClause{Name: "WHEN", X: p.expr()}, true
	case kwThen:
		p.advance()
		def.Then = p.exprList()
		return ast.AlterClause{Name: "THEN", Def: def}, true
	case kwAsync:
		p.advance()
		def.Async = true
		if p.eat(kwRetry) {
			def.Retry = p.unsigned(1<<16 - 1)
		}
		if p.eat(kwMaxdepth) {
			def.MaxDepth = p.unsigned(1<<16 - 1)
		}
		return ast.AlterClause{Name: "ASYNC", Def: def}, true
	}
	return ast.AlterClause{}, false
}

func (p *parser) alterAnalyzerClause() (ast.AlterClause, bool) {
	def := &ast.DefineAnalyzer{}
	c := ast.AlterClause{Name: p.tok.kind.String(), Def: def}
	switch p.tok.kind {
	case kwDrop:
		return p.drop("`FUNCTION`, `TOKENIZERS`, `FILTERS` or `COMMENT`", kwFunction, kwTokenizers, kwFilters, kwComment)
	case kwFunction, kwTokenizers, kwFilters, kwComment:
		if !p.analyzerClause(def) {
			return c, false
		}
		if def.Comment != nil {
			return ast.AlterClause{Name: "COMMENT", X: def.Comment}, true
		}
		return c, true
	}
	return c, false
}
