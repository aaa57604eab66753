package plan

import (
	"slices"
	"sort"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
)

// Projection is how the projection of s shows. selects gives the plans of sub-selects in it; nil: they are not shown.
func Projection(s *ast.Select, selects func(*ast.Select) *Node) Node {
	if s.Projections.Value {
		x := s.Projections.Fields[0].X
		n := &Node{Op: "ProjectValue", asks: AsksStore(x)}
		return *n.With("expr", Show(x)).Holds("expr", x, selects)
	}
	n := Node{Op: "SelectProject", single: ofOneRecord(s) && s.Order == nil && len(s.Fetch) == 0}
	var names []string
	nested := false
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		if f.All {
			n.whole = true
			continue
		}
		shown := Shown{Role: "field", Text: Show(f.X), Subs: Subs(f.X, selects)}
		n.columns = append(n.columns, shown)
		name := strings.Join(column.Of(f.X), ".")
		if f.Alias != nil {
			name = ast.Text(f.Alias)
		}
		nested = nested || f.Alias == nil && movesIntoObjects(f.X)
		if plain := plainField(f.X); plain == "" {
			shown.Role, n.asks = name, n.asks || AsksStore(f.X)
			n.Computes = append(n.Computes, shown)
		} else if plain != name {
			n.rename(name, plain)
			name = plain + " AS " + name
		}
		names = append(names, name)
	}
	if n.whole { // it comes first, and once
		names = slices.Insert(names, 0, "*")
	}
	for _, x := range s.Omit {
		names = append(names, "OMIT "+ast.Text(x))
	}
	if nested {
		return Node{Op: "Project", Exprs: n.columns}
	}
	sort.SliceStable(n.Computes, func(i, j int) bool { return n.Computes[i].Role < n.Computes[j].Role })
	n.With("projections", strings.Join(names, ", "))
	return n
}

// ofOneRecord reports whether FROM names one record, or a range of records.
func ofOneRecord(s *ast.Select) bool {
	if len(s.From) != 1 {
		return false
	}
	_, ok := s.From[0].(*ast.RecordID)
	return ok
}

// movesIntoObjects reports whether a column without an alias goes to a place inside of others.
func movesIntoObjects(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Call:
		return x.Kind == ast.CallBuiltin && (x.Path == "type::field" || x.Path == "type::fields")
	case *ast.Idiom:
		return len(column.Of(x)) > 1
	}
	return false
}

// plainField is the name of a column that is a field and no more; else "".
func plainField(x ast.Expr) string {
	if id, ok := x.(*ast.Idiom); ok && len(id.Parts) == 1 {
		if f, ok := id.Parts[0].(*ast.PartField); ok {
			return f.Name
		}
	}
	return ""
}

// Fetching is how FETCH shows.
func Fetching(paths []ast.Expr) Node {
	texts := make([]string, len(paths))
	for i, x := range paths {
		texts[i] = ast.Text(x)
	}
	n := &Node{Op: "Fetch"}
	return *n.With("fields", strings.Join(texts, ", "))
}

// Limited shows START and LIMIT: inside of a scan that reads no more than they ask for, else above it. rows is how many
// come out; a clause that is not there is "".
func Limited(in *Node, limit, offset string, rows int64) *Node {
	n := &Node{Op: "Limit", Children: []*Node{in}, Rows: rows, Runtime: in.Runtime}
	scan := limit != "" && (in.Op == "TableScan" || in.Op == "IndexScan" || in.Op == "DynamicScan")
	if scan {
		n, in.Rows = in, rows
	}
	for _, a := range []Attr{{"limit", limit}, {"offset", offset}} {
		if a.Text == "" {
			continue
		}
		n.With(a.Name, a.Text)
		if n.Op == "Limit" || n.Op == "DynamicScan" {
			n.Expr(a.Name, a.Text)
		}
	}
	return n
}

// Beneath puts an operator under a projection, above what the projection computes.
func Beneath(projection *Node, rows int64, operator func(*Node) *Node) *Node {
	projection.Children[0] = operator(projection.Children[0])
	projection.Rows = rows
	projection.Children[0].sortedBy(projection.aliases)
	return projection
}

// rename notes that a column is a field under another name.
func (n *Node) rename(alias, field string) {
	if n.aliases == nil {
		n.aliases = map[string]string{}
	}
	n.aliases[alias] = field
}

// sortedBy shows the fields that aliases stand for in the keys of a sort below a projection.
func (n *Node) sortedBy(aliases map[string]string) {
	switch n.Op {
	case "Limit":
		n.Children[0].sortedBy(aliases)
	case "SortByKey", "SortTopKByKey":
		for i := range n.Attrs {
			if n.Attrs[i].Name == "sort_keys" {
				n.Attrs[i].Text = renamed(n.Attrs[i].Text, aliases)
			}
		}
	}
}

func renamed(keys string, aliases map[string]string) string {
	list := strings.Split(keys, ", ")
	for i, k := range list {
		name, way, _ := strings.Cut(k, " ")
		if field := aliases[name]; field != "" {
			list[i] = field + " " + way
		}
	}
	return strings.Join(list, ", ")
}

// Around puts TIMEOUT and ONLY around the plan of a SELECT that gave so many rows.
func Around(n *Node, s *ast.Select, rows int64) *Node {
	if s.Only {
		n = &Node{Op: "UnwrapExactlyOne", Children: []*Node{n}, Rows: rows, Took: n.Took}
	}
	if s.Timeout != nil {
		n = &Node{Op: "Timeout", Children: []*Node{n}, Rows: rows, Took: n.Took}
		n.With("duration", Show(s.Timeout)).Expr("timeout", Show(s.Timeout))
	}
	return n
}

// Unfiltered is a plan without the condition on top of it.
func Unfiltered(n *Node) *Node {
	if n.Op == "Filter" {
		return n.Children[0]
	}
	n.Attrs = slices.DeleteFunc(n.Attrs, func(a Attr) bool { return a.Name == "predicate" })
	return n
}

// AsksForLinks reports whether the rows of a SELECT are themselves all that it asks for: VALUE $this.
func AsksForLinks(s *ast.Select) bool {
	p, ok := s.Projections.Fields[0].X.(*ast.Param)
	return ok && s.Projections.Value && (p.Name == "this" || p.Name == "self") &&
		s.Group == nil && s.Order == nil && len(s.Split) == 0 && len(s.Omit) == 0
}

// Subselect is the SELECT that a source is, where its rows can go straight into the outer one.
func Subselect(x ast.Expr) *ast.Select {
	q, ok := x.(*ast.Subquery)
	if !ok {
		return nil
	}
	s, ok := q.Stmt.(*ast.Select)
	if !ok || s.Only || s.Timeout != nil || s.Explain != nil {
		return nil
	}
	return s
}

// Unwrapped reports whether x is a subquery with ONLY: an array that it gives is one value.
func Unwrapped(x ast.Expr) bool {
	if q, ok := x.(*ast.Subquery); ok {
		s, ok := q.Stmt.(*ast.Select)
		return ok && s.Only
	}
	return false
}
