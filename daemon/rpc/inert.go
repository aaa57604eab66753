package rpc

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Inert reads a text that is one value: a literal, an array, set, object, range or record id of such, a constant, or
// a parameter, taken from vars. Nothing is executed: whatever would have to be is refused.
func Inert(text string, vars *value.Object) (value.Value, error) {
	x, err := parse.Expr(text, parse.Options{})
	if err != nil {
		return value.None, err
	}
	return inert(x, vars)
}

func notInert() error {
	return errs.Validation("Expected a single value: function calls, statements and other expressions are not allowed here")
}

func inert(x ast.Expr, vars *value.Object) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.Constant:
		return x.Value, nil
	case *ast.Param:
		if vars == nil {
			return value.None, nil
		}
		v, _ := vars.Get(x.Name)
		return v, nil
	case *ast.Paren:
		return inert(x.X, vars)
	case *ast.Idiom:
		if len(x.Parts) == 1 {
			if start, ok := x.Parts[0].(*ast.PartStart); ok {
				return inert(start.X, vars)
			}
		}
	case *ast.Array:
		elems, err := inertAll(x.Elems, vars)
		return value.ArrayOf(elems), err
	case *ast.Set:
		elems, err := inertAll(x.Elems, vars)
		return value.SetOf(elems), err
	case *ast.Object:
		return inertObject(x, vars)
	case *ast.RecordID:
		return inertRecord(x, vars)
	case *ast.Range:
		return inertRange(x, vars)
	case *ast.Unary:
		return inertSign(x, vars)
	}
	return value.None, notInert()
}

func inertAll(xs []ast.Expr, vars *value.Object) ([]value.Value, error) {
	elems := make([]value.Value, len(xs))
	for i, x := range xs {
		v, err := inert(x, vars)
		if err != nil {
			return nil, err
		}
		elems[i] = v
	}
	return elems, nil
}

func inertObject(x *ast.Object, vars *value.Object) (value.Value, error) {
	fields := make([]value.Field, len(x.Fields))
	for i, f := range x.Fields {
		v, err := inert(f.Value, vars)
		if err != nil {
			return value.None, err
		}
		fields[i] = value.Field{Name: f.Key, Value: v}
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

func inertRecord(x *ast.RecordID, vars *value.Object) (value.Value, error) {
	key, err := inert(x.Key, vars)
	if err != nil {
		return value.None, err
	}
	switch key.Kind() {
	case value.KindInt, value.KindString, value.KindUUID, value.KindArray, value.KindObject:
		return value.Record(x.Table, key), nil
	}
	return value.None, notInert()
}

func inertRange(x *ast.Range, vars *value.Object) (value.Value, error) {
	r := &value.Range{}
	for _, end := range [...]struct {
		x    ast.Expr
		at   *value.Bound
		kind value.BoundKind
	}{
		{x.Start, &r.Start, boundKind(!x.StartExcl)},
		{x.End, &r.End, boundKind(x.EndIncl)},
	} {
		if end.x == nil {
			continue
		}
		v, err := inert(end.x, vars)
		if err != nil {
			return value.None, err
		}
		*end.at = value.Bound{Kind: end.kind, Value: v}
	}
	return value.RangeOf(r), nil
}

func boundKind(included bool) value.BoundKind {
	if included {
		return value.Included
	}
	return value.Excluded
}

// inertSign reads a signed number.
func inertSign(x *ast.Unary, vars *value.Object) (value.Value, error) {
	v, err := inert(x.X, vars)
	if err != nil {
		return value.None, err
	}
	if x.Op == ast.OpPlus && v.Kind().IsNumber() {
		return v, nil
	}
	if x.Op == ast.OpNeg {
		switch v.Kind() {
		case value.KindInt:
			return value.Int(-v.Int()), nil
		case value.KindFloat:
			return value.Float(-v.Float()), nil
		case value.KindDecimal:
			return value.DecimalOf(v.Decimal().Negate()), nil
		}
	}
	return value.None, notInert()
}
