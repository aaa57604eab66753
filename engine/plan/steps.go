package plan

import (
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
)

// Sub is an operator inside of an expression: what a graph path, a recursion or a sub-select reads by.
type Sub struct {
	Role string // lookup, recurse or subquery
	Plan *Node
}

// Subs are the operators that stand at the top of an expression. selects is the plan of a sub-select, nil where there
// is none to show.
func Subs(x ast.Expr, selects func(*ast.Select) *Node) []Sub {
	switch x := x.(type) {
	case *ast.Paren:
		return Subs(x.X, selects)
	case *ast.Unary:
		return Subs(x.X, selects)
	case *ast.Binary:
		return append(Subs(x.L, selects), Subs(x.R, selects)...)
	case *ast.Subquery:
		return subselect(x, selects)
	case *ast.Idiom:
		return pathSubs(x, selects)
	}
	return nil
}

func subselect(x *ast.Subquery, selects func(*ast.Select) *Node) []Sub {
	s, ok := x.Stmt.(*ast.Select)
	if !ok || selects == nil {
		return nil
	}
	if n := selects(s); n != nil {
		return []Sub{{"subquery", n}}
	}
	return nil
}

func pathSubs(x *ast.Idiom, selects func(*ast.Select) *Node) []Sub {
	var out []Sub
	for i := 0; i < len(x.Parts); i++ {
		switch p := x.Parts[i].(type) {
		case *ast.PartStart:
			if q, ok := p.X.(*ast.Subquery); ok {
				out = append(out, subselect(q, selects)...)
			}
		case *ast.PartGraph:
			steps := graphSteps(x.Parts[i:])
			out = append(out, Sub{"lookup", walk(steps)})
			i += len(steps) - 1
		case *ast.PartRecurse:
			path := x.Parts[i+1:]
			if p.Recurse.Path != nil {
				path = p.Recurse.Path.Parts
			} else {
				i = len(x.Parts)
			}
			out = append(out, Sub{"recurse", recurseNode(p.Recurse, path)})
		}
	}
	return out
}

// graphSteps are the graph steps that parts begin with.
func graphSteps(parts []ast.Part) []*ast.Graph {
	var out []*ast.Graph
	for _, p := range parts {
		g, ok := p.(*ast.PartGraph)
		if !ok {
			break
		}
		out = append(out, g.Graph)
	}
	return out
}

// walk is the operators of graph steps that follow each other, the last one on top.
func walk(steps []*ast.Graph) *Node {
	n := &Node{Op: "CurrentValueSource", Runtime: true}
	for _, g := range steps {
		n = stepNode(g, n)
	}
	return n
}

func stepNode(g *ast.Graph, in *Node) *Node {
	n := scanNode(g, in)
	if g.Where != nil {
		n = Filtered(n, Show(g.Where), 0, Subs(g.Where, nil))
	}
	if g.Order != nil {
		var keys []string
		for _, k := range g.Order.Keys {
			keys = append(keys, OrderText(k))
		}
		sort := &Node{Op: "SortByKey", Children: []*Node{n}}
		if g.Limit != nil {
			sort.Op = "SortTopKByKey"
		}
		sort.With("sort_keys", strings.Join(keys, ", "))
		if g.Limit != nil {
			sort.With("limit", Show(g.Limit))
		}
		n = sort
	}
	if g.Limit != nil || g.Start != nil {
		n = &Node{Op: "Limit", Children: []*Node{n}}
		if g.Limit != nil {
			n.With("limit", Show(g.Limit)).Expr("limit", Show(g.Limit))
		}
		if g.Start != nil {
			n.With("offset", Show(g.Start)).Expr("offset", Show(g.Start))
		}
	}
	if g.Select != nil {
		p := Projection(&ast.Select{Projections: g.Select}, nil)
		n = p.Over(n, 0)
	}
	return n
}

func scanNode(g *ast.Graph, in *Node) *Node {
	var names []string
	for _, t := range g.Tables {
		names = append(names, t.Table)
	}
	n := &Node{Op: "GraphEdgeScan", Children: []*Node{in}}
	if g.Dir == ast.DirRef {
		n.Op = "ReferenceScan"
		if g.Any || len(names) == 0 {
			names = []string{"?"}
		}
		n.With("table", strings.Join(names, ", "))
		if len(g.Tables) == 1 && g.Tables[0].Field != nil {
			n.With("field", ast.Text(g.Tables[0].Field))
		}
		return n
	}
	if g.Any || len(names) == 0 {
		names = []string{"*"}
	}
	output := "TargetId"
	if g.Select != nil || g.Where != nil || g.Order != nil || g.Limit != nil || g.Start != nil || g.Group != nil ||
		len(g.Split) > 0 {
		output = "FullEdge"
	}
	dir := [...]string{ast.DirOut: "->", ast.DirIn: "<-", ast.DirBoth: "<->"}[g.Dir]
	return n.With("direction", dir).With("tables", strings.Join(names, ", ")).With("output", output)
}

func recurseNode(r *ast.Recurse, path []ast.Part) *Node {
	n := &Node{Op: "Recurse"}
	depth := fmt.Sprint(max(r.Min, 1))
	switch {
	case r.OpenMax:
		depth += ".."
	case !r.Exact && fmt.Sprint(r.Max) != depth:
		depth += ".." + fmt.Sprint(r.Max)
	}
	instruction := r.Instruction
	if instruction == "" {
		instruction = "default"
	}
	n.With("depth", depth).With("instruction", instruction)
	if steps := graphSteps(path); len(steps) > 0 {
		n.Children = []*Node{walk(steps)}
		return n
	}
	return n.With("pattern", "tree")
}

// OrderText is a key of ORDER BY in a plan.
func OrderText(k ast.OrderKey) string {
	if k.Desc {
		return ast.Text(k.Key) + " DESC"
	}
	return ast.Text(k.Key) + " ASC"
}

// LeadsAcross reports whether two steps go over the edges of one table to records of another one, all of them.
func LeadsAcross(edge, node *ast.Graph) bool {
	one := func(g *ast.Graph) bool {
		return !g.Any && len(g.Tables) == 1 && g.Tables[0].Table != "" && g.Tables[0].Key == nil && g.Plain()
	}
	return edge.Dir == node.Dir && (edge.Dir == ast.DirIn || edge.Dir == ast.DirOut) && one(edge) && one(node)
}
