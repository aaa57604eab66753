package mcp

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// typedKey marks a value in the language inside of JSON: {"$ql": "d'2025-01-01T00:00:00Z'"}.
const typedKey = "$ql"

// typed reads a JSON value in which $ql may stand at any depth. Whole numbers beyond 64 bits are decimals. Errors are
// faults.
func (s *Server) typed(raw json.RawMessage) (value.Value, error) {
	lim := rpc.Decoding(s.Limits.Depth)
	lim.Decimals, lim.ParseObject = true, s.inLanguage
	v, err := value.DecodeJSONValue(raw, lim)
	if bad, ok := errors.AsType[*value.DecodeError](err); ok {
		return value.None, badParams("The value is not JSON: %s", bad.Reason)
	}
	return v, err
}

// inLanguage gives the value of the language that an object holds, or the object. Nothing is evaluated: calls and
// parameters are refused.
func (s *Server) inLanguage(o *value.Object) (value.Value, error) {
	text, ok := o.Get(typedKey)
	if !ok {
		return value.ObjectOf(o), nil
	}
	switch {
	case o.Len() != 1:
		return value.None, badParams("`$ql` must be the only key when present; found %d keys", o.Len())
	case text.Kind() != value.KindString:
		return value.None, badParams("`$ql` value must be a string")
	case strings.TrimSpace(text.Str()) == "":
		return value.None, badParams("`$ql` must be a non-empty expression")
	case len(text.Str()) > s.Limits.TextBytes && s.Limits.TextBytes > 0:
		return value.None, badParams("`$ql` body is %d bytes, exceeding the %d-byte cap", len(text.Str()), s.Limits.TextBytes)
	}
	v, err := parse.Value(text.Str())
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
	v, err := c.srv.typed(raw)
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.KindObject {
		return nil, badParams("Parameters must be a JSON object")
	}
	if most := c.srv.Limits.ParamKeys; v.Object().Len() > most && most > 0 {
		return nil, badParams("Parameters object has %d keys, exceeding the maximum of %d", v.Object().Len(), most)
	}
	return v.Object(), nil
}

// literal is v as part of a statement.
func literal(v value.Value) ast.Expr { return &ast.Literal{Value: v} }
