package exec

import (
	"fmt"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/value"
)

// counter counts the rows that an operator gave.
type counter int64

// planNode is an operator as EXPLAIN shows it.
type planNode struct {
	op       string
	runtime  bool // needs no database
	attrs    []planAttr
	exprs    []planAttr // role and text
	children []*planNode
	rows     counter
	computes string        // of a projection: the fields that are more than a name
	clocked  bool          // took is known
	took     time.Duration // in the operator and what is below it
}

// over puts a projection over its input, with what it computes between them.
func (n planNode) over(in *planNode, rows counter) *planNode {
	if n.computes != "" {
		in = &planNode{op: "Compute", attrs: []planAttr{{"fields", n.computes}}, children: []*planNode{in}, rows: rows}
	}
	n.children, n.rows = []*planNode{in}, rows
	return &n
}

type planAttr struct{ name, text string }

func (n *planNode) with(name, text string) *planNode {
	n.attrs = append(n.attrs, planAttr{name, text})
	return n
}

func (n *planNode) expr(role, text string) *planNode {
	n.exprs = append(n.exprs, planAttr{role, text})
	return n
}

func node(op string, children ...rows) *planNode {
	n := &planNode{op: op}
	for _, c := range children {
		n.children = append(n.children, c.explain())
	}
	return n
}

// filtered puts a filter over an operator, which gave so many rows.
func filtered(in *planNode, predicate string, rows counter) *planNode {
	n := &planNode{op: "Filter", rows: rows, children: []*planNode{in}}
	return n.with("predicate", predicate).expr("predicate", predicate)
}

func (p *predicate) attr(n *planNode) *planNode {
	if p == nil {
		return n
	}
	return n.with("predicate", ast.Text(p.x))
}

func (s *tableRows) explain() *planNode {
	if s.id != nil {
		text := value.RecordOf(s.id).Text()
		n := node("RecordIdScan").with("record_id", text).expr("record_id", text)
		if s.reverse {
			n.with("direction", "Backward")
		}
		n = s.filter.attr(n)
		n.rows = s.n
		return n
	}
	dir := "Forward"
	if s.reverse {
		dir = "Backward"
	}
	n := s.filter.attr(node("TableScan").with("table", s.name).with("direction", dir))
	if s.shared != nil {
		n.with("processors", fmt.Sprint(s.shared.most/batchesAhead))
	}
	n.rows = s.n
	return n
}

func (s *recordRows) explain() *planNode {
	text := value.RecordOf(s.id).Text()
	scan := node("RecordIdScan").with("record_id", text).expr("record_id", text)
	if s.version != 0 {
		at := history.Time(s.version)
		text = value.DatetimeOf(value.Datetime{Secs: at.Unix(), Nanos: uint32(at.Nanosecond())}).Text()
		scan = scan.with("version", text).expr("version", text)
	}
	n := s.filter.attr(scan)
	n.rows = s.n
	return n
}

func (s *valueRows) explain() *planNode {
	n := node("SourceExpr").with("expr", s.text).expr("expr", s.text)
	n.runtime, n.rows = true, s.n
	if s.filter == nil {
		return n
	}
	return filtered(n, ast.Text(s.filter.x), s.n)
}

func (s *unionRows) explain() *planNode {
	n := node("Union", s.parts...)
	n.rows = s.n
	return n
}

func (s *splitRows) explain() *planNode {
	on := make([]string, len(s.paths))
	for i, id := range s.paths {
		on[i] = ast.Text(id)
	}
	n := node("Split", s.in).with("on", strings.Join(on, ", "))
	n.rows = s.n
	return n
}

func (s *limitRows) explain() *planNode {
	if scan, ok := unmeasured(s.in).(*tableRows); ok && scan.filter == nil && scan.id == nil {
		n := scan.explain() // it reads no more than is asked of it
		if s.limit >= 0 {
			n.with("limit", fmt.Sprint(s.limit))
		}
		if s.given {
			n.with("offset", fmt.Sprint(s.start))
		}
		return n
	}
	n := node("Limit", s.in)
	if s.limit >= 0 {
		n.with("limit", fmt.Sprint(s.limit)).expr("limit", fmt.Sprint(s.limit))
	}
	if s.given {
		n.with("offset", fmt.Sprint(s.start)).expr("offset", fmt.Sprint(s.start))
	}
	n.rows = s.n
	return n
}

func (s *sortRows) explain() *planNode {
	var keys []string
	for i := range s.keys {
		keys = append(keys, s.keys[i].text)
	}
	text := strings.Join(keys, ", ")
	var n *planNode
	switch {
	case s.rand:
		n = node("RandomShuffle", s.in)
	case s.keep >= 0 && s.computed():
		n = node("SortTopK", s.in).with("order_by", text).with("limit", fmt.Sprint(s.keep))
	case s.computed():
		n = node("Sort", s.in).with("order_by", text)
	case s.keep >= 0:
		n = node("SortTopKByKey", s.in).with("sort_keys", text).with("limit", fmt.Sprint(s.keep))
	default:
		n = node("SortByKey", s.in).with("sort_keys", text)
	}
	n.rows = s.n
	return n
}

// computed reports whether what is sorted was made by the query.
func (s *sortRows) computed() bool {
	_, ok := unmeasured(s.in).(*groupRows)
	return ok
}

func (g *groupRows) explain() *planNode {
	n := node("Aggregate", g.in)
	if g.all {
		n.with("mode", "GROUP ALL")
	} else {
		n.with("by", g.text)
	}
	n.rows = g.n
	return n
}

func (s *countRows) explain() *planNode {
	n := node("CountScan").with("source", s.text).expr("source", s.text)
	n.rows = s.n
	return n
}

func (s *mapRows) explain() *planNode {
	if s.node.op == "" {
		return s.in.explain()
	}
	return s.node.over(s.in.explain(), s.n)
}

// passRows is an operator that shows in a plan but leaves rows as they are.
type passRows struct {
	rows
	node planNode
	n    counter
}

func (s *passRows) next() (value.Value, bool, error) {
	doc, ok, err := s.rows.next()
	if ok {
		s.n++
	}
	return doc, ok, err
}

func (s *passRows) explain() *planNode {
	return s.node.over(s.rows.explain(), s.n)
}

// projectNode is how the projection of s shows.
func projectNode(s *ast.Select) planNode {
	if s.Projections.Value {
		text := ast.Text(s.Projections.Fields[0].X)
		return planNode{op: "ProjectValue", attrs: []planAttr{{"expr", text}}, exprs: []planAttr{{"expr", text}}}
	}
	if len(s.From) == 1 {
		if _, ok := s.From[0].(*ast.RecordID); ok {
			return planNode{op: "Project"}
		}
	}
	var fields, computed []string
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		if f.All {
			fields = append(fields, "*")
			continue
		}
		name := strings.Join(keyOf(f.X), ".")
		if f.Alias != nil {
			name = ast.Text(f.Alias)
		}
		id, ok := f.X.(*ast.Idiom)
		if !ok || len(id.Parts) != 1 || !isField(id.Parts[0]) {
			computed = append(computed, name+" = "+ast.Text(f.X))
		}
		fields = append(fields, name)
	}
	for _, x := range s.Omit {
		fields = append(fields, "OMIT "+ast.Text(x))
	}
	return planNode{op: "SelectProject", attrs: []planAttr{{"projections", strings.Join(fields, ", ")}}, computes: strings.Join(computed, ", ")}
}

func fetchNode(s *ast.Select) planNode {
	var texts []string
	for _, x := range s.Fetch {
		texts = append(texts, ast.Text(x))
	}
	return planNode{op: "Fetch", attrs: []planAttr{{"fields", strings.Join(texts, ", ")}}}
}

// explainJSON answers the trailing EXPLAIN clause; full runs the plan first.
func (r *Run) explainJSON(p rows, full bool) (value.Value, error) {
	total := 0
	if full {
		p = measure(p)
		out, err := r.drain(p)
		if err != nil {
			return value.None, err
		}
		total = len(out)
	}
	v := p.explain().value(full)
	if full {
		v = value.ObjectOf(v.Object().With("total_rows", value.Int(int64(total))))
	}
	return v, nil
}

func (n *planNode) context() string {
	if n.runtime {
		return "Rt"
	}
	return "Db"
}

func (n *planNode) value(full bool) value.Value {
	fields := []value.Field{{Name: "operator", Value: value.Str(n.op)}, {Name: "context", Value: value.Str(n.context())}}
	if len(n.attrs) > 0 {
		var attrs []value.Field
		for _, a := range n.attrs {
			attrs = append(attrs, value.Field{Name: a.name, Value: value.Str(a.text)})
		}
		fields = append(fields, value.Field{Name: "attributes", Value: value.ObjectOf(value.NewObject(attrs...))})
	}
	if len(n.exprs) > 0 {
		var exprs []value.Value
		for _, e := range n.exprs {
			exprs = append(exprs, value.ObjectOf(value.NewObject(
				value.Field{Name: "role", Value: value.Str(e.name)}, value.Field{Name: "sql", Value: value.Str(e.text)})))
		}
		fields = append(fields, value.Field{Name: "expressions", Value: value.ArrayOf(exprs)})
	}
	if len(n.children) > 0 {
		var children []value.Value
		for _, c := range n.children {
			children = append(children, c.value(full))
		}
		fields = append(fields, value.Field{Name: "children", Value: value.ArrayOf(children)})
	}
	if full {
		fields = append(fields, value.Field{Name: "metrics", Value: value.ObjectOf(value.NewObject(
			value.Field{Name: "elapsed_ns", Value: value.Int(int64(n.took))},
			value.Field{Name: "output_batches", Value: value.Int((int64(n.rows) + 1023) / 1024)},
			value.Field{Name: "output_rows", Value: value.Int(int64(n.rows))}))})
	}
	return value.ObjectOf(value.NewObject(fields...))
}

// text is the indented form.
func (n *planNode) text(b *strings.Builder, depth int, full bool) {
	b.WriteString(strings.Repeat("    ", depth))
	fmt.Fprintf(b, "%s [ctx: %s]", n.op, n.context())
	if len(n.attrs) > 0 {
		b.WriteString(" [")
		for i, a := range n.attrs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(a.name + ": " + a.text)
		}
		b.WriteByte(']')
	}
	if full {
		fmt.Fprintf(b, " {rows: %d, batches: %d, elapsed: %s}", n.rows, (n.rows+1023)/1024, n.took.Round(10*time.Nanosecond))
	}
	b.WriteByte('\n')
	for _, c := range n.children {
		c.text(b, depth+1, full)
	}
}

// explainStatement executes the leading EXPLAIN [ANALYZE] [FORMAT …].
func (r *Run) explainStatement(env *Env, s *ast.ExplainStmt) (value.Value, error) {
	var n *planNode
	total := 0
	switch x := s.Stmt.(type) {
	case *ast.Select:
		p, err := r.plan(env, x)
		if err != nil {
			return value.None, err
		}
		defer p.close()
		if s.Analyze {
			p = measure(p)
			out, err := r.drain(p)
			if err != nil {
				return value.None, err
			}
			total = len(out)
		}
		n = p.explain()
		if x.Only {
			n = &planNode{op: "UnwrapExactlyOne", children: []*planNode{n}, rows: counter(total), took: n.took}
		}
	case *ast.If:
		n = &planNode{op: "IfElse", runtime: true, attrs: []planAttr{{"branches", fmt.Sprint(len(x.Branches))}}}
	case *ast.Return:
		text := ast.Text(x.X)
		n = &planNode{op: "Return", runtime: true, children: []*planNode{
			{op: "Expr", runtime: true, attrs: []planAttr{{"expr", text}}, exprs: []planAttr{{"expr", text}}}}}
	default:
		return value.None, errs.Internal("Invalid statement: EXPLAIN is only supported with the new execution model")
	}
	if s.JSON {
		v := n.value(s.Analyze)
		if s.Analyze {
			v = value.ObjectOf(v.Object().With("total_rows", value.Int(int64(total))))
		}
		return v, nil
	}
	var b strings.Builder
	n.text(&b, 0, s.Analyze)
	if s.Analyze {
		fmt.Fprintf(&b, "\nTotal rows: %d", total)
	}
	return value.Str(b.String()), nil
}
