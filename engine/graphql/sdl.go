package graphql

import (
	"strings"

	gast "github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
)

// SDL is the schema in the schema definition language, without what every schema has.
func (s *Schema) SDL() string {
	shown := *s.graph
	shown.Types = map[string]*gast.Definition{}
	for name, d := range s.graph.Types {
		if !d.BuiltIn {
			shown.Types[name] = d
		}
	}
	shown.Directives = map[string]*gast.DirectiveDefinition{}
	var b strings.Builder
	formatter.NewFormatter(&b).FormatSchema(&shown)
	return b.String()
}
