package record

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Views keep what they need beside their rows, in the index data of index 0 of the view's table:
//
//	's' V(group)                        CBOR of [rows, [count, sum, sum of squares] per aggregate]
//	'm' agg8 V(group) V(value) table4 RK   CBOR of the value: one per source record and min or max
const (
	viewState  = 's'
	viewMember = 'm'
)

// changeViews brings the views on a table up to date with one change. They run with the rights of the engine.
func (g *Gate) changeViews(ctx context.Context, w *Write) error {
	return g.asEngine(func() error {
		for _, name := range w.Table.Views {
			tb, err := g.Cat.Table(g.DB, name)
			if err != nil {
				return err
			}
			if tb == nil || tb.Define.View == nil {
				continue
			}
			if err := g.changeView(ctx, tb, w.Table, w.ID, w.Before, w.After); err != nil {
				return err
			}
		}
		return nil
	})
}

// plan is the view plan of a table, made once per gate.
func (g *Gate) plan(tb *catalog.Table) (*viewPlan, error) {
	if p := g.views[tb]; p != nil {
		return p, nil
	}
	p, err := planView(tb.Define.View)
	if err != nil {
		return nil, err
	}
	if g.views == nil {
		g.views = map[*catalog.Table]*viewPlan{}
	}
	g.views[tb] = p
	return p, nil
}

func (g *Gate) changeView(ctx context.Context, tb, src *catalog.Table, id *value.RecordID,
	before, after value.Value) error {
	p, err := g.plan(tb)
	if err != nil {
		return err
	}
	old, err := g.picked(ctx, p, before)
	if err != nil {
		return err
	}
	now, err := g.picked(ctx, p, after)
	if err != nil {
		return err
	}
	if !p.grouped {
		return g.changeRow(ctx, tb, &value.RecordID{Table: tb.Name, Key: id.Key}, now)
	}
	if !old.IsNone() && !now.IsNone() && value.Equal(groupKey(p, old), groupKey(p, now)) {
		return g.changeGroup(ctx, tb, src, p, id, groupKey(p, now), old.Elems(), now.Elems())
	}
	if !old.IsNone() {
		if err := g.changeGroup(ctx, tb, src, p, id, groupKey(p, old), old.Elems(), nil); err != nil {
			return err
		}
	}
	if now.IsNone() {
		return nil
	}
	return g.changeGroup(ctx, tb, src, p, id, groupKey(p, now), nil, now.Elems())
}

// picked returns the part of an image of a source record that a view needs; NONE where it needs nothing.
func (g *Gate) picked(ctx context.Context, p *viewPlan, doc value.Value) (value.Value, error) {
	if doc.IsNone() {
		return value.None, nil
	}
	return g.Eval.EvalIn(ctx, p.pick, doc, []Param{{viewParam, doc}}, AsEngineReader)
}

func groupKey(p *viewPlan, picked value.Value) value.Value {
	return value.ArrayOf(picked.Elems()[:p.keys])
}

// changeRow stores the row of a view, or removes it where there is none any more.
func (g *Gate) changeRow(ctx context.Context, tb *catalog.Table, id *value.RecordID, row value.Value) error {
	before, err := g.load(tb, id.Key)
	if err != nil {
		return err
	}
	if row.IsNone() {
		if before.IsNone() {
			return nil
		}
		return g.remove(ctx, tb, id, before)
	}
	if row.Kind() != value.KindObject {
		return errs.New(errs.KindValidation, "Invalid query: the rows of a view must be objects, found %s", row.Brief())
	}
	// The row may name the id of the source record.
	row = value.ObjectOf(row.Object().With("id", value.RecordOf(id)))
	_, err = g.Put(ctx, &Write{Table: tb, ID: id, Before: before, After: row})
	return err
}

// changeGroup takes a source record's values out of a group (old) and puts new ones in (now); nil for none.
func (g *Gate) changeGroup(ctx context.Context, tb, src *catalog.Table, p *viewPlan, id *value.RecordID,
	group value.Value, old, now []value.Value) error {
	at := key.AppendValue(g.viewKey(tb, viewState), group)
	rows, tallies, first, err := g.loadGroup(at, len(p.aggs))
	if err != nil {
		return err
	}
	if !first.IsNone() {
		group = first // 1, 1f and 1dec are one group, which is shown as it came first
	}
	if old != nil {
		rows--
	}
	if now != nil {
		rows++
	}
	for i, a := range p.aggs {
		if err := g.count1(tb, src, i, a, id, group, &tallies[i], old, now); err != nil {
			return err
		}
	}
	rowID := &value.RecordID{Table: tb.Name, Key: group}
	if rows <= 0 {
		if err := g.Tx.Delete(at); err != nil {
			return fmt.Errorf("drop a group of view %s: %w", tb.Name, err)
		}
		return g.changeRow(ctx, tb, rowID, value.None)
	}
	if err := g.saveGroup(at, rows, tallies, group); err != nil {
		return err
	}
	aggs := make([]value.Value, len(p.aggs))
	for i, a := range p.aggs {
		if a.fn.extreme() {
			aggs[i], err = g.extreme(tb, i, group, a.fn.largest())
		} else {
			aggs[i] = aggregated(a.fn, rows, &tallies[i])
		}
		if err != nil {
			return err
		}
	}
	row, err := g.groupRow(ctx, p, group, aggs)
	if err != nil {
		return err
	}
	return g.changeRow(ctx, tb, rowID, row)
}

func (g *Gate) viewKey(tb *catalog.Table, part byte) []byte {
	return key.IndexData(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, 0, part)
}

// loadGroup reads what is kept of a group: its rows, its aggregates and its key as it was first; NONE where there is
// none.
func (g *Gate) loadGroup(at []byte, aggs int) (int64, []tally, value.Value, error) {
	out := make([]tally, aggs)
	for i := range out {
		out[i].sum, out[i].squares = value.Int(0), value.Float(0)
	}
	raw, err := g.Tx.Get(at)
	if raw == nil || err != nil {
		return 0, out, value.None, err
	}
	v, err := value.DecodeCBORValue(bytes.Clone(raw), value.DecodeLimits{})
	if err == nil && (v.Kind() != value.KindArray || v.Len() != 2+3*aggs) {
		err = kv.ErrCorrupt
	}
	if err != nil {
		return 0, nil, value.None, fmt.Errorf("read a group of a view: %w", err)
	}
	e := v.Elems()
	for i := range out {
		out[i] = tally{count: e[1+3*i].Int(), sum: e[2+3*i], squares: e[3+3*i]}
	}
	return e[0].Int(), out, e[1+3*aggs], nil
}

func (g *Gate) saveGroup(at []byte, rows int64, tallies []tally, group value.Value) error {
	e := make([]value.Value, 1, 2+3*len(tallies))
	e[0] = value.Int(rows)
	for _, t := range tallies {
		e = append(e, value.Int(t.count), t.sum, t.squares)
	}
	raw, err := value.AppendCBOR(nil, value.ArrayOf(append(e, group)))
	if err != nil {
		return fmt.Errorf("store a group of a view: %w", err)
	}
	return g.Tx.Set(at, raw)
}

// count1 moves one aggregate of a group from a record's old value to its new one.
func (g *Gate) count1(tb, src *catalog.Table, i int, a aggregate, id *value.RecordID, group value.Value, t *tally, old,
	now []value.Value) error {
	for _, step := range [2]struct {
		picked []value.Value
		sign   int64
	}{{old, -1}, {now, 1}} {
		if step.picked == nil || a.arg < 0 {
			continue
		}
		v := step.picked[a.arg]
		if err := checkAggregate(a.fn, v); err != nil {
			return err
		}
		switch a.fn {
		case aggCountIf:
			if value.Truthy(v) {
				t.count += step.sign
			}
		case aggMin, aggMax, aggTimeMin, aggTimeMax:
			if err := g.member(tb, src, i, id, group, v, step.sign > 0); err != nil {
				return err
			}
		default:
			t.count += step.sign
			t.add(v, step.sign)
		}
	}
	return nil
}

// checkAggregate refuses arguments that an aggregate function can not take.
func checkAggregate(fn aggregateFunc, v value.Value) error {
	name, want := "", "number"
	switch fn {
	case aggSum:
		name = "math::sum"
	case aggMean:
		name = "math::mean"
	case aggMin:
		name = "math::min"
	case aggMax:
		name = "math::max"
	case aggStddev:
		name = "math::stddev"
	case aggVariance:
		name = "math::variance"
	case aggTimeMin:
		name, want = "time::min", "datetime"
	case aggTimeMax:
		name, want = "time::max", "datetime"
	default:
		return nil
	}
	if want == "number" && v.Kind().IsNumber() || want == "datetime" && v.Kind() == value.KindDatetime {
		return nil
	}
	return errs.Internal("Incorrect arguments for function %s(). Argument 1 was the wrong type. Expected `%s` but found `%s`", name, want, v.Brief())
}

// member notes a record's value for a min or max of a group, or forgets it.
func (g *Gate) member(tb, src *catalog.Table, agg int, id *value.RecordID, group, v value.Value, in bool) error {
	k := key.AppendValue(g.memberPrefix(tb, agg, group), v)
	k = key.AppendRecordKey(key.AppendUint(k, uint64(src.ID)), id.Key)
	if !in {
		return g.Tx.Delete(k)
	}
	raw, err := value.AppendCBOR(nil, v)
	if err != nil {
		return fmt.Errorf("store a value of a view: %w", err)
	}
	return g.Tx.Set(k, raw)
}

func (g *Gate) memberPrefix(tb *catalog.Table, agg int, group value.Value) []byte {
	return key.AppendValue(key.AppendUint(g.viewKey(tb, viewMember), uint64(agg)), group)
}

// extreme is the smallest or largest value noted for a min or max of a group.
func (g *Gate) extreme(tb *catalog.Table, agg int, group value.Value, largest bool) (value.Value, error) {
	start, end := key.PrefixRange(g.memberPrefix(tb, agg, group))
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Reverse: largest, Limit: 1})
	defer cur.Close()
	if !cur.Next() {
		return value.None, cur.Err()
	}
	return value.DecodeCBORValue(bytes.Clone(cur.Value()), value.DecodeLimits{})
}

// groupRow makes the row of a group of its aggregates.
func (g *Gate) groupRow(ctx context.Context, p *viewPlan, group value.Value, aggs []value.Value) (value.Value, error) {
	row := value.ObjectOf(nil)
	for _, c := range p.cols {
		var v value.Value
		switch {
		case c.key >= 0:
			v = group.Elems()[c.key]
		case c.agg >= 0:
			v = aggs[c.agg]
		default:
			vars := make([]Param, len(aggs))
			for i := range aggs {
				vars[i] = Param{aggregateParam(i), aggs[i]}
			}
			var err error
			if v, err = g.Eval.EvalIn(ctx, c.expr, value.None, vars, AsEngineReader); err != nil {
				return value.None, err
			}
		}
		row = putAt(row, c.path, v)
	}
	return row, nil
}

// putAt puts a value at a path of names, NONE too.
func putAt(row value.Value, path []string, v value.Value) value.Value {
	o := value.NewObject()
	if row.Kind() == value.KindObject {
		o = row.Object()
	}
	if len(path) > 1 {
		inner, _ := o.Get(path[0])
		v = putAt(inner, path[1:], v)
	}
	return value.ObjectOf(o.With(path[0], v))
}

// FillView makes the rows of a new view out of the records that are there.
func (g *Gate) FillView(ctx context.Context, tb *catalog.Table) error {
	return g.asEngine(func() error {
		for _, x := range tb.Define.View.From {
			t, ok := x.(*ast.Table)
			if !ok {
				continue
			}
			src, err := g.Table(t.Name)
			if err != nil {
				return err
			}
			if err := g.eachStored(ctx, src, func(id *value.RecordID, doc value.Value) error {
				return g.changeView(ctx, tb, src, id, value.None, doc)
			}); err != nil {
				return err
			}
		}
		return nil
	})
}
