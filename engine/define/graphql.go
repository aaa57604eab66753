package define

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
)

// checkGraphQL refuses an alias that GraphQL has no such name for.
func checkGraphQL(c ast.GraphQLClauses) error {
	if c.Alias == "" || ast.GraphQLName(c.Alias) {
		return nil
	}
	return errs.Validation("GRAPHQL_ALIAS must be a GraphQL name: letters, digits and _, no digit first, not __ first. "+
		"Found: %s", strings.ToValidUTF8(c.Alias, "\uFFFD"))
}
