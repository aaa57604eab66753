package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"

	"github.com/nacredb/nacre/engine/value"
)

func newGraphQLCmd(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graphql",
		Short: "Work with the GraphQL schema of a database",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGraphQLSchemaCmd(s))
	return cmd
}

func newGraphQLSchemaCmd(s *streams) *cobra.Command {
	f := connectFlags{placed: true, maker: "'nacre start' makes one"}
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the GraphQL schema of a database",
		Long: `Prints the schema that DEFINE CONFIG GRAPHQL makes of the definitions of a database, in the schema definition
language, for code generators and reviews. A database without that configuration is an error.`,
		Example: `  nacre graphql schema --ns app --db app > schema.graphql
  nacre graphql schema -e bolt://app.db --ns app --db app`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGraphQLSchema(cmd.Context(), s, &f) },
	}
	addConnectFlags(cmd, &f)
	return cmd
}

func runGraphQLSchema(ctx context.Context, s *streams, f *connectFlags) error {
	c, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	answer, err := c.Call(ctx, "graphql", value.Str(introspection))
	if err != nil {
		return err
	}
	data := memberOf(answer, "data")
	schema := memberOf(data, "__schema")
	switch failed := memberOf(answer, "errors"); {
	case failed.Kind() == value.KindArray && failed.Len() > 0:
		return errors.New(memberOf(failed.Elems()[0], "message").Str())
	case schema.Kind() != value.KindObject:
		return errors.New("the database hides its schema: CONFIG GRAPHQL has INTROSPECTION NONE")
	}
	formatter.NewFormatter(s.out).FormatSchema(schemaOf(schema))
	return nil
}

// introspection asks for all of a schema that its text shows.
const introspection = `{ __schema { queryType { name } mutationType { name } subscriptionType { name }
	types { kind name description interfaces { name } possibleTypes { name }
		fields(includeDeprecated: true) { name description isDeprecated deprecationReason args { ...input } type { ...type } }
		inputFields(includeDeprecated: true) { ...input } enumValues(includeDeprecated: true) { name description } } } }
	fragment input on __InputValue { name description type { ...type } }
	fragment type on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
		ofType { kind name ofType { kind name ofType { kind name } } } } } } } }`

func memberOf(v value.Value, name string) value.Value {
	if v.Kind() != value.KindObject {
		return value.None
	}
	m, _ := v.Object().Get(name)
	return m
}

func textOf(v value.Value, name string) string {
	if m := memberOf(v, name); m.Kind() == value.KindString {
		return m.Str()
	}
	return ""
}

func elemsOf(v value.Value, name string) []value.Value {
	if m := memberOf(v, name); m.Kind() == value.KindArray {
		return m.Elems()
	}
	return nil
}

// schemaOf makes a schema of what introspection tells of it, without what every schema has.
func schemaOf(v value.Value) *ast.Schema {
	s := &ast.Schema{Types: map[string]*ast.Definition{}}
	for _, t := range elemsOf(v, "types") {
		d := definitionOf(t)
		if strings.HasPrefix(d.Name, "__") || slices.Contains(standard, d.Name) {
			continue
		}
		s.Types[d.Name] = d
		switch d.Name {
		case textOf(memberOf(v, "queryType"), "name"):
			s.Query = d
		case textOf(memberOf(v, "mutationType"), "name"):
			s.Mutation = d
		case textOf(memberOf(v, "subscriptionType"), "name"):
			s.Subscription = d
		}
	}
	return s
}

// standard are the scalars of every schema.
var standard = []string{"Int", "Float", "String", "Boolean", "ID"}

func definitionOf(t value.Value) *ast.Definition {
	d := &ast.Definition{Kind: ast.DefinitionKind(textOf(t, "kind")), Name: textOf(t, "name"), Description: textOf(t,
		"description")}
	for _, x := range elemsOf(t, "interfaces") {
		d.Interfaces = append(d.Interfaces, textOf(x, "name"))
	}
	if d.Kind == ast.Union {
		for _, x := range elemsOf(t, "possibleTypes") {
			d.Types = append(d.Types, textOf(x, "name"))
		}
	}
	for _, x := range append(slices.Clone(elemsOf(t, "fields")), elemsOf(t, "inputFields")...) {
		f := &ast.FieldDefinition{Name: textOf(x, "name"), Description: textOf(x, "description"),
			Type: typeOf(memberOf(x, "type"))}
		for _, a := range elemsOf(x, "args") {
			f.Arguments = append(f.Arguments, &ast.ArgumentDefinition{Name: textOf(a, "name"),
				Description: textOf(a, "description"), Type: typeOf(memberOf(a, "type"))})
		}
		if reason := textOf(x, "deprecationReason"); reason != "" {
			f.Directives = ast.DirectiveList{{Name: "deprecated", Arguments: ast.ArgumentList{
				{Name: "reason", Value: &ast.Value{Kind: ast.StringValue, Raw: reason}}}}}
		}
		d.Fields = append(d.Fields, f)
	}
	for _, x := range elemsOf(t, "enumValues") {
		d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: textOf(x, "name"), Description: textOf(x,
			"description")})
	}
	return d
}

func typeOf(v value.Value) *ast.Type {
	inner := memberOf(v, "ofType")
	switch textOf(v, "kind") {
	case "NON_NULL":
		t := *typeOf(inner)
		t.NonNull = true
		return &t
	case "LIST":
		return &ast.Type{Elem: typeOf(inner)}
	}
	return &ast.Type{NamedType: textOf(v, "name")}
}
