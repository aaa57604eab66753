package model

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// columns are the fields of a row that the argument of a call takes, where it takes nothing else: { a: a, b: x } or
// [a, x]. Their numbers are then read without an object, or an array, for each row.
type columns struct {
	numbers  *value.Numbers // in the order of the model's columns
	width    int            // how many they are
	buffered bool           // the argument is an object
}

// columnsOf is nil where the argument has another form, or does not fit the model: then it is evaluated for each row.
func (m *Bound) columnsOf(x ast.Expr) *columns {
	switch x := x.(type) {
	case *ast.Object:
		if len(x.Fields) != len(m.header.Keys) {
			return nil
		}
		from := make(map[string]string, len(x.Fields))
		for _, f := range x.Fields {
			name, ok := fieldName(f.Value)
			if !ok {
				return nil
			}
			from[f.Key] = name
		}
		var fields []string
		for _, key := range m.header.Keys {
			name, ok := from[key]
			if !ok {
				return nil
			}
			fields = append(fields, name)
		}
		return &columns{numbers: value.NumbersOf(fields), width: len(fields), buffered: true}
	case *ast.Array:
		var fields []string
		for _, e := range x.Elems {
			name, ok := fieldName(e)
			if !ok {
				return nil
			}
			fields = append(fields, name)
		}
		return &columns{numbers: value.NumbersOf(fields), width: len(fields)}
	}
	return nil
}

// fieldName is the field of the row that an expression reads.
func fieldName(x ast.Expr) (string, bool) {
	if i, ok := x.(*ast.Idiom); ok && len(i.Parts) == 1 {
		f, ok := i.Parts[0].(*ast.PartField)
		if ok {
			return f.Name, true
		}
	}
	return "", false
}

// read appends the numbers of a row to x. It reports false, and gives x as it was, where one of them is no number.
func (c *columns) read(m *Bound, doc value.Value, x []float32) ([]float32, bool) {
	if doc.Kind() != value.KindObject {
		return x, false
	}
	before := len(x)
	x, ok := c.numbers.Append(x, doc.Object())
	if ok && c.buffered {
		m.header.Normalise(x[before:])
	}
	return x, ok
}
