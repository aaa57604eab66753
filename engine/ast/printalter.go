package ast

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// defKinds are the keywords of the kinds of definitions.
var defKinds = [...]string{
	DefNamespace: "NAMESPACE", DefDatabase: "DATABASE", DefTable: "TABLE", DefField: "FIELD", DefIndex: "INDEX",
	DefEvent: "EVENT", DefFunction: "FUNCTION", DefParam: "PARAM", DefAnalyzer: "ANALYZER", DefUser: "USER",
	DefAccess: "ACCESS", DefSequence: "SEQUENCE", DefConfig: "CONFIG", DefAPI: "API", DefBucket: "BUCKET",
	DefModel: "MODEL", DefModule: "MODULE",
}

// String is the keyword of k.
func (k DefKind) String() string { return defKinds[k] }

func (p *printer) remove(s *Remove) {
	p.str("REMOVE ")
	p.str(s.Kind.String())
	p.flag(s.Expunge, " AND EXPUNGE")
	p.flag(s.IfExists, " IF EXISTS")
	p.byte(' ')
	p.defined(s.Kind, s.Name, s.Field)
	p.version(s.Version)
	p.definedOn(s.Kind, s.Table, s.Base)
}

// defined writes the name of a definition with its prefix.
func (p *printer) defined(k DefKind, n Name, field *Idiom) {
	switch k {
	case DefField:
		p.fieldName(field, n.Expr)
	case DefFunction:
		p.str("fn::")
		p.path(n.Ident)
	case DefParam:
		p.param(n.Ident)
	case DefModel:
		p.str("ml::")
		p.path(n.Ident)
	case DefModule:
		p.str("mod::")
		p.path(n.Ident)
	case DefConfig:
		p.str(n.Ident)
	default:
		p.name(n)
	}
}

func (p *printer) definedOn(k DefKind, table Name, base Base) {
	switch k {
	case DefField, DefIndex, DefEvent:
		p.str(" ON ")
		p.name(table)
	case DefUser, DefAccess:
		p.onBase(base)
	}
}

func (p *printer) alter(s *Alter) {
	p.str("ALTER ")
	if s.System {
		p.str("SYSTEM")
	} else {
		p.str(s.Kind.String())
		p.flag(s.IfExists, " IF EXISTS")
		if s.Name != (Name{}) || s.Field != nil {
			p.byte(' ')
			p.defined(s.Kind, s.Name, s.Field)
		}
		p.version(s.Version)
		p.definedOn(s.Kind, s.Table, s.Base)
	}
	for _, c := range s.Clauses {
		p.alterClause(c)
	}
}

func (p *printer) alterClause(c AlterClause) {
	if api, ok := c.Def.(*DefineAPI); ok && c.Drop && c.Name == "THEN" {
		p.str(" FOR ")
		p.str(strings.Join(api.Actions[0].Methods, ", "))
		p.str(" DROP THEN")
		return
	}
	if c.Drop {
		p.str(" DROP ")
		p.str(c.Name)
		if api, ok := c.Def.(*DefineAPI); ok {
			p.byte(' ')
			p.str(strings.Join(api.Actions[0].Methods, ", "))
		}
		return
	}
	if c.X != nil {
		if f, ok := c.Def.(*DefineField); ok && f.DefaultAlways {
			p.clause("DEFAULT ALWAYS", c.X)
			return
		}
		p.clause(c.Name, c.X)
		return
	}
	switch def := c.Def.(type) {
	case *DefineTable:
		p.alterTable(c.Name, def)
	case *DefineField:
		p.alterField(c.Name, def)
	case *DefineUser:
		p.alterUser(c.Name, def)
	case *DefineAccess:
		p.str(" DURATION")
		p.durations([]string{"FOR GRANT", "FOR TOKEN", "FOR SESSION"}, def.GrantDuration, def.TokenDuration,
			def.SessionDuration)
	case *DefineEvent:
		p.alterEvent(c.Name, def)
	case *DefineAnalyzer:
		p.alterAnalyzer(c.Name, def)
	case *DefineFunction:
		switch c.Name {
		case "SIGNATURE":
			p.functionHead(def)
		case "BODY":
			p.byte(' ')
			p.block(def.Body)
		default:
			p.onePermission(def.Permission)
		}
	case *DefineParam:
		p.onePermission(def.Permission)
	case *DefineBucket:
		p.onePermission(def.Permission)
	case *DefineModel:
		p.onePermission(def.Permission)
	case *DefineAPI:
		p.apiAction(def.Actions[0])
	case *DefineConfig:
		p.alterConfig(c.Name, def)
	default:
		p.byte(' ')
		p.str(c.Name)
	}
}

// alterConfig writes the one clause that def has.
func (p *printer) alterConfig(name string, def *DefineConfig) {
	switch {
	case def.GraphQL == nil && def.API == nil && def.Default == nil:
	case name == "PERMISSIONS":
		p.onePermission(def.API.Permission)
	case name == "MIDDLEWARE":
		p.middleware(def.API.Middleware)
	case def.Default != nil:
		p.defaultConfig(def.Default)
	case name == "TABLES":
		p.str(" TABLES ")
		p.nameFilter(def.GraphQL.Tables)
	case name == "FUNCTIONS":
		p.str(" FUNCTIONS ")
		p.functionFilter(def.GraphQL.Functions)
	case name == "INTROSPECTION":
		p.str(" INTROSPECTION ")
		p.str(def.GraphQL.Introspection)
	default:
		p.clause("DEPTH", def.GraphQL.Depth)
		p.clause("COMPLEXITY", def.GraphQL.Complexity)
	}
}

func (p *printer) alterTable(name string, def *DefineTable) {
	switch name {
	case "TYPE":
		p.tableKind(def)
	case "PERMISSIONS":
		p.str(" PERMISSIONS ")
		p.permissions(&def.Permissions, true)
	case "CHANGEFEED":
		p.changeFeed(def.ChangeFeed)
	default:
		p.byte(' ')
		p.str(name)
	}
}

func (p *printer) alterField(name string, def *DefineField) {
	switch name {
	case "TYPE":
		p.str(" TYPE ")
		p.str(def.Type.String())
		p.flag(def.Flexible, " FLEXIBLE")
	case "PERMISSIONS":
		p.str(" PERMISSIONS ")
		p.permissions(&def.Permissions, false)
	case "REFERENCE":
		p.reference(def.Reference)
	default:
		p.byte(' ')
		p.str(name)
	}
}

func (p *printer) alterUser(name string, def *DefineUser) {
	switch name {
	case "PASSHASH":
		p.str(" PASSHASH ")
		p.buf = value.AppendQuoted(p.buf, def.PassHash)
	case "ROLES":
		p.str(" ROLES ")
		list(p, def.Roles, p.str)
	case "DURATION":
		p.str(" DURATION")
		p.durations([]string{"FOR TOKEN", "FOR SESSION"}, def.TokenDuration, def.SessionDuration)
	}
}

// durations writes those that are there, with commas between them.
func (p *printer) durations(words []string, xs ...Expr) {
	first := true
	for i, x := range xs {
		if x != nil {
			p.flag(!first, ",")
			first = false
			p.clause(words[i], x)
		}
	}
}

func (p *printer) alterEvent(name string, def *DefineEvent) {
	switch name {
	case "THEN":
		p.str(" THEN ")
		list(p, def.Then, p.expr)
	case "ASYNC":
		p.str(" ASYNC RETRY ")
		p.int(def.Retry)
		p.str(" MAXDEPTH ")
		p.int(def.MaxDepth)
	}
}

func (p *printer) alterAnalyzer(name string, def *DefineAnalyzer) {
	switch name {
	case "FUNCTION":
		p.str(" FUNCTION fn::")
		p.path(def.Function)
	case "TOKENIZERS":
		p.str(" TOKENIZERS ")
		for i, t := range def.Tokenizers {
			p.flag(i > 0, ",")
			p.str(t)
		}
	case "FILTERS":
		p.str(" FILTERS ")
		list(p, def.Filters, p.filter)
	}
}
