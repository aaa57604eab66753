package graphql

import (
	"slices"
	"strings"
	"sync"

	gast "github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// builder makes a Schema. Its first error stays.
type builder struct {
	s           *Schema
	owner       map[string]string // the table that a type was made for; "" of the built-in ones
	query       *gast.Definition
	mutation    *gast.Definition
	watch       *gast.Definition
	fieldOwner  map[string]string // the table that a root field was made for, by operation and name
	filters     map[string]*filterKind
	hasGeometry bool
	err         error
}

// Build makes the schema of a database. Errors are of kind Configuration and say what to change.
func Build(src *Source) (*Schema, error) {
	b := &builder{
		s: &Schema{
			graph: &gast.Schema{Types: map[string]*gast.Definition{},
				Directives:    map[string]*gast.DirectiveDefinition{},
				PossibleTypes: map[string][]*gast.Definition{}, Implements: map[string][]*gast.Definition{}},
			depth: limitOf(src.Config.Depth), complexity: limitOf(src.Config.Complexity),
			introspection: src.Config.Introspection != "NONE",
			objects:       map[string]*object{}, tables: map[string]*object{}, queries: map[string]*root{},
			mutations: map[string]*root{}, subscriptions: map[string]*root{}, renamed: map[string]string{},
		},
		owner: map[string]string{}, fieldOwner: map[string]string{}, filters: map[string]*filterKind{},
		query:    &gast.Definition{Kind: gast.Object, Name: "Query"},
		mutation: &gast.Definition{Kind: gast.Object, Name: "Mutation"},
		watch:    &gast.Definition{Kind: gast.Object, Name: "Subscription"},
	}
	b.builtIn()
	var tables []*catalog.Table
	for _, tb := range src.Tables {
		if listed(&src.Config.Tables, tb.Name) {
			tables = append(tables, tb)
			b.table(tb)
		}
	}
	for _, tb := range tables {
		b.columns(tb)
	}
	b.edges(tables)
	for _, tb := range tables {
		b.roots(tb)
	}
	if len(tables) > 0 {
		b.root(b.query, b.s.queries, "", &root{act: actGet}, &gast.FieldDefinition{Name: "_get", Type: may("record"),
			Description: "Read a record of any table by its full id",
			Arguments:   gast.ArgumentDefinitionList{arg("id", must("ID")), arg("version", may("String"))}})
	}
	for _, f := range src.Functions {
		if listed(&src.Config.Functions, f.Name) {
			b.function(f)
		}
	}
	b.sessions(src)
	b.filterTypes()
	return b.finish()
}

// limitOf is the limit that a clause sets; -1 where there is none.
func limitOf(x ast.Expr) int {
	if lit, ok := x.(*ast.Literal); ok && lit.Value.Kind() == value.KindInt {
		return int(lit.Value.Int())
	}
	return -1
}

// listed reports whether a filter lets a name through.
func listed(f *ast.NameFilter, name string) bool {
	switch f.Mode {
	case "AUTO":
		return true
	case "INCLUDE":
		return slices.Contains(f.Names, name)
	case "EXCLUDE":
		return !slices.Contains(f.Names, name)
	}
	return false
}

func schemaError(format string, args ...any) error {
	return errs.New(errs.KindConfiguration, "Error generating schema: "+format, args...)
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) finish() (*Schema, error) {
	if b.err != nil {
		return nil, b.err
	}
	if len(b.query.Fields) == 0 && len(b.mutation.Fields) == 0 {
		return nil, schemaError("no items found in database: GraphQL requires at least one table or function")
	}
	if len(b.query.Fields) == 0 { // GraphQL has no schema without queries
		b.query.Fields = gast.FieldList{{Name: "_", Type: may("Boolean"),
			Description: "Nothing: the schema has no queries"}}
		b.s.queries["_"] = &root{act: actFunction}
	}
	g := b.s.graph
	b.query.Fields = append(b.query.Fields, validator.QueryIntrospectionFields()...)
	for _, d := range [...]struct {
		at  **gast.Definition
		def *gast.Definition
	}{{&g.Query, b.query}, {&g.Mutation, b.mutation}, {&g.Subscription, b.watch}} {
		if len(d.def.Fields) > 0 {
			b.define(d.def, "")
			*d.at = d.def
		}
	}
	for _, d := range g.Types {
		switch d.Kind {
		case gast.Object:
			g.AddPossibleType(d.Name, d)
			for _, name := range d.Interfaces {
				g.AddPossibleType(name, d)
				g.AddImplements(d.Name, g.Types[name])
			}
		case gast.Union:
			for _, name := range d.Types {
				g.AddPossibleType(d.Name, g.Types[name])
				g.AddImplements(name, d)
			}
		case gast.InputObject:
			g.AddPossibleType(d.Name, d)
		}
	}
	for _, list := range [...]map[string][]*gast.Definition{g.PossibleTypes, g.Implements} {
		for _, defs := range list {
			slices.SortFunc(defs, func(a, b *gast.Definition) int { return strings.Compare(a.Name, b.Name) })
		}
	}
	return b.s, b.err
}

// prelude is the common part of every schema: the scalars and directives of the specification, and introspection.
var prelude = sync.OnceValue(validator.PreludeDocument)

func (b *builder) builtIn() {
	for _, d := range prelude().Definitions {
		b.define(d, "")
	}
	for _, d := range prelude().Directives {
		if d.Name != "defer" { // answers come whole
			b.s.graph.Directives[d.Name] = d
		}
	}
	for _, x := range [...][2]string{
		{"number", "An integer, float or decimal; decimals are texts"}, {"decimal", "An exact decimal number, as text"},
		{"datetime", "A moment in time, as text by RFC 3339"}, {"duration", "A duration such as 1h30m"}, {"uuid",
			"A UUID, as text"},
		{"bytes", "Bytes, as text in base64"}, {"object", "An object of any fields"}, {"any", "A value of any kind"},
		{"null", "Nothing"}, {"JSON", "Any JSON value"}} {
		b.define(&gast.Definition{Kind: gast.Scalar, Name: x[0], Description: x[1]}, "")
	}
	b.define(&gast.Definition{Kind: gast.Interface, Name: "record", Description: "A record of any table",
		Fields: gast.FieldList{{Name: "id", Type: must("ID")}}}, "")
	b.define(&gast.Definition{Kind: gast.Interface, Name: "relation", Description: "A record that relates two others",
		Fields: gast.FieldList{{Name: "id", Type: must("ID")}, {Name: "in", Type: must("record")}, {Name: "out",
			Type: must("record")}}}, "")
	b.define(&gast.Definition{Kind: gast.Object, Name: "PageInfo", Fields: gast.FieldList{{Name: "hasNextPage",
		Type: must("Boolean")},
		{Name: "hasPreviousPage", Type: must("Boolean")}, {Name: "startCursor",
			Type: may("String")}, {Name: "endCursor", Type: may("String")}}}, "")
	b.sharedInputs()
}

// define adds a type for a table; "" for the built-in ones.
func (b *builder) define(d *gast.Definition, table string) bool {
	if old := b.s.graph.Types[d.Name]; old != nil {
		other := "built-in type `" + d.Name + "`"
		if mine := b.owner[d.Name]; mine != "" && table == "" {
			table = mine
		} else if mine != "" {
			other = "table `" + mine + "`"
		}
		b.fail(schemaError("GraphQL naming collision on type `%s` — table `%s` and %s produce the same type. "+
			"Set an explicit `GRAPHQL_ALIAS` on the table.", d.Name, table, other))
		return false
	}
	b.s.graph.Types[d.Name] = d
	b.owner[d.Name] = table
	return true
}

// enum defines an enum; false where its name is taken by something else.
func (b *builder) enum(e *enum) bool {
	if old := b.s.graph.Types[e.name]; old != nil {
		return old.Kind == gast.Enum && len(old.EnumValues) == len(e.items)
	}
	d := &gast.Definition{Kind: gast.Enum, Name: e.name}
	for _, item := range e.items {
		d.EnumValues = append(d.EnumValues, &gast.EnumValueDefinition{Name: item})
	}
	return b.define(d, "")
}

// unionOf defines a union, unless it exists.
func (b *builder) unionOf(name, description string, members []string) {
	if old := b.s.graph.Types[name]; old == nil || old.Kind != gast.Union {
		b.define(&gast.Definition{Kind: gast.Union, Name: name, Description: description, Types: members}, name)
	}
}

// root adds a root field for a table; "" for none.
func (b *builder) root(d *gast.Definition, in map[string]*root, table string, r *root, f *gast.FieldDefinition) {
	at := d.Name + "." + f.Name
	if _, taken := in[f.Name]; taken || strings.HasPrefix(f.Name, "__") {
		kind, other := strings.ToLower(d.Name), "table `"+b.fieldOwner[at]+"`"
		if b.fieldOwner[at] == "" {
			other = "built-in " + kind + " field `" + f.Name + "`"
		}
		b.fail(schemaError("GraphQL naming collision on `%s` — table `%s` and %s produce the same %s field. "+
			"Set an explicit `GRAPHQL_ALIAS` on the table.", f.Name, table, other, kind))
		return
	}
	in[f.Name] = r
	b.fieldOwner[at] = table
	d.Fields = append(d.Fields, f)
}

func arg(name string, t *gast.Type) *gast.ArgumentDefinition {
	return &gast.ArgumentDefinition{Name: name, Type: t}
}

// described is a description with the note that something is deprecated.
func described(text, reason string) string {
	switch {
	case reason == "":
		return text
	case text == "":
		return "[Deprecated: " + reason + "]"
	}
	return "[Deprecated: " + reason + "]\n\n" + text
}

// deprecated is the directive for a reason; none for "".
func deprecated(reason string) gast.DirectiveList {
	if reason == "" {
		return nil
	}
	return gast.DirectiveList{{Name: "deprecated", Arguments: gast.ArgumentList{
		{Name: "reason", Value: &gast.Value{Kind: gast.StringValue, Raw: reason}}}}}
}
