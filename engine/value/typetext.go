package value

import (
	"slices"
	"strings"
)

// typeNames are the words of the types that are one word. Those with arguments start with theirs.
var typeNames = [...]string{
	TypeAny: "any", TypeNone: "none", TypeNull: "null", TypeBool: "bool", TypeInt: "int", TypeFloat: "float",
	TypeDecimal: "decimal", TypeNumber: "number", TypeString: "string", TypeBytes: "bytes", TypeDatetime: "datetime",
	TypeDuration: "duration", TypeUUID: "uuid", TypeRegex: "regex", TypeRange: "range", TypeFunction: "function",
	TypeFile: "file", TypePoint: "geometry<point>", TypeObject: "object", TypeArray: "array", TypeSet: "set",
	TypeRecord: "record", TypeTable: "table", TypeGeometry: "geometry",
}

// Simple is the type of one word, without arguments: Simple(TypeInt), Simple(TypeArray) …
func Simple(k TypeKind) *Type {
	if k == TypeAny {
		return Any
	}
	return &Type{Kind: k, Max: -1}
}

// ArrayType is array<elem, max>; a nil elem is any, a negative max no bound.
func ArrayType(elem *Type, max int) *Type { return &Type{Kind: TypeArray, Elem: elem, Max: max} }

// SetType is set<elem, max>; a nil elem is any, a negative max no bound.
func SetType(elem *Type, max int) *Type { return &Type{Kind: TypeSet, Elem: elem, Max: max} }

// RecordType is record<tables>; none means any table.
func RecordType(tables ...string) *Type { return &Type{Kind: TypeRecord, Max: -1, Tables: tables} }

// GeometryType is geometry<shapes>; none means any shape.
func GeometryType(shapes ...GeometryKind) *Type {
	return &Type{Kind: TypeGeometry, Max: -1, Shapes: shapes}
}

// LiteralType is the type of v alone.
func LiteralType(v Value) *Type { return &Type{Kind: TypeLiteral, Max: -1, Literal: v} }

// UnionOf is the union of alts: unions inside it are laid flat, repeats dropped, and a union of one is
// that one.
func UnionOf(alts ...*Type) *Type {
	var flat []*Type
	seen := make(map[string]bool, len(alts))
	add := func(t *Type) {
		if s := t.String(); !seen[s] {
			seen[s] = true
			flat = append(flat, t)
		}
	}
	for _, t := range alts {
		if t.Kind != TypeUnion {
			add(t)
			continue
		}
		for _, alt := range t.Alts {
			add(alt)
		}
	}
	if len(flat) == 1 {
		return flat[0]
	}
	return &Type{Kind: TypeUnion, Max: -1, Alts: flat}
}

// OptionOf is option<t>: none | t.
func OptionOf(t *Type) *Type { return UnionOf(Simple(TypeNone), t) }

// IsOption reports whether t takes NONE.
func (t *Type) IsOption() bool {
	if t.Kind == TypeUnion {
		for _, alt := range t.Alts {
			if alt.IsOption() {
				return true
			}
		}
	}
	return t.Kind == TypeAny || t.Kind == TypeNone
}

// String is the canonical text of t: none | int, array<int, 3>, record<a | b>, { a: int }.
func (t *Type) String() string { return string(t.append(nil, false)) }

// append writes t. The compact form of arguments ("array<int,3>", "record<a|b>") stands in some error
// texts.
func (t *Type) append(dst []byte, compact bool) []byte {
	comma, bar := ", ", " | "
	if compact {
		comma, bar = ",", "|"
	}
	switch t.Kind {
	case TypeArray, TypeSet:
		dst = append(dst, typeNames[t.Kind]...)
		if t.Max < 0 && (t.Elem == nil || t.Elem.Kind == TypeAny) {
			return dst
		}
		dst = append(dst, '<')
		if t.Elem == nil {
			dst = append(dst, "any"...)
		} else {
			dst = t.Elem.append(dst, false)
		}
		if t.Max >= 0 {
			dst = Int(int64(t.Max)).AppendText(append(dst, comma...))
		}
		return append(dst, '>')
	case TypeRecord, TypeTable, TypeFile:
		return appendArgs(append(dst, typeNames[t.Kind]...), t.Tables, bar, appendTableName)
	case TypeGeometry:
		return appendArgs(append(dst, typeNames[t.Kind]...), t.Shapes, bar, func(dst []byte, k GeometryKind) []byte {
			return append(dst, k.String()...)
		})
	case TypeUnion:
		return appendTypes(dst, t.Alts, " | ")
	case TypeTuple:
		return append(appendTypes(append(dst, '['), t.Alts, ", "), ']')
	case TypeFields:
		dst = append(dst, "{ "...)
		for i, f := range t.Fields {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(AppendKey(dst, f.Name), ": "...)
			dst = f.Type.append(dst, false)
		}
		return append(dst, " }"...)
	case TypeLiteral:
		// Upstream prints a blank before these two: TYPE  1.5f.
		if k := t.Literal.Kind(); k == KindFloat || k == KindDecimal {
			dst = append(dst, ' ')
		}
		return t.Literal.AppendText(dst)
	}
	return append(dst, typeNames[t.Kind]...)
}

// appendTableName quotes a table in a type: no word is reserved there but the two that read as numbers.
func appendTableName(dst []byte, name string) []byte {
	if isPlainIdent(name) && name != "NaN" && name != "Infinity" {
		return append(dst, name...)
	}
	return appendEscaped(dst, name, '`')
}

func appendArgs[T any](dst []byte, args []T, sep string, write func([]byte, T) []byte) []byte {
	if len(args) == 0 {
		return dst
	}
	dst = append(dst, '<')
	for i, a := range args {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = write(dst, a)
	}
	return append(dst, '>')
}

func appendTypes(dst []byte, types []*Type, sep string) []byte {
	for i, t := range types {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = t.append(dst, false)
	}
	return dst
}

// compact is t without blanks between the arguments of its head.
func (t *Type) compact() string { return string(t.append(nil, true)) }

// TypeNamed is the type that one word names, without its arguments: "int", "array", "point" (lower case).
func TypeNamed(word string) (TypeKind, bool) {
	if word == "point" {
		return TypePoint, true
	}
	for k, name := range typeNames {
		if name == word {
			return TypeKind(k), true
		}
	}
	return 0, false
}

// ShapeNamed is the shape that a word inside geometry<…> names, in any case.
func ShapeNamed(word string) (GeometryKind, bool) {
	for k, name := range shapeNames {
		if strings.EqualFold(name, word) {
			return GeometryKind(k), true
		}
	}
	return 0, false
}

// FieldsType is { name: type, … }, exactly these fields; it sorts them (in place).
func FieldsType(fields ...TypeField) *Type {
	slices.SortFunc(fields, func(a, b TypeField) int { return strings.Compare(a.Name, b.Name) })
	return &Type{Kind: TypeFields, Max: -1, Fields: fields}
}
