package graphql

import (
	"slices"
	"strings"

	gast "github.com/vektah/gqlparser/v2/ast"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// roots adds what can be asked of a table, and the types that it takes.
func (b *builder) roots(tb *catalog.Table) {
	o := b.s.tables[tb.Name]
	if o == nil {
		return
	}
	base := tb.Name
	if o.alias != "" {
		base = o.alias
	}
	b.rootsNamed(o, graphName(base), "")
	if b.err == nil && o.alias == "" && base == "person" { // as the reference documents it
		b.rootsNamed(o, "person", "people")
	}
	b.orderTypes(o)
	b.tableFilter(o)
	b.aggregateTypes(o)
	b.connectionTypes(o, pascal(graphName(base)))
	b.inputTypes(o)
}

// rootsNamed adds the root fields of a table. many is the plural where rules do not give it: those fields are only
// added where their names are free, and no others.
func (b *builder) rootsNamed(o *object, base, many string) {
	list, irregular := plural(camel(base)), many != ""
	fetch, single := camel(base), pascal(base)
	if o.alias != "" {
		fetch, single = o.alias, capital(o.alias)
	}
	if list == camel(base) {
		fetch = "_get_" + camel(base)
	}
	if irregular {
		list = many
	}
	query := func(name string, act action, t *gast.Type, doc string, args gast.ArgumentDefinitionList) {
		if irregular && (act == actFetch || b.s.queries[name] != nil) {
			return
		}
		if o.doc != "" && (act == actList || act == actFetch) {
			doc = o.doc
		}
		b.root(b.query, b.s.queries, o.table, &root{act: act, obj: o}, &gast.FieldDefinition{Name: name, Type: t,
			Description: described(doc, o.reason), Directives: deprecated(o.reason), Arguments: args})
	}
	from := "Generated from table `" + o.table + "`: "
	query(list, actList, manyOf(o.name), from+"list its records", listArguments(o, true))
	query(fetch, actFetch, may(o.name), from+"read a record by its key",
		gast.ArgumentDefinitionList{arg("id", must("ID")), arg("version", may("String"))})
	query(list+"_aggregate", actAggregate, manyOf(o.name+"_aggregate_row"), from+"sum up its records",
		gast.ArgumentDefinitionList{arg("filter", may(o.filter)), arg("where", may(o.filter)),
			arg("groupBy", gast.ListType(may("_groupable_"+o.name), nil))})
	query(list+"Connection", actConnection, must(pascal(base)+"Connection"), from+"page through its records",
		gast.ArgumentDefinitionList{arg("first", may("Int")), arg("after", may("String")), arg("last", may("Int")),
			arg("before", may("String")), arg("filter", may(o.filter)), arg("where", may(o.filter)), arg("version",
				may("String"))})
	if !irregular {
		b.watchRoot(o)
	}
	if !o.view {
		b.mutations(o, single, capital(many))
	}
}

func (b *builder) watchRoot(o *object) {
	b.root(b.watch, b.s.subscriptions, o.table, &root{act: actWatch, obj: o}, &gast.FieldDefinition{Name: o.name,
		Type:        may(o.name),
		Description: described("Tells of changes of table `"+o.table+"`", o.reason), Directives: deprecated(o.reason),
		Arguments: gast.ArgumentDefinitionList{arg("id", may("ID")), arg("filter", may(o.filter)), arg("where",
			may(o.filter)),
			arg("fetch", gast.ListType(must("String"), nil))}})
}

// mutations adds the mutations of a table; many as for rootsNamed.
func (b *builder) mutations(o *object, single, many string) {
	irregular := many != ""
	if !irregular {
		if many = plural(single); many == single {
			many = "Many" + single
		}
	}
	add := func(act action, bulk bool, verb string, t *gast.Type, args ...*gast.ArgumentDefinition) {
		name := verb + single
		if bulk {
			name = verb + many
		}
		if irregular && (!bulk || b.s.mutations[name] != nil) {
			return
		}
		b.root(b.mutation, b.s.mutations, o.table, &root{act: act, bulk: bulk, obj: o},
			&gast.FieldDefinition{Name: name, Type: t,
				Description: described("", o.reason), Directives: deprecated(o.reason), Arguments: args})
	}
	id, where := arg("id", must("ID")), arg("where", may(o.filter))
	data := func(verb string) *gast.Type { return must(verb + capital(o.name) + "Input") }
	add(actCreate, false, "create", may(o.name), arg("data", data("Create")))
	add(actCreate, true, "create", manyOf(o.name), arg("data", gast.NonNullListType(data("Create"), nil)))
	if o.updatable() {
		add(actUpdate, false, "update", may(o.name), id, arg("data", data("Update")))
		add(actUpdate, true, "update", manyOf(o.name), where, arg("data", data("Update")))
	}
	add(actUpsert, false, "upsert", may(o.name), id, arg("data", data("Upsert")))
	add(actUpsert, true, "upsert", manyOf(o.name), where, arg("data", data("Upsert")))
	add(actDelete, false, "delete", must("Boolean"), id)
	add(actDelete, true, "delete", must("Int"), where)
}

// isEnd reports whether a field is an end of a relation.
func (o *object) isEnd(f *field) bool { return o.relation && (f.real == "in" || f.real == "out") }

// updatable reports whether an update has anything to set: GraphQL has no inputs without fields.
func (o *object) updatable() bool {
	return slices.ContainsFunc(o.list, func(f *field) bool { return f.settable && !o.isEnd(f) })
}

func (b *builder) inputTypes(o *object) {
	if o.view {
		return
	}
	for _, verb := range [...]string{"Create", "Update", "Upsert"} {
		d := &gast.Definition{Kind: gast.InputObject, Name: verb + capital(o.name) + "Input"}
		update := verb == "Update"
		if !update {
			d.Fields = append(d.Fields, &gast.FieldDefinition{Name: "id", Type: may("ID"),
				Description: "The key of the record"})
			for _, end := range [...]string{"in", "out"} {
				if o.relation {
					d.Fields = append(d.Fields, &gast.FieldDefinition{Name: end, Type: must("ID")})
				}
			}
		}
		for _, f := range o.list {
			if !f.settable || o.isEnd(f) {
				continue
			}
			d.Fields = append(d.Fields, &gast.FieldDefinition{Name: f.name, Type: f.shape.in(update || f.implied),
				Description: described(f.doc, f.reason), Directives: deprecated(f.reason)})
		}
		if len(d.Fields) > 0 {
			b.define(d, o.table)
		}
	}
}

func (b *builder) orderTypes(o *object) {
	able := &gast.Definition{Kind: gast.Enum, Name: "_orderable_" + o.name,
		EnumValues: gast.EnumValueList{{Name: "id"}}}
	for _, f := range o.list {
		if enumItem(f.name) {
			able.EnumValues = append(able.EnumValues, &gast.EnumValueDefinition{Name: f.name,
				Directives: deprecated(f.reason)})
		}
	}
	b.define(able, o.table)
	name := "_order_" + o.name
	b.define(&gast.Definition{Kind: gast.InputObject, Name: name, Fields: gast.FieldList{{Name: "asc",
		Type: may(able.Name)},
		{Name: "desc", Type: may(able.Name)}, {Name: "then", Type: may(name)}}}, o.table)
}

// enumItem reports whether an enum may have such an item.
func enumItem(name string) bool { return name != "true" && name != "false" && name != "null" }

// number reports whether a field can be summed up.
func (f *field) number() bool {
	if f.shape.kind != shapeScalar {
		return false
	}
	switch f.shape.name {
	case "Int", "Float", "number", "decimal":
		return true
	}
	return false
}

func (b *builder) aggregateTypes(o *object) {
	row := &gast.Definition{Kind: gast.Object, Name: o.name + "_aggregate_row", Fields: gast.FieldList{{Name: "count",
		Type: must("Int")}}}
	keys := &gast.Definition{Kind: gast.Enum, Name: "_groupable_" + o.name}
	taken := map[string]bool{"count": true}
	add := func(name string, t *gast.Type) {
		if !taken[name] {
			taken[name] = true
			row.Fields = append(row.Fields, &gast.FieldDefinition{Name: name, Type: t})
		}
	}
	for _, f := range o.list {
		if f.number() {
			for _, fn := range aggregates {
				t := may("number")
				if fn == "min" || fn == "max" {
					t = may(f.shape.name)
				}
				add(f.name+"_"+fn, t)
			}
		}
	}
	for _, f := range o.list {
		if !f.number() && enumItem(f.name) && !taken[f.name] {
			t := f.shape.out()
			t.NonNull = false
			add(f.name, t)
			keys.EnumValues = append(keys.EnumValues, &gast.EnumValueDefinition{Name: f.name})
		}
	}
	if len(keys.EnumValues) == 0 {
		keys.EnumValues = gast.EnumValueList{{Name: "_NONE"}}
	}
	b.define(row, o.table)
	b.define(keys, o.table)
}

// aggregates are the aggregate functions of numbers.
var aggregates = [...]string{"min", "max", "sum", "avg"}

func (b *builder) connectionTypes(o *object, name string) {
	b.define(&gast.Definition{Kind: gast.Object, Name: name + "Connection", Fields: gast.FieldList{
		{Name: "edges", Type: manyOf(name + "Edge")}, {Name: "pageInfo", Type: must("PageInfo")}, {Name: "totalCount",
			Type: may("Int")}}}, o.table)
	b.define(&gast.Definition{Kind: gast.Object, Name: name + "Edge", Fields: gast.FieldList{
		{Name: "cursor", Type: must("String")}, {Name: "node", Type: must(o.name)}}}, o.table)
}

// function adds a function that says what it gives.
func (b *builder) function(f *ast.DefineFunction) {
	if f.Returns == nil {
		return
	}
	name := "fn_" + graphName(strings.ReplaceAll(f.Name, "::", "_"))
	if ast.GraphQLName(f.GraphQL.Alias) {
		name = f.GraphQL.Alias
	}
	r := &root{act: actFunction, fn: f, args: map[string]*shape{}, result: b.shapeOf(f.Returns, name+"_return", 0)}
	def := &gast.FieldDefinition{Name: name, Type: r.result.out(), Directives: deprecated(f.GraphQL.Deprecated),
		Description: described(ast.LiteralText(f.Comment), f.GraphQL.Deprecated)}
	for _, p := range f.Params {
		s := b.shapeOf(p.Type, name+"_"+p.Name, 0)
		r.args[graphName(p.Name)] = s
		def.Arguments = append(def.Arguments, arg(graphName(p.Name), s.in(false)))
	}
	if _, taken := b.s.queries[name]; taken {
		b.fail(schemaError("GraphQL naming collision on `%s` — function `fn::%s` and another field have the same name. "+
			"Set an explicit `GRAPHQL_ALIAS` on the function.", name, f.Name))
		return
	}
	b.root(b.query, b.s.queries, "", r, def)
}

// sessions adds signIn and signUp where an access method of the database has them.
func (b *builder) sessions(src *Source) {
	add := func(on bool, name string, act action) {
		if on {
			b.root(b.mutation, b.s.mutations, "", &root{act: act}, &gast.FieldDefinition{Name: name,
				Type:        must("String"),
				Description: "Gives a token for a record access method of the database",
				Arguments: gast.ArgumentDefinitionList{arg("access", must("String")), arg("variables",
					must("JSON"))}})
		}
	}
	add(src.Signin, "signIn", actSignin)
	add(src.Signup, "signUp", actSignup)
}
