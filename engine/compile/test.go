package compile

import (
	"errors"
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// Test compiles a condition; nil where the expression is of another kind. Of AND and OR only the sides that decide are
// tried, and a field that is compared with an int makes no value of the result.
func (s *Set) Test(x ast.Expr) Test {
	switch x := x.(type) {
	case *ast.Paren:
		return s.Test(x.X)
	case *ast.Binary:
		switch x.Op {
		case ast.OpAnd, ast.OpOr, ast.OpTruthyElse:
			return s.both(x)
		}
		if t := s.comparison(x); t != nil {
			return t
		}
	}
	in := s.Expr(x)
	if in == nil {
		return nil
	}
	return func(row *value.Fields) (bool, error) {
		v, err := in(row)
		return err == nil && value.Truthy(v), err
	}
}

// Tests reports whether Test compiles a condition, without reading from the store. known evaluates its constants.
func Tests(x ast.Expr, known func(ast.Expr) (value.Value, error)) bool {
	set := New(func(x ast.Expr) (value.Value, error) {
		if plan.AsksStore(x) {
			return value.None, errAsks
		}
		return known(x)
	})
	return set.Test(x) != nil
}

var errAsks = errors.New("reads from the store")

// both is AND, or OR.
func (s *Set) both(x *ast.Binary) Test {
	l, r := s.Test(x.L), s.Test(x.R)
	if l == nil || r == nil {
		return nil
	}
	ends := x.Op != ast.OpAnd // what the left side must be for the right one not to be tried
	return func(row *value.Fields) (bool, error) {
		if ok, err := l(row); err != nil || ok == ends {
			return ok, err
		}
		return r(row)
	}
}

// comparison is an operator between a field and a value that is the same for all rows; nil for anything else.
func (s *Set) comparison(x *ast.Binary) Test {
	id, ok := x.L.(*ast.Idiom)
	if !ok || x.Op == ast.OpMatches || x.Op == ast.OpKNN || x.Op == ast.OpNullCoalesce {
		return nil
	}
	path, ok := plan.Names(id)
	if !ok {
		return nil
	}
	with, ok := s.value(x.R)
	if !ok {
		return nil
	}
	i, op := s.Path(path), x.Op
	if with.Kind() == value.KindInt && ordered(op) {
		return comparesInt(i, op, with)
	}
	plain := func(row *value.Fields) (bool, error) {
		v, ok := row.At(i)
		if !ok {
			return false, ErrOpen
		}
		v, err := apply(op, v, with)
		return err == nil && value.Truthy(v), err
	}
	if with.Kind() == value.KindString && len(with.Str()) < maxCompiled/2 {
		if holds := comparesText(op, with.Str()); holds != nil {
			return func(row *value.Fields) (bool, error) {
				if v, ok := row.At(i); ok && v.Kind() == value.KindString && len(v.Str()) < maxCompiled/2 {
					return holds(v.Str()), nil
				}
				return plain(row)
			}
		}
	}
	return plain
}

// comparesText is a comparison of a text with another one; nil where the operator is none.
func comparesText(op ast.BinaryOp, with string) func(s string) bool {
	switch op {
	case ast.OpEqual, ast.OpExact:
		return func(s string) bool { return s == with }
	case ast.OpNotEqual:
		return func(s string) bool { return s != with }
	case ast.OpLess:
		return func(s string) bool { return s < with }
	case ast.OpLessEqual:
		return func(s string) bool { return s <= with }
	case ast.OpMore:
		return func(s string) bool { return s > with }
	case ast.OpMoreEqual:
		return func(s string) bool { return s >= with }
	case ast.OpContains:
		return func(s string) bool { return strings.Contains(s, with) }
	case ast.OpContainsNot:
		return func(s string) bool { return !strings.Contains(s, with) }
	case ast.OpInside:
		return func(s string) bool { return strings.Contains(with, s) }
	case ast.OpNotInside:
		return func(s string) bool { return !strings.Contains(with, s) }
	}
	return nil
}

// ordered reports whether an operator compares two values by their order.
func ordered(op ast.BinaryOp) bool {
	switch op {
	case ast.OpEqual, ast.OpExact, ast.OpNotEqual, ast.OpLess, ast.OpLessEqual, ast.OpMore, ast.OpMoreEqual:
		return true
	}
	return false
}

// comparesInt is a comparison of field i with an int: an int holds if it is within two bounds, or if it is not.
func comparesInt(i int, op ast.BinaryOp, with value.Value) Test {
	lo, hi := within(op, with.Int())
	not := op == ast.OpNotEqual
	return func(row *value.Fields) (bool, error) {
		v, ok := row.At(i)
		switch {
		case !ok:
			return false, ErrOpen
		case v.Kind() == value.KindInt:
			return (lo <= v.Int() && v.Int() <= hi) != not, nil
		}
		v, err := apply(op, v, with)
		return err == nil && value.Truthy(v), err
	}
}

// within gives the least and the greatest int that hold in a comparison with n; of OpNotEqual those that do not.
func within(op ast.BinaryOp, n int64) (lo, hi int64) {
	lo, hi = math.MinInt64, math.MaxInt64
	switch {
	case op == ast.OpLess && n == lo, op == ast.OpMore && n == hi:
		return 1, 0 // none
	case op == ast.OpLess:
		hi = n - 1
	case op == ast.OpLessEqual:
		hi = n
	case op == ast.OpMore:
		lo = n + 1
	case op == ast.OpMoreEqual:
		lo = n
	default:
		lo, hi = n, n
	}
	return lo, hi
}
