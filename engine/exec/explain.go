package exec

import (
	"context"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

func node(op string, children ...rows) *plan.Node {
	n := &plan.Node{Op: op}
	for _, c := range children {
		n.Children = append(n.Children, c.explain())
	}
	return n
}

func (p *predicate) attr(n *plan.Node) *plan.Node {
	if p == nil {
		return n
	}
	return n.With("predicate", ast.Text(p.x))
}

func (s *tableRows) explain() *plan.Node {
	if s.id != nil {
		text := value.RecordOf(s.id).Text()
		n := node("RecordIdScan").With("record_id", text).Expr("record_id", text)
		if s.reverse {
			n.With("direction", "Backward")
		}
		n = s.filter.attr(n)
		n.Rows = s.n
		return n
	}
	dir := "Forward"
	if s.reverse {
		dir = "Backward"
	}
	n := s.filter.attr(node("TableScan").With("table", s.name).With("direction", dir))
	if s.shared != nil {
		n.With("processors", fmt.Sprint(s.shared.most/batchesAhead))
	}
	n.Rows = s.n
	return n
}

func (s *recordRows) explain() *plan.Node {
	text := value.RecordOf(s.id).Text()
	scan := node("RecordIdScan").With("record_id", text).Expr("record_id", text)
	if s.version != 0 {
		at := history.Time(s.version)
		text = value.DatetimeOf(value.Datetime{Secs: at.Unix(), Nanos: uint32(at.Nanosecond())}).Text()
		scan = scan.With("version", text).Expr("version", text)
	}
	n := s.filter.attr(scan)
	n.Rows = s.n
	return n
}

func (s *valueRows) explain() *plan.Node {
	n := node("SourceExpr").With("expr", s.text).Expr("expr", s.text)
	n.Runtime, n.Rows = true, s.n
	if s.filter == nil {
		return n
	}
	return plan.Filtered(n, ast.Text(s.filter.x), s.n)
}

func (s *unionRows) explain() *plan.Node {
	n := node("Union", s.parts...)
	n.Rows = s.n
	return n
}

func (s *splitRows) explain() *plan.Node {
	on := make([]string, len(s.paths))
	for i, id := range s.paths {
		on[i] = ast.Text(id)
	}
	n := node("Split", s.in).With("on", strings.Join(on, ", "))
	n.Rows = s.n
	return n
}

func (s *limitRows) explain() *plan.Node {
	if scan, ok := unmeasured(s.in).(*tableRows); ok && scan.filter == nil && scan.id == nil {
		n := scan.explain() // it reads no more than is asked of it
		if s.limit >= 0 {
			n.With("limit", fmt.Sprint(s.limit))
		}
		if s.given {
			n.With("offset", fmt.Sprint(s.start))
		}
		return n
	}
	n := node("Limit", s.in)
	if s.limit >= 0 {
		n.With("limit", fmt.Sprint(s.limit)).Expr("limit", fmt.Sprint(s.limit))
	}
	if s.given {
		n.With("offset", fmt.Sprint(s.start)).Expr("offset", fmt.Sprint(s.start))
	}
	n.Rows = s.n
	return n
}

func (s *sortRows) explain() *plan.Node {
	var keys []string
	for i := range s.keys {
		keys = append(keys, s.keys[i].text)
	}
	text := strings.Join(keys, ", ")
	var n *plan.Node
	switch {
	case s.rand:
		n = node("RandomShuffle", s.in)
	case s.keep >= 0 && s.computed():
		n = node("SortTopK", s.in).With("order_by", text).With("limit", fmt.Sprint(s.keep))
	case s.computed():
		n = node("Sort", s.in).With("order_by", text)
	case s.keep >= 0:
		n = node("SortTopKByKey", s.in).With("sort_keys", text).With("limit", fmt.Sprint(s.keep))
	default:
		n = node("SortByKey", s.in).With("sort_keys", text)
	}
	n.Rows = s.n
	return n
}

// computed reports whether what is sorted was made by the query.
func (s *sortRows) computed() bool {
	_, ok := unmeasured(s.in).(*groupRows)
	return ok
}

func (g *groupRows) explain() *plan.Node {
	n := node("Aggregate", g.in)
	if g.all {
		n.With("mode", "GROUP ALL")
	} else {
		n.With("by", g.text)
	}
	n.Rows = g.n
	return n
}

func (s *countRows) explain() *plan.Node {
	n := node("CountScan").With("source", s.text).Expr("source", s.text)
	n.Rows = s.n
	return n
}

func (s *mapRows) explain() *plan.Node {
	if s.node.Op == "" {
		return s.in.explain()
	}
	return s.node.Over(s.in.explain(), s.n)
}

// passRows is an operator that shows in a plan but leaves rows as they are.
type passRows struct {
	rows
	node plan.Node
	n    int64
}

func (s *passRows) next(ctx context.Context) (value.Value, bool, error) {
	doc, ok, err := s.rows.next(ctx)
	if ok {
		s.n++
	}
	return doc, ok, err
}

func (s *passRows) explain() *plan.Node {
	return s.node.Over(s.rows.explain(), s.n)
}

// projectNode is how the projection of s shows.
func projectNode(s *ast.Select) plan.Node {
	if s.Projections.Value {
		text := ast.Text(s.Projections.Fields[0].X)
		return *node("ProjectValue").With("expr", text).Expr("expr", text)
	}
	if len(s.From) == 1 {
		if _, ok := s.From[0].(*ast.RecordID); ok {
			return plan.Node{Op: "Project"}
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
	n := node("SelectProject").With("projections", strings.Join(fields, ", "))
	n.Computes = strings.Join(computed, ", ")
	return *n
}

func fetchNode(s *ast.Select) plan.Node {
	var texts []string
	for _, x := range s.Fetch {
		texts = append(texts, ast.Text(x))
	}
	return *node("Fetch").With("fields", strings.Join(texts, ", "))
}

// explainJSON answers the trailing EXPLAIN clause; full runs the plan first.
func (r *Run) explainJSON(ctx context.Context, p rows, full bool) (value.Value, error) {
	total := 0
	if full {
		p = measure(p)
		out, err := r.drain(ctx, p)
		if err != nil {
			return value.None, err
		}
		total = len(out)
	}
	v := p.explain().Value(full)
	if full {
		v = value.ObjectOf(v.Object().With("total_rows", value.Int(int64(total))))
	}
	return v, nil
}

// explainStatement executes the leading EXPLAIN [ANALYZE] [FORMAT …].
func (r *Run) explainStatement(ctx context.Context, env *Env, s *ast.ExplainStmt) (value.Value, error) {
	var n *plan.Node
	total := 0
	switch x := s.Stmt.(type) {
	case *ast.Select:
		p, err := r.plan(ctx, env, x)
		if err != nil {
			return value.None, err
		}
		defer p.close()
		if s.Analyze {
			p = measure(p)
			out, err := r.drain(ctx, p)
			if err != nil {
				return value.None, err
			}
			total = len(out)
		}
		n = p.explain()
		if x.Only {
			n = &plan.Node{Op: "UnwrapExactlyOne", Children: []*plan.Node{n}, Rows: int64(total), Took: n.Took}
		}
	case *ast.If:
		n = &plan.Node{Op: "IfElse", Runtime: true}
		n.With("branches", fmt.Sprint(len(x.Branches)))
	case *ast.Return:
		text := ast.Text(x.X)
		of := &plan.Node{Op: "Expr", Runtime: true}
		n = &plan.Node{Op: "Return", Runtime: true, Children: []*plan.Node{of.With("expr", text).Expr("expr", text)}}
	default:
		return value.None, errs.Internal("Invalid statement: EXPLAIN is only supported with the new execution model")
	}
	if s.JSON {
		v := n.Value(s.Analyze)
		if s.Analyze {
			v = value.ObjectOf(v.Object().With("total_rows", value.Int(int64(total))))
		}
		return v, nil
	}
	var b strings.Builder
	b.WriteString(n.Text(s.Analyze))
	if s.Analyze {
		fmt.Fprintf(&b, "\nTotal rows: %d", total)
	}
	return value.Str(b.String()), nil
}
