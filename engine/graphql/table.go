package graphql

import (
	"slices"
	"strings"

	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// table makes the object type of a table, without its fields.
func (b *builder) table(tb *catalog.Table) {
	clauses := tb.Define.GraphQL
	o := &object{table: tb.Name, doc: ast.LiteralText(tb.Define.Comment), reason: clauses.Deprecated,
		view:     tb.Define.View != nil,
		relation: tb.Define.Kind == ast.TableRelation, fields: map[string]*field{}, name: graphName(tb.Name)}
	if ast.GraphQLName(clauses.Alias) {
		o.alias, o.name = clauses.Alias, clauses.Alias
		b.s.renamed[tb.Name] = o.name
	}
	o.filter = "_filter_" + o.name
	o.def = &gast.Definition{Kind: gast.Object, Name: o.name, Interfaces: []string{"record"},
		Description: described(o.doc, o.reason)}
	o.def.Fields = gast.FieldList{{Name: "id", Type: must("ID")}}
	if b.define(o.def, tb.Name) {
		b.s.tables[tb.Name], b.s.objects[o.name] = o, o
	}
}

// nested defines the type of an object inside of a record; false where its name is taken.
func (b *builder) nested(o *object) bool {
	if old := b.s.objects[o.name]; old != nil && old.table == "" {
		return true
	}
	if b.s.graph.Types[o.name] != nil {
		return false
	}
	o.def = &gast.Definition{Kind: gast.Object, Name: o.name}
	for _, f := range o.list {
		o.def.Fields = append(o.def.Fields, f.definition())
	}
	b.define(o.def, "")
	b.s.objects[o.name] = o
	return true
}

func (f *field) definition() *gast.FieldDefinition {
	return &gast.FieldDefinition{Name: f.name, Type: f.shape.out(), Description: described(f.doc, f.reason),
		Directives: deprecated(f.reason)}
}

// addField adds a field of data, in order of the names; false where the name is taken.
func (b *builder) addField(o *object, f *field) bool {
	if o.fields[f.name] != nil || f.name == "id" && o.table != "" {
		return false
	}
	o.fields[f.name] = f
	at, _ := slices.BinarySearchFunc(o.list, f.name, func(f *field, name string) int {
		return strings.Compare(f.name,
			name)
	})
	o.list = slices.Insert(o.list, at, f)
	return true
}

// columns makes the fields of a table's type.
func (b *builder) columns(tb *catalog.Table) {
	o := b.s.tables[tb.Name]
	if o == nil {
		return
	}
	inner := map[string][]*catalog.Field{}
	for _, f := range tb.Fields {
		if child(f) {
			inner[f.Path[0].Name] = append(inner[f.Path[0].Name], f)
		}
	}
	for _, f := range tb.Fields {
		if len(f.Path) == 1 && f.Name != "id" {
			b.column(o, f, inner[f.Path[0].Name])
			delete(inner, f.Path[0].Name)
		}
	}
	for _, name := range sortedKeys(inner) { // parents that no definition names
		b.addField(o, &field{name: graphName(name), real: name, shape: b.parent(o, graphName(name), nil, inner[name])})
	}
	for _, f := range o.list {
		o.def.Fields = append(o.def.Fields, f.definition())
	}
	if in, out := o.fields["in"], o.fields["out"]; o.relation && ends(in, out) {
		o.def.Interfaces = append(o.def.Interfaces, "relation")
	}
}

// ends reports whether both fields are links, which the interface relation promises.
func ends(in, out *field) bool {
	return in != nil && out != nil && in.shape.kind == shapeLink && out.shape.kind == shapeLink && !in.shape.null &&
		!out.shape.null
}

// child reports whether a field lies directly inside of another one, or of the elements of one.
func child(f *catalog.Field) bool {
	n := len(f.Path)
	return n == 2 && f.Path[1].Named() || n == 3 && f.Path[1].All && f.Path[2].Named()
}

func (b *builder) column(o *object, f *catalog.Field, inner []*catalog.Field) {
	d := f.Define
	name := f.Path[0].Name
	out := &field{name: graphName(name), real: name, doc: ast.LiteralText(d.Comment), reason: d.GraphQL.Deprecated,
		settable: d.Computed == nil && !d.Readonly, implied: d.Default != nil || d.Value != nil}
	if ast.GraphQLName(d.GraphQL.Alias) {
		out.name = d.GraphQL.Alias
	}
	switch {
	case len(inner) > 0 && holdsObjects(d.Type):
		out.shape = b.parent(o, out.name, d.Type, inner)
	case d.Type == nil:
		return
	default:
		out.shape = b.shapeOf(d.Type, o.name+"_"+out.name, 0)
	}
	b.addField(o, out)
}

// holdsObjects reports whether declared fields can lie inside of values of a type.
func holdsObjects(t *value.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case value.TypeObject:
		return true
	case value.TypeArray:
		return t.Elem != nil && t.Elem.Kind == value.TypeObject
	case value.TypeUnion:
		for _, a := range t.Alts {
			if a.Kind != value.TypeNone && a.Kind != value.TypeNull && !holdsObjects(a) {
				return false
			}
		}
		return true
	}
	return false
}

// parent is the shape of a field with declared fields inside.
func (b *builder) parent(o *object, name string, t *value.Type, inner []*catalog.Field) *shape {
	in := &object{name: o.name + "_" + name, fields: map[string]*field{}}
	list := false
	for _, f := range inner {
		list = list || len(f.Path) == 3
		if f.Define.Type == nil {
			continue
		}
		last := f.Path[len(f.Path)-1].Name
		g := graphName(last)
		if ast.GraphQLName(f.Define.GraphQL.Alias) {
			g = f.Define.GraphQL.Alias
		}
		b.addField(in, &field{name: g, real: last, shape: b.shapeOf(f.Define.Type, in.name+"_"+g, 0),
			doc: ast.LiteralText(f.Define.Comment), reason: f.Define.GraphQL.Deprecated})
	}
	if len(in.list) == 0 || !b.nested(in) {
		return b.shapeOf(orObject(t), in.name, 0)
	}
	s := &shape{kind: shapeNested, name: in.name, input: "object", typ: value.Simple(value.TypeObject),
		obj: b.s.objects[in.name]}
	optional := t == nil
	if t != nil && t.Kind == value.TypeUnion {
		optional = true
		for _, a := range t.Alts {
			list = list || a.Kind == value.TypeArray
		}
	}
	if t != nil && t.Kind == value.TypeArray {
		list = true
	}
	if list {
		s = &shape{kind: shapeList, name: s.name, elem: s, typ: orObject(t)}
	}
	s.null = optional
	return s
}

// orObject is t, or an optional object for a field without a type.
func orObject(t *value.Type) *value.Type {
	if t == nil {
		return value.OptionOf(value.Simple(value.TypeObject))
	}
	return t
}

// edges adds the fields that lead over relations.
func (b *builder) edges(tables []*catalog.Table) {
	for _, tb := range tables {
		to := b.s.tables[tb.Name]
		if to == nil || !to.relation {
			continue
		}
		for _, end := range [...]struct {
			names []string
			in    bool
		}{{tb.Define.In, false}, {tb.Define.Out, true}} {
			for _, name := range end.names {
				o := b.s.tables[name]
				if o == nil {
					continue
				}
				f := &field{name: graphName(to.name), edge: &edge{to: to, in: end.in}}
				if end.in {
					f.name += "_in"
				}
				if o.fields[f.name] != nil || f.name == "id" {
					continue
				}
				o.fields[f.name] = f
				o.def.Fields = append(o.def.Fields, &gast.FieldDefinition{Name: f.name, Type: manyOf(to.name),
					Arguments: listArguments(to, false)})
			}
		}
	}
}

// manyOf is [T!]!.
func manyOf(name string) *gast.Type { return gast.NonNullListType(must(name), nil) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func listArguments(o *object, version bool) gast.ArgumentDefinitionList {
	args := gast.ArgumentDefinitionList{arg("limit", may("Int")), arg("start", may("Int")), arg("order",
		may("_order_"+o.name)),
		arg("filter", may(o.filter)), arg("where", may(o.filter))}
	if version {
		args = append(args, arg("version", may("String")))
	}
	return args
}
