package define

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// shape gathers the fields of a structure.
type shape []value.Field

func (s *shape) put(name string, v value.Value) { *s = append(*s, value.Field{Name: name, Value: v}) }
func (s *shape) str(name, text string)          { s.put(name, value.Str(text)) }
func (s *shape) flag(name string, b bool)       { s.put(name, value.Bool(b)) }

// text adds the text of an expression, if there is one.
func (s *shape) text(name string, x ast.Expr) {
	if x != nil {
		s.str(name, bareText(x))
	}
}

// constant adds the value of a literal, if there is one.
func (s *shape) constant(name string, x ast.Expr) {
	if l, ok := x.(*ast.Literal); ok {
		s.put(name, l.Value)
	}
}

func (s shape) value() value.Value { return value.ObjectOf(value.NewObject(s...)) }

func texts(words []string) value.Value {
	out := make([]value.Value, len(words))
	for i, w := range words {
		out[i] = value.Str(w)
	}
	return value.ArrayOf(out)
}

// permissionValue is true, false, or the text of the condition.
func permissionValue(p ast.Permission) value.Value {
	if p.Kind == ast.PermissionWhere {
		return value.Str(bareText(p.Where))
	}
	return value.Bool(p.Kind == ast.PermissionFull)
}

func optionalPermission(p *ast.Permission) value.Value {
	if p == nil {
		return value.Bool(true)
	}
	return permissionValue(*p)
}

// structureOf is a definition taken apart, for INFO … STRUCTURE.
func structureOf(d *catalog.Def) value.Value {
	var s shape
	switch x := d.Stmt.(type) {
	case *ast.DefineNamespace:
		s.put("id", value.Int(int64(d.ID)-1))
		s.str("name", d.Name)
		s.constant("comment", x.Comment)
	case *ast.DefineDatabase:
		s.put("id", value.Int(int64(d.ID)-1))
		s.str("name", d.Name)
		s.constant("comment", x.Comment)
		changeFeedShape(&s, x.ChangeFeed)
	case *ast.DefineTable:
		tableShape(&s, d, x)
	case *ast.DefineField:
		fieldShape(&s, d, x)
	case *ast.DefineIndex:
		cols := make([]string, len(x.Fields))
		for i, f := range x.Fields {
			cols[i] = ast.Text(f)
		}
		s.put("cols", texts(cols))
		s.str("index", indexClause(x))
		s.str("name", d.Name)
		s.str("table", x.Table.Ident)
		s.constant("comment", x.Comment)
		if catalog.BuildOf(d).Retired {
			s.flag("prepare_remove", true)
		}
	case *ast.DefineEvent:
		eventShape(&s, d, x)
	case *ast.DefineFunction:
		args := make([]value.Value, len(x.Params))
		for i, p := range x.Params {
			args[i] = value.Array(value.Str(p.Name), value.Str(p.Type.String()))
		}
		s.put("args", value.ArrayOf(args))
		s.str("block", ast.Text(x.Body))
		s.str("name", d.Name)
		s.put("permissions", optionalPermission(x.Permission))
		if x.Returns != nil {
			s.str("returns", x.Returns.String())
		}
		s.constant("comment", x.Comment)
		graphQLShape(&s, x.GraphQL)
	case *ast.DefineModel:
		modelShape(&s, d, x)
	case *ast.DefineParam:
		s.str("name", d.Name)
		s.text("value", x.Value)
		s.put("permissions", optionalPermission(x.Permission))
		s.constant("comment", x.Comment)
	case *ast.DefineAnalyzer:
		analyzerShape(&s, d, x)
	case *ast.DefineSequence:
		s.text("batch", x.Batch)
		s.str("name", d.Name)
		s.text("start", x.Start)
		s.put("timeout", value.None)
		s.constant("timeout", x.Timeout)
	case *ast.DefineUser:
		s.str("name", d.Name)
		s.str("hash", x.PassHash)
		s.put("roles", texts(x.Roles))
		var life shape
		life.constant("token", x.TokenDuration)
		life.constant("session", x.SessionDuration)
		s.put("duration", life.value())
		s.constant("comment", x.Comment)
	case *ast.DefineAccess:
		accessShape(&s, d, redactAccess(x))
	case *ast.DefineConfig:
		configShape(&s, x)
	case *ast.DefineAPI:
		apiShape(&s, x)
	case *ast.DefineBucket:
		s.str("name", d.Name)
		s.constant("backend", x.Backend)
		s.flag("readonly", x.Readonly)
		s.put("permissions", optionalPermission(x.Permission))
		s.constant("comment", x.Comment)
	default:
		s.str("name", d.Name)
	}
	return s.value()
}

func graphQLShape(s *shape, c ast.GraphQLClauses) {
	if c.Alias != "" {
		s.str("graphql_alias", c.Alias)
	}
	if c.Deprecated != "" {
		s.str("graphql_deprecated", c.Deprecated)
	}
}

func changeFeedShape(s *shape, c *ast.ChangeFeed) {
	if c == nil {
		return
	}
	var feed shape
	feed.put("expiry", value.DurationOf(c.Expiry))
	feed.flag("original", c.Original)
	s.put("changefeed", feed.value())
}

func tableShape(s *shape, d *catalog.Def, x *ast.DefineTable) {
	changeFeedShape(s, x.ChangeFeed)
	s.constant("comment", x.Comment)
	graphQLShape(s, x.GraphQL)
	s.flag("drop", x.Drop)
	s.put("id", value.Int(int64(d.ID)-1))
	var kind shape
	switch x.Kind {
	case ast.TableNormal:
		kind.str("kind", "NORMAL")
	case ast.TableRelation:
		kind.str("kind", "RELATION")
		if len(x.In) > 0 {
			kind.put("in", texts(x.In))
		}
		if len(x.Out) > 0 {
			kind.put("out", texts(x.Out))
		}
		kind.flag("enforced", x.Enforced)
	default:
		kind.str("kind", "ANY")
	}
	s.put("kind", kind.value())
	s.str("name", d.Name)
	p := x.Permissions
	s.put("permissions", shape{
		{Name: "create", Value: permissionValue(p.Create)}, {Name: "delete", Value: permissionValue(p.Delete)},
		{Name: "select", Value: permissionValue(p.Select)}, {Name: "update", Value: permissionValue(p.Update)}}.value())
	s.flag("schemafull", x.Schemafull)
	if x.View != nil {
		s.str("view", "AS "+ast.Text(x.View))
	}
}

func fieldShape(s *shape, d *catalog.Def, x *ast.DefineField) {
	s.text("assert", x.Assert)
	s.constant("comment", x.Comment)
	graphQLShape(s, x.GraphQL)
	s.text("computed", x.Computed)
	s.text("value", x.Value)
	if x.Default != nil {
		s.text("default", x.Default)
		s.flag("default_always", x.DefaultAlways)
	}
	if x.Flexible {
		s.flag("flexible", true)
	}
	if x.Inline {
		s.flag("inline", true)
	}
	if x.Type != nil {
		s.str("kind", x.Type.String())
	}
	s.str("name", d.Name)
	p := x.Permissions
	if !p.Given {
		full := ast.Permission{Kind: ast.PermissionFull}
		p.Select, p.Create, p.Update = full, full, full
	}
	s.put("permissions", shape{{Name: "create", Value: permissionValue(p.Create)},
		{Name: "select", Value: permissionValue(p.Select)}, {Name: "update", Value: permissionValue(p.Update)}}.value())
	s.flag("readonly", x.Readonly)
	if x.Reference != nil {
		s.put("reference", shape{{Name: "on_delete", Value: value.Str(onDelete(x.Reference))}}.value())
	}
	s.str("table", x.Table.Ident)
}

// onDelete is the action of a REFERENCE in words.
func onDelete(ref *ast.Reference) string {
	switch ref.Action {
	case ast.ReferenceReject:
		return "REJECT"
	case ast.ReferenceCascade:
		return "CASCADE"
	case ast.ReferenceUnset:
		return "UNSET"
	case ast.ReferenceThen:
		return "THEN " + ast.Text(ref.Then)
	}
	return "IGNORE"
}

// indexClause returns the text after the fields in the definition of an index.
func indexClause(x *ast.DefineIndex) string {
	bare := *x
	bare.Comment = nil
	text := ast.Text(&bare)
	if len(x.Fields) > 0 {
		cols := make([]string, len(x.Fields))
		for i, f := range x.Fields {
			cols[i] = ast.Text(f)
		}
		_, text, _ = strings.Cut(text, " FIELDS "+strings.Join(cols, ", "))
	} else {
		_, text, _ = strings.Cut(text, " ON "+ast.Text(&ast.Table{Name: x.Table.Ident}))
	}
	return strings.TrimSpace(text)
}

func eventShape(s *shape, d *catalog.Def, x *ast.DefineEvent) {
	if x.Async {
		s.flag("async", true)
		s.put("retry", value.Int(x.Retry))
		s.put("maxdepth", value.Int(x.MaxDepth))
	}
	s.constant("comment", x.Comment)
	s.str("name", d.Name)
	then := make([]string, len(x.Then))
	for i, t := range x.Then {
		then[i] = bareText(t)
	}
	s.put("then", texts(then))
	s.put("what", value.TableOf(x.Table.Ident))
	s.text("when", x.When)
}

func analyzerShape(s *shape, d *catalog.Def, x *ast.DefineAnalyzer) {
	s.constant("comment", x.Comment)
	if len(x.Filters) > 0 {
		filters := make([]string, len(x.Filters))
		for i := range x.Filters {
			filters[i] = filterText(&x.Filters[i])
		}
		s.put("filters", texts(filters))
	}
	if x.Function != "" {
		s.str("function", x.Function)
	}
	s.str("name", d.Name)
	if len(x.Tokenizers) > 0 {
		s.put("tokenizers", texts(x.Tokenizers))
	}
}

func filterText(f *ast.AnalyzerFilter) string {
	one := &ast.DefineAnalyzer{Name: ident("a"), Filters: []ast.AnalyzerFilter{*f}}
	_, text, _ := strings.Cut(ast.Text(one), " FILTERS ")
	return text
}

func accessShape(s *shape, d *catalog.Def, x *ast.DefineAccess) {
	s.text("authenticate", x.Authenticate)
	s.constant("comment", x.Comment)
	s.str("name", d.Name)
	var life, kind shape
	life.constant("grant", x.GrantDuration)
	life.constant("token", x.TokenDuration)
	life.constant("session", x.SessionDuration)
	s.put("duration", life.value())
	jwt := x.JWT
	switch x.Kind {
	case ast.AccessRecord:
		kind.str("kind", "RECORD")
		if x.Signup != nil {
			kind.str("signup", bareText(x.Signup))
		}
		if x.Signin != nil {
			kind.str("signin", bareText(x.Signin))
		}
		if x.Refresh {
			kind.flag("refresh", true)
		}
	case ast.AccessBearer:
		kind.str("kind", "BEARER")
		subject := "RECORD"
		if x.BearerUser {
			subject = "USER"
		}
		kind.str("subject", subject)
		hidden := &ast.Literal{Value: value.Str(auth.Redacted)}
		jwt = &ast.JWT{Algorithm: "HS512", Key: hidden, Issuer: hidden, IssuerAlg: "HS512"}
	default:
		kind.str("kind", "JWT")
	}
	if jwt != nil {
		kind.put("jwt", jwtShape(jwt))
	}
	s.put("kind", kind.value())
}

// bareText is the text of an expression; a statement in parentheses goes without them.
func bareText(x ast.Expr) string {
	switch q := x.(type) {
	case *ast.Subquery:
		return ast.Text(q.Stmt)
	case *ast.Paren:
		return ast.Text(q.X)
	}
	return ast.Text(x)
}

func jwtShape(j *ast.JWT) value.Value {
	var out, verify shape
	if j.URL != nil {
		verify.constant("url", j.URL)
	} else {
		verify.str("alg", j.Algorithm)
		verify.constant("key", j.Key)
	}
	if len(j.Audience) > 0 {
		audience := make([]value.Value, len(j.Audience))
		for i, x := range j.Audience {
			audience[i] = value.Str(ast.LiteralText(x))
		}
		verify.put("audience", value.ArrayOf(audience))
	}
	out.put("verify", verify.value())
	if j.Issuer != nil {
		var issuer shape
		alg := j.IssuerAlg
		if alg == "" {
			alg = j.Algorithm
		}
		issuer.str("alg", alg)
		issuer.constant("key", j.Issuer)
		out.put("issuer", issuer.value())
	}
	return out.value()
}

func configShape(s *shape, x *ast.DefineConfig) {
	switch {
	case x.API != nil:
		s.put("api", apiConfigShape(x.API))
	case x.GraphQL != nil:
		var g shape
		g.put("tables", filterShape(x.GraphQL.Tables, value.TableOf))
		g.put("functions", filterShape(x.GraphQL.Functions, value.Str))
		g.constant("depth_limit", x.GraphQL.Depth)
		g.constant("complexity_limit", x.GraphQL.Complexity)
		switch x.GraphQL.Introspection {
		case "":
		case "NONE":
			g.put("introspection", value.None)
		default:
			g.str("introspection", x.GraphQL.Introspection)
		}
		s.put("graphql", g.value())
	case x.Default != nil:
		var d shape
		if x.Default.Namespace != nil {
			d.str("namespace", x.Default.Namespace.Ident)
		}
		if x.Default.Database != nil {
			d.str("database", x.Default.Database.Ident)
		}
		s.put("default", d.value())
	}
}

func filterShape(f ast.NameFilter, name func(string) value.Value) value.Value {
	switch f.Mode {
	case "INCLUDE", "EXCLUDE":
		names := make([]value.Value, len(f.Names))
		for i, n := range f.Names {
			names[i] = name(n)
		}
		return shape{{Name: strings.ToLower(f.Mode), Value: value.ArrayOf(names)}}.value()
	case "NONE":
		return value.None
	}
	return value.Str(f.Mode)
}

func apiConfigShape(c *ast.APIConfig) value.Value {
	var s shape
	if len(c.Middleware) > 0 {
		var m shape
		for _, call := range c.Middleware {
			args := make([]string, len(call.Args))
			for i, a := range call.Args {
				args[i] = ast.Text(a)
			}
			path := call.Path
			if call.Kind == ast.CallCustom {
				path = "fn::" + path
			}
			m.put(path, texts(args))
		}
		s.put("middleware", m.value())
	}
	s.put("permissions", optionalPermission(c.Permission))
	return s.value()
}

func apiShape(s *shape, x *ast.DefineAPI) {
	s.constant("path", x.Path)
	s.constant("comment", x.Comment)
	actions := make([]value.Value, 0, len(x.Actions))
	for i, a := range x.Actions {
		if i == 0 { // any method
			s.put("config", apiConfigShape(&a.Config))
			s.text("fallback", a.Then)
			continue
		}
		actions = append(actions, shape{{Name: "action", Value: value.Str(bareText(a.Then))},
			{Name: "config", Value: apiConfigShape(&a.Config)}, {Name: "methods", Value: texts(a.Methods)}}.value())
	}
	s.put("actions", value.ArrayOf(actions))
}
