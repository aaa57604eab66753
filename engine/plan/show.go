package plan

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/value"
)

// Shower writes expressions as EXPLAIN shows them. They are for the reader: functions come without their arguments, and
// no parentheses tell what binds tighter.
type Shower struct {
	// Var is the value that a parameter is shown as; nil, or false: its name.
	Var func(name string) (value.Value, bool)
	// Call names a call that is shown by another name; nil, or "": its path.
	Call func(*ast.Call) string
}

// Show writes x with the names of its parameters.
func Show(x ast.Expr) string { return Shower{}.Text(x) }

// Text writes x.
func (s Shower) Text(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Constant:
		return x.Value.Text()
	case *ast.Param:
		return s.param(x)
	case *ast.RecordID, *ast.Literal:
		return ast.Text(x)
	case *ast.Array:
		return "[" + s.list(x.Elems) + "]"
	case *ast.Set:
		return "<{" + s.list(x.Elems) + "}>"
	case *ast.Object:
		return s.object(x)
	case *ast.Range:
		return s.rangeOf(x)
	case *ast.Unary:
		return [...]string{ast.OpNot: "! ", ast.OpNeg: "- ", ast.OpPlus: "+ "}[x.Op] + s.Text(x.X)
	case *ast.Binary:
		return s.binary(x)
	case *ast.Cast:
		return "<" + x.Type.String() + ">  " + s.Text(x.X)
	case *ast.Call:
		return s.call(x)
	case *ast.Script:
		return "function(...)"
	case *ast.Subquery:
		return s.subquery(x.Stmt)
	case *ast.Paren:
		return s.Text(x.X)
	case *ast.Table:
		return x.Name
	case *ast.Idiom:
		return s.idiom(x)
	}
	return ast.Text(x)
}

func (s Shower) list(xs []ast.Expr) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = s.Text(x)
	}
	return strings.Join(parts, ", ")
}

func (s Shower) object(x *ast.Object) string {
	parts := make([]string, len(x.Fields))
	for i, f := range x.Fields {
		parts[i] = f.Key + ": " + s.Text(f.Value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (s Shower) param(x *ast.Param) string {
	if s.Var != nil {
		if v, ok := s.Var(x.Name); ok {
			return v.Text()
		}
	}
	return ast.Text(x)
}

func (s Shower) rangeOf(x *ast.Range) string {
	var b strings.Builder
	if x.Start != nil {
		b.WriteString(s.Text(x.Start) + " ")
	}
	if x.StartExcl {
		b.WriteByte('>')
	}
	b.WriteString("..")
	if x.EndIncl {
		b.WriteByte('=')
	}
	if x.End != nil {
		b.WriteString(" " + s.Text(x.End))
	}
	return b.String()
}

// binary asks the printer of the language for operators that hold more than their name.
func (s Shower) binary(x *ast.Binary) string {
	op := x.Op.String()
	if x.Match != nil || x.KNN != nil {
		side := &ast.Param{Name: "x"}
		op = strings.Trim(ast.Text(&ast.Binary{Op: x.Op, KNN: x.KNN, Match: x.Match, L: side, R: side}), " $x")
	}
	return s.Text(x.L) + " " + op + " " + s.Text(x.R)
}

func (s Shower) call(x *ast.Call) string {
	if s.Call != nil {
		if name := s.Call(x); name != "" {
			return name
		}
	}
	return column.Call(x) + "(...)"
}

// subquery shows a SELECT by its topmost operator.
func (s Shower) subquery(x ast.Statement) string {
	switch x := x.(type) {
	case *ast.Select:
		return "(" + topmost(x) + ")"
	case *ast.If:
		return s.ifElse(x)
	}
	text := ast.Text(&ast.Subquery{Stmt: x})
	return strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
}

func (s Shower) ifElse(x *ast.If) string {
	var b strings.Builder
	for i, branch := range x.Branches {
		if i > 0 {
			b.WriteString(" ELSE ")
		}
		b.WriteString("IF " + ast.Text(branch.Cond) + " THEN " + ast.Text(branch.Then))
	}
	if x.Else != nil {
		b.WriteString(" ELSE " + ast.Text(x.Else))
	}
	return b.String() + " END"
}

// topmost names the operator that gives the rows of a SELECT.
func topmost(s *ast.Select) string {
	switch {
	case s.Explain != nil:
		return "Explain"
	case s.Timeout != nil:
		return "Timeout"
	case s.Only:
		return "UnwrapExactlyOne"
	case len(s.Fetch) > 0:
		return "Fetch"
	case s.Group != nil && s.Limit != nil:
		return "Limit"
	case s.Group != nil && s.Order != nil:
		return "Sort"
	case s.Group != nil:
		return "Aggregate"
	case s.Projections.Value:
		return "ProjectValue"
	case ofOneRecord(s) && s.Where == nil && s.Order == nil && len(s.Split) == 0:
		return "Project"
	}
	return "SelectProject"
}

func (s Shower) idiom(x *ast.Idiom) string {
	if len(x.Parts) == 1 {
		if f, ok := x.Parts[0].(*ast.PartField); ok {
			return f.Name
		}
	}
	start, ok := x.Parts[0].(*ast.PartStart)
	if !ok || s.Var == nil {
		return ast.Text(x)
	}
	p, ok := start.X.(*ast.Param)
	if !ok {
		return ast.Text(x)
	}
	v, ok := s.Var(p.Name)
	if !ok {
		return ast.Text(x)
	}
	parts := append([]ast.Part{&ast.PartStart{X: constant(v)}}, x.Parts[1:]...)
	return ast.Text(&ast.Idiom{Parts: parts})
}

// constant is an expression that prints as v does.
func constant(v value.Value) ast.Expr {
	if v.Kind() == value.KindRecord {
		id := v.Record()
		return &ast.RecordID{Table: id.Table, Key: &ast.Literal{Value: id.Key}}
	}
	return &ast.Literal{Value: v}
}

// Unwritten is a source that does not say itself what it reads, a call or a parameter; nil: it does.
func Unwritten(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.Call, *ast.Param:
		return x
	case *ast.Paren:
		return Unwritten(x.X)
	}
	return nil
}

// AsksStore reports whether an expression needs a database when it is evaluated: it has paths, functions of the
// database, or statements that read or write.
func AsksStore(x any) bool {
	asks := false
	ast.Inspect(x, func(n any) bool {
		switch n := n.(type) {
		case *ast.Idiom:
			for _, p := range n.Parts {
				switch p.(type) {
				case *ast.PartStart, *ast.PartMethod:
				default:
					asks = true
				}
			}
		case *ast.Call:
			asks = asks || n.Kind != ast.CallBuiltin
		case *ast.Closure:
			return false
		case *ast.ExprStmt, *ast.Let, *ast.Return, *ast.If, *ast.For, *ast.Throw, *ast.Break, *ast.Continue, *ast.Sleep:
		case ast.Statement:
			asks = true
		}
		return !asks
	})
	return asks
}
