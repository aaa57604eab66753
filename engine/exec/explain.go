package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/history"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

func node(op string) *plan.Node { return &plan.Node{Op: op} }

func above(ctx context.Context, op string, children ...rows) *plan.Node {
	n := node(op)
	for _, c := range children {
		n.Children = append(n.Children, c.explain(ctx))
	}
	return n
}

func (p *predicate) attr(n *plan.Node) *plan.Node {
	if p == nil {
		return n
	}
	return n.With("predicate", p.text())
}

// text is the condition with the values of parameters that are known before the rows are.
func (p *predicate) text() string { return p.r.shown(p.env, p.x) }

// filtered shows a filter of its own over an operator, if there is one.
func (p *predicate) filtered(ctx context.Context, n *plan.Node, rows int64) *plan.Node {
	if p == nil {
		return n
	}
	f := plan.Filtered(n, p.text(), rows, plan.Subs(p.x, p.r.subplans(ctx, p.env)))
	f.Runtime = n.Runtime && !plan.AsksStore(p.x)
	return f
}

// shown is an expression as plans show it.
func (r *Run) shown(env *Env, x ast.Expr) string {
	return plan.Shower{Var: func(name string) (value.Value, bool) {
		switch name {
		case "this", "self", "parent":
			return value.None, false
		case "auth":
			return r.Sess.Auth.Principal.Record, true
		}
		if v, ok := env.Lookup(name); ok {
			return v, true
		}
		return r.sessionVar(name)
	}}.Text(x)
}

// dynamic shows a source that is only known when the statement runs: x gave what is read.
func (p *predicate) dynamic(x ast.Expr) *plan.Node {
	text := plan.Show(x)
	n := node("DynamicScan").With("source", text).Expr("source", text)
	if p == nil {
		return n
	}
	return n.Tests(p.text())
}

func (s *tableRows) explain(ctx context.Context) *plan.Node {
	if s.from != nil {
		n := s.filter.dynamic(s.from)
		n.Rows = s.n
		return n
	}
	if s.id != nil {
		text := value.RecordOf(s.id).Text()
		n := node("RecordIdScan").With("record_id", text).Expr("record_id", text)
		if s.reverse {
			n.With("direction", "Backward")
		}
		n.Rows = s.n
		return s.filter.filtered(ctx, n, s.n)
	}
	dir := "Forward"
	if s.reverse {
		dir = "Backward"
	}
	n := s.filter.attr(node("TableScan").With("table", s.name).With("direction", dir))
	if s.undecoded(ctx) {
		n.With("pre_decode_filter", "yes")
	}
	if s.shared != nil && s.shared.Shared() > 0 {
		n.With("processors", fmt.Sprint(s.shared.Shared()))
	}
	n.Rows = s.n
	return n
}

// undecoded reports whether the condition can be asked of records as they are stored.
func (s *tableRows) undecoded(ctx context.Context) bool {
	known := func(x ast.Expr) (value.Value, error) { return s.r.Value(ctx, s.filter.env, x) }
	return s.filter != nil && s.tb != nil && s.version == 0 && s.r.readsPlain(s.tb) &&
		!s.r.Ex.PlanOff.Has(plan.Compile) && compile.Tests(s.filter.x, known)
}

func (s *recordRows) explain(ctx context.Context) *plan.Node {
	text := value.RecordOf(s.id).Text()
	switch x := s.from.(type) {
	case *ast.Call:
		n := s.filter.dynamic(x)
		n.Rows = s.n
		return n
	case *ast.Param, *ast.RecordID:
		text = plan.Show(x)
	}
	scan := node("RecordIdScan").With("record_id", text).Expr("record_id", text)
	if s.version != 0 {
		at := history.Time(s.version)
		text = value.DatetimeOf(value.Datetime{Secs: at.Unix(), Nanos: uint32(at.Nanosecond())}).Text()
		scan = scan.With("version", text).Expr("version", text)
	}
	scan.Rows = s.n
	if s.from == nil { // the condition says which record it is
		return scan.Tests(s.filter.text())
	}
	return s.filter.filtered(ctx, scan, s.n)
}

func (s *valueRows) explain(ctx context.Context) *plan.Node {
	if c, ok := s.from.(*ast.Call); ok {
		n := s.filter.dynamic(c)
		n.Rows = s.n
		return n
	}
	n := node("SourceExpr").With("expr", plan.Show(s.from)).Holds("expr", s.from, nil)
	n.Runtime, n.Rows = !plan.AsksStore(s.from), s.n
	return s.filter.filtered(ctx, n, s.n)
}

func (s *unionRows) explain(ctx context.Context) *plan.Node {
	n := above(ctx, "Union", s.parts...)
	n.Rows = s.n
	if s.where == nil {
		return n
	}
	for i, c := range n.Children { // they have the condition of all
		n.Children[i] = plan.Unfiltered(c)
	}
	return s.where.filtered(ctx, n, s.n)
}

func (s *splitRows) explain(ctx context.Context) *plan.Node {
	on := make([]string, len(s.shown))
	for i, id := range s.shown {
		on[i] = ast.Text(id)
	}
	n := above(ctx, "Split", s.in).With("on", strings.Join(on, ", "))
	n.Rows, n.Runtime = s.n, n.Children[0].Runtime
	return n
}

func (s *limitRows) explain(ctx context.Context) *plan.Node {
	in := s.in.explain(ctx)
	limit, offset := "", ""
	if s.limit >= 0 && s.limitX != nil {
		limit = plan.Show(s.limitX)
	}
	if s.startX != nil {
		offset = plan.Show(s.startX)
	}
	if projects(s.in) {
		return plan.Beneath(in, s.n, func(in *plan.Node) *plan.Node { return plan.Limited(in, limit, offset, s.n) })
	}
	return plan.Limited(in, limit, offset, s.n)
}

func (s *sortRows) explain(ctx context.Context) *plan.Node {
	var keys []string
	for i := range s.keys {
		keys = append(keys, plan.OrderText(s.keys[i].key))
	}
	sort := func(in *plan.Node) *plan.Node { return s.over(in, strings.Join(keys, ", ")) }
	if projects(s.in) {
		return plan.Beneath(s.in.explain(ctx), s.n, sort)
	}
	return sort(s.in.explain(ctx))
}

// over is the sort over its input.
func (s *sortRows) over(in *plan.Node, keys string) *plan.Node {
	n := &plan.Node{Runtime: in.Runtime, Rows: s.n, Children: []*plan.Node{in}}
	top, attr := "", "sort_keys"
	switch {
	case s.rand:
		n.Op, attr, keys = "RandomShuffle", "order", "RAND()"
	case s.computed():
		n.Op, top, attr = "Sort", "SortTopK", "order_by"
		for _, k := range s.keys {
			n.Expr("order_by", ast.Text(k.key.Key))
		}
	default:
		n.Op, top = "SortByKey", "SortTopKByKey"
	}
	n.With(attr, keys)
	if s.wanted >= 0 {
		n.With("limit", fmt.Sprint(s.wanted))
		if top != "" {
			n.Op = top
		}
	}
	return n
}

// projects reports whether rows come out of a projection that belongs to the clauses above it: plans show it on top.
func projects(in rows) bool {
	switch in := unmeasured(in).(type) {
	case *mapRows:
		return in.shows != nil
	case *passRows:
		return true
	case *sortRows:
		return projects(in.in)
	}
	return false
}

// computed reports whether what is sorted was made by the query.
func (s *sortRows) computed() bool {
	_, ok := unmeasured(s.in).(*groupRows)
	return ok
}

func (g *groupRows) explain(ctx context.Context) *plan.Node {
	n := above(ctx, "Aggregate", g.in)
	if scan, ok := unmeasured(g.in).(*tableRows); ok && g.of.Counts && scan.id != nil && scan.filter == nil {
		text := value.RecordOf(scan.id).Text()
		n = node("CountScan").With("source", text).Expr("source", text)
		n.Rows = g.n
		return n
	}
	if g.of.All {
		n.With("mode", "GROUP ALL")
		n.Runtime = n.Children[0].Runtime && !slices.ContainsFunc(g.of.Fields, func(f plan.Grouped) bool {
			return plan.AsksStore(f.X)
		})
	} else {
		n.With("by", g.of.Text)
	}
	for _, x := range g.of.By {
		n.Expr("group_by", plan.Show(x))
	}
	g.arguments(ctx, n)
	n.Rows = g.n
	return n
}

// arguments shows what aggregates are of, and what is made of them afterwards.
func (g *groupRows) arguments(ctx context.Context, n *plan.Node) {
	names := map[*ast.Call]string{}
	for i := range g.of.Fields {
		for j, c := range g.of.Fields[i].Calls {
			names[c] = fmt.Sprintf("_a%d", j)
			if len(c.Args) > 0 {
				n.Holds("agg_arg", c.Args[0], g.r.subplans(ctx, g.env))
			} else {
				n.Expr("agg_arg", "NONE")
			}
		}
	}
	after := plan.Shower{Call: func(c *ast.Call) string { return names[c] }}
	for i := range g.of.Fields {
		f := &g.of.Fields[i]
		if c, ok := f.X.(*ast.Call); len(f.Calls) > 0 && !(ok && names[c] != "") {
			n.Expr("agg_post_expr", after.Text(f.X))
		}
	}
}

func (s *countRows) explain(ctx context.Context) *plan.Node {
	n := node("CountScan").With("source", s.text).Expr("source", s.text)
	if s.ix != nil {
		n = node("IndexCountScan").With("index", s.ix.Name).Tests(plan.Show(s.ix.Define.CountWhere))
	}
	n.Rows = s.n
	return n
}

func (s *mapRows) explain(ctx context.Context) *plan.Node {
	if s.shows == nil {
		return s.in.explain(ctx)
	}
	return s.shows(ctx).Over(s.in.explain(ctx), s.n)
}

// passRows is an operator that shows in a plan but leaves rows as they are.
type passRows struct {
	rows
	shows func(context.Context) plan.Node
	n     int64
}

func (s *passRows) next(ctx context.Context) (value.Value, bool, error) {
	doc, ok, err := s.rows.next(ctx)
	if ok {
		s.n++
	}
	return doc, ok, err
}

func (s *passRows) explain(ctx context.Context) *plan.Node {
	return s.shows(ctx).Over(s.rows.explain(ctx), s.n)
}

// explainJSON answers the trailing EXPLAIN clause; full runs the plan first.
func (r *Run) explainJSON(ctx context.Context, p rows, s *ast.Select) (value.Value, error) {
	full := s.Explain.Full
	total := 0
	if full {
		p = measure(p)
		out, err := r.drain(ctx, p)
		if err != nil {
			return value.None, err
		}
		total = len(out)
	}
	v := plan.Around(p.explain(ctx), s, int64(total)).Value(full)
	if full {
		v = value.ObjectOf(v.Object().With("total_rows", value.Int(int64(total))))
	}
	return v, nil
}

// explainStatement executes the leading EXPLAIN [ANALYZE] [FORMAT …]. Of what is no SELECT it shows the statement
// itself.
func (r *Run) explainStatement(ctx context.Context, env *Env, s *ast.ExplainStmt) (value.Value, error) {
	total := 0
	n, err := plan.Describe(s.Stmt, func(x *ast.Select) (*plan.Node, error) {
		p, err := r.plan(ctx, env, x)
		if err != nil {
			return nil, err
		}
		defer p.close()
		if s.Analyze && x == s.Stmt {
			p = measure(p)
			out, err := r.drain(ctx, p)
			if err != nil {
				return nil, err
			}
			total = len(out)
		}
		return plan.Around(p.explain(ctx), x, int64(total)), nil
	})
	if err != nil {
		return value.None, err
	}
	if n == nil {
		return value.None, errs.Internal("Invalid statement: EXPLAIN is only supported with the new execution model")
	}
	if _, rows := s.Stmt.(*ast.Select); s.Analyze && !rows {
		start := time.Now()
		if total, err = r.run(ctx, env, s.Stmt); err != nil {
			return value.None, err
		}
		n.Clock(time.Since(start))
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

// run executes a statement that is no SELECT and counts its answers: RETURN has none of its own.
func (r *Run) run(ctx context.Context, env *Env, s ast.Statement) (int, error) {
	_, err := r.Exec(ctx, env, s)
	if err == errReturn {
		r.ret = value.None
		return 0, nil
	}
	return 1, err
}

// projection is how the projection of s shows.
func (r *Run) projection(env *Env, s *ast.Select) func(ctx context.Context) plan.Node {
	return func(ctx context.Context) plan.Node { return plan.Projection(s, r.subplans(ctx, env)) }
}

// subplans gives the plans of sub-selects that read tables by name; nil of others.
func (r *Run) subplans(ctx context.Context, env *Env) func(*ast.Select) *plan.Node {
	return func(x *ast.Select) *plan.Node {
		if len(x.From) != 1 || x.Explain != nil {
			return nil
		}
		switch x.From[0].(type) {
		case *ast.Table, *ast.RecordID:
		default:
			return nil
		}
		p, err := r.plan(ctx, env, x)
		if err != nil { // what fails when it runs is not shown
			return nil
		}
		defer p.close()
		return plan.Around(p.explain(ctx), x, 0)
	}
}

// measured takes the time that an operator and what is below it need, for EXPLAIN ANALYZE.
type measured struct {
	rows
	took time.Duration
}

func (s *measured) next(ctx context.Context) (value.Value, bool, error) {
	start := time.Now()
	doc, ok, err := s.rows.next(ctx)
	s.took += time.Since(start)
	return doc, ok, err
}

func (s *measured) explain(ctx context.Context) *plan.Node {
	n := s.rows.explain(ctx)
	n.Clock(s.took)
	return n
}

// measure puts a clock on every operator of a tree.
func measure(in rows) rows {
	switch s := in.(type) {
	case *mapRows:
		s.in = measure(s.in)
	case *modelRows:
		s.rows = measure(s.rows)
	case *aheadRows:
		s.rows = measure(s.rows)
	case *passRows:
		s.rows = measure(s.rows)
	case *limitRows:
		s.in = measure(s.in)
	case *sortRows:
		s.in = measure(s.in)
	case *groupRows:
		s.in = measure(s.in)
	case *splitRows:
		s.in = measure(s.in)
	case *subRows:
		s.in = measure(s.in)
	case *knnRows:
		s.in = measure(s.in)
	case *unionRows:
		measureAll(s.parts)
	case *unionIndexRows:
		measureAll(s.parts)
	}
	return &measured{rows: in}
}

func measureAll(parts []rows) {
	for i := range parts {
		parts[i] = measure(parts[i])
	}
}

// unmeasured is the operator under a clock.
func unmeasured(in rows) rows {
	if m, ok := in.(*measured); ok {
		return m.rows
	}
	return in
}
