package plan

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/aggregate"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/value"
)

// Grouping is what GROUP makes of the rows of a SELECT.
type Grouping struct {
	By     []ast.Expr // what is grouped by
	Text   string     // that, as it is written
	All    bool       // one group of all rows
	Counts bool       // nothing but count() is asked
	Value  bool       // a group becomes the value of its only field
	Fields []Grouped
	Calls  []*ast.Call // of all fields: one total each
	Args   aggregate.Arguments
	Lists  int // how many fields collect values

	plain bool // each field is a key or an aggregate, and goes to a name at the top
}

// Grouped is a field of groups: a key, aggregates within an expression, or the values of the rows.
type Grouped struct {
	X     ast.Expr
	Path  []string
	Key   int         // its place in By; -1: it is none
	Calls []*ast.Call // its aggregates; none: the values of the rows are collected
	First int         // place of the first of Calls among all
	List  int         // of a field that collects: its place among a group's lists
	Once  bool        // it does not read the rows: one value for a group
}

// GroupingOf takes apart the GROUP of s, which Check has passed.
func GroupingOf(s *ast.Select) *Grouping {
	g := &Grouping{All: s.Group.All, Counts: OnlyCounts(s), Value: s.Projections.Value, plain: true}
	var texts []string
	for _, id := range s.Group.By {
		texts = append(texts, ast.Text(id))
		g.By = append(g.By, aggregate.Key(s.Projections, id))
	}
	g.Text = strings.Join(texts, ", ")
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		out := Grouped{X: f.X, Path: column.Alias(f.Alias), Key: aggregate.Place(f, g.By, s.Group.By),
			First: len(g.Calls), List: g.Lists}
		if out.Path == nil {
			out.Path = column.Of(f.X)
		}
		if out.Key < 0 {
			g.aggregates(&out)
		}
		g.plain = g.plain && len(out.Path) == 1
		g.Fields = append(g.Fields, out)
	}
	return g
}

// aggregates finds what a field that is no key reads of the rows.
func (g *Grouping) aggregates(f *Grouped) {
	f.Calls = aggregate.Calls(f.X)
	for _, c := range f.Calls {
		g.Args.Absent, g.Args.Reads = append(g.Args.Absent, aggregate.Absent(c)), append(g.Args.Reads, len(c.Args) > 0)
	}
	g.Calls = append(g.Calls, f.Calls...)
	if f.Once = len(f.Calls) == 0 && oncePerGroup(f.X); len(f.Calls) == 0 && !f.Once {
		g.Lists++
	}
	g.plain = g.plain && len(f.Calls) == 1 && f.X == ast.Expr(f.Calls[0])
}

// Columns is the keys, and behind them what the totals read of a row; false where a row is asked for more than that.
func (g *Grouping) Columns() ([]ast.Expr, bool) {
	xs := slices.Clone(g.By)
	for i := range g.Fields {
		f := &g.Fields[i]
		if f.Key < 0 && len(f.Calls) == 0 {
			return nil, false
		}
		for _, c := range f.Calls {
			if len(c.Args) > 1 {
				return nil, false
			}
			xs = append(xs, c.Args...)
		}
	}
	return xs, true
}

// Plainly is what becomes of a group where nothing is to be evaluated for it; false elsewhere.
func (g *Grouping) Plainly(gr *aggregate.Group) (value.Value, bool) {
	if !g.plain {
		return value.None, false
	}
	out := make([]value.Field, len(g.Fields))
	for i := range g.Fields {
		f := &g.Fields[i]
		if out[i].Name = f.Path[0]; f.Key >= 0 {
			out[i].Value = gr.Keys[f.Key]
		} else if out[i].Value = gr.Totals[f.First].Result(); !out[i].Value.Light() {
			return value.None, false
		}
	}
	if g.Value {
		return out[0].Value, true
	}
	return value.ObjectOf(value.NewObject(out...)), true
}
