package ast

import (
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// The levels of binding, loosest first. An operand that binds no tighter than its operator gets parentheses.
const (
	levelLowest = iota
	levelOr
	levelAnd
	levelEquality
	levelRelation
	levelNullish
	levelAdd
	levelMul
	levelPow
	levelPrefix
	levelRange
	levelCall
	levelAtom
)

// binaryOps are the texts and levels of the infix operators.
var binaryOps = [...]struct {
	text  string
	level int
}{
	OpOr: {"OR", levelOr}, OpAnd: {"AND", levelAnd}, OpEqual: {"=", levelEquality}, OpExact: {"==", levelEquality},
	OpNotEqual: {"!=", levelEquality}, OpAnyEqual: {"?=", levelEquality}, OpAllEqual: {"*=", levelEquality},
	OpLess: {"<", levelRelation}, OpLessEqual: {"<=", levelRelation}, OpMore: {">", levelRelation},
	OpMoreEqual: {">=", levelRelation}, OpContains: {"CONTAINS", levelRelation},
	OpContainsNot: {"CONTAINSNOT", levelRelation},
	OpContainsAll: {"CONTAINSALL", levelRelation}, OpContainsAny: {"CONTAINSANY", levelRelation},
	OpContainsNone: {"CONTAINSNONE", levelRelation}, OpInside: {"INSIDE", levelRelation},
	OpNotInside: {"NOTINSIDE", levelRelation},
	OpAllInside: {"ALLINSIDE", levelRelation}, OpAnyInside: {"ANYINSIDE", levelRelation},
	OpNoneInside: {"NONEINSIDE", levelRelation},
	OpOutside:    {"OUTSIDE", levelRelation}, OpIntersects: {"INTERSECTS", levelRelation},
	OpMatches: {"@@", levelRelation},
	OpKNN:     {"<||>", levelRelation}, OpAdd: {"+", levelAdd}, OpSub: {"-", levelAdd}, OpMul: {"*", levelMul},
	OpDiv: {"/", levelMul}, OpRem: {"%", levelMul}, OpPow: {"**", levelPow}, OpNullCoalesce: {"??", levelNullish},
	OpTruthyElse: {"?:", levelNullish},
}

// String is the canonical spelling of op.
func (op BinaryOp) String() string { return binaryOps[op].text }

// level is how tightly x binds.
func level(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		return binaryOps[x.Op].level
	case *Unary, *Cast:
		return levelPrefix
	case *Range:
		return levelRange
	case *Closure, *RecordID:
		return levelLowest
	case *Idiom:
		if n := len(x.Parts); n > 0 {
			if _, ok := x.Parts[n-1].(*PartCall); ok {
				return levelCall
			}
		}
	case *Literal:
		if isNegative(x.Value) {
			return levelPrefix
		}
	}
	return levelAtom
}

func isNegative(v value.Value) bool {
	switch v.Kind() {
	case value.KindInt:
		return v.Int() < 0
	case value.KindFloat:
		return math.Signbit(v.Float()) && !math.IsNaN(v.Float())
	case value.KindDecimal:
		return v.Decimal().Neg
	}
	return false
}

// operand writes x, in parentheses unless it binds tighter than floor.
func (p *printer) operand(x Expr, floor int) {
	if level(x) > floor {
		p.expr(x)
		return
	}
	p.byte('(')
	p.expr(x)
	p.byte(')')
}

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case nil:
	case *Literal:
		p.literal(x.Value)
	case *Param:
		p.param(x.Name)
	case *Constant:
		p.builtin(x.Path)
	case *Array:
		p.byte('[')
		list(p, x.Elems, p.whole)
		p.byte(']')
	case *Set:
		p.set(x)
	case *Object:
		p.object(x)
	case *RecordID:
		covered := p.covered == x
		p.flag(covered, "(")
		p.ident(x.Table)
		p.byte(':')
		p.key(x.Key)
		p.flag(covered, ")")
	case *KeyGen:
		p.str(x.Name)
		p.str("()")
	case *KeyRange:
		p.keyRange(x)
	case *Range:
		p.rangeOf(x)
	case *Mock:
		p.mock(x)
	case *Unary:
		p.unary(x)
	case *Binary:
		p.binary(x)
	case *Cast:
		p.byte('<')
		p.str(x.Type.String())
		p.str("> ")
		p.prefixed(x.X)
	case *Call:
		p.call(x)
	case *Closure:
		p.closure(x)
	case *Script:
		p.str("function(")
		list(p, x.Args, p.expr)
		p.str(") {")
		p.str(x.Source)
		p.byte('}')
	case *Block:
		p.blockValue(x)
	case *Subquery:
		p.byte('(')
		p.statement(x.Stmt)
		p.byte(')')
	case *Paren:
		p.byte('(')
		p.expr(x.X)
		p.byte(')')
	case *Idiom:
		p.idiom(x)
	case *Table:
		p.ident(x.Name)
	}
}

func (p *printer) set(x *Set) {
	p.byte('{')
	list(p, x.Elems, p.expr) // {RETURN 1,} would begin a block
	if len(x.Elems) < 2 {
		p.byte(',')
	}
	p.byte('}')
}

func (p *printer) object(x *Object) {
	p.str("{ ")
	list(p, x.Fields, func(f ObjectField) {
		p.buf = value.AppendKey(p.buf, f.Key)
		p.str(": ")
		p.whole(f.Value)
	})
	p.str(" }")
}

// key writes the key of a record id.
func (p *printer) key(x Expr) {
	if l, ok := x.(*Literal); ok {
		p.keyValue(l.Value)
		return
	}
	p.expr(x)
}

func (p *printer) keyRange(r *KeyRange) {
	if r.Start != nil {
		p.key(r.Start)
	}
	p.flag(r.StartExcl, ">")
	p.str("..")
	p.flag(r.EndIncl, "=")
	if r.End != nil {
		p.key(r.End)
	}
}

func (p *printer) rangeOf(r *Range) {
	if r.Start != nil {
		p.bound(r.Start)
	}
	p.flag(r.StartExcl, ">")
	p.str("..")
	p.flag(r.EndIncl, "=")
	if r.End != nil {
		p.bound(r.End)
	}
}

// bound writes an end of a range: a number may have its sign.
func (p *printer) bound(x Expr) {
	if _, ok := x.(*Literal); ok {
		p.expr(x)
		return
	}
	p.operand(x, levelRange)
}

func (p *printer) mock(m *Mock) {
	p.byte('|')
	p.ident(m.Table)
	p.byte(':')
	if !m.OpenFrom {
		p.int(m.From)
	}
	p.flag(m.FromExcl, ">")
	if m.IsRange {
		p.str("..")
		p.flag(m.ToIncl, "=")
		if !m.OpenTo {
			p.int(m.To)
		}
	}
	p.byte('|')
}

func (p *printer) unary(x *Unary) {
	switch x.Op {
	case OpNot:
		p.byte('!')
	case OpPlus:
		p.byte('+')
	case OpNeg:
		p.byte('-')
		if startsWithMinus(x.X) { // two of them would start a comment
			p.byte('(')
			p.expr(x.X)
			p.byte(')')
			return
		}
	}
	if x.Op != OpNot && startsWithNumber(x.X) {
		p.byte('(') // else the sign would become part of the number
		p.expr(x.X)
		p.byte(')')
		return
	}
	p.prefixed(x.X)
}

// prefixed writes the operand of a prefix operator; a range without an end gets parentheses.
func (p *printer) prefixed(x Expr) {
	floor := levelPrefix - 1
	if r, ok := x.(*Range); ok && r.End == nil {
		floor = levelAtom
	}
	p.operand(x, floor)
}

// startsWithNumber reports whether the text of x starts with a number, which would take a sign to itself.
func startsWithNumber(x Expr) bool {
	switch x := x.(type) {
	case *Literal:
		return x.Value.Kind().IsNumber()
	case *Range:
		return x.Start != nil && startsWithNumber(x.Start)
	case *Idiom:
		s, ok := x.Parts[0].(*PartStart)
		return ok && startsWithNumber(s.X)
	}
	return false
}

func startsWithMinus(x Expr) bool {
	switch x := x.(type) {
	case *Unary:
		return x.Op == OpNeg
	case *Literal:
		return isNegative(x.Value)
	case *Idiom:
		g, ok := x.Parts[0].(*PartGraph)
		return ok && g.Graph.Dir == DirOut
	case *Range:
		return x.Start != nil && startsWithMinus(x.Start)
	}
	return false
}

// binary writes l op r. The right operand of the same level keeps its parentheses, except where
// grouping makes no difference.
func (p *printer) binary(b *Binary) {
	lv := binaryOps[b.Op].level
	left, right := lv-1, lv
	switch lv {
	case levelEquality, levelRelation:
		left = lv
	case levelOr, levelAnd:
		right = lv - 1
	case levelNullish:
		if r, ok := b.R.(*Binary); ok && r.Op == b.Op {
			right = lv - 1
		}
	}
	p.infixOperand(b.L, left)
	p.byte(' ')
	p.operator(b)
	p.byte(' ')
	p.infixOperand(b.R, right)
}

// infixOperand is operand, but a range without an end keeps parentheses, as does a call of a value;
// prefix operators never need any on the left of something looser.
func (p *printer) infixOperand(x Expr, floor int) {
	switch x := x.(type) {
	case *Range:
		if x.End == nil {
			floor = levelAtom
		}
	case *Idiom:
		if level(x) == levelCall {
			floor = levelCall
		}
	case *Literal:
		p.expr(x)
		return
	}
	p.operand(x, floor)
}

func (p *printer) operator(b *Binary) {
	switch b.Op {
	case OpMatches:
		p.byte('@')
		if m := b.Match; m != nil {
			if m.HasRef {
				p.int(m.Ref)
			}
			if m.Op == "OR" { // AND is the default
				p.flag(m.HasRef, ",")
				p.str("OR")
			}
		}
		p.byte('@')
	case OpKNN:
		p.knn(b.KNN)
	default:
		p.str(binaryOps[b.Op].text)
	}
}

func (p *printer) knn(n *KNN) {
	p.str("<|")
	p.int(n.K)
	switch {
	case n.Distance != "":
		p.byte(',')
		p.distance(n.Distance, n.Order)
	case n.EF != 0:
		p.byte(',')
		p.int(n.EF)
	}
	p.str("|>")
}

func (p *printer) distance(name string, order value.Value) {
	p.str(name)
	if !order.IsNone() {
		p.byte(' ')
		p.buf = order.AppendText(p.buf)
	}
}

func (p *printer) call(c *Call) {
	switch c.Kind {
	case CallBuiltin:
		p.builtin(c.Path)
	case CallCustom:
		p.str("fn::")
		p.path(c.Path)
	case CallModel:
		p.str("ml::")
		p.path(c.Path)
		p.version(c.Version)
	case CallModule:
		p.str("mod::")
		p.path(c.Path)
	case CallSilo:
		p.str("silo::")
		p.path(c.Path)
		p.version(c.Version)
		if c.Method != "" {
			p.str("::")
			p.path(c.Method)
		}
	}
	p.args(c.Args)
}

// path writes a::b, each part quoted where it must be.
// builtin writes the path of a function or constant; some families are reserved words.
func (p *printer) builtin(path string) {
	family, rest, more := strings.Cut(path, "::")
	p.ident(family)
	if more {
		p.str("::")
		p.path(rest)
	}
}

func (p *printer) path(path string) {
	for i, part := range strings.Split(path, "::") {
		if i > 0 {
			p.str("::")
		}
		p.word(part)
	}
}

func (p *printer) version(v string) {
	if v == "" {
		return
	}
	p.byte('<')
	p.str(v)
	p.byte('>')
}

func (p *printer) args(args []Expr) {
	p.byte('(')
	list(p, args, p.whole)
	p.byte(')')
}

func (p *printer) closure(c *Closure) {
	p.signature(c)
	if startsWithPath(c.Body) {
		p.byte('(')
		p.expr(c.Body)
		p.byte(')')
		return
	}
	p.whole(c.Body)
}

// signature writes what is before the body of a closure.
func (p *printer) signature(c *Closure) {
	p.byte('|')
	list(p, c.Params, func(f FuncParam) {
		p.param(f.Name)
		p.str(": ")
		switch {
		case f.Type == nil:
			p.str("any")
		case f.Type.Kind == value.TypeUnion: // a bare bar would end the parameters
			p.byte('<')
			p.str(f.Type.String())
			p.byte('>')
		default:
			p.str(f.Type.String())
		}
	})
	p.byte('|')
	if c.Returns != nil {
		p.str(" -> ")
		p.str(c.Returns.String())
	}
	p.byte(' ')
}

// startsWithPath reports whether the text of x starts with a path.
func startsWithPath(x Expr) bool {
	switch x := x.(type) {
	case *Idiom:
		return level(x) != levelCall
	case *Binary:
		return startsWithPath(x.L)
	case *Range:
		return x.Start != nil && startsWithPath(x.Start)
	}
	return false
}

// blockValue is block where an object may stand: a record id at the front would read as its first key.
func (p *printer) blockValue(b *Block) {
	outer := p.covered
	defer func() { p.covered = outer }()
	p.covered = nil
	if len(b.Stmts) > 0 {
		if x, ok := bare(b.Stmts[0]).(*ExprStmt); ok {
			p.covered = frontRecord(x.X)
		}
	}
	p.block(b)
}

// frontRecord is the record id that the text of x starts with; nil where it starts with anything else.
func frontRecord(x Expr) *RecordID {
	switch x := x.(type) {
	case *RecordID:
		return x
	case *Idiom:
		if s, ok := x.Parts[0].(*PartStart); ok {
			return frontRecord(s.X)
		}
	case *Binary:
		return frontRecord(x.L)
	case *Range:
		if x.Start != nil {
			return frontRecord(x.Start)
		}
	}
	return nil
}

func (p *printer) block(b *Block) {
	p.blocks++
	switch len(b.Stmts) {
	case 0:
		p.str("{;}")
	case 1:
		p.str("{ ")
		p.statement(bare(b.Stmts[0]))
		p.str(" }")
	default:
		p.str("{ ")
		for _, s := range b.Stmts {
			p.statement(bare(s))
			p.str("; ")
		}
		p.byte('}')
	}
}

// bare is the statement inside parentheses that are all there is to s.
func bare(s Statement) Statement {
	for {
		x, ok := s.(*ExprStmt)
		if !ok {
			return s
		}
		q, ok := x.X.(*Subquery)
		if !ok {
			return s
		}
		s = q.Stmt
	}
}

// branch writes the body of an IF: several statements stand on lines of their own, with a tab before
// each unless there are blocks inside (upstream's habit, kept because INFO shows it).
func (p *printer) branch(x Expr) {
	b, ok := x.(*Block)
	if !ok || len(b.Stmts) < 2 {
		if q, ok := x.(*Subquery); ok {
			p.statement(q.Stmt)
			return
		}
		if ok {
			p.block(b)
			return
		}
		p.expr(x)
		return
	}
	p.str("{\n")
	body := printer{}
	ends := make([]int, 0, len(b.Stmts))
	for _, s := range b.Stmts {
		body.statement(bare(s))
		body.str(";\n")
		ends = append(ends, len(body.buf))
	}
	start := 0
	for _, end := range ends {
		p.flag(body.blocks == 0, "\t")
		p.buf = append(p.buf, body.buf[start:end]...)
		start = end
	}
	p.blocks += body.blocks + 1
	p.byte('}')
}
