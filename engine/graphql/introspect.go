package graphql

import (
	"context"
	"strconv"
	"strings"

	gast "github.com/vektah/gqlparser/v2/ast"
)

// introspect answers __schema and __type; null where the configuration forbids introspection.
func (x *runner) introspect(ctx context.Context, p *pick) error {
	switch {
	case !x.o.s.introspection:
	case p.name == "__schema":
		return x.meta(ctx, p, "__Schema", func(q *pick) error { return x.schemaMember(ctx, q) })
	default:
		if d := x.o.s.graph.Types[p.arg("name").Str()]; d != nil {
			return x.metaType(ctx, p, &gast.Type{NamedType: d.Name})
		}
	}
	x.buf = append(x.buf, "null"...)
	return nil
}

// meta writes an object of introspection.
func (x *runner) meta(ctx context.Context, p *pick, typ string, f func(p *pick) error) error {
	picks, err := p.of(x.o, typ)
	if err != nil {
		return err
	}
	return x.members(ctx, typ, picks, f)
}

// metaList writes n objects of introspection.
func (x *runner) metaList(ctx context.Context, p *pick, n int, f func(i int) error) error {
	x.buf = append(x.buf, '[')
	for i := range n {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		if err := f(i); err != nil {
			return err
		}
		if err := x.roomy(ctx); err != nil {
			return err
		}
	}
	x.buf = append(x.buf, ']')
	return nil
}

func (x *runner) text(s string) error {
	x.buf = appendText(x.buf, s)
	return nil
}

// textOrNull writes null for "".
func (x *runner) textOrNull(s string) error {
	if s == "" {
		return x.null()
	}
	return x.text(s)
}

func (x *runner) null() error {
	x.buf = append(x.buf, "null"...)
	return nil
}

func (x *runner) flag(on bool) error {
	x.buf = strconv.AppendBool(x.buf, on)
	return nil
}

func (x *runner) schemaMember(ctx context.Context, p *pick) error {
	g := x.o.s.graph
	switch p.name {
	case "types":
		names := sortedKeys(g.Types)
		return x.metaList(ctx, p, len(names), func(i int) error {
			return x.metaType(ctx, p,
				&gast.Type{NamedType: names[i]})
		})
	case "queryType":
		return x.metaType(ctx, p, &gast.Type{NamedType: g.Query.Name})
	case "mutationType":
		return x.optionalType(ctx, p, g.Mutation)
	case "subscriptionType":
		return x.optionalType(ctx, p, g.Subscription)
	case "directives":
		names := sortedKeys(g.Directives)
		return x.metaList(ctx, p, len(names), func(i int) error {
			return x.meta(ctx, p, "__Directive", func(q *pick) error {
				return x.directiveMember(ctx,
					g.Directives[names[i]], q)
			})
		})
	}
	return x.textOrNull(g.Description)
}

func (x *runner) optionalType(ctx context.Context, p *pick, d *gast.Definition) error {
	if d == nil {
		return x.null()
	}
	return x.metaType(ctx, p, &gast.Type{NamedType: d.Name})
}

func (x *runner) directiveMember(ctx context.Context, d *gast.DirectiveDefinition, p *pick) error {
	switch p.name {
	case "name":
		return x.text(d.Name)
	case "isRepeatable":
		return x.flag(d.IsRepeatable)
	case "locations":
		return x.metaList(ctx, p, len(d.Locations), func(i int) error { return x.text(string(d.Locations[i])) })
	case "args":
		return x.inputs(ctx, p, argumentsOf(d.Arguments))
	}
	return x.textOrNull(d.Description)
}

func (x *runner) metaType(ctx context.Context, p *pick, t *gast.Type) error {
	return x.meta(ctx, p, "__Type", func(q *pick) error { return x.typeMember(ctx, t, q) })
}

func (x *runner) typeMember(ctx context.Context, t *gast.Type, p *pick) error {
	if t.NonNull || t.Elem != nil {
		return x.wrapperMember(ctx, t, p)
	}
	d := x.o.s.graph.Types[t.NamedType]
	switch p.name {
	case "kind":
		return x.text(string(d.Kind))
	case "name":
		return x.text(d.Name)
	case "description":
		return x.textOrNull(d.Description)
	case "fields":
		return x.typeFields(ctx, d, p)
	case "interfaces":
		if d.Kind != gast.Object && d.Kind != gast.Interface {
			return x.null()
		}
		return x.metaList(ctx, p, len(d.Interfaces), func(i int) error {
			return x.metaType(ctx, p,
				&gast.Type{NamedType: d.Interfaces[i]})
		})
	case "possibleTypes":
		if !d.IsAbstractType() {
			return x.null()
		}
		all := x.o.s.graph.PossibleTypes[d.Name]
		return x.metaList(ctx, p, len(all), func(i int) error {
			return x.metaType(ctx, p,
				&gast.Type{NamedType: all[i].Name})
		})
	case "enumValues":
		return x.enumValues(ctx, d, p)
	case "inputFields":
		if d.Kind != gast.InputObject {
			return x.null()
		}
		list := make([]inputValue, len(d.Fields))
		for i, f := range d.Fields {
			list[i] = inputValue{f.Name, f.Description, f.Type, f.DefaultValue, f.Directives}
		}
		return x.inputs(ctx, p, list)
	case "isOneOf":
		if d.Kind != gast.InputObject {
			return x.null()
		}
		return x.flag(false)
	}
	return x.null() // ofType, specifiedByURL
}

// wrapperMember is typeMember of a list or a type that cannot be null.
func (x *runner) wrapperMember(ctx context.Context, t *gast.Type, p *pick) error {
	kind, inner := "LIST", t.Elem
	if t.NonNull {
		bare := *t
		bare.NonNull = false
		kind, inner = "NON_NULL", &bare
	}
	switch p.name {
	case "kind":
		return x.text(kind)
	case "ofType":
		return x.metaType(ctx, p, inner)
	}
	return x.null()
}

// all reports whether deprecated members are asked for.
func all(p *pick) bool { v := p.arg("includeDeprecated"); return !v.IsNullish() && v.Bool() }

func (x *runner) typeFields(ctx context.Context, d *gast.Definition, p *pick) error {
	if d.Kind != gast.Object && d.Kind != gast.Interface {
		return x.null()
	}
	var list gast.FieldList
	for _, f := range d.Fields {
		if !strings.HasPrefix(f.Name, "__") && (all(p) || f.Directives.ForName("deprecated") == nil) {
			list = append(list, f)
		}
	}
	return x.metaList(ctx, p, len(list), func(i int) error {
		f := list[i]
		return x.meta(ctx, p, "__Field", func(q *pick) error {
			switch q.name {
			case "name":
				return x.text(f.Name)
			case "description":
				return x.textOrNull(f.Description)
			case "args":
				return x.inputs(ctx, q, argumentsOf(f.Arguments))
			case "type":
				return x.metaType(ctx, q, f.Type)
			}
			return x.deprecation(ctx, q, f.Directives)
		})
	})
}

// deprecation writes isDeprecated or deprecationReason.
func (x *runner) deprecation(ctx context.Context, p *pick, ds gast.DirectiveList) error {
	d := ds.ForName("deprecated")
	if p.name == "isDeprecated" {
		return x.flag(d != nil)
	}
	if d == nil {
		return x.null()
	}
	if a := d.Arguments.ForName("reason"); a != nil {
		return x.text(a.Value.Raw)
	}
	return x.text("No longer supported")
}

func (x *runner) enumValues(ctx context.Context, d *gast.Definition, p *pick) error {
	if d.Kind != gast.Enum {
		return x.null()
	}
	var list gast.EnumValueList
	for _, v := range d.EnumValues {
		if all(p) || v.Directives.ForName("deprecated") == nil {
			list = append(list, v)
		}
	}
	return x.metaList(ctx, p, len(list), func(i int) error {
		return x.meta(ctx, p, "__EnumValue", func(q *pick) error {
			switch q.name {
			case "name":
				return x.text(list[i].Name)
			case "description":
				return x.textOrNull(list[i].Description)
			}
			return x.deprecation(ctx, q, list[i].Directives)
		})
	})
}

// inputValue is an argument or a field of an input.
type inputValue struct {
	name, description string
	typ               *gast.Type
	def               *gast.Value
	directives        gast.DirectiveList
}

func argumentsOf(args gast.ArgumentDefinitionList) []inputValue {
	out := make([]inputValue, len(args))
	for i, a := range args {
		out[i] = inputValue{a.Name, a.Description, a.Type, a.DefaultValue, a.Directives}
	}
	return out
}

func (x *runner) inputs(ctx context.Context, p *pick, list []inputValue) error {
	var shown []inputValue
	for _, v := range list {
		if all(p) || v.directives.ForName("deprecated") == nil {
			shown = append(shown, v)
		}
	}
	return x.metaList(ctx, p, len(shown), func(i int) error {
		v := shown[i]
		return x.meta(ctx, p, "__InputValue", func(q *pick) error {
			switch q.name {
			case "name":
				return x.text(v.name)
			case "description":
				return x.textOrNull(v.description)
			case "type":
				return x.metaType(ctx, q, v.typ)
			case "defaultValue":
				if v.def == nil {
					return x.null()
				}
				return x.text(v.def.String())
			}
			return x.deprecation(ctx, q, v.directives)
		})
	})
}
