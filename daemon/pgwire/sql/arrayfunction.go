package sql

import (
	"bytes"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

func generateSubscripts(c *Call) (value.Value, error) {
	base := int64(1)
	if pgtype.IsVector(c.OIDs[0]) {
		base = 0
	}
	var out []value.Value
	for i := range elems(c.Args[0]) {
		out = append(out, value.Int(base+int64(i)))
	}
	return value.ArrayOf(out), nil
}

func arrayFunctions() map[string]*Function {
	length := func(c *Call) (value.Value, error) {
		if n := len(elems(c.Args[0])); n > 0 && c.Int(1) == 1 {
			return value.Int(int64(n)), nil
		}
		return value.None, nil
	}
	return map[string]*Function{
		"array_length": Returns(pgtype.Int4, 2, 2, length),
		"array_upper": Returns(pgtype.Int4, 2, 2, func(c *Call) (value.Value, error) {
			v, err := length(c)
			if err == nil && !v.IsNone() && pgtype.IsVector(c.OIDs[0]) {
				return value.Int(v.Int() - 1), nil
			}
			return v, err
		}),
		"array_lower": Returns(pgtype.Int4, 2, 2, func(c *Call) (value.Value, error) {
			v, err := length(c)
			if err != nil || v.IsNone() {
				return v, err
			}
			if pgtype.IsVector(c.OIDs[0]) {
				return value.Int(0), nil
			}
			return value.Int(1), nil
		}),
		"cardinality": integer(1, 1, func(c *Call) int64 { return int64(len(elems(c.Args[0]))) }),
		"array_to_string": Returns(pgtype.Text, 2, 3, func(c *Call) (value.Value, error) {
			var parts []string
			for _, e := range elems(c.Args[0]) {
				switch {
				case !e.IsNone():
					parts = append(parts, textOf(c.Env, e, pgtype.ElemOf(c.OIDs[0])))
				case len(c.Args) > 2:
					parts = append(parts, c.Str(2))
				}
			}
			return joined(parts, c.Str(1))
		}, 0, pgtype.Text, pgtype.Text),
		"string_to_array": Returns(pgtype.TextArray, 2, 3, func(c *Call) (value.Value, error) {
			if c.Str(0) == "" {
				return value.ArrayOf(nil), nil
			}
			parts := []string{c.Str(0)}
			if err := fits(strings.Count(c.Str(0), c.Str(1)), mostElements); c.Str(1) != "" && err != nil {
				return value.None, err
			}
			if c.Str(1) != "" {
				parts = strings.Split(c.Str(0), c.Str(1))
			}
			var out []value.Value
			for _, p := range parts {
				if len(c.Args) > 2 && p == c.Str(2) {
					out = append(out, value.None)
				} else {
					out = append(out, value.Str(p))
				}
			}
			return value.ArrayOf(out), nil
		}, pgtype.Text),
		"array_remove": {Min: 2, Max: 2, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			return value.ArrayOf(slices.DeleteFunc(slices.Clone(elems(c.Args[0])), func(v value.Value) bool {
				return string(appendKey(nil, v)) == string(appendKey(nil, c.Args[1]))
			})), nil
		}},
		"array_append": {Min: 2, Max: 2, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			return value.ArrayOf(append(slices.Clone(elems(c.Args[0])), c.Args[1])), nil
		}},
		"array_prepend": {Min: 2, Max: 2, Type: func(oids []pgtype.OID) pgtype.OID { return oids[1] }, Nulls: true,
			Eval: func(c *Call) (value.Value, error) {
				return value.ArrayOf(append([]value.Value{c.Args[0]}, elems(c.Args[1])...)), nil
			}},
		"array_replace": {Min: 3, Max: 3, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			if c.Args[0].IsNone() {
				return value.None, nil
			}
			out := slices.Clone(elems(c.Args[0]))
			for _, i := range placesOf(c.Args[1], out) {
				out[i] = c.Args[2]
			}
			return value.ArrayOf(out), nil
		}},
		"array_positions": {Min: 2, Max: 2, Type: always2(pgtype.ArrayOf(pgtype.Int4)), Nulls: true,
			Eval: func(c *Call) (value.Value, error) {
				if c.Args[0].IsNone() {
					return value.None, nil
				}
				var out []value.Value
				for _, i := range placesOf(c.Args[1], elems(c.Args[0])) {
					out = append(out, value.Int(int64(i+1)))
				}
				return value.ArrayOf(out), nil
			}},
		"array_cat": {Min: 2, Max: 2, Type: firstType, Nulls: true, Eval: func(c *Call) (value.Value, error) {
			if err := fits(len(elems(c.Args[0]))+len(elems(c.Args[1])), mostElements); err != nil {
				return value.None, err
			}
			return value.ArrayOf(append(slices.Clone(elems(c.Args[0])), elems(c.Args[1])...)), nil
		}},
		"array_position": Returns(pgtype.Int4, 2, 3, func(c *Call) (value.Value, error) {
			for i, e := range elems(c.Args[0]) {
				if string(appendKey(nil, e)) == string(appendKey(nil, c.Args[1])) {
					return value.Int(int64(i + 1)), nil
				}
			}
			return value.None, nil
		}),
		"unnest": {Min: 1, Max: 1, Type: elemType, Set: true, Eval: func(c *Call) (value.Value,
			error) {
			return c.Args[0], nil
		}},
		"_pg_expandarray": {Min: 1, Max: 1, Type: always2(pgtype.Record), Set: true, Fields: []Column{{Name: "x",
			OID: pgtype.Int2}, {Name: "n", OID: pgtype.Int4}},
			Eval: func(c *Call) (value.Value, error) {
				var out []value.Value
				for i, e := range elems(c.Args[0]) {
					out = append(out, value.ArrayOf([]value.Value{e, value.Int(int64(i + 1))}))
				}
				return value.ArrayOf(out), nil
			}},
	}
}

// placesOf are where v is in a list; NULL is equal to NULL.
func placesOf(v value.Value, list []value.Value) (at []int) {
	want, key := appendKey(nil, v), []byte(nil)
	for i, e := range list {
		if key = appendKey(key[:0], e); bytes.Equal(key, want) {
			at = append(at, i)
		}
	}
	return at
}
