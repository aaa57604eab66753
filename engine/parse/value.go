package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// ValueDepth is how deep collections may be inside one another in the text of a value.
const ValueDepth = 100

// MaxDataText is how long the text of a record id or a plain path may be. Keys of the store are shorter.
const MaxDataText = 64 << 10

// Value parses the text of one value: literals, arrays, objects, sets, record ids and ranges of them.
// Nothing is evaluated: names, parameters, calls and operators are refused.
func Value(text string) (value.Value, error) { return ValueWith(text, nil) }

// ValueWith is Value with parameters allowed: $name is what params says, and refused where it says no.
func ValueWith(text string, params func(name string) (value.Value, bool)) (value.Value, error) {
	x, err := whole(text, Options{Depth: ValueDepth, constants: true}, (*parser).constantExpr)
	if err != nil {
		return value.None, err
	}
	return constants{params}.value(x)
}

// RecordID parses the text of a record id such as person:1, person:['a', 2] or person:1..5: a table and a literal key,
// or a range of such keys. Blanks around it are allowed. The reference ignores what follows the key; here it is an
// error.
func RecordID(text string) (value.Value, error) {
	x, err := whole(text, Options{Depth: ValueDepth, MaxBytes: MaxDataText, constants: true}, (*parser).recordText)
	if err != nil {
		return value.None, err
	}
	return constants{}.value(x)
}

// recordText is a record id that is the whole text.
func (p *parser) recordText() ast.Expr {
	if !p.tok.isIdent() {
		p.unexpected("an identifier")
		return nil
	}
	return p.recordID()
}

// Record implements the interface by which casts read record ids.
type Record struct{}

// ParseRecord is RecordID.
func (Record) ParseRecord(text string) (value.Value, error) { return RecordID(text) }

// constants turns literal expressions into values.
type constants struct {
	params func(name string) (value.Value, bool)
}

var errNotInert = errs.Validation(onlyLiterals)

func (in constants) value(x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.Literal:
		return x.Value, nil
	case *ast.Param:
		if in.params != nil {
			if v, ok := in.params(x.Name); ok {
				return v, nil
			}
		}
	case *ast.Array:
		elems, err := in.values(x.Elems)
		return value.ArrayOf(elems), err
	case *ast.Set:
		elems, err := in.values(x.Elems)
		return value.SetOf(elems), err
	case *ast.Object:
		return in.object(x)
	case *ast.RecordID:
		return in.record(x)
	case *ast.Range:
		return in.span(bounds{x.Start, x.End, x.StartExcl, x.EndIncl})
	}
	return value.None, errNotInert
}

func (in constants) values(xs []ast.Expr) ([]value.Value, error) {
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		v, err := in.value(x)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// object is an object.
func (in constants) object(x *ast.Object) (value.Value, error) {
	fields := make([]value.Field, len(x.Fields))
	for i, f := range x.Fields {
		v, err := in.value(f.Value)
		if err != nil {
			return value.None, err
		}
		fields[i] = value.Field{Name: f.Key, Value: v}
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

func (in constants) record(x *ast.RecordID) (value.Value, error) {
	key, err := in.key(x.Key)
	if err != nil {
		return value.None, err
	}
	return value.Record(x.Table, key), nil
}

func (in constants) key(x ast.Expr) (value.Value, error) {
	switch x := x.(type) {
	case *ast.KeyRange:
		return in.span(bounds{x.Start, x.End, x.StartExcl, x.EndIncl})
	}
	v, err := in.value(x)
	if err != nil {
		return value.None, err
	}
	switch v.Kind() {
	case value.KindInt, value.KindString, value.KindUUID, value.KindArray, value.KindObject:
		return v, nil
	}
	return value.None, errNotInert
}

// bounds are the ends of a range as written; nil is open.
type bounds struct {
	start, end         ast.Expr
	startExcl, endIncl bool
}

func (in constants) span(b bounds) (value.Value, error) {
	r := &value.Range{}
	var err error
	if b.start != nil {
		r.Start.Kind = value.Included
		if b.startExcl {
			r.Start.Kind = value.Excluded
		}
		if r.Start.Value, err = in.value(b.start); err != nil {
			return value.None, err
		}
	}
	if b.end != nil {
		r.End.Kind = value.Excluded
		if b.endIncl {
			r.End.Kind = value.Included
		}
		if r.End.Value, err = in.value(b.end); err != nil {
			return value.None, err
		}
	}
	return value.RangeOf(r), nil
}
