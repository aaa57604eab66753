// Package operate is the binary operators over two values. It evaluates no expressions.
package operate

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Ints is the common case of two ints; it declines what overflows or is not simple.
func Ints(op ast.BinaryOp, a, b int64) (value.Value, bool) {
	switch op {
	case ast.OpAdd:
		c := a + b
		return value.Int(c), (c > a) == (b > 0)
	case ast.OpSub:
		c := a - b
		return value.Int(c), (c < a) == (b > 0)
	case ast.OpMul:
		const half = 1 << 31
		return value.Int(a * b), a < half && a > -half && b < half && b > -half
	case ast.OpEqual, ast.OpExact:
		return value.Bool(a == b), true
	case ast.OpNotEqual:
		return value.Bool(a != b), true
	case ast.OpLess:
		return value.Bool(a < b), true
	case ast.OpLessEqual:
		return value.Bool(a <= b), true
	case ast.OpMore:
		return value.Bool(a > b), true
	case ast.OpMoreEqual:
		return value.Bool(a >= b), true
	}
	return value.None, false
}

// Apply is a binary operator over two values.
func Apply(op ast.BinaryOp, a, b value.Value) (value.Value, error) { return With(nil, op, a, b) }

// With is Apply; rel answers the operators of containment.
func With(rel *value.Relation, op ast.BinaryOp, a, b value.Value) (value.Value, error) {
	switch op {
	case ast.OpEqual:
		return value.Bool(value.LooseEqual(a, b)), nil
	case ast.OpExact:
		return value.Bool(value.Equal(a, b)), nil
	case ast.OpNotEqual:
		return value.Bool(!value.LooseEqual(a, b)), nil
	case ast.OpAnyEqual:
		return value.Bool(value.AnyEqual(a, b)), nil
	case ast.OpAllEqual:
		return value.Bool(value.AllEqual(a, b)), nil
	case ast.OpLess:
		return value.Bool(value.Compare(a, b) < 0), nil
	case ast.OpLessEqual:
		return value.Bool(value.Compare(a, b) <= 0), nil
	case ast.OpMore:
		return value.Bool(value.Compare(a, b) > 0), nil
	case ast.OpMoreEqual:
		return value.Bool(value.Compare(a, b) >= 0), nil
	case ast.OpAdd:
		return value.Add(a, b)
	case ast.OpSub:
		return value.Sub(a, b)
	case ast.OpMul:
		return value.Mul(a, b)
	case ast.OpDiv:
		return value.Div(a, b), nil
	case ast.OpRem:
		return value.Rem(a, b)
	case ast.OpPow:
		return value.Pow(a, b)
	}
	return value.Bool(holds(rel, op, a, b)), nil
}

// holds is an operator of the containment family, answered by rel.
func holds(rel *value.Relation, op ast.BinaryOp, a, b value.Value) bool {
	switch op {
	case ast.OpContains:
		return rel.Contains(a, b)
	case ast.OpContainsNot:
		return !rel.Contains(a, b)
	case ast.OpContainsAll:
		return rel.ContainsAll(a, b)
	case ast.OpContainsAny:
		return rel.ContainsAny(a, b)
	case ast.OpContainsNone:
		return !rel.ContainsAny(a, b)
	case ast.OpInside:
		return rel.Contains(b, a)
	case ast.OpNotInside:
		return !rel.Contains(b, a)
	case ast.OpAllInside:
		return rel.ContainsAll(b, a)
	case ast.OpAnyInside:
		return rel.ContainsAny(b, a)
	case ast.OpNoneInside:
		return !rel.ContainsAny(b, a)
	case ast.OpOutside:
		return !rel.Intersects(a, b)
	case ast.OpIntersects:
		return rel.Intersects(a, b)
	}
	return false
}
