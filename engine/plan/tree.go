package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// Node is an operator as EXPLAIN shows it.
type Node struct {
	Op       string
	Runtime  bool // it needs no database
	Attrs    []Attr
	Exprs    []Shown
	Children []*Node
	Rows     int64         // that the operator gave
	Computes []Shown       // of a projection: the columns that are more than a name
	Took     time.Duration // in the operator and what is below it
	clocked  bool          // Took is known

	namespace bool // it needs a namespace, and no database

	// Of a projection:
	single  bool              // of one record that FROM names
	whole   bool              // with *
	asks    bool              // what it computes needs a database
	aliases map[string]string // of columns that are fields under another name
	columns []Shown           // as they show where the projection takes them as they are
}

// Attr is a name and a text.
type Attr struct{ Name, Text string }

// Shown is an expression in a plan: its role, its text and the operators inside of it.
type Shown struct {
	Role, Text string
	Subs       []Sub
}

// With adds an attribute.
func (n *Node) With(name, text string) *Node {
	n.Attrs = append(n.Attrs, Attr{name, text})
	return n
}

// Expr adds an expression and its role.
func (n *Node) Expr(role, text string) *Node {
	n.Exprs = append(n.Exprs, Shown{Role: role, Text: text})
	return n
}

// Tests adds a condition, as an attribute and as an expression.
func (n *Node) Tests(predicate string) *Node {
	return n.With("predicate", predicate).Expr("predicate", predicate)
}

// Holds adds an expression with the operators inside of it.
func (n *Node) Holds(role string, x ast.Expr, selects func(*ast.Select) *Node) *Node {
	n.Exprs = append(n.Exprs, Shown{Role: role, Text: Show(x), Subs: Subs(x, selects)})
	return n
}

// Attr is the text of an attribute; "" where there is none.
func (n *Node) Attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Text
		}
	}
	return ""
}

// Over puts a projection over its input, with what it computes between them.
func (n Node) Over(in *Node, rows int64) *Node {
	from := in
	if in.Op == "Limit" {
		from = in.Children[0]
	}
	if n.Op == "SelectProject" && n.single && from.Op == "RecordIdScan" {
		n.Op, n.Attrs, n.Computes, n.Exprs = "Project", nil, nil, n.columns
	}
	free := in.Runtime && !n.asks
	if n.Op == "SelectProject" && in.Runtime && (len(n.Computes) == 0 || free) && !n.whole ||
		n.Op == "ProjectValue" && free {
		n.Runtime = true
	}
	if len(n.Computes) > 0 {
		c := &Node{Op: "Compute", Exprs: n.Computes, Children: []*Node{in}, Rows: rows, Runtime: free}
		fields := make([]string, len(c.Exprs))
		for i, x := range c.Exprs {
			fields[i] = x.Role + " = " + x.Text
		}
		in = c.With("fields", strings.Join(fields, ", "))
	}
	n.Children, n.Rows = []*Node{in}, rows
	return &n
}

// Filtered puts a filter over an operator, which gave so many rows. inside are the operators inside of the condition.
func Filtered(in *Node, predicate string, rows int64, inside []Sub) *Node {
	n := &Node{Op: "Filter", Rows: rows, Children: []*Node{in}}
	n.Tests(predicate)
	n.Exprs[0].Subs = inside
	return n
}

// Clock gives the time of an operator to the nodes that it shows as.
func (n *Node) Clock(took time.Duration) {
	if n.clocked {
		return
	}
	n.clocked, n.Took = true, took
	for _, c := range n.Children {
		c.Clock(took)
	}
}

func (n *Node) context() string {
	switch {
	case n.Runtime:
		return "Rt"
	case n.namespace:
		return "Ns"
	}
	return "Db"
}

// batches is how many batches of rows an operator is said to have given. Those of several sources stay apart.
func (n *Node) batches() int64 {
	switch n.Op {
	case "Union":
		sum := int64(0)
		for _, c := range n.Children {
			sum += c.batches()
		}
		return sum
	case "SelectProject", "Compute":
		if in := n.Children[0]; in.Rows == n.Rows {
			return in.batches()
		}
	}
	return (n.Rows + 1023) / 1024
}

// Value is the form of EXPLAIN FORMAT JSON; with metrics where the plan has run.
func (n *Node) Value(ran bool) value.Value {
	text := func(name, text string) value.Field { return value.Field{Name: name, Value: value.Str(text)} }
	number := func(name string, n int64) value.Field { return value.Field{Name: name, Value: value.Int(n)} }
	object := func(name string, fields ...value.Field) value.Field {
		return value.Field{Name: name, Value: value.ObjectOf(value.NewObject(fields...))}
	}
	fields := []value.Field{text("operator", n.Op), text("context", n.context())}
	if len(n.Attrs) > 0 {
		var attrs []value.Field
		for _, a := range n.Attrs {
			attrs = append(attrs, text(a.Name, a.Text))
		}
		fields = append(fields, object("attributes", attrs...))
	}
	if len(n.Exprs) > 0 {
		var exprs []value.Value
		for _, e := range n.Exprs {
			fields := []value.Field{text("role", e.Role), text("sql", e.Text)}
			if len(e.Subs) > 0 {
				subs := make([]value.Value, len(e.Subs))
				for i, s := range e.Subs {
					subs[i] = object("", text("role", s.Role),
						value.Field{Name: "plan", Value: s.Plan.Value(ran)}).Value
				}
				fields = append(fields, value.Field{Name: "embedded_operators", Value: value.ArrayOf(subs)})
			}
			exprs = append(exprs, object("", fields...).Value)
		}
		fields = append(fields, value.Field{Name: "expressions", Value: value.ArrayOf(exprs)})
	}
	if len(n.Children) > 0 {
		var children []value.Value
		for _, c := range n.Children {
			children = append(children, c.Value(ran))
		}
		fields = append(fields, value.Field{Name: "children", Value: value.ArrayOf(children)})
	}
	if ran {
		fields = append(fields, object("metrics", number("elapsed_ns", int64(n.Took)),
			number("output_batches", n.batches()),
			number("output_rows", n.Rows)))
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// Text is the form of EXPLAIN: a line an operator, indented; with metrics where the plan has run.
func (n *Node) Text(ran bool) string {
	var b strings.Builder
	n.text(&b, 0, "", ran)
	return b.String()
}

// text writes a node and what is below it. margin is the blanks before it; lead stands in front of its name.
func (n *Node) text(b *strings.Builder, margin int, lead string, ran bool) {
	b.WriteString(strings.Repeat(" ", margin))
	fmt.Fprintf(b, "%s%s [ctx: %s]", lead, n.Op, n.context())
	if len(n.Attrs) > 0 {
		b.WriteString(" [")
		for i, a := range n.Attrs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(a.Name + ": " + a.Text)
		}
		b.WriteByte(']')
	}
	if ran {
		fmt.Fprintf(b, " {rows: %d, batches: %d, elapsed: %s}", n.Rows, n.batches(), n.Took.Round(10*time.Nanosecond))
	}
	b.WriteByte('\n')
	for _, e := range n.Exprs {
		for _, s := range e.Subs {
			s.Plan.text(b, margin+2, e.Role+"."+s.Role+": ", ran)
		}
	}
	for _, c := range n.Children {
		c.text(b, margin+4, "", ran)
	}
}
