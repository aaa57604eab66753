package record

import (
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// viewParam is the parameter that a view's queries find the source record in.
const viewParam = "view source"

// viewPlan is the query of a view, made ready to be kept up record by record.
type viewPlan struct {
	// pick makes of a source record what the view needs of it, or NONE where its WHERE does not hold: a whole row, or,
	// of a grouped view, [group key…, aggregate argument…].
	pick    ast.Expr
	grouped bool
	keys    int // how many group keys
	aggs    []aggregate
	cols    []viewColumn
}

// aggregate is one aggregate function of a grouped view.
type aggregate struct {
	fn  aggregateFunc
	arg int // which picked value; -1: none (count())
}

type aggregateFunc uint8

const (
	aggCount aggregateFunc = iota
	aggCountIf
	aggSum
	aggMean
	aggMin
	aggMax
	aggStddev
	aggVariance
	aggTimeMin
	aggTimeMax
)

// extreme reports whether fn is a least or greatest value: views keep all values of these.
func (fn aggregateFunc) extreme() bool {
	return fn == aggMin || fn == aggMax || fn == aggTimeMin || fn == aggTimeMax
}

// largest reports whether an extreme is the greatest value.
func (fn aggregateFunc) largest() bool { return fn == aggMax || fn == aggTimeMax }

var aggregateNames = map[string]aggregateFunc{
	"count": aggCount, "math::sum": aggSum, "math::mean": aggMean, "math::min": aggMin, "math::max": aggMax,
	"math::stddev": aggStddev, "math::variance": aggVariance, "time::min": aggTimeMin, "time::max": aggTimeMax,
}

// viewColumn is one column of a grouped view: a group key, an aggregate, or an expression over aggregates.
type viewColumn struct {
	path []string
	key  int // ≥ 0: that group key
	agg  int // ≥ 0: that aggregate
	expr ast.Expr
}

// CheckView refuses the query of a view that could not be kept up.
func CheckView(s *ast.Select) error {
	if s.Group != nil && s.Projections.Value {
		return errs.Internal("Invalid aggregation: the selector `VALUE` clause is not supported on " +
			"DEFINE TABLE .. AS SELECT .. GROUP .. aggregates")
	}
	_, err := planView(s)
	return err
}

// planView takes the query of a view apart.
func planView(s *ast.Select) (*viewPlan, error) {
	from := []ast.Expr{&ast.Param{Name: viewParam}}
	if s.Group == nil {
		return &viewPlan{pick: &ast.Subquery{Stmt: &ast.Select{Projections: s.Projections, Omit: s.Omit, Only: true,
			From: from, Where: s.Where}}}, nil
	}
	b := &viewBuilder{plan: &viewPlan{grouped: true, keys: len(s.Group.By)}}
	for _, g := range s.Group.By {
		b.picked = append(b.picked, groupExpr(s.Projections, g))
		b.keyTexts = append(b.keyTexts, ast.Text(g))
	}
	for i := range s.Projections.Fields {
		if err := b.column(&s.Projections.Fields[i]); err != nil {
			return nil, err
		}
	}
	b.plan.pick = &ast.Subquery{Stmt: &ast.Select{Only: true, From: from, Where: s.Where,
		Projections: &ast.Projections{Value: true, Fields: []ast.Projection{{X: &ast.Array{Elems: b.picked}}}}}}
	return b.plan, nil
}

// groupExpr returns the expression that a GROUP BY stands for: the column of that name, or a field of the record.
func groupExpr(p *ast.Projections, g *ast.Idiom) ast.Expr {
	name := ast.Text(g)
	for i := range p.Fields {
		if f := &p.Fields[i]; f.Alias != nil && ast.Text(f.Alias) == name {
			return f.X
		}
	}
	return g
}

type viewBuilder struct {
	plan     *viewPlan
	picked   []ast.Expr
	keyTexts []string
}

func (b *viewBuilder) column(p *ast.Projection) error {
	if p.All {
		return errs.Internal("Incorrect selector for aggregate selection, expression `*` within in selector cannot be aggregated in a group.")
	}
	col := viewColumn{path: columnPath(p), key: -1, agg: -1}
	name := ast.Text(p.X)
	if p.Alias != nil {
		name = ast.Text(p.Alias)
	}
	for i, k := range b.keyTexts {
		if k == name || k == ast.Text(p.X) {
			col.key = i
			b.plan.cols = append(b.plan.cols, col)
			return nil
		}
	}
	if agg, ok := b.aggregate(p.X); ok {
		col.agg = agg
		b.plan.cols = append(b.plan.cols, col)
		return nil
	}
	x, err := b.over(p.X)
	if err != nil {
		return err
	}
	col.expr = x
	b.plan.cols = append(b.plan.cols, col)
	return nil
}

// columnPath is where a column stands in the row.
func columnPath(p *ast.Projection) []string {
	id := p.Alias
	if id == nil {
		switch x := p.X.(type) {
		case *ast.Idiom:
			id = x
		case *ast.Call:
			return []string{x.Path}
		default:
			return []string{ast.Text(p.X)}
		}
	}
	var out []string
	for _, part := range id.Parts {
		f, ok := part.(*ast.PartField)
		if !ok {
			return []string{ast.Text(id)}
		}
		out = append(out, f.Name)
	}
	return out
}

// aggregate notes an aggregate function, if x is one.
func (b *viewBuilder) aggregate(x ast.Expr) (int, bool) {
	c, ok := x.(*ast.Call)
	if !ok || c.Kind != ast.CallBuiltin || len(c.Args) > 1 {
		return 0, false
	}
	fn, ok := aggregateNames[strings.ToLower(c.Path)]
	if !ok || len(c.Args) == 0 && fn != aggCount {
		return 0, false
	}
	agg := aggregate{fn: fn, arg: -1}
	if len(c.Args) == 1 {
		if fn == aggCount {
			agg.fn = aggCountIf
		}
		agg.arg = len(b.picked)
		b.picked = append(b.picked, c.Args[0])
	}
	b.plan.aggs = append(b.plan.aggs, agg)
	return len(b.plan.aggs) - 1, true
}

// aggregateParam is the parameter that stands for an aggregate in an expression over aggregates.
func aggregateParam(i int) string { return "view aggregate " + value.Int(int64(i)).Text() }

// over rewrites an expression over aggregates and constants, with parameters in the places of the aggregates.
func (b *viewBuilder) over(x ast.Expr) (ast.Expr, error) {
	if i, ok := b.aggregate(x); ok {
		return &ast.Param{Name: aggregateParam(i)}, nil
	}
	switch x := x.(type) {
	case *ast.Literal, *ast.Constant, *ast.Param:
		return x, nil
	case *ast.Paren:
		in, err := b.over(x.X)
		return &ast.Paren{X: in}, err
	case *ast.Unary:
		in, err := b.over(x.X)
		return &ast.Unary{Op: x.Op, X: in}, err
	case *ast.Cast:
		in, err := b.over(x.X)
		return &ast.Cast{Type: x.Type, X: in}, err
	case *ast.Binary:
		l, err := b.over(x.L)
		if err != nil {
			return nil, err
		}
		r, err := b.over(x.R)
		return &ast.Binary{Op: x.Op, L: l, R: r}, err
	case *ast.Call:
		c := *x
		c.Args = make([]ast.Expr, len(x.Args))
		for i, a := range x.Args {
			var err error
			if c.Args[i], err = b.over(a); err != nil {
				return nil, err
			}
		}
		return &c, nil
	}
	return nil, errs.New(errs.KindValidation, "Invalid query: Found idiom `%s` within the selector of a materialized aggregate view.\n"+
		"Selection of document fields which are not used within the argument of an optimized aggregate function is currently not supported",
		ast.Text(x))
}
