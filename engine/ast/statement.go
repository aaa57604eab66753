package ast

import "github.com/nacredb/nacre/engine/value"

// Statement is any statement node. An expression used as a statement is an *ExprStmt.
type Statement interface{ stmtNode() }

// Query is a parsed text: its statements in order.
type Query struct{ Stmts []Statement }

// Name is the name in a definition: an identifier, or an expression that yields it.
type Name struct {
	Ident string
	Expr  Expr // nil for a plain identifier
}

// ExprStmt is an expression as a statement.
type ExprStmt struct{ X Expr }

// Transaction control.
type (
	Begin  struct{}
	Commit struct{}
	Cancel struct{}
)

// GQL is a program in ISO GQL, or fields of a GraphQL operation, as a statement. No text of the language holds one:
// engine/graph and engine/graphql make and run them.
type GQL struct {
	Program any  // *graph.Program or *graphql.Part
	Writes  bool // it may write
	Answers bool // it ends with a result
}

// Use is USE [NS n] [DB d]. A nil part is left as it is. Default is USE DEFAULT.
type Use struct {
	NS, DB  *Name
	Default bool
}

// Let is LET $name[: type] = expr.
type Let struct {
	Name string
	Type *value.Type
	X    Expr
}

// Return is RETURN expr [FETCH …].
type Return struct {
	X     Expr
	Fetch []Expr
}

// If is IF … ELSE IF … ELSE. Bracketed is the { } form, otherwise THEN … END.
type If struct {
	Branches  []IfBranch
	Else      Expr // nil when absent
	Bracketed bool
}

// IfBranch is one condition with its body.
type IfBranch struct{ Cond, Then Expr }

// For is FOR $name IN expr { … }.
type For struct {
	Name string
	In   Expr
	Body *Block
}

// Control flow without more.
type (
	Break    struct{}
	Continue struct{}
	Throw    struct{ X Expr }
	Sleep    struct{ Duration value.Duration }
	Option   struct {
		Name string
		On   bool
	}
)

// Assign is one assignment of SET.
type Assign struct {
	Place *Idiom
	Op    AssignOp
	X     Expr
}

// AssignOp is the operator of an assignment.
type AssignOp uint8

// The assignment operators.
const (
	AssignSet    AssignOp = iota // =
	AssignAdd                    // +=
	AssignSub                    // -=
	AssignExtend                 // +?=
)

// DataKind says which data clause a statement has.
type DataKind uint8

// The data clauses.
const (
	DataNone DataKind = iota
	DataSet
	DataUnset
	DataContent
	DataReplace
	DataMerge
	DataPatch
)

// Data is the data clause of a write.
type Data struct {
	Kind  DataKind
	Set   []Assign // DataSet
	Unset []*Idiom // DataUnset
	X     Expr     // the others
}

// OutputKind says what a write returns.
type OutputKind uint8

// The kinds of RETURN clauses of writes. OutputDefault means that none was written.
const (
	OutputDefault OutputKind = iota
	OutputNone
	OutputNull
	OutputBefore
	OutputAfter
	OutputDiff
	OutputFields
)

// Output is the RETURN clause of a write.
type Output struct {
	Kind   OutputKind
	Fields *Projections
}

// Projections are the fields of SELECT and RETURN. With Value there is exactly one field.
type Projections struct {
	Value  bool
	Fields []Projection
}

// Projection is *, or an expression with an optional alias.
type Projection struct {
	All   bool
	X     Expr
	Alias *Idiom
	Span  Span
}

// Create is CREATE.
type Create struct {
	Only    bool
	Targets []Expr
	Data    *Data
	Output  *Output
	Version Expr
	Timeout Expr
}

// Insert is INSERT. Rows (with Fields) is the VALUES form, else X is the value.
type Insert struct {
	Relation, Ignore bool
	Into             Expr // *Table, *Param or other; nil when absent
	X                Expr
	Fields           []*Idiom
	Rows             [][]Expr
	OnDuplicate      []Assign
	Output           *Output
	Version          Expr
	Timeout          Expr
}

// Update is UPDATE, or UPSERT.
type Update struct {
	Upsert  bool
	Only    bool
	Targets []Expr
	With    *With
	Data    *Data
	Where   Expr
	Output  *Output
	Timeout Expr
	Explain *Explain
}

// Delete is DELETE.
type Delete struct {
	Only    bool
	Targets []Expr
	With    *With
	Where   Expr
	Output  *Output
	Version Expr // of imports: records were gone from then on
	Timeout Expr
	Explain *Explain
}

// Relate is RELATE from->edge->to (the arrow form <- is normalised).
type Relate struct {
	Only     bool
	OrUpdate bool
	From     Expr
	Edge     Expr // *Table, *RecordID, *Param, …
	To       Expr
	Unique   bool
	Data     *Data
	Output   *Output
	Timeout  Expr
}

// Select is SELECT.
type Select struct {
	Projections *Projections
	Omit        []Expr
	Only        bool
	From        []Expr
	With        *With
	Where       Expr
	Split       []*Idiom
	Group       *Group
	Order       *Order
	Limit       Expr
	Start       Expr
	Fetch       []Expr
	Version     Expr
	Timeout     Expr
	TempFiles   bool
	Explain     *Explain
}

// With is WITH NOINDEX or WITH INDEX a, b.
type With struct {
	NoIndex bool
	Indexes []string
}

// Group is GROUP ALL or GROUP BY.
type Group struct {
	All bool
	By  []*Idiom
}

// Order is ORDER BY.
type Order struct {
	Random bool
	Keys   []OrderKey
}

// OrderKey is one key of ORDER BY.
type OrderKey struct {
	Key     *Idiom
	Collate bool
	Numeric bool
	Desc    bool
}

// Explain is the trailing EXPLAIN [FULL | ANALYZE].
type Explain struct{ Full bool }

// ExplainStmt is the leading EXPLAIN [ANALYZE] [FORMAT TEXT|JSON] statement.
type ExplainStmt struct {
	Analyze bool
	JSON    bool
	Stmt    Statement
}

// Live is LIVE SELECT. Diff has no projections.
type Live struct {
	Diff        bool
	Projections *Projections
	From        Expr
	Where       Expr
	Fetch       []Expr
}

// Kill is KILL id.
type Kill struct{ ID Expr }

// Show is SHOW CHANGES FOR TABLE t | DATABASE SINCE x [LIMIT n].
type Show struct {
	Table string // "" for the database
	Since Expr
	Limit Expr
}

// InfoLevel says what INFO is about.
type InfoLevel uint8

// The levels of INFO.
const (
	InfoRoot InfoLevel = iota
	InfoNamespace
	InfoDatabase
	InfoTable
	InfoUser
	InfoIndex
)

// Info is INFO FOR …
type Info struct {
	Level     InfoLevel
	Name      *Name // table, user or index
	Table     *Name // of an index
	Base      Base  // of a user; BaseNone when not given
	Version   Expr
	Structure bool
}

// Rebuild is REBUILD INDEX.
type Rebuild struct {
	IfExists     bool
	Name, Table  *Name
	Concurrently bool
}

func (*ExprStmt) stmtNode()    {}
func (*Begin) stmtNode()       {}
func (*Commit) stmtNode()      {}
func (*Cancel) stmtNode()      {}
func (*Use) stmtNode()         {}
func (*Let) stmtNode()         {}
func (*Return) stmtNode()      {}
func (*If) stmtNode()          {}
func (*For) stmtNode()         {}
func (*Break) stmtNode()       {}
func (*Continue) stmtNode()    {}
func (*Throw) stmtNode()       {}
func (*Sleep) stmtNode()       {}
func (*Option) stmtNode()      {}
func (*Create) stmtNode()      {}
func (*Insert) stmtNode()      {}
func (*Update) stmtNode()      {}
func (*Delete) stmtNode()      {}
func (*Relate) stmtNode()      {}
func (*Select) stmtNode()      {}
func (*ExplainStmt) stmtNode() {}
func (*Live) stmtNode()        {}
func (*Kill) stmtNode()        {}
func (*Show) stmtNode()        {}
func (*Info) stmtNode()        {}
func (*Rebuild) stmtNode()     {}
