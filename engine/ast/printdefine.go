package ast

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

func (p *printer) define(s Statement) {
	switch s := s.(type) {
	case *DefineNamespace:
		p.head("NAMESPACE", s.Mode)
		p.name(s.Name)
		p.comment(s.Comment)
	case *DefineDatabase:
		p.head("DATABASE", s.Mode)
		p.name(s.Name)
		p.flag(s.Strict, " STRICT")
		p.comment(s.Comment)
		p.changeFeed(s.ChangeFeed)
	case *DefineTable:
		p.defineTable(s)
	case *DefineField:
		p.defineField(s)
	case *DefineIndex:
		p.defineIndex(s)
	case *DefineEvent:
		p.defineEvent(s)
	case *DefineFunction:
		p.defineFunction(s)
	case *DefineParam:
		p.head("PARAM", s.Mode)
		p.param(s.Name)
		p.str(" VALUE ")
		p.exprOr(s.Value, "NONE")
		p.comment(s.Comment)
		p.onePermission(s.Permission)
	case *DefineAnalyzer:
		p.defineAnalyzer(s)
	case *DefineUser:
		p.defineUser(s)
	case *DefineAccess:
		p.defineAccess(s)
	case *DefineSequence:
		p.defineSequence(s)
	case *DefineConfig:
		p.head("CONFIG", s.Mode)
		p.config(s)
	case *DefineAPI:
		p.defineAPI(s)
	case *DefineBucket:
		p.head("BUCKET", s.Mode)
		p.name(s.Name)
		p.flag(s.Readonly, " READONLY")
		p.kept("BACKEND", s.Backend)
		p.onePermission(s.Permission)
		p.comment(s.Comment)
	case *DefineModel:
		p.head("MODEL", s.Mode)
		p.str("ml::")
		p.path(s.Name)
		p.version(s.Version)
		p.comment(s.Comment)
		p.onePermission(s.Permission)
	case *DefineModule:
		p.defineModule(s)
	}
}

// head writes DEFINE kind and the mode.
func (p *printer) head(kind string, m Mode) {
	p.str("DEFINE ")
	p.str(kind)
	p.byte(' ')
	switch m {
	case ModeOverwrite:
		p.str("OVERWRITE ")
	case ModeIfNotExists:
		p.str("IF NOT EXISTS ")
	}
}

func (p *printer) changeFeed(c *ChangeFeed) {
	if c == nil {
		return
	}
	p.str(" CHANGEFEED ")
	p.duration(c.Expiry)
	p.flag(c.Original, " INCLUDE ORIGINAL")
}

func (p *printer) defineTable(s *DefineTable) {
	p.head("TABLE", s.Mode)
	p.name(s.Name)
	p.tableKind(s)
	p.flag(s.Drop, " DROP")
	p.schema(s.Schemafull)
	p.comment(s.Comment)
	p.graphQL(s.GraphQL)
	if s.View != nil {
		p.str(" AS ")
		p.statement(s.View)
	}
	p.changeFeed(s.ChangeFeed)
	p.str(" PERMISSIONS ")
	p.permissions(&s.Permissions, true)
}

// tableKind writes TYPE. A schemafull table without one is NORMAL.
func (p *printer) tableKind(s *DefineTable) {
	switch {
	case s.Kind == TableRelation:
		p.str(" TYPE RELATION")
		p.relationEnd(" IN ", s.In)
		p.relationEnd(" OUT ", s.Out)
		p.flag(s.Enforced, " ENFORCED")
	case s.Kind == TableNormal, s.Schemafull && !s.KindGiven:
		p.str(" TYPE NORMAL")
	default:
		p.str(" TYPE ANY")
	}
}

// KindText is TYPE as errors tell of it: "RELATION IN person OUT post", without the word TYPE.
func (s *DefineTable) KindText() string {
	var p printer
	p.tableKind(s)
	return strings.TrimPrefix(string(p.buf), " TYPE ")
}

func (p *printer) relationEnd(word string, tables []string) {
	if len(tables) == 0 {
		return
	}
	p.str(word)
	for i, t := range tables {
		p.flag(i > 0, " | ")
		p.ident(t)
	}
}

func (p *printer) schema(full bool) {
	if full {
		p.str(" SCHEMAFULL")
	} else {
		p.str(" SCHEMALESS")
	}
}

func (p *printer) permission(x Permission) {
	switch x.Kind {
	case PermissionNone:
		p.str("NONE")
	case PermissionFull:
		p.str("FULL")
	case PermissionWhere:
		p.str("WHERE ")
		p.whole(x.Where)
	}
}

func (p *printer) onePermission(x *Permission) {
	p.str(" PERMISSIONS ")
	if x == nil {
		p.str("FULL")
		return
	}
	p.permission(*x)
}

// permissions writes those of a table or field: one word where all are NONE or FULL, else grouped by
// what they have in common, in the order of the first operation.
func (p *printer) permissions(x *Permissions, table bool) {
	ops := []Permission{x.Select, x.Create, x.Update, x.Delete}
	names := []string{"select", "create", "update", "delete"}
	if !x.Given {
		if table {
			p.str("NONE")
		} else {
			p.str("FULL")
		}
		return
	}
	texts := make([]string, len(ops))
	same := true
	for i, op := range ops {
		texts[i] = Text(op)
		same = same && texts[i] == texts[0]
	}
	if same && (ops[0].Kind == PermissionFull || table && ops[0].Kind == PermissionNone) {
		p.str(texts[0])
		return
	}
	if !table {
		ops, names = ops[:3], names[:3]
	}
	done := make([]bool, len(ops))
	first := true
	for i := range ops {
		if done[i] {
			continue
		}
		p.flag(!first, ", ")
		first = false
		p.str("FOR ")
		for j := i; j < len(ops); j++ {
			if texts[j] == texts[i] {
				p.flag(j > i, ", ")
				p.str(names[j])
				done[j] = true
			}
		}
		p.byte(' ')
		p.str(texts[i])
	}
}

func (p *printer) defineField(s *DefineField) {
	p.head("FIELD", s.Mode)
	p.fieldName(s.Name, s.NameExpr)
	p.str(" ON ")
	p.name(s.Table)
	if s.Type != nil {
		p.str(" TYPE ")
		p.str(s.Type.String())
	}
	p.flag(s.Flexible, " FLEXIBLE")
	p.flag(s.Inline, " INLINE")
	if s.DefaultAlways {
		p.kept("DEFAULT ALWAYS", s.Default)
	} else {
		p.kept("DEFAULT", s.Default)
	}
	p.flag(s.Readonly, " READONLY")
	p.kept("VALUE", s.Value)
	p.kept("ASSERT", s.Assert)
	p.kept("COMPUTED", s.Computed)
	p.reference(s.Reference)
	p.comment(s.Comment)
	p.graphQL(s.GraphQL)
	p.str(" PERMISSIONS ")
	p.permissions(&s.Permissions, false)
}

func (p *printer) fieldName(id *Idiom, x Expr) {
	if id != nil {
		p.idiom(id)
		return
	}
	p.nameExpr(x)
}

func (p *printer) reference(r *Reference) {
	if r == nil {
		return
	}
	p.str(" REFERENCE ON DELETE ")
	switch r.Action {
	case ReferenceIgnore:
		p.str("IGNORE")
	case ReferenceReject:
		p.str("REJECT")
	case ReferenceCascade:
		p.str("CASCADE")
	case ReferenceUnset:
		p.str("UNSET")
	case ReferenceThen:
		p.str("THEN ")
		p.expr(r.Then)
	}
}

func (p *printer) defineIndex(s *DefineIndex) {
	p.head("INDEX", s.Mode)
	p.name(s.Name)
	p.str(" ON ")
	p.name(s.Table)
	if len(s.Fields) > 0 {
		p.str(" FIELDS ")
		list(p, s.Fields, p.expr)
	}
	p.indexKind(s)
	p.comment(s.Comment)
	p.flag(s.Concurrently, " CONCURRENTLY")
	p.flag(s.Defer, " DEFER")
}

func (p *printer) indexKind(s *DefineIndex) {
	switch s.Kind {
	case IndexOrdered:
	case IndexUnique:
		p.str(" UNIQUE")
	case IndexCount:
		p.str(" COUNT")
		p.kept("WHERE", s.CountWhere)
	case IndexFullText:
		p.byte(' ')
		p.fullText(s.FullText)
	case IndexHNSW:
		p.byte(' ')
		p.vector(s.Vector, false)
	case IndexDiskANN:
		p.byte(' ')
		p.vector(s.Vector, true)
	}
}

func (p *printer) fullText(f *FullText) {
	p.str("FULLTEXT ANALYZER ")
	p.ident(f.Analyzer)
	if f.BM25 {
		p.str(" BM25(")
		p.number(f.K1)
		p.byte(',')
		p.number(f.B)
		p.byte(')')
	}
	p.flag(f.Highlights, " HIGHLIGHTS")
}

// number writes a float without its suffix.
func (p *printer) number(f float64) { p.str(strings.TrimSuffix(value.Float(f).Text(), "f")) }

func (p *printer) vector(v *VectorIndex, disk bool) {
	if disk {
		p.str("DISKANN DIMENSION ")
	} else {
		p.str("HNSW DIMENSION ")
	}
	p.int(v.Dimension)
	if v.Distance != "" {
		p.str(" DIST ")
		p.distance(v.Distance, v.Order)
	}
	if v.Type != "" {
		p.str(" TYPE ")
		p.str(v.Type)
	}
	if !disk {
		p.str(" EFC ")
		p.int(v.EFC)
		p.str(" M ")
		p.int(v.M)
		p.str(" M0 ")
		p.int(v.M0)
	}
	if !v.LM.IsNone() {
		p.str(" LM ")
		p.buf = v.LM.AppendText(p.buf)
	}
	p.flag(v.Extend, " EXTEND_CANDIDATES")
	p.flag(v.KeepPruned, " KEEP_PRUNED_CONNECTIONS")
	p.setting(" DEGREE ", v.Degree)
	p.setting(" L_BUILD ", v.LBuild)
	if !v.Alpha.IsNone() {
		p.str(" ALPHA ")
		p.buf = v.Alpha.AppendText(p.buf)
	}
	p.flag(v.Hashed, " HASHED_VECTOR")
}

func (p *printer) setting(word string, n int64) {
	if n != 0 {
		p.str(word)
		p.int(n)
	}
}

func (p *printer) defineEvent(s *DefineEvent) {
	p.head("EVENT", s.Mode)
	p.name(s.Name)
	p.str(" ON ")
	p.name(s.Table)
	if s.Async {
		p.str(" ASYNC RETRY ")
		p.int(s.Retry)
		p.str(" MAXDEPTH ")
		p.int(s.MaxDepth)
	}
	p.str(" WHEN ")
	if s.When == nil {
		p.str("true")
	} else {
		p.whole(s.When)
	}
	p.str(" THEN ")
	list(p, s.Then, p.whole)
	p.comment(s.Comment)
}

func (p *printer) defineFunction(s *DefineFunction) {
	p.head("FUNCTION", s.Mode)
	p.str("fn::")
	p.path(s.Name)
	p.functionHead(s)
	p.comment(s.Comment)
	p.graphQL(s.GraphQL)
	p.onePermission(s.Permission)
}

// functionHead prints the text after the name of a function: parameters, result and body.
func (p *printer) functionHead(s *DefineFunction) {
	p.byte('(')
	list(p, s.Params, func(f FuncParam) {
		p.param(f.Name)
		p.str(": ")
		p.str(f.Type.String())
	})
	p.byte(')')
	if s.Returns != nil {
		p.str(" -> ")
		p.str(s.Returns.String())
	}
	p.byte(' ')
	p.block(s.Body)
}

func (p *printer) graphQL(c GraphQLClauses) {
	if c.Alias != "" {
		p.clause("GRAPHQL_ALIAS", &Literal{Value: value.Str(c.Alias)})
	}
	if c.Deprecated != "" {
		p.clause("GRAPHQL_DEPRECATED", &Literal{Value: value.Str(c.Deprecated)})
	}
}

func (p *printer) defineAnalyzer(s *DefineAnalyzer) {
	p.head("ANALYZER", s.Mode)
	p.name(s.Name)
	if s.Function != "" {
		p.str(" FUNCTION fn::")
		p.path(s.Function)
	}
	if len(s.Tokenizers) > 0 {
		p.str(" TOKENIZERS ")
		p.str(strings.Join(s.Tokenizers, ","))
	}
	if len(s.Filters) > 0 {
		p.str(" FILTERS ")
		list(p, s.Filters, p.filter)
	}
	p.comment(s.Comment)
}

// String is the canonical text of f.
func (f AnalyzerFilter) String() string {
	p := printer{}
	p.filter(f)
	return string(p.buf)
}

func (p *printer) filter(f AnalyzerFilter) {
	p.str(f.Name)
	switch f.Name {
	case "EDGENGRAM", "NGRAM":
		p.byte('(')
		p.int(f.Min)
		p.byte(',')
		p.int(f.Max)
		p.byte(')')
	case "SNOWBALL":
		p.str("(" + f.Language + ")")
	case "MAPPER":
		p.byte('(')
		p.buf = value.AppendQuoted(p.buf, f.Path)
		p.byte(')')
	}
}

func (p *printer) defineUser(s *DefineUser) {
	p.head("USER", s.Mode)
	p.name(s.Name)
	p.onBase(s.Base)
	if s.Password != nil {
		p.kept("PASSWORD", s.Password)
	} else {
		p.str(" PASSHASH ")
		p.buf = value.AppendQuoted(p.buf, s.PassHash)
	}
	p.str(" ROLES ")
	if len(s.Roles) == 0 {
		p.str("VIEWER")
	}
	p.str(strings.Join(s.Roles, ", "))
	p.str(" DURATION FOR TOKEN ")
	p.exprOr(s.TokenDuration, "1h")
	p.str(", FOR SESSION ")
	p.exprOr(s.SessionDuration, "NONE")
	p.comment(s.Comment)
}

// kept is clause in a definition.
func (p *printer) kept(keyword string, x Expr) {
	if x == nil {
		return
	}
	p.byte(' ')
	p.str(keyword)
	p.byte(' ')
	p.whole(x)
}

// whole writes an expression behind which nothing follows that a RETURN or THROW could take for its own: they go
// without parentheses.
func (p *printer) whole(x Expr) {
	if q, ok := x.(*Subquery); ok {
		switch stmt := q.Stmt.(type) {
		case *Return:
			if len(stmt.Fetch) == 0 { // a list that goes on would become part of the FETCH
				p.statement(stmt)
				return
			}
		case *Throw, *Break, *Continue:
			p.statement(stmt)
			return
		}
	}
	p.expr(x)
}

func (p *printer) exprOr(x Expr, otherwise string) {
	if x == nil {
		p.str(otherwise)
		return
	}
	p.expr(x)
}

func (p *printer) defineAccess(s *DefineAccess) {
	p.head("ACCESS", s.Mode)
	p.name(s.Name)
	p.onBase(s.Base)
	switch s.Kind {
	case AccessJWT:
		p.str(" TYPE JWT ")
		p.jwt(s.JWT)
	case AccessRecord:
		p.str(" TYPE RECORD")
		p.kept("SIGNUP", s.Signup)
		p.kept("SIGNIN", s.Signin)
		p.flag(s.Refresh, " WITH REFRESH")
		if s.JWT != nil {
			p.str(" WITH JWT ")
			p.jwt(s.JWT)
		}
	case AccessBearer:
		p.str(" TYPE BEARER FOR ")
		if s.BearerUser {
			p.str("USER")
		} else {
			p.str("RECORD")
		}
	}
	p.kept("AUTHENTICATE", s.Authenticate)
	p.accessDurations(s)
	p.comment(s.Comment)
}

// accessDurations writes the durations that the kind of access has, with their defaults.
func (p *printer) accessDurations(s *DefineAccess) {
	p.str(" DURATION ")
	if s.Kind == AccessBearer || s.Kind == AccessRecord && s.Refresh {
		p.str("FOR GRANT ")
		p.exprOr(s.GrantDuration, "4w2d")
		p.str(", ")
	}
	if s.Kind != AccessJWT || s.JWT == nil || s.JWT.Issuer != nil || s.TokenDuration != nil {
		p.str("FOR TOKEN ")
		p.exprOr(s.TokenDuration, "1h")
		p.str(", ")
	}
	p.str("FOR SESSION ")
	p.exprOr(s.SessionDuration, "NONE")
}

func (p *printer) jwt(j *JWT) {
	switch {
	case j == nil:
		return
	case j.URL != nil:
		p.str("URL ")
		p.expr(j.URL)
	default:
		p.str("ALGORITHM ")
		p.str(j.Algorithm)
		p.str(" KEY ")
		p.expr(j.Key)
	}
	for i, x := range j.Audience {
		if i == 0 {
			p.str(" AUDIENCE ")
		} else {
			p.str(", ")
		}
		p.expr(x)
	}
	if j.Issuer != nil {
		p.str(" WITH ISSUER")
		implied := j.Algorithm
		if j.URL != nil {
			implied = "HS512"
		}
		if j.IssuerAlg != "" && j.IssuerAlg != implied {
			p.str(" ALGORITHM ")
			p.str(j.IssuerAlg)
		}
		p.str(" KEY ")
		p.expr(j.Issuer)
	}
}

func (p *printer) defineSequence(s *DefineSequence) {
	p.head("SEQUENCE", s.Mode)
	p.name(s.Name)
	p.str(" BATCH ")
	p.exprOr(s.Batch, "1000")
	p.str(" START ")
	p.exprOr(s.Start, "0")
	p.kept("TIMEOUT", s.Timeout)
}

func (p *printer) config(s *DefineConfig) {
	switch {
	case s.GraphQL != nil:
		g := s.GraphQL
		p.str("GRAPHQL TABLES ")
		p.nameFilter(g.Tables)
		p.str(" FUNCTIONS ")
		p.functionFilter(g.Functions)
		p.kept("DEPTH", g.Depth)
		p.kept("COMPLEXITY", g.Complexity)
		if g.Introspection == "NONE" {
			p.str(" INTROSPECTION NONE")
		}
	case s.API != nil:
		p.str("API")
		p.apiConfig(s.API)
	case s.Default != nil:
		p.str("DEFAULT")
		p.defaultConfig(s.Default)
	}
}

func (p *printer) defaultConfig(c *DefaultConfig) {
	if c.Namespace != nil {
		p.str(" NAMESPACE ")
		p.name(*c.Namespace)
	}
	if c.Database != nil {
		p.str(" DATABASE ")
		p.name(*c.Database)
	}
}

func (p *printer) nameFilter(f NameFilter) {
	p.str(f.Mode)
	if len(f.Names) > 0 {
		p.byte(' ')
		list(p, f.Names, p.ident)
	}
}

// functionFilter writes the names of functions in brackets, as the reference documents them.
func (p *printer) functionFilter(f NameFilter) {
	p.str(f.Mode)
	if len(f.Names) > 0 {
		p.str(" [")
		list(p, f.Names, func(name string) {
			p.str("fn::")
			p.path(name)
		})
		p.byte(']')
	}
}

func (p *printer) apiConfig(c *APIConfig) {
	p.middleware(c.Middleware)
	p.onePermission(c.Permission)
}

func (p *printer) middleware(calls []Call) {
	if len(calls) > 0 {
		p.str(" MIDDLEWARE ")
		list(p, calls, func(m Call) { p.call(&m) })
	}
}

// defineAPI writes the action for any method first, also where none was given.
func (p *printer) defineAPI(s *DefineAPI) {
	p.head("API", s.Mode)
	p.expr(s.Path)
	fallback := APIAction{Methods: []string{"any"}}
	for _, a := range s.Actions {
		if a.isFallback() {
			fallback = a
		}
	}
	p.apiAction(fallback)
	for _, a := range s.Actions {
		if !a.isFallback() {
			p.apiAction(a)
		}
	}
	p.comment(s.Comment)
}

// isFallback reports whether a is FOR any.
func (a APIAction) isFallback() bool { return len(a.Methods) == 1 && a.Methods[0] == "any" }

func (p *printer) apiAction(a APIAction) {
	p.str(" FOR ")
	p.str(strings.Join(a.Methods, ", "))
	p.apiConfig(&a.Config)
	p.kept("THEN", a.Then)
}

func (p *printer) defineModule(s *DefineModule) {
	p.head("MODULE", s.Mode)
	if s.Silo {
		p.str("silo::")
	} else {
		p.str("mod::")
	}
	p.path(s.Name)
	p.version(s.Version)
	p.kept("AS", s.File)
	p.flag(s.Unsigned, " UNSIGNED")
	p.comment(s.Comment)
	p.onePermission(s.Permission)
}
