package sql

import (
	"bytes"
	"slices"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/value"
)

func jsonFunctions() map[string]*Function {
	build := func(c *Call) (value.Value, error) {
		if len(c.Args)%2 != 0 {
			return value.None, sqlstate.New(sqlstate.InvalidParameter,
				"argument list must have even number of elements")
		}
		o := value.NewObject()
		for i := 0; i < len(c.Args); i += 2 {
			o = o.With(c.Str(i), jsonOf(c, i+1))
		}
		return value.ObjectOf(o), nil
	}
	list := func(c *Call) (value.Value, error) {
		var out []value.Value
		for i := range c.Args {
			out = append(out, jsonOf(c, i))
		}
		return value.ArrayOf(out), nil
	}
	to := func(c *Call) (value.Value, error) { return jsonOf(c, 0), nil }
	return map[string]*Function{
		"json_build_object":  {Max: -1, Type: always2(pgtype.JSON), Nulls: true, Eval: build},
		"jsonb_build_object": {Max: -1, Type: always2(pgtype.JSONB), Nulls: true, Eval: build},
		"json_build_array":   {Max: -1, Type: always2(pgtype.JSON), Nulls: true, Eval: list},
		"jsonb_build_array":  {Max: -1, Type: always2(pgtype.JSONB), Nulls: true, Eval: list},
		"to_json":            {Min: 1, Max: 1, Type: always2(pgtype.JSON), Eval: to},
		"to_jsonb":           {Min: 1, Max: 1, Type: always2(pgtype.JSONB), Eval: to},
		"row_to_json":        {Min: 1, Max: 2, Type: always2(pgtype.JSON), Eval: to},
		"array_to_json":      {Min: 1, Max: 2, Type: always2(pgtype.JSON), Eval: to},
		"json_array_length":  length, "jsonb_array_length": length,
		"json_typeof": typeOf, "jsonb_typeof": typeOf,
		"jsonb_set": setPath(false), "jsonb_insert": setPath(true),
		"json_strip_nulls":  Returns(pgtype.JSON, 1, 1, strip, pgtype.JSON),
		"jsonb_strip_nulls": Returns(pgtype.JSONB, 1, 1, strip, pgtype.JSONB),
		"json_extract_path": extractPath(pgtype.JSON, false), "jsonb_extract_path": extractPath(pgtype.JSONB, false),
		"json_extract_path_text":    extractPath(pgtype.JSON, true),
		"jsonb_extract_path_text":   extractPath(pgtype.JSONB, true),
		"json_array_elements":       elements(pgtype.JSON, pgtype.JSON),
		"jsonb_array_elements":      elements(pgtype.JSONB, pgtype.JSONB),
		"json_array_elements_text":  elements(pgtype.JSON, pgtype.Text),
		"jsonb_array_elements_text": elements(pgtype.JSONB, pgtype.Text),
		"json_each":                 each(pgtype.JSON, pgtype.JSON), "jsonb_each": each(pgtype.JSONB, pgtype.JSONB),
		"json_each_text": each(pgtype.JSON, pgtype.Text), "jsonb_each_text": each(pgtype.JSONB, pgtype.Text),
		"json_object_keys": keys(pgtype.JSON), "jsonb_object_keys": keys(pgtype.JSONB),
	}
}

// length is json_array_length.
var length = Returns(pgtype.Int4, 1, 1, func(c *Call) (value.Value, error) {
	if c.Args[0].Kind() != value.KindArray {
		return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot get array length of a non-array")
	}
	return value.Int(int64(c.Args[0].Len())), nil
}, pgtype.JSONB)

// typeOf is json_typeof.
var typeOf = text(1, 1, func(c *Call) string {
	switch v := c.Args[0]; v.Kind() {
	case value.KindObject:
		return "object"
	case value.KindArray, value.KindSet:
		return "array"
	case value.KindBool:
		return "boolean"
	case value.KindNull:
		return "null"
	case value.KindInt, value.KindFloat:
		return "number"
	}
	return "string"
}, pgtype.JSONB)

// strip is JSON without the fields of objects that are null.
func strip(c *Call) (value.Value, error) {
	var walk func(v value.Value) value.Value
	walk = func(v value.Value) value.Value {
		switch v.Kind() {
		case value.KindObject:
			var fields []value.Field
			for _, f := range v.Object().Fields() {
				if !f.Value.IsNullish() {
					fields = append(fields, value.Field{Name: f.Name, Value: walk(f.Value)})
				}
			}
			return value.ObjectOf(value.NewObject(fields...))
		case value.KindArray:
			out := make([]value.Value, v.Len())
			for i, e := range v.Elems() {
				out[i] = walk(e)
			}
			return value.ArrayOf(out)
		}
		return v
	}
	return walk(c.Args[0]), nil
}

// jsonText is a value of JSON as ->> gives it.
func jsonText(v value.Value) value.Value {
	switch {
	case v.IsNullish():
		return value.None
	case v.Kind() == value.KindString:
		return v
	}
	return value.Str(string(value.AppendJSON(nil, v)))
}

// extractPath is json_extract_path, or json_extract_path_text.
func extractPath(oid pgtype.OID, asText bool) *Function {
	out := oid
	if asText {
		out = pgtype.Text
	}
	return Returns(out, 2, -1, func(c *Call) (value.Value, error) {
		x := c.Args[0]
		for _, k := range c.Args[1:] {
			x = jsonField(x, k)
		}
		if asText {
			x = jsonText(x)
		}
		return x, nil
	}, oid, pgtype.Text)
}

// elements is a set of the elements of an array.
func elements(oid, of pgtype.OID) *Function {
	return &Function{Min: 1, Max: 1, Type: always2(of), Args: []pgtype.OID{oid}, Set: true, As: "value",
		Eval: func(c *Call) (value.Value, error) {
			if c.Args[0].Kind() != value.KindArray {
				return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot extract elements from %s",
					map[bool]string{true: "an object", false: "a scalar"}[c.Args[0].Kind() == value.KindObject])
			}
			out := slices.Clone(c.Args[0].Elems())
			for i := range out {
				out[i] = member(out[i], of)
			}
			return value.ArrayOf(out), nil
		}}
}

// member is a part of JSON, as a value of a type: JSON or a text.
func member(v value.Value, oid pgtype.OID) value.Value {
	switch {
	case oid == pgtype.Text:
		return jsonText(v)
	case v.IsNone():
		return value.Null
	}
	return v
}

// each is a set of the names and values of an object.
func each(oid, of pgtype.OID) *Function {
	return &Function{Min: 1, Max: 1, Type: always2(pgtype.Record), Args: []pgtype.OID{oid}, Set: true,
		Fields: []Column{{Name: "key", OID: pgtype.Text}, {Name: "value", OID: of}},
		Eval: func(c *Call) (value.Value, error) {
			if c.Args[0].Kind() != value.KindObject {
				return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot call this function on a non-object")
			}
			var out []value.Value
			for _, f := range c.Args[0].Object().Fields() {
				out = append(out, value.ArrayOf([]value.Value{value.Str(f.Name), member(f.Value, of)}))
			}
			return value.ArrayOf(out), nil
		}}
}

// keys is a set of the names of an object.
func keys(oid pgtype.OID) *Function {
	return &Function{Min: 1, Max: 1, Type: always2(pgtype.Text), Args: []pgtype.OID{oid}, Set: true,
		Eval: func(c *Call) (value.Value, error) {
			if c.Args[0].Kind() != value.KindObject {
				return value.None, sqlstate.New(sqlstate.InvalidParameter, "cannot call this function on a non-object")
			}
			var out []value.Value
			for _, f := range c.Args[0].Object().Fields() {
				out = append(out, value.Str(f.Name))
			}
			return value.ArrayOf(out), nil
		}}
}

// jsonArgument is an argument of a function that makes JSON, as the JSON that it becomes: numbers are numbers, times
// have the form of ISO 8601, and what JSON has no form for is its text.
func jsonArgument(x *bound) *bound {
	if x.fields != nil {
		return rowObject(x)
	}
	if !respelled(x.oid) {
		return x
	}
	return x.altered(func(s *scope) (value.Value, error) {
		v, err := x.eval(s)
		if err != nil {
			return v, err
		}
		return asJSON(s.rt.env, v, x.oid), nil
	})
}

// respelled reports whether values of a type are written in another way in JSON.
func respelled(oid pgtype.OID) bool {
	switch oid {
	case pgtype.Numeric, pgtype.Timestamptz, pgtype.Timestamp, pgtype.Date, pgtype.Interval, pgtype.Time,
		pgtype.TimeTZ,
		pgtype.Bytea:
		return true
	}
	return pgtype.ElemOf(oid) != 0 && respelled(pgtype.ElemOf(oid))
}

// asJSON is a value of a type as JSON has it. Its numbers are those of JSON that is read: whole ones, and floats.
func asJSON(env Env, v value.Value, oid pgtype.OID) value.Value {
	switch {
	case v.IsNone() || !respelled(oid):
		return v
	case pgtype.ElemOf(oid) != 0:
		out := make([]value.Value, v.Len())
		for i, e := range elems(v) {
			out[i] = asJSON(env, e, pgtype.ElemOf(oid))
		}
		return value.ArrayOf(out)
	case oid == pgtype.Numeric && v.Kind() == value.KindDecimal:
		if n, ok := wholeOfAny(v); ok && value.Equal(v, value.DecimalOf(decimal.FromInt(n))) {
			return value.Int(n)
		}
		return value.Float(v.AsFloat())
	case oid == pgtype.Numeric:
		return v
	}
	text := pgtype.AppendText(nil, oid, v, env.Style())
	if oid == pgtype.Timestamp || oid == pgtype.Timestamptz {
		if at := bytes.IndexByte(text, ' '); at > 0 {
			text[at] = 'T'
		}
	}
	if n := len(text); oid == pgtype.Timestamptz && (text[n-3] == '+' || text[n-3] == '-') {
		text = append(text, ":00"...)
	}
	return value.Str(string(text))
}

// jsonOf is an argument as a value of JSON.
func jsonOf(c *Call, i int) value.Value {
	v := c.Args[i]
	if v.IsNone() {
		return value.Null
	}
	if pgtype.IsReg(c.OIDs[i]) {
		return value.Str(c.Str(i))
	}
	return v
}
