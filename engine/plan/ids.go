package plan

import (
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// ReadsIDs reports whether a SELECT from one table asks nothing of its rows but their ids, apart from its WHERE: then
// what finds the ids is enough, and the records are not read. search::score() asks the search.
func ReadsIDs(s *ast.Select) bool {
	if s.Projections == nil || s.Group != nil || len(s.Split) > 0 || !sortsByIDs(s) {
		return false
	}
	for i := range s.Projections.Fields {
		if s.Projections.Fields[i].All {
			return false
		}
	}
	rest := *s
	rest.Where, rest.Order = nil, nil
	only := true
	ast.Inspect(&rest, func(n any) bool {
		c, ok := n.(*ast.Call)
		if ok && (c.Kind != ast.CallBuiltin || c.Path == "search::highlight" || c.Path == "search::offsets") {
			only = false
		}
		return only
	})
	if !only {
		return false
	}
	reads := catalog.ReadingOfSelect(&rest)
	return !reads.All && !slices.ContainsFunc(reads.Fields, func(name string) bool { return name != "id" })
}

// sortsByIDs reports whether ORDER BY asks for columns alone, or for ids.
func sortsByIDs(s *ast.Select) bool {
	if s.Order == nil {
		return true
	}
	for _, k := range s.Order.Keys {
		text := ast.Text(k.Key)
		column := text == "id"
		for i := range s.Projections.Fields {
			f := &s.Projections.Fields[i]
			column = column || f.Alias != nil && ast.Text(f.Alias) == text
		}
		if !column {
			return false
		}
	}
	return true
}
