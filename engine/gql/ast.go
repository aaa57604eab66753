package gql

import (
	"github.com/nacredb/nacre/engine/value"
)

// Span is a part of the text, in bytes: Start included, End not.
type Span struct{ Start, End int }

// Name is an identifier where it stands. The zero Name stands for none.
type Name struct {
	Text string
	Span Span
}

// Program is a whole text.
type Program struct {
	Source  string
	Explain bool // EXPLAIN stands before it: the plan is asked for
	Query   *Query
}

// Query is composite queries one after the other, NEXT between them: each works on the rows of the one before.
type Query struct{ Parts []*Composite }

// SetOp is the operator between the arms of a composite query.
type SetOp uint8

// The set operators. OpNone: there is one arm.
const (
	OpNone SetOp = iota
	OpUnion
	OpExcept
	OpIntersect
	OpOtherwise
)

// Composite is linear queries with one set operator between all of them.
type Composite struct {
	Yield []Item // of the NEXT before it: the columns that it sees; nil: all
	Op    SetOp
	All   bool // duplicates count
	Arms  []*Linear
}

// Linear is steps and a result, or a query in braces.
type Linear struct {
	Span   Span
	Steps  []Step
	Result *Result // nil: none
	Finish bool    // FINISH in its place
	Braced *Query  // not nil: a query in braces, and nothing else
}

// Step is one statement of a linear query.
type Step interface{ stepNode() }

// Mode is which edges a MATCH may bind twice.
type Mode uint8

// The match modes.
const (
	ModeDefault Mode = iota
	ModeDifferentEdges
	ModeRepeatable
)

// Match is MATCH, or OPTIONAL MATCH.
type Match struct {
	Span     Span
	Optional bool
	Mode     Mode
	Patterns []*Path
	Keep     *Prefix // KEEP; nil: none
	Where    Expr    // nil: none
	Yield    []Name  // nil: all variables go on
}

// OptionalBlock is OPTIONAL { MATCH … }: all of it, or nothing.
type OptionalBlock struct {
	Span  Span
	Steps []Step // *Match and *OptionalBlock
}

// Insert is INSERT.
type Insert struct{ Paths []*InsertPath }

// InsertPath is nodes with edges between them: one more node than edges.
type InsertPath struct {
	Nodes []*InsertNode
	Edges []*InsertEdge
}

// InsertNode is a node to be made, or, where it is a bound name alone, one that is there.
type InsertNode struct {
	Span     Span
	Var      Name
	Label    Name
	HasProps bool
	Props    []Field
}

// InsertEdge is an edge to be made. Left says that it goes from the node after it to the node before.
type InsertEdge struct {
	Span  Span
	Var   Name
	Label Name
	Props []Field
	Left  bool
}

// Field is a name with an expression: of a map, a record, a property list.
type Field struct {
	Name Name
	X    Expr
}

// Set is SET.
type Set struct{ Items []SetItem }

// SetItem is x.p = e, or x = {…} where Prop is the zero Name.
type SetItem struct {
	Var  Name
	Prop Name
	X    Expr
}

// Remove is REMOVE x.p, ….
type Remove struct{ Items []RemoveItem }

// RemoveItem is one property to unset.
type RemoveItem struct{ Var, Prop Name }

// Delete is DELETE.
type Delete struct {
	Detach bool
	Vars   []Name
}

// Let is LET x = e, ….
type Let struct{ Items []Field }

// Filter is FILTER c.
type Filter struct{ X Expr }

// For is FOR x IN list. Ordinality counts from 1, Offset from 0; at most one of them is given.
type For struct {
	Var                Name
	List               Expr
	Ordinality, Offset Name
}

// Order is ORDER BY, OFFSET and LIMIT as a statement.
type Order struct {
	Keys        []Key
	Skip, Limit Expr // *Literal or *Param; nil: none
}

// Call is CALL (a, b) { … }.
type Call struct {
	Span     Span
	Optional bool
	All      bool // no list of imports: all variables
	Imports  []Name
	Body     *Query
}

func (*Match) stepNode()         {}
func (*OptionalBlock) stepNode() {}
func (*Insert) stepNode()        {}
func (*Set) stepNode()           {}
func (*Remove) stepNode()        {}
func (*Delete) stepNode()        {}
func (*Let) stepNode()           {}
func (*Filter) stepNode()        {}
func (*For) stepNode()           {}
func (*Order) stepNode()         {}
func (*Call) stepNode()          {}

// Result is RETURN.
type Result struct {
	Span     Span
	Distinct bool
	Star     bool
	Items    []Item
	Group    []Expr
	GroupAt  Span
	Order    Order
}

// Item is an expression with the name of its column: the alias, or the text of the expression.
type Item struct {
	X     Expr
	Alias string
	Named bool // AS was written
	Span  Span
}

// NullPlace is where ORDER BY puts nulls.
type NullPlace uint8

// The places of nulls.
const (
	NullsDefault NullPlace = iota
	NullsFirst
	NullsLast
)

// Key is one key of ORDER BY.
type Key struct {
	X     Expr
	Desc  bool
	Nulls NullPlace
	Span  Span
}

// PathMode is which nodes and edges a path may repeat.
type PathMode uint8

// The path modes. ModeWalk and the default are trails unless the MATCH says REPEATABLE ELEMENTS.
const (
	PathDefault PathMode = iota
	PathWalk
	PathTrail
	PathSimple
	PathAcyclic
)

// Search is which paths of each pair of end nodes a pattern keeps.
type Search uint8

// The search prefixes.
const (
	SearchNone        Search = iota
	SearchAll                // every path
	SearchAny                // up to Count
	SearchAllShortest        // all of the least length
	SearchShortest           // the Count shortest
	SearchGroups             // all of the Count least lengths
)

// Prefix stands before a path pattern.
type Prefix struct {
	Search Search
	Count  Expr // *Literal or *Param; nil: 1
	Mode   PathMode
	Span   Span
}

// Path is one path pattern.
type Path struct {
	Span   Span
	Var    Name
	Prefix *Prefix // nil: none
	Term   *Term
}

// Term is a list of branches; the matches of all branches count. With Multi, equal matches of several branches count
// once for each branch.
type Term struct {
	Branches []*Concat
	Multi    bool
}

// Concat is factors one after the other.
type Concat struct{ Factors []Factor }

// Factor is *Node, *Edge or *Group.
type Factor interface{ factorNode() }

// Node is (x:label WHERE …).
type Node struct {
	Span  Span
	Var   Name
	Label Label // nil: any
	Where Expr  // nil: none
	Props []Field
}

// Dir is which way an edge pattern points.
type Dir uint8

// The directions. Undirected edges are none here, as all edges are directed.
const (
	Right Dir = iota
	Left
	Either
	Undirected
)

// Edge is -[x:label WHERE …]->{n,m}.
type Edge struct {
	Span  Span
	Var   Name
	Label Label // nil: any
	Where Expr  // nil: none
	Props []Field
	Dir   Dir
	Quant *Quant // nil: exactly one, and no group
}

// Group is ( [sub =] [mode] pattern [WHERE …] ){n,m}. Each repetition by itself keeps to the mode.
type Group struct {
	Span  Span
	Var   Name
	Mode  PathMode
	Term  *Term
	Where Expr
	Quant *Quant // nil: once
}

// Quant is a quantifier.
type Quant struct {
	Min, Max int // Max < 0: no end
	Optional bool
	Span     Span
}

func (*Node) factorNode()  {}
func (*Edge) factorNode()  {}
func (*Group) factorNode() {}

// Label is a label expression.
type Label interface{ labelNode() }

// The label expressions.
type (
	LabelName struct{ Name Name }
	LabelAny  struct{}
	LabelNot  struct{ X Label }
	LabelAnd  struct{ L, R Label }
	LabelOr   struct{ L, R Label }
)

func (*LabelName) labelNode() {}
func (*LabelAny) labelNode()  {}
func (*LabelNot) labelNode()  {}
func (*LabelAnd) labelNode()  {}
func (*LabelOr) labelNode()   {}

// Matches reports whether a label expression holds for a record of a table. A nil l holds for all.
func Matches(l Label, table string) bool {
	switch l := l.(type) {
	case *LabelName:
		return l.Name.Text == table
	case *LabelNot:
		return !Matches(l.X, table)
	case *LabelAnd:
		return Matches(l.L, table) && Matches(l.R, table)
	case *LabelOr:
		return Matches(l.L, table) || Matches(l.R, table)
	}
	return true
}

// Expr is an expression.
type Expr interface{ exprNode() }

// Op is an operator of one or two operands.
type Op uint8

// The operators.
const (
	Or Op = iota
	Xor
	And
	Not
	Equal
	NotEqual
	Less
	LessEqual
	More
	MoreEqual
	Concatenate
	Add
	Sub
	Mul
	Div
	Plus
	Minus
)

// Truth is the truth value that IS tests for.
type Truth uint8

// The truth values.
const (
	IsTrue Truth = iota
	IsFalse
	IsUnknown
)

// The expressions.
type (
	// Literal is a constant.
	Literal struct {
		Value value.Value
		Span  Span
	}
	// Param is $name.
	Param struct{ Name Name }
	// Ref is a variable or column.
	Ref struct{ Name Name }
	// List is [a, b].
	List struct {
		Elems []Expr
		Span  Span
	}
	// Map is {k: v}.
	Map struct {
		Fields []Field
		Span   Span
	}
	// Prop is x.name.
	Prop struct {
		X    Expr
		Name Name
	}
	// Unary is NOT x, +x or -x.
	Unary struct {
		Op   Op
		X    Expr
		Span Span
	}
	// Binary is l op r.
	Binary struct {
		Op   Op
		L, R Expr
		Span Span // of the operator
	}
	// IsNull is x IS [NOT] NULL.
	IsNull struct {
		X   Expr
		Not bool
	}
	// Is is x IS [NOT] TRUE, FALSE or UNKNOWN.
	Is struct {
		X     Expr
		Not   bool
		Truth Truth
	}
	// Aggregate is count(*), sum(x) and the like. Arg is nil for *; Arg2 is the fraction of a percentile.
	Aggregate struct {
		Fn       string // lower case
		Distinct bool
		Arg      Expr
		Arg2     Expr
		Span     Span
	}
	// Func is a call of a function; its name is in upper case. Spec is LEADING, TRAILING or BOTH of TRIM, a form of
	// NORMALIZE, or "".
	Func struct {
		Name string
		Spec string
		Args []Expr
		Span Span
	}
	// Case is CASE. With an operand the conditions of a branch are values that it may equal.
	Case struct {
		Operand Expr // nil: none
		Whens   []When
		Else    Expr // nil: NULL
		Span    Span
	}
	// Cast is CAST(x AS type).
	Cast struct {
		X    Expr
		Type *Type
		Span Span
	}
	// IsTyped is x IS [NOT] TYPED type.
	IsTyped struct {
		X    Expr
		Not  bool
		Type *Type
	}
	// Exists is EXISTS { … }.
	Exists struct {
		Query *Query
		Span  Span
	}
	// Scalar is VALUE { … }.
	Scalar struct {
		Query *Query
		Span  Span
	}
	// LetIn is LET a = e IN x END.
	LetIn struct {
		Items []Field
		X     Expr
		Span  Span
	}
	// IsLabeled is x IS [NOT] LABELED l.
	IsLabeled struct {
		X     Expr
		Not   bool
		Label Label
	}
	// IsEnd is n IS [NOT] SOURCE OF e, or DESTINATION OF.
	IsEnd struct {
		X      Expr
		Not    bool
		Source bool
		Edge   Expr
	}
	// IsDirected is e IS [NOT] DIRECTED.
	IsDirected struct {
		X   Expr
		Not bool
	}
	// IsNormalized is s IS [NOT] [form] NORMALIZED.
	IsNormalized struct {
		X    Expr
		Not  bool
		Form string
	}
	// PathOf is PATH[n, e, m].
	PathOf struct {
		Elems []Expr
		Span  Span
	}
)

// When is one branch of CASE: any of Conds leads to Then. With an operand each of Conds is an expression over Operand.
type When struct {
	Conds []Expr
	Then  Expr
}

// Operand is the value of the operand of CASE, inside its WHENs.
type Operand struct{}

func (*Literal) exprNode()      {}
func (*Param) exprNode()        {}
func (*Ref) exprNode()          {}
func (*List) exprNode()         {}
func (*Map) exprNode()          {}
func (*Prop) exprNode()         {}
func (*Unary) exprNode()        {}
func (*Binary) exprNode()       {}
func (*IsNull) exprNode()       {}
func (*Is) exprNode()           {}
func (*Aggregate) exprNode()    {}
func (*Func) exprNode()         {}
func (*Case) exprNode()         {}
func (*Cast) exprNode()         {}
func (*IsTyped) exprNode()      {}
func (*Exists) exprNode()       {}
func (*Scalar) exprNode()       {}
func (*LetIn) exprNode()        {}
func (*IsLabeled) exprNode()    {}
func (*IsEnd) exprNode()        {}
func (*IsDirected) exprNode()   {}
func (*IsNormalized) exprNode() {}
func (*PathOf) exprNode()       {}
func (*Operand) exprNode()      {}

// TypeKind is a family of types.
type TypeKind uint8

// The types.
const (
	TypeAny TypeKind = iota
	TypeNull
	TypeBool
	TypeString
	TypeBytes
	TypeInt
	TypeDecimal
	TypeFloat
	TypeDatetime
	TypeLocalDatetime
	TypeDate
	TypeDuration
	TypeList
	TypeRecord
	TypePath
	TypeNode
	TypeEdge
)

// Type is a type of CAST and IS TYPED. Bits and Unsigned narrow TypeInt: a value must be in range.
type Type struct {
	Kind     TypeKind
	Name     string // as it prints
	Bits     int
	Unsigned bool
	Elem     *Type // of a list; nil: any
	NotNull  bool
}
