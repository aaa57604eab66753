package record

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Retold reports whether the rows of a view follow from the stored records of its sources alone, so that CheckView can
// work them out again: paths of more than one name may lead to other records, and functions that are not pure to
// anything.
func Retold(tb *catalog.Table, pure func(function string) bool) bool {
	v := tb.Define.View
	if v == nil || len(tb.Fields) > 0 || len(v.Omit) > 0 {
		return false
	}
	told := true
	look := func(n any) bool {
		switch n := n.(type) {
		case *ast.Literal, *ast.Constant, *ast.Array, *ast.Set, *ast.Object, *ast.Unary, *ast.Cast, *ast.Paren,
			*ast.PartField:
		case *ast.Binary:
			told = told && n.KNN == nil && n.Match == nil
		case *ast.Idiom:
			told = told && len(n.Parts) == 1
		case *ast.Call:
			told = told && n.Kind == ast.CallBuiltin && pure(n.Path)
		default:
			told = false
		}
		return told
	}
	for i := range v.Projections.Fields {
		if !v.Projections.Fields[i].All {
			ast.Inspect(v.Projections.Fields[i].X, look)
		}
	}
	ast.Inspect(v.Where, look)
	if v.Group != nil {
		for _, g := range v.Group.By {
			ast.Inspect(g, look)
		}
	}
	return told
}

// CheckView works the rows of a view out again, one that is Retold, and calls differs with what is stored otherwise.
// Sums of numbers that are not ints depend on the order in which they were added, and are not compared.
func (g *Gate) CheckView(ctx context.Context, tb *catalog.Table, differs func(text string)) error {
	return g.asEngine(func() error {
		p, err := g.plan(tb)
		if err != nil {
			return err
		}
		var sources []*catalog.Table
		for _, x := range tb.Define.View.From {
			if t, ok := x.(*ast.Table); ok {
				src, err := g.Cat.Table(g.DB, t.Name)
				if err != nil {
					return err
				}
				if src != nil {
					sources = append(sources, src)
				}
			}
		}
		if p.grouped {
			return g.checkGroups(ctx, tb, p, sources, differs)
		}
		return g.checkRows(ctx, tb, p, sources, differs)
	})
}

// checkRows compares the rows of a view without GROUP BY. Where it has several sources, one row may stand for records
// of any of them.
func (g *Gate) checkRows(ctx context.Context, tb *catalog.Table, p *viewPlan, sources []*catalog.Table,
	differs func(string)) error {
	expected := func(src *catalog.Table, k value.Value) (value.Value, error) {
		doc, err := g.load(src, k)
		if err != nil {
			return value.None, err
		}
		row, err := g.picked(ctx, p, doc)
		if err != nil || row.Kind() != value.KindObject {
			return value.None, err
		}
		id := &value.RecordID{Table: tb.Name, Key: k}
		return StripNone(value.ObjectOf(row.Object().With("id", value.RecordOf(id)))), nil
	}
	if len(sources) == 1 {
		err := g.eachStored(ctx, sources[0], func(id *value.RecordID, _ value.Value) error {
			want, err := expected(sources[0], id.Key)
			if err != nil || want.IsNone() {
				return err
			}
			there, err := g.Exists(tb, id.Key)
			if err == nil && !there {
				differs(fmt.Sprintf("it has no row of %s", value.RecordOf(id).Text()))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return g.eachStored(ctx, tb, func(id *value.RecordID, row value.Value) error {
		for _, src := range sources {
			want, err := expected(src, id.Key)
			if err != nil {
				return err
			}
			if !want.IsNone() && value.Equal(want, StripNone(row)) {
				return nil
			}
		}
		differs(fmt.Sprintf("no record accounts for its row %s", value.RecordOf(id).Text()))
		return nil
	})
}

// recount is a group that is counted again.
type recount struct {
	key     value.Value
	rows    int64
	tallies []tally
	most    [][]byte // by aggregate: the key of the least or greatest value so far
}

// take adds what a record brings to the aggregates.
func (c *recount) take(p *viewPlan, picked []value.Value) error {
	c.rows++
	for i, a := range p.aggs {
		if a.arg < 0 {
			continue
		}
		v, t := picked[a.arg], &c.tallies[i]
		if err := checkAggregate(a.fn, v); err != nil {
			return err
		}
		switch {
		case a.fn == aggCountIf:
			if value.Truthy(v) {
				t.count++
			}
		case a.fn.extreme():
			k := key.AppendValue(nil, v)
			if order := bytes.Compare(k, c.most[i]); c.most[i] == nil || order < 0 && !a.fn.largest() || order > 0 &&
				a.fn.largest() {
				c.most[i] = k
			}
		default:
			t.count++
			t.add(v, 1)
		}
	}
	return nil
}

// checkGroups counts the groups of a view again, and compares what is kept of them and their rows.
func (g *Gate) checkGroups(ctx context.Context, tb *catalog.Table, p *viewPlan, sources []*catalog.Table,
	differs func(string)) error {
	groups := map[string]*recount{}
	for _, src := range sources {
		err := g.eachStored(ctx, src, func(_ *value.RecordID, doc value.Value) error {
			picked, err := g.picked(ctx, p, doc)
			if err != nil || picked.IsNone() {
				return err
			}
			at := string(key.AppendValue(nil, groupKey(p, picked)))
			c := groups[at]
			if c == nil {
				c = &recount{key: groupKey(p, picked), tallies: make([]tally, len(p.aggs)),
					most: make([][]byte, len(p.aggs))}
				for i := range c.tallies {
					c.tallies[i] = tally{sum: value.Int(0), squares: value.Float(0)}
				}
				groups[at] = c
			}
			return c.take(p, picked.Elems())
		})
		if err != nil {
			return err
		}
	}
	for _, c := range groups {
		if err := g.checkGroup(ctx, tb, p, c, differs); err != nil {
			return err
		}
	}
	return g.eachStored(ctx, tb, func(id *value.RecordID, _ value.Value) error {
		if groups[string(key.AppendValue(nil, id.Key))] == nil {
			differs(fmt.Sprintf("no record accounts for its row %s", value.RecordOf(id).Text()))
		}
		return nil
	})
}

// checkGroup compares what is kept of one group, and its row.
func (g *Gate) checkGroup(ctx context.Context, tb *catalog.Table, p *viewPlan, c *recount, differs func(string)) error {
	rows, tallies, first, err := g.loadGroup(key.AppendValue(g.viewKey(tb, viewState), c.key), len(p.aggs))
	if err != nil {
		return err
	}
	if first.IsNone() {
		first = c.key
	}
	if rows != c.rows {
		differs(fmt.Sprintf("it counts %d records in group %s, there are %d", rows, first.Text(), c.rows))
		return nil
	}
	aggs := make([]value.Value, len(p.aggs))
	for i, a := range p.aggs {
		same := true
		if a.fn.extreme() {
			aggs[i], same, err = g.checkExtreme(tb, i, a.fn, first, c)
		} else {
			aggs[i], same = aggregated(a.fn, rows, &tallies[i]), sameTally(&tallies[i], &c.tallies[i])
		}
		if err != nil {
			return err
		}
		if !same {
			differs(fmt.Sprintf("aggregate %d of group %s is not what its records give", i+1, first.Text()))
		}
	}
	row, err := g.groupRow(ctx, p, first, aggs)
	if err != nil {
		return err
	}
	stored, err := g.load(tb, first)
	if err != nil {
		return err
	}
	if row.Kind() == value.KindObject {
		id := &value.RecordID{Table: tb.Name, Key: first}
		row = StripNone(value.ObjectOf(row.Object().With("id", value.RecordOf(id))))
	}
	if !value.Equal(row, StripNone(stored)) {
		differs(fmt.Sprintf("the row of group %s is not what is kept of it", first.Text()))
	}
	return nil
}

// checkExtreme gives the least or greatest of the values that are kept of a group, and whether they are as many as
// there are records, and that one is what was found again. It reads forwards only, as a store that is inspected wants.
func (g *Gate) checkExtreme(tb *catalog.Table, i int, fn aggregateFunc, group value.Value,
	c *recount) (v value.Value, same bool, err error) {
	cur := g.Tx.Scan(kv.Prefix(g.memberPrefix(tb, i, group)), txn.ScanOptions{})
	defer cur.Close()
	n := int64(0)
	for ; cur.Next(); n++ {
		if n > 0 && !fn.largest() {
			continue
		}
		if v, err = value.DecodeCBORValue(bytes.Clone(cur.Value()), value.DecodeLimits{}); err != nil {
			return value.None, false, err
		}
	}
	return v, n == c.rows && bytes.Equal(key.AppendValue(nil, v), c.most[i]), cur.Err()
}

// sameTally compares what is kept of an aggregate with what was counted again.
func sameTally(kept, again *tally) bool {
	exact := kept.sum.Kind() == value.KindInt && again.sum.Kind() == value.KindInt
	return kept.count == again.count && (!exact || value.Equal(kept.sum, again.sum))
}
