package aggregate

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
)

// Check refuses what can not be grouped.
func Check(s *ast.Select) error {
	if s.Group == nil {
		return nil
	}
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		if f.All {
			return errs.Internal("Invalid query: Incorrect selector for aggregate selection, expression `*` within in selector cannot be aggregated in a group.")
		}
		if asksParent(f.X) {
			return errs.Internal("Invalid query: Found a `$parent` parameter refering to the document of a GROUP select statement\n" +
				"Select statements with a GROUP BY or GROUP ALL currently have no defined document to refer to")
		}
	}
	return nil
}

// asksParent reports whether a subquery inside x uses $parent.
func asksParent(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n any) bool {
		if q, ok := n.(*ast.Subquery); ok {
			ast.Inspect(q.Stmt, func(n any) bool {
				p, ok := n.(*ast.Param)
				found = found || ok && p.Name == "parent"
				return !found
			})
			return false
		}
		return !found
	})
	return found
}

// SameField reports whether a projection is what an idiom of GROUP BY names.
func SameField(f *ast.Projection, id *ast.Idiom) bool {
	if f.Alias != nil {
		return ast.Text(f.Alias) == ast.Text(id)
	}
	return ast.Text(f.X) == ast.Text(id)
}

// Place is the last of the idioms of GROUP BY, with the keys behind them, that a projection is; -1 where it is none.
func Place(f *ast.Projection, keys []ast.Expr, by []*ast.Idiom) int {
	place := -1
	for i, x := range keys {
		if x == f.X || SameField(f, by[i]) || ast.Text(f.X) == ast.Text(by[i]) {
			place = i
		}
	}
	return place
}

// Key is the expression behind an idiom of GROUP BY: that of the projection with this alias, or itself.
func Key(p *ast.Projections, id *ast.Idiom) ast.Expr {
	text := ast.Text(id)
	for i := range p.Fields {
		if f := &p.Fields[i]; f.Alias != nil && ast.Text(f.Alias) == text {
			return f.X
		}
	}
	return id
}

// Counted is a SELECT with GROUP ALL where count() is all that it selects, which means that.
func Counted(s *ast.Select) *ast.Select {
	if s.Group != nil || len(s.Split) > 0 || s.Projections == nil || s.Projections.Value ||
		len(s.Projections.Fields) != 1 {
		return s
	}
	c, ok := s.Projections.Fields[0].X.(*ast.Call)
	if !ok || c.Kind != ast.CallBuiltin || c.Path != "count" || len(c.Args) > 0 {
		return s
	}
	out := *s
	out.Group = &ast.Group{All: true}
	return &out
}
