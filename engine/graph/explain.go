package graph

import (
	"strings"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/gql"
	"github.com/nacredb/nacre/engine/value"
)

// node is an operator as EXPLAIN shows it.
type node struct {
	name string
	kids []*node
}

func (n *node) value() value.Value {
	fields := []value.Field{{Name: "operator", Value: value.Str(n.name)}}
	if len(n.kids) > 0 {
		kids := make([]value.Value, len(n.kids))
		for i, k := range n.kids {
			kids[i] = k.value()
		}
		fields = append(fields, value.Field{Name: "children", Value: value.ArrayOf(kids)})
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// explain is the plan of a program: its operators in the order in which they run.
func (x *runner) explain(p *Program) (value.Value, error) {
	root := p.query.explain(x)
	return value.Array(root.value()), nil
}

func (q *query) explain(x *runner) *node {
	n := &node{name: "Query"}
	for _, p := range q.parts {
		kids := &n.kids
		if len(p.arms) > 1 {
			op := &node{name: [...]string{"", "Union", "Except", "Intersect", "Otherwise"}[p.op]}
			if p.all {
				op.name += " All"
			}
			n.kids = append(n.kids, op)
			kids = &op.kids
		}
		for _, l := range p.arms {
			*kids = append(*kids, l.explain(x))
		}
	}
	return n
}

func (l *linear) explain(x *runner) *node {
	if l.braced != nil {
		return l.braced.explain(x)
	}
	n := &node{name: "Linear"}
	for _, s := range l.segs {
		for _, st := range s.steps {
			n.kids = append(n.kids, st.explain(x))
		}
		if s.barrier != nil {
			n.kids = append(n.kids, s.barrier.explain(x))
		}
	}
	if l.res != nil {
		n.kids = append(n.kids, &node{name: l.res.text})
	}
	return n
}

func (s *matchStep) explain(x *runner) *node {
	n := &node{name: "Match"}
	if s.optional {
		n.name = "Optional Match"
	}
	o, err := x.plan(s)
	if err != nil {
		n.kids = []*node{{name: "Error"}}
		return n
	}
	n.kids = chainNodes(o)
	return n
}

// chainNodes are the operators of a pattern that have something to say.
func chainNodes(o op) []*node {
	var out []*node
	for ; o != nil; o = *o.after() {
		var kids []*node
		switch o := o.(type) {
		case *patternOp:
			kids = chainNodes(o.body)
		case *loopOp:
			kids = chainNodes(o.body)
		case *altOp:
			for _, br := range o.branches {
				kids = append(kids, &node{name: "Branch", kids: chainNodes(br)})
			}
		}
		if t := o.text(); t != "" {
			out = append(out, &node{name: t, kids: kids})
		}
	}
	return out
}

func (s *optionalStep) explain(x *runner) *node {
	n := &node{name: "Optional"}
	for _, st := range s.steps {
		n.kids = append(n.kids, st.explain(x))
	}
	return n
}

func (s *letStep) explain(*runner) *node    { return &node{name: "Let " + strings.Join(s.names, ", ")} }
func (s *filterStep) explain(*runner) *node { return &node{name: "Filter " + s.text} }
func (s *forStep) explain(*runner) *node    { return &node{name: "For " + s.text} }
func (s *sorted) explain(*runner) *node     { return &node{name: s.text} }
func (s *insertStep) explain(*runner) *node { return &node{name: "Insert"} }
func (s *changeStep) explain(*runner) *node { return &node{name: s.text} }

func (s *callStep) explain(x *runner) *node {
	n := &node{name: "Call", kids: []*node{s.q.explain(x)}}
	if s.optional {
		n.name = "Optional Call"
	}
	return n
}

func (s *deleteStep) explain(*runner) *node {
	if s.detach {
		return &node{name: "Detach Delete"}
	}
	return &node{name: "Delete"}
}

// orderText is ORDER BY, OFFSET and LIMIT as EXPLAIN shows them.
func orderText(o *gql.Order) string {
	var parts []string
	for i, k := range o.Keys {
		t := gql.ExprText(k.X)
		if k.Desc {
			t += " DESC"
		}
		if i == 0 {
			t = "Order by " + t
		} else {
			t = parts[len(parts)-1] + ", " + t
			parts = parts[:len(parts)-1]
		}
		parts = append(parts, t)
	}
	if o.Skip != nil {
		parts = append(parts, "Offset "+gql.ExprText(o.Skip))
	}
	if o.Limit != nil {
		parts = append(parts, "Limit "+gql.ExprText(o.Limit))
	}
	return strings.Join(parts, ", ")
}

func resultText(r *result, src *gql.Result, items []gql.Item) string {
	t := "Return"
	switch {
	case len(src.Group) > 0:
		t = "Group by"
		for i, g := range src.Group {
			t += []string{" ", ", "}[min(i, 1)] + gql.ExprText(g)
		}
		t += ", return"
	case len(r.aggs) > 0:
		t = "Aggregate, return"
	}
	if r.distinct {
		t += " distinct"
	}
	for i, it := range items {
		t += []string{" ", ", "}[min(i, 1)] + it.Alias
	}
	if o := orderText(&src.Order); o != "" {
		t += ", " + o
	}
	return t
}

// indexed reports whether an index of a table begins with a field.
func indexed(tb *catalog.Table, field string) bool {
	for _, ix := range tb.Indexes {
		if len(ix.Paths) > 0 && len(ix.Paths[0]) == 1 && ix.Paths[0][0].Name == field {
			return true
		}
	}
	return false
}
