package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// typedKey marks a value in the language inside of JSON: {"$ql": "d'2025-01-01T00:00:00Z'"}.
const typedKey = "$ql"

// typed reads a JSON value in which $ql may stand at any depth. The nesting was checked with the message. Errors are
// faults.
func (s *Server) typed(raw json.RawMessage) (value.Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return value.None, badParams("The value is not JSON")
	}
	return s.valueOf(v)
}

func (s *Server) valueOf(v any) (value.Value, error) {
	switch v := v.(type) {
	case nil:
		return value.Null, nil
	case bool:
		return value.Bool(v), nil
	case string:
		return value.Str(v), nil
	case json.Number:
		return number(v.String())
	case []any:
		out := make([]value.Value, len(v))
		for i, e := range v {
			one, err := s.valueOf(e)
			if err != nil {
				return value.None, err
			}
			out[i] = one
		}
		return value.ArrayOf(out), nil
	case map[string]any:
		if text, ok := v[typedKey]; ok {
			return s.inLanguage(text, len(v))
		}
		fields := make([]value.Field, 0, len(v))
		for name, e := range v {
			one, err := s.valueOf(e)
			if err != nil {
				return value.None, err
			}
			fields = append(fields, value.Field{Name: name, Value: one})
		}
		return value.ObjectOf(value.NewObject(fields...)), nil
	}
	return value.None, badParams("The value is not JSON")
}

// number is an int, a decimal where it is whole and beyond 64 bits, else a float.
func number(text string) (value.Value, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value.Int(n), nil
	}
	if !bytes.ContainsAny([]byte(text), ".eE") {
		if d, err := value.ParseDecimal(text); err == nil {
			return value.DecimalOf(d), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return value.None, badParams("The number %s is too large", errs.Brief(text, 64))
	}
	return value.Float(f), nil
}

// inLanguage reads a value of the language. Nothing is evaluated: calls and parameters are refused.
func (s *Server) inLanguage(text any, keys int) (value.Value, error) {
	t, ok := text.(string)
	switch {
	case keys != 1:
		return value.None, badParams("`$ql` must be the only key when present; found %d keys", keys)
	case !ok:
		return value.None, badParams("`$ql` value must be a string")
	case len(bytes.TrimSpace([]byte(t))) == 0:
		return value.None, badParams("`$ql` must be a non-empty expression")
	case len(t) > s.Limits.TextBytes && s.Limits.TextBytes > 0:
		return value.None, badParams("`$ql` body is %d bytes, exceeding the %d-byte cap", len(t), s.Limits.TextBytes)
	}
	v, err := parse.Value(t)
	if err != nil {
		return value.None, badParams("`$ql` body failed to parse as a value: %s", errs.As(err).Msg)
	}
	return v, nil
}

// parameters are the variables of a query.
func (c *call) parameters(name string) (*value.Object, error) {
	raw, ok := c.args[name]
	if !ok {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, badParams("Parameters must be a JSON object")
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return nil, badParams("Parameters must be a JSON object")
	}
	if most := c.srv.Limits.ParamKeys; len(keys) > most && most > 0 {
		return nil, badParams("Parameters object has %d keys, exceeding the maximum of %d", len(keys), most)
	}
	fields := make([]value.Field, 0, len(keys))
	for key, raw := range keys {
		v, err := c.srv.typed(raw)
		if err != nil {
			return nil, err
		}
		fields = append(fields, value.Field{Name: key, Value: v})
	}
	return value.NewObject(fields...), nil
}

// literal is v as part of a statement.
func literal(v value.Value) ast.Expr { return &ast.Literal{Value: v} }
