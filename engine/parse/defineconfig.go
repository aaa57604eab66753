package parse

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

func (p *parser) defineConfig() ast.Statement {
	s := &ast.DefineConfig{Mode: p.mode()}
	switch p.tok.kind {
	case kwApi:
		p.advance()
		c := p.apiConfig()
		s.API = &c
	case kwGraphql:
		p.advance()
		s.GraphQL = p.graphQLConfig()
	case kwDefault:
		p.advance()
		s.Default = p.defaultConfig()
	default:
		p.unexpected("a type of config")
	}
	return s
}

func (p *parser) defaultConfig() *ast.DefaultConfig {
	c := &ast.DefaultConfig{}
	for p.err == nil && p.defaultClause(c) {
	}
	return c
}

// defaultClause parses one clause of DEFINE CONFIG DEFAULT; false where there is none.
func (p *parser) defaultClause(c *ast.DefaultConfig) bool {
	switch p.tok.kind {
	case kwNamespace:
		p.advance()
		c.Namespace = p.optionalName()
	case kwDatabase:
		p.advance()
		c.Database = p.optionalName()
	default:
		return false
	}
	return true
}

func (p *parser) graphQLConfig() *ast.GraphQLConfig {
	c := &ast.GraphQLConfig{Tables: ast.NameFilter{Mode: "NONE"}, Functions: ast.NameFilter{Mode: "NONE"}}
	for p.err == nil {
		switch p.tok.kind {
		case kwNone, kwAuto:
			mode := p.advance().kind.String()
			c.Tables, c.Functions = ast.NameFilter{Mode: mode}, ast.NameFilter{Mode: mode}
		default:
			if !p.graphQLClause(c) {
				return c
			}
		}
	}
	return c
}

// graphQLClause parses one clause of DEFINE CONFIG GRAPHQL; false where there is none.
func (p *parser) graphQLClause(c *ast.GraphQLConfig) bool {
	switch {
	case p.tok.kind == kwTables:
		p.advance()
		c.Tables = p.tableFilter()
	case p.tok.kind == kwFunctions:
		p.advance()
		c.Functions = p.functionFilter()
	case p.isWord("DEPTH"):
		p.advance()
		c.Depth = p.literal(value.Int(p.unsigned(1<<32 - 1)))
	case p.isWord("COMPLEXITY"):
		p.advance()
		c.Complexity = p.literal(value.Int(p.unsigned(1<<32 - 1)))
	case p.isWord("INTROSPECTION"):
		p.advance()
		switch p.tok.kind {
		case kwNone, kwAuto:
			c.Introspection = p.advance().kind.String()
		default:
			p.unexpected("`NONE`, `AUTO`")
		}
	default:
		return false
	}
	return true
}

// tableFilter is AUTO, NONE, or INCLUDE or EXCLUDE with the names of tables.
func (p *parser) tableFilter() ast.NameFilter {
	f, named := p.filterMode()
	if !named {
		return f
	}
	for p.err == nil {
		if !p.tok.isIdent() {
			p.unexpected("a table config")
			break
		}
		f.Names = append(f.Names, p.ident())
		if !p.eat(tComma) {
			break
		}
	}
	return f
}

// functionFilter is tableFilter for functions, whose list may stand in brackets and whose names may lack fn::.
func (p *parser) functionFilter() ast.NameFilter {
	f, named := p.filterMode()
	if !named {
		return f
	}
	open := p.tok
	bracketed := p.eat(tLBracket)
	for p.err == nil {
		if p.tok.kind == kwFn {
			f.Names = append(f.Names, p.functionName())
		} else {
			f.Names = append(f.Names, p.functionPath())
		}
		if !p.eat(tComma) {
			break
		}
	}
	if bracketed {
		p.closes(tRBracket, open)
	}
	return f
}

// filterMode is the word that a filter begins with; named says that names follow.
func (p *parser) filterMode() (f ast.NameFilter, named bool) {
	switch p.tok.kind {
	case kwAuto, kwNone:
		return ast.NameFilter{Mode: p.advance().kind.String()}, false
	case kwInclude, kwExclude:
		return ast.NameFilter{Mode: p.advance().kind.String()}, true
	}
	p.unexpected("`NONE`, `AUTO`, `INCLUDE` or `EXCLUDE`")
	return f, false
}

func (p *parser) apiConfig() ast.APIConfig {
	var c ast.APIConfig
	for p.err == nil && p.apiClause(&c) {
	}
	return c
}

// apiClause parses MIDDLEWARE or PERMISSIONS; false where there is neither.
func (p *parser) apiClause(c *ast.APIConfig) bool {
	switch p.tok.kind {
	case kwMiddleware:
		p.advance()
		c.Middleware = p.middleware()
	case kwPermissions:
		c.Permission = p.onePermission()
	default:
		return false
	}
	return true
}

// middleware is a list of calls.
func (p *parser) middleware() []ast.Call {
	var list []ast.Call
	for {
		if !p.tok.isIdent() {
			p.unexpected("a function name")
			return nil
		}
		var x ast.Expr
		if p.tok.kind == kwFn {
			x = p.namespaced()
		} else {
			x = p.uncheckedPath()
		}
		c, ok := x.(*ast.Call)
		if !ok {
			p.unexpected("(")
			return nil
		}
		list = append(list, *c)
		if !p.eat(tComma) {
			return list
		}
	}
}

// defineAPI is DEFINE API path [FOR any …] {FOR methods … THEN x} [COMMENT x].
func (p *parser) defineAPI() ast.Statement {
	s := &ast.DefineAPI{Mode: p.mode(), Path: p.expr()}
	for p.err == nil && p.eat(kwFor) {
		s.Actions = append(s.Actions, p.apiAction())
	}
	if p.eat(kwComment) {
		s.Comment = p.expr()
	}
	return s
}

func (p *parser) apiAction() ast.APIAction { return p.apiActionFor(p.methods()) }

// apiActionFor parses the part after the methods of an action.
func (p *parser) apiActionFor(methods []string) ast.APIAction {
	a := ast.APIAction{Methods: methods}
	a.Config = p.apiConfig()
	if a.Methods[0] != "any" {
		p.expect(kwThen)
		a.Then = p.expr()
	} else if p.eat(kwThen) {
		a.Then = p.expr()
	}
	return a
}

// methods are those that an action is for: any, or a list.
func (p *parser) methods() []string {
	if p.eat(kwAny) {
		return []string{"any"}
	}
	first := p.tok
	list := []string{p.method()}
	for p.err == nil && p.eat(tComma) {
		if !p.tok.isMethod() { // the fault is told of the first
			p.unexpectedAt(first, methodNames)
			return list
		}
		list = append(list, p.method())
	}
	return list
}

const methodNames = "one of `DELETE`, `GET`, `PATCH`, `POST`, `PUT` or `TRACE`"

func (p *parser) method() string {
	if p.tok.isMethod() {
		return strings.ToLower(p.advance().kind.String())
	}
	p.unexpected(methodNames)
	return ""
}

// isMethod reports whether t names a method of HTTP.
func (t token) isMethod() bool {
	switch t.kind {
	case kwDelete, kwGet, kwPatch, kwPost, kwPut, kwTrace:
		return true
	}
	return false
}
