package fn

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func typeFuncs() []entry {
	var out []entry
	casts := []struct {
		name string
		kind value.TypeKind
	}{
		{"array", value.TypeArray}, {"bool", value.TypeBool}, {"bytes", value.TypeBytes},
		{"datetime", value.TypeDatetime},
		{"decimal", value.TypeDecimal}, {"duration", value.TypeDuration}, {"float", value.TypeFloat},
		{"geometry", value.TypeGeometry},
		{"int", value.TypeInt}, {"number", value.TypeNumber}, {"point", value.TypePoint}, {"range", value.TypeRange},
		{"set", value.TypeSet}, {"string", value.TypeString}, {"uuid", value.TypeUUID},
	}
	for _, cast := range casts {
		out = append(out, entry{sig: "type::" + cast.name + "(value: any) -> " + cast.name, as: "to_" + cast.name,
			impl: castTo(cast.name, value.Simple(cast.kind)), doc: "The value cast to " + cast.name + "."})
	}
	kinds := []struct {
		name string
		is   func(value.Value) bool
	}{
		{"array", isKind(value.KindArray)}, {"bool", isKind(value.KindBool)}, {"bytes", isKind(value.KindBytes)},
		{"collection", isShape(value.GeometryCollection)}, {"datetime", isKind(value.KindDatetime)},
		{"decimal", isKind(value.KindDecimal)}, {"duration", isKind(value.KindDuration)},
		{"float", isKind(value.KindFloat)},
		{"geometry", isKind(value.KindGeometry)}, {"int", isKind(value.KindInt)}, {"line", isShape(value.GeometryLine)},
		{"multiline", isShape(value.GeometryMultiLine)}, {"multipoint", isShape(value.GeometryMultiPoint)},
		{"multipolygon", isShape(value.GeometryMultiPolygon)}, {"none", isKind(value.KindNone)},
		{"null", isKind(value.KindNull)},
		{"number", func(v value.Value) bool { return v.Kind().IsNumber() }}, {"object", isKind(value.KindObject)},
		{"point", isShape(value.GeometryPoint)}, {"polygon", isShape(value.GeometryPolygon)},
		{"range", isKind(value.KindRange)},
		{"set", isKind(value.KindSet)}, {"string", isKind(value.KindString)}, {"uuid", isKind(value.KindUUID)},
	}
	for _, k := range kinds {
		out = append(out, entry{sig: "type::is_" + k.name + "(value: any) -> bool", impl: typeTest(k.is),
			doc: "Whether the value is of type " + k.name + "."})
	}
	return methodsOn(anyKind, append(out,
		entry{sig: "type::is_record(value: any, table?: string) -> bool", impl: typeIsRecord,
			doc: "Whether the value is a record id, and of the table."},
		entry{sig: "type::of(value: any) -> string", as: "type_of", impl: typeOf,
			doc: "The name of the type of a value."},
		entry{sig: "type::string_lossy(value: any) -> string", as: "to_string_lossy", impl: typeStringLossy,
			doc: "The value cast to string; bytes that are no text are replaced."},
		entry{sig: "type::record(table_or_text: any, key?: any) -> record", as: "to_record", impl: typeRecord,
			doc: "A record id of a table and a key, or read from a text."},
		entry{sig: "type::table(name: any) -> table", on: noMethod, impl: typeTable,
			doc: "A table name, or the table of a record id."},
		entry{sig: "type::file(bucket: string, key: string) -> file", on: noMethod, impl: typeFile, doc: "A file pointer."},
		entry{sig: "volatile type::field(path: string) -> any", on: noMethod, impl: typeField,
			doc: "The field at a plain path (names, `.*`, `[0]`, `[$]`, `.{ a, b }`, `->edge->table`) in the current row of a SELECT."},
		entry{sig: "volatile type::fields(paths: array<string>) -> array", on: noMethod, impl: typeFields,
			doc: "The fields at several paths in the current row of a SELECT."},
	))
}

func isKind(k value.Kind) func(value.Value) bool {
	return func(v value.Value) bool { return v.Kind() == k }
}

func isShape(k value.GeometryKind) func(value.Value) bool {
	return func(v value.Value) bool { return v.Kind() == value.KindGeometry && v.Geometry().Kind == k }
}

func typeTest(is func(value.Value) bool) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) { return value.Bool(is(args[0])), nil }
}

// cast is <t>v; the error names the type as name.
func (c Call) cast(v value.Value, name string, t *value.Type) (value.Value, error) {
	// Unlike the cast, the function makes sets of arrays only.
	if k := v.Kind(); t.Kind == value.TypeSet && k != value.KindArray && k != value.KindSet {
		return value.None, c.noCast(name, v)
	}
	parser, _ := c.Host.(value.RecordParser)
	out, err := value.Cast(v, t, parser)
	if _, ok := errors.AsType[*value.CoerceError](err); ok {
		return value.None, c.noCast(name, v)
	}
	return out, err
}

func (c Call) noCast(name string, v value.Value) error {
	return errs.Internal("Could not cast into `%s` using input `%s`", name, v.Brief())
}

func castTo(name string, t *value.Type) Impl {
	return func(c Call, args []value.Value) (value.Value, error) { return c.cast(args[0], name, t) }
}

func typeOf(_ Call, args []value.Value) (value.Value, error) {
	return value.Str(typeName(args[0])), nil
}

func typeIsRecord(_ Call, args []value.Value) (value.Value, error) {
	ok := args[0].Kind() == value.KindRecord
	return value.Bool(ok && (len(args) == 1 || args[0].Record().Table == args[1].Str())), nil
}

func typeStringLossy(_ Call, args []value.Value) (value.Value, error) {
	if v := args[0]; v.Kind() == value.KindBytes {
		return value.Str(strings.ToValidUTF8(string(v.Bytes()), string(utf8.RuneError))), nil
	}
	return value.Str(value.ToString(args[0])), nil
}

// idText returns the text of a value as a part of a record id.
func idText(v value.Value) string {
	if v.Kind().IsNumber() {
		return numberText(v)
	}
	return value.ToString(v)
}

func typeRecord(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 1 {
		return c.recordFrom(args[0])
	}
	table := idText(args[0])
	if table == "" {
		return value.None, errs.Internal("Found %s for the Record ID but this is not a valid table name", table)
	}
	key := args[1]
	switch key.Kind() {
	case value.KindInt, value.KindUUID, value.KindArray, value.KindObject, value.KindRange:
	case value.KindRecord:
		key = key.Record().Key
	default:
		text := idText(key)
		if text == "" {
			return value.None, errs.Internal("Found %s for the Record ID but this is not a valid id", text)
		}
		key = value.Str(text)
	}
	return value.Record(table, key), nil
}

// recordFrom is a record id itself or read from a text.
func (c Call) recordFrom(v value.Value) (value.Value, error) {
	if v.Kind() == value.KindRecord {
		return v, nil
	}
	if v.Kind() == value.KindString {
		if p, ok := c.Host.(value.RecordParser); ok {
			if id, err := p.ParseRecord(v.Str()); err == nil {
				return id, nil
			}
		}
	}
	return value.None, errs.Validation("Could not cast into `record` using input `%s`", v.Brief())
}

func typeTable(_ Call, args []value.Value) (value.Value, error) {
	switch v := args[0]; v.Kind() {
	case value.KindString:
		return value.TableOf(v.Str()), nil
	case value.KindTable:
		return v, nil
	case value.KindRecord:
		return value.TableOf(v.Record().Table), nil
	}
	return value.None, errs.Internal("Found %s for the Record ID but this is not a valid table name", plainText(nil, args[0]))
}

func typeFile(_ Call, args []value.Value) (value.Value, error) {
	return value.FileOf(&value.File{Bucket: args[0].Str(), Key: withSlash(args[1].Str())}), nil
}

func typeField(c Call, args []value.Value) (value.Value, error) {
	h, ok := c.Host.(ProjectionHost)
	if !ok {
		return value.None, nil
	}
	return h.Field(args[0].Str())
}

func typeFields(c Call, args []value.Value) (value.Value, error) {
	paths := args[0].Elems()
	out := make([]value.Value, len(paths)) // NONE where there is no record
	h, ok := c.Host.(ProjectionHost)
	for i, p := range paths {
		if !ok {
			break
		}
		v, err := h.Field(p.Str())
		if err != nil {
			return value.None, err
		}
		out[i] = v
	}
	if len(out) == 1 && (!ok || !h.InRow()) { // as upstream
		return value.None, nil
	}
	return value.ArrayOf(out), nil
}
