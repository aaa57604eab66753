package graphql

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// maxLists is how deep lists may be inside of lists; what is deeper is JSON.
const maxLists = 3

// scalar is the shape of a scalar type.
func scalar(name string, t *value.Type) *shape {
	return &shape{kind: shapeScalar, name: name, input: name, typ: t}
}

// shapeOf returns the GraphQL form of a kind. scope names the enums and nested types that it needs.
func (b *builder) shapeOf(t *value.Type, scope string, lists int) *shape {
	if t == nil {
		s := scalar("any", value.Any)
		s.null = true
		return s
	}
	switch t.Kind {
	case value.TypeUnion:
		return b.union(t, scope, lists)
	case value.TypeArray, value.TypeSet:
		return b.listOf(t, t.Elem, scope, lists)
	case value.TypeTuple:
		return b.listOf(t, sameKind(t.Alts), scope, lists)
	case value.TypeRecord:
		return b.link(t)
	case value.TypeGeometry, value.TypePoint:
		return b.geometry(t)
	case value.TypeLiteral:
		return literalShape(t)
	case value.TypeFields:
		return b.fieldsShape(t, scope)
	case value.TypeNone, value.TypeNull:
		s := scalar("null", t)
		s.null = true
		return s
	case value.TypeAny:
		s := scalar("any", t)
		s.null = true
		return s
	}
	if name, ok := scalarNames[t.Kind]; ok {
		return scalar(name, t)
	}
	return scalar("any", t) // regex, range, function, file, table
}

var scalarNames = map[value.TypeKind]string{
	value.TypeBool: "Boolean", value.TypeInt: "Int", value.TypeFloat: "Float", value.TypeString: "String",
	value.TypeNumber: "number", value.TypeDecimal: "decimal", value.TypeDatetime: "datetime",
	value.TypeDuration: "duration",
	value.TypeUUID:     "uuid", value.TypeBytes: "bytes", value.TypeObject: "object", value.TypeFile: "String",
}

// sameKind is the one type of the elements of an array literal, or any.
func sameKind(alts []*value.Type) *value.Type {
	for _, a := range alts {
		if a.String() != alts[0].String() {
			return nil
		}
	}
	if len(alts) == 0 {
		return nil
	}
	return alts[0]
}

func (b *builder) listOf(t, elem *value.Type, scope string, lists int) *shape {
	s := &shape{kind: shapeList, typ: t}
	if lists+1 >= maxLists && elem != nil && (elem.Kind == value.TypeArray || elem.Kind == value.TypeSet) {
		s.elem = scalar("JSON", elem)
	} else {
		s.elem = b.shapeOf(elem, scope, lists+1)
	}
	s.elem.null = false
	s.name = s.elem.name
	return s
}

// union is a type with several alternatives; NONE and NULL among them only make it nullable.
func (b *builder) union(t *value.Type, scope string, lists int) *shape {
	null := false
	var alts []*value.Type
	var flat func(*value.Type)
	flat = func(t *value.Type) {
		for _, a := range t.Alts {
			switch a.Kind {
			case value.TypeUnion:
				flat(a)
			case value.TypeNone, value.TypeNull:
				null = true
			default:
				alts = append(alts, a)
			}
		}
	}
	flat(t)
	var s *shape
	switch {
	case len(alts) == 0:
		s = scalar("null", t)
	case len(alts) == 1:
		s = b.shapeOf(alts[0], scope, lists)
	default:
		s = b.several(alts, scope)
	}
	s.null = s.null || null
	return s
}

// several is the shape of alternatives that are not NONE and NULL.
func (b *builder) several(alts []*value.Type, scope string) *shape {
	t := value.UnionOf(alts...)
	every := func(ok func(*value.Type) bool) bool {
		for _, a := range alts {
			if !ok(a) {
				return false
			}
		}
		return true
	}
	switch {
	case every(func(a *value.Type) bool {
		return a.Kind == value.TypeLiteral && a.Literal.Kind() == value.KindString
	}):
		if e := b.enumOf(alts, scope); e != nil {
			return &shape{kind: shapeEnum, name: e.name, input: e.name, typ: t, enum: e}
		}
		return scalar("String", t)
	case every(func(a *value.Type) bool {
		return a.Kind == value.TypeLiteral && a.Literal.Kind() == alts[0].Literal.Kind()
	}):
		s := literalShape(alts[0])
		s.typ = t
		return s
	case every(func(a *value.Type) bool { return a.Kind == value.TypeRecord }):
		merged := &value.Type{Kind: value.TypeRecord, Max: -1}
		for _, a := range alts {
			if len(a.Tables) == 0 {
				merged.Tables = nil
				break
			}
			merged.Tables = append(merged.Tables, a.Tables...)
		}
		return b.link(merged)
	case every(numeric):
		return scalar("number", t)
	case every(func(a *value.Type) bool { return a.Kind == value.TypeGeometry || a.Kind == value.TypePoint }):
		merged := &value.Type{Kind: value.TypeGeometry, Max: -1}
		for _, a := range alts {
			merged.Shapes = append(merged.Shapes, shapesOf(a)...)
		}
		return b.geometry(merged)
	}
	return scalar("any", t)
}

func numeric(t *value.Type) bool {
	switch t.Kind {
	case value.TypeInt, value.TypeFloat, value.TypeDecimal, value.TypeNumber:
		return true
	}
	return false
}

// literalShape is the scalar of a single literal.
func literalShape(t *value.Type) *shape {
	name := "any"
	switch t.Literal.Kind() {
	case value.KindString:
		name = "String"
	case value.KindInt:
		name = "Int"
	case value.KindFloat:
		name = "Float"
	case value.KindDecimal:
		name = "decimal"
	case value.KindBool:
		name = "Boolean"
	case value.KindDuration:
		name = "duration"
	}
	return scalar(name, t)
}

// enumOf is the enum of some texts; nil where two of them would be one item.
func (b *builder) enumOf(alts []*value.Type, scope string) *enum {
	e := &enum{text: map[string]string{}, item: map[string]string{}}
	prefix, words := "VALUE", make([]string, len(alts))
	if scope != "" {
		prefix = enumWord(scope)
	}
	for i, a := range alts {
		text := a.Literal.Str()
		words[i] = enumWord(text)
		item := prefix + "_" + words[i]
		if _, twice := e.text[item]; twice {
			return nil
		}
		e.items = append(e.items, item)
		e.text[item], e.item[text] = text, item
	}
	e.name = "Literal_" + strings.Join(words, "_OR_")
	if scope != "" {
		e.name = prefix + "_ENUM_" + strings.Join(words, "_OR_")
	}
	if !b.enum(e) {
		return nil
	}
	return e
}

// link is a record type: an object, a union of objects, or the interface of all.
func (b *builder) link(t *value.Type) *shape {
	s := &shape{kind: shapeLink, name: "record", input: "ID", typ: t}
	if len(t.Tables) == 0 {
		return s
	}
	seen := map[string]bool{}
	var names []string
	for _, name := range t.Tables {
		o := b.s.tables[name]
		if o == nil { // not exposed: all that may be known of it is its id
			return scalar("ID", t)
		}
		if !seen[o.name] {
			seen[o.name] = true
			names = append(names, o.name)
			s.targets = append(s.targets, o)
		}
	}
	s.name = strings.Join(names, "_or_")
	if len(names) > 1 {
		b.unionOf(s.name, "A record which is one of: "+strings.Join(names, ", "), names)
	}
	return s
}

// fieldsShape is an object of fixed fields.
func (b *builder) fieldsShape(t *value.Type, scope string) *shape {
	o := &object{name: graphName(scope), fields: map[string]*field{}}
	for _, f := range t.Fields {
		name := graphName(f.Name)
		b.addField(o, &field{name: name, real: f.Name, shape: b.shapeOf(f.Type, o.name+"_"+name, 0)})
	}
	if len(o.list) == 0 || !b.nested(o) {
		return scalar("object", t)
	}
	return &shape{kind: shapeNested, name: o.name, input: "object", typ: t, obj: o}
}
