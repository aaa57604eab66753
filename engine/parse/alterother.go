package parse

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
)

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
		case *ast.DefineModel:
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
		return p.drop("`WHEN`, `THEN`, `ASYNC` or `COMMENT`", kwWhen, kwThen, kwAsync, kwComment)
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

// alterAPIClause is FOR methods …, which replaces what was said about them, FOR methods DROP THEN, DROP FOR methods,
// or the comment.
func (p *parser) alterAPIClause() (ast.AlterClause, bool) {
	switch p.tok.kind {
	case kwFor:
		p.advance()
		methods := p.methods()
		if p.tok.kind == kwDrop {
			p.advance()
			p.expect(kwThen)
			api := &ast.DefineAPI{Actions: []ast.APIAction{{Methods: methods}}}
			return ast.AlterClause{Name: "THEN", Drop: true, Def: api}, true
		}
		api := &ast.DefineAPI{Actions: []ast.APIAction{p.apiActionFor(methods)}}
		return ast.AlterClause{Name: "FOR", Def: api}, true
	case kwDrop:
		if p.peek().kind != kwFor {
			return p.drop("`FOR` or `COMMENT`", kwComment)
		}
		p.advance()
		p.advance()
		return ast.AlterClause{Name: "FOR", Drop: true,
			Def: &ast.DefineAPI{Actions: []ast.APIAction{{Methods: p.methods()}}}}, true
	case kwComment:
		return p.alterComment()
	}
	return ast.AlterClause{}, false
}

// alterConfigClause is a clause of DEFINE CONFIG of the same kind, or DROP of one.
func (p *parser) alterConfigClause(config string) (ast.AlterClause, bool) {
	word := p.word()
	if p.tok.kind == kwDrop {
		p.advance()
		if word = p.word(); slices.Contains(configClauses[config], word) {
			p.advance()
			return ast.AlterClause{Name: word, Drop: true}, true
		}
		p.unexpected("one of `" + strings.Join(configClauses[config], "`, `") + "`")
		return ast.AlterClause{}, false
	}
	def, ok := &ast.DefineConfig{}, false
	switch config {
	case "GRAPHQL":
		def.GraphQL = &ast.GraphQLConfig{}
		ok = p.graphQLClause(def.GraphQL)
	case "API":
		def.API = &ast.APIConfig{}
		ok = p.apiClause(def.API)
	case "DEFAULT":
		def.Default = &ast.DefaultConfig{}
		ok = p.defaultClause(def.Default)
	}
	return ast.AlterClause{Name: word, Def: def}, ok
}

// word is the current keyword, in its one spelling, or identifier, in upper case.
func (p *parser) word() string {
	if p.tok.kind == tIdent {
		return strings.ToUpper(p.text(p.tok))
	}
	return p.tok.kind.String()
}

// configClauses lists the clauses of each config.
var configClauses = map[string][]string{
	"GRAPHQL": {"TABLES", "FUNCTIONS", "DEPTH", "COMPLEXITY", "INTROSPECTION"},
	"API":     {"MIDDLEWARE", "PERMISSIONS"},
	"DEFAULT": {"NAMESPACE", "DATABASE"},
}
