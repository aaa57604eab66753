package ast

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// Base is the level that a user or access method is defined on.
type Base uint8

// The levels. BaseNone: not written, the session's level.
const (
	BaseNone Base = iota
	BaseRoot
	BaseNamespace
	BaseDatabase
)

// Or is b, or other where the level is not written.
func (b Base) Or(other Base) Base {
	if b == BaseNone {
		return other
	}
	return b
}

// Mode is how a definition treats an existing one.
type Mode uint8

// The modes of DEFINE.
const (
	ModeCreate      Mode = iota // an existing one is an error
	ModeOverwrite               // OVERWRITE
	ModeIfNotExists             // IF NOT EXISTS
)

// Permission is NONE, FULL or WHERE expr.
type Permission struct {
	Kind  PermissionKind
	Where Expr
}

// PermissionKind is the form of a Permission.
type PermissionKind uint8

// The forms of a permission.
const (
	PermissionNone PermissionKind = iota
	PermissionFull
	PermissionWhere
)

// Permissions are those of a table or field. Fields have no Delete. Given is false where the
// clause was not written (defaults: NONE for tables, FULL for fields).
type Permissions struct {
	Given                          bool
	Select, Create, Update, Delete Permission
}

// ChangeFeed is CHANGEFEED expiry [INCLUDE ORIGINAL].
type ChangeFeed struct {
	Expiry   value.Duration
	Original bool
}

// DefineNamespace is DEFINE NAMESPACE.
type DefineNamespace struct {
	Mode    Mode
	Name    Name
	Comment Expr
}

// DefineDatabase is DEFINE DATABASE.
type DefineDatabase struct {
	Mode       Mode
	Name       Name
	Strict     bool
	ChangeFeed *ChangeFeed
	Comment    Expr
}

// TableKind is the TYPE of a table.
type TableKind uint8

// The kinds of tables.
const (
	TableAny TableKind = iota
	TableNormal
	TableRelation
)

// DefineTable is DEFINE TABLE.
type DefineTable struct {
	Mode        Mode
	Name        Name
	Drop        bool
	Schemafull  bool
	SchemaGiven bool // SCHEMAFULL or SCHEMALESS was written
	Kind        TableKind
	KindGiven   bool
	In, Out     []string // relation ends; empty: any
	Enforced    bool
	View        *Select
	ChangeFeed  *ChangeFeed
	Permissions Permissions
	Comment     Expr
	GraphQL     GraphQLClauses
}

// GraphQLClauses are GRAPHQL_ALIAS and GRAPHQL_DEPRECATED of a table, field or function; "" where not written.
type GraphQLClauses struct{ Alias, Deprecated string }

// GraphQLName reports whether s can be a name in a GraphQL schema; names that begin with __ are GraphQL's own.
func GraphQLName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && !strings.HasPrefix(s, "__")
}

// ReferenceAction is ON DELETE of a reference.
type ReferenceAction uint8

// The actions on deletion of a referenced record.
const (
	ReferenceIgnore ReferenceAction = iota
	ReferenceReject
	ReferenceCascade
	ReferenceUnset
	ReferenceThen
)

// Reference is REFERENCE [ON DELETE …].
type Reference struct {
	Action ReferenceAction
	Then   Expr
}

// DefineField is DEFINE FIELD.
type DefineField struct {
	Mode          Mode
	Name          *Idiom
	NameExpr      Expr // when the name is an expression
	Table         Name
	Type          *value.Type
	Flexible      bool
	Inline        bool
	Default       Expr
	DefaultAlways bool
	Readonly      bool
	Value         Expr
	Assert        Expr
	Computed      Expr
	Reference     *Reference
	Permissions   Permissions
	Comment       Expr
	GraphQL       GraphQLClauses
}

// IndexKind is the kind of an index.
type IndexKind uint8

// The kinds of indexes.
const (
	IndexOrdered IndexKind = iota
	IndexUnique
	IndexCount
	IndexFullText
	IndexHNSW
	IndexDiskANN
)

// DefineIndex is DEFINE INDEX.
type DefineIndex struct {
	Mode         Mode
	Name         Name
	Table        Name
	Fields       []Expr // idioms, mostly
	Kind         IndexKind
	CountWhere   Expr
	FullText     *FullText
	Vector       *VectorIndex
	Comment      Expr
	Concurrently bool
	Defer        bool
}

// FullText holds the parameters of a full-text index.
type FullText struct {
	Analyzer   string
	BM25       bool
	K1, B      float64
	Highlights bool
}

// VectorIndex holds the parameters of an HNSW or DISKANN index. The parser fills in the defaults of
// HNSW; of DISKANN zero means the default.
type VectorIndex struct {
	Dimension      int64
	Distance       string // EUCLIDEAN, COSINE, … upper case
	Order          value.Value
	Type           string // F64 F32 I64 I32 I16 F16 I8 U8
	EFC, M, M0     int64
	LM             value.Value
	Extend         bool
	KeepPruned     bool
	Degree, LBuild int64
	Alpha          value.Value
	Hashed         bool
}

// DefineEvent is DEFINE EVENT.
type DefineEvent struct {
	Mode     Mode
	Name     Name
	Table    Name
	When     Expr // nil: true
	Then     []Expr
	Async    bool
	Retry    int64
	MaxDepth int64
	Comment  Expr
}

// DefineFunction is DEFINE FUNCTION fn::path. Name lacks the prefix.
type DefineFunction struct {
	Mode       Mode
	Name       string
	Params     []FuncParam
	Returns    *value.Type
	Body       *Block
	Permission *Permission // nil: FULL
	Comment    Expr
	GraphQL    GraphQLClauses
}

// DefineParam is DEFINE PARAM $name.
type DefineParam struct {
	Mode       Mode
	Name       string
	Value      Expr
	Permission *Permission
	Comment    Expr
}

// DefineAnalyzer is DEFINE ANALYZER.
type DefineAnalyzer struct {
	Mode       Mode
	Name       Name
	Function   string   // without fn::
	Tokenizers []string // BLANK CAMEL CLASS PUNCT
	Filters    []AnalyzerFilter
	Comment    Expr
}

// AnalyzerFilter is one filter of an analyzer. Name is upper case.
type AnalyzerFilter struct {
	Name     string // ASCII LOWERCASE UPPERCASE EDGENGRAM NGRAM SNOWBALL MAPPER
	Min, Max int64
	Language string
	Path     string
}

// DefineUser is DEFINE USER.
type DefineUser struct {
	Mode            Mode
	Name            Name
	Base            Base
	Password        Expr // PASSWORD; nil when absent
	PassHash        string
	Roles           []string
	TokenDuration   Expr // nil: not written
	SessionDuration Expr
	Comment         Expr
}

// AccessKind is the TYPE of an access method.
type AccessKind uint8

// The kinds of access methods.
const (
	AccessJWT AccessKind = iota
	AccessRecord
	AccessBearer
)

// JWT is the key material of an access method.
type JWT struct {
	Algorithm string
	Key       Expr
	URL       Expr
	Audience  []Expr // the aud claims that are taken; empty: any, or none
	Issuer    Expr   // WITH ISSUER KEY
	IssuerAlg string
}

// DefineAccess is DEFINE ACCESS.
type DefineAccess struct {
	Mode            Mode
	Name            Name
	Base            Base
	Kind            AccessKind
	Signup, Signin  Expr
	JWT             *JWT
	Refresh         bool
	BearerUser      bool // BEARER FOR USER, else FOR RECORD
	Authenticate    Expr
	GrantDuration   Expr // a Literal NONE for NONE; nil: not written
	TokenDuration   Expr
	SessionDuration Expr
	Comment         Expr
}

// DefineSequence is DEFINE SEQUENCE.
type DefineSequence struct {
	Mode         Mode
	Name         Name
	Batch, Start Expr
	Timeout      Expr
}

// DefineConfig is DEFINE CONFIG. Exactly one part is set.
type DefineConfig struct {
	Mode    Mode
	GraphQL *GraphQLConfig
	API     *APIConfig
	Default *DefaultConfig
}

// GraphQLConfig is DEFINE CONFIG GRAPHQL.
type GraphQLConfig struct {
	Tables, Functions NameFilter
	Depth, Complexity Expr
	Introspection     string // "", AUTO, NONE
}

// NameFilter is AUTO, NONE, INCLUDE or EXCLUDE names.
type NameFilter struct {
	Mode  string
	Names []string
}

// APIConfig is DEFINE CONFIG API, and the settings of one API.
type APIConfig struct {
	Middleware []Call
	Permission *Permission
}

// DefaultConfig is DEFINE CONFIG DEFAULT.
type DefaultConfig struct{ Namespace, Database *Name }

// DefineAPI is DEFINE API.
type DefineAPI struct {
	Mode    Mode
	Path    Expr
	Actions []APIAction
	Config  APIConfig
	Comment Expr
}

// APIAction is FOR methods … THEN.
type APIAction struct {
	Methods []string // lower case; "any"
	Config  APIConfig
	Then    Expr
}

// DefineBucket is DEFINE BUCKET.
type DefineBucket struct {
	Mode       Mode
	Name       Name
	Backend    Expr
	Readonly   bool
	Permission *Permission
	Comment    Expr
}

// DefineModel is DEFINE MODEL ml::name<version>.
type DefineModel struct {
	Mode          Mode
	Name, Version string
	Permission    *Permission
	Comment       Expr
}

// DefineModule is DEFINE MODULE mod::x AS|FROM file.
type DefineModule struct {
	Mode       Mode
	Name       string // without mod:: or silo::
	Silo       bool   // silo::org::pkg<version>
	Version    string // silo form
	File       Expr
	Unsigned   bool
	Permission *Permission
	Comment    Expr
}

// DefKind is a kind of definition, for REMOVE and ALTER.
type DefKind uint8

// The kinds of definitions.
const (
	DefNamespace DefKind = iota
	DefDatabase
	DefTable
	DefField
	DefIndex
	DefEvent
	DefFunction
	DefParam
	DefAnalyzer
	DefUser
	DefAccess
	DefSequence
	DefConfig
	DefAPI
	DefBucket
	DefModel
	DefModule
)

// Remove is REMOVE kind [IF EXISTS] name [ON table|level].
type Remove struct {
	Kind     DefKind
	IfExists bool
	Expunge  bool
	Name     Name   // functions without fn::, params without $; configs: GRAPHQL, API, DEFAULT
	Field    *Idiom // of a field
	Table    Name   // of a field, index, event
	Base     Base   // of a user, access
	Version  string // of a model
}

// Alter is ALTER kind [IF EXISTS] name clauses.
type Alter struct {
	Kind     DefKind
	System   bool // ALTER SYSTEM
	IfExists bool
	Name     Name
	Version  string // of a model
	Field    *Idiom
	Table    Name
	Base     Base
	Clauses  []AlterClause
}

// AlterClause is one change: DROP X or X value. Name is the upper-case keyword (COMMENT, TYPE,
// PERMISSIONS, SCHEMAFULL, COMPACT, PREPARE REMOVE, QUERY_TIMEOUT, FOR, …). Def carries the new clause
// as if it stood in a DEFINE of the same kind (*DefineTable, *DefineField, *DefineUser, …).
type AlterClause struct {
	Name string
	Drop bool
	X    Expr
	Def  Statement
}

// AccessAction is the operation of an ACCESS statement.
type AccessAction uint8

// The actions of ACCESS.
const (
	AccessGrant AccessAction = iota
	AccessShow
	AccessRevoke
	AccessPurge
)

// Access is ACCESS name [ON level] GRANT | SHOW | REVOKE | PURGE.
type Access struct {
	Name    string
	Base    Base
	Action  AccessAction
	User    string // GRANT FOR USER
	Record  Expr   // GRANT FOR RECORD
	All     bool   // SHOW, REVOKE
	GrantID string
	Where   Expr
	Expired bool // PURGE
	Revoked bool
	For     Expr
}

func (*GQL) stmtNode()             {}
func (*DefineNamespace) stmtNode() {}
func (*DefineDatabase) stmtNode()  {}
func (*DefineTable) stmtNode()     {}
func (*DefineField) stmtNode()     {}
func (*DefineIndex) stmtNode()     {}
func (*DefineEvent) stmtNode()     {}
func (*DefineFunction) stmtNode()  {}
func (*DefineParam) stmtNode()     {}
func (*DefineAnalyzer) stmtNode()  {}
func (*DefineUser) stmtNode()      {}
func (*DefineAccess) stmtNode()    {}
func (*DefineSequence) stmtNode()  {}
func (*DefineConfig) stmtNode()    {}
func (*DefineAPI) stmtNode()       {}
func (*DefineBucket) stmtNode()    {}
func (*DefineModel) stmtNode()     {}
func (*DefineModule) stmtNode()    {}
func (*Remove) stmtNode()          {}
func (*Alter) stmtNode()           {}
func (*Access) stmtNode()          {}
