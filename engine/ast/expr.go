// Package ast is the syntax tree of the language and its canonical printer.
//
// Nodes are plain data, built by engine/parse (and engine/gql) and never changed afterwards: one
// tree may be run by many goroutines at once. parse ∘ print is a fixed point; DEFINE texts and INFO
// are printed from these nodes. The package does not evaluate anything.
package ast

import (
	"slices"

	"github.com/nacredb/nacre/engine/value"
)

// Span is a half-open range of byte offsets in the source text.
type Span struct{ Start, End int }

// Expr is any expression node.
type Expr interface{ exprNode() }

// Literal is a constant value: number, string, duration, datetime, uuid, bytes, regex, file, point,
// true, false, NONE, NULL.
type Literal struct{ Value value.Value }

// LiteralText is the string in a literal; "" for anything else.
func LiteralText(x Expr) string {
	if l, ok := x.(*Literal); ok && l.Value.Kind() == value.KindString {
		return l.Value.Str()
	}
	return ""
}

// Param is $name.
type Param struct{ Name string }

// Constant is a named constant such as math::PI. Path is canonical.
type Constant struct {
	Path  string
	Value value.Value
}

// Array is [a, b].
type Array struct {
	Elems []Expr
	// Const is the value where every element is a constant, worked out once by the parser; else nil.
	Const *value.Value
}

// Set is {a, b} with at least one comma.
type Set struct{ Elems []Expr }

// Object is {a: 1}; fields in source order (a later duplicate wins).
type Object struct{ Fields []ObjectField }

// ObjectField is one entry of an object literal.
type ObjectField struct {
	Key   string
	Value Expr
}

// RecordID is table:key. Key is a Literal (int, string, uuid), an Array, an Object, a KeyGen or a KeyRange.
type RecordID struct {
	Table string
	Key   Expr
}

// KeyGen is a generated record key: rand(), ulid() or uuid().
type KeyGen struct{ Name string }

// KeyRange is a range of record keys, as in person:1..5. A nil bound is open.
type KeyRange struct {
	Start, End Expr
	StartExcl  bool // 1>..
	EndIncl    bool // ..=5
}

// Range is start..end over values. A nil bound is open.
type Range struct {
	Start, End Expr
	StartExcl  bool
	EndIncl    bool
}

// Mock is |table:count| or |table:from..to|: an array of record ids.
type Mock struct {
	Table    string
	IsRange  bool
	From, To int64 // Count in From when not a range; To is exclusive
	FromExcl bool  // 1>..
	ToIncl   bool  // as written, for printing; To is adjusted by the evaluator
	OpenFrom bool
	OpenTo   bool
}

// Unary is !x, -x or +x.
type Unary struct {
	Op UnaryOp
	X  Expr
}

// UnaryOp is a prefix operator.
type UnaryOp uint8

// The prefix operators.
const (
	OpNot UnaryOp = iota
	OpNeg
	OpPlus
)

// Binary is l op r.
type Binary struct {
	Op    BinaryOp
	L, R  Expr
	KNN   *KNN   // with OpKNN
	Match *Match // with OpMatches
}

// BinaryOp is an infix operator.
type BinaryOp uint8

// The infix operators.
const (
	OpOr BinaryOp = iota
	OpAnd
	OpEqual    // = and IS
	OpExact    // ==
	OpNotEqual // != and IS NOT
	OpAnyEqual // ?=
	OpAllEqual // *=
	OpLess
	OpLessEqual
	OpMore
	OpMoreEqual
	OpContains
	OpContainsNot
	OpContainsAll
	OpContainsAny
	OpContainsNone
	OpInside
	OpNotInside
	OpAllInside
	OpAnyInside
	OpNoneInside
	OpOutside
	OpIntersects
	OpMatches // @@, @1@, @OR@
	OpKNN     // <|k,ef|>
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpRem
	OpPow
	OpNullCoalesce // ??
	OpTruthyElse   // ?:
)

// KNN is the middle of <|k,ef|> or <|k,DISTANCE|>.
type KNN struct {
	K        int64
	EF       int64  // 0 when absent
	Distance string // canonical upper-case, "" when absent; MINKOWSKI has Order
	Order    value.Value
}

// Match is the middle of @ref,OP@.
type Match struct {
	Ref    int64 // valid when HasRef
	HasRef bool
	Op     string // "", "AND" or "OR"
}

// Cast is <T>x.
type Cast struct {
	Type *value.Type
	X    Expr
}

// CallKind says what a call's path names.
type CallKind uint8

// The kinds of callees.
const (
	CallBuiltin CallKind = iota // string::len
	CallCustom                  // fn::a::b
	CallModel                   // ml::name<1.0.0>
	CallModule                  // mod::x::f
	CallSilo                    // silo::org::pkg<1.0.0>::f
)

// Call is a call of a named function. Path is canonical: lower case for built-ins, without the
// "fn::", "ml::", "mod::" prefix for the others.
type Call struct {
	Kind    CallKind
	Path    string
	Version string // models and silos
	Method  string // of a silo: what comes after the version
	Args    []Expr
	// Impl is the answer of the parser's Resolver for a built-in; the evaluator knows its type.
	Impl any
	Span Span
}

// Closure is |$a: int, $b| -> type body.
type Closure struct {
	Params  []FuncParam
	Returns *value.Type // nil when not given
	Body    Expr
	Size    int // bytes of its source
}

// FuncParam is one parameter of a closure or function. Type is nil where none was written.
type FuncParam struct {
	Name string
	Type *value.Type
}

// Script is function(args) { js }.
type Script struct {
	Args   []Expr
	Source string
}

// Block is { stmt; stmt }: the value of the last one.
type Block struct{ Stmts []Statement }

// Subquery is a statement used as an expression: in parentheses, or bare after RETURN, LET, = and so on.
type Subquery struct{ Stmt Statement }

// Paren keeps explicit parentheses around an expression where the canonical text keeps them.
type Paren struct{ X Expr }

// Idiom is a path: a.b[0].c, $p.name, person:1->knows->person.
type Idiom struct{ Parts []Part }

// Part is one step of an idiom.
type Part interface{ partNode() }

// Traverses reports whether a path leads over edges or references.
func (x *Idiom) Traverses() bool {
	return slices.ContainsFunc(x.Parts, func(p Part) bool { _, ok := p.(*PartGraph); return ok })
}

// RepeatsRest reports whether a path holds a recursion that repeats all that follows it: x.{..}.a, not x.{..}(.a).
func (x *Idiom) RepeatsRest() bool {
	return slices.ContainsFunc(x.Parts, func(p Part) bool {
		r, ok := p.(*PartRecurse)
		return ok && r.Recurse.Path == nil
	})
}

// Repeats reports whether a path holds .@, at its top or in a destructuring.
func Repeats(parts []Part) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *PartRepeat:
			return true
		case *PartDestructure:
			if repeatsIn(p.Fields) {
				return true
			}
		}
	}
	return false
}

func repeatsIn(fields []DestructureField) bool {
	for i := range fields {
		if id, ok := fields[i].Expr.(*Idiom); ok && Repeats(id.Parts) {
			return true
		}
		if repeatsIn(fields[i].Nested) {
			return true
		}
	}
	return false
}

// The parts of an idiom. Only the first part of an idiom may be a PartStart.
type (
	// PartStart is a value that the path starts from: $p, person:1, (…), {…}, f(x).
	PartStart struct{ X Expr }
	// PartField is .name (or the leading name).
	PartField struct{ Name string }
	// PartAll is .* or [*].
	PartAll struct{}
	// PartLast is [$].
	PartLast struct{}
	// PartIndex is [expr].
	PartIndex struct{ X Expr }
	// PartWhere is [WHERE expr] or [? expr].
	PartWhere struct{ X Expr }
	// PartOptional is .?
	PartOptional struct{}
	// PartFlatten is … or ...
	PartFlatten struct{}
	// PartDestructure is .{a, b: expr, c.*, d.{e}}.
	PartDestructure struct{ Fields []DestructureField }
	// PartMethod is .name(args).
	PartMethod struct {
		Name string
		Args []Expr
		Impl any // see Call.Impl
	}
	// PartCall is (args): a call of the closure value so far.
	PartCall struct{ Args []Expr }
	// PartGraph is ->what, <-what, <->what or <~what.
	PartGraph struct{ Graph *Graph }
	// PartRecurse is .{1..3+collect}(path).
	PartRecurse struct{ Recurse *Recurse }
	// PartRepeat is .@ inside a recursion body.
	PartRepeat struct{}
	// PartDoc is a leading @: the current document's record.
	PartDoc struct{}
)

// DestructureField is one entry of a destructuring.
type DestructureField struct {
	Name string
	// At most one of the following; none for the plain field.

	Expr   Expr               // name: expr
	All    bool               // name.*
	Nested []DestructureField // name.{…}
}

// GraphDir is the direction of a graph step.
type GraphDir uint8

// The directions.
const (
	DirOut  GraphDir = iota // ->
	DirIn                   // <-
	DirBoth                 // <->
	DirRef                  // <~
)

// Graph is one graph step. Any (with no Tables) is "?".
type Graph struct {
	Dir    GraphDir
	Any    bool
	Tables []GraphTable
	// The rest only in the parenthesised form.
	Select *Projections // (SELECT … FROM …)
	Only   bool         // FROM ONLY: the one row, no list
	Where  Expr
	Split  []*Idiom
	Group  *Group
	Order  *Order
	Limit  Expr
	Start  Expr
	Alias  *Idiom
	Parens bool // as written with parentheses
}

// Plain reports whether the step has no clauses, so that records need not be read.
func (g *Graph) Plain() bool {
	return g.Select == nil && g.Where == nil && g.Split == nil && g.Group == nil && g.Order == nil && g.Limit == nil &&
		g.Start == nil
}

// GraphTable is one table of a graph step, with an optional key range and (for <~) a field.
type GraphTable struct {
	Table string
	Key   *KeyRange
	Field *Idiom
}

// Recurse is .{min..max+instruction}(path).
type Recurse struct {
	Min, Max    int64 // Max 0 with OpenMax
	OpenMin     bool
	OpenMax     bool
	Exact       bool   // .{n}
	Instruction string // "", "collect", "path", "shortest"
	Target      Expr   // of shortest
	Inclusive   bool
	Path        *Idiom // the parenthesised path; nil when the rest of the idiom is the path
}

func (*Literal) exprNode()  {}
func (*Param) exprNode()    {}
func (*Constant) exprNode() {}
func (*Array) exprNode()    {}
func (*Set) exprNode()      {}
func (*Object) exprNode()   {}
func (*RecordID) exprNode() {}
func (*KeyGen) exprNode()   {}
func (*KeyRange) exprNode() {}
func (*Range) exprNode()    {}
func (*Mock) exprNode()     {}
func (*Unary) exprNode()    {}
func (*Binary) exprNode()   {}
func (*Cast) exprNode()     {}
func (*Call) exprNode()     {}
func (*Closure) exprNode()  {}
func (*Script) exprNode()   {}
func (*Block) exprNode()    {}
func (*Subquery) exprNode() {}
func (*Paren) exprNode()    {}
func (*Idiom) exprNode()    {}
func (*Table) exprNode()    {}

// Table is a bare table name where a statement expects a target (FROM person, CREATE person).
type Table struct{ Name string }

func (*PartStart) partNode()       {}
func (*PartField) partNode()       {}
func (*PartAll) partNode()         {}
func (*PartLast) partNode()        {}
func (*PartIndex) partNode()       {}
func (*PartWhere) partNode()       {}
func (*PartOptional) partNode()    {}
func (*PartFlatten) partNode()     {}
func (*PartDestructure) partNode() {}
func (*PartMethod) partNode()      {}
func (*PartCall) partNode()        {}
func (*PartGraph) partNode()       {}
func (*PartRecurse) partNode()     {}
func (*PartRepeat) partNode()      {}
func (*PartDoc) partNode()         {}
