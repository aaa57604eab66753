package graphql

import (
	"errors"
	"fmt"
	"strconv"

	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// variables takes over the variables of a request, each as its type says.
func (o *Operation) variables(given *value.Object) *Failure {
	o.vars = map[string]value.Value{}
	for _, d := range o.op.VariableDefinitions {
		var v value.Value
		found := false
		if given != nil {
			v, found = given.Get(d.Variable)
		}
		fail := func(err error) *Failure {
			return &Failure{Err: errs.Validation("Variable \"$%s\" %s", d.Variable, err),
				Locations: locationOf(d.Position)}
		}
		switch {
		case !found && d.DefaultValue != nil:
			out, err := o.input(d.DefaultValue, d.Type)
			if err != nil {
				return fail(err)
			}
			o.vars[d.Variable] = out
		case !found && d.Type.NonNull:
			return fail(errs.Validation("of required type \"%s\" was not provided.", d.Type))
		case found:
			out, err := o.coerce(v, d.Type)
			if err != nil {
				return fail(fmt.Errorf("got an invalid value: %w", err))
			}
			o.vars[d.Variable] = out
		}
	}
	return nil
}

var errNull = errors.New("it cannot be null")

// coerce makes an input of a value in JSON.
func (o *Operation) coerce(v value.Value, t *gast.Type) (value.Value, error) {
	if v.IsNullish() {
		if t.NonNull {
			return value.None, errNull
		}
		return value.Null, nil
	}
	if t.Elem != nil {
		if v.Kind() != value.KindArray {
			one, err := o.coerce(v, t.Elem)
			return value.Array(one), err
		}
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			var err error
			if out[i], err = o.coerce(e, t.Elem); err != nil {
				return value.None, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return value.ArrayOf(out), nil
	}
	d := o.s.graph.Types[t.NamedType]
	if d == nil {
		return value.None, fmt.Errorf("there is no type \"%s\"", t.NamedType)
	}
	switch d.Kind {
	case gast.InputObject:
		return o.coerceObject(v, d)
	case gast.Enum:
		if v.Kind() != value.KindString || d.EnumValues.ForName(v.Str()) == nil {
			return value.None, fmt.Errorf("it is no item of \"%s\"", d.Name)
		}
		return v, nil
	}
	return coerceScalar(v, d.Name)
}

func coerceScalar(v value.Value, name string) (value.Value, error) {
	ok := true
	switch name {
	case "Int":
		if v.Kind() == value.KindFloat && v.Float() == float64(int64(v.Float())) {
			v = value.Int(int64(v.Float()))
		}
		ok = v.Kind() == value.KindInt || v.Kind() == value.KindString
	case "Float":
		ok = v.Kind().IsNumber() || v.Kind() == value.KindString
	case "String":
		ok = v.Kind() == value.KindString
	case "Boolean":
		ok = v.Kind() == value.KindBool
	case "ID":
		if v.Kind() == value.KindInt {
			v = value.Str(strconv.FormatInt(v.Int(), 10))
		}
		ok = v.Kind() == value.KindString
	}
	if !ok {
		return value.None, fmt.Errorf("%s cannot represent a value of kind %s", name, v.Kind())
	}
	return v, nil
}

func (o *Operation) coerceObject(v value.Value, d *gast.Definition) (value.Value, error) {
	if v.Kind() != value.KindObject {
		return value.None, fmt.Errorf("it is no object of type \"%s\"", d.Name)
	}
	fields := append([]value.Field(nil), v.Object().Fields()...)
	for i := range fields {
		f := d.Fields.ForName(fields[i].Name)
		if f == nil {
			return value.None, fmt.Errorf("field \"%s\" is not defined by type \"%s\"", fields[i].Name, d.Name)
		}
		var err error
		if fields[i].Value, err = o.coerce(fields[i].Value, f.Type); err != nil {
			return value.None, fmt.Errorf("field \"%s\": %w", f.Name, err)
		}
	}
	for _, f := range d.Fields {
		if f.Type.NonNull {
			if _, ok := v.Object().Get(f.Name); !ok {
				return value.None, fmt.Errorf("field \"%s.%s\" of required type \"%s\" was not provided", d.Name,
					f.Name, f.Type)
			}
		}
	}
	return value.ObjectOf(value.ObjectOfSorted(fields)), nil
}

// input is the value of an expression of the query; NONE for a variable that has none.
func (o *Operation) input(x *gast.Value, t *gast.Type) (value.Value, error) {
	if x == nil {
		return value.None, nil
	}
	switch x.Kind {
	case gast.Variable:
		return o.vars[x.Raw], nil // validated against its own type
	case gast.NullValue:
		return value.Null, nil
	case gast.ListValue:
		return o.inputList(x, t)
	case gast.ObjectValue:
		return o.inputObject(x, t)
	}
	v, err := literalInput(x)
	if err != nil {
		return value.None, err
	}
	if t != nil && t.NamedType == "ID" && v.Kind() == value.KindInt {
		v = value.Str(x.Raw)
	}
	for ; t != nil && t.Elem != nil; t = t.Elem {
		v = value.Array(v)
	}
	return v, nil
}

func literalInput(x *gast.Value) (value.Value, error) {
	switch x.Kind {
	case gast.BooleanValue:
		return value.Bool(x.Raw == "true"), nil
	case gast.IntValue:
		if n, err := strconv.ParseInt(x.Raw, 10, 64); err == nil {
			return value.Int(n), nil
		}
		d, err := decimal.Parse(x.Raw)
		return value.DecimalOf(d), err
	case gast.FloatValue:
		f, err := strconv.ParseFloat(x.Raw, 64)
		return value.Float(f), err
	}
	return value.Str(x.Raw), nil
}

func (o *Operation) inputList(x *gast.Value, t *gast.Type) (value.Value, error) {
	var elem *gast.Type
	if t != nil {
		elem = t.Elem
	}
	out := make([]value.Value, len(x.Children))
	for i, c := range x.Children {
		var err error
		if out[i], err = o.input(c.Value, elem); err != nil {
			return value.None, err
		}
		if out[i].IsNone() {
			out[i] = value.Null
		}
	}
	return value.ArrayOf(out), nil
}

func (o *Operation) inputObject(x *gast.Value, t *gast.Type) (value.Value, error) {
	var d *gast.Definition
	lists := 0
	for ; t != nil && t.Elem != nil; t = t.Elem {
		lists++
	}
	if t != nil {
		d = o.s.graph.Types[t.NamedType]
	}
	var fields []value.Field
	for _, c := range x.Children {
		var ft *gast.Type
		if d != nil {
			if f := d.Fields.ForName(c.Name); f != nil {
				ft = f.Type
			}
		}
		v, err := o.input(c.Value, ft)
		if err != nil {
			return value.None, err
		}
		if !v.IsNone() {
			fields = append(fields, value.Field{Name: c.Name, Value: v})
		}
	}
	out := value.ObjectOf(value.NewObject(fields...))
	for ; lists > 0; lists-- {
		out = value.Array(out)
	}
	return out, nil
}
