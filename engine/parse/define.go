package parse

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
)

func (p *parser) define() ast.Statement {
	p.advance()
	switch p.tok.kind {
	case kwNamespace:
		return p.defineNamespace()
	case kwDatabase:
		return p.defineDatabase()
	case kwTable:
		return p.defineTable()
	case kwField:
		return p.defineField()
	case kwIndex:
		return p.defineIndex()
	case kwEvent:
		return p.defineEvent()
	case kwFunction:
		return p.defineFunction()
	case kwParam:
		return p.defineParam()
	case kwAnalyzer:
		return p.defineAnalyzer()
	case kwUser:
		return p.defineUser()
	case kwAccess:
		return p.defineAccess()
	case kwSequence:
		return p.defineSequence()
	case kwConfig:
		return p.defineConfig()
	case kwApi:
		return p.defineAPI()
	case kwBucket:
		if p.opt.NoFiles {
			p.unexpected(filesNeeded)
		}
		return p.defineBucket()
	case kwModel:
		return p.defineModel()
	case kwModule:
		return p.defineModule()
	}
	p.unexpected("a define statement keyword")
	return nil
}

// mode is [OVERWRITE | IF NOT EXISTS], after the keyword of the kind.
func (p *parser) mode() ast.Mode {
	p.advance()
	switch p.tok.kind {
	case kwOverwrite:
		p.advance()
		return ast.ModeOverwrite
	case kwIf:
		p.advance()
		p.expect(kwNot)
		p.expect(kwExists)
		return ast.ModeIfNotExists
	}
	return ast.ModeCreate
}

// name is the name of a definition: an identifier, or an expression that gives it.
func (p *parser) name() ast.Name {
	x := p.expr()
	if id, ok := x.(*ast.Idiom); ok && len(id.Parts) == 1 {
		if f, ok := id.Parts[0].(*ast.PartField); ok {
			return ast.Name{Ident: f.Name}
		}
	}
	return ast.Name{Expr: x}
}

func (p *parser) optionalName() *ast.Name {
	n := p.name()
	return &n
}

// onTable is ON [TABLE] name.
func (p *parser) onTable() ast.Name {
	p.expect(kwOn)
	p.eat(kwTable)
	return p.name()
}

// base is a level: ROOT, NAMESPACE or DATABASE.
func (p *parser) base() ast.Base {
	switch p.tok.kind {
	case kwRoot:
		p.advance()
		return ast.BaseRoot
	case kwNamespace:
		p.advance()
		return ast.BaseNamespace
	case kwDatabase:
		p.advance()
		return ast.BaseDatabase
	}
	p.unexpected("'NAMEPSPACE', 'DATABASE' or 'ROOT'") // the spelling is upstream's
	return ast.BaseNone
}

func (p *parser) onBase() ast.Base {
	p.expect(kwOn)
	return p.base()
}

func (p *parser) changeFeed() *ast.ChangeFeed {
	c := &ast.ChangeFeed{Expiry: p.durationToken().Duration()}
	if p.eat(kwInclude) {
		p.expect(kwOriginal)
		c.Original = true
	}
	return c
}

func (p *parser) defineNamespace() ast.Statement {
	s := &ast.DefineNamespace{Mode: p.mode(), Name: p.name()}
	for p.err == nil && p.eat(kwComment) {
		s.Comment = p.expr()
	}
	return s
}

func (p *parser) defineDatabase() ast.Statement {
	s := &ast.DefineDatabase{Mode: p.mode(), Name: p.name()}
	for p.err == nil {
		switch p.tok.kind {
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		case kwStrict:
			p.advance()
			s.Strict = true
		case kwChangefeed:
			p.advance()
			s.ChangeFeed = p.changeFeed()
		default:
			return s
		}
	}
	return s
}

func (p *parser) defineTable() ast.Statement {
	s := &ast.DefineTable{Mode: p.mode(), Name: p.name()}
	for p.err == nil {
		switch p.tok.kind {
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		case kwDrop:
			p.advance()
			s.Drop = true
		case kwType:
			p.tableKind(s)
		case kwSchemaless, kwSchemafull:
			s.Schemafull = p.advance().kind == kwSchemafull
			s.SchemaGiven = true
			if s.Schemafull && !s.KindGiven { // and stays so, also after later clauses
				s.Kind, s.KindGiven = ast.TableNormal, true
			}
		case kwPermissions:
			s.Permissions = p.permissions(true)
		case kwChangefeed:
			p.advance()
			s.ChangeFeed = p.changeFeed()
		case kwAs:
			p.advance()
			s.View = p.view()
		default:
			if !p.graphQLOf(&s.GraphQL) {
				return s
			}
		}
	}
	return s
}

// graphQLOf parses GRAPHQL_ALIAS or GRAPHQL_DEPRECATED with its text; false where there is neither.
func (p *parser) graphQLOf(c *ast.GraphQLClauses) bool {
	switch {
	case p.isWord("GRAPHQL_ALIAS"):
		p.advance()
		c.Alias = p.strand()
	case p.isWord("GRAPHQL_DEPRECATED"):
		p.advance()
		c.Deprecated = p.strand()
	default:
		return false
	}
	return true
}

// tableKind is TYPE ANY | NORMAL | RELATION [IN a | b] [OUT c] [ENFORCED].
func (p *parser) tableKind(s *ast.DefineTable) {
	p.advance()
	s.KindGiven = true
	s.In, s.Out, s.Enforced = nil, nil, false
	switch p.tok.kind {
	case kwAny:
		s.Kind = ast.TableAny
	case kwNormal:
		s.Kind = ast.TableNormal
	case kwRelation:
		p.advance()
		s.Kind = ast.TableRelation
		p.relationEnds(s)
		return
	default:
		p.unexpected("`NORMAL`, `RELATION`, or `ANY`")
	}
	p.advance()
}

func (p *parser) relationEnds(s *ast.DefineTable) {
	for p.err == nil {
		switch p.tok.kind {
		case kwIn, kwFrom:
			p.advance()
			s.In = p.tableNames()
		case kwOut, kwTo:
			p.advance()
			s.Out = p.tableNames()
		case kwEnforced:
			p.advance()
			s.Enforced = true
			return
		default:
			return
		}
	}
}

func (p *parser) tableNames() []string {
	names := []string{p.ident()}
	for p.err == nil && p.eat(tPipe) {
		names = append(names, p.ident())
	}
	return names
}

// view is the SELECT of AS, with or without parentheses.
func (p *parser) view() *ast.Select {
	if p.tok.kind == tLParen {
		open := p.advance()
		if p.tok.kind != kwSelect {
			p.unexpected("SELECT")
			return nil
		}
		s := p.view()
		p.closes(tRParen, open)
		return s
	}
	if p.tok.kind != kwSelect {
		p.unexpected("`SELECT`")
		return nil
	}
	p.advance()
	s := &ast.Select{Projections: p.projections()}
	if p.expect(kwFrom); p.err != nil {
		return nil // the projections may be none
	}
	s.Projections.Fields[len(s.Projections.Fields)-1].Span.End = p.prev.end // as upstream marks it
	for {
		s.From = append(s.From, &ast.Table{Name: p.ident()})
		if p.err != nil || !p.eat(tComma) {
			break
		}
	}
	if p.eat(kwWhere) {
		s.Where = p.expr()
	}
	s.Group = p.group(s.Projections)
	return s
}

// permissions is the clause of a table, or of a field (without delete). What is not said is NONE for
// tables and FULL for fields.
func (p *parser) permissions(table bool) ast.Permissions {
	if table {
		return p.permissionsElse(true, ast.Permission{})
	}
	return p.permissionsElse(false, ast.Permission{Kind: ast.PermissionFull})
}

// permissionsElse is permissions where those that are not said are as rest.
func (p *parser) permissionsElse(table bool, rest ast.Permission) ast.Permissions {
	p.advance()
	out := ast.Permissions{Given: true}
	set := func(x ast.Permission) { out.Select, out.Create, out.Update, out.Delete = x, x, x, x }
	switch p.tok.kind {
	case kwNone:
		p.advance()
		return out
	case kwFull:
		p.advance()
		set(ast.Permission{Kind: ast.PermissionFull})
		return out
	case kwFor:
	default:
		p.unexpected("'NONE', 'FULL' or 'FOR'")
		return out
	}
	set(rest)
	for p.err == nil && p.eat(kwFor) {
		p.permissionFor(&out, table)
		p.eat(tComma)
	}
	return out
}

// permissionFor is the part after FOR: operations and their condition.
func (p *parser) permissionFor(out *ast.Permissions, table bool) {
	var to []*ast.Permission
	for {
		switch p.tok.kind {
		case kwSelect:
			to = append(to, &out.Select)
		case kwCreate:
			to = append(to, &out.Create)
		case kwUpdate:
			to = append(to, &out.Update)
		case kwDelete:
			if !table {
				p.fail("Can't define permission DELETE for fields", p.tok, "")
				return
			}
			to = append(to, &out.Delete)
		default:
			if !table {
				p.unexpected("'SELECT', 'CREATE' or 'UPDATE'")
			}
			p.unexpected("'SELECT', 'CREATE', 'UPDATE' or 'DELETE'")
			return
		}
		p.advance()
		if !p.eat(tComma) {
			break
		}
	}
	x := p.permission()
	for _, t := range to {
		*t = x
	}
}

// permission is NONE, FULL or WHERE x.
func (p *parser) permission() ast.Permission {
	switch p.tok.kind {
	case kwNone:
		p.advance()
		return ast.Permission{Kind: ast.PermissionNone}
	case kwFull:
		p.advance()
		return ast.Permission{Kind: ast.PermissionFull}
	case kwWhere:
		p.advance()
		return ast.Permission{Kind: ast.PermissionWhere, Where: p.expr()}
	}
	p.unexpected("'NONE', 'FULL', or 'WHERE'")
	return ast.Permission{}
}

// onePermission is PERMISSIONS with a single condition.
func (p *parser) onePermission() *ast.Permission {
	p.advance()
	x := p.permission()
	return &x
}

func (p *parser) defineField() ast.Statement {
	s := &ast.DefineField{Mode: p.mode()}
	s.Name, s.NameExpr = p.fieldName()
	s.Table = p.onTable()
	p.fieldClauses(s)
	return s
}

// fieldName is the path of a field, or an expression in its place.
func (p *parser) fieldName() (*ast.Idiom, ast.Expr) {
	x := p.expr()
	if id, ok := x.(*ast.Idiom); ok {
		if _, ok := id.Parts[0].(*ast.PartStart); !ok {
			return id, nil
		}
	}
	return nil, x
}

func (p *parser) fieldClauses(s *ast.DefineField) {
	for p.err == nil {
		t := p.tok
		switch t.kind {
		case kwFlexible:
			p.fail("FLEXIBLE must be specified after TYPE", t, "")
		case kwType:
			p.fieldType(s)
		case kwReadonly:
			p.advance()
			s.Readonly = true
		case kwInline:
			p.advance()
			s.Inline = true
		case kwValue:
			p.advance()
			s.Value = p.expr()
		case kwAssert:
			p.advance()
			s.Assert = p.expr()
		case kwComputed:
			p.advance()
			s.Computed = p.expr()
		case kwDefault:
			p.advance()
			s.DefaultAlways = p.eat(kwAlways)
			s.Default = p.expr()
		case kwPermissions:
			s.Permissions = p.permissions(false)
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		case kwReference:
			p.advance()
			s.Reference = p.reference()
		default:
			if !p.graphQLOf(&s.GraphQL) {
				return
			}
		}
	}
}

func (p *parser) fieldType(s *ast.DefineField) {
	p.advance()
	s.Type, s.Flexible = p.typ(), false
	if p.tok.kind == kwFlexible {
		if !s.Type.HoldsObject() {
			p.fail("FLEXIBLE can only be used with types containing object", p.tok, "")
			return
		}
		p.advance()
		s.Flexible = true
	}
}

func (p *parser) reference() *ast.Reference {
	r := &ast.Reference{}
	if !p.eat(kwOn) {
		return r
	}
	p.expect(kwDelete)
	switch p.tok.kind {
	case kwReject:
		r.Action = ast.ReferenceReject
	case kwCascade:
		r.Action = ast.ReferenceCascade
	case kwIgnore:
		r.Action = ast.ReferenceIgnore
	case kwUnset:
		r.Action = ast.ReferenceUnset
	case kwThen:
		p.advance()
		r.Action = ast.ReferenceThen
		r.Then = p.expr()
		return r
	default:
		p.unexpected("`REJECT`, `CASCASE`, `IGNORE`, `UNSET` or `THEN`") // the spelling is upstream's
	}
	p.advance()
	return r
}

func (p *parser) defineEvent() ast.Statement {
	s := &ast.DefineEvent{Mode: p.mode(), Name: p.name(), Table: p.onTable(), Retry: 1, MaxDepth: 3}
	for p.err == nil {
		switch {
		case p.tok.kind == kwWhen:
			p.advance()
			s.When = p.expr()
		case p.tok.kind == kwThen:
			p.advance()
			s.Then = p.exprList()
		case p.tok.kind == kwComment:
			p.advance()
			s.Comment = p.expr()
		case p.tok.kind == kwAsync:
			p.advance()
			s.Async = true
		case !s.Async && (p.tok.kind == kwRetry || p.tok.kind == kwMaxdepth):
			name := p.tok.kind.String()
			p.fail("Unexpected token `"+name+"`", p.tok, name+" must be set after ASYNC")
		case p.tok.kind == kwRetry:
			p.advance()
			s.Retry = p.unsigned(1<<16 - 1)
		case p.tok.kind == kwMaxdepth:
			p.advance()
			s.MaxDepth = p.unsigned(1<<16 - 1)
		default:
			if len(s.Then) == 0 {
				p.fail("Expected at least one `THEN` statement", p.prev, "`THEN` statement required")
			}
			return s
		}
	}
	return s
}

func (p *parser) defineFunction() ast.Statement {
	s := &ast.DefineFunction{Mode: p.mode()}
	s.Name = p.functionName()
	s.Params = p.functionParams()
	if p.eat(tArrowR) {
		s.Returns = p.typ()
	}
	s.Body = p.block()
	for p.err == nil {
		switch p.tok.kind {
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		case kwPermissions:
			s.Permission = p.onePermission()
		default:
			if !p.graphQLOf(&s.GraphQL) {
				return s
			}
		}
	}
	return s
}

// functionName is fn::a::b, given without the prefix.
func (p *parser) functionName() string {
	p.expect(kwFn)
	p.expect(tPath)
	return p.functionPath()
}

// functionPath is the name of a function behind fn::.
func (p *parser) functionPath() string { return joinPath(p.ident(), p.segments()) }

func (p *parser) functionParams() []ast.FuncParam {
	open := p.expect(tLParen)
	var list []ast.FuncParam
	for p.err == nil && p.tok.kind != tRParen {
		f := ast.FuncParam{Name: p.paramName(p.expectParam())}
		p.expect(tColon)
		f.Type = p.typ()
		list = append(list, f)
		if !p.eat(tComma) {
			break
		}
	}
	p.closes(tRParen, open)
	return list
}

func (p *parser) defineParam() ast.Statement {
	s := &ast.DefineParam{Mode: p.mode()}
	s.Name = p.paramName(p.expectParam())
	for p.err == nil {
		switch p.tok.kind {
		case kwValue:
			p.advance()
			s.Value = p.expr()
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		case kwPermissions:
			s.Permission = p.onePermission()
		default:
			return s
		}
	}
	return s
}

func (p *parser) defineSequence() ast.Statement {
	s := &ast.DefineSequence{Mode: p.mode(), Name: p.name()}
	if p.eat(kwBatch) {
		s.Batch = p.expr()
	}
	if p.eat(kwStart) {
		s.Start = p.expr()
	}
	if p.eat(kwTimeout) {
		s.Timeout = p.expr()
	}
	return s
}

func (p *parser) defineBucket() ast.Statement {
	s := &ast.DefineBucket{Mode: p.mode(), Name: p.name()}
	for p.err == nil {
		switch p.tok.kind {
		case kwBackend:
			p.advance()
			s.Backend = p.expr()
		case kwReadonly:
			p.advance()
			s.Readonly = true
		case kwPermissions:
			s.Permission = p.onePermission()
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		default:
			return s
		}
	}
	return s
}

func (p *parser) defineModel() ast.Statement {
	s := &ast.DefineModel{Mode: p.mode()}
	p.expect(kwMl)
	p.expect(tPath)
	s.Name = joinPath(p.ident(), p.segments())
	s.Version = p.version()
	for p.err == nil {
		switch p.tok.kind {
		case kwPermissions:
			s.Permission = p.onePermission()
		case kwComment:
			p.advance()
			s.Comment = p.expr()
		default:
			return s
		}
	}
	return s
}

// defineModule is DEFINE MODULE mod::x AS | FROM file [UNSIGNED], or silo::org::pkg<version>.
// siloPath is ::org::pkg, or ::org::pkg:: in front of a version.
func (p *parser) siloPath() string {
	var parts []string
	for p.err == nil && p.eat(tPath) && p.tok.kind != tLess {
		parts = append(parts, p.ident())
		p.boundPath(len(parts))
	}
	return strings.Join(parts, "::")
}

func (p *parser) defineModule() ast.Statement {
	s := &ast.DefineModule{Mode: p.mode()}
	switch p.tok.kind {
	case kwMod:
		p.advance()
		p.expect(tPath)
		s.Name = p.ident()
	case kwSilo:
		p.advance()
		s.Silo = true
		s.Name = p.siloPath()
		s.Version = p.version()
	default:
		p.unexpected("mod")
	}
	for p.err == nil {
		switch {
		case p.tok.kind == kwAs, p.tok.kind == kwFrom:
			p.advance()
			s.File = p.expr()
		case p.isWord("UNSIGNED"):
			p.advance()
			s.Unsigned = true
		case p.tok.kind == kwPermissions:
			s.Permission = p.onePermission()
		case p.tok.kind == kwComment:
			p.advance()
			s.Comment = p.expr()
		default:
			return s
		}
	}
	return s
}
