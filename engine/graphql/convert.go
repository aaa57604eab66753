package graphql

import (
	"encoding/base64"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// converter makes values of the language of what clients send.
type converter struct {
	readRecord func(string) (value.Value, error)
	readValue  func(string) (value.Value, error)
}

// resolving is an error about what a client asks for.
func resolving(format string, args ...any) error {
	return errs.Validation("Error resolving request: "+format, args...)
}

func (c *converter) failed(v value.Value, t *value.Type) error {
	text := v.Text()
	if len(text) > 128 {
		text = strings.ToValidUTF8(text[:128], "") + "…"
	}
	return errs.Validation("Error converting value: %s to type: %s", text, t)
}

// to converts an input to a shape. NULL is NONE where the shape may be missing.
func (c *converter) to(v value.Value, s *shape) (value.Value, error) {
	if v.IsNullish() {
		if allows(s.typ, value.TypeNull) && !s.null {
			return value.Null, nil
		}
		return value.None, nil
	}
	switch s.kind {
	case shapeEnum:
		if text, ok := s.enum.text[v.Str()]; ok && v.Kind() == value.KindString {
			return value.Str(text), nil
		}
		return value.None, c.failed(v, s.typ)
	case shapeGeometry:
		return c.geometry(v, shapesOf(s.typ))
	case shapeList:
		return c.list(v, s)
	case shapeNested:
		return c.nested(v, s)
	}
	return c.toType(v, s.typ)
}

// nested is an object whose declared fields say what their values are.
func (c *converter) nested(v value.Value, s *shape) (value.Value, error) {
	if v.Kind() != value.KindObject {
		return c.toType(v, value.Simple(value.TypeObject))
	}
	var fields []value.Field
	for _, m := range v.Object().Fields() {
		f := s.obj.fields[m.Name]
		if f == nil {
			fields = append(fields, value.Field{Name: m.Name, Value: c.loose(m.Value)})
			continue
		}
		to, err := c.to(m.Value, f.shape)
		if err != nil {
			return value.None, err
		}
		fields = append(fields, value.Field{Name: f.real, Value: to})
	}
	return value.ObjectOf(value.NewObject(fields...)), nil
}

func allows(t *value.Type, k value.TypeKind) bool {
	if t == nil || t.Kind == k {
		return t != nil
	}
	if t.Kind == value.TypeUnion {
		for _, a := range t.Alts {
			if allows(a, k) {
				return true
			}
		}
	}
	return false
}

func (c *converter) list(v value.Value, s *shape) (value.Value, error) {
	elems := []value.Value{v} // GraphQL takes one value for a list of it
	if v.Kind() == value.KindArray {
		elems = v.Elems()
	}
	out := make([]value.Value, len(elems))
	for i, e := range elems {
		var err error
		if s.typ != nil && s.typ.Kind == value.TypeTuple && i < len(s.typ.Alts) {
			out[i], err = c.toType(e, s.typ.Alts[i])
		} else {
			out[i], err = c.to(e, s.elem)
		}
		if err != nil {
			return value.None, err
		}
	}
	list := value.ArrayOf(out)
	if t := s.typ; t != nil {
		switch {
		case t.Kind == value.TypeSet:
			list = value.SetOf(out)
		case t.Kind == value.TypeArray && t.Max >= 0 && len(out) != t.Max,
			t.Kind == value.TypeTuple && len(out) != len(t.Alts):
			return value.None, c.failed(v, t)
		}
	}
	return list, nil
}

// toType converts an input to a kind.
func (c *converter) toType(v value.Value, t *value.Type) (value.Value, error) {
	if t == nil {
		return c.loose(v), nil
	}
	var out value.Value
	ok := false
	text, isText := "", v.Kind() == value.KindString
	if isText {
		text = v.Str()
	}
	switch t.Kind {
	case value.TypeAny:
		return c.loose(v), nil
	case value.TypeUnion:
		return c.union(v, t)
	case value.TypeLiteral:
		return c.literal(v, t)
	case value.TypeRecord:
		return c.record(v, t)
	case value.TypeString:
		out, ok = v, isText
	case value.TypeBool:
		out, ok = v, v.Kind() == value.KindBool
	case value.TypeInt, value.TypeFloat, value.TypeNumber, value.TypeDecimal:
		out, ok = number(v, t.Kind)
	case value.TypeDatetime:
		d, err := value.ParseDatetime(text)
		out, ok = value.DatetimeOf(d), isText && err == nil
	case value.TypeDuration:
		d, err := value.ParseDuration(text)
		out, ok = value.DurationOf(d), isText && err == nil
	case value.TypeUUID:
		u, err := value.ParseUUID(text)
		out, ok = value.UUIDOf(u), isText && err == nil
	case value.TypeBytes:
		raw, err := base64.StdEncoding.DecodeString(text)
		out, ok = value.BytesOf(raw), isText && err == nil
	case value.TypeObject, value.TypeFields:
		out, ok = c.object(v)
	case value.TypeArray, value.TypeSet:
		if v.Kind() != value.KindArray {
			break
		}
		return c.elements(v, t)
	case value.TypeGeometry, value.TypePoint:
		return c.geometry(v, shapesOf(t))
	}
	if !ok {
		return value.None, c.failed(v, t)
	}
	return out, nil
}

func (c *converter) elements(v value.Value, t *value.Type) (value.Value, error) {
	out := make([]value.Value, v.Len())
	for i, e := range v.Elems() {
		var err error
		if out[i], err = c.toType(e, t.Elem); err != nil {
			return value.None, err
		}
	}
	if t.Kind == value.TypeSet {
		return value.SetOf(out), nil
	}
	return value.ArrayOf(out), nil
}

// number reads a number, or a text that is one.
func number(v value.Value, t value.TypeKind) (value.Value, bool) {
	if v.Kind() == value.KindString {
		if t == value.TypeDecimal {
			d, err := decimal.Parse(strings.TrimSuffix(v.Str(), "dec"))
			return value.DecimalOf(d), err == nil
		}
		n, err := value.ParseNumber(v.Str())
		if err != nil {
			return value.None, false
		}
		v = n
	}
	if !v.Kind().IsNumber() {
		return value.None, false
	}
	switch t {
	case value.TypeInt:
		out, err := value.Coerce(v, value.Simple(t))
		return out, err == nil && out.Kind() == value.KindInt
	case value.TypeNumber:
		return v, true
	}
	out, err := value.Cast(v, value.Simple(t), nil)
	return out, err == nil
}

// object takes an object, or a text that is one.
func (c *converter) object(v value.Value) (value.Value, bool) {
	if v.Kind() == value.KindString {
		parsed, err := c.readValue(v.Str())
		return parsed, err == nil && parsed.Kind() == value.KindObject
	}
	return c.loose(v), v.Kind() == value.KindObject
}

// loose converts by the shape of the input alone. A text may be a literal of the language.
func (c *converter) loose(v value.Value) value.Value {
	switch v.Kind() {
	case value.KindString:
		return c.looseText(v)
	case value.KindArray:
		out := make([]value.Value, v.Len())
		for i, e := range v.Elems() {
			out[i] = c.loose(e)
		}
		return value.ArrayOf(out)
	case value.KindObject:
		fields := append([]value.Field(nil), v.Object().Fields()...)
		for i := range fields {
			fields[i].Value = c.loose(fields[i].Value)
		}
		return value.ObjectOf(value.ObjectOfSorted(fields))
	}
	return v
}

// looseText is a text as a datetime, duration, UUID or literal, where it is one; else the text.
func (c *converter) looseText(v value.Value) value.Value {
	text := v.Str()
	if d, err := value.ParseDatetime(text); err == nil {
		return value.DatetimeOf(d)
	}
	if d, err := value.ParseDuration(text); err == nil {
		return value.DurationOf(d)
	}
	if u, err := value.ParseUUID(text); err == nil {
		return value.UUIDOf(u)
	}
	if parsed, err := c.readValue(text); err == nil {
		return parsed
	}
	return v
}

func (c *converter) literal(v value.Value, t *value.Type) (value.Value, error) {
	got := v
	if t.Literal.Kind() == value.KindDuration && v.Kind() == value.KindString {
		if d, err := value.ParseDuration(v.Str()); err == nil {
			got = value.DurationOf(d)
		}
	}
	if value.Equal(got, t.Literal) {
		return t.Literal, nil
	}
	return value.None, c.failed(v, t)
}

// union tries the alternatives that fit the form of the input, in a fixed order of kinds.
func (c *converter) union(v value.Value, t *value.Type) (value.Value, error) {
	for _, k := range unionOrder {
		for _, a := range t.Alts {
			if a.Kind != k {
				continue
			}
			if out, err := c.toType(v, a); err == nil {
				return out, nil
			}
		}
	}
	return value.None, c.failed(v, t)
}

var unionOrder = [...]value.TypeKind{value.TypeLiteral, value.TypeBool, value.TypeInt, value.TypeFloat,
	value.TypeDecimal,
	value.TypeNumber, value.TypeDatetime, value.TypeDuration, value.TypeUUID, value.TypeRecord, value.TypeArray,
	value.TypeSet,
	value.TypeGeometry, value.TypePoint, value.TypeFields, value.TypeObject, value.TypeBytes, value.TypeAny,
	value.TypeString, value.TypeUnion}

// record reads a full id whose table is one of the type's.
func (c *converter) record(v value.Value, t *value.Type) (value.Value, error) {
	id, err := c.id(v)
	if err != nil {
		return value.None, err
	}
	if len(t.Tables) == 0 {
		return id, nil
	}
	for _, name := range t.Tables {
		if name == id.Record().Table {
			return id, nil
		}
	}
	return value.None, c.failed(v, t)
}

// id reads the full id of one record.
func (c *converter) id(v value.Value) (value.Value, error) {
	if v.Kind() != value.KindString {
		return value.None, resolving("Invalid record ID format")
	}
	id, err := c.readRecord(v.Str())
	switch {
	case err != nil && generated(v.Str()):
		return value.None,
			resolving("Generated RecordId keys (rand(), ulid(), uuid()) are not supported in GraphQL inputs")
	case err != nil:
		return value.None, resolving("Invalid record ID: %s: expected the form table:key", errs.Brief(v.Str(), 128))
	case id.Record().Key.Kind() == value.KindRange:
		return value.None, resolving("RecordId key ranges are not supported in GraphQL")
	}
	return id, nil
}

func generated(text string) bool { return hasSuffix(text, ":rand()", ":ulid()", ":uuid()") }

// key is the record of a table that a key names: text that is the literal of a key, or any other text as it is.
func (c *converter) key(table string, v value.Value) (value.Value, error) {
	text := value.ToString(v)
	if text == "" {
		return value.None, resolving("Invalid record ID format")
	}
	if id, err := c.readRecord(value.QuoteIdent(table) + ":" + text); err == nil {
		if id.Record().Key.Kind() == value.KindRange {
			return value.None, resolving("RecordId key ranges are not supported in GraphQL")
		}
		return id, nil
	}
	return value.Record(table, value.Str(text)), nil
}

// literalOf is a value as an expression.
func literalOf(v value.Value) ast.Expr { return &ast.Literal{Value: v} }
