package sql

import (
	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
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
		"jsonb_array_length": integer(1, 1, func(c *Call) int64 { return int64(c.Args[0].Len()) }, pgtype.JSONB),
		"jsonb_typeof": text(1, 1, func(c *Call) string {
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
		}, pgtype.JSONB),
	}
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
