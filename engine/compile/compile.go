// Package compile compiles expressions over the rows of a table: paths of names, values that are the same for all rows,
// and operators over them. What it compiles reads rows through value.Fields, also as they are stored, and asks nothing
// of a statement, so any goroutine may run it. It answers as the evaluator does, or says that it cannot tell.
package compile

import (
	"errors"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// Expr is a compiled expression. It fails with ErrOpen where it cannot tell its value.
type Expr func(row *value.Fields) (value.Value, error)

// Test is a compiled condition: whether the value of its expression is truthy.
type Test func(row *value.Fields) (bool, error)

// ErrOpen says that an expression must be evaluated as it is written: its operators fail, take long, or follow links.
var ErrOpen = errors.New("the row must be evaluated as the expression is written")

// Set is expressions over the same rows. They share the reader of their rows, so that a field is looked for once.
type Set struct {
	constant func(ast.Expr) (value.Value, error)
	paths    [][]string
}

// New makes a Set. constant evaluates an expression that is the same for all rows.
func New(constant func(ast.Expr) (value.Value, error)) *Set { return &Set{constant: constant} }

// Fields makes a reader of rows for what the set has compiled so far. Each goroutine needs its own.
func (s *Set) Fields() *value.Fields { return value.NewFields(s.paths) }

// Path is the number of a field for value.Fields.
func (s *Set) Path(names []string) int {
	for i, have := range s.paths {
		if slices.Equal(have, names) {
			return i
		}
	}
	s.paths = append(s.paths, names)
	return len(s.paths) - 1
}

// Expr compiles an expression; nil where it is of another kind.
func (s *Set) Expr(x ast.Expr) Expr {
	switch x := x.(type) {
	case *ast.Paren:
		return s.Expr(x.X)
	case *ast.Idiom:
		if path, ok := plan.Names(x); ok {
			return s.field(path)
		}
		return nil
	case *ast.Binary:
		return s.binary(x)
	case *ast.Unary:
		if in := s.Test(x.X); in != nil && x.Op == ast.OpNot {
			return func(row *value.Fields) (value.Value, error) {
				ok, err := in(row)
				return value.Bool(!ok), err
			}
		}
	}
	if v, ok := s.value(x); ok {
		return func(*value.Fields) (value.Value, error) { return v, nil }
	}
	return nil
}

// Column is what is read of many rows: a field, without a call of a compiled expression, or an expression.
type Column struct {
	at int // the field where x is nil
	x  Expr
}

// Field is the column of a field by its number, see Path.
func Field(at int) Column { return Column{at: at} }

// Computed is the column of an expression.
func Computed(x Expr) Column { return Column{x: x} }

// Read is the value of a row; false where it cannot tell, as for ErrOpen.
func (c *Column) Read(row *value.Fields) (v value.Value, ok bool) {
	if c.x == nil {
		return row.At(c.at)
	}
	v, err := c.x(row)
	return v, err == nil
}

// Columns compiles several expressions; false where one of them is of another kind.
func (s *Set) Columns(xs []ast.Expr) ([]Column, bool) {
	out := make([]Column, len(xs))
	for i, x := range xs {
		if id, ok := x.(*ast.Idiom); ok {
			if path, ok := plan.Names(id); ok {
				out[i] = Field(s.Path(path))
				continue
			}
		}
		e := s.Expr(x)
		if e == nil {
			return nil, false
		}
		out[i] = Computed(e)
	}
	return out, true
}

// value evaluates an expression that is the same for all rows; false where it is not, or fails.
func (s *Set) value(x ast.Expr) (value.Value, bool) {
	if !plan.Constant(x) {
		return value.None, false
	}
	v, err := s.constant(x)
	return v, err == nil && v.Kind() != value.KindClosure
}

// field reads a field. What leads through a link, a list or anything but an object is left to the evaluator.
func (s *Set) field(path []string) Expr {
	i := s.Path(path)
	return func(row *value.Fields) (value.Value, error) {
		v, ok := row.At(i)
		if !ok {
			return value.None, ErrOpen
		}
		return v, nil
	}
}

func (s *Set) binary(x *ast.Binary) Expr {
	if x.Op == ast.OpMatches || x.Op == ast.OpKNN {
		return nil
	}
	l, r := s.Expr(x.L), s.Expr(x.R)
	if l == nil || r == nil {
		return nil
	}
	switch x.Op {
	case ast.OpAnd, ast.OpOr, ast.OpTruthyElse, ast.OpNullCoalesce:
		return logic(x.Op, l, r)
	}
	op := x.Op
	return func(row *value.Fields) (value.Value, error) {
		a, err := l(row)
		if err != nil {
			return value.None, err
		}
		b, err := r(row)
		if err != nil {
			return value.None, err
		}
		return apply(op, a, b)
	}
}

// apply is an operator over two values, unless it fails or takes long.
func apply(op ast.BinaryOp, a, b value.Value) (value.Value, error) {
	if a.Kind() == value.KindInt && b.Kind() == value.KindInt {
		if v, ok := operate.Ints(op, a.Int(), b.Int()); ok {
			return v, nil
		}
	}
	if op == ast.OpAdd && !a.Kind().IsNumber() {
		return value.None, ErrOpen // may be too long
	}
	if !a.Light() && !b.Light() && laborious(a, b) {
		return value.None, ErrOpen // the statement can be stopped on the way
	}
	v, err := operate.Apply(op, a, b)
	if err != nil {
		return value.None, ErrOpen
	}
	return v, nil
}

// Operands of more weight together are left to the statement. Relations of geometries take the product of their
// vertices.
const (
	maxCompiled         = 64 << 10
	maxCompiledGeometry = 4 << 10
	quickSearch         = 1 << 18 // effort of a search
)

// laborious reports whether an operator over a and b takes longer than a row should.
func laborious(a, b value.Value) bool {
	weight := value.Weight(a) + value.Weight(b)
	switch {
	case a.Kind() == value.KindRegex && b.Kind() == value.KindString:
		return a.Regex().Effort(b.Str()) > quickSearch
	case b.Kind() == value.KindRegex && a.Kind() == value.KindString:
		return b.Regex().Effort(a.Str()) > quickSearch
	case a.Kind() == value.KindRegex || b.Kind() == value.KindRegex || value.HasRegex(a) || value.HasRegex(b):
		return true
	case a.Kind() == value.KindGeometry || b.Kind() == value.KindGeometry:
		return weight > maxCompiledGeometry
	}
	return weight > maxCompiled
}

// logic is an operator that may leave its right side alone.
func logic(op ast.BinaryOp, l, r Expr) Expr {
	return func(row *value.Fields) (value.Value, error) {
		a, err := l(row)
		if err != nil {
			return value.None, err
		}
		done := false
		switch op {
		case ast.OpAnd:
			done = !value.Truthy(a)
		case ast.OpNullCoalesce:
			done = !a.IsNullish()
		default:
			done = value.Truthy(a)
		}
		if done {
			return a, nil
		}
		return r(row)
	}
}
