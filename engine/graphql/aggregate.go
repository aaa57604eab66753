package graphql

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

// column is a column of an aggregate row.
type column struct {
	p     *pick
	alias string // in the rows of the statement
	shape *shape // of a group's key; nil: a number
	sum   bool   // nothing sums up to 0
}

// sums are the functions of the language that sum up numbers.
var sums = map[string]string{"min": "math::min", "max": "math::max", "sum": "math::sum", "avg": "math::mean"}

// aggregate sums up the records of a table, by groups where some are asked for.
func (x *runner) aggregate(ctx context.Context, o *object, p *pick) error {
	picks, err := p.of(x.o, o.name+"_aggregate_row")
	if err != nil {
		return err
	}
	s := &ast.Select{From: []ast.Expr{&ast.Table{Name: o.table}}, Projections: &ast.Projections{}, Group: &ast.Group{}}
	if s.Where, err = x.where(o, p); err != nil {
		return err
	}
	keys, err := groupKeys(o, p.arg("groupBy"))
	if err != nil {
		return err
	}
	s.Group.All = len(keys) == 0
	var fields []*field
	for _, f := range keys {
		alias := &ast.Idiom{Parts: place(nil).field("k" + strconv.Itoa(len(fields)))}
		s.Group.By = append(s.Group.By, alias)
		if s.Order == nil {
			s.Order = &ast.Order{}
		}
		s.Order.Keys = append(s.Order.Keys, ast.OrderKey{Key: alias})
		s.Projections.Fields = append(s.Projections.Fields, ast.Projection{X: place(nil).field(f.real).expr(),
			Alias: alias})
		fields = append(fields, f)
	}
	columns := columnsOf(o, picks, s, fields)
	rows, err := x.rows(ctx, s, nil)
	if err != nil {
		return err
	}
	if len(rows) == 0 && s.Group.All {
		rows = []value.Value{value.ObjectOf(value.NewObject())}
	}
	if err := x.gatherKeys(ctx, columns, rows); err != nil {
		return err
	}
	return x.aggregateRows(ctx, o, picks, columns, rows)
}

// groupKeys are the fields of a groupBy argument.
func groupKeys(o *object, v value.Value) ([]*field, error) {
	if v.IsNullish() {
		return nil, nil
	}
	if v.Kind() != value.KindArray {
		return nil, resolving("`groupBy` must be a list")
	}
	var out []*field
	seen := map[string]bool{}
	for _, e := range v.Elems() {
		f := o.fields[value.ToString(e)]
		if f == nil || f.shape == nil {
			return nil, resolving("`groupBy` items must be enum values")
		}
		if !seen[f.name] {
			seen[f.name] = true
			out = append(out, f)
		}
	}
	return out, nil
}

// columnsOf gives a SELECT the fields that picks ask for.
func columnsOf(o *object, picks []*pick, s *ast.Select, keys []*field) []column {
	out := make([]column, len(picks))
	for i, p := range picks {
		out[i] = column{p: p, alias: "c" + strconv.Itoa(i)}
		add := func(x ast.Expr) {
			s.Projections.Fields = append(s.Projections.Fields, ast.Projection{X: x,
				Alias: &ast.Idiom{Parts: place(nil).field(out[i].alias)}})
		}
		if p.name == "count" {
			add(builtin("count"))
			out[i].sum = true
			continue
		}
		at := strings.LastIndexByte(p.name, '_')
		if at > 0 {
			if f, fn := o.fields[p.name[:at]], sums[p.name[at+1:]]; f != nil && f.shape != nil && f.number() &&
				fn != "" {
				add(builtin(fn, place(nil).field(f.real).expr()))
				out[i].sum = fn == "math::sum"
				continue
			}
		}
		out[i].alias = ""
		for k, f := range keys {
			if f.name == p.name {
				s := *f.shape
				s.null = true
				out[i].alias, out[i].shape = "k"+strconv.Itoa(k), &s
			}
		}
	}
	if len(s.Projections.Fields) == 0 { // a group has a row even if nothing of it is asked for
		s.Projections.Fields = []ast.Projection{{X: builtin("count"), Alias: &ast.Idiom{Parts: place(nil).field("n")}}}
	}
	return out
}

func (x *runner) gatherKeys(ctx context.Context, columns []column, rows []value.Value) error {
	for _, c := range columns {
		if c.shape == nil || !c.shape.leads() {
			continue
		}
		var values []value.Value
		for _, row := range rows {
			values = append(values, member1(row, c.alias))
		}
		if err := x.gatherValues(ctx, c.p, c.shape, values); err != nil {
			return err
		}
	}
	return nil
}

func (x *runner) aggregateRows(ctx context.Context, o *object, picks []*pick, columns []column,
	rows []value.Value) error {
	x.buf = append(x.buf, '[')
	for i, row := range rows {
		if i > 0 {
			x.buf = append(x.buf, ',')
		}
		x.path = append(x.path, i)
		x.buf = append(x.buf, '{')
		for j, c := range columns {
			if j > 0 {
				x.buf = append(x.buf, ',')
			}
			x.buf = appendKey(x.buf, picks[j].key)
			mark := len(x.buf)
			x.path = append(x.path, picks[j].key)
			err := x.settle(ctx, picks[j], mark, x.aggregateValue(ctx, o, c, row))
			x.path = x.path[:len(x.path)-1]
			if err != nil {
				return err
			}
		}
		x.buf = append(x.buf, '}')
		x.path = x.path[:len(x.path)-1]
	}
	x.buf = append(x.buf, ']')
	return nil
}

func (x *runner) aggregateValue(ctx context.Context, o *object, c column, row value.Value) error {
	if c.p.name == "__typename" {
		x.buf = appendText(x.buf, o.name+"_aggregate_row")
		return nil
	}
	v := member1(row, c.alias)
	switch {
	case c.shape != nil:
		return x.value(ctx, v, c.shape, c.p)
	case c.sum && v.IsNullish():
		v = value.Int(0)
	case v.Kind() == value.KindFloat && (math.IsInf(v.Float(), 0) || math.IsNaN(v.Float())):
		v = value.Null // what nothing has for its least number
	}
	x.buf = appendScalar(x.buf, v)
	return nil
}
